"""Every row of the collected wheel facts, asked through the questions that checks and plans ask."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix
from tests.matrix.facts_files import facts, needs_facts

pytestmark = needs_facts

WHEELS: dict[str, Any] = facts("pytorch_wheels.yaml")
OFFICIAL: list[Any] = WHEELS.get("official_pytorch_releases", [])


@pytest.mark.parametrize("row", OFFICIAL, ids=lambda r: str(r["torch"]))
def test_official_release(matrix: Matrix, row: Any) -> None:
    """Indexes, CPython tags, compiled targets and companions."""
    own = matrix.torch_release(row["torch"])
    assert own is not None
    if row["rocm_indexes"] == ["unknown"]:
        assert own.indexes == () and own.confidence
        assert matrix.torch_gfx(row["torch"], "7.14") is None
        return
    assert list(own.indexes) == row["rocm_indexes"]
    assert list(own.cpython) == row["cpython"]
    for index in row["rocm_indexes"]:
        assert matrix.torch_gfx(row["torch"], index) == frozenset(row["gfx"][f"rocm{index}"])
        assert matrix.torch_gfx(f"{row['torch']}+rocm{index}", f"rocm{index}") == frozenset(row["gfx"][f"rocm{index}"])
        assert matrix.index_url(row["torch"], index) == WHEELS["official_indexes"][f"rocm{index}"]["url"]
    assert own.torchvision == row["torchvision"]
    assert own.torchaudio == row["torchaudio"].split()[0]
    assert own.triton_package == row["triton_package"]
    if row["triton_version"]:
        assert own.triton_version == row["triton_version"].split()[0]
    assert own.released == row["released"].split()[0]
    newer = versions.key(row["torch"]) >= versions.key(matrix.wheel_rules.manylinux_2_28_from)
    assert newer is (row["platform_tag"] == "manylinux_2_28_x86_64")


@pytest.mark.parametrize("row", OFFICIAL, ids=lambda r: str(r["torch"]))
def test_choices_of_a_release(matrix: Matrix, row: Any) -> None:
    """Each index of a release is offered for its targets and Pythons, with its companions, and for no others."""
    if row["rocm_indexes"] == ["unknown"]:
        return
    for index in row["rocm_indexes"]:
        wanted = f"{row['torch']}+rocm{index}"
        for gfx in ("gfx803", "gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1103", "gfx1201", "gfx1032"):
            for tag in ("cp37", "cp310", "cp313t", "cp314"):
                offered = [c for c in matrix.wheels_for(gfx=gfx, python=tag) if c.torch == wanted]
                assert bool(offered) is (gfx in row["gfx"][f"rocm{index}"] and tag in row["cpython"]), (gfx, tag)
                for choice in offered:
                    assert choice.requirements[0] == f"torch=={wanted}"
                    assert f"torchvision=={row['torchvision']}+rocm{index}" in choice.requirements
                    assert not re.search(r"\bcpu\b|cu1\d\d|\+cu", " ".join((choice.index_url, *choice.requirements)))


def test_official_indexes(matrix: Matrix) -> None:
    wanted = WHEELS["official_indexes"]
    assert list(matrix.official_indexes) == list(wanted)
    for name, row in wanted.items():
        assert list(matrix.official_indexes[name]) == row["torch"]
        hip = matrix.torch_indexes.hip[name.removeprefix("rocm")]
        assert all(sample in row["hip_sample"] for sample in hip)
        assert matrix.rocm_of_hip(hip[0]) in (None, versions.major_minor(name.removeprefix("rocm")))
    for index in matrix.torch_indexes.absent:
        assert f"rocm{index}" not in wanted


@pytest.mark.parametrize("index", list(WHEELS.get("newest_torch_per_official_index", {})))
def test_newest_torch_of_an_index(matrix: Matrix, index: str) -> None:
    row = WHEELS["newest_torch_per_official_index"][index]
    newest = matrix.official_indexes[index][-1]
    own = matrix.torch_release(newest)
    assert own is not None
    assert (newest, own.torchvision, own.torchaudio, list(own.cpython)) == (
        row["torch"],
        row["torchvision"],
        row["torchaudio"],
        row["cpython"],
    )


def test_amd_folders(matrix: Matrix) -> None:
    """repo.radeon.com/rocm/manylinux: the names that were seen."""
    rows = {row.folder: row for row in matrix.amd_wheels}
    for folder, names in WHEELS["amd_repo_radeon_manylinux"]["seen"].items():
        key = folder.split()[0].removeprefix("rocm-rel-")
        if not {"torch", "torchaudio", "torchvision"} & set(names):
            continue  # ONNX Runtime only
        if "torch" in names:
            assert rows[key].torch == names["torch"].split()[0].replace(".lw", ""), folder
        for name in ("torchvision", "torchaudio"):
            if name in names:
                assert getattr(rows[key], name) == names[name], folder
    seen = WHEELS["amd_repo_radeon_manylinux"]["gfx_seen"]
    title = next(t for t in seen if t != "note")
    for wheel in title.split(" and "):
        assert matrix.torch_gfx(wheel, None) == frozenset(seen[title])


def test_therock(matrix: Matrix) -> None:
    rock = WHEELS["therock"]
    channels = rock["channels"]
    addresses = {row.url for row in matrix.therock_indexes.values()}
    for name in ("stable_7.x_multi_arch", "stable_10.x", "nightly", "dev", "bkc", "prerelease"):
        for url in re.findall(r"https://\S+?/(?=[ ;]|$)", channels[name]):
            assert url.replace("<family>", "{family}") in addresses, url
    for family, targets in rock["families"].items():
        assert matrix.therock_families[family] == frozenset(targets)
    assert list(rock["device_extras"]) and set(rock["device_extras"]) == set(matrix.device_packages.therock)
    assert set(matrix.device_packages.pytorch_org) == set(rock["device_packages_mirrored_for_pytorch_rocm7.14"])
    by_rocm = {row.rocm: row for row in matrix.therock_torch}
    for rocm, seen in rock["torch_seen_per_rocm"].items():
        if rocm in by_rocm:
            assert {s["torch"] for s in by_rocm[rocm].sets} == {v.split()[0] for v in seen}, rocm
    exact = rock["exact_10.0.0_set"]
    newest = by_rocm["10.0.0"].sets[0]
    for name in ("torch", "torchvision", "torchaudio"):
        assert newest[name] == exact[name].partition("+")[0]
    for row in matrix.therock_torch:
        for packages in row.sets:
            companions = rock["torch_companions"].get(versions.major_minor(packages["torch"]), {})
            if "torchvision" in packages:
                assert packages["torchvision"].startswith(companions["torchvision"])
                assert packages["torchaudio"].startswith(companions["torchaudio"])


def test_targets_with_device_packages_only(matrix: Matrix) -> None:
    """gfx1031 to gfx1036 and gfx101x have no official wheel of PyTorch, but device packages on AMD's index."""
    for gfx in ("gfx1010", "gfx1031", "gfx1036", "gfx1152", "gfx1153"):
        choices = matrix.wheels_for(gfx=gfx, python="3.12")
        assert choices and all(c.origin == "amd" and f"device-{gfx}" in c.requirements[0] for c in choices)
    for gfx in ("gfx803", "gfx902", "gfx90c", "gfx1013"):
        assert matrix.wheels_for(gfx=gfx) == ()


def test_hip_is_not_rocm(matrix: Matrix) -> None:
    for row in WHEELS["torch_version_module"]["hip_is_not_rocm"]:
        if row["wheel"] == "2.13.0+rocm10.0.0":
            assert matrix.rocm_of_hip(row["hip"]) == "10.0"


def test_uv(matrix: Matrix) -> None:
    uv = WHEELS["uv_torch_backend"]
    assert f"rocm{matrix.wheel_rules.uv_last_index}" == uv["backend_names"][0]
    assert matrix.wheel_rules.uv_gfx == frozenset(uv["gfx_to_backends"])
    for backend, targets in uv["backend_to_gfx"].items():
        newest = matrix.official_indexes[backend][-1]
        own = matrix.torch_gfx(newest, backend)
        assert own is not None and frozenset(targets) <= own, backend


def test_other_frameworks(matrix: Matrix) -> None:
    wanted = WHEELS["other_frameworks"]
    packages = matrix.python_packages
    assert list(packages["tensorflow-rocm"].versions) == wanted["tensorflow-rocm"]["pypi_versions"]
    assert list(packages["onnxruntime-rocm"].versions) == wanted["onnxruntime"]["onnxruntime-rocm"]["pypi"]
    assert list(packages["onnxruntime-migraphx"].versions) == wanted["onnxruntime"]["onnxruntime-migraphx"]["pypi"]
    assert list(packages["cupy-rocm-7-0"].versions) == wanted["cupy"]["cupy-rocm-7-0"]["versions"]
    for name, row in wanted["jax"]["packages"].items():
        own = packages[name.replace("plugin/pjrt", "plugin")]
        assert list(own.versions) == [re.match(r"[\d.]*\d", v).group() for v in row["versions"]]  # type: ignore[union-attr]
    assert list(packages["vllm"].gfx) == wanted["vllm"]["gpus"]


def test_driver_windows_of_the_wheel_facts(matrix: Matrix) -> None:
    """AMD's older window tables name no pair that the matrix calls unsupported."""
    for drivers, spaces in WHEELS["kernel_driver_expectation"]["kmd_to_user_space"].items():
        for driver in drivers.split(" / "):
            for rocm in re.findall(r"\d+\.\d+", spaces.split("(")[0]):
                if matrix.resolve(rocm):
                    number = driver.replace(".x", ".0")
                    assert matrix.driver(rocm, number).verdict.value == "supported", (driver, rocm)
