"""What an error text means on a host, as JSON: one object. The same diagnosis always gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rocmdoctor.diagnosis import Diagnosis, Match
from rocmdoctor.reports.json_report import document
from rocmdoctor.reports.printable import inert_json
from rocmdoctor.results import Result

SCHEMA_VERSION = 1


def render(diagnosis: Diagnosis) -> str:
    """`cause` is the id of the candidate that failed first; `results` are those of a report (docs/report.schema.json)."""
    report = document(diagnosis.report)
    answer = {
        "schema_version": SCHEMA_VERSION,
        "tool": report["tool"],
        "host": report["host"],
        "recognised": _matches(diagnosis.matches),
        "cause": diagnosis.cause.id if diagnosis.cause else None,
        "confirmed": _ids(diagnosis.confirmed),
        "ruled_out": _ids(diagnosis.ruled_out),
        "not_applicable": _ids(diagnosis.not_applicable),
        "unknown": _ids(diagnosis.unknown),
        "results": report["results"],
    }
    return inert_json(json.dumps(answer, indent=2)) + "\n"


def render_unrecognised() -> str:
    """The answer to a text that is not known."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "recognised": [], "cause": None}, indent=2) + "\n"


def _ids(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(r.id for r in results))


def _matches(matches: Sequence[Match]) -> list[dict[str, object]]:
    return [
        {
            "id": m.error.id,
            "title": m.error.title,
            "excerpt": m.excerpt,
            "meaning": m.error.meaning,
            "candidates": list(m.error.candidates),
            "otherwise": m.error.otherwise,
        }
        for m in matches
    ]
