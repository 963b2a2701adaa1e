"""The report as a Nagios plug-in says it: one line with performance data, and an exit code.

Source: Monitoring Plugins Development Guidelines. Icinga, Naemon, Checkmk and Zabbix understand the same.
"""

from __future__ import annotations

from rocmdoctor.reports import monitors
from rocmdoctor.reports.monitors import State
from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report, Status

CODES = {State.OK: 0, State.WARNING: 1, State.CRITICAL: 2, State.UNKNOWN: 3}
UNKNOWN = CODES[State.UNKNOWN]
MOST = 900
"""Bytes of the line at most: NRPE 2 carries 1024, with the end of the line and what a server adds."""


def exit_code(report: Report) -> int:
    """0 nothing failed, 1 warnings, 2 something failed, 3 unknown (a check broke, or nothing could be judged)."""
    return CODES[monitors.state(report)]


def render(report: Report) -> str:
    """ "ROCM CRITICAL - what is wrong | fail=1;;0 ..." with a final line end, at most 900 bytes."""
    state = monitors.state(report)
    thresholds = {Status.FAIL: ";;0", Status.WARN: ";0;"}
    data = " ".join(f"{s.value}={report.count(s)}{thresholds.get(s, ';;')};0" for s in Status)
    said = f"ROCM {state.name} - {monitors.headline(report)}"
    causes = report.root_causes
    if causes:
        said += f" [{', '.join(causes)}]"
    return _line(said, f" | {data}")


def unknown(reason: str) -> str:
    """The line for a run that came to no report; its exit code is UNKNOWN."""
    return _line(f"ROCM UNKNOWN - {reason}", "")


def _line(said: str, data: str) -> str:
    """A bar begins the performance data, so host text may hold none. The text is cut, the data never."""
    text = printable(said, MOST).replace("|", "/").encode("utf-8")[: MOST - len(data)]
    return f"{text.decode('utf-8', 'ignore')}{data}\n"
