"""Typed view of compat_matrix.yaml: answers questions with supported, deprecated, unsupported or unknown, and the row that says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.matrix.answers import Answer, Problem, Suggestion, Verdict
from rocmdoctor.matrix.document import Document, MatrixError

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    from rocmdoctor.matrix.distributions import Distribution, OsBase
    from rocmdoctor.matrix.drivers import DriverRelease, Windows
    from rocmdoctor.matrix.gpu_ids import GfxTarget, PciGpu
    from rocmdoctor.matrix.releases import Release
    from rocmdoctor.matrix.support import Board

__all__ = ["Answer", "Matrix", "MatrixError", "Problem", "Suggestion", "Verdict", "load_matrix"]

DEFAULT = Path(__file__).parent.parent / "compat_matrix.yaml"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def load_matrix(path: str | Path | None = None) -> Matrix:
    """The matrix of this installation, or of a file. Nothing but the date is parsed yet. Raises MatrixError."""
    file = Path(path) if path is not None else DEFAULT
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MatrixError(str(file), "", 1, f"cannot be read: {error}") from error
    return Matrix(Document(text, file), file)


class Matrix:
    """Answers about ROCm releases. Sections are parsed when a question needs them; any question may raise MatrixError."""

    def __init__(self, document: Document, path: Path) -> None:
        self._doc = document
        self.path = path
        self.date = document.quoted("date")
        if not _DATE.fullmatch(self.date):
            raise document.fail("date", f"{self.date!r} is not a date like 2026-11-30")
        self._releases: dict[str, Release] = {}

    # the file ------------------------------------------------------------------------------------------------

    def age_days(self, today: datetime.date) -> int:
        """Days since the file was dated; negative when the clock is behind it."""
        import datetime

        return (today - datetime.date.fromisoformat(self.date)).days

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Source key to what it is."""
        return self._doc.section("sources").mapping_of_texts()

    # releases ------------------------------------------------------------------------------------------------

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """All releases, oldest first, by numeric component (7.2 < 7.14 < 10.0)."""
        return tuple(sorted(self._doc.entry_keys("releases"), key=versions.key))

    @property
    def newest(self) -> str:
        return self.versions[-1]

    def resolve(self, text: str) -> str | None:
        """A release the matrix knows: "6.2.0" itself, "6.2" the newest 6.2.x, "latest" the newest; None if there is none."""
        wanted = text.strip().lower().removeprefix("rocm").lstrip("- ").removeprefix("v")
        if wanted in ("latest", "newest"):
            return self.newest
        if not re.fullmatch(r"\d+(\.\d+){0,2}", wanted):
            return None
        numbers = versions.components(wanted)
        found = [v for v in self.versions if versions.components(v)[: len(numbers)] == numbers]
        return found[-1] if found else None

    def is_newer_than_known(self, version: str) -> bool:
        """A ROCm newer than the matrix is unknown, not unsupported (rules.md 45)."""
        numbers = versions.components(version)
        return numbers[:2] > versions.components(self.newest)[:2] or versions.key(version) > versions.key(self.newest)

    def release(self, version: str) -> Release | None:
        """The release; "6.2" means 6.2.0 here (what an installation calls itself), not the newest 6.2.x."""
        key = self._release_key(version)
        if key is None:
            return None
        if key not in self._releases:
            from rocmdoctor.matrix.release_reader import read_release

            self._releases[key] = read_release(self._doc, key)
        return self._releases[key]

    def _release_key(self, version: str) -> str | None:
        wanted = (*versions.components(version), 0, 0, 0)[:3]
        key = ".".join(map(str, wanted))
        return key if key in self._doc.entry_keys("releases") else None

    # distributions -------------------------------------------------------------------------------------------

    @cached_property
    def distributions(self) -> Mapping[str, Distribution]:
        from rocmdoctor.matrix.distributions import read_distributions

        return read_distributions(self._doc)

    def base_os(
        self,
        id: str,
        version_id: str | None,
        id_like: Sequence[str] = (),
        ubuntu_codename: str | None = None,
        codename: str | None = None,
    ) -> OsBase | None:
        """AMD's distribution behind an os-release: Mint, Pop and neon are their Ubuntu, AlmaLinux is RHEL; None for Arch."""
        from rocmdoctor.matrix.distributions import find_base

        return find_base(self.distributions, id, version_id, id_like, ubuntu_codename, codename)

    def glibc(self, os_id: str, os_version: str) -> str | None:
        """The glibc version that AMD states for a distribution."""
        row = self.distributions.get(os_id)
        return next((g for v, g in row.glibc.items() if versions.is_prefix(v, os_version)), None) if row else None

    # support -------------------------------------------------------------------------------------------------

    def os(
        self,
        rocm: str,
        os_id: str,
        os_version: str,
        *,
        family: str | None = None,
        gfx: str | None = None,
        product: str | None = None,
    ) -> Answer:
        """Is this operating system on AMD's list, for this GPU as far as it is given? `os_version` is VERSION_ID or a point release."""
        from rocmdoctor.matrix import support

        question = f"{os_id} {os_version} with ROCm {rocm}"
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        return support.judge_os(release, self.distributions, os_id, os_version, self._board(gfx, product, family), question)

    def kernel(
        self,
        rocm: str,
        os_id: str,
        os_version: str,
        kernel_release: str,
        *,
        family: str | None = None,
        gfx: str | None = None,
        product: str | None = None,
    ) -> Answer:
        """Is this kernel (uname -r) among those AMD names for the system? "unsupported" means "not on AMD's list" only."""
        from rocmdoctor.matrix import support

        question = f"kernel {kernel_release} on {os_id} {os_version} with ROCm {rocm}"
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        board = self._board(gfx, product, family)
        return support.judge_kernel(release, self.distributions, os_id, os_version, kernel_release, board, question)

    def gpu(
        self,
        rocm: str,
        gfx: str,
        *,
        product: str | None = None,
        os_id: str | None = None,
        os_version: str | None = None,
        family: str | None = None,
    ) -> Answer:
        """Is this gfx target on AMD's list, as this product and on this operating system where they are given?"""
        from rocmdoctor.matrix import support

        question = f"{product or gfx} with ROCm {rocm}" + (f" on {os_id} {os_version}" if os_id else "")
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        board = self._board(gfx, product, family)
        return support.judge_gpu(release, self.distributions, gfx, board, os_id, os_version, question)

    def driver(self, rocm: str, driver_release: str, *, family: str | None = None) -> Answer:
        """Does this release of AMD's driver ("6.4.1", "30.10.2") carry that user space, by AMD's tables?"""
        from rocmdoctor.matrix import support

        question = f"amdgpu {driver_release} with ROCm {rocm}" + (f" ({family})" if family else "")
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        newest = self.driver_releases[-1].version
        return support.judge_driver(release, self.driver_windows, driver_release, family, newest, question)

    def _board(self, gfx: str | None, product: str | None, family: str | None) -> Board:
        from rocmdoctor.matrix.support import Board

        return Board(self.gfx(gfx) if gfx else None, gfx, product, family)

    def _no_release(self, rocm: str, question: str) -> Answer:
        if self.is_newer_than_known(rocm):
            reason = f"ROCm {rocm} is newer than this matrix ({self.newest}, dated {self.date})"
        else:
            reason = f"this matrix has no ROCm {rocm}"
        return Answer(Verdict.UNKNOWN, question, reason, ())

    # drivers -------------------------------------------------------------------------------------------------

    @cached_property
    def driver_windows(self) -> Windows:
        from rocmdoctor.matrix.drivers import read_windows

        return read_windows(self._doc)

    @cached_property
    def driver_releases(self) -> tuple[DriverRelease, ...]:
        """Every driver release the matrix knows, oldest first."""
        from rocmdoctor.matrix.drivers import read_driver_releases

        return read_driver_releases(self._doc)

    def driver_release_of_module(self, module_version: str) -> str | None:
        """"6.14.14-2222715.24.04" is "30.10.2"; a bare "6.8.5" tells the line "6.2" only; None when unknown."""
        from rocmdoctor.matrix.drivers import release_of_module

        return release_of_module(self.driver_releases, module_version)

    # GPUs ----------------------------------------------------------------------------------------------------

    def pci_gpu(self, device: str, revision: str = "") -> PciGpu | None:
        """The GPU with this PCI device id ("744c") and revision ("c8"); None for an id the table does not know."""
        from rocmdoctor.matrix.gpu_ids import read_pci_gpu

        return read_pci_gpu(self._doc, device, revision)

    def gfx(self, name: str) -> GfxTarget | None:
        """What is known of a gfx target ("gfx90a"); None for a name the table does not know."""
        from rocmdoctor.matrix.gpu_ids import read_gfx

        return read_gfx(self._doc, name)

    @property
    def gfx_names(self) -> tuple[str, ...]:
        from rocmdoctor.matrix.gpu_ids import gfx_names

        return gfx_names(self._doc)

    @cached_property
    def therock_families(self) -> Mapping[str, frozenset[str]]:
        """TheRock family ("gfx110X-all") to its targets."""
        from rocmdoctor.matrix.gpu_ids import read_therock_families

        return read_therock_families(self._doc)
