from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.package_versions import debian_compare, debian_key, debian_satisfies, rpm_compare, rpmvercmp

debian_upstream = st.text(alphabet="0019azA.~+", max_size=6).map(lambda tail: "1" + tail)
debian_version = st.builds(
    lambda epoch, upstream, revision: epoch + upstream + revision,
    st.sampled_from(["", "", "0:", "1:", "02:"]),
    debian_upstream,
    st.just("") | st.text(alphabet="0019azA.~+", min_size=1, max_size=4).map(lambda r: "-" + r),
)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1.0", "1.0", 0),
        ("1.0", "1.1", -1),
        ("1.10", "1.9", 1),
        ("1.0~rc1", "1.0", -1),
        ("1.0~~", "1.0~", -1),
        ("1.0", "1.0a", -1),
        ("1.0+b1", "1.0a", 1),
        ("1:0.5", "2.0", 1),
        ("0:1.0", "1.0", 0),
        ("1.0-1", "1.0-1ubuntu1", -1),
        ("1.0-0", "1.0", 0),
        ("1.000", "1.0", 0),
        # Ubuntu universe's packages against AMD's, without a pin (legacy-rocm-build #6367)
        ("5.7.1-3build1", "1.0.0.60200-66~24.04", 1),
        ("6.0.0-1", "0.14.0.70204-92~24.04", 1),
        ("1.0.0.60200-66~22.04", "1.0.0.60200-66~24.04", -1),
        ("1:6.8.5.60200-2009582", "1:6.10.5.60300-2084815", -1),
    ],
)
def test_debian_order(left: str, right: str, order: int) -> None:
    assert debian_compare(left, right) == order
    assert debian_compare(right, left) == -order


@given(debian_version, debian_version)
def test_debian_order_is_python_debians(left: str, right: str) -> None:
    support = pytest.importorskip("debian.debian_support")
    expected = support.version_compare(left, right)
    assert debian_compare(left, right) == (expected > 0) - (expected < 0)


def test_debian_order_is_dpkgs() -> None:
    if not shutil.which("dpkg"):
        pytest.skip("dpkg is not installed")
    for left, right in (("1.0~rc1-1", "1.0-1"), ("1:0", "9"), ("2.0-1~24.04", "2.0-1"), ("1.0.0.60200-66", "5.7.1-3build1")):
        less = subprocess.run(["dpkg", "--compare-versions", left, "lt", right], check=False).returncode == 0
        assert (debian_compare(left, right) < 0) is less


@given(st.text(max_size=30), st.text(max_size=30))
def test_debian_order_of_any_text(a: str, b: str) -> None:
    assert debian_compare(a, b) == -debian_compare(b, a)
    assert debian_compare(a, a) == 0
    assert (debian_key(a) == debian_key(b)) is (debian_compare(a, b) == 0)


def test_numbers_of_any_length() -> None:
    assert debian_compare("1." + "9" * 10_000, "1." + "9" * 9_999) == 1
    assert rpmvercmp("9" * 10_000, "9" * 9_999) == 1


@pytest.mark.parametrize(
    ("operator", "wanted", "holds"),
    [
        ("=", "1.0-1", True),
        (">=", "1.0-1", True),
        (">>", "1.0-1", False),
        ("<<", "1.0-1", False),
        ("<=", "1.1", True),
        (">>", "0.9", True),
        ("<", "1.0-1", True),
        (">", "1.0-1", True),
        ("~", "1.0-1", False),
    ],
)
def test_relations(operator: str, wanted: str, holds: bool) -> None:
    assert debian_satisfies("1.0-1", operator, wanted) is holds


# rpm's own table (tests/rpmvercmp.at)
RPM_TABLE = """
1.0 1.0 0 | 1.0 2.0 -1 | 2.0 1.0 1 | 2.0.1 2.0.1 0 | 2.0 2.0.1 -1 | 2.0.1 2.0 1 | 2.0.1a 2.0.1a 0 | 2.0.1a 2.0.1 1
2.0.1 2.0.1a -1 | 5.5p1 5.5p1 0 | 5.5p1 5.5p2 -1 | 5.5p2 5.5p1 1 | 5.5p10 5.5p10 0 | 5.5p1 5.5p10 -1 | 5.5p10 5.5p1 1
10xyz 10.1xyz -1 | 10.1xyz 10xyz 1 | xyz10 xyz10 0 | xyz10 xyz10.1 -1 | xyz10.1 xyz10 1 | xyz.4 xyz.4 0 | xyz.4 8 -1
8 xyz.4 1 | xyz.4 2 -1 | 2 xyz.4 1 | 5.5p2 5.6p1 -1 | 5.6p1 5.5p2 1 | 5.6p1 6.5p1 -1 | 6.5p1 5.6p1 1 | 6.0.rc1 6.0 1
6.0 6.0.rc1 -1 | 10b2 10a1 1 | 10a2 10b2 -1 | 1.0aa 1.0aa 0 | 1.0a 1.0aa -1 | 1.0aa 1.0a 1 | 10.0001 10.0001 0
10.0001 10.1 0 | 10.1 10.0001 0 | 10.0001 10.0039 -1 | 10.0039 10.0001 1 | 4.999.9 5.0 -1 | 5.0 4.999.9 1
20101121 20101121 0 | 20101121 20101122 -1 | 20101122 20101121 1 | 2_0 2_0 0 | 2.0 2_0 0 | 2_0 2.0 0 | a a 0 | a+ a+ 0
a+ a_ 0 | a_ a+ 0 | +a +a 0 | +a _a 0 | +_ +_ 0 | _+ +_ 0 | + _ 0 | _ + 0 | 1.0~rc1 1.0~rc1 0 | 1.0~rc1 1.0 -1
1.0 1.0~rc1 1 | 1.0~rc1 1.0~rc2 -1 | 1.0~rc2 1.0~rc1 1 | 1.0~rc1~git123 1.0~rc1~git123 0 | 1.0~rc1~git123 1.0~rc1 -1
1.0~rc1 1.0~rc1~git123 1 | 1.0^ 1.0^ 0 | 1.0^ 1.0 1 | 1.0 1.0^ -1 | 1.0^git1 1.0^git1 0 | 1.0^git1 1.0 1 | 1.0 1.0^git1 -1
1.0^git1 1.0^git2 -1 | 1.0^git2 1.0^git1 1 | 1.0^git1 1.01 -1 | 1.01 1.0^git1 1 | 1.0^20160101 1.0^20160101 0
1.0^20160101 1.0.1 -1 | 1.0.1 1.0^20160101 1 | 1.0^20160101^git1 1.0^20160101^git1 0 | 1.0^20160102 1.0^20160101^git1 1
1.0^20160101^git1 1.0^20160102 -1 | 1.0~rc1^git1 1.0~rc1^git1 0 | 1.0~rc1^git1 1.0~rc1 1 | 1.0~rc1 1.0~rc1^git1 -1
1.0^git1~pre 1.0^git1~pre 0 | 1.0^git1 1.0^git1~pre 1 | 1.0^git1~pre 1.0^git1 -1 | 1b.fc17 1b.fc17 0 | 1b.fc17 1.fc17 -1
1.fc17 1b.fc17 1 | 1g.fc17 1g.fc17 0 | 1g.fc17 1.fc17 1 | 1.fc17 1g.fc17 -1
"""


@pytest.mark.parametrize("row", [row.split() for line in RPM_TABLE.strip().splitlines() for row in line.split(" | ")])
def test_rpm_order(row: list[str]) -> None:
    left, right, order = row
    assert rpmvercmp(left, right) == int(order)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1:1.0-1", "2.0-1", 1),
        ("0:1.0-1", "1.0-1", 0),
        ("5.14.0-427.13.1.el9_4", "5.14.0-570.12.1.el9_6", -1),
        ("6.2.0.60200-66.el9", "6.2.0.60200-139.el9", -1),
        ("1.0", "1.0-5", 0),
    ],
)
def test_rpm_labels(left: str, right: str, order: int) -> None:
    assert rpm_compare(left, right) == order
    assert rpm_compare(right, left) == -order


@given(st.text(max_size=30), st.text(max_size=30))
def test_rpm_order_of_any_text(a: str, b: str) -> None:
    assert rpmvercmp(a, b) == -rpmvercmp(b, a)
    assert rpm_compare(a, a) == 0
