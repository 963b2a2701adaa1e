"""Judgement: what the rows of a release say about an operating system, a kernel, a GPU or a driver.

"unsupported" is AMD's list, not physics. What nobody read is unknown: a release newer than the file, a table that was not
stored, a limit that AMD moved elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocmdoctor import versions
from rocmdoctor.matrix import products
from rocmdoctor.matrix.answers import Answer, Verdict
from rocmdoctor.matrix.distributions import Distribution
from rocmdoctor.matrix.drivers import Windows, covers
from rocmdoctor.matrix.gpu_ids import GfxTarget
from rocmdoctor.matrix.releases import GpuRow, OsLimit, OsRow, Release

_STATUS = {
    "supported": Verdict.SUPPORTED,
    "preview": Verdict.SUPPORTED,
    "deprecated": Verdict.DEPRECATED,
    "unsupported": Verdict.UNSUPPORTED,
    "unknown": Verdict.UNKNOWN,
}
_BEST_FIRST = (Verdict.SUPPORTED, Verdict.DEPRECATED, Verdict.UNKNOWN, Verdict.UNSUPPORTED)


class Board:
    """The GPU of a question: target, product name and support table, each as far as it is known."""

    def __init__(self, target: GfxTarget | None, gfx: str | None, product: str | None, family: str | None) -> None:
        self.gfx, self.product = gfx, product
        self.families: tuple[str, ...] = (family,) if family else (target.families if target else ())
        if family and target and family not in target.families:
            self.families = target.families  # a virtual function of a Radeon PRO is asked for as "instinct"

    @property
    def label(self) -> str:
        return self.product or self.gfx or (f"{self.families[0]} GPUs" if self.families else "any GPU")


def allowed_on(row: OsRow, board: Board, release: Release) -> bool | None:
    """May this board be used on this row? None when the board is not known well enough to tell."""
    if row.families and board.families and not set(row.families) & set(board.families):
        return False
    if not row.only and not row.excluded:
        return True
    listed = _products_of(board, release)
    if not listed:
        if row.only and board.families and not any(_family_of(name, release) in board.families for name in row.only):
            return False
        if not row.only and "instinct" not in board.families and row.families:
            return True
        return None
    inside = [products.any_listed(name, row.only) if row.only else not products.any_listed(name, row.excluded) for name in listed]
    if all(inside):
        return True
    return None if any(inside) else False


def _products_of(board: Board, release: Release) -> tuple[str, ...]:
    """The product, or every product that the release lists for the target."""
    if board.product:
        return (board.product,)
    return tuple(name for row in release.gpus(board.gfx) for name in row.products) if board.gfx else ()


def _family_of(product: str, release: Release) -> str:
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


def judge_os(
    release: Release, names: Mapping[str, Distribution], os_id: str, os_version: str, board: Board, question: str
) -> Answer:
    """Is this operating system on the list of the release, for this board?"""
    if release.os_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's OS list of ROCm {release.version} was not read", release.source)
    rows = matching_rows(release, os_id, os_version)
    label = _os_label(names, os_id, os_version)
    if not rows:
        return _os_not_listed(release, names, os_id, os_version, board, question)
    best: Answer | None = None
    for row in rows:
        allowed = allowed_on(row, board, release)
        verdict = _STATUS[row.status]
        where = f"{names[row.id].name if row.id in names else row.id} {row.point}"
        reason = f"AMD lists {where} for ROCm {release.version}" + (" (preview)" if row.status == "preview" else "")
        confidence = row.confidence
        if row.status == "unsupported":
            reason = f"AMD lists {where} as unsupported for ROCm {release.version}"
        if allowed is False and verdict is not Verdict.UNSUPPORTED:
            verdict = Verdict.UNKNOWN if row.limits_open else Verdict.UNSUPPORTED
            reason = f"AMD lists {where} for ROCm {release.version}, but {_limit_words(row)}: not for {board.label}"
            confidence = "the limit is of an older page; AMD's newer one was not read" if row.limits_open else confidence
        elif allowed is None or (row.only and not board.gfx and not board.product):
            reason += f", with a limit: {_limit_words(row)}"
        answer = Answer(verdict, question, reason, row.source, confidence)
        if best is None or _BEST_FIRST.index(verdict) < _BEST_FIRST.index(best.verdict):
            best = answer
    assert best is not None, label
    if best.verdict is Verdict.UNSUPPORTED and set(release.os_unknown) & set(board.families):
        return Answer(Verdict.UNKNOWN, question, f"AMD's {board.families[0]} table of ROCm {release.version} was not read", best.source)
    return best


def _os_not_listed(
    release: Release, names: Mapping[str, Distribution], os_id: str, os_version: str, board: Board, question: str
) -> Answer:
    label = _os_label(names, os_id, os_version)
    families = set(board.families) or {"instinct", "radeon", "ryzen"}
    source = _sources(release.os_rows or ())
    if release.os_unknown and families & set(release.os_unknown):
        return Answer(Verdict.UNKNOWN, question, f"{label} is not among the rows read for ROCm {release.version}; others exist", source)
    minors = [r for r in release.os_rows or () if r.id == os_id and versions.is_prefix(os_version, r.version)]
    if minors:
        listed = ", ".join(dict.fromkeys(r.version for r in minors))
        reason = f"AMD lists {names[os_id].name if os_id in names else os_id} {listed} for ROCm {release.version}; the minor release is not known"
        return Answer(Verdict.UNKNOWN, question, reason, source)
    versions_listed = release.os_versions(os_id)
    like = names[os_id].like if os_id in names else None
    if versions_listed:
        reason = f"AMD lists {names[os_id].name if os_id in names else os_id} {', '.join(versions_listed)} for ROCm {release.version}, not {os_version}"
    elif like and matching_rows(release, like, os_version):
        reason = f"AMD does not list {label} for ROCm {release.version}; it lists {_os_label(names, like, os_version)}, which is the nearest"
    else:
        listed = ", ".join(dict.fromkeys(names[r.id].name if r.id in names else r.id for r in release.os_rows or ()))
        reason = f"AMD does not list {label} for ROCm {release.version}; it lists {listed}"
    return Answer(Verdict.UNSUPPORTED, question, reason, source)


def judge_kernel(
    release: Release,
    names: Mapping[str, Distribution],
    os_id: str,
    os_version: str,
    kernel: str,
    board: Board,
    question: str,
) -> Answer:
    """Is this kernel release among those AMD names for this system and board?

    A derivative without rows of its own is judged by the rows of its base.
    """
    if release.os_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's OS list of ROCm {release.version} was not read", release.source)
    rows = matching_rows(release, os_id, os_version)
    like = names[os_id].like if os_id in names else None
    if not rows and like and not release.os_versions(os_id):
        rows = matching_rows(release, like, os_version)
    rows = tuple(r for r in rows if r.status != "unsupported")
    label = _os_label(names, os_id, os_version)
    if not rows:
        reason = f"AMD does not list {label} for ROCm {release.version}, so it names no kernel for it"
        return Answer(Verdict.UNKNOWN, question, reason, _sources(release.os_rows))
    fitting = [r for r in rows if allowed_on(r, board, release) is not False]
    judged = fitting or list(rows)
    listed: list[str] = []
    excluded_by: str | None = None
    for row in judged:
        for prefix in row.kernels or ():
            listed.append(prefix)
            if not versions.is_prefix(prefix, kernel) and not (row.or_newer and _newer_build(prefix, kernel)):
                continue
            limit = _kernel_limit(release, row, prefix, board)
            if limit:
                excluded_by = limit
                continue
            reason = f"AMD lists kernel {prefix} for {names[row.id].name if row.id in names else row.id} {row.point}" + _note(row)
            verdict = Verdict.SUPPORTED if fitting else Verdict.UNKNOWN
            return Answer(verdict, question, f"{reason} with ROCm {release.version}", row.source, row.confidence)
    source = _sources(judged)
    if excluded_by:
        return Answer(Verdict.UNSUPPORTED, question, excluded_by, source)
    if any(r.kernels is None for r in judged):
        return Answer(Verdict.UNKNOWN, question, f"AMD's kernels for {label} and ROCm {release.version} were not read", source)
    words = ", ".join(dict.fromkeys(listed))
    doubtful = next((r for r in judged if r.kernels_open), None)
    if doubtful:
        reason = f"AMD lists kernel {words} for {label} and ROCm {release.version}, a list that is known to be incomplete"
        return Answer(Verdict.UNKNOWN, question, reason, source, doubtful.note)
    reason = f"AMD lists kernel {words} for {label} and ROCm {release.version}; {kernel} is not on that list"
    return Answer(Verdict.UNSUPPORTED, question, reason, source, next((r.confidence for r in judged if r.confidence), None))


def _newer_build(prefix: str, kernel: str) -> bool:
    """6.14.0-1020-oem is a newer build of 6.14.0-1018."""
    return versions.major_minor(kernel) == versions.major_minor(prefix) and versions.key(kernel) >= versions.key(prefix)


def _kernel_limit(release: Release, row: OsRow, prefix: str, board: Board) -> str | None:
    """The sentence that forbids this kernel of the row for the board ("MI300X: not on 22.04.5 HWE 6.8")."""
    for gpu in release.gpus(board.gfx) if board.gfx else ():
        for limit in gpu.limits:
            if limit.products and not (board.product and products.any_listed(board.product, limit.products)):
                continue
            if any(entry.count(" ") == 2 for entry in (*limit.only, *limit.excluded)) and not _limit_holds(limit, row, prefix):
                return f"AMD does not list kernel {prefix} on {row.id} {row.point} for {board.label} with ROCm {release.version}"
    return None


def _limit_holds(limit: OsLimit, row: OsRow, kernel: str | None) -> bool:
    """Does the limit allow this row (and this kernel of it, where the limit names kernels)?"""
    if limit.excluded and any(_names(entry, row, kernel) for entry in limit.excluded):
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


def judge_gpu(
    release: Release,
    names: Mapping[str, Distribution],
    gfx: str,
    board: Board,
    os_id: str | None,
    os_version: str | None,
    question: str,
) -> Answer:
    """Is this target (and product) on the list of the release, on this operating system?"""
    if release.gpu_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's GPU list of ROCm {release.version} was not read", release.source)
    rows = release.gpus(gfx)
    source = _sources(release.gpu_rows)
    if not rows:
        unread = set(board.families) & set(release.gpus_unknown) or (release.gpus_unknown and not board.families)
        if unread:
            return Answer(Verdict.UNKNOWN, question, f"{gfx} is not among the rows read for ROCm {release.version}; others exist", source)
        return Answer(Verdict.UNSUPPORTED, question, f"{gfx} is not on AMD's list for ROCm {release.version}", source)
    named = [r for r in rows if board.product and products.any_listed(board.product, (*r.products, *((r.igpu,) if r.igpu else ())))]
    row = named[0] if named else min(rows, key=lambda r: _BEST_FIRST.index(_STATUS[r.status]))
    verdict = _STATUS[row.status]
    words = {"preview": "as a technology preview", "deprecated": "as deprecated", "unsupported": "as unsupported"}
    reason = f"AMD lists {gfx} for ROCm {release.version} {words.get(row.status, '')}".rstrip()
    if row.status == "unknown":
        reason = f"what AMD says of {gfx} for ROCm {release.version} was not read"
    elif board.product and not named and row.family != "ryzen":
        reason += f"; {board.product} is not among the products it names ({', '.join(row.products)})"
    if verdict in (Verdict.UNSUPPORTED, Verdict.UNKNOWN) or not os_id or not os_version:
        return Answer(verdict, question, reason, row.source, row.confidence)
    os_answer = judge_os(release, names, os_id, os_version, board, question)
    if not os_answer.ok:
        return os_answer
    limit = _os_limit(release, row, board, os_id, os_version)
    if limit is None:
        return Answer(verdict, question, f"{reason} on {_os_label(names, os_id, os_version)}", row.source, row.confidence)
    if limit.open:
        reason = f"AMD's list of operating systems for {board.label} and ROCm {release.version} was read in an older wording only"
        return Answer(Verdict.UNKNOWN, question, reason, row.source, row.confidence)
    only = f"only on {', '.join(limit.only)}" if limit.only else f"not on {', '.join(limit.excluded)}"
    return Answer(Verdict.UNSUPPORTED, question, f"AMD lists {board.label} for ROCm {release.version} {only}", row.source, row.confidence)


def _os_limit(release: Release, row: GpuRow, board: Board, os_id: str, os_version: str) -> OsLimit | None:
    """The limit that forbids this system for the board; a limit on single products counts only for a known product."""
    system = matching_rows(release, os_id, os_version)
    special = [li for li in row.limits if li.products and board.product and products.any_listed(board.product, li.products)]
    for limit in special or [li for li in row.limits if not li.products]:
        if system and not any(_limit_holds(limit, r, None) for r in system):
            return limit
    return None


def judge_driver(release: Release, windows: Windows, driver: str, family: str | None, newest: str, question: str) -> Answer:
    """Does this driver release carry the user space of `release`, for this support table?

    AMD's per-table lists decide where they exist; the cross table fills what they lack (10.0) and decides for the rest.
    """
    line = versions.major_minor(release.version) + ".x"
    crossed = [w for w in windows.rows if any(covers(u, release.version) for u in w.userspace)]
    in_cross = any(covers(w.driver, driver) for w in crossed)
    lists = release.drivers.families or {}
    tables = [family] if family else [f for f in lists if lists[f]] or []
    if any(t in lists for t in tables):
        return _by_table(release, lists, tables, in_cross, driver, newest, question)
    stated = next((p for p in release.drivers.stated if covers(p, driver)), None)
    if stated:
        reason = f"AMD lists driver {stated} for ROCm {release.version}"
        return Answer(Verdict.SUPPORTED, question, reason, release.drivers.source)
    if in_cross:
        reason = f"AMD's table of drivers and user spaces has ROCm {line} on driver {versions.major_minor(driver)}.x"
        return Answer(Verdict.SUPPORTED, question, reason, windows.source)
    return _not_in_lists(release, windows, crossed, driver, newest, question)


def _by_table(
    release: Release,
    lists: Mapping[str, tuple[str, ...]],
    tables: list[str],
    in_cross: bool,
    driver: str,
    newest: str,
    question: str,
) -> Answer:
    source = release.drivers.source
    yes = [t for t in tables if any(covers(p, driver) for p in lists.get(t, ())) or (in_cross and lists.get(t))]
    no = [t for t in tables if t not in yes]
    if yes and not no:
        return Answer(Verdict.SUPPORTED, question, f"AMD lists driver {driver} for {' and '.join(yes)} with ROCm {release.version}", source)
    if yes:
        reason = f"AMD lists driver {driver} for {', '.join(yes)} with ROCm {release.version}, not for {', '.join(no)}"
        return Answer(Verdict.UNKNOWN, question, reason, source, "the GPU family decides")
    if versions.key(driver) > versions.key(newest):
        return Answer(Verdict.UNKNOWN, question, f"driver {driver} is newer than this matrix knows ({newest})", source)
    only = lists.get(tables[0], ())
    if not only:
        reason = f"AMD lists {tables[0]} GPUs with the kernel's own driver only, for ROCm {release.version}"
        return Answer(Verdict.UNSUPPORTED, question, reason, source)
    if any(covers(p, driver) for p in release.drivers.missing) and len(only) > 2:
        reason = f"driver {driver} is missing in AMD's list for ROCm {release.version}, which looks like an oversight"
        return Answer(Verdict.UNKNOWN, question, reason, source, release.drivers.note)
    reason = f"AMD lists drivers {only[0]} down to {only[-1]} for {tables[0]} with ROCm {release.version}; {driver} is not among them"
    return Answer(Verdict.UNSUPPORTED, question, reason, source)


def _not_in_lists(release: Release, windows: Windows, crossed: list[object] | list, driver: str, newest: str, question: str) -> Answer:  # type: ignore[type-arg]
    source = release.drivers.source or windows.source
    if versions.key(driver) > versions.key(newest):
        return Answer(Verdict.UNKNOWN, question, f"driver {driver} is newer than this matrix knows ({newest})", source)
    row = next((w for w in windows.rows if covers(w.driver, driver)), None)
    if row and crossed:
        reason = f"driver {row.driver} is for ROCm {row.userspace[0]} to {row.userspace[-1]} by AMD's table, not for {release.version}"
        return Answer(Verdict.UNSUPPORTED, question, reason, windows.source)
    oldest = min((w.driver[:-2] for w in windows.rows), key=versions.key)
    lower = release.drivers.stated
    if versions.key(driver) < versions.key(oldest) or (lower and versions.key(driver) < min(map(versions.key, (p.removesuffix(".x") for p in lower)))):
        reason = f"driver {driver} is older than every driver AMD lists for ROCm {release.version}"
        return Answer(Verdict.UNSUPPORTED, question, reason, source)
    reason = f"AMD's tables have no row for driver {driver} with ROCm {release.version}"
    return Answer(Verdict.UNKNOWN, question, reason, source, windows.rule)


def _os_label(names: Mapping[str, Distribution], os_id: str, os_version: str) -> str:
    return f"{names[os_id].name if os_id in names else os_id} {os_version}"


def _note(row: OsRow) -> str:
    return f" ({row.note})" if row.note else ""


def _limit_words(row: OsRow) -> str:
    parts = []
    if row.families:
        parts.append("for " + ", ".join(f.capitalize() for f in row.families))
    if row.only:
        parts.append("only " + ", ".join(row.only))
    if row.excluded:
        parts.append("not " + ", ".join(row.excluded))
    return " ".join(parts) or "no limit"


def _sources(rows: Iterable[OsRow | GpuRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for row in rows for key in row.source))
