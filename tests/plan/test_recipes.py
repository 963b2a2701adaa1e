"""The plan of every release on every distribution of the recipe facts, cell by cell, as its JSON has it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix
from rocmdoctor.reports import plan_json
from tests.hostbuilder import HostBuilder
from tests.plan.bare_hosts import plan_for, relabelled

SHARED = Path(os.environ.get("ROCMDOCTOR_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
RECIPES = SHARED / "facts" / "install_recipes.yaml"
FACTS: dict[str, Any] = yaml.safe_load(RECIPES.read_text(encoding="utf-8")) if RECIPES.is_file() else {}
CLASSIC: dict[str, Any] = FACTS.get("releases", {}).get("classic", {})
THEROCK: dict[str, Any] = FACTS.get("releases", {}).get("therock", {})
KEY = "https://repo.radeon.com/rocm/rocm.gpg.key"
FINGERPRINT = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C"
THEROCK_FINGERPRINT = "D0F004A0025A1145C7807FCD0701EAC4D5E02107"
IDS = {"ubuntu": "ubuntu", "debian": "debian", "rhel": "rhel", "ol": "ol", "rocky": "rocky", "sles": "sles", "azl": "azurelinux"}
CODENAMES = {"20.04": "focal", "22.04": "jammy", "24.04": "noble", "26.04": "resolute", "12": "bookworm", "13": "trixie"}
SUITES = {"12": "jammy", "13": "noble", **{v: c for v, c in CODENAMES.items() if "." in v}}
KERNEL = "6.8.0-45-generic"

pytestmark = pytest.mark.skipif(not CLASSIC, reason="no recipe facts beside the repository")


def cells() -> list[tuple[str, str, str]]:
    found = []
    for rocm, row in CLASSIC.items():
        for name, listed in row["distros_in_amd_docs"].items():
            for text in listed if name in IDS else ():
                version = str(text).split()[0]
                if version[0].isdigit():
                    found.append((rocm, IDS[name], version))
    return found


def therock_cells() -> list[tuple[str, str, str, str]]:
    systems = [
        ("ubuntu", "22.04", "ubuntu2204"),
        ("ubuntu", "24.04", "ubuntu2404"),
        ("ubuntu", "26.04", "ubuntu2604"),
        ("debian", "12", "debian12"),
        ("debian", "13", "debian13"),
        ("rhel", "8.10", "rhel8"),
        ("rhel", "9.6", "rhel9"),
        ("rhel", "10.0", "rhel10"),
        ("ol", "9.6", "rhel9"),
        ("rocky", "9.6", "rhel9"),
        ("sles", "15.7", "sles15"),
        ("sles", "16.0", "sles16"),
    ]
    return [(rocm, *system) for rocm, row in THEROCK.items() if "apt" in row for system in systems]


def document(matrix: Matrix, rocm: str, os_id: str, version: str) -> dict[str, Any]:
    """The plan as JSON for a bare host of this kind, with AMD's driver."""
    base = "ubuntu" if os_id in ("ubuntu", "debian") else "rhel" if os_id in ("rhel", "ol", "rocky") else "sles"
    builder = HostBuilder().distro(base, {"ubuntu": "22.04", "rhel": "9.4", "sles": "15.6"}[base])
    builder = builder.no_rocm().no_torch().python(None).gpus("gfx90a").kernel(KERNEL)._with(driver=None)
    for command in ("dkms",):
        builder = builder.no_command(command)
    codename = {"version_codename": CODENAMES[version]} if version in CODENAMES else {}
    builder = relabelled(builder, id=os_id, version_id=version, name=os_id, pretty_name=f"{os_id} {version}", **codename)
    host = builder.build()
    driver = "none" if os_id == "azurelinux" else "dkms"
    plan = plan_for(host, matrix, rocm=rocm, driver=driver, allow_unsupported=True, pytorch="none")
    assert not plan.refusals, plan.refusals
    assert plan.versions["rocm"] == rocm
    return plan_json.document(plan, host, matrix.date)


def step(doc: dict[str, Any], name: str) -> dict[str, Any]:
    return next(s for s in doc["steps"] if s["id"] == name)


def text_of(doc: dict[str, Any], path: str) -> str:
    return next(str(s["data"]["text"]) for s in doc["steps"] if s["kind"] == "write-file" and s["data"]["path"] == path)


def names(doc: dict[str, Any], name: str) -> list[str]:
    return [wish["name"] for wish in step(doc, name)["data"]["wishes"]]


@pytest.mark.parametrize(("rocm", "os_id", "version"), cells())
def test_classic(matrix: Matrix, rocm: str, os_id: str, version: str) -> None:
    row = CLASSIC[rocm]
    doc = document(matrix, rocm, os_id, version)
    {"apt": _apt, "zypper": _zypper, "tdnf": _azure}.get(
        {"ubuntu": "apt", "debian": "apt", "sles": "zypper", "azurelinux": "tdnf"}.get(os_id, ""), _dnf
    )(doc, row, rocm, os_id, version)
    key = next(s for s in doc["steps"] if s["id"] == "key-radeon")
    assert (key["data"]["url"], key["data"]["fingerprint"]) == (KEY, FINGERPRINT)
    rocm_wish = step(doc, "rocm")["data"]["wishes"][0]
    assert (rocm_wish["name"], rocm_wish["release"]) == ("rocm", rocm)
    if os_id != "azurelinux":
        assert names(doc, "driver") == ["amdgpu-dkms"]
        wanted = step(doc, "driver")["data"]["wishes"][0]["release"]
        assert versions.key(wanted) == versions.key(row["amdgpu_driver_version"])
        assert {"python3-setuptools", "python3-wheel"} <= set(names(doc, "rocm"))
        order = [s["id"] for s in doc["steps"]]
        assert (
            order.index("index")
            < order.index("driver")
            < order.index("driver-module")
            < order.index("rocm")
            < order.index("loader")
        )
        assert order[-1] == "reboot"


def _apt(doc: dict[str, Any], row: dict[str, Any], rocm: str, os_id: str, version: str) -> None:
    suite, signed = SUITES[version], "deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg]"
    lines = [f"{signed} {row['apt_rocm_base']} {suite} main"]
    if row["graphics_repo_dir"]:
        lines.append(f"{signed} https://repo.radeon.com/graphics/{row['graphics_repo_dir']}/ubuntu {suite} main")
    assert text_of(doc, "/etc/apt/sources.list.d/rocm.list").splitlines() == lines
    assert text_of(doc, "/etc/apt/sources.list.d/amdgpu.list") == f"{signed} {row['apt_amdgpu_base']} {suite} main\n"
    pin = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
    assert text_of(doc, "/etc/apt/preferences.d/rocm-pin-600") == pin
    assert step(doc, "key-radeon")["data"]["path"] == "/etc/apt/keyrings/rocm.gpg"
    needs = [f"linux-headers-{KERNEL}"] + ([f"linux-modules-extra-{KERNEL}"] if os_id == "ubuntu" else [])
    assert names(doc, "driver-needs") == needs


def _dnf(doc: dict[str, Any], row: dict[str, Any], rocm: str, os_id: str, version: str) -> None:
    major = version.split(".")[0]
    text = text_of(doc, "/etc/yum.repos.d/rocm.repo")
    urls = [row["el_rocm_base"].replace("{major}", major)]
    if row["graphics_repo_dir"]:
        where = version if major == "9" else major
        urls.append(f"https://repo.radeon.com/graphics/{row['graphics_repo_dir']}/el/{where}/main/x86_64/")
    assert [line[8:] for line in text.splitlines() if line.startswith("baseurl=")] == urls
    driver = text_of(doc, "/etc/yum.repos.d/amdgpu.repo")
    assert f"baseurl={row['el_amdgpu_base'].replace('{minor}', '10' if major == '10' else version)}" in driver.splitlines()
    for lines in (text.splitlines(), driver.splitlines()):
        assert {"enabled=1", "priority=50", "gpgcheck=1", f"gpgkey={KEY}"} <= set(lines)
    needs = names(doc, "driver-needs")
    assert needs == [f"kernel-uek-devel-{KERNEL}"] if os_id == "ol" else f"kernel-devel-{KERNEL}" in needs
    if os_id != "ol":
        assert (f"kernel-devel-matched-{KERNEL}" in needs) is (int(major) >= 9)


def _zypper(doc: dict[str, Any], row: dict[str, Any], rocm: str, os_id: str, version: str) -> None:
    text = text_of(doc, "/etc/zypp/repos.d/rocm.repo")
    urls = [line[8:] for line in text.splitlines() if line.startswith("baseurl=")]
    assert urls[0] == row["zypp_rocm_base"]
    if row["graphics_repo_dir"]:
        assert urls[1] == f"https://repo.radeon.com/graphics/{row['graphics_repo_dir']}/sle/{version}/main/x86_64/"
    driver = text_of(doc, "/etc/zypp/repos.d/amdgpu.repo").splitlines()
    assert f"baseurl={row['zypp_amdgpu_base'].replace('{15.N}', version)}" in driver
    assert names(doc, "driver-needs") == ["kernel-default-devel"]


def _azure(doc: dict[str, Any], row: dict[str, Any], rocm: str, os_id: str, version: str) -> None:
    text = text_of(doc, "/etc/yum.repos.d/rocm.repo")
    assert f"baseurl=https://repo.radeon.com/rocm/azurelinux3/{row['rocm_repo_dir']}/main/" in text.splitlines()
    assert not [s for s in doc["steps"] if s["id"].startswith("driver")]


@pytest.mark.parametrize(("rocm", "os_id", "version", "directory"), therock_cells())
def test_therock(matrix: Matrix, rocm: str, os_id: str, version: str, directory: str) -> None:
    row = THEROCK[rocm]
    doc = document(matrix, rocm, os_id, version)
    base = str(row["apt"]).split()[0].replace("{distro}", directory)
    series = versions.major_minor(rocm)
    wish = step(doc, "rocm")["data"]["wishes"][0]
    assert (wish["name"], wish["release"]) == (f"amdrocm{series}-gfx90a", rocm)
    keys = {s["data"]["fingerprint"]: s["data"]["url"] for s in doc["steps"] if s["id"].startswith("key-")}
    assert set(keys) == {THEROCK_FINGERPRINT, FINGERPRINT} and keys[FINGERPRINT] == KEY
    if "key_url" in row:
        assert keys[THEROCK_FINGERPRINT] == row["key_url"]
    assert not [s for s in doc["steps"] if s["id"] == "pin"], "their origin is AMD ROCm: the classic pin does not match"
    written = {s["data"]["path"]: s["data"]["text"] for s in doc["steps"] if s["kind"] == "write-file"}
    if os_id in ("ubuntu", "debian"):
        if series == "10.0":
            text = written["/etc/apt/sources.list.d/amdrocm-stable.sources"]
            assert f"URIs: {base}" in text.splitlines() and "Suites: stable" in text.splitlines()
        else:
            line = f"deb [arch=amd64 signed-by=/etc/apt/keyrings/amdrocm.gpg] {base} stable main\n"
            assert written["/etc/apt/sources.list.d/rocm.list"] == line
        assert f"/ubuntu {SUITES[version]} main" in written["/etc/apt/sources.list.d/amdgpu.list"]
        assert {"libatomic1", "libquadmath0"} <= set(names(doc, "rocm"))
    else:
        folder = "/etc/zypp/repos.d" if os_id == "sles" else "/etc/yum.repos.d"
        name = "amdrocm-stable" if series == "10.0" else "rocm"
        lines = written[f"{folder}/{name}.repo"].splitlines()
        assert f"baseurl={base.rstrip('/')}/x86_64" in lines and f"[{name}]" in lines
        assert ("priority=50" in lines) is (series != "10.0" and os_id != "sles")
    if "driver_docs" in row:
        driver = str(row["driver_docs"]).split(";")[0]
        assert step(doc, "driver")["data"]["wishes"][0]["release"] == driver
        directory_ = driver.removesuffix(".0")
        assert any(f"/amdgpu/{directory_}/" in text for text in written.values())


def test_every_release_of_the_facts_is_compared() -> None:
    assert {rocm for rocm, _, _ in cells()} == set(CLASSIC) and len(cells()) > 200
    assert len(therock_cells()) >= 60
