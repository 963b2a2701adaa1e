"""Choosing wheels: the driver, the wanted ROCm, known troubles, and refusing rather than CPU builds."""

from __future__ import annotations

import re

import pytest

from rocmdoctor.matrix import Matrix, Verdict


def test_refuses_rather_than_cpu(matrix: Matrix) -> None:
    """No target, no Python, no driver window: an empty answer, never a CPU or CUDA index (rules.md 38)."""
    assert matrix.wheels_for(gfx="gfx803") == ()
    assert matrix.wheels_for(gfx="gfx1100", python="3.6") == ()
    assert matrix.wheels_for(gfx="gfx1201", driver="5.7.1") == ()
    for gfx in matrix.gfx_names:
        for choice in matrix.wheels_for(gfx=gfx):
            assert "rocm" in choice.index_url
            assert not re.search(r"cpu|cu1\d", " ".join((choice.index_url, choice.torch, *choice.requirements)))


def test_the_best_is_the_newest_without_a_driver(matrix: Matrix) -> None:
    best = matrix.wheels_for(gfx="gfx1100", python="3.12")[0]
    assert best.torch == "2.14.1+rocm7.14"
    assert best.index_url == "https://download.pytorch.org/whl/rocm7.14"
    assert best.requirements == ("torch==2.14.1+rocm7.14", "torchvision==0.29.1+rocm7.14", "triton-rocm==3.8.0")


@pytest.mark.parametrize(
    ("driver", "newest"),
    [("6.2.4", "7.0"), ("6.4.1", "7.2"), ("30.30.1", "7.14"), ("6.0.2", "6.2.4"), ("5.7.1", "6.1")],
)
def test_a_driver_leaves_out_what_it_does_not_carry(matrix: Matrix, driver: str, newest: str) -> None:
    choices = matrix.wheels_for(gfx="gfx90a", driver=driver)
    assert choices[0].rocm == newest
    assert all(c.driver_verdict is Verdict.SUPPORTED for c in choices[:2])
    for choice in choices:
        assert matrix.driver(choice.rocm, driver, family="instinct").verdict is choice.driver_verdict is not Verdict.UNSUPPORTED


def test_the_wanted_rocm_comes_first(matrix: Matrix) -> None:
    assert matrix.wheels_for(gfx="gfx90a", python="3.10", rocm="6.2")[0].torch == "2.5.1+rocm6.2"
    assert matrix.wheels_for(gfx="gfx90a", python="3.10", rocm="6.2.4")[0].torch == "2.7.1+rocm6.2.4"
    assert matrix.wheels_for(gfx="gfx90a", python="3.10", rocm="6.2.1")[0].rocm in ("6.2", "6.2.4")
    assert matrix.wheels_for(gfx="gfx1151", python="3.12", rocm="10.1")[0].torch == "2.14.0+rocm10.1.0"


def test_known_troubles_rank_below(matrix: Matrix) -> None:
    """gfx906 stays in the list of rocm7.x wheels whose rocBLAS lost it; 6.4 comes first."""
    choices = matrix.wheels_for(gfx="gfx906", python="3.12")
    assert choices[0].rocm == "6.4" and not choices[0].faults
    seven = next(c for c in choices if c.rocm == "7.2" and c.origin == "pytorch.org")
    assert seven.faults[0].kind == "libraries"
    assert matrix.wheels_for(gfx="gfx908", python="3.12")[0].rocm == "7.14"


def test_amd_sets_name_the_device(matrix: Matrix) -> None:
    choice = matrix.wheels_for(gfx="gfx1152", python="3.13")[0]
    assert choice.index_url == "https://stable.repo.amd.com/rocm/whl-next/"
    assert choice.requirements == (
        "rocm[libraries,device-gfx1152]==10.1.0",
        "torch[device-gfx1152]==2.14.0",
        "torchvision[device-gfx1152]==0.29.*",
        "torchaudio==2.11.*",
    )
    assert choice.origin == "amd" and choice.confidence
    untested = matrix.wheels_for(gfx="gfx1153", python="3.13")[0]
    assert untested.confidence and "tested" in untested.confidence


@pytest.mark.parametrize(
    ("torch", "tag", "url"),
    [
        ("2.5.1+rocm6.2", "6.2", "https://download.pytorch.org/whl/rocm6.2"),
        ("2.14.1+rocm7.14", "7.14", "https://download.pytorch.org/whl/rocm7.14"),
        ("2.14.0+rocm10.1.0", "10.1.0", "https://stable.repo.amd.com/rocm/whl-next/"),
        ("2.12.0+rocm7.14.0", "7.14.0", "https://repo.amd.com/rocm/whl-multi-arch/"),
        ("2.9.1+rocm7.2.0.git7e1940d4", "7.2.0", None),
        ("2.5.1+rocm9.9", "9.9", None),
        ("2.5.1", None, None),
        ("2.5.1+cpu", None, None),
    ],
)
def test_index_url(matrix: Matrix, torch: str, tag: str | None, url: str | None) -> None:
    assert matrix.index_url(torch, tag) == url


def test_compiled_lists_that_nobody_knows(matrix: Matrix) -> None:
    assert matrix.torch_gfx("2.14.0+rocm10.1.0", "10.1.0") is None, "kernels are in device packages"
    assert matrix.torch_gfx("2.5.1", "7.2") is None, "no such wheel"
    assert matrix.torch_gfx("2.6.0+rocm6.4.1.git1ded221d", "6.4.1") is None, "nobody showed its list"
    assert matrix.torch_gfx("2.5.1+cu124", None) is None
    assert matrix.torch_release("2.5.1+rocm6.2") == matrix.torch_release("2.5.1")
    assert matrix.torch_release("9.9") is None


@pytest.mark.parametrize(
    ("hip", "rocm"),
    [("6.2.41133-dd7f95766", "6.2"), ("7.15.26333", "10.0"), ("7.16.26385", "10.1"), ("7.13.61040", "7.13"), ("3.3", None)],
)
def test_rocm_of_hip(matrix: Matrix, hip: str, rocm: str | None) -> None:
    assert matrix.rocm_of_hip(hip) == rocm
