"""The formats of `check` by their names; each one's module is loaded when it is asked for."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.results import Report

MONITORS = ("nagios", "npd")
"""Formats that are protocols: they have exit codes of their own, and standard error is not for them."""
SAYS_NOTICES = ("sarif", "markdown")
"""Formats that have a place for the notices of a report."""


def render(name: str, report: Report, host: Host, now: float) -> str:
    """`report` in the format `name`, any but text. `host`: whose names Markdown leaves out; `now`: seconds since the epoch."""
    if name == "json":
        from rocmdoctor.reports import json_report

        return json_report.render(report)
    if name == "junit":
        from rocmdoctor.reports import junit

        return junit.render(report)
    if name == "sarif":
        from rocmdoctor import engine
        from rocmdoctor.reports import sarif

        return sarif.render(report, engine.all_checks())
    if name == "prometheus":
        from rocmdoctor.reports import prometheus

        return prometheus.render(report, now)
    if name == "markdown":
        from rocmdoctor.host.known_names import redactor_of
        from rocmdoctor.reports import markdown

        return markdown.render(report, redactor_of(host))
    rendered: str = monitor(name).render(report)
    return rendered


def monitor(name: str) -> ModuleType:
    """The module of one of MONITORS, with `render`, `exit_code`, `unknown` and `UNKNOWN`."""
    from rocmdoctor.reports import nagios, npd

    return {"nagios": nagios, "npd": npd}[name]
