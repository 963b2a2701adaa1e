"""The report as text: what a person reads in ten seconds. Root causes first, each with what to run; the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocmdoctor.reports.host_lines import host_rows
from rocmdoctor.reports.printable import LIMIT, command_lines, printable, style, wrap
from rocmdoctor.results import UNKNOWN, Evidence, Fix, Report, Result, Status

MIN_WIDTH = 40
EVIDENCE = 4
"""Pieces of evidence of a failure without -v."""
REASONS = 2
"""Reasons for unknown facts that the line of skipped checks names."""
MARGIN = " " * 6
LABELS = {Status.FAIL: "FAIL", Status.WARN: "WARN", Status.ERROR: "ERROR", Status.PASS: "ok", Status.SKIP: "skip"}
COUNTED = (
    (Status.FAIL, "problem", "problems"),
    (Status.WARN, "warning", "warnings"),
    (Status.ERROR, "check broke", "checks broke"),
    (Status.PASS, "check passed", "checks passed"),
)
VERDICTS = {"broken": ("Broken", "fail"), "degraded": ("Works, with warnings", "warn"), "healthy": ("Healthy", "pass")}
AFTERWARDS = {"relogin": "log out and in again", "reboot": "reboot"}


def render(
    report: Report,
    *,
    verbose: bool = False,
    quiet: bool = False,
    warnings: bool = False,
    color: bool = False,
    width: int = 80,
    as_root: bool = False,
) -> str:
    """`report` for a terminal of `width` columns (40 at least), with a final line end; "" when `quiet` and nothing failed.

    `quiet`: only what failed, with `warnings` also what was warned of. `verbose`: also what passed, every skip with its reason,
    all evidence and links.
    `as_root`: the reader is root, so commands need no sudo. Commands are never cut; they may be wider.
    """
    page = _Page(report, verbose, color, max(width, MIN_WIDTH), as_root)
    return "".join(f"{line}\n" for line in (page.quiet(warnings) if quiet else page.full()))


def finding_lines(
    result: Result, report: Report, *, color: bool = False, width: int = 80, as_root: bool = False
) -> Iterator[str]:
    """One finding of `report` as it stands in the text form: title, detail, evidence, and what to run."""
    return _Page(report, False, color, max(width, MIN_WIDTH), as_root).finding(result)


class _Page:
    def __init__(self, report: Report, verbose: bool, color: bool, width: int, as_root: bool) -> None:
        self.report = report
        self.verbose = verbose
        self.color = color
        self.width = width
        self.as_root = as_root

    def having(self, status: Status) -> list[Result]:
        return [r for r in self.report.results if r.status is status]

    # the whole -----------------------------------------------------------------------------------------------

    def quiet(self, warnings: bool) -> Iterator[str]:
        told = self.having(Status.FAIL) + self.having(Status.ERROR) + (self.having(Status.WARN) if warnings else [])
        for i, result in enumerate(told):
            if i:
                yield ""
            yield from self.finding(result)

    def full(self) -> Iterator[str]:
        if self.verbose:
            said = f"rocmdoctor {self.report.tool_version}, compatibility matrix of {self.report.matrix_date}"
            yield from (style(line, "faint", self.color) for line in wrap(printable(said), self.width))
        yield from self.host()
        yield from self.verdict()
        for result in self.having(Status.FAIL) + self.having(Status.ERROR) + self.having(Status.WARN):
            yield ""
            yield from self.finding(result)
        notes = [line for notice in self.report.notices for line in wrap(f"Note: {printable(notice)}", self.width)]
        for part in (self.passed() if self.verbose else [], self.all_skips() if self.verbose else self.skips(), notes):
            lines = list(part)
            if lines and (self.verbose or self.report.verdict != "healthy"):
                yield ""
            yield from lines

    def host(self) -> Iterator[str]:
        for label, text in host_rows(self.report.host):
            lines = wrap(text, self.width, " " * 9, f"{label:<9}") or [label]
            yield style(lines[0][:9], "faint", self.color) + lines[0][9:]
            yield from lines[1:]

    def verdict(self) -> Iterator[str]:
        """One sentence for the whole host."""
        report = self.report
        said, judged = self.counts(), report.count(Status.PASS) + report.count(Status.WARN)
        doubt = report.unjudged
        if report.verdict == "no-amd-gpu" and not report.presence_unknown:
            word, name = "No AMD GPU was found", "warn"
            said = said if judged or report.count(Status.FAIL) else "nothing could be judged"
        elif report.count(Status.ERROR) and not report.count(Status.FAIL):
            word, name = "Not judged in full", "error"
        elif doubt:
            word, name = "Not judged in full" if judged else "Nothing could be judged", "warn"
            said = printable(doubt) + (f"; {said}" if judged else "")
        else:
            word, name = VERDICTS[report.verdict]
        lines = wrap(f"{word}: {said}.", self.width)
        yield style(lines[0][: len(word)], name, self.color) + lines[0][len(word) :]
        yield from lines[1:]

    def counts(self) -> str:
        said = [
            f"{n} {one if n == 1 else many}"
            for status, one, many in COUNTED
            if (n := self.report.count(status)) or (status is Status.PASS)
        ]
        if self.report.verdict == "healthy" and not self.verbose and (unknown := len(self.unknown())):
            said.append(f"{unknown} not judged (-v says why)")
        return ", ".join(said)

    def unknown(self) -> list[Result]:
        return [r for r in self.having(Status.SKIP) if not r.because_of and r.detail.startswith(UNKNOWN)]

    # one result ----------------------------------------------------------------------------------------------

    def finding(self, result: Result) -> Iterator[str]:
        """Title, why, evidence, what to run. A warning is shorter: no evidence and no links without -v."""
        label = LABELS[result.status]
        lines = wrap(f"{printable(result.title)} [{printable(result.id)}]", self.width, MARGIN, f"{label:<6}")
        yield style(lines[0][: len(label)], result.status.value, self.color) + style(lines[0][len(label) :], "strong", self.color)
        yield from (style(line, "strong", self.color) for line in lines[1:])
        yield from wrap(printable(result.detail), self.width, MARGIN)
        if result.status is Status.FAIL or self.verbose:
            yield from self.evidence(result.evidence)
        yield from self.fixes(result.fixes, result.status is Status.FAIL or self.verbose)
        if self.verbose:
            for link in result.docs:
                yield f"{MARGIN}See {printable(link)}"

    def evidence(self, seen: Sequence[Evidence]) -> Iterator[str]:
        """One item of the report for each piece of evidence; without -v the first few. A line end in it came from the host, and
        is an escape: what it begins may look like a line of ours, or like a command to a CI server."""
        most = len(seen) if self.verbose else EVIDENCE
        for item in seen[:most]:
            text = printable(f"{item.source}: {item.value.strip()}", LIMIT if self.verbose else 240)
            yield from wrap(text, self.width, MARGIN + "  ", MARGIN + "- ")
        if len(seen) > most:
            yield f"{MARGIN}  and {len(seen) - most} more (-v)"

    def fixes(self, fixes: Sequence[Fix], full: bool) -> Iterator[str]:
        """The ways out; with `full` each says how to see that it worked, unless the next one says the same."""
        for i, fix in enumerate(fixes):
            verify = full and (i + 1 == len(fixes) or fixes[i + 1].verify != fix.verify)
            yield from self.fix(fix, "Or: " if i else "Fix: ", fix.verify if verify else ())

    def fix(self, fix: Fix, before: str, verify: Sequence[str]) -> Iterator[str]:
        """What to run, what must follow, and how to see that it worked."""
        after = " and ".join(words for need, words in AFTERWARDS.items() if need in fix.needs)
        title = before + printable(fix.title).rstrip(".:")
        yield from wrap(title + (":" if fix.commands else "."), self.width, MARGIN)
        for argv in fix.commands:
            yield from self.command(argv, "root" in fix.needs and not self.as_root)
        if verify:
            yield from wrap(f"Then {after}, and verify:" if after else "Verify:", self.width, MARGIN)
            yield from self.command(verify, False)
        elif after:
            yield from wrap(f"Then {after}.", self.width, MARGIN)

    def command(self, argv: Sequence[str], sudo: bool) -> Iterator[str]:
        for line in command_lines(argv, self.width, MARGIN + "    ", sudo=sudo):
            yield style(line, "command", self.color)

    # the folded rest -----------------------------------------------------------------------------------------

    def passed(self) -> Iterator[str]:
        for result in self.having(Status.PASS):
            lines = wrap(f"{printable(result.title)} [{printable(result.id)}]", self.width, MARGIN, f"{LABELS[result.status]:<6}")
            yield style(lines[0][:2], "pass", self.color) + lines[0][2:]
            yield from lines[1:]

    def all_skips(self) -> Iterator[str]:
        for result in self.having(Status.SKIP):
            yield from wrap(
                f"{printable(result.id)}: {printable(result.detail)}", self.width, MARGIN, f"{LABELS[result.status]:<6}"
            )

    def skips(self) -> Iterator[str]:
        """The checks that could not be judged, in one sentence. Those that do not apply to this host go without saying."""
        if self.report.verdict in ("no-amd-gpu", "healthy"):
            return
        causes: dict[str, int] = {}
        for result in self.having(Status.SKIP):
            if result.because_of:
                causes[result.because_of] = causes.get(result.because_of, 0) + 1
        unknown = self.unknown()
        reasons = list(dict.fromkeys(printable(r.detail[len(UNKNOWN) :], 100).rstrip(".") for r in unknown))
        parts = [(n, f"because of {printable(cause)}") for cause, n in causes.items()]
        if unknown:
            more = ["..."] if len(reasons) > REASONS else []
            parts.append((len(unknown), f"as unknown ({'; '.join([*reasons[:REASONS], *more])})"))
        if parts:
            total = sum(n for n, _ in parts)
            many = f"{total} {'check' if total == 1 else 'checks'} skipped"
            said = ": " + ", ".join(f"{n} {why}" for n, why in parts) if len(parts) > 1 else f" {parts[0][1]}"
            yield from wrap(f"{many}{said}.", self.width)
