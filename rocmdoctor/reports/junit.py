"""The report as JUnit XML, for CI servers: a test suite for each area, a test case for each check.

JUnit has no standard; the shape is the one that the Jenkins xUnit plug-in publishes as junit-10.xsd, which Maven Surefire, pytest
and GitLab's reader follow too. A warning is no failure there: the case passes, its text is system-out, and the suite has a
property `warning:ID`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocmdoctor.reports import plain
from rocmdoctor.reports.by_check import by_check
from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report, Result, Status

ELEMENTS = {Status.FAIL: "failure", Status.ERROR: "error", Status.SKIP: "skipped"}


def render(report: Report) -> str:
    """One XML 1.0 document with a final line end, in ASCII: character references stand for the rest.

    Characters that XML 1.0 forbids (controls, surrogates, U+FFFE) become visible escapes such as \\x1b.
    """
    areas: dict[str, list[list[Result]]] = {}
    for results in by_check(report).values():
        areas.setdefault(results[0].area, []).append(results)
    cases = [case for suite in areas.values() for case in suite]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites{_attributes({'name': 'rocmdoctor', **_counts(cases, skipped=False)})}>",
        *(line for area, suite in areas.items() for line in _suite(area, suite)),
        "</testsuites>",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _counts(cases: Sequence[Sequence[Result]], *, skipped: bool) -> dict[str, str]:
    statuses = [case[0].status for case in cases]
    counts = {
        "tests": str(len(cases)),
        "failures": str(statuses.count(Status.FAIL)),
        "errors": str(statuses.count(Status.ERROR)),
    }
    if skipped:  # the schema knows it for a suite only
        counts["skipped"] = str(statuses.count(Status.SKIP))
    return {**counts, "time": f"{sum(_seconds(case) for case in cases):.3f}"}


def _seconds(case: Sequence[Result]) -> float:
    """Findings of one check share its run time."""
    return max(0.0, *(r.seconds for r in case))


def _suite(area: str, suite: Sequence[Sequence[Result]]) -> Iterator[str]:
    yield f"  <testsuite{_attributes({'name': area, **_counts(suite, skipped=True)})}>"
    warnings = [(f"warning:{r.id}", r.title) for case in suite for r in case if r.status is Status.WARN]
    if warnings:
        yield "    <properties>"
        yield from (f"      <property{_attributes({'name': name, 'value': value})}/>" for name, value in warnings)
        yield "    </properties>"
    for case in suite:
        yield from _case(area, case)
    yield "  </testsuite>"


def _case(area: str, case: Sequence[Result]) -> Iterator[str]:
    """Every finding of one check; the worst decides whether it failed."""
    head = {"classname": f"rocmdoctor.{area}", "name": case[0].id, "time": f"{_seconds(case):.3f}"}
    worst = case[0].status
    decisive = [r for r in case if r.status is worst and worst in ELEMENTS]
    warnings = [r for r in case if r.status is Status.WARN]
    if not decisive and not warnings:
        yield f"    <testcase{_attributes(head)}/>"
        return
    yield f"    <testcase{_attributes(head)}>"
    if decisive:
        name = ELEMENTS[worst]
        if worst is Status.SKIP:
            yield f"      <{name}{_attributes({'message': decisive[0].detail})}/>"
        else:
            more = f" (and {len(decisive) - 1} more)" if len(decisive) > 1 else ""
            message = {"type": case[0].id, "message": f"{decisive[0].title}{more}"}
            yield f"      <{name}{_attributes(message)}>{_text(decisive)}</{name}>"
    if warnings:
        yield f"      <system-out>{_text(warnings)}</system-out>"
    yield "    </testcase>"


def _text(results: Sequence[Result]) -> str:
    return "\n\n".join("\n".join(map(_escape, plain.lines(r))) for r in results)


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {name}="{_escape(printable(value))}"' for name, value in values.items())


def _escape(text: str) -> str:
    """`text` must be printable: then it holds nothing that XML 1.0 forbids."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
