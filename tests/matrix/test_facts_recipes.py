"""Every cell of the collected install recipes, asked through recipe(), driver_for and known_dkms_failure."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix
from rocmdoctor.matrix.recipes import Recipe
from tests.matrix.facts_files import facts, needs_facts

pytestmark = needs_facts

FACTS: dict[str, Any] = facts("install_recipes.yaml")
CLASSIC: dict[str, Any] = FACTS.get("releases", {}).get("classic", {})
THEROCK: dict[str, Any] = FACTS.get("releases", {}).get("therock", {})
FORMS: dict[str, Any] = FACTS.get("classic_recipes", {})
CODENAMES = {"20.04": "focal", "22.04": "jammy", "24.04": "noble"}
KEY = "https://repo.radeon.com/rocm/rocm.gpg.key"
AZURE = "azurelinux"


def wanted_recipe(matrix: Matrix, rocm: str, os_id: str, version: str) -> Recipe:
    recipe = matrix.recipe(rocm, os_id, version)
    assert recipe is not None, (rocm, os_id, version)
    assert recipe.line == "classic"
    assert recipe.key.url == KEY == recipe.driver_key.url
    assert recipe.prefix == CLASSIC[rocm]["opt_dir"]
    assert recipe.named
    return recipe


@pytest.mark.parametrize("rocm", list(CLASSIC))
def test_apt(matrix: Matrix, rocm: str) -> None:
    row = CLASSIC[rocm]
    for cell in row["distros_in_amd_docs"]["ubuntu"]:
        version, codename = cell.split()
        assert CODENAMES[version] == codename == matrix.apt_suite("ubuntu", version)
        check_apt(wanted_recipe(matrix, rocm, "ubuntu", version), row, codename, ubuntu=True)
    for cell in row["distros_in_amd_docs"].get("debian", ()):
        version, codename = re.match(r"(\d+) -> (\w+)", cell).groups()  # type: ignore[union-attr]
        assert matrix.apt_suite("debian", version) == codename
        check_apt(wanted_recipe(matrix, rocm, "debian", version), row, codename, ubuntu=False)


def check_apt(recipe: Recipe, row: Any, codename: str, ubuntu: bool) -> None:
    form = FORMS["apt"]
    signed = "[arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg]"
    lines = [f"deb {signed} {row['apt_rocm_base']} {codename} main"]
    if row["graphics_repo_dir"]:
        lines.append(f"deb {signed} https://repo.radeon.com/graphics/{row['graphics_repo_dir']}/ubuntu {codename} main")
    assert recipe.rocm_repo.path == "/etc/apt/sources.list.d/rocm.list"
    assert recipe.rocm_repo.text.splitlines() == lines
    assert recipe.driver_repo is not None and recipe.pin is not None
    assert recipe.driver_repo.path == "/etc/apt/sources.list.d/amdgpu.list"
    assert recipe.driver_repo.text == f"deb {signed} {row['apt_amdgpu_base']} {codename} main\n"
    assert recipe.pin.path == form["pin_file"].split()[0]
    assert " / ".join(recipe.pin.text.splitlines()) == form["pin_file"].split(" : ")[1]
    assert recipe.key.keyring == form["keyring"].split()[0]
    assert recipe.packages.versioned == (f"rocm{row['versioned_pkg_suffix']}",)
    assert recipe.packages.rocm == ("rocm",) and recipe.packages.driver == ("amdgpu-dkms",)
    assert ("linux-modules-extra-{kernel}" in recipe.packages.driver_needs) is ubuntu
    assert recipe.packages.driver_needs[0] == "linux-headers-{kernel}"
    assert recipe.packages.rocm_needs == ("python3-setuptools", "python3-wheel")
    assert recipe.amdgpu_install_version == row["amdgpu_install"]["pkg_version"]
    assert recipe.amdgpu_install_url == row["amdgpu_install"]["deb"].replace("{codename}", codename)
    assert recipe.rocm_dir == row["rocm_repo_dir"]
    assert recipe.graphics_dir == row["graphics_repo_dir"]
    assert recipe.driver_dir == row["amdgpu_repo_dir"]
    assert recipe.driver is not None and versions.key(recipe.driver) == versions.key(row["amdgpu_driver_version"])


@pytest.mark.parametrize("rocm", list(CLASSIC))
def test_dnf(matrix: Matrix, rocm: str) -> None:
    row = CLASSIC[rocm]
    listed = row["distros_in_amd_docs"]
    systems = [(i, v.split()[0]) for i in ("rhel", "ol", "rocky") for v in listed.get(i, ()) if v[0].isdigit()]
    for os_id, version in systems:
        recipe = wanted_recipe(matrix, rocm, os_id, version)
        major = version.split(".")[0]
        base = row["el_rocm_base"].replace("{major}", major)
        driver = row["el_amdgpu_base"].replace("{minor}", "10" if major == "10" else version)
        urls = [base]
        if row["graphics_repo_dir"]:
            where = version if major == "9" else major
            urls.append(f"https://repo.radeon.com/graphics/{row['graphics_repo_dir']}/el/{where}/main/x86_64/")
        assert recipe.rocm_repo.path == "/etc/yum.repos.d/rocm.repo"
        assert list(recipe.rocm_repo.urls) == urls
        assert recipe.driver_repo is not None
        assert recipe.driver_repo.path == "/etc/yum.repos.d/amdgpu.repo"
        assert recipe.driver_repo.urls == (driver,)
        for text in (recipe.rocm_repo.text, recipe.driver_repo.text):
            for line in ("enabled=1", "priority=50", "gpgcheck=1", f"gpgkey={KEY}"):
                assert line in text.splitlines()
        assert f"[{'rocm' if rocm.startswith('7') else f'ROCm-{rocm}'}]" in recipe.rocm_repo.text
        assert recipe.driver_dir == row["amdgpu_repo_dir"]
        needs = recipe.packages.driver_needs
        if os_id == "ol":
            assert needs == ("kernel-uek-devel-{kernel}",)
        else:
            assert ("kernel-devel-matched-{kernel}" in needs) is (int(major) >= 9)


@pytest.mark.parametrize("rocm", list(CLASSIC))
def test_zypper_and_azure(matrix: Matrix, rocm: str) -> None:
    row = CLASSIC[rocm]
    for version in row["distros_in_amd_docs"].get("sles", ()):
        if not version[0].isdigit():
            continue
        recipe = wanted_recipe(matrix, rocm, "sles", version)
        assert recipe.rocm_repo.path == "/etc/zypp/repos.d/rocm.repo"
        assert recipe.rocm_repo.urls[0] == row["zypp_rocm_base"]
        assert recipe.driver_repo is not None
        assert recipe.driver_repo.urls == (row["zypp_amdgpu_base"].replace("{15.N}", version),)
        assert "priority" not in recipe.driver_repo.text
        assert recipe.packages.driver_needs == ("kernel-default-devel",)
    for version in row["distros_in_amd_docs"].get("azl", ()):
        recipe = wanted_recipe(matrix, rocm, AZURE, version)
        assert recipe.rocm_repo.urls == (f"https://repo.radeon.com/rocm/azurelinux3/{row['rocm_repo_dir']}/main/",)
        assert recipe.driver_repo is None and recipe.driver is None
        assert recipe.packages.driver == ("amdgpu",)


@pytest.mark.parametrize("rocm", list(CLASSIC))
def test_driver_directories(matrix: Matrix, rocm: str) -> None:
    row = CLASSIC[rocm]
    driver = matrix.driver_for(rocm)
    assert driver is not None and versions.key(driver) == versions.key(row["amdgpu_driver_version"])
    assert matrix.driver_directory(rocm) == row["amdgpu_repo_dir"]
    assert matrix.has_driver_directory(row["amdgpu_repo_dir"])
    assert not matrix.has_driver_directory("7.2")
    release = next(d for d in matrix.driver_releases if d.directory == row["amdgpu_repo_dir"])
    assert matrix.driver_repo_dirs[row["amdgpu_repo_dir"]] == release.version


def test_irregular_7_2_2(matrix: Matrix) -> None:
    recipe = matrix.recipe("7.2.2", "ubuntu", "24.04")
    assert recipe is not None
    assert (recipe.driver, recipe.driver_dir, recipe.graphics_dir, recipe.rocm_dir) == ("30.30.1", "30.30.1", "7.2.1", "7.2.2")
    assert any("irregular" in note for note in recipe.notes)
    release = matrix.release("7.2.2")
    assert release is not None and release.drivers.released_with == "30.30.2"


@pytest.mark.parametrize("rocm", [v for v in THEROCK if v not in ("7.9.0", "7.10.0")])
def test_therock(matrix: Matrix, rocm: str) -> None:
    row = THEROCK[rocm]
    base = row["apt"].split()[0].replace("/{distro}/", "/{distro}")
    series = versions.major_minor(rocm)
    for os_id, version, directory, suite in (
        ("ubuntu", "24.04", "ubuntu2404", "noble"),
        ("ubuntu", "22.04", "ubuntu2204", "jammy"),
        ("debian", "13", "debian13", "noble"),
        ("debian", "12", "debian12", "jammy"),
    ):
        recipe = matrix.recipe(rocm, os_id, version)
        assert recipe is not None and recipe.driver_repo is not None and recipe.pin is None
        assert base.replace("{distro}", directory) in recipe.rocm_repo.text
        assert recipe.packages.rocm == (f"amdrocm{series}",)
        assert recipe.packages.per_gfx == f"amdrocm{series}-{{gfx}}"
        assert recipe.prefix == f"/opt/rocm/core-{series}"
        assert f"/ubuntu {suite} main" in recipe.driver_repo.text
        assert recipe.driver_key.url == KEY
        if "driver_docs" in row:
            assert recipe.driver == row["driver_docs"].split(";")[0]
        if "runfile" in row:
            assert recipe.runfile_url == row["runfile"]
        if "amdgpu_install" in row:
            assert recipe.amdgpu_install_url == row["amdgpu_install"].split(" ;")[0].replace("{codename}", suite)
    for os_id, version, directory in (("rhel", "9.6", "rhel9"), ("ol", "10.0", "rhel10"), ("rocky", "9.6", "rhel9")):
        recipe = matrix.recipe(rocm, os_id, version)
        assert recipe is not None and recipe.rocm_repo.urls == (base.replace("{distro}", directory) + "/x86_64",)
    assert matrix.recipe(rocm, "ubuntu", "20.04") is None


def test_therock_files(matrix: Matrix) -> None:
    old, new = matrix.recipe("7.14.1", "ubuntu", "24.04"), matrix.recipe("10.0.0", "ubuntu", "24.04")
    assert old is not None and new is not None
    apt = FACTS["therock_recipes"]["apt_7_14"].split(" in ")[0].replace("{distro}", "ubuntu2404")
    assert old.rocm_repo.text == apt + "\n" and old.rocm_repo.path == "/etc/apt/sources.list.d/rocm.list"
    assert old.key.url == "https://repo.amd.com/rocm/packages-multi-arch/gpg/rocm.gpg"
    assert new.rocm_repo.path == "/etc/apt/sources.list.d/amdrocm-stable.sources"
    assert new.key.url == THEROCK["10.0.0"]["key_url"]
    assert new.key.fingerprint == FACTS["therock_recipes"]["signing_fingerprint"].split()[0]
    rpm = matrix.recipe("7.14.1", "rhel", "9.8")
    assert rpm is not None
    for cell in ("[rocm]", "name=ROCm 7.14.1", "gpgcheck=1", "priority=50"):
        assert cell in rpm.rocm_repo.text.splitlines()
    assert "priority" not in (matrix.recipe("10.0.0", "rhel", "9.8") or rpm).rocm_repo.text


def test_keys(matrix: Matrix) -> None:
    assert matrix.signing_fingerprints == ("CA8BB4727A47B4D09B4EE8969386B48A1A693C5C", "D0F004A0025A1145C7807FCD0701EAC4D5E02107")
    assert matrix.key_expiry.refuses == ("apt",) and matrix.key_expiry.warns == ("zypper",)


def test_no_recipe(matrix: Matrix) -> None:
    for rocm, os_id, version in (
        ("7.9.0", "ubuntu", "24.04"),
        ("6.2.0", "arch", "x"),
        ("9.0.0", "ubuntu", "22.04"),
        ("10.1.0", AZURE, "3.0"),
    ):
        assert matrix.recipe(rocm, os_id, version) is None


@pytest.mark.parametrize("row", FACTS.get("driver", {}).get("build_failures", []), ids=lambda r: str(r["release"]))
def test_dkms_failures(matrix: Matrix, row: Any) -> None:
    """Each reported failure is known by its driver release and kernel."""
    if "Ubuntu 24.04" in row["kernel"]:
        return  # no kernel number in the report
    for release in row["release"].split("/"):
        driver = matrix.driver_for(release.replace(".x", ".0"))
        assert driver is not None
        for kernel in re.findall(r"\d+\.\d+(?:\.\d+)?(?:-\d+)?", re.sub(r"\(.*?\)", "", row["kernel"].split(";")[0])):
            running = kernel + (".0-1-generic" if kernel.count(".") == 1 else "-generic")
            failure = matrix.known_dkms_failure(driver, running)
            assert failure is not None and not failure.inferred, (driver, running)
            number = re.findall(r"#(\d+)", row["ref"])[0]
            assert any(source.endswith(f"#{number}") for source in failure.source)
            assert failure.reason


def test_dkms_builds_that_work(matrix: Matrix) -> None:
    for driver, kernel in (
        ("6.2.0", "6.8.0-40-generic"),
        ("30.20.1", "6.17.0-8-generic"),
        ("31.60.0", "7.0.0-22-generic"),
        ("6.4.1", "6.8.0-60-generic"),
    ):
        assert matrix.known_dkms_failure(driver, kernel) is None, (driver, kernel)
    older = matrix.known_dkms_failure("6.3.2", "6.14.0-24-generic")
    assert older is not None and older.inferred


@pytest.mark.parametrize("cell", list(FACTS.get("driver", {}).get("dkms_package_versions", {}).items()), ids=lambda c: str(c[0]))
def test_module_builds(matrix: Matrix, cell: tuple[str, str]) -> None:
    release, module = cell
    driver = re.search(r"\((\d+\.\d+\.\d+)\)", release)
    wanted = driver.group(1) if driver else release.split()[0]
    build = re.search(r"\d+\.\d+\.\d+-\d{7}", module)
    if build:
        assert matrix.driver_release_of_module(build.group()) == wanted
        assert matrix.driver_release_of_module(build.group() + ".22.04") == wanted
    else:
        base = re.findall(r"\d+\.\d+(?:\.\d+)?", module)[0]
        assert matrix.driver_release_of_module(base + (".0" if base.count(".") == 1 else "")) in (wanted, "31.20", "31.50")
