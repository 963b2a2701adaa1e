"""Two releases beside each other: repositories, packages and trees of both stay, and each goes without the other."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.test_install import LONG, OWN

pytestmark = pytest.mark.slow
BESIDE = ("--side-by-side", "--pytorch", "none", "--yes")
AGAIN = {
    "deb": "apt-get install -y --reinstall",
    "el": "dnf -y reinstall",
    "suse": "zypper -n install --force",
}


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("ubuntu-22.04", "6.2.0", "7.2.4"),
        ("rhel-9.4", "6.2.0", "7.2.4"),
        pytest.param("sles-15.6", "6.2.0", "6.2.4", marks=LONG),
    ],
)
def test_two_releases(machine: Machine, name: str, first: str, second: str) -> None:
    case = machine(name)
    bare_files, bare_packages = case.snapshot_of_files(), case.package_set()
    case.rocmdoctor("install", "--rocm", first, *BESIDE).ok()
    files, packages = case.snapshot_of_files(), case.package_set()

    case.rocmdoctor("install", "--rocm", second, *BESIDE).ok()
    both = case.package_set()
    assert {f"rocm{first}", f"rocm{second}"} <= set(both) and packages.items() <= both.items()
    assert case.exists(f"/opt/rocm-{first}/bin/rocminfo") and case.exists(f"/opt/rocm-{second}/bin/rocminfo")
    for release in (first, second):  # either can be had again, so an update of it could be
        case.shell(f"{AGAIN[case.family]} rocm-utils{release}").ok()
        assert "Nothing to do." in case.rocmdoctor("install", "--rocm", release, *BESIDE).ok().out
    report = json.loads(case.rocmdoctor("check", "--format", "json").out)
    assert {found["version"] for found in report["host"]["rocm"]} == {first, second}
    bad = [
        r["id"]
        for r in report["results"]
        if r["status"] not in ("pass", "skip", "info") and r["area"].startswith(("repo", "pack"))
    ]
    assert bad == []

    case.rocmdoctor("undo", "--yes").ok()
    assert files.changes(case.snapshot_of_files(), ignore=OWN) == [] and case.package_set() == packages

    case.rocmdoctor("install", "--rocm", second, *BESIDE).ok()
    case.rocmdoctor("uninstall", "--rocm", first, "--yes").ok()
    assert not case.exists(f"/opt/rocm-{first}") and case.installed(rf".*{first}") == []
    assert case.exists(f"/opt/rocm-{second}/bin/rocminfo") and f"rocm{second}" in case.package_set()
    case.shell(f"{AGAIN[case.family]} rocm-utils{second}").ok()

    for _ in range(3):
        case.rocmdoctor("undo", "--yes").ok()
    assert bare_files.changes(case.snapshot_of_files(), ignore=OWN) == [] and case.package_set() == bare_packages
