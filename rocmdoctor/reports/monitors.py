"""What a monitoring system is to be told about a report: its state, and one sentence."""

from __future__ import annotations

from enum import Enum

from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report, Result, Status


class State(Enum):
    """What a monitor can know of a host. A check that broke leaves it unknown, unless something failed for certain."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


def state(report: Report) -> State:
    """Failure before doubt, doubt before warning. Where nothing was judged, or no GPU could be looked for, nothing is known."""
    if report.count(Status.FAIL):
        return State.CRITICAL
    if report.count(Status.ERROR) or report.unjudged:
        return State.UNKNOWN
    return State.WARNING if report.count(Status.WARN) else State.OK


def headline(report: Report) -> str:
    """The first finding of the worst kind, and how many more there are; what is judged where there is none."""
    doubt = report.presence_unknown
    for status in (Status.FAIL, Status.ERROR, Status.WARN):
        found = [r for r in report.results if r.status is status]
        if status is Status.WARN and doubt:
            break
        if found:
            more = f" (+{len(found) - 1})" if len(found) > 1 else ""
            return f"{_said(found[0])}{more}"
    if doubt:
        return f"it is unknown whether there is an AMD GPU: {doubt}"
    passed = report.count(Status.PASS)
    return f"{passed} check{'' if passed == 1 else 's'} passed" if passed else "nothing was judged"


def _said(result: Result) -> str:
    return f"check {result.id} broke" if result.status is Status.ERROR else printable(result.title).strip() or result.id
