"""JUnit XML against its schema (tests/data/junit.xsd), read by an XML parser of its own (libxml2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from lxml import etree

from rocmdoctor.reports import junit
from rocmdoctor.results import Report, Result, Status
from tests.reports.hostile_reports import NASTY, REPORTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, OVERRIDE, passed, report, skipped

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[1] / "data/junit.xsd"))


def parsed(one: Report) -> Any:
    """The root element of a rendering that fits the schema."""
    text = junit.render(one)
    root = etree.fromstring(text.encode("ascii"), etree.XMLParser(resolve_entities=False, no_network=True))
    SCHEMA.assertValid(root)
    assert root.getroottree().docinfo.internalDTD is None
    return root


@pytest.mark.parametrize("one", [HEALTHY, BROKEN, NO_GPU, report()], ids=["healthy", "broken", "no-gpu", "empty"])
def test_reports_fit_the_schema(one: Report) -> None:
    root = parsed(one)
    assert int(root.get("tests")) == len({r.id for r in one.results}) == len(root.findall(".//testcase"))
    assert [s.get("name") for s in root] == list(dict.fromkeys(r.area for r in one.results))


@pytest.mark.parametrize(
    "damage",
    [
        lambda r: r.set("tests", "many"),
        lambda r: r[0].attrib.pop("name"),
        lambda r: r[0][0].set("time", "1,000"),
        lambda r: r[0].append(etree.Element("failure")),
        lambda r: r.append(etree.fromstring(etree.tostring(r[0]))),
    ],
)
def test_the_schema_refuses(damage: Any) -> None:
    root = parsed(BROKEN)
    damage(root)
    assert not SCHEMA.validate(root)


def test_each_status() -> None:
    broke = Result("repo.suite", "repo", Status.ERROR, "Suites fit", "the check broke: KeyError", seconds=0.25)
    root = parsed(report(*BROKEN.results, broke))
    case = {c.get("name"): c for c in root.iter("testcase")}
    assert len(case["kfd_node.present"]) == 0
    (failure,) = case["permissions.kfd-access"]
    assert (failure.tag, failure.get("message")) == ("failure", "user1 cannot open /dev/kfd")
    assert "- /dev/kfd: mode 0660 root:render, open: EACCES" in failure.text
    assert "    sudo usermod -a -G render,video user1\nThen log out and in again, and verify:" in failure.text
    (said,) = case["hsa_override.global"]
    assert said.tag == "system-out" and said.text.startswith("HSA_OVERRIDE_GFX_VERSION is a left-over\n")
    (skip,) = case["rocminfo.gfx"]
    assert (skip.tag, skip.get("message")) == ("skipped", "not judged: permissions.kfd-access failed")
    (error,) = case["repo.suite"]
    assert error.tag == "error" and "KeyError" in error.text
    assert (root.get("failures"), root.get("errors"), root.get("time")) == ("1", "1", "0.250")
    (suite,) = [s for s in root if s.get("name") == "hsa_override"]
    (named,) = suite.iter("property")
    assert dict(named.attrib) == {"name": "warning:hsa_override.global", "value": "HSA_OVERRIDE_GFX_VERSION is a left-over"}


def test_findings_of_one_check_are_one_case() -> None:
    second = KFD_ACCESS._replace(title="user1 cannot open /dev/dri/renderD128", seconds=2.0)
    third = KFD_ACCESS._replace(status=Status.WARN, title="a warning beside it")
    root = parsed(report(third, KFD_ACCESS, second, OVERRIDE, passed("permissions.other", "t")))
    assert (root.get("tests"), root.get("failures"), root.get("time")) == ("3", "1", "2.000")
    failure, said = next(c for c in root.iter("testcase") if c.get("name") == KFD_ACCESS.id)
    assert failure.get("message") == "user1 cannot open /dev/kfd (and 1 more)"
    assert "renderD128" in failure.text and "a warning" not in failure.text
    assert said.text.startswith("a warning beside it")


@pytest.mark.parametrize("evil", NASTY)
def test_text_stays_text(evil: str) -> None:
    """Markup in a host text is text for the reader, and what XML forbids is a visible escape."""
    root = parsed(report(KFD_ACCESS._replace(title=f"a {evil} z"), skipped("c.d", evil)))
    (failure,) = root.iter("failure")
    assert failure.get("message").startswith("a ") and len(list(root.iter("testcase"))) == 2
    assert all(line.isprintable() for line in failure.text.split("\n"))
    if evil.startswith("]]>"):
        assert evil in failure.text
    if evil.startswith("\x1b"):
        assert "\\x1b[31mred" in failure.text


@given(REPORTS)
def test_any_report_fits_the_schema(one: Report) -> None:
    parsed(one)
