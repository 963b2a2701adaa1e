"""Locks: what is recorded, to which step it belongs, and what is compared before a package is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from rocmdoctor.facts.packages import Package
from rocmdoctor.host import Command
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import compared, journal, locking
from rocmdoctor.plan.locking import Locked
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages
from rocmdoctor.plan.step import Plan, Run
from tests.plan.fake_machine import FakeMachine, File

A, B = "a" * 64, "b" * 64


@dataclass
class Answering(FakeMachine):
    """A machine whose programs answer by their first words."""

    answers: dict[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)
    answer: Callable[[tuple[str, ...]], str] = field(default=lambda words: "")

    def run(
        self,
        argv: Sequence[str],
        log: str,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        heard: Callable[[], None] | None = None,
    ) -> Command:
        words = tuple(argv)
        self.ran.append(words)
        rc, text = next((a for begin, a in self.answers.items() if words[: len(begin)] == begin), (0, self.answer(words)))
        return Command(words, f"/usr/bin/{words[0]}", rc, text, "")


def stanza(name: str, version: str, digest: str | None) -> str:
    return f"Package: {name}\nVersion: {version}\n" + (f"SHA256: {digest}\n" if digest else "") + "\n"


def made() -> tuple[Answering, Run, list[str]]:
    machine = Answering()
    machine.folders |= {"/var", "/var/lib", "/var/lib/dpkg"}
    machine.packages = {"rocm-core": ("1", "installed")}
    said: list[str] = []
    return machine, Run(machine, "/log", "/kept", said.append), said


# apt -------------------------------------------------------------------------------------------------------------


def test_debs_are_compared_by_the_lists() -> None:
    lists = stanza("rocm-core", "1", A) + stanza("hip", "2", A)
    machine, run, said = made()
    machine.answers[("apt-cache",)] = (0, lists)
    compared.in_lists(run, [("rocm-core", "1", A), ("hip", "2", A)])
    with pytest.raises(ChangeFailed, match=r"hip 2 is another file than the lock's \(SHA-256 a+\.+ here, b+\.+ in the lock\)"):
        compared.in_lists(run, [("rocm-core", "1", A), ("hip", "2", B)])
    with pytest.raises(ChangeFailed, match="rocm-core 1 is another file"):  # that version is installed already
        compared.in_lists(run, [("rocm-core", "1", B)])
    with pytest.raises(ChangeFailed, match="nosuch 3 is not to be had"):
        compared.in_lists(run, [("nosuch", "3", A)])
    assert said == []


def test_an_installed_deb_that_no_repository_has_is_compared_by_its_version() -> None:
    machine, run, said = made()
    machine.answers[("apt-cache",)] = (0, stanza("rocm-core", "1", None))
    compared.in_lists(run, [("rocm-core", "1", A)])
    assert len(said) == 1 and "only the version is compared, not the hash" in said[0] and "rocm-core" in said[0]
    with pytest.raises(ChangeFailed, match="rocm-core 2 is not to be had"):
        compared.in_lists(run, [("rocm-core", "2", A)])


# rpm -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manager", "cache", "word"),
    [("dnf", "/var/cache/dnf", "--downloadonly"), ("zypper", "/srv/zypp", "--download-only")],
)
def test_rpms_are_downloaded_and_compared(manager: str, cache: str, word: str) -> None:
    machine, run, _ = made()
    machine.folders |= {"/etc", "/etc/zypp", cache}
    machine.files["/etc/zypp/zypp.conf"] = File(b"[main]\n# packagesdir = /nowhere\npackagesdir = /srv/zypp\n")
    path = f"{cache}/amd/hip-2-1.x86_64.rpm"
    lists = iter(["", f"{path}\n{cache}/x/other-1.rpm\n"] * 2)

    def answer(words: tuple[str, ...]) -> str:
        if words[0] == "find":
            return next(lists) if words[1] == cache else ""
        return f"hip\t0:2-1\t{A}\n" if words[:2] == ("rpm", "-qp") else ""

    machine.answer = answer
    compared.in_files(run, manager, (Wish("hip", "2-1"),), [("hip", "2-1", A)])
    assert [words for words in machine.ran if word in words and words[0] == manager] and machine.ran[-1][-1] == path
    machine.files[path] = File(b"rpm")
    with pytest.raises(ChangeFailed, match="hip 2-1 is another file"):
        compared.in_files(run, manager, (Wish("hip", "2-1"),), [("hip", "2-1", B)])
    assert path not in machine.files  # what was downloaded for it is gone again


def test_an_installed_rpm_tells_its_hash() -> None:
    machine, run, _ = made()
    machine.answers[("rpm", "-q")] = (0, f"rocm-core\t0:1\t{A}\nold\t1:2\t(none)\n")
    compared.in_files(run, "dnf", (), [("rocm-core", "1", A)])
    with pytest.raises(ChangeFailed, match="rocm-core 1 is another file"):
        compared.in_files(run, "dnf", (), [("rocm-core", "1", B)])
    assert all(words[0] == "rpm" for words in machine.ran)


# what belongs to which step --------------------------------------------------------------------------------------


def test_rows_go_to_the_step_they_came_with() -> None:
    driver = InstallPackages("driver", "", manager="apt", wishes=(Wish("amdgpu-dkms"),))
    rocm = InstallPackages("rocm", "", manager="apt", wishes=(Wish("rocm"),))
    rows = [
        Locked("amdgpu-dkms", "1", (A,)),
        Locked("amdgpu-dkms-firmware", "1", (A,)),
        Locked("dkms", "3", (A,), "driver"),
        Locked("libnuma1", "2", (), "rocm"),
        Locked("rocm", "6", (A,), "gone"),
        Locked("hip", "6", (A,)),
    ]
    by_name = {row.name: row for row in rows}
    shares = locking._shares(Plan("install", "", (driver, rocm)), by_name)
    assert shares == {"driver": ["amdgpu-dkms", "amdgpu-dkms-firmware", "dkms"], "rocm": ["libnuma1", "rocm", "hip"]}
    assert locking._shares(Plan("install", "", (rocm,)), by_name)["rocm"] == [
        *("dkms", "libnuma1", "rocm", "hip")
    ]  # no step installs the driver's own


def test_a_package_without_a_hash_is_recorded_and_read() -> None:
    machine, run, _ = made()
    machine.answers[("apt-cache",)] = (100, stanza("rocm", "6", A) + stanza("libnuma1", "2", None))
    steps = {Package("rocm", "6", "amd64"): "rocm", Package("libnuma1", "2", "amd64"): "rocm", Package("hip", "6", "amd64"): ""}
    rows = locking._package_rows(steps, "apt", machine, run.log)
    assert rows == [
        {"name": "hip", "version": "6", "sha256": None},
        {"name": "libnuma1", "version": "2", "sha256": None, "step": "rocm"},
        {"name": "rocm", "version": "6", "sha256": A, "step": "rocm"},
    ]
    assert [locking._package(row) for row in rows][1] == Locked("libnuma1", "2", (), "rocm")


def test_what_runs_have_brought_is_known_from_their_journals() -> None:
    machine, _, _ = made()
    machine.folders |= {"/var/lib/rocmdoctor", journal.FOLDER}
    step = InstallPackages("driver", "", manager="apt", wishes=(Wish("amdgpu-dkms"),))
    plan = Plan("install", "", (step,))
    after = {"installed": ["dkms"], "upgraded": {"libc6": "1"}, "removed": {}}
    for run_id, command, undone in (("1-install", "install", False), ("2-install", "install", True), ("3-fix", "fix", False)):
        book = journal.Journal(machine, run_id)
        names = after if run_id == "1-install" else {**after, "installed": ["other"]}
        book.begin(run_id, replace(plan, command=command), None, "test")
        book.add("intent", step="driver", before={})
        book.add("result", step="driver", status="done", after=names)
        if undone:
            book.add("undone")
    assert locking._came_along(machine) == {"dkms": "driver", "libc6": "driver"}


def test_deep_nesting_is_no_lock() -> None:
    for text in ("[" * 100_000, '{"format": ' * 50_000):
        with pytest.raises(locking.LockError, match="nested too deeply"):
            locking.read(text)
