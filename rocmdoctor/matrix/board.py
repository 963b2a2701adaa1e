"""The GPU of a question, and whether a row of AMD's tables is meant for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.matrix import products
from rocmdoctor.matrix.answers import Verdict

if TYPE_CHECKING:
    from rocmdoctor.matrix.distributions import Distribution
    from rocmdoctor.matrix.gpu_ids import GfxTarget
    from rocmdoctor.matrix.release_reader import Release
    from rocmdoctor.matrix.releases import GpuRow, OsLimit, OsRow

STATUS = {
    "supported": Verdict.SUPPORTED,
    "preview": Verdict.SUPPORTED,
    "deprecated": Verdict.DEPRECATED,
    "unsupported": Verdict.UNSUPPORTED,
    "unknown": Verdict.UNKNOWN,
}
BEST_FIRST = (Verdict.SUPPORTED, Verdict.DEPRECATED, Verdict.UNKNOWN, Verdict.UNSUPPORTED)


class Board:
    """Target, product name and support table of a GPU, each as far as it is known.

    A virtual function of a Radeon PRO is asked for as "instinct": where the target is in another table, that one counts.
    """

    def __init__(self, target: GfxTarget | None, gfx: str | None, product: str | None, family: str | None) -> None:
        self.gfx, self.product = gfx, product
        self.families: tuple[str, ...] = (family,) if family else (target.families if target else ())
        if family and target and family not in target.families:
            self.families = target.families

    @property
    def label(self) -> str:
        """For sentences: product without the leading AMD, target, or table."""
        if self.product:
            return self.product.removeprefix("AMD ")
        return self.gfx or (f"{self.families[0].capitalize()} GPUs" if self.families else "any GPU")


def allowed_on(row: OsRow, board: Board, release: Release) -> bool | None:
    """May this board be used on this row? None when the board is not known well enough to tell."""
    if row.families and board.families and not set(row.families) & set(board.families):
        return False
    if not row.only and not row.excluded:
        return True
    listed = _products_of(board, release)
    if not listed:
        return _by_family(row, board, release)
    inside = [products.any_listed(name, row.only) if row.only else not products.any_listed(name, row.excluded) for name in listed]
    if all(inside):
        return True
    return None if any(inside) else False


def _by_family(row: OsRow, board: Board, release: Release) -> bool | None:
    """With the table known and no product: no when the limit names none of that table, yes when it excludes none of it."""
    if not board.families:
        return None
    named = {family_of(name, release) for name in (*row.only, *row.excluded)}
    if named & set(board.families):
        return None
    return not row.only


def _products_of(board: Board, release: Release) -> tuple[str, ...]:
    """The product, or every product that the release lists for the target."""
    if board.product:
        return (board.product,)
    return tuple(name for row in release.gpus(board.gfx) for name in row.products) if board.gfx else ()


def family_of(product: str, release: Release) -> str:
    """The support table of a product name; Instinct where the release does not list it (the bare MI names of limits)."""
    return next((r.family for r in release.gpu_rows or () if products.any_listed(product, r.products)), "instinct")


def matching_rows(release: Release, os_id: str, os_version: str) -> tuple[OsRow, ...]:
    """Rows of this system. A full point release ("22.04.4", "15 SP5") picks its row, VERSION_ID every point of it."""
    rows = [r for r in release.os_rows or () if r.id == os_id]
    exact = tuple(r for r in rows if r.point == os_version and r.point != r.version)
    if exact:
        return exact
    return tuple(r for r in rows if versions.is_prefix(r.version, os_version) and not _other_point(r, os_version))


def _other_point(row: OsRow, os_version: str) -> bool:
    """Ubuntu 22.04.3 was asked for and this is 22.04.4."""
    if row.id != "ubuntu" or os_version.count(".") < 2:
        return False
    return row.point != row.version or versions.key(os_version) != versions.key(row.version)


def limit_holds(limit: OsLimit, row: OsRow, kernel: str | None) -> bool:
    """Does the limit allow this row (and this kernel of it, where the limit names kernels)?"""
    if any(_names(entry, row, kernel) for entry in limit.excluded if kernel or entry.count(" ") < 2):
        return False
    return not limit.only or any(_names(entry, row, kernel) for entry in limit.only)


def _names(entry: str, row: OsRow, kernel: str | None) -> bool:
    """Whether "ubuntu", "ubuntu 22.04", "ubuntu 22.04.5" or "ubuntu 22.04.5 6.8" means this row."""
    os_id, _, rest = entry.partition(" ")
    version, _, wanted = rest.partition(" ")
    if os_id != row.id:
        return False
    if version and not (versions.is_prefix(version, row.version) or versions.is_prefix(version, row.point)):
        return False
    return not wanted or kernel is None or wanted == kernel


def limit_words(row: OsRow) -> str:
    """ "for Instinct only MI300X": the limits of a row for a sentence."""
    parts = []
    if row.families:
        parts.append("for " + ", ".join(f.capitalize() for f in row.families))
    if row.only:
        parts.append("only " + ", ".join(row.only))
    if row.excluded:
        parts.append("not " + ", ".join(row.excluded))
    return " ".join(parts) or "no limit"


def os_name(names: Mapping[str, Distribution], os_id: str) -> str:
    return names[os_id].name if os_id in names else os_id


def sources_of(rows: Iterable[OsRow | GpuRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for row in rows for key in row.source))
