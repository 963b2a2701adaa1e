"""The report as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code scanning and its viewers.

Failures and warnings are results. A check that broke is a notification of the run, as the standard has it, and so are notices and
facts that were unknown. A remedy is text: SARIF's `fixes` are edits of files, which no remedy here is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rocmdoctor.fingerprint import fingerprint
from rocmdoctor.reports import plain
from rocmdoctor.reports.fences import code_span, fence
from rocmdoctor.reports.printable import command_line, inert_json, printable
from rocmdoctor.results import UNKNOWN, Evidence, Fix, Report, Result, Status

if TYPE_CHECKING:
    from rocmdoctor.engine import Check

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
HOST = "HOST"
"""Base of the artifacts' addresses: the root folder of the judged host, which need not be this one."""
LEVELS = {Status.FAIL: "error", Status.WARN: "warning"}
NOTIFICATIONS = {
    "check-broke": "A check broke or ran out of time; the others went on.",
    "fact-unknown": "A check could not be judged, because a fact is unknown.",
    "notice": "What a reader must know of the judgement itself.",
}


def render(report: Report, checks: Sequence[Check] = ()) -> str:
    """One JSON object in ASCII with a final line end. `checks` describe the rules; a result of none of them describes its own."""
    rules = _rules(report, checks)
    number = {rule["id"]: i for i, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "rocmdoctor",
                "version": report.tool_version,
                "rules": rules,
                "notifications": [{"id": id, "shortDescription": {"text": text}} for id, text in NOTIFICATIONS.items()],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not report.count(Status.ERROR),
                "toolExecutionNotifications": list(_notifications(report, number)),
            }
        ],
        "originalUriBaseIds": {HOST: {"uri": "file:///", "description": {"text": "The root folder of the judged host."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(r, number[r.id]) for r in report.results if r.status in LEVELS],
        "properties": {
            "verdict": report.verdict,
            "rootCauses": list(report.root_causes),
            "matrixDate": report.matrix_date,
            **{status.value: report.count(status) for status in Status},
        },
    }
    return inert_json(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [_clean(run)]}, indent=2)) + "\n"


# rules -----------------------------------------------------------------------------------------------------------


def _rules(report: Report, checks: Sequence[Check]) -> list[dict[str, Any]]:
    """A rule for each check, and for each result that belongs to none (a plug-in that could not be loaded)."""
    rules = {c.id: _rule(c) for c in checks}
    for result in report.results:
        rules.setdefault(result.id, {"id": result.id, "shortDescription": _text(result.title), **_help(result.docs)})
    return list(rules.values())


def _rule(check: Check) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": check.id, "shortDescription": _text(check.title)}
    if check.why:
        rule["fullDescription"] = _text(" ".join(check.why.split()))
    return {**rule, **_help(check.docs), "properties": {"tags": [check.area]}}


def _help(docs: Sequence[str]) -> dict[str, Any]:
    link = next((d for d in docs if d.startswith("https://") and d.isascii() and not set(d) & set(' "<>\\^`{|}\n\r\t')), None)
    return {"helpUri": link} if link else {}


# results ---------------------------------------------------------------------------------------------------------


def _result(result: Result, rule: int) -> dict[str, Any]:
    return {
        "ruleId": result.id,
        "ruleIndex": rule,
        "kind": "fail",
        "level": LEVELS[result.status],
        "message": {"text": _message(result), "markdown": _braces("\n".join(_markdown(result)))},
        "locations": [_location(e) for e in result.evidence] or [{"logicalLocations": [_logical(result.area)]}],
        "partialFingerprints": {"rocmdoctorFinding/v1": fingerprint(result)},
        "properties": {"area": result.area, "fixes": [_remedy(f) for f in result.fixes], "docs": list(result.docs)},
    }


def _message(result: Result) -> str:
    """A plain text message: its first sentence is the summary, and it has no indentation (SARIF 3.11.3)."""
    title, *rest = (line.strip() for line in plain.lines(result))
    return _literal("\n".join([f"{title}." if title[-1:].isalnum() else title or "-", *rest]))


def _location(evidence: Evidence) -> dict[str, Any]:
    """A path of the host is an artifact; any other source (a command, a variable) is a logical location."""
    place: dict[str, Any] = {"message": _text(printable(evidence.value.strip()))}
    address = _address(evidence.source)
    if address is None:
        return {**place, "logicalLocations": [_logical(evidence.source)]}
    return {**place, "physicalLocation": {"artifactLocation": {"uri": address, "uriBaseId": HOST}}}


def _logical(name: str) -> dict[str, Any]:
    return {"fullyQualifiedName": printable(name), "kind": "resource"}


def _address(source: str) -> str | None:
    """An absolute path as a relative reference (RFC 3986), or None for what is no plain path."""
    parts = [p for p in source.split("/") if p]
    if not source.startswith("/") or not parts or not {"..", "."}.isdisjoint(parts) or len(source) > 4096:
        return None
    if any(c.isspace() for c in source) or not source.isprintable():
        return None
    from urllib.parse import quote

    return quote("/".join(parts))


def _remedy(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "commands": [command_line(c) for c in fix.commands],
        "needs": list(fix.needs),
        "automatic": fix.automatic,
        "verify": command_line(fix.verify) if fix.verify else None,
    }


def _markdown(result: Result) -> Iterator[str]:
    """The finding with all that came from the host inside of code, where no markup acts."""
    yield code_span(result.title)
    yield ""
    body = [*([printable(result.detail)] if result.detail else []), *plain.evidence(result)]
    if body:
        yield from fence(body, "text")
    for fix in result.fixes:
        yield from fence(list(plain.remedy(fix)), "text")


# notifications ---------------------------------------------------------------------------------------------------


def _notifications(report: Report, number: dict[str, int]) -> Iterator[dict[str, Any]]:
    for result in report.results:
        rule = {"associatedRule": {"id": result.id, "index": number[result.id]}}
        if result.status is Status.ERROR:
            yield _notification("check-broke", "error", f"{result.title}: {result.detail}", rule)
        elif result.status is Status.SKIP and result.detail.startswith(UNKNOWN):
            yield _notification("fact-unknown", "note", result.detail, rule)
    for notice in report.notices:
        yield _notification("notice", "note", notice, {})


def _notification(kind: str, level: str, text: str, rule: dict[str, Any]) -> dict[str, Any]:
    descriptor = {"id": kind, "index": list(NOTIFICATIONS).index(kind)}
    return {"descriptor": descriptor, "level": level, "message": _text(text), **rule}


# texts -----------------------------------------------------------------------------------------------------------


def _text(text: str) -> dict[str, str]:
    return {"text": _literal("\n".join(map(printable, text.split("\n"))) or "-")}


def _literal(text: str) -> str:
    """`text` without links: "[text](target)" is one in a plain text message too (SARIF 3.11.6)."""
    return _braces(text.replace("](", "] ("))


def _braces(text: str) -> str:
    """Braces are doubled, since {0} stands for an argument (SARIF 3.11.5)."""
    return text.replace("{", "{{").replace("}", "}}")


def _clean(value: Any) -> Any:
    """`value` without what strict readers of JSON refuse or viewers act upon: controls and lone surrogates become escapes."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n")))
    if isinstance(value, dict):
        return {printable(k): _clean(v) for k, v in value.items()}
    return [_clean(v) for v in value] if isinstance(value, list) else value
