"""What is asked before anything is changed, where repositories that the plan needs are not there yet: EPEL and CodeReady Builder
on Enterprise Linux, SUSE's modules."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.install_case import InstallCase
from tests.e2e.test_install import LONG, NO_TORCH, OWN

pytestmark = pytest.mark.slow
ROCM = {"el": "repo.radeon.com/rocm/el9/6.2.4", "suse": "repo.radeon.com/rocm/zyp/6.2.4"}


def refused_with_nothing_changed(case: InstallCase, *words: str) -> None:
    files, packages = case.snapshot_of_files(), case.package_set()
    done = case.rocmdoctor("install", "--rocm", "6.2", *NO_TORCH)
    assert done.rc == 1 and "Traceback" not in done.said
    for word in (*words, "nothing was changed"):
        assert word in done.said, done.said
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == [] and case.package_set() == packages
    listed = case.rocmdoctor("undo", "--list").out
    assert "install" not in listed, listed


@pytest.mark.parametrize("name", ["rhel-9.4", pytest.param("sles-15.6", marks=LONG)])
def test_wrong_key_and_absent_repository(machine: Machine, name: str) -> None:
    case = machine(name)
    assert "epel-release" not in case.package_set()
    case.mirror.serve_key("radeon", "other")
    refused_with_nothing_changed(case, "fingerprint")
    case.mirror.serve_key("radeon", "radeon")
    case.mirror.missing.append(ROCM[case.family])
    refused_with_nothing_changed(case, "cannot")
    case.mirror.missing.clear()
    assert case.run("sh", "-c", "ls /var/lib/rocmdoctor/rehearsal").rc != 0
    case.rocmdoctor("install", "--rocm", "6.2", *NO_TORCH).ok()


def test_enterprise_linux_is_asked_for_everything(machine: Machine) -> None:
    """A package that does not exist, EPEL that is not to be had, and a disk that is too small for what dnf would fetch."""
    case = machine("rhel-9.4")
    files = case.snapshot_of_files()
    done = case.rocmdoctor("install", "--rocm", "6.2", "--packages", "rocm-no-such", *NO_TORCH)
    assert done.rc == 1 and "rocm-no-such" in done.said and "nothing was changed" in done.said
    case.mirror.missing.append("dl.fedoraproject.org/pub/epel/9/Everything")
    refused_with_nothing_changed(case, "epel")
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == []
    case.mirror.missing.clear()
    before = len(case.mirror.requests)
    case.rocmdoctor("install", "--rocm", "6.2", *NO_TORCH).ok()
    assert any("pub/epel/9/Everything" in url for url in case.mirror.requests[before:])


def test_the_key_of_the_project(machine: Machine) -> None:
    """It is taken once. A key that comes later in its place is not, and undo takes the first one out of rpm's database."""
    case = machine("sles-15.6")
    keys = case.shell("rpm -qa 'gpg-pubkey*' | sort").out
    done = case.rocmdoctor("install", "--rocm", "6.2", *NO_TORCH).ok()
    fingerprint = case.site.keys["project"].fingerprint
    assert fingerprint in done.said and "devel:languages:perl" in done.said
    assert f"gpg-pubkey-{fingerprint[-8:].lower()}" in case.shell("rpm -qa 'gpg-pubkey*'").out
    assert "priority=120" in case.read("/etc/zypp/repos.d/devel_languages_perl.repo")
    assert "gpg-auto-import-keys" not in done.said
    trusted = case.shell("rpm -qa 'gpg-pubkey*' | sort").out
    case.shell("zypper -n refresh --force devel_languages_perl").ok()
    other = case.site.keys["other"]
    place = "download.opensuse.org/repositories/devel:/languages:/perl/15.6/repodata/repomd.xml"
    case.mirror.replaced[f"{place}.asc"] = other.detached(case.site.folder / place)
    case.mirror.replaced[f"{place}.key"] = other.armoured
    other.rest()
    assert case.shell("zypper -n refresh --force devel_languages_perl").rc != 0
    assert case.shell("rpm -qa 'gpg-pubkey*' | sort").out == trusted
    case.mirror.replaced.clear()
    case.rocmdoctor("undo", "--yes").ok()
    assert case.shell("rpm -qa 'gpg-pubkey*' | sort").out == keys
