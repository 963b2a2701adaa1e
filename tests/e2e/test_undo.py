"""undo that needs packages of a repository: what happens when it does not answer, or has them no more."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.test_install import LONG, NO_TORCH, OWN

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "gpu", "first", "second", "driver"),
    [
        ("ubuntu-22.04", "gfx1100", "6.2.0", "6.2.4", "none"),
        ("rhel-9.4", "gfx90a", "6.2.4", "7.2.4", "dkms"),
        pytest.param("ubuntu-22.04", "gfx1100", "6.2.0", "7.2.4", "dkms", marks=LONG),
        pytest.param("sles-15.6", "gfx90a", "6.2.0", "6.2.4", "dkms", marks=LONG),
    ],
)
def test_the_mirror_is_down(machine: Machine, name: str, gpu: str, first: str, second: str, driver: str) -> None:
    """Nothing is lost, undo says that it failed, and goes on when the mirror is back."""
    case = machine(name, gpu)
    case.rocmdoctor("install", "--rocm", first, "--driver", driver, *NO_TORCH).ok()
    files, packages = case.snapshot_of_files(), case.package_set()
    if driver == "dkms":
        case.reboot()
    case.rocmdoctor("install", "--rocm", second, "--driver", driver, *NO_TORCH).ok()
    newer = case.package_set()
    with case.mirror.down():
        done = case.rocmdoctor("undo", "--yes")
    said = " ".join(done.said.split())
    assert done.rc == 1 and "while a repository does not answer" in said, said
    assert case.package_set() == newer
    case.shell("rm -f /var/cache/apt/archives/*.deb").ok()
    with case.mirror.down(after=40):
        done = case.rocmdoctor("undo", "--yes")
    assert done.rc == 1, done.said
    assert set(packages) & set(newer) <= set(case.package_set())
    case.rocmdoctor("undo", "--yes").ok()
    assert case.package_set() == packages
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == []


@pytest.mark.parametrize(
    ("name", "gpu", "directory"),
    [
        ("ubuntu-22.04", "gfx1100", "rocm/apt/6.2/"),
        pytest.param("rhel-9.4", "gfx90a", "rocm/el9/6.2/", marks=LONG),
        pytest.param("sles-15.6", "gfx90a", "rocm/zyp/6.2/", marks=LONG),
    ],
)
def test_no_repository_has_them_any_more(machine: Machine, name: str, gpu: str, directory: str) -> None:
    """They answer, and that is the end of it: a note, and the run is taken back."""
    case = machine(name, gpu)
    case.rocmdoctor("install", "--rocm", "6.2.0", "--driver", "none", *NO_TORCH).ok()
    case.rocmdoctor("install", "--rocm", "6.2.4", "--driver", "none", *NO_TORCH).ok()
    case.mirror.missing.append(f"repo.radeon.com/{directory}")
    said = " ".join(case.rocmdoctor("undo", "--yes").ok().said.split())
    assert "cannot bring back" in said and "no repository has it any more" in said


def test_what_amdgpu_install_set_up_comes_back(machine: Machine) -> None:
    """Its package owns the repositories, the key and the pin, and takes them with it; ROCm can only come back from them."""
    case = machine("ubuntu-22.04")
    address = "https://repo.radeon.com/amdgpu-install/6.2.4/ubuntu/jammy/amdgpu-install_6.2.60204-1_all.deb"
    case.shell(
        f"curl -fsSo /root/installer.deb {address} && apt-get install -y /root/installer.deb && apt-get update"
        " && apt-get install -y rocm amdgpu-dkms"
    ).ok()
    files, packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("uninstall", "--yes").ok()
    assert not case.installed("rocm.*|amdgpu.*")
    case.rocmdoctor("undo", "--yes").ok()
    missing = set(packages) - set(case.package_set())
    assert missing <= {"amdgpu-install"}, missing
    changes = files.changes(case.snapshot_of_files(), ignore=OWN)
    assert not [line for line in changes if "/etc/" in line], changes


@pytest.mark.parametrize("name", ["ubuntu-22.04", pytest.param("rhel-9.4", marks=LONG)])
def test_a_driver_that_was_kept(machine: Machine, name: str) -> None:
    """Its repository and key stay with it, so it can still be brought back after it has gone as well."""
    case = machine(name)
    case.rocmdoctor("install", "--rocm", "6.2", "--driver", "dkms", *NO_TORCH).ok()
    case.rocmdoctor("uninstall", "--keep-driver", "--yes").ok()
    case.shell("apt-get update" if case.family == "deb" else "dnf -y makecache").ok()
    files, packages = case.snapshot_of_files(), case.package_set()
    assert "amdgpu-dkms" in packages and "rocm-core" not in packages
    assert case.shell("apt-cache policy amdgpu-dkms; dnf repolist").said.count(
        "amdgpu/6.2.4" if case.family == "deb" else "amdgpu"
    )
    case.rocmdoctor("uninstall", "--yes").ok()
    assert "amdgpu-dkms" not in case.package_set()
    case.rocmdoctor("undo", "--yes").ok()
    assert case.package_set() == packages
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == []
