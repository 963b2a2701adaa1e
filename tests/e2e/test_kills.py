"""kill -9 behind every line of the journal, with each package manager: `install --resume` ends as a run that nobody disturbed,
and `undo` leaves files, packages and keys as they were.

A line that is torn (its second half did not reach the disk) stands for what is worse than a kill behind it: the program has done
its work, and nobody has written down that it has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.files import Files, package_set, rpm_keys
from tests.e2e.install_case import InstallCase
from tests.e2e.root import Done
from tests.e2e.test_faults import STATE, failed, killed

pytestmark = pytest.mark.slow
LONG = "ROCMDOCTOR_LONG" in os.environ
"""Every line of each of them, whole and torn, with resume and with undo: twenty minutes."""
RPM = ("rhel-9.4", "sles-15.6")
"""The kills of apt's runs are in test_faults.py."""
NAMES = ("ubuntu-22.04", *RPM)
ASKED = ("install", "--rocm", "6.2", "--packages", "rocm-core", "--driver", "none", "--pytorch", "none", "--yes")
"""The smallest installation that has every kind of step: repositories beside AMD's, key, lists, packages, files."""


class Picture(NamedTuple):
    """Files, packages and rpm's keys of a machine."""

    files: Files
    packages: dict[str, str]
    keys: set[str]

    def differs(self, case: InstallCase) -> list[str]:
        """What is different now, a line each."""
        lines = self.files.changes(case.snapshot_of_files(), ignore=(STATE,))
        packages, keys = package_set(case.root, case.family), picture(case).keys
        lines += [
            f"{'+' if entry in packages.items() else '-'} package {entry}" for entry in packages.items() ^ self.packages.items()
        ]
        return lines + [f"key {key}" for key in keys ^ self.keys]


def picture(case: InstallCase) -> Picture:
    keys = set() if case.family == "deb" else rpm_keys(case.root)
    return Picture(case.snapshot_of_files(), case.package_set(), keys)


def journal_file(case: InstallCase) -> Path:
    return max(Path(str(case.root.path(f"{STATE}/journal"))).iterdir())


class Undisturbed(NamedTuple):
    """How a machine is before and after a run that nobody disturbs, and the lines of its journal."""

    bare: Picture
    whole: Picture
    lines: list[dict[str, Any]]

    def places(self) -> Iterator[tuple[int, bool]]:
        """(line, torn): every line whole, and every one torn behind which something has been done."""
        for number, line in enumerate(self.lines, 1):
            yield number, False
            if line["type"] == "result":
                yield number, True


def undisturbed(case: InstallCase) -> Undisturbed:
    bare = picture(case)
    case.rocmdoctor(*ASKED).ok()
    return Undisturbed(bare, picture(case), [json.loads(line) for line in journal_file(case).read_text().splitlines()])


def cut_off(case: InstallCase, line: int, torn: bool) -> None:
    """A run that is killed behind that line of its journal."""
    assert killed(case.rocmdoctor(*ASKED, kill_at=line, kill_path="journal/"))  # the folder, which is synced once, has no slash
    file = journal_file(case)
    rows = file.read_bytes().splitlines(keepends=True)
    assert len(rows) == line
    if torn:
        file.write_bytes(b"".join(rows[:-1]) + rows[-1][: len(rows[-1]) // 2])


def where(run: Undisturbed, line: int, torn: bool) -> str:
    row = run.lines[line - 1]
    return f"line {line}, {row['type']} {row.get('step', '')}{' torn' if torn else ''}"


def gone_on(case: InstallCase, *argv: str) -> Done:
    """`install --resume` or `undo` to its end, killed behind each line that it writes, the last one too."""
    done = case.rocmdoctor(*argv, kill_at=2)  # behind the line that says that it goes on, and one more
    for _ in range(100):
        if not killed(done):
            break
        done = case.rocmdoctor(*argv, kill_at=2)
    return done


@pytest.mark.parametrize("name", RPM)
def test_one_run_killed_behind_every_line(machine: Machine, name: str) -> None:
    """It is resumed and killed again until it is complete, and taken back in the same way."""
    twin = machine(name)
    run = undisturbed(twin)
    twin.close()
    case = machine(name)
    cut_off(case, 1, False)
    failed(case.rocmdoctor(*ASKED), "was cut off", "--resume", "undo")
    gone_on(case, "install", "--resume").ok()
    assert run.whole.differs(case) == []
    rows = [json.loads(line) for line in journal_file(case).read_text().splitlines()]
    assert sum(row["type"] == "resume" for row in rows) >= len(run.lines) - 2
    said = case.rocmdoctor("install", "--resume").ok().out
    assert "is complete: Install ROCm 6.2.4" in said
    assert "Nothing to do." in case.rocmdoctor(*ASKED).ok().out
    done = gone_on(case, "undo", "--yes")
    assert done.rc == 0 or "nothing to take back" in done.said
    assert run.bare.differs(case) == []


@pytest.mark.parametrize("name", RPM)
def test_killed_then_undone(machine: Machine, name: str) -> None:
    """Undo alone, behind every line of a run: the even ones with dnf, the odd ones with zypper, and all with LONG below."""
    case = machine(name)
    run = undisturbed(case)
    case.rocmdoctor("undo", "--yes").ok()
    assert run.bare.differs(case) == []
    for line in range(2 if name == RPM[0] else 1, len(run.lines) + 1, 2):
        cut_off(case, line, False)
        case.rocmdoctor("undo", "--yes").ok()
        assert run.bare.differs(case) == [], where(run, line, False)


def test_programs_that_had_ended(machine: Machine) -> None:
    """dnf has brought EPEL, crb has switched on its repository, rpm has the key, and nobody has written it down."""
    case = machine("rhel-9.4")
    run = undisturbed(case)
    case.rocmdoctor("undo", "--yes").ok()
    lines = [
        n for n, row in enumerate(run.lines, 1) if row["type"] == "result" and row["step"] in ("epel", "builder", "key-radeon")
    ]
    assert len(lines) == 3
    for line in lines:
        cut_off(case, line, True)
        if line == lines[-1]:
            case.rocmdoctor("install", "--resume").ok()
            assert run.whole.differs(case) == []
        case.rocmdoctor("undo", "--yes").ok()
        assert run.bare.differs(case) == [], where(run, line, True)


@pytest.mark.skipif(not LONG, reason="takes twenty minutes: ROCMDOCTOR_LONG=1 runs it")
@pytest.mark.parametrize("name", NAMES)
def test_every_line_on_its_own(machine: Machine, name: str) -> None:
    first = machine(name)
    run = undisturbed(first)
    first.close()
    wrong = []
    for line, torn in run.places():
        for resumes in (True, False):
            case = machine(name)
            cut_off(case, line, torn)
            argv = ("install", "--resume") if resumes else ("undo", "--yes")
            done = case.rocmdoctor(*argv)
            differs = (run.whole if resumes else run.bare).differs(case) if done.rc == 0 else [done.said[-600:]]
            if differs:
                wrong.append(f"{where(run, line, torn)}, {argv}: {differs}")
            case.close()
    assert wrong == [], "\n".join(wrong)
