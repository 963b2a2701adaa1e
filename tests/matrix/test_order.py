"""Order and names of releases: by numeric component, never by string."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix, load_matrix
from rocmdoctor.matrix.drivers import covers, release_from_digits, release_of_module
from rocmdoctor.matrix.gpu_ids import override_value
from rocmdoctor.matrix.ranges import VersionRange
from rocmdoctor.matrix.torch_releases import cpython_tag, split_local

MATRIX = load_matrix()
NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


def test_order(matrix: Matrix) -> None:
    listed = matrix.versions
    assert listed[0] == "5.7.0" and listed[-1] == matrix.newest == "10.1.0"
    assert [v for v in listed if v.startswith("7")][-6:] == ["7.10.0", "7.11.0", "7.12.0", "7.13.0", "7.14.0", "7.14.1"]
    assert listed.index("7.2.4") < listed.index("7.9.0") < listed.index("7.10.0") < listed.index("10.0.0")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("6.2", "6.2.4"),
        ("6.2.0", "6.2.0"),
        ("rocm6.2.0", "6.2.0"),
        ("ROCm 6.2", "6.2.4"),
        ("v7.2", "7.2.4"),
        ("7", "7.14.1"),
        ("10.1", "10.1.0"),
        ("latest", "10.1.0"),
        (" 7.14 ", "7.14.1"),
        ("6.2.9", None),
        ("9", None),
        ("", None),
        ("six", None),
        ("6.2.0.1", None),
        ("6.2.0-66", None),
    ],
)
def test_resolve(matrix: Matrix, text: str, wanted: str | None) -> None:
    assert matrix.resolve(text) == wanted


@given(NUMBERS)
def test_resolve_gives_a_release_under_what_was_asked(text: str) -> None:
    found = MATRIX.resolve(text)
    numbers = versions.components(text)
    under = [v for v in MATRIX.versions if versions.components(v)[: len(numbers)] == numbers]
    assert found == (max(under, key=versions.key) if under else None)


@given(NUMBERS)
def test_newer_than_known(text: str) -> None:
    assert MATRIX.is_newer_than_known(text) is (versions.key(text) > (10, 1))
    if MATRIX.is_newer_than_known(text):
        assert MATRIX.release(text) is None
        assert MATRIX.gpu(text, "gfx90a").verdict.value == "unknown"


@given(st.text(max_size=60))
def test_any_text_is_answered(text: str) -> None:
    """Host data reaches these questions as it is."""
    assert MATRIX.resolve(text) in (None, *MATRIX.versions)
    assert MATRIX.pci_gpu(text, text) is None or len(text) == 4
    assert MATRIX.gfx(text) is None or text.startswith("gfx")
    assert MATRIX.gpu(text, text, product=text).reason
    assert MATRIX.os("6.2.4", text, text).verdict.value in ("unsupported", "unknown")
    assert MATRIX.kernel("6.2.4", "ubuntu", "22.04", text).reason
    assert MATRIX.base_os(text, text, (text,), text, text) is None or text in MATRIX.distributions
    MATRIX.driver_release_of_module(text)
    MATRIX.torch_gfx(text, text)
    MATRIX.driver("7.2.0", text)
    MATRIX.known_dkms_failure(text, text)
    MATRIX.rocm_of_hip(text)
    MATRIX.index_url(text, text)
    assert MATRIX.recipe(text, text, text) is None


@given(st.text(max_size=30))
def test_any_override_value_is_judged(text: str) -> None:
    for gfx in ("gfx90a", "gfx1032", "gfx1201", "gfx9999"):
        assert MATRIX.override(gfx, text).verdict in ("ok", "risky", "harmful", "wrong", "noop", "unknown")


def test_age(matrix: Matrix) -> None:
    assert matrix.age_days(datetime.date(2026, 12, 10)) == 10
    assert matrix.age_days(datetime.date(2026, 11, 30)) == 0
    assert matrix.age_days(datetime.date(2026, 11, 29)) == -1


@given(NUMBERS, NUMBERS)
def test_patterns_cover_whole_components(left: str, right: str) -> None:
    same = versions.components(right)[: len(versions.components(left))] == versions.components(left)
    assert covers(f"{left}.x", right) is same
    assert covers(left, right) is (versions.key(left) == versions.key(right))


@pytest.mark.parametrize(
    ("span", "inside", "outside"),
    [
        (VersionRange("6.4.3", "6.4.3"), ("6.4.3",), ("6.4.2", "6.4.4", "6.4")),
        (VersionRange(None, "5.2"), ("5.2", "5.2.3", "4.5"), ("5.3", "10.0")),
        (VersionRange("7.9", None, "7.11"), ("7.9.0", "7.10.0"), ("7.2.4", "7.11.0", "7.14.0")),
        (VersionRange(), ("1.0", "99.0"), ()),
    ],
)
def test_ranges(span: VersionRange, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    assert all(span.holds(v) for v in inside)
    assert not any(span.holds(v) for v in outside)


@pytest.mark.parametrize(
    ("digits", "release"), [("60203", "6.2.3"), ("50203", "5.2.3"), ("30100200", "30.10.2"), ("315000", "31.50.0"), ("7", None)]
)
def test_release_from_digits(digits: str, release: str | None) -> None:
    assert release_from_digits(digits) == release


@pytest.mark.parametrize(
    ("module", "release"),
    [
        ("6.14.14-2222715.24.04", "30.10.2"),
        ("1:6.10.5.60303-2119913.22.04", "6.3.3"),
        ("1:6.14.14.30100200-2222715.22.04", "30.10.2"),
        ("6.12.12.60402-2187269.el8", "6.4.2"),
        ("7.1.3.31500000", "31.50.0"),
        ("6.8.5", "6.2"),
        ("6.16.13", "30.30"),
        ("6.16.6", "30.20"),
        ("6.16.13-9999999", "30.30"),
        ("6.8.0", None),
        ("6.2", None),
        ("", None),
        ("(builtin)", None),
    ],
)
def test_release_of_module(matrix: Matrix, module: str, release: str | None) -> None:
    assert release_of_module(matrix.driver_releases, module) == release


def test_small_forms() -> None:
    assert [cpython_tag(p) for p in ("3.12", "3.9.18", "cp313t")] == ["cp312", "cp39", "cp313t"]
    assert [override_value(g) for g in ("gfx90a", "gfx1036", "gfx942")] == ["9.0.10", "10.3.6", "9.4.2"]
    local = split_local("2.9.1+rocm7.2.0.lw.git7e1940d4")
    assert local is not None and local.rocm == "7.2.0" and local.is_amd_build
    assert split_local("cpu") is None and split_local("") is None
