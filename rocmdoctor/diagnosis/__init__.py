"""From an error text to its cause on this host: texts that people paste are recognised, what could cause them is checked here.

A text alone names no cause: "no ROCm-capable device is detected" has a dozen. Each text lists the checks that could explain it;
these run on the host, and the likeliest that fails is the cause. What passes is ruled out, what cannot be told stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmdoctor import engine
from rocmdoctor.diagnosis.recognition import LIMIT, ErrorText, Match, recognise
from rocmdoctor.results import Report, Result, Status

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix

__all__ = ["LIMIT", "Diagnosis", "ErrorText", "Match", "candidates", "diagnose", "recognise"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`matches`: the texts that were recognised. `report`: the checks that could explain them, judged here, and the failures
    that stand before those."""

    matches: tuple[Match, ...]
    report: Report
    likeliest: tuple[str, ...] = ()
    """Ids of the candidates, the likeliest for the text first."""

    @property
    def confirmed(self) -> tuple[Result, ...]:
        """Failures before warnings, the likeliest first. A failure that is no candidate itself is one only where it hides the
        likeliest candidate that applies to this host: it then comes first."""
        place = {id: i for i, id in enumerate(self.likeliest, 1)}
        if hides := self._hides_likeliest:
            place[hides] = 0
        wrong = [r for r in self._wrong if r.id in place]
        return tuple(sorted(wrong, key=lambda r: (r.status is Status.WARN, place[r.id])))

    @property
    def beside(self) -> tuple[Result, ...]:
        """What is wrong on this host and does not explain the text: it was judged only because candidates come after it."""
        known = {*self.likeliest, self._hides_likeliest}
        return tuple(r for r in self._wrong if r.id not in known)

    @property
    def _wrong(self) -> tuple[Result, ...]:
        return tuple(r for r in self.report.results if r.status in (Status.FAIL, Status.WARN))

    @property
    def _hides_likeliest(self) -> str | None:
        """The failure because of which the likeliest candidate was not judged, None where that one was."""
        by_id = {r.id: r for r in self.report.results}
        shown = (by_id[id] for id in self.likeliest if id in by_id)
        first = next((r for r in shown if r.status is not Status.SKIP or _open(r)), None)
        return first.because_of if first else None

    @property
    def cause(self) -> Result | None:
        """The first of those that are confirmed. None when no candidate is."""
        return next(iter(self.confirmed), None)

    @property
    def ruled_out(self) -> tuple[Result, ...]:
        """Candidates that hold on this host."""
        return tuple(r for r in self.report.results if r.status is Status.PASS)

    @property
    def unknown(self) -> tuple[Result, ...]:
        """Candidates that could not be judged: a fact is unknown, a failure stands before them, or the check broke."""
        return tuple(r for r in self.report.results if _open(r))

    @property
    def not_applicable(self) -> tuple[Result, ...]:
        """Candidates with nothing to judge on this host: no such package, no such variable, another kind of place."""
        return tuple(r for r in self.report.results if r.status is Status.SKIP and not _open(r))


def _open(result: Result) -> bool:
    if result.status is Status.ERROR:
        return True
    return result.status is Status.SKIP and (result.because_of is not None or result.detail.startswith("unknown: "))


def candidates(matches: Sequence[Match], checks: Sequence[engine.Check]) -> tuple[str, ...]:
    """Ids of the checks that could explain the texts, the likeliest of the first text first. Deep ones wait to be asked for."""
    found: dict[str, None] = {}
    for match in matches:
        for pattern in match.error.candidates:
            area = pattern[:-1] if pattern.endswith("*") else None
            hits = [c.id for c in checks if not c.deep and (c.id == pattern or (area and c.id.startswith(area)))]
            found.update(dict.fromkeys(hits))
    return tuple(found)


def diagnose(
    host: Host, matrix: Matrix, matches: tuple[Match, ...], *, python: str | None = None, rocm: str | None = None
) -> Diagnosis:
    """Judge on `host` what could cause the recognised texts. Texts without candidates give an empty report."""
    from rocmdoctor.examination import examine

    ids = candidates(matches, engine.all_checks())
    report = examine(host, matrix, only=ids, python=python, rocm=rocm, plugins=False)
    return Diagnosis(matches, report if ids else _without_results(report), ids)


def _without_results(report: Report) -> Report:
    """`only` without a pattern means every check; a text that no check explains means none."""
    return Report(report.host, (), report.matrix_date, report.tool_version, report.notices)
