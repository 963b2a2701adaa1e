"""`rocmdoctor check`: judge this host, or a recorded one."""

# Annotations are not postponed: typer would compile each of them at every start.

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rocmdoctor.commands.asked import (
    BROKEN,
    FAILED,
    OK,
    ColorOption,
    MatrixOption,
    WrongUsage,
    asked_host,
    asked_python,
    patterns,
    reader_is_root,
)
from rocmdoctor.terminal import colors, complain, emit, width

if TYPE_CHECKING:
    from rocmdoctor.results import Report

CheckFormat = Literal["text", "json", "junit", "sarif", "prometheus", "nagios", "npd", "markdown"]


def check(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Judge a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Judge the system installed under DIR.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only these checks or areas (repeatable, commas).")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Not these checks or areas (repeatable, commas).")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Also run programs: torch, hipcc (up to some minutes).")] = False,
    profile: Annotated[
        Literal["node", "workstation", "container", "wsl", "ci"] | None, typer.Option(help="Judge as this kind of host.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="[fail|warn|unknown]",
            help="What gives exit status 1: failures, also warnings, also that nothing could be judged (commas).",
        ),
    ] = "fail",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    rocm: Annotated[str | None, typer.Option(metavar="VERSION", help="Judge against this release of ROCm.")] = None,
    expect_gpus: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1024, help="Fail where fewer GPUs than this can be used.")
    ] = None,
    matrix: MatrixOption = None,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Do not count the findings accepted in FILE.")] = None,
    write_baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Add the findings to FILE, to be accepted.")] = None,
    format: Annotated[CheckFormat, typer.Option("--format", help="Form of the output.")] = "text",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what gives exit status 1.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say also what passed and why checks were skipped.")] = False,
    no_color: ColorOption = False,
) -> int:
    """Examine this host, or a recorded one. Changes nothing."""
    if rocm is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,2}", rocm):
        raise WrongUsage(f"--rocm {rocm}: a release has two or three numbers, such as 6.2 or 6.2.4")
    if quiet and verbose:
        raise WrongUsage("-q and -v exclude each other")
    failing = [word.strip() for word in fail_on.split(",")]
    if wrong := [word for word in failing if word not in ("fail", "warn", "unknown")]:
        raise WrongUsage(f"--fail-on {wrong[0]}: it is fail, warn or unknown, or several of them with commas")
    host = asked_host(snapshot, root, user)
    from rocmdoctor.examination import examine
    from rocmdoctor.matrix import load_matrix

    report = examine(
        host,
        load_matrix(matrix),
        only=patterns("--only", only),
        skip=patterns("--skip", skip),
        deep=deep,
        profile=profile,
        python=asked_python(python, snapshot, root),
        rocm=rocm,
        expect_gpus=expect_gpus,
    )
    if baseline is not None or write_baseline is not None:
        report = _accepted(report, baseline, write_baseline)
    if root not in (None, "/") and any(r.fixes for r in report.results):
        where = f"Remedies are for the system in {root}: run them inside of it (chroot), and check again with --root {root}."
        report = report._replace(notices=(*report.notices, where))
    if format != "text":
        from rocmdoctor.reports import formats

        emit(formats.render(format, report, host, time.time()))
        if format in formats.MONITORS:
            return int(formats.monitor(format).exit_code(report))
        for notice in () if quiet or format in formats.SAYS_NOTICES else report.notices:
            complain(f"note: {notice}")
    else:
        from rocmdoctor.reports import text

        page = text.render(
            report,
            verbose=verbose,
            quiet=quiet,
            warnings="warn" in failing,
            color=colors(no_color),
            width=width(),
            as_root=reader_is_root(host, snapshot),
        )
        emit(page)
        if quiet and not page and _status(report, failing, profile) == FAILED:
            complain(f"nothing could be judged: {report.unjudged}")
    return _status(report, failing, profile)


def _accepted(report: "Report", accepted: str | None, extend: str | None) -> "Report":
    """The report without what the baseline `accepted` accepts; what is left is added to the baseline `extend`."""
    import datetime

    from rocmdoctor import baseline

    today = datetime.date.today()
    if accepted is not None:
        report = baseline.apply(report, baseline.load(accepted), today)
    if extend is not None:
        added = baseline.write(extend, report, today)
        said = f"added {added} finding{'' if added == 1 else 's'} to {extend}"
        complain(f"{said}; give each a reason there, without one it goes on counting" if added else said)
    return report


def _status(report: "Report", failing: Sequence[str], profile: str | None) -> int:
    from rocmdoctor.results import Status

    if report.count(Status.ERROR):
        return BROKEN
    if report.count(Status.FAIL) or ("warn" in failing and report.count(Status.WARN)):
        return FAILED
    if "unknown" not in failing or not report.unjudged:
        return OK
    # A builder of images needs no GPU: there, what is installed was judged, or nothing was.
    return OK if profile == "ci" and report.count(Status.PASS) + report.count(Status.WARN) else FAILED
