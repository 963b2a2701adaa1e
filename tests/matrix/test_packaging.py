"""Paths of AMD's repositories, its pin and keys, and names of distributions' own packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmdoctor.matrix import Matrix
from tests.matrix.small_matrix import load_text


@pytest.mark.parametrize(
    ("ids", "package"),
    [
        (("ubuntu", "debian"), "linux-firmware"),
        (("linuxmint", "ubuntu", "debian"), "linux-firmware"),
        (("debian",), "firmware-amd-graphics"),
        (("fedora",), "amd-gpu-firmware"),
        (("rocky", "rhel", "centos", "fedora"), "linux-firmware"),
        (("ol", "fedora"), "linux-firmware"),
        (("sles", "suse"), "kernel-firmware-amdgpu"),
        (("opensuse-tumbleweed", "opensuse", "suse"), "kernel-firmware-amdgpu"),
        (("arch",), "linux-firmware"),
        ((), "linux-firmware"),
    ],
)
def test_the_nearest_distribution_names_the_firmware(matrix: Matrix, ids: tuple[str, ...], package: str) -> None:
    assert matrix.distribution_packages.firmware(ids) == package


def test_the_pin_is_that_of_the_recipes(matrix: Matrix) -> None:
    recipe = matrix.recipe("6.2.4", "ubuntu", "24.04")
    assert recipe is not None
    assert matrix.apt_pin == recipe.pin


@pytest.mark.parametrize(
    ("number", "known"), [("6.2", True), ("6.2.0", True), ("30.10.2", True), ("30.30", True), ("7.2", False), ("", False)]
)
def test_numbers_of_driver_releases(matrix: Matrix, number: str, known: bool) -> None:
    assert matrix.is_driver_release(number) is known


@pytest.mark.parametrize(("rocm", "stops"), [("6.4.4", False), ("7.0.0", True), ("7.2.4", True)])
def test_old_cards_that_stop_the_others(matrix: Matrix, rocm: str, stops: bool) -> None:
    fault = matrix.faults.stops_all(rocm)
    assert (fault is not None) is stops
    assert fault is None or (fault.gfx, fault.last_good) == (("gfx803",), "6.4")


@pytest.mark.parametrize(
    ("torch", "amd", "limit"),
    [("2.2.2", None, "2"), ("2.3.0", None, None), ("2.4.0", "6.2.0", "2"), ("2.8.0", "7.0.0", None)],
)
def test_the_numpy_that_is_too_new(matrix: Matrix, torch: str, amd: str | None, limit: str | None) -> None:
    assert matrix.faults.numpy_too_new(torch, amd) == limit


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (", other: linux-firmware}", "}", "distribution_packages/firmware"),
        ('  suites_from: "5.3"\n', "", "repository_paths"),
        ('  driver_years_from: "20"', "  driver_years_from: 20", "repository_paths/driver_years_from"),
    ],
)
def test_faults_are_found(matrix: Matrix, tmp_path: Path, old: str, new: str, place: str) -> None:
    text = matrix.path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    assert place in [p.path for p in load_text(tmp_path, text.replace(old, new)).lint()]
