"""The report as a custom plug-in of the Kubernetes node problem detector says it: one short line and an exit code.

The detector cuts the line after `max_output_length` bytes, 80 by default, and compares it with the last one: the same state must
be the same line. Its exit codes are 0 (fine), 1 (problem) and 2 (unknown); it does not know warnings.
"""

from __future__ import annotations

from rocmdoctor.reports import monitors
from rocmdoctor.reports.monitors import State
from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report

CODES = {State.OK: 0, State.WARNING: 0, State.CRITICAL: 1, State.UNKNOWN: 2}
UNKNOWN = CODES[State.UNKNOWN]
MOST = 79
"""Characters (ASCII, so bytes) before the line end."""


def exit_code(report: Report) -> int:
    """0 nothing failed (warnings allowed), 1 something failed, 2 unknown (a check broke, or nothing could be judged)."""
    return CODES[monitors.state(report)]


def render(report: Report) -> str:
    """What is wrong, in at most 80 bytes with the line end."""
    state = monitors.state(report)
    if CODES[state] == 0:
        return _line("ROCm works" if state is State.OK else f"ROCm works, with a warning: {monitors.headline(report)}")
    return _line(monitors.headline(report))


def unknown(reason: str) -> str:
    """The line for a run that came to no report; its exit code is UNKNOWN."""
    return _line(reason)


def _line(said: str) -> str:
    text = printable(said).encode("ascii", "replace").decode("ascii")
    return f"{text if len(text) <= MOST else text[: MOST - 3] + '...'}\n"
