"""Distribution facts over the shared captures and cases, where they lie beside the repository."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from rocmdoctor.facts import firmware, loader, os_release, packages, repos, rpm_repos
from rocmdoctor.facts.apt_sources import parse_list
from rocmdoctor.host.recorded import open_snapshot
from tests.facts.distro_host import SHARED, shared

_INDEX_ROW = re.compile(
    r"^\| `((?:which-distro|python-distro)/[^`]+)`.*\| ID=(\S+), VERSION_ID=(\S+), ID_LIKE=([^|]+?) \|$", re.M
)


def test_every_os_release_says_what_the_index_says() -> None:
    rows = _INDEX_ROW.findall(shared("captures", "INDEX.md").read_text())
    assert len(rows) >= 21
    for name, id, version, like in rows:
        found = os_release.parse(shared("captures", name).read_text())
        assert found.id == id, name
        assert (found.version_id or "absent") == version, name
        assert (" ".join(found.id_like) or "absent") == like, name
        assert found.package_manager or id == "void", name


def test_repository_files() -> None:
    (el9,) = rpm_repos.parse("/etc/yum.repos.d/rocm.repo", shared("captures", "repo-files", "rocm-el9-6.2.2.repo").read_text())
    assert (el9.id, el9.product, el9.release, el9.priority, el9.gpgcheck) == ("ROCm-6.2.2", "rocm", "6.2.2", 50, True)
    assert el9.uris == ("https://repo.radeon.com/rocm/el9/6.2.2/main",)
    (old,) = parse_list("rocm.list", shared("captures", "repo-files", "rocm-apt-2016.list").read_text())
    assert (old.suites, old.product, old.release, old.signed_by, old.architectures) == (("xenial",), "rocm", None, (), ("amd64",))


def cases() -> list[Path]:
    return sorted(p for p in SHARED.glob("cases/*") if (p / "snapshot.json").is_file())


@pytest.mark.parametrize("case", cases() or [None], ids=lambda p: p.name[:3] if p else "none")
def test_every_case_is_read(case: Path | None) -> None:
    if case is None:
        pytest.skip("cases are not beside the repository")
    host = open_snapshot(case)
    assert os_release.gather(host).package_manager
    db = packages.gather(host)
    assert db.packages
    for unmet in db.unmet():
        assert str(unmet)
    found = repos.gather(host)
    assert found.unreadable == ()
    assert all(s.uris for s in found.sources)
    assert loader.gather(host).cache
    firmware.gather(host, db)


def release_counts(case: str) -> Counter[str | None]:
    return Counter(p.rocm_release for p in packages.gather(open_snapshot(shared("cases", case))).rocm)


@pytest.mark.parametrize(
    ("case", "releases"),
    [
        ("H01-ubuntu2204-mi250x-rocm620", {"6.2.0"}),
        ("H03-rhel94-mi210-rocm620", {"6.2.0"}),
        ("H05-ubuntu2404-rx7900xtx-rocm720-torch", {"7.2.0"}),
        ("011-mi300x-container-kfd-einval", {"6.2.1", "5.7.0"}),
        ("056-amdsmi-python-multi-rocm", {"7.1.1", "7.2.0"}),
        ("096-amd-smi-mixed-versions-python39", {"7.0.1", "7.1.1"}),
        ("021-mi100-arcturus-firmware-missing", {"3.10.0"}),
        ("103-cachyos-kfd-silent", set()),
        ("H11-laptop-nvidia-only", set()),
    ],
)
def test_rocm_releases(case: str, releases: set[str]) -> None:
    assert set(release_counts(case)) == releases


@pytest.mark.parametrize(
    ("case", "driver"),
    [
        ("H01-ubuntu2204-mi250x-rocm620", "6.2.0"),
        ("H05-ubuntu2404-rx7900xtx-rocm720-torch", "30.30.0"),
        ("053-kde-neon-rocminfo-distro-installed", "30.10.1"),
        ("096-amd-smi-mixed-versions-python39", "30.20.1"),
    ],
)
def test_driver_releases(case: str, driver: str) -> None:
    package = packages.gather(open_snapshot(shared("cases", case))).get("amdgpu-dkms")
    assert package is not None and package.driver_release == driver


def test_universes_rocminfo_keeps_amds_packages_from_being_configured() -> None:
    host = open_snapshot(shared("cases", "051-ubuntu-universe-rocminfo-shadows-amd"))
    db = packages.gather(host)
    assert {"rocminfo", "libhsa-runtime64-1"} <= {p.name for p in db.distro_rocm}
    roots = {str(u): u.found and u.found.full_version for u in db.unmet() if not u.waits}
    assert roots["rocminfo (= 1.0.0.60200-66~24.04)"] == "5.7.1-3build1"
    found = repos.gather(host)
    assert [s.product for s in found.amd] == ["amdgpu", "rocm"] and found.pins == ()


def test_an_expired_key() -> None:
    found = repos.gather(open_snapshot(shared("cases", "064-apt-key-expired-2021")))
    keyring = found.keyring("/etc/apt/keyrings/rocm.gpg")
    assert keyring is not None and keyring.keys is not None
    assert [k.expires for k in keyring.keys] == ["2021-08-01"]


def test_a_healthy_host_has_its_pin_and_a_key_of_unknown_content() -> None:
    found = repos.gather(open_snapshot(shared("cases", "H01-ubuntu2204-mi250x-rocm620")))
    assert [p.covers(("rocminfo", "hipcc")) for p in found.pins] == [True]
    keyring = found.keyring("/etc/apt/keyrings/rocm.gpg")
    assert keyring is not None and keyring.keys is None
