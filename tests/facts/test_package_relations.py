from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.package_relations import Relation, relations
from rocmdoctor.facts.packages import PackageDb, parse_dpkg_status


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("rocm-core", [["rocm-core"]]),
        ("a (>= 1) | b, c (= 1.0.0.60200-66~22.04)", [["a (>= 1)", "b"], ["c (= 1.0.0.60200-66~22.04)"]]),
        ("python3:any (>=3.10)", [["python3 (>= 3.10)"]]),
        ("libc6 (>= 2.34) [amd64], x [!i386] <!nocheck>", [["libc6 (>= 2.34)"], ["x"]]),
        ("libstdc++6 (>> 1:11~)", [["libstdc++6 (>> 1:11~)"]]),
        (" , ,a,", [["a"]]),
        ("a\n (<< 2)", [["a (<< 2)"]]),
    ],
)
def test_relations(text: str, expected: list[list[str]]) -> None:
    assert [[str(r) for r in group] for group in relations(text)] == expected


@given(st.text(alphabet="ab1 (),|<>=:.[]~\n", max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    for group in relations(text):
        assert group and all(isinstance(r, Relation) and r.name for r in group)


def db(*stanzas: str) -> PackageDb:
    return PackageDb("dpkg", parse_dpkg_status("\n\n".join(stanzas)))


def package(name: str, version: str = "1.0", state: str = "installed", **fields: str) -> str:
    lines = [f"Package: {name}", f"Status: install ok {state}", "Architecture: amd64", f"Version: {version}"]
    return "\n".join([*lines, *(f"{key.replace('_', '-')}: {value}" for key, value in fields.items())])


def test_a_sound_host_has_nothing_unmet() -> None:
    assert db(package("a", Depends="b (>= 1)"), package("b")).unmet() == ()


def test_dependencies_of_sound_packages_are_not_asked_for() -> None:
    assert db(package("a", Depends="missing")).unmet() == ()


def test_a_package_that_is_not_there() -> None:
    (unmet,) = db(package("hipcub4.2.0", state="unpacked", Depends="rocprim4.2.0 (>= 2.10.9)")).unmet()
    assert (unmet.package.name, str(unmet), unmet.found, unmet.waits) == ("hipcub4.2.0", "rocprim4.2.0 (>= 2.10.9)", None, False)


def test_the_distributions_rocminfo_in_the_place_of_amds() -> None:
    (unmet,) = db(
        package("rocm-hip-runtime", state="unpacked", Depends="rocminfo (= 1.0.0.60200-66~24.04), rocm-core"),
        package("rocminfo", "5.7.1-3build1"),
        package("rocm-core"),
    ).unmet()
    assert unmet.found is not None and unmet.found.version == "5.7.1-3build1"
    assert not unmet.waits


def test_a_package_that_waits_for_another_broken_one() -> None:
    found = db(
        package("rocm-dkms", state="unpacked", Depends="rock-dkms, rocm-dev"),
        package("rock-dkms", state="half-configured"),
        package("rocm-dev"),
    ).unmet()
    assert [(str(u), u.waits) for u in found] == [("rock-dkms", True)]


@pytest.mark.parametrize(
    ("wanted", "provides", "met"),
    [
        ("mail", "mail", True),
        ("mail", "other, mail (= 2)", True),
        ("mail (>= 2)", "mail", False),
        ("mail (>= 2)", "mail (= 2.1)", True),
        ("mail (>= 3)", "mail (= 2.1)", False),
    ],
)
def test_provided_packages(wanted: str, provides: str, met: bool) -> None:
    assert bool(db(package("a", state="unpacked", Depends=wanted), package("b", Provides=provides)).unmet()) is not met


def test_pre_depends_and_alternatives_and_epochs() -> None:
    broken = package("a", state="half-installed", Pre_Depends="x | y", Depends="z (>= 1:1)")
    assert db(broken, package("y"), package("z", "1:1.0")).unmet() == ()
    assert [str(u) for u in db(broken, package("z", "3.0")).unmet()] == ["x | y", "z (>= 1:1)"]


def test_removed_packages_fulfil_nothing() -> None:
    found = db(package("a", state="unpacked", Depends="b"), "Package: b\nStatus: deinstall ok config-files\nVersion: 1").unmet()
    assert [str(u) for u in found] == ["b"]
