"""Judging one check on a built host, for the tests of checks."""

from __future__ import annotations

from rocmdoctor.examination import examine
from rocmdoctor.matrix import load_matrix
from rocmdoctor.results import Result, Status
from tests.hostbuilder import HostBuilder

MATRIX = load_matrix()


def judge(builder: HostBuilder, id: str) -> tuple[Result, ...]:
    """The results of one check; what it comes after is judged as well, and reported when it failed."""
    return examine(builder.build(), MATRIX, only=[id], plugins=False).results


def status(builder: HostBuilder, id: str) -> str:
    """Status of the first result of the check itself."""
    return next(r.status.value for r in judge(builder, id) if r.id == id)


def warning(builder: HostBuilder, id: str) -> Result:
    """The one warning of the check."""
    (found,) = (r for r in judge(builder, id) if r.id == id and r.status is Status.WARN)
    return found


def fixes(result: Result) -> str:
    """Titles and commands of a result's remedies as one text."""
    return "\n".join(f"{fix.title}\n{fix.commands}" for fix in result.fixes)
