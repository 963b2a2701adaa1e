"""The report as a block of Markdown to paste into a bug report: what a maintainer asks for first, without names and addresses.

All that came from the host stands in code spans or code blocks, where GitHub and GitLab act on nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.reports import plain
from rocmdoctor.reports.fences import code_span, fence
from rocmdoctor.reports.host_lines import host_rows
from rocmdoctor.reports.printable import command_lines, printable
from rocmdoctor.reports.text import AFTERWARDS, COUNTED, LABELS, VERDICTS
from rocmdoctor.results import UNKNOWN, Evidence, Fix, Report, Result, Status

if TYPE_CHECKING:
    from rocmdoctor.host.redaction import Redactor

WIDTH = 120
"""Columns of a command before it is broken, which still pastes."""
READ = 1 << 16
"""Characters of one piece of host text that are looked at; what is shown of it is less."""


def render(report: Report, redactor: Redactor | None = None) -> str:
    """`report` in GitHub's Markdown, with a final line end. Every text that came from the host passes through `redactor`.

    Without one, what identifies people and machines by its form is replaced (addresses, serial numbers, names of home folders);
    only a redactor that knows the host can replace the names of users and of the machine where they stand alone.
    """
    if redactor is None:
        from rocmdoctor.host.redaction import Redactor

        redactor = Redactor()
    return "".join(f"{line}\n" for line in _Page(report, redactor).lines())


class _Page:
    def __init__(self, report: Report, redactor: Redactor) -> None:
        self.report = report
        self.redactor = redactor

    def safe(self, text: str) -> str:
        return self.redactor.text(text[:READ])

    def lines(self) -> Iterator[str]:
        report = self.report
        dated = f"compatibility matrix of {_word(report.matrix_date)}"
        yield f"**rocmdoctor {_word(report.tool_version)}**, {dated}: {self.verdict()}"
        yield ""
        yield "| | |"
        yield "| --- | --- |"
        for label, text in host_rows(report.host):
            # Four numbers are a version here. A bar ends the cell even inside of code, whatever stands before it.
            safe = self.redactor.text(text, addresses=False).replace("|", "/")
            yield f"| {label} | {code_span(safe)} |"
        for status in (Status.FAIL, Status.ERROR, Status.WARN):
            for result in report.results:
                if result.status is status:
                    yield from self.finding(result)
        yield from self.skipped()
        if report.notices:
            yield ""
            yield from (f"- {code_span(self.safe(notice))}" for notice in report.notices)

    def verdict(self) -> str:
        report = self.report
        word = "No AMD GPU" if report.verdict == "no-amd-gpu" else VERDICTS[report.verdict][0]
        counts = [
            f"{n} {one if n == 1 else many}"
            for status, one, many in COUNTED
            if (n := report.count(status)) or status is Status.PASS
        ]
        return f"**{word}** ({', '.join(counts)})"

    # one result ----------------------------------------------------------------------------------------------

    def finding(self, result: Result) -> Iterator[str]:
        """What is wrong and why, what was seen, and what rocmdoctor would run."""
        yield ""
        yield f"### {LABELS[result.status]}: {code_span(self.safe(result.title))}"
        yield ""
        body = [printable(self.safe(result.detail))] if result.detail else []
        seen = [Evidence(self.safe(e.source), self.safe(e.value)) for e in result.evidence]
        body += plain.evidence(Result(result.id, result.area, result.status, "", evidence=tuple(seen)))
        yield f"Check {code_span(result.id)}"
        if body:
            yield ""
            yield from fence(body, "text")
        for fix in result.fixes:
            yield from self.fix(fix)

    def fix(self, fix: Fix) -> Iterator[str]:
        after = " and ".join(words for need, words in AFTERWARDS.items() if need in fix.needs)
        yield ""
        yield f"Suggested: {code_span(self.safe(fix.title))}{f', then {after}' if after else ''}"
        lines = [line for argv in fix.commands for line in self.command(argv, "root" in fix.needs)]
        if lines:
            yield ""
            yield from fence(lines, "sh")

    def command(self, argv: tuple[str, ...], sudo: bool) -> list[str]:
        return command_lines([self.safe(word) for word in argv], WIDTH, "", sudo=sudo)

    # the rest ------------------------------------------------------------------------------------------------

    def skipped(self) -> Iterator[str]:
        """How many checks could not be judged, by cause and reason. Those that do not apply to this host go without saying."""
        skips = [r for r in self.report.results if r.status is Status.SKIP]
        causes: dict[str, int] = {}
        for result in skips:
            if result.because_of:
                causes[result.because_of] = causes.get(result.because_of, 0) + 1
        unknown = [(r.id, r.detail[len(UNKNOWN) :]) for r in skips if not r.because_of and r.detail.startswith(UNKNOWN)]
        if not causes and not unknown:
            return
        yield ""
        yield f"Not judged: {sum(causes.values()) + len(unknown)}"
        yield ""
        yield from (f"- {n} because of {code_span(cause)}" for cause, n in causes.items())
        yield from (f"- {code_span(id)}: {code_span(self.safe(reason))}" for id, reason in unknown)


def _word(text: str) -> str:
    """Our own version or date, which a foreign matrix file may have set: in code unless it is plain."""
    return text if text and set(text) <= set("0123456789.-abcdefghijklmnopqrstuvwxyz+") else code_span(text)
