"""Every row of the facts on ROCm 10.1 (and 10.0, 7.14.1), which outrank the older rows of these releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix, Verdict
from tests.matrix.facts_files import facts, needs_facts

pytestmark = needs_facts

RELEASES: dict[str, Any] = facts("rocm_10_1.yaml").get("releases", {})
IDS = {"Ubuntu": "ubuntu", "RHEL": "rhel", "SLES": "sles", "Debian": "debian", "Oracle Linux": "ol", "Rocky": "rocky"}
FULL = [v for v in RELEASES if v != "7.14.1"]


def each(name: str, releases: list[str]) -> list[Any]:
    return [
        pytest.param(v, row, id=f"{v}-{row.get('table')}-{row.get('product') or row.get('id')}-{i}".replace(" ", ""))
        for v in releases
        for i, row in enumerate(RELEASES[v].get(name) or [])
    ]


def systems(cells: list[str]) -> Iterator[tuple[str, str, str | None]]:
    """ "Ubuntu 24.04.5 (HWE 7.0)" is (ubuntu, 24.04.5, 7.0); "RHEL 10.2, 9.8" names two."""
    for cell in cells:
        name, rest = re.match(r"([A-Za-z ]+?) (\d.*)", cell).groups()  # type: ignore[union-attr]
        kernel = re.search(r"\((?:GA|HWE|OEM) ([\d.]+)\)", rest)
        for version in re.sub(r"\(.*?\)", "", rest).split(","):
            yield IDS[name], version.strip(), kernel.group(1) if kernel else None


@pytest.mark.parametrize(("rocm", "row"), each("os", list(RELEASES)))
def test_operating_system(matrix: Matrix, rocm: str, row: Any) -> None:
    family = row["table"].lower()
    limits = row.get("gpu_limits")
    boards = [{"product": p, "family": family} for p in limits] if isinstance(limits, list) else [{"family": family}]
    for board in boards:
        answer = matrix.os(rocm, row["id"], row["point"], **board)
        assert answer.verdict is Verdict.SUPPORTED, answer
        for kernel in row["kernels"]:
            running = kernel + (".0-14-generic" if kernel.count(".") == 1 else "-14.el9")
            answer = matrix.kernel(rocm, row["id"], row["point"], running, **board)
            assert answer.verdict is Verdict.SUPPORTED, answer


@pytest.mark.parametrize(("rocm", "row"), each("gpus", FULL))
def test_product(matrix: Matrix, rocm: str, row: Any) -> None:
    """Each product on each of its systems and kernels, on no other system of the release, and in its table."""
    family = row["table"].lower()
    release = matrix.release(rocm)
    assert release is not None
    own = next(g for g in release.gpus(row["gfx"]) if row["product"] in g.products)
    assert own.family == family and own.igpu == row.get("igpu") and own.codename == row.get("codename")
    assert list(own.firmware) == (row.get("firmware_pldm") or [])
    named = list(systems(row["os"]))
    for os_id, version, kernel in named:
        answer = matrix.gpu(rocm, row["gfx"], product=row["product"], os_id=os_id, os_version=version)
        assert answer.verdict is Verdict.SUPPORTED, answer
        if kernel:
            answer = matrix.kernel(rocm, os_id, version, f"{kernel}.0-31-generic", gfx=row["gfx"], product=row["product"])
            assert answer.verdict is Verdict.SUPPORTED, answer
    for other in release.os_rows or ():
        if not any(i == other.id and versions.is_prefix(other.version, v) for i, v, _ in named):
            answer = matrix.gpu(rocm, row["gfx"], product=row["product"], os_id=other.id, os_version=other.version)
            assert answer.verdict is Verdict.UNSUPPORTED, answer
    assert (row["driver"] == "inbox only") is (row["gfx"] in matrix.inbox_only_gfx)


@pytest.mark.parametrize("rocm", list(RELEASES))
@pytest.mark.parametrize("table", ["Instinct", "Radeon", "Ryzen"])
def test_drivers(matrix: Matrix, rocm: str, table: str) -> None:
    if table not in RELEASES[rocm]["drivers"]:
        return
    listed = RELEASES[rocm]["drivers"][table]["dkms"]
    for driver in matrix.driver_releases:
        if driver.version.startswith(("30", "31")):
            verdict = matrix.driver(rocm, driver.version, family=table.lower()).verdict
            if any(versions.key(driver.version) == versions.key(d) for d in listed):
                assert verdict is Verdict.SUPPORTED, driver.version
            elif not listed or (rocm == "10.1.0" and driver.version != "30.30.4"):
                assert verdict is Verdict.UNSUPPORTED, driver.version
    for driver in listed:
        assert matrix.driver(rocm, driver, family=table.lower()).verdict is Verdict.SUPPORTED


def test_the_driver_of_10_1(matrix: Matrix) -> None:
    assert matrix.driver_for("10.1.0") == "31.60.0"
    assert matrix.driver_directory("10.1") == "31.60"
    assert matrix.driver("10.1.0", "30.10.1", family="instinct").verdict is Verdict.UNSUPPORTED
    assert matrix.driver("10.1.0", "30.30.4", family="instinct").verdict is Verdict.UNKNOWN
    assert matrix.driver("10.1.0", "30.30.4", family="radeon").verdict is Verdict.UNSUPPORTED
    assert matrix.driver("10.1.0", "30.20.1").verdict is Verdict.UNKNOWN, "Instinct yes, Radeon no"


def test_python_and_frameworks(matrix: Matrix) -> None:
    wanted = RELEASES["10.1.0"]
    release = matrix.release("10.1.0")
    assert release is not None and release.python is not None and release.frameworks is not None
    assert list(release.python.versions) == wanted["python"]["versions"]
    rows = {(r.name, r.versions): r for r in release.frameworks.rows}
    for row in wanted["frameworks"]["linux"]:
        own = next(
            r
            for r in release.frameworks.rows
            if (r.name, list(r.versions)) == (row["name"], row["versions"])
            and (list(r.gfx) == row["gfx"] if isinstance(row["gfx"], list) else not r.gfx)
        )
        assert list(own.python) == row["python"] and own.note == row.get("note")
        assert set(row["versions"]) <= set(release.frameworks.versions[row["name"]] or ())
    assert len(rows) <= len(wanted["frameworks"]["linux"]) == len(release.frameworks.rows)
    assert list(release.python.wsl) == wanted["frameworks"]["windows_and_wsl"][0]["python"][::-1]


def test_wsl_products(matrix: Matrix) -> None:
    """10.1.0 lists products under WSL2; the lists of 10.0.0 are not in force."""
    release = matrix.release("10.1.0")
    assert release is not None
    for row in RELEASES["10.1.0"]["gpus"]:
        own = [w for w in release.wsl if row["product"] in w.products]
        assert [f"ubuntu {v}" for v in row["wsl2"]] == (list(own[0].os) if own else [])
    older = matrix.release("10.0.0")
    assert older is not None and older.wsl == ()


def test_recipe_of_10_1(matrix: Matrix) -> None:
    install, driver = RELEASES["10.1.0"]["install"], RELEASES["10.1.0"]["driver_install"]
    for version, codename, directory in (
        ("26.04", "resolute", "ubuntu2604"),
        ("24.04", "noble", "ubuntu2404"),
        ("22.04", "jammy", "ubuntu2204"),
    ):
        recipe = matrix.recipe("10.1.0", "ubuntu", version)
        assert recipe is not None and recipe.driver_repo is not None
        assert recipe.rocm_repo.path == install["apt"]["sources_file"]
        assert f"URIs: https://stable.repo.amd.com/rocm/core/packages/{directory}/\n" in recipe.rocm_repo.text
        for line in (f"Suites: {install['apt']['suite']}", f"Components: {install['apt']['component']}", "Architectures: amd64"):
            assert line in recipe.rocm_repo.text
        assert recipe.key.url == install["apt"]["key_url"]
        assert recipe.key.keyring == install["apt"]["keyring"].split()[0]
        assert f"https://repo.radeon.com/amdgpu/31.60/ubuntu {codename} main" in recipe.driver_repo.text
        assert recipe.driver_key.url == "https://repo.radeon.com/rocm/rocm.gpg.key"
        assert recipe.amdgpu_install_url == driver["amdgpu_install"]["ubuntu"].replace("{resolute,noble,jammy}", codename)
        assert list(recipe.packages.rocm) == [install["packages"]["all_gpus"]]
        assert recipe.packages.per_gfx and recipe.packages.per_gfx.format(gfx="gfx942") in install["packages"]["per_gfx"]
        assert set(recipe.packages.rocm_needs) == {"libatomic1", "libquadmath0"}
        assert recipe.runfile_url and install["runfile"].startswith(recipe.runfile_url)
        assert recipe.prefix == "/opt/rocm/core-10.1"
    for os_id, version, directory in (("rhel", "10.2", "rhel10"), ("ol", "8.10", "rhel8"), ("rocky", "9.6", "rhel9")):
        recipe = matrix.recipe("10.1.0", os_id, version)
        assert recipe is not None
        assert recipe.rocm_repo.path == install["dnf"]["file"]
        assert recipe.rocm_repo.urls == (f"https://stable.repo.amd.com/rocm/core/packages/{directory}/x86_64",)
        assert f"[{install['dnf']['id']}]" in recipe.rocm_repo.text and "priority" not in recipe.rocm_repo.text
    suse = matrix.recipe("10.1.0", "sles", "16.0")
    assert suse is not None
    assert suse.rocm_repo.path == install["zypper"]["file"]
    assert suse.rocm_repo.urls == ("https://stable.repo.amd.com/rocm/core/packages/sles16/x86_64",)


def test_torch_of_10_1(matrix: Matrix) -> None:
    wanted = RELEASES["10.1.0"]["torch_wheels"]
    best = matrix.wheels_for(gfx="gfx1100", rocm="10.1", python="3.12")[0]
    assert best.index_url == wanted["index"]
    assert best.torch == wanted["torch"].split()[0]
    assert best.requirements[:2] == ("rocm[libraries,device-gfx1100]==10.1.0", "torch[device-gfx1100]==2.14.0")
    assert matrix.rocm_of_hip(wanted["torch_version_hip"]) == "10.1"
