"""What an error text means on a host, for a terminal: the text, the cause with what to run, and what was ruled out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocmdoctor.diagnosis import Diagnosis
from rocmdoctor.reports.host_lines import host_rows
from rocmdoctor.reports.printable import printable, style, wrap
from rocmdoctor.reports.text import finding_lines
from rocmdoctor.results import Result, Status

INDENT = " " * 6
SHOWN = 6
"""Candidates of one kind that are named without -v."""

UNRECOGNISED = (
    "This text is not known. It may still have a cause on this host:",
    "    rocmdoctor check",
    "To report it, send the whole text, the command that gave it, and a recording of the host:",
    "    rocmdoctor snapshot -o host.tar.gz",
)
"""Answer to a text that is not known."""


def render(diagnosis: Diagnosis, *, verbose: bool = False, color: bool = False, width: int = 80, as_root: bool = False) -> str:
    """`diagnosis` within `width` columns (commands may be wider). `verbose`: all candidates, each with its reason."""
    return "".join(f"{line}\n" for line in _lines(diagnosis, verbose, color, max(width, 40), as_root))


def render_unrecognised(width: int = 80) -> str:
    lines = [part for line in UNRECOGNISED for part in ([line] if line.startswith(" ") else wrap(line, width))]
    return "".join(f"{line}\n" for line in lines)


def _lines(diagnosis: Diagnosis, verbose: bool, color: bool, width: int, as_root: bool) -> Iterator[str]:
    for match in diagnosis.matches:
        yield from (style(line, "strong", color) for line in wrap(printable(match.error.title, 100), width))
        yield from wrap(f'"{printable(match.excerpt, 240)}"', width, INDENT)
        yield from wrap(match.error.meaning, width, INDENT)
        yield ""
    for label, text in host_rows(diagnosis.report.host):
        yield from wrap(text, width, " " * 9, f"{label:<9}")
    yield ""
    yield from _verdict(diagnosis, color, width)
    for i, result in enumerate(diagnosis.confirmed):
        if i:
            yield ""
            yield from ["Wrong here as well:"] if i == 1 else []
        yield from finding_lines(result, diagnosis.report, color=color, width=width, as_root=as_root)
    yield from _rest(diagnosis, verbose, width)
    if diagnosis.beside:
        yield ""
        yield "Wrong here, and no cause of this text:"
        for result in diagnosis.beside:
            yield from finding_lines(result, diagnosis.report, color=color, width=width, as_root=as_root)
    if diagnosis.cause is None:
        for match in diagnosis.matches:
            if match.error.otherwise:
                yield ""
                yield from wrap(match.error.otherwise, width)


def _verdict(diagnosis: Diagnosis, color: bool, width: int) -> Iterator[str]:
    cause = diagnosis.cause
    if cause:
        yield style(
            "The cause on this host:" if cause.status is Status.FAIL else "The likely cause on this host:", "strong", color
        )
    elif not diagnosis.report.results:
        yield "There is nothing to check on a host for this text."
    elif diagnosis.unknown:
        yield from wrap("No cause was found among what this host tells; some of it could not be judged.", width)
    else:
        yield from wrap("None of the usual causes holds on this host.", width)


def _rest(diagnosis: Diagnosis, verbose: bool, width: int) -> Iterator[str]:
    """What is no cause, and what stays open, in a paragraph each; with `verbose` a line for each."""
    if verbose:
        if diagnosis.report.results:
            yield ""
        for word, results in (
            ("ruled out", diagnosis.ruled_out),
            ("not here", diagnosis.not_applicable),
            ("unknown", diagnosis.unknown),
        ):
            for result in results:
                reason = result.detail if word != "ruled out" else result.title
                yield from wrap(f"{printable(result.id)}: {printable(reason)}", width, " " * 11, f"{word:<11}")
        return
    if diagnosis.ruled_out:
        yield ""
        yield from wrap(f"Ruled out: {_some([printable(r.id) for r in diagnosis.ruled_out])}.", width)
    if diagnosis.unknown:
        yield ""
        yield from wrap(f"Open: {_some(_reasons(diagnosis.unknown))}.", width)


def _reasons(results: Sequence[Result]) -> list[str]:
    """Each open candidate with its reason; those that wait for one failure together."""
    waiting: dict[str, int] = {}
    for result in results:
        if result.because_of:
            waiting[result.because_of] = waiting.get(result.because_of, 0) + 1
    known = [f"{printable(r.id)} ({printable(r.detail, 100)})" for r in results if not r.because_of]
    return known + [f"{count} more, not judged because {printable(id)} failed" for id, count in waiting.items()]


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f", and {more} more (-v)" if more > 0 else "")
