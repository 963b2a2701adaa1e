"""Results by check: what consumers want that know one state for each check, where a check may have several findings."""

from __future__ import annotations

from rocmdoctor.results import Report, Result, Status

WORST = (Status.FAIL, Status.ERROR, Status.WARN, Status.PASS, Status.SKIP)
"""The status of a check is the first of these among its results."""


def by_check(report: Report) -> dict[str, list[Result]]:
    """Check id -> its results, worst first, in the order of the report."""
    checks: dict[str, list[Result]] = {}
    for result in report.results:
        checks.setdefault(result.id, []).append(result)
    for results in checks.values():
        results.sort(key=lambda r: WORST.index(r.status))
    return checks
