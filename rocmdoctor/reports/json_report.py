"""The report as JSON, schema version 1: docs/report.schema.json. The same report always gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

from rocmdoctor.reports.printable import inert_json
from rocmdoctor.results import Fix, Report, Result, Status

SCHEMA_VERSION = 1


def render(report: Report) -> str:
    """One JSON object in ASCII (what a terminal might act upon stays escaped), with a final line end.

    A result is a line of its own: `grep` finds whole ones, and json's fast encoder, which does not indent, writes it.
    """
    lines = [
        f' "{name}": {_results(value) if name == "results" else json.dumps(value)}' for name, value in document(report).items()
    ]
    return inert_json("{\n" + ",\n".join(lines) + "\n}\n")


def _results(rows: list[Any]) -> str:
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]" if rows else "[]"


def document(report: Report) -> dict[str, Any]:
    """The report as plain dicts and lists, in the order of the schema. Run times are left out: they differ each time."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "rocmdoctor", "version": report.tool_version, "matrix_date": report.matrix_date},
        "host": report.host,
        "results": [_result(r) for r in report.results],
        "summary": {
            "verdict": report.verdict,
            **{status.value: report.count(status) for status in Status},
            "root_causes": list(report.root_causes),
        },
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "id": result.id,
        "area": result.area,
        "status": result.status.value,
        "severity": result.severity,
        "title": result.title,
        "detail": result.detail,
        "evidence": [{"source": e.source, "value": e.value} for e in result.evidence],
        "fixes": [_fix(f) for f in result.fixes],
        "docs": list(result.docs),
        "because_of": result.because_of,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "commands": [list(c) for c in fix.commands],
        "needs": list(fix.needs),
        "automatic": fix.automatic,
        "verify": list(fix.verify),
    }
