"""Judgement of systems, kernels, GPUs and drivers: each rule with its counterpart."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmdoctor.matrix import Matrix, Verdict
from tests.matrix.small_matrix import APU, GFX, START, load_text

YES, NO, UNKNOWN = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.UNKNOWN


def test_family_decides_from_7_9_on(matrix: Matrix) -> None:
    """One point release has three kernels (rules.md 45)."""
    for kernel, verdicts in {
        "6.8.0-45-generic": {"gfx942": YES, "gfx1100": NO, "gfx1151": NO},
        "7.0.0-14-generic": {"gfx942": NO, "gfx1100": YES, "gfx1151": YES},
        "6.80.0-1-generic": {"gfx942": NO, "gfx1100": NO, "gfx1151": NO},
    }.items():
        for gfx, verdict in verdicts.items():
            assert matrix.kernel("10.1.0", "ubuntu", "24.04", kernel, gfx=gfx).verdict is verdict, (kernel, gfx)
    assert matrix.os("10.1.0", "debian", "13", family="instinct").verdict is YES
    assert matrix.os("10.1.0", "debian", "13", family="radeon").verdict is NO
    assert matrix.os("10.1.0", "debian", "13").verdict is YES
    assert matrix.driver("10.1.0", "30.20.1", family="instinct").verdict is YES
    assert matrix.driver("10.1.0", "30.20.1", family="radeon").verdict is NO


def test_a_virtual_function_of_a_radeon_pro_counts_as_radeon(matrix: Matrix) -> None:
    assert matrix.os("10.1.0", "rhel", "9.6", gfx="gfx1101", family="instinct").verdict is NO
    assert matrix.os("10.1.0", "rhel", "9.8", gfx="gfx1101", family="instinct").verdict is YES


def test_what_is_newer_than_the_matrix_is_unknown(matrix: Matrix) -> None:
    for answer in (
        matrix.os("10.2.0", "ubuntu", "24.04"),
        matrix.kernel("11.0.0", "ubuntu", "24.04", "8.0.0"),
        matrix.gpu("10.2", "gfx90a"),
        matrix.driver("10.2.0", "31.60.0"),
        matrix.driver("10.1.0", "31.70.0", family="radeon"),
        matrix.driver("7.2.0", "32.10.0"),
    ):
        assert answer.verdict is UNKNOWN and "newer" in answer.reason


def test_releases_that_nobody_read_are_unknown(matrix: Matrix) -> None:
    for rocm in ("6.1.3", "6.4.4"):
        assert matrix.os(rocm, "ubuntu", "22.04").verdict is UNKNOWN
        assert matrix.gpu(rocm, "gfx1100").verdict is UNKNOWN
        assert matrix.kernel(rocm, "ubuntu", "22.04", "6.5.0").verdict is UNKNOWN
    assert matrix.gpu("7.10.0", "gfx1201").verdict is UNKNOWN
    assert matrix.gpu("7.10.0", "gfx908").verdict is NO
    assert matrix.os("7.10.0", "debian", "13", family="ryzen").verdict is UNKNOWN


def test_gfx906_fades(matrix: Matrix) -> None:
    wanted = {"5.7.1": YES, "6.0.2": Verdict.DEPRECATED, "6.2.4": Verdict.DEPRECATED, "6.3.0": UNKNOWN, "6.4.1": NO, "7.0.0": NO}
    for rocm, verdict in wanted.items():
        assert matrix.gpu(rocm, "gfx906", product="AMD Instinct MI60 / MI50").verdict is verdict, rocm


def test_apus_of_the_classic_line(matrix: Matrix) -> None:
    """The classic matrix never lists them; what AMD's APU page says counts, and the rest is unknown, not denied."""
    assert matrix.gpu("7.2.1", "gfx1151").verdict is YES
    assert matrix.gpu("7.1.0", "gfx1151").verdict is UNKNOWN
    assert matrix.gpu("7.2.0", "gfx1150").verdict is UNKNOWN
    assert matrix.gpu("6.2.4", "gfx1151").verdict is NO
    assert matrix.gpu("7.2.0", "gfx1036").verdict is NO
    assert matrix.gpu("10.1.0", "gfx1151", product="AMD Radeon 8060S Graphics").verdict is YES


def test_limits_of_products(matrix: Matrix) -> None:
    """MI300X on ROCm 6.2 is not for Ubuntu 22.04's HWE kernel, other boards are."""
    ask = ("6.2.0", "ubuntu", "22.04", "6.8.0-40-generic")
    assert matrix.kernel(*ask, gfx="gfx942", product="AMD Instinct MI300X").verdict is NO
    assert matrix.kernel(*ask, gfx="gfx942", product="AMD Instinct MI300A").verdict is YES
    assert matrix.kernel(*ask, gfx="gfx90a").verdict is YES
    assert matrix.kernel(*ask[:3], "5.15.0-119-generic", gfx="gfx942", product="AMD Instinct MI300X").verdict is YES
    assert matrix.gpu("6.2.0", "gfx942", product="AMD Instinct MI300X", os_id="ubuntu", os_version="22.04").verdict is YES
    assert matrix.gpu("6.0.0", "gfx942", product="AMD Instinct MI300X", os_id="rhel", os_version="9.3").verdict is NO


def test_a_product_that_is_not_named(matrix: Matrix) -> None:
    """The target is on the list, the board is not: supported, and said so."""
    answer = matrix.gpu("6.2.0", "gfx1100", product="AMD Radeon RX 7900M")
    assert answer.verdict is YES and "not among the products" in answer.reason
    assert "not among" not in matrix.gpu("6.2.0", "gfx1100", product="AMD Radeon RX 7900 XTX").reason


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [
        ("6.14.0-1018-oem", YES),
        ("6.14.0-1020-oem", YES),
        ("6.14.0-1017-oem", UNKNOWN),
        ("6.17.0-19-generic", UNKNOWN),
        ("6.8.0-45", UNKNOWN),
    ],
)
def test_or_newer(matrix: Matrix, kernel: str, verdict: Verdict) -> None:
    """The Ryzen row of 7.14 wants 6.14.0-1018 or newer; AMD's pages contradict each other, so others are unknown."""
    assert matrix.kernel("7.14.0", "ubuntu", "24.04", kernel, gfx="gfx1151").verdict is verdict


@pytest.mark.parametrize(
    ("rocm", "driver", "verdict"),
    [
        ("6.2.0", "6.2.4", YES),
        ("6.2.0", "6.4", YES),
        ("6.2.0", "30.10.2", YES),
        ("6.2.0", "30.20.0", NO),
        ("6.2.0", "5.4.3", NO),
        ("7.2.0", "6.3.3", NO),
        ("7.2.0", "31.50", YES),
        ("7.2.0", "31.20.0", UNKNOWN),
        ("7.2.0", "31.60.0", UNKNOWN),
        ("7.0.2", "6.2.4", YES),
        ("10.0.0", "30.30.4", YES),
        ("6.2.0", "3.0", NO),
    ],
)
def test_driver_windows(matrix: Matrix, rocm: str, driver: str, verdict: Verdict) -> None:
    answer = matrix.driver(rocm, driver)
    assert answer.verdict is verdict, answer
    assert answer.reason


def test_points_of_ubuntu(matrix: Matrix) -> None:
    """os-release does not tell the point release; asked for by name it counts."""
    assert matrix.os("6.2.0", "ubuntu", "22.04").verdict is YES
    assert matrix.os("6.2.0", "ubuntu", "22.04.4").verdict is YES
    assert matrix.os("6.2.0", "ubuntu", "22.04.3").verdict is NO
    assert matrix.os("6.2.0", "sles", "15.6").verdict is matrix.os("6.2.0", "sles", "15 SP6").verdict is YES


SMALL = (
    START
    + GFX
    + APU
    + """\
releases:
  "7.9.0":
    date: unknown
    line: preview
    source: [page]
    os:
      source: [page]
      rows:
        - {os: ubuntu 22.04, kernels: ["5.15"], for: [instinct], only: [MI300X]}
        - {os: ubuntu 24.04, kernels: unknown, for: [instinct], except: [MI300A], limits_open: true}
    gpus:
      source: [page]
      rows:
        - {gfx: gfx90a, products: [Instinct MI300X, Instinct MI300A]}
        - {gfx: gfx1100, products: [Radeon RX 7900 XTX]}
"""
)


def test_boards_that_are_half_known(tmp_path: Path) -> None:
    """A target of several products decides only when all of them agree."""
    matrix = load_text(tmp_path, SMALL)
    answer = matrix.os("7.9.0", "ubuntu", "22.04", gfx="gfx90a")
    assert answer.verdict is YES and "with a limit: for Instinct only MI300X" in answer.reason
    assert matrix.os("7.9.0", "ubuntu", "22.04", gfx="gfx90a", product="AMD Instinct MI300A").verdict is NO
    assert matrix.os("7.9.0", "ubuntu", "24.04", gfx="gfx90a", product="AMD Instinct MI300A").verdict is UNKNOWN
    assert matrix.os("7.9.0", "ubuntu", "22.04", family="radeon").verdict is NO
    assert matrix.kernel("7.9.0", "ubuntu", "24.04", "6.8.0").verdict is UNKNOWN
    assert matrix.kernel("7.9.0", "ubuntu", "20.04", "5.15.0").verdict is UNKNOWN
    assert matrix.gpu("7.9.0", "gfx90a", product="AMD Instinct MI300A", os_id="ubuntu", os_version="22.04").verdict is NO


def test_every_answer_has_a_sentence(matrix: Matrix) -> None:
    for rocm in matrix.versions:
        for gfx in ("gfx803", "gfx906", "gfx942", "gfx1100", "gfx1151"):
            for answer in (
                matrix.gpu(rocm, gfx, os_id="ubuntu", os_version="22.04"),
                matrix.os(rocm, "ubuntu", "22.04", gfx=gfx),
            ):
                assert answer.reason and not answer.reason.endswith(".") and "None" not in answer.reason
                assert answer.source, answer
