"""Numbers in attribute files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import sysfs
from tests.facts.small_host import small_host


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16\n", 16),
        ("0", 0),
        ("-1\n", None),
        ("", None),
        (None, None),
        ("1_000", None),
        ("²", None),
        ("٣", None),
        ("1" * 21, None),
    ],
)
def test_number(text: str | None, value: int | None) -> None:
    assert sysfs.number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("0x1002\n", 0x1002), ("744C", 0x744C), ("0x", None), ("", None), (None, None), ("0xzz", None), ("f" * 17, None)],
)
def test_hexadecimal(text: str | None, value: int | None) -> None:
    assert sysfs.hexadecimal(text) == value


def test_attribute() -> None:
    host = small_host({"/sys/x": "amdgpu\n\0\0"})
    assert sysfs.attribute(host, "/sys/x") == "amdgpu"
    assert sysfs.attribute(host, "/sys/y") is None


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    number = sysfs.number(text)
    assert number is None or 0 <= number < 10**20
    sysfs.hexadecimal(text)
    assert all(v >= 0 for v in sysfs.properties(text).values())
