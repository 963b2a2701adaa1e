"""Faults while `install` works on a real machine: nothing is lost or half-done, and one message says what happened."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.files import Files
from tests.e2e.install_case import InstallCase
from tests.e2e.root import Done

STATE = "/var/lib/rocmdoctor"
SMALL = ("install", "--rocm", "6.2.4", "--packages", "rocminfo", "--driver", "none", "--pytorch", "none")
"""The smallest installation: a key, two repositories, the pin, the lists, some packages, two files."""
KEY = "/etc/apt/keyrings/rocm.gpg"
LIST = "/etc/apt/sources.list.d/rocm.list"
PIN = "/etc/apt/preferences.d/rocm-pin-600"


class Before:
    """Files and packages of a machine, to be compared with how they are later."""

    def __init__(self, case: InstallCase) -> None:
        self.case = case
        self.files: Files = case.snapshot_of_files()
        self.packages = case.package_set()

    def unchanged(self, *ignore: str) -> None:
        assert self.files.changes(self.case.snapshot_of_files(), ignore=(STATE, *ignore)) == []
        assert self.case.package_set() == self.packages


def complaints(done: Done) -> list[str]:
    """The lines that say what went wrong, wherever they were written."""
    marks = re.compile(r"(rocmdoctor: |(?=refused: ))(?!note: |what the package manager said is in )|[Ff]ailed at step ")
    return [line for line in done.said.splitlines() if marks.match(line)]


def failed(done: Done, *words: str, rc: int = 1) -> None:
    """It ended as documented, with one message that has these words, and with no traceback."""
    assert done.rc == rc, done.said
    assert "Traceback" not in done.said
    said = complaints(done)
    assert len(said) == 1, done.said
    assert len(said[0]) < 600
    for word in words:
        assert word in said[0], said[0]


def named_log(case: InstallCase, done: Done) -> str:
    """The log that the message names; it exists."""
    found = re.search(r"/var/log/rocmdoctor/[\w.-]+\.log", done.said)
    assert found is not None, done.said
    return case.read(found[0])


def last_journal(case: InstallCase) -> list[str]:
    folder = Path(str(case.root.path(f"{STATE}/journal")))
    return max(folder.iterdir()).read_text().splitlines()


def killed(done: Done) -> bool:
    assert "Traceback" not in done.said
    return done.rc in (-9, 137)


def test_killed_after_every_journal_line_then_resumed_then_undone(machine: Machine) -> None:
    """One run is killed behind each line of its journal, and gone on with each time; so is undo."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    case.rocmdoctor(*SMALL, "--yes").ok()
    whole, lines = Before(case), len(last_journal(case))
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()

    done = case.rocmdoctor(*SMALL, "--yes", kill_at=1)
    kills = 0
    while killed(done):
        kills += 1
        assert kills < 3 * lines
        if kills == 1:  # nothing new begins before it is settled
            failed(case.rocmdoctor(*SMALL, "--yes"), "was cut off", "--resume", "undo")
        done = case.rocmdoctor("install", "--resume", kill_at=2)  # behind its own first line and one more
    assert done.rc == 0  # also when the last kill was behind the last line: it is complete then
    assert kills >= lines - 1
    whole.unchanged()
    case.rocmdoctor(*SMALL, "--yes").ok()
    whole.unchanged()

    kills, done = 0, case.rocmdoctor("undo", "--yes", kill_at=2)
    while killed(done):
        kills += 1
        assert kills < 6 * lines
        done = case.rocmdoctor("undo", "--yes", kill_at=2)
    assert kills >= 16
    before.unchanged()


def test_killed_then_undone(machine: Machine) -> None:
    """Behind the plan, an intent and a result of each kind of step: undo alone brings everything back."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    for line in (1, 2, 3, 5, 10, 12, 13, 16):
        assert killed(case.rocmdoctor(*SMALL, "--yes", kill_at=line)), line
        case.rocmdoctor("undo", "--yes").ok()
        before.unchanged()


def test_killed_behind_a_temporary_file(machine: Machine) -> None:
    """Between writing a new version of a file and putting it in place: the temporary file does not stay."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    assert killed(case.rocmdoctor(*SMALL, "--yes", kill_at=1, kill_path="/etc/apt/sources.list.d"))
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()
    assert killed(case.rocmdoctor(*SMALL, "--yes", kill_at=1, kill_path="/etc/apt/preferences.d"))
    case.rocmdoctor("install", "--resume").ok()
    assert case.shell("find /etc -name '*rocmdoctor-new*'").ok().out == ""
    assert case.installed("rocminfo") == ["rocminfo"]
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()


def test_package_manager_outlives_a_kill(machine: Machine) -> None:
    """rocmdoctor is killed while apt is at work. A second run, resume and undo do not get in its way."""
    case = machine("ubuntu-22.04")
    hook = "/etc/apt/apt.conf.d/99wait"
    case.write(hook, 'DPkg::Pre-Invoke {"touch /.e2e/state/begun; while test -e /.e2e/state/wait; do sleep 0.05; done";};\n')
    before = Before(case)
    case.write("/.e2e/state/wait", "")
    process = case.popen(*SMALL, "--yes")
    for _ in range(1200):
        if case.exists("/.e2e/state/begun"):
            break
        time.sleep(0.05)
    assert case.exists("/.e2e/state/begun")
    failed(case.rocmdoctor(*SMALL, "--yes"), "another rocmdoctor", "is changing this machine")
    failed(case.rocmdoctor("undo", "--yes"), "another rocmdoctor")
    case.shell("kill -9 $(cat /var/lib/rocmdoctor/lock)").ok()
    process.communicate(timeout=60)
    failed(case.rocmdoctor("install", "--resume"), "apt-get", "holds /var/lib/dpkg/lock-frontend")
    failed(case.rocmdoctor("undo", "--yes"), "apt-get", "holds /var/lib/dpkg/lock-frontend")
    case.run("rm", "/.e2e/state/wait").ok()
    with case.lock_held("/var/lib/dpkg/lock-frontend"):
        pass  # apt has let it go
    case.rocmdoctor("install", "--resume").ok()
    assert case.installed("rocminfo") == ["rocminfo"]
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()


def test_refused_before_anything_is_changed(machine: Machine) -> None:
    """What the machine, the mirror and the keys tell beforehand: one message, and not a file is different."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    failed(case.rocmdoctor(*SMALL), "no terminal", "--yes", rc=2)
    failed(case.rocmdoctor(*SMALL, "--yes", user="user1"), "run it as root")
    for lock in ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock"):
        with case.lock_held(lock):
            failed(case.rocmdoctor(*SMALL, "--yes"), "python3 (process", lock, "wait until it has ended")
    with case.small_disk("/opt", "64k"):
        failed(case.rocmdoctor(*SMALL, "--yes"), "/opt", "free")
    assert not case.exists("/var/log/rocmdoctor/rehearsal.log")

    case.mirror.serve_key("radeon", "other")
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "fingerprint", case.site.keys["other"].fingerprint, case.site.keys["radeon"].fingerprint)
    assert "rehearsal.log" not in done.said  # no package manager was asked
    case.mirror.serve_key("radeon", "radeon", expired=True)
    failed(case.rocmdoctor(*SMALL, "--yes"), "it expired on")
    case.mirror.serve_key("radeon", "other")
    case.pin("other")  # the right key, and a signature of another
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "repo.radeon.com", "NO_PUBKEY")
    assert "NO_PUBKEY" in named_log(case, done)
    case.mirror.serve_key("radeon", "radeon")
    case.pin()

    case.mirror.missing.append("repo.radeon.com/rocm/apt/6.2.4")
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "https://repo.radeon.com/rocm/apt/6.2.4", "does not have a Release file")
    assert "404" in named_log(case, done)
    case.mirror.missing.clear()
    with case.mirror.down():
        failed(case.rocmdoctor(*SMALL, "--yes"), "rocm.gpg.key cannot be fetched")
    with case.mirror.down(after=4):
        done = case.rocmdoctor(*SMALL, "--yes")
        failed(done, "repo.radeon.com")
        assert "onnection" in named_log(case, done)
    before.unchanged()
    assert not case.exists(f"{STATE}/rehearsal")
    failed(case.rocmdoctor("undo", "--yes"), "nothing to take back")
    failed(case.rocmdoctor("install", "--resume"), "no run to resume")


def test_the_disk_fills_while_packages_are_unpacked(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    before = Before(case)
    for go_on in (False, True):
        case.run("mkdir", "-p", "/opt/rocm-6.2.4").ok()
        with case.small_disk("/opt/rocm-6.2.4", "4k"):
            done = case.rocmdoctor(*SMALL, "--yes")
            failed(done, "at step rocm", "apt-get install", "rocm-core", "No space left on device")
            assert "No space left" in named_log(case, done)
            if not go_on:
                case.rocmdoctor("undo", "--yes").ok()
        if go_on:
            case.rocmdoctor("install", "--resume").ok()
            assert case.installed("rocminfo") == ["rocminfo"]
            assert case.run("dpkg", "--audit").ok().out == ""
            case.rocmdoctor("undo", "--yes").ok()
        case.shell("rmdir /opt/rocm-6.2.4 2>/dev/null || true").ok()
        before.unchanged()


def test_the_disk_of_the_journal_is_full(machine: Machine) -> None:
    """Nothing is done that cannot be written down, and the half line that was written does no harm."""
    case = machine("ubuntu-22.04")
    case.run("mkdir", "-p", f"{STATE}/journal").ok()
    before = Before(case)
    with case.small_disk(f"{STATE}/journal", "4k"):
        said = ("steps are done (", "once the journal can be written", "`rocmdoctor install --resume`", "`rocmdoctor undo`")
        failed(case.rocmdoctor(*SMALL, "--yes"), f"cannot write {STATE}/journal/", "the disk is full", *said)
        failed(case.rocmdoctor(*SMALL, "--yes"), "was cut off", "--resume")
        failed(case.rocmdoctor("undo", "--yes"), "the disk is full; nothing was taken back")
        case.root.mount("-o", "remount,size=1m", f"{STATE}/journal")
        case.rocmdoctor("install", "--resume").ok()
        assert case.installed("rocminfo") == ["rocminfo"]
        case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()


def test_dpkg_cannot_configure_another_package(machine: Machine) -> None:
    """It is named before anything is changed, and the package stays as it was."""
    case = machine("ubuntu-22.04")
    assert case.shell("apt-get update && apt-get install -y broken-on-install").rc
    before = Before(case)
    assert before.packages["broken-on-install"].endswith(" half-configured")
    shown = case.rocmdoctor(*SMALL, "--dry-run").ok()
    assert "broken-on-install is half-configured: dpkg finishes that first" in " ".join(shown.out.split())
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "refused", "broken-on-install cannot be configured", "apt-get remove broken-on-install")
    assert "broken-on-install" in named_log(case, done)
    before.unchanged()
    failed(case.rocmdoctor("undo", "--yes"), "nothing to take back")
    status = case.read("/var/lib/dpkg/status")
    case.write("/var/lib/dpkg/status", status.replace("install ok half-configured", "install ok half-installed"))
    assert "Remv broken-on-install" in case.shell("apt-get -s install rocminfo").said, "apt says what it would do with it"
    failed(case.rocmdoctor(*SMALL, "--yes"), "broken-on-install is half-installed")
    case.write("/var/lib/dpkg/status", status)
    # what only was not finished is finished first
    case.shell("printf '#!/bin/sh\nexit 0\n' > /var/lib/dpkg/info/broken-on-install.postinst").ok()
    case.rocmdoctor(*SMALL, "--yes").ok()
    assert case.package_set()["broken-on-install"] == "1.0-1"


def test_read_only_etc(machine: Machine) -> None:
    case = machine("ubuntu-22.04")
    before = Before(case)
    with case.read_only("/etc"):
        done = case.rocmdoctor(*SMALL, "--yes")
        failed(done, f"cannot write {KEY}", "the file system is read-only")
        before.unchanged()
        case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()


def test_files_of_the_user_come_back(machine: Machine) -> None:
    """Files that were there are replaced, and come back with mode and owner; what is edited meanwhile is kept aside."""
    case = machine("ubuntu-22.04")
    case.write(
        LIST, "# ours\ndeb [signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/rocm/apt/6.2 jammy main\n", 0o640
    )
    case.write(PIN, "# by hand\nPackage: *\nPin: release o=repo.radeon.com\nPin-Priority: 400\n")
    case.write(KEY, "no key\n", 0o600)
    case.run("chown", "user1:user1", LIST).ok()
    before = Before(case)
    case.rocmdoctor(*SMALL, "--yes").ok()
    assert "/rocm/apt/6.2.4 jammy" in case.read(LIST) and "Pin-Priority: 600" in case.read(PIN)
    case.write(PIN, "# edited afterwards\n")
    done = case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()
    assert f"{PIN} was edited after it was written" in done.said
    assert case.shell(f"cat {STATE}/kept/*/*edited-rocm-pin-600").ok().out == "# edited afterwards\n"


def test_the_mirror_fails_in_the_middle(machine: Machine) -> None:
    """At the lists it goes down, at the packages they are missing. The run goes on when they are back."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    with case.mirror.down(after=10):
        done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "at step index", "repo.radeon.com")
    assert "onnection" in named_log(case, done)
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()
    case.mirror.missing.append("repo.radeon.com/rocm/apt/6.2.4/pool")
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "at step rocm", "apt-get install", "404")
    named_log(case, done)
    case.mirror.missing.clear()
    case.rocmdoctor("install", "--resume").ok()
    assert case.installed("rocminfo") == ["rocminfo"]
    case.rocmdoctor("undo", "--yes").ok()
    before.unchanged()


def test_rhel_faults(machine: Machine) -> None:
    """What is different with dnf: its lock, its keys, its repositories. EPEL is not there yet, and nothing is begun."""
    case = machine("rhel-9.4")
    before = Before(case)
    with case.lock_held("/var/lib/rpm/.rpm.lock"):
        failed(case.rocmdoctor(*SMALL, "--yes"), "holds /var/lib/rpm/.rpm.lock", "wait until it has ended")
    case.mirror.serve_key("radeon", "other")
    failed(case.rocmdoctor(*SMALL, "--yes"), "fingerprint", case.site.keys["other"].fingerprint)
    before.unchanged()
    case.mirror.serve_key("radeon", "radeon", expired=True)
    failed(case.rocmdoctor(*SMALL, "--yes"), "it expired on")
    before.unchanged()
    case.mirror.serve_key("radeon", "radeon")
    case.mirror.missing.append("repo.radeon.com/rocm/el9/6.2.4")
    done = case.rocmdoctor(*SMALL, "--yes")
    failed(done, "404")
    named_log(case, done)
    case.mirror.missing.clear()
    before.unchanged()


@pytest.mark.parametrize("name", ["rhel-9.4", "sles-15.6"])
def test_the_database_of_rpm_is_broken(machine: Machine, name: str) -> None:
    """Refused before anything is changed, and its mended twin is installed on."""
    case = machine(name)
    before = Before(case)
    folder = case.run("rpm", "--eval", "%_dbpath").ok().out.strip()
    case.shell(f"cp -a {folder} /tmp/whole").ok()
    for damage in ("printf garbage >", "dd if=/dev/urandom bs=4096 seek=2 count=20 conv=notrunc status=none of="):
        case.shell(f"{damage}{folder}/rpmdb.sqlite").ok()
        failed(case.rocmdoctor(*SMALL, "--dry-run"), "rpm cannot read its database: ")
        failed(case.rocmdoctor(*SMALL, "--yes"), "rpm cannot read its database: ")
        failed(case.rocmdoctor("uninstall", "--yes"), "rpm cannot read its database: ")
        case.shell(f"rm -f {folder}/*; cp -a /tmp/whole/. {folder}").ok()
    before.unchanged()
    case.rocmdoctor(*SMALL, "--dry-run").ok()


def test_a_driver_that_cannot_be_configured_is_uninstalled(machine: Machine) -> None:
    """Its build has failed, and dpkg cannot finish it. That is no reason to keep it."""
    case = machine("ubuntu-22.04")
    before = Before(case)
    case.dkms_fails()
    failed(case.rocmdoctor(*SMALL[:-4], "--driver", "dkms", *SMALL[-2:], "--yes"), "at step driver")
    assert case.package_set()["amdgpu-dkms"].split()[1] == "half-configured"
    case.rocmdoctor("uninstall", "--yes").ok()
    assert "amdgpu-dkms" not in case.package_set()
    case.rocmdoctor("undo", "--dry-run").ok()
    assert set(before.packages) <= set(case.package_set())
