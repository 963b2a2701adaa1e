"""install, check, upgrade, undo and uninstall with the distributions' own package managers, from bare to installed and back."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.install_case import InstallCase

pytestmark = pytest.mark.slow
OWN = ("/var/lib/rocmdoctor", "/var/lib/YaST2")
"""The journal stays for `undo --list`; zypper writes a cookie of its own wherever it is asked something."""
LONG = pytest.mark.skipif("ROCMDOCTOR_LONG" not in os.environ, reason="takes minutes: ROCMDOCTOR_LONG=1 runs it")
NO_TORCH = ("--pytorch", "none", "--yes")


def installed_rocm(case: InstallCase) -> list[str]:
    """Versions in the report of `check`, which finds nothing wrong with repositories and packages."""
    report: dict[str, Any] = json.loads(case.rocmdoctor("check", "--format", "json").out)
    wrong = [r["id"] for r in report["results"] if r["status"] in ("fail", "error") and r["area"].startswith(("repo", "pack"))]
    assert wrong == []
    assert report["summary"]["error"] == 0
    return [found["version"] for found in report["host"]["rocm"]]


# bare -> first -> second run -> upgrade -> undo -> undo. SLES 15.6 has no 7.2.x and Debian 13 nothing older than 7.
JOURNEYS = (
    ("ubuntu-22.04", "6.2", "6.2.4", "7.2.4"),
    ("ubuntu-24.04", "6.2", "6.2.4", "7.2.4"),
    ("debian-13", "7.2", "7.2.4", None),
    ("rhel-9.4", "6.2", "6.2.4", "7.2.4"),
    ("sles-15.6", "6.2.0", "6.2.0", "6.2.4"),
)


# Systems that are like one of those above for the package manager: one release each, there and back. An old and a new one run
# always, the others on request.
ONCE = (
    ("ubuntu-20.04", "gfx1030", "6.1.2"),
    ("debian-12", "gfx1100", "7.2.4"),
    ("rhel-8.10", "gfx90a", "7.2.4"),
    ("sles-15.7", "gfx942", "7.2.4"),
    ("rhel-10.0", "gfx90a", "7.2.4"),
    ("rocky-9.6", "gfx90a", "7.2.4"),
    ("almalinux-9.6", "gfx90a", "7.2.4"),
    ("ol-9.6", "gfx90a", "7.2.4"),
    ("sles-16.0", "gfx942", "10.1.0"),
    ("debian-12", "gfx942", "10.1.0"),
    ("debian-13", "gfx942", "10.1.0"),
)
ALWAYS = ("rhel-8.10", "sles-16.0")


@pytest.mark.parametrize(
    ("name", "gpu", "release"),
    [pytest.param(*row, marks=() if row[0] in ALWAYS else LONG, id=f"{row[0]}-{row[2]}") for row in ONCE],
)
def test_once_there_and_back(machine: Machine, name: str, gpu: str, release: str) -> None:
    case = machine(name, gpu)
    bare_files, bare_packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", release, *NO_TORCH, "--allow-unsupported").ok()
    assert installed_rocm(case) == [release]
    fetched = len(case.mirror.requests)
    assert "Nothing to do." in case.rocmdoctor("install", "--rocm", release, *NO_TORCH, "--allow-unsupported").ok().out
    assert len(case.mirror.requests) == fetched
    case.rocmdoctor("undo", "--yes").ok()
    assert bare_files.changes(case.snapshot_of_files(), ignore=OWN) == []
    assert case.package_set() == bare_packages


@pytest.mark.parametrize(("name", "asked", "first", "second"), JOURNEYS, ids=[row[0] for row in JOURNEYS])
def test_there_and_back(machine: Machine, name: str, asked: str, first: str, second: str | None) -> None:
    case = machine(name)
    bare_files, bare_packages = case.snapshot_of_files(), case.package_set()

    case.rocmdoctor("install", "--rocm", asked, *NO_TORCH).ok()
    files, packages = case.snapshot_of_files(), case.package_set()
    assert "rocm" in packages and installed_rocm(case) == [first]

    fetched = len(case.mirror.requests)
    assert "Nothing to do." in case.rocmdoctor("install", "--rocm", asked, *NO_TORCH).ok().out
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == [] and case.package_set() == packages
    assert len(case.mirror.requests) == fetched

    if second is not None:
        case.rocmdoctor("install", "--rocm", second, *NO_TORCH).ok()
        assert installed_rocm(case) == [second]
        case.rocmdoctor("undo", "--yes").ok()
        assert files.changes(case.snapshot_of_files(), ignore=OWN) == []
        assert case.package_set() == packages

    case.rocmdoctor("undo", "--yes").ok()
    assert bare_files.changes(case.snapshot_of_files(), ignore=OWN) == []
    assert case.package_set() == bare_packages


STAYS = ("/etc/zypp/repos.d/SLE-*.repo", "/etc/yum.repos.d/epel.repo", "/etc/yum.repos.d/redhat.repo", "/usr/bin/crb")
ASK = {  # for a package that came as a dependency
    "deb": ("apt-get", "install", "-y"),
    "el": ("dnf", "mark", "install"),
    "suse": ("zypper", "-n", "install", "--force"),
}


# where AMD supports 10.x: not Debian 13 with these GPUs, RHEL 9.4, SLES 15.6
@pytest.mark.parametrize("name", ["ubuntu-22.04", "ubuntu-24.04", "rhel-9.8", "sles-15.7"])
def test_ten_and_uninstall(machine: Machine, name: str) -> None:
    """uninstall takes what came along from the distribution, but for what somebody has asked for since, and leaves repositories
    that others may use by now: EPEL, and what was switched on. It names both; `undo` brings all of it back."""
    gpu = "gfx1100" if name.startswith("ubuntu") else "gfx942"
    case = machine(name, gpu)
    files, packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", "10.1", "--driver", "dkms", *NO_TORCH).ok()
    assert installed_rocm(case) == ["10.1.0"]
    assert {"dkms", "autoconf", "automake"} <= set(case.package_set())
    case.run(*ASK[case.family], "autoconf").ok()
    whole = case.package_set()
    said = " ".join(case.rocmdoctor("uninstall", "--yes").ok().said.split())
    assert files.changes(case.snapshot_of_files(), ignore=(*OWN, *STAYS)) == []
    after = case.package_set()
    assert {entry for entry in after if entry not in packages} <= {"autoconf", "epel-release"} and "autoconf" in after
    assert set(packages) <= set(after)
    assert "left installed: autoconf (asked for by name since)" in said
    assert "Everything holds." in case.rocmdoctor("verify").ok().out
    assert ('"Add the EPEL repository" of ' in said) is ("epel-release" in after)
    assert ("rpm goes on trusting AMD's key; `rpm -e --allmatches gpg-pubkey-" in said) is not name.startswith("ubuntu")
    case.rocmdoctor("undo", "--yes").ok()
    assert case.package_set() == whole


@pytest.mark.parametrize(
    ("name", "rocm"),
    [("ubuntu-22.04", "6.2"), ("ubuntu-24.04", "6.2"), ("debian-13", "7.2"), ("rhel-9.4", "6.2"), ("sles-15.6", "6.2")],
)
def test_uninstall_of_a_classic_release(machine: Machine, name: str, rocm: str) -> None:
    """Nothing of it stays but what others may use by now: EPEL, SUSE's modules, the project with Perl modules."""
    case = machine(name, "gfx90a" if name.startswith(("rhel", "sles")) else "gfx1100")
    files, packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", rocm, "--allow-unsupported", *NO_TORCH).ok()
    assert installed_rocm(case)
    case.rocmdoctor("uninstall", "--yes").ok()
    assert installed_rocm(case) == []
    assert files.changes(case.snapshot_of_files(), ignore=(*OWN, *STAYS, "*devel_languages_perl*")) == []
    assert {entry for entry in case.package_set() if entry not in packages} <= {"epel-release"}
    assert set(packages) <= set(case.package_set())
    assert "Nothing to do." in case.rocmdoctor("uninstall", "--yes").ok().out


def test_the_pin_beats_a_higher_number_of_universe(machine: Machine) -> None:
    case = machine("ubuntu-24.04")
    case.rocmdoctor("install", "--rocm", "6.2", *NO_TORCH).ok()
    policy = case.run("apt-cache", "policy", "rocminfo").ok().out
    there = [line.split()[0] for line in policy.splitlines() if line.startswith("     ") and line.split()[0][:1].isdigit()]
    ours = case.package_set()["rocminfo"].split()[0]
    assert any(case.run("dpkg", "--compare-versions", other, "gt", ours).rc == 0 for other in there), policy
    assert f"Candidate: {ours}" in policy and ".60204-" in ours


@pytest.mark.parametrize("name", ["ubuntu-22.04", "sles-15.6"])
def test_dkms_needs_the_reboot_that_verify_tells(machine: Machine, name: str) -> None:
    case = machine(name)
    case.rocmdoctor("install", "--rocm", "6.2", "--driver", "dkms", *NO_TORCH).ok()
    assert case.installed("amdgpu-dkms") == ["amdgpu-dkms"]
    before = case.rocmdoctor("verify")
    assert before.rc == 1 and "reboot" in before.out + before.err
    case.reboot()
    case.rocmdoctor("verify").ok()
    report = json.loads(case.rocmdoctor("check", "--format", "json").out)
    assert report["host"]["amdgpu"]["kind"] == "dkms"


DRIVER_UPGRADES = (
    ("ubuntu-22.04", "6.2.0", "6.2.4"),
    ("ubuntu-24.04", "6.2", "7.2"),
    ("rhel-9.4", "6.2", "7.2"),
    ("sles-15.6", "6.2.0", "6.2.4"),
)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [pytest.param(*row, marks=LONG if row[0] == "ubuntu-24.04" else (), id=row[0]) for row in DRIVER_UPGRADES],
)
def test_a_driver_gives_way_to_the_next_one(machine: Machine, name: str, first: str, second: str) -> None:
    """Its firmware goes and comes back with it. The old module stays loaded until the reboot, and then the run holds."""
    case = machine(name)
    small = ("--packages", "rocminfo", "--driver", "dkms", *NO_TORCH)
    case.rocmdoctor("install", "--rocm", first, *small).ok()
    case.reboot()
    case.rocmdoctor("verify").ok()
    old, loaded = case.package_set(), case.read("/sys/module/amdgpu/srcversion")
    done = case.rocmdoctor("install", "--rocm", second, *small, "--format", "json").ok()
    assert json.loads(done.out)["outcome"]["reboot_required"] is True
    new = case.package_set()
    for package in ("amdgpu-dkms", "amdgpu-dkms-firmware"):
        assert new[package] != old[package]
    waiting = case.rocmdoctor("verify")
    assert waiting.rc == 1 and "reboot" in waiting.said and "does not hold" not in waiting.said, waiting.said
    case.reboot()
    assert case.read("/sys/module/amdgpu/srcversion") != loaded
    case.rocmdoctor("verify").ok()
    again = json.loads(case.rocmdoctor("install", "--rocm", second, *small, "--format", "json").ok().out)
    assert [step["id"] for step in again["steps"] if step["done"] is not True] == []
    case.rocmdoctor("undo", "--yes").ok()
    assert case.package_set() == old


SCRIPTS = (("ubuntu-24.04", "6.2.4"), ("rhel-9.4", "6.2.4"), ("sles-15.6", "6.2.4"), ("debian-13", "7.2.4"))


@pytest.mark.parametrize(
    ("name", "release"),
    [pytest.param(*row, marks=LONG if row[0] in ("sles-15.6", "debian-13") else (), id=row[0]) for row in SCRIPTS],
)
def test_the_script_does_the_same(machine: Machine, name: str, release: str) -> None:
    by_plan, by_script = machine(name), machine(name)
    by_plan.rocmdoctor("install", "--rocm", release, *NO_TORCH).ok()
    script = by_script.rocmdoctor("install", "--rocm", release, "--pytorch", "none", "--format", "script").ok().out
    by_script.write("/root/install.sh", script)
    by_script.run("sh", "/root/install.sh", timeout=180).ok()
    assert by_script.package_set() == by_plan.package_set()
    ignored = (*OWN, "/root/install.sh")
    assert by_plan.snapshot_of_files().changes(by_script.snapshot_of_files(), ignore=ignored) == []
    assert installed_rocm(by_script) == [release]


def test_fix_of_permissions(machine: Machine) -> None:
    """The user is in neither group; fix puts him there, undo takes him out."""
    case = machine("ubuntu-22.04")
    before = case.read("/etc/group")
    assert case.rocmdoctor("check", "--user", "user1", "--only", "permissions.*").rc == 1
    case.rocmdoctor("fix", "permissions.*", "--user", "user1", "--yes").ok()
    assert "render" in case.run("id", "-nG", "user1").ok().out.split()
    case.rocmdoctor("undo", "--yes").ok()
    assert case.read("/etc/group") == before


@pytest.mark.parametrize("name", ["ubuntu-24.04", pytest.param("sles-15.6", marks=LONG)])
def test_pytorch_of_the_index(machine: Machine, name: str) -> None:
    """Into an environment of its own, by real pip; a second run fetches nothing; gone after undo."""
    case = machine(name)
    files, packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", "6.2", "--yes").ok()
    found = case.run("/opt/rocmdoctor/torch/bin/python", "-m", "pip", "list", "--format", "freeze").ok().out
    assert "+rocm" in next(line for line in found.splitlines() if line.startswith("torch=="))
    fetched = len(case.mirror.requests)
    case.rocmdoctor("install", "--rocm", "6.2", "--yes").ok()
    assert len(case.mirror.requests) == fetched
    case.rocmdoctor("undo", "--yes").ok()
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == [] and case.package_set() == packages


def test_pytorch_in_the_active_environment(machine: Machine) -> None:
    case = machine("rhel-9.4")
    case.run("python3", "-m", "venv", "/srv/project").ok()
    files = case.snapshot_of_files()
    active = {"VIRTUAL_ENV": "/srv/project", "PATH": "/srv/project/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    case.rocmdoctor("install", "--rocm", "6.2", "--yes", "--write-lock", "/root/lock.json", env=active).ok()
    found = case.run("/srv/project/bin/python", "-m", "pip", "list", "--format", "freeze").ok().out
    assert "+rocm" in next(line for line in found.splitlines() if line.startswith("torch=="))
    assert not case.exists("/opt/rocmdoctor/torch")
    case.rocmdoctor("undo", "--yes", env=active).ok()
    assert files.changes(case.snapshot_of_files(), ignore=(*OWN, "/root/lock.json")) == []
    case.rocmdoctor("install", "--lock", "/root/lock.json", "--yes", env=active).ok()
    assert case.run("/srv/project/bin/python", "-m", "pip", "list", "--format", "freeze").ok().out == found
    again = case.rocmdoctor("install", "--lock", "/root/lock.json", "--dry-run", env=active).ok()
    assert "Nothing to do." in again.out and "their hashes cannot be compared any more" in " ".join(again.out.split())


@pytest.mark.parametrize("name", ["ubuntu-22.04", "rhel-9.4", "sles-15.6"])
def test_a_lock_is_compared_before_a_package_is_changed(machine: Machine, name: str) -> None:
    """Everything that came is in it; a wrong hash is refused on the machine that has the packages, and on one that has none,
    every time, with nothing installed but what sets up a repository; the right one brings the same packages."""
    case = machine(name)
    bare = case.package_set()
    what = ("install", "--rocm", "6.2", "--driver", "dkms", "--pytorch", "none", "--yes")
    case.rocmdoctor(*what, "--write-lock", "/root/lock.json").ok()
    full = case.package_set()
    lock = json.loads(case.read("/root/lock.json"))
    there = {row["name"] for row in lock["packages"]}
    assert there >= {key.partition(":")[0] for key in full if key not in bare} - {"epel-release"} and "dkms" in there
    row = next(row for row in lock["packages"] if row["name"] == "rocm-core")
    row["sha256"] = "0" * 64
    case.write("/root/wrong.json", json.dumps(lock))
    wrong = ("install", "--lock", "/root/wrong.json")
    for more in ("--dry-run", "--yes"):
        refused = case.rocmdoctor(*wrong, more)
        said = " ".join(refused.out.split())
        assert refused.rc == 1 and "rocm-core" in said and "another file than the lock's" in said, said
    case.rocmdoctor("undo", "--yes").ok()
    assert case.package_set() == bare
    for _ in range(2):
        refused = case.rocmdoctor(*wrong, "--yes")
        said = " ".join((refused.out + refused.err).split())
        assert refused.rc == 1 and "rocm-core" in said and "another file than the lock's" in said, said
        assert set(case.package_set()) - {"epel-release"} == set(bare)
    case.rocmdoctor("install", "--lock", "/root/lock.json", "--yes").ok()
    assert set(case.package_set()) == set(full)


def test_pytorch_by_uv(machine: Machine) -> None:
    """uv where it is installed for everybody: it makes the environment and fills it, and takes it away again."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(uv).is_file():
        pytest.skip("no uv: pip install uv")
    case = machine("ubuntu-24.04")
    case.write("/usr/local/bin/uv", Path(uv).read_bytes(), 0o755)
    files, packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", "6.2", "--yes", "--write-lock", "/root/lock.json").ok()
    assert "uv = " in case.read("/opt/rocmdoctor/torch/pyvenv.cfg")
    found = case.run("uv", "pip", "list", "--python", "/opt/rocmdoctor/torch/bin/python", "--format", "freeze").ok().out
    assert "+rocm" in next(line for line in found.splitlines() if line.startswith("torch=="))
    fetched = len(case.mirror.requests)
    assert "Nothing to do." in case.rocmdoctor("install", "--rocm", "6.2", "--yes").ok().out
    assert len(case.mirror.requests) == fetched
    case.rocmdoctor("undo", "--yes").ok()
    ignored = (*OWN, "/root/lock.json")
    assert files.changes(case.snapshot_of_files(), ignore=ignored) == [] and case.package_set() == packages
    case.rocmdoctor("install", "--lock", "/root/lock.json", "--yes").ok()
    again = case.run("uv", "pip", "list", "--python", "/opt/rocmdoctor/torch/bin/python", "--format", "freeze").ok().out
    assert again == found


def test_uv_and_a_certificate_of_the_site(machine: Machine) -> None:
    """uv takes the mirror's certificate authority, into an environment that has no pip."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(uv).is_file():
        pytest.skip("no uv: pip install uv")
    case = machine("ubuntu-24.04", trust=False)
    case.write("/usr/local/bin/uv", Path(uv).read_bytes(), 0o755)
    case.run("uv", "venv", "--python", "/usr/bin/python3", "/srv/project").ok()
    files = case.snapshot_of_files()
    ca = "/.e2e/state/authority.pem"
    mirror = ("--mirror", case.mirror_url, "--ca", ca, "--venv", "/srv/project")
    case.rocmdoctor("install", "--rocm", "6.2", *mirror, "--yes").ok()
    found = case.run("uv", "pip", "list", "--python", "/srv/project/bin/python", "--format", "freeze").ok().out
    assert "+rocm" in next(line for line in found.splitlines() if line.startswith("torch=="))
    case.rocmdoctor("undo", "--yes").ok()
    assert files.changes(case.snapshot_of_files(), ignore=(*OWN, "/srv/project/.lock")) == []  # uv's own
