"""Typed view of compat_matrix.yaml. Answers are supported, deprecated, unsupported or unknown, with the row that says so.

matrix = load_matrix() matrix.gpu("6.2.4", "gfx1100", os_id="ubuntu", os_version="22.04").verdict

Nothing outside this package indexes the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rocmdoctor import named_file, versions
from rocmdoctor.matrix.answers import Answer, Problem, Suggestion, Verdict
from rocmdoctor.matrix.document import Document, MatrixError
from rocmdoctor.matrix.hardware_questions import HardwareQuestions
from rocmdoctor.matrix.install_questions import InstallQuestions
from rocmdoctor.matrix.wheel_questions import WheelQuestions

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    from rocmdoctor.matrix.board import Board
    from rocmdoctor.matrix.distributions import OsBase
    from rocmdoctor.matrix.release_reader import Release

__all__ = ["Answer", "Matrix", "MatrixError", "Problem", "Suggestion", "Verdict", "load_matrix"]

MOST_BYTES = 8 << 20
"""Size of a matrix file at most; ours has less than 1 MiB."""
DEFAULT = Path(__file__).parent.parent / "compat_matrix.yaml"
_DATE = r"\d{4}-\d\d-\d\d"
_WANTED = r"(?:rocm)?[- ]?v?(\d+(?:\.\d+){0,2})"


def load_matrix(path: str | Path | None = None) -> Matrix:
    """The matrix of this installation, or of a file. Nothing but the date is read yet. Raises MatrixError."""
    file = Path(path) if path is not None else DEFAULT
    try:
        text = _text(file)
    except named_file.NotRead as error:
        raise MatrixError(str(file), "", 0, f"cannot be read: {error}") from error
    except ValueError:
        raise MatrixError(str(file), "", 0, "cannot be read: it is no UTF-8 text") from None
    return Matrix(Document(text, file), file)


def _text(file: Path) -> str:
    """As a text file is read: every kind of line end is a line break."""
    return named_file.read(str(file), MOST_BYTES).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


class Matrix(HardwareQuestions, WheelQuestions, InstallQuestions):
    """Answers about ROCm releases. Sections are parsed when a question needs them; any question may raise MatrixError."""

    def __init__(self, document: Document, path: Path) -> None:
        self._doc = document
        self.path = path
        self.date = document.quoted("date")
        if not re.fullmatch(_DATE, self.date):
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

    @property
    def sections(self) -> tuple[str, ...]:
        """Names of the file's sections, in its order."""
        return self._doc.section_names

    def section_text(self, name: str) -> str | None:
        """A section as it stands in the file, comments and all; None when there is none of that name."""
        return self._doc.section_text(name)

    def lint(self) -> list[Problem]:
        """Everything that is wrong with the file: types, references, order, contradictions. Parses all of it."""
        from rocmdoctor.matrix.lint import lint

        return lint(self, self._doc)

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
        wanted = text.strip().lower()
        if wanted in ("latest", "newest"):
            return self.newest
        found = re.fullmatch(_WANTED, wanted)
        if not found:
            return None
        numbers = versions.components(found.group(1))
        return next((v for v in reversed(self.versions) if versions.components(v)[: len(numbers)] == numbers), None)

    def is_newer_than_known(self, version: str) -> bool:
        """A ROCm newer than the matrix is unknown, not unsupported (rules.md 45)."""
        return versions.key(version) > versions.key(self.newest)

    def near(self, version: str) -> tuple[str, ...]:
        """The releases before and after a number that is none, one where it lies outside."""
        from bisect import bisect

        place = bisect([versions.key(v) for v in self.versions], versions.key(version))
        return self.versions[max(place - 1, 0) : place + 1]

    def release(self, version: str) -> Release | None:
        """The release; "6.2" means 6.2.0 here (what an installation calls itself), not the newest 6.2.x."""
        key = ".".join(map(str, (*versions.components(version), 0, 0, 0)[:3]))
        if key not in self._doc.entry_keys("releases"):
            return None
        if key not in self._releases:
            from rocmdoctor.matrix.release_reader import read_release

            read_release(self._doc, key, self._releases)
        return self._releases[key]

    # support -------------------------------------------------------------------------------------------------

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
        """Is this operating system on AMD's list, for this GPU as far as it is given?

        `os_version` is VERSION_ID, or a point release where one is meant ("22.04.4", "15 SP5").
        """
        from rocmdoctor.matrix.os_support import judge_os

        question = f"{os_id} {os_version} with ROCm {rocm}"
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        return judge_os(release, self.distributions, os_id, os_version, self._board(gfx, product, family), question)

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
        from rocmdoctor.matrix.os_support import judge_kernel

        question = f"kernel {kernel_release} on {os_id} {os_version} with ROCm {rocm}"
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        board = self._board(gfx, product, family)
        return judge_kernel(release, self.distributions, os_id, os_version, kernel_release, board, question)

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
        from rocmdoctor.matrix.gpu_support import judge_classic_apu, judge_gpu

        question = f"{product or gfx} with ROCm {rocm}" + (f" on {os_id} {os_version}" if os_id else "")
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        board = self._board(gfx, product, family)
        if release.line == "classic" and not release.gpus(gfx):
            apu = judge_classic_apu(release, gfx, self.apu_status, self.apu_classic, question)
            if apu is not None:
                return apu
        return judge_gpu(release, self.distributions, gfx, board, os_id, os_version, question)

    def driver(self, rocm: str, driver_release: str, *, family: str | None = None) -> Answer:
        """Does this release of AMD's driver ("6.4.1", "30.10.2") carry that user space, by AMD's tables?"""
        from rocmdoctor.matrix.driver_support import judge_driver

        question = f"amdgpu {driver_release} with ROCm {rocm}" + (f" ({family})" if family else "")
        release = self.release(rocm)
        if release is None:
            return self._no_release(rocm, question)
        newest = self.driver_releases[-1].version
        return judge_driver(release, self.driver_windows, driver_release, family, newest, question)

    @cached_property
    def inbox_only_gfx(self) -> frozenset[str]:
        """Targets that AMD's newest table has with the kernel's own driver only (Ryzen APUs)."""
        release = self.release(self.newest)
        lists = release.drivers.families if release else None
        inbox = {family for family, drivers in (lists or {}).items() if not drivers}
        return frozenset(row.gfx for row in (release.gpu_rows if release else None) or () if row.family in inbox)

    # combinations --------------------------------------------------------------------------------------------

    def query(self, **what: str | None) -> list[Answer]:
        """Every pair of the elements that are given: rocm, os ("ubuntu:22.04"), kernel, gfx, torch, python, driver.

        Raises ValueError for an element it does not know or cannot read.
        """
        from rocmdoctor.matrix.query import Combination, answers

        return answers(self, Combination.of(**what))

    def suggest(self, **what: str | None) -> list[Suggestion]:
        """The nearest combinations with one element changed in which nothing is unsupported, nearest first."""
        from rocmdoctor.matrix.query import Combination, suggestions

        return suggestions(self, Combination.of(**what))

    def _board(self, gfx: str | None, product: str | None, family: str | None) -> Board:
        from rocmdoctor.matrix.board import Board

        return Board(self.gfx(gfx) if gfx else None, gfx, product, family)

    def _no_release(self, rocm: str, question: str) -> Answer:
        if self.is_newer_than_known(rocm):
            reason = f"ROCm {rocm} is newer than this matrix ({self.newest}, dated {self.date})"
        else:
            reason = f"this matrix has no ROCm {rocm}"
        return Answer(Verdict.UNKNOWN, question, reason, ())

    def _driver_for_wheel(self, rocm: str, driver: str, gfx: str) -> Answer:
        """A wheel's ROCm ("6.2", "10.1.0") against a driver; an index X.Y stands for X.Y.0."""
        target = self.gfx(gfx)
        return self.driver(rocm, driver, family=target.families[0] if target else None)
