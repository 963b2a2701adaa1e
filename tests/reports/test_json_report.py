"""The JSON report against its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rocmdoctor.reports import json_report
from rocmdoctor.results import Evidence, Report, Result, Status
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, report

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs/report.schema.json").read_text())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("one", [HEALTHY, BROKEN, NO_GPU, report()], ids=["healthy", "broken", "no-gpu", "empty"])
def test_reports_fit_the_schema(one: Report) -> None:
    jsonschema.validate(json.loads(json_report.render(one)), SCHEMA)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("summary"),
        lambda d: d.update(extra=1),
        lambda d: d["results"][0].update(status="bad"),
        lambda d: d["results"][0].pop("because_of"),
        lambda d: d["host"]["gpus"][0].update(kfd_node="1"),
    ],
)
def test_the_schema_refuses(damage: Any) -> None:
    document = json.loads(json_report.render(BROKEN))
    damage(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_a_result_is_written_as_the_contract_shows() -> None:
    document = json.loads(json_report.render(BROKEN))
    assert document["tool"] == {"name": "rocmdoctor", "version": "0.1.0", "matrix_date": "2026-11-30"}
    assert document["summary"] == {
        "verdict": "broken",
        "pass": 1,
        "warn": 1,
        "fail": 1,
        "skip": 4,
        "error": 0,
        "root_causes": ["permissions.kfd-access"],
    }
    assert document["results"][1] == {
        "id": "permissions.kfd-access",
        "area": "permissions",
        "status": "fail",
        "severity": "error",
        "title": "user1 cannot open /dev/kfd",
        "detail": KFD_ACCESS.detail,
        "evidence": [
            {"source": "/dev/kfd", "value": "mode 0660 root:render, open: EACCES"},
            {"source": "groups of user1", "value": "user1 (1000), sudo (27)"},
        ],
        "fixes": [
            {
                "title": "Add user1 to the render and video groups",
                "commands": [["usermod", "-a", "-G", "render,video", "user1"]],
                "needs": ["root", "relogin"],
                "automatic": True,
                "verify": ["rocmdoctor", "check", "--only", "permissions.*"],
            }
        ],
        "docs": list(KFD_ACCESS.docs),
        "because_of": None,
    }
    assert document["results"][3]["because_of"] == "permissions.kfd-access"


def test_the_same_report_gives_the_same_bytes() -> None:
    slow = Result("a.b", "a", Status.PASS, "t", seconds=1.5)
    fast = Result("a.b", "a", Status.PASS, "t", seconds=0.1)
    assert json_report.render(report(slow)) == json_report.render(report(fast))


def test_the_output_is_ascii_and_escapes_controls() -> None:
    evil = Result("a.b", "a", Status.WARN, "\x1b[31m\u202e\udcff", evidence=(Evidence("\x9b", "\n"),))
    written = json_report.render(report(evil))
    assert written.isascii() and all(line.isprintable() for line in written.splitlines())
    assert json.loads(written)["results"][0]["title"] == "\x1b[31m\u202e\udcff"
