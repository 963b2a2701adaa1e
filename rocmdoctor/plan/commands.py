"""`rocmdoctor install | undo | verify | fix | uninstall`: the commands that may change this machine.

Exit status: 0 done, nothing to do, or a dry run that could be applied; 1 refused or failed; 2 wrong usage (also: no terminal and
no --yes); 3 a bug. Data and previews go to standard output, progress and questions to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rocmdoctor.host.target import ChangeFailed, Machine
from rocmdoctor.terminal import colors, complain, emit, width

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.plan.apply import Outcome, Watcher
    from rocmdoctor.plan.draft import Options
    from rocmdoctor.plan.locking import Lock
    from rocmdoctor.plan.step import Plan
    from rocmdoctor.results import Report

OK, FAILED, USAGE = 0, 1, 2
COMMANDS: dict[str, Callable[..., int]] = {}
"""By name; the command line builds the one that is asked for."""


def command(function: Callable[..., int]) -> Callable[..., int]:
    COMMANDS[function.__name__] = function
    return function


Form = Literal["text", "json"]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")]
FormOption = Annotated[Form, typer.Option("--format", help="Form of the output.")]
MatrixOption = Annotated[str | None, typer.Option("--matrix", metavar="FILE", help="Use this compatibility matrix.")]
ColorOption = Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")]


@command
def install(
    rocm: Annotated[
        str | None, typer.Option(metavar="VERSION", help="6.2 (the newest 6.2.x), 6.2.0, latest; else the best supported.")
    ] = None,
    packages: Annotated[str, typer.Option(metavar="NAMES", help="AMD's packages, with commas.")] = "rocm",
    driver: Annotated[Literal["auto", "inbox", "dkms", "none"], typer.Option(help="The kernel driver.")] = "auto",
    pytorch: Annotated[str | None, typer.Option(metavar="VERSION|none", help="PyTorch; by default the newest that fits.")] = None,
    venv: Annotated[str | None, typer.Option(metavar="DIR", help="Python environment for PyTorch; made if need be.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Install PyTorch into this interpreter.")] = None,
    user: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Who shall use the GPUs (repeatable).")] = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="Take every download from here, paths unchanged.")] = None,
    ca: Annotated[str | None, typer.Option(metavar="FILE", help="Certificate authority of the mirror (PEM).")] = None,
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="Beside other releases.")] = False,
    allow_unsupported: Annotated[bool, typer.Option("--allow-unsupported", help="Also what AMD does not support.")] = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
    write_lock: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write down the exact packages and wheels, with hashes.")
    ] = None,
    lock: Annotated[str | None, typer.Option(metavar="FILE", help="Install exactly what FILE names, or nothing.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that was cut off or failed.")] = False,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="With --dry-run: plan for a recorded host.")] = None,
    matrix: MatrixOption = None,
    format: Annotated[Literal["text", "json", "script"], typer.Option("--format", help="Form of the output.")] = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show also what is done already.")] = False,
    no_color: ColorOption = False,
) -> int:
    """Install ROCm, the driver where it is needed, and PyTorch; show the plan first."""
    if resume:
        return _resume(format, no_color)
    if snapshot is not None and not (dry_run or format == "script"):
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import install as building
    from rocmdoctor.plan.draft import Options

    names = tuple(name.strip() for name in packages.split(",") if name.strip())
    users = tuple(name.strip() for value in user or () for name in value.split(",") if name.strip())
    options = Options(
        rocm, names, driver, pytorch, venv, python, users, mirror, ca, side_by_side, allow_unsupported
    )  # the order of the fields
    if lock is not None and (rocm or pytorch or driver != "auto" or packages != "rocm"):
        raise typer.BadParameter("--lock says which releases: it excludes --rocm, --driver, --packages and --pytorch")
    wanted = _lock(lock) if lock is not None else None
    host, data = _host(snapshot), load_matrix(matrix)
    facts = Facts(host, data)
    plan = _built(lambda: _fitted(building.build(facts, data, _asked(options, wanted)), wanted, facts))
    if plan is None:
        return FAILED
    if format == "script":
        return _script(plan, data)
    code = _carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=verbose)
    if code == OK and write_lock is not None and not dry_run:
        return _write_lock(write_lock, plan, data)
    return code


@command
def uninstall(
    rocm: Annotated[str | None, typer.Option(metavar="VERSION", help="Only this release.")] = None,
    keep_driver: Annotated[bool, typer.Option("--keep-driver", help="Leave amdgpu-dkms installed.")] = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="With --dry-run: plan for a recorded host.")] = None,
    matrix: MatrixOption = None,
    format: Annotated[Literal["text", "json", "script"], typer.Option("--format", help="Form of the output.")] = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show also what is done already.")] = False,
    no_color: ColorOption = False,
) -> int:
    """Remove AMD's ROCm and driver packages, their repositories, pins and keys."""
    if snapshot is not None and not (dry_run or format == "script"):
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import uninstall as building

    host, data = _host(snapshot), load_matrix(matrix)
    plan = _built(lambda: building.build(Facts(host, data), data, rocm, keep_driver=keep_driver))
    if plan is None:
        return FAILED
    if format == "script":
        return _script(plan, data)
    return _carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=verbose)


@command
def fix(
    checks: Annotated[list[str] | None, typer.Argument(metavar="[CHECK-ID]...", help="Only these checks or areas.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge and fix the access of this user.")] = None,
    yes: YesOption = False,
    dry_run: DryOption = False,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="With --dry-run: plan for a recorded host.")] = None,
    matrix: MatrixOption = None,
    format: FormOption = "text",
    no_color: ColorOption = False,
) -> int:
    """Do what findings offer as automatic remedies, then check again."""
    if snapshot is not None and not dry_run:
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import fix as building

    data = load_matrix(matrix)
    host = _host(snapshot, user or (os.environ.get("SUDO_USER") if snapshot is None and os.geteuid() == 0 else None))
    report = _examined(host, data, checks or ())
    plan, ids = building.build(report.results, host)
    code = _carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=False)
    if dry_run or code != OK or not ids:
        return code
    again = _examined(_host(None, host.user.name if host.user.uid else None), data, ids)
    left = [result for result in again.results if result.status.value == "fail"]
    for result in left:
        waits = " (log in again first)" if any("relogin" in f.needs for f in result.fixes) else ""
        complain(f"still fails: {result.id}: {result.title}{waits}")
    return OK


@command
def undo(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run to take back; else the newest.")] = None,
    list_runs: Annotated[bool, typer.Option("--list", help="Name the runs.")] = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
    format: FormOption = "text",
    no_color: ColorOption = False,
) -> int:
    """Take back what a run did, and nothing else."""
    from rocmdoctor.plan import journal
    from rocmdoctor.plan import undo as undoing
    from rocmdoctor.reports import plan_runs

    target = Machine()
    try:
        if list_runs:
            emit(plan_runs.listing(journal.runs(target), format))
            return OK
        entry = undoing.wanted(run, target)
        if dry_run or format == "text":
            emit(plan_runs.taking_back(entry, format))
        if dry_run:
            return OK
        if (refused := _may_change(yes)) is not None:
            return refused
        outcome = undoing.undo(entry.id, target, _watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    emit(plan_runs.taken_back(outcome, format))
    return OK if outcome.status == "done" else FAILED


@command
def verify(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run to verify; else the newest.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    matrix: MatrixOption = None,
    format: FormOption = "text",
) -> int:
    """Whether the last installation holds: the reboot that it needed, its steps, and what still fails."""
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import verify as verifying
    from rocmdoctor.reports import plan_runs

    target, data = Machine(), load_matrix(matrix)
    try:
        found = verifying.verify(run, target)
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    report = _examined(_host(None, user or os.environ.get("SUDO_USER")), data, ())
    emit(plan_runs.verified(found, report, format, width()))
    return OK if found.holds and not report.root_causes else FAILED


# lock files ------------------------------------------------------------------------------------------------------


def _lock(path: str) -> Lock:
    from rocmdoctor.plan import locking

    try:
        with open(path, encoding="utf-8") as file:
            return locking.read(file.read(16 << 20))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"--lock {path}: {error}") from None


def _asked(options: Options, wanted: Lock | None) -> Options:
    from rocmdoctor.plan import locking

    return options if wanted is None else locking.options(wanted, options)


def _fitted(plan: Plan, wanted: Lock | None, facts: Facts) -> Plan:
    from rocmdoctor.plan import locking

    return plan if wanted is None else locking.locked(plan, wanted, facts)


def _write_lock(path: str, plan: Plan, data: Matrix) -> int:
    from rocmdoctor.facts import Facts
    from rocmdoctor.plan import locking, rehearsal

    target = Machine()
    try:
        text = locking.write(plan, Facts(target.look(), data), target, rehearsal.LOG)
        target.write(os.path.abspath(path), text.encode())
    except ChangeFailed as error:
        complain(f"no lock was written: {error}")
        return FAILED
    complain(f"wrote {path}")
    return OK


# what they share -------------------------------------------------------------------------------------------------


def _host(snapshot: str | None, user: str | None = None) -> Host:
    if snapshot is not None:
        from rocmdoctor.host.recorded import open_snapshot

        return open_snapshot(snapshot, user)
    from rocmdoctor.host.live import LiveHost

    return LiveHost("/", user=user)


def _examined(host: Host, data: Matrix, only: tuple[str, ...] | list[str]) -> Report:
    from rocmdoctor.examination import examine

    return examine(host, data, only=only)


def _built(building: Callable[[], Plan]) -> Plan | None:
    """The plan; None when the host does not tell enough for one, which is said."""
    from rocmdoctor.host import UnknownFact

    try:
        plan = building()
    except UnknownFact as unknown:
        complain(f"no plan can be made: {unknown}")
        return None
    return plan


def _script(plan: Plan, data: Matrix) -> int:
    if plan.refusals:
        for refusal in plan.refusals:
            complain(f"refused: {refusal.reason}" + (f" ({refusal.help})" if refusal.help else ""))
        return FAILED
    from rocmdoctor.reports import plan_script

    emit(plan_script.render(plan, data.date))
    return OK


def _carry_out(
    plan: Plan, host: Host, data: Matrix, *, yes: bool, dry_run: bool, format: str, no_color: bool, verbose: bool
) -> int:
    from dataclasses import replace

    from rocmdoctor.plan import apply as applying
    from rocmdoctor.plan import rehearsal
    from rocmdoctor.plan.step import Refusal
    from rocmdoctor.reports import plan_json, plan_text

    json_wanted = format == "json"
    if not json_wanted:
        emit(plan_text.render(plan, host, width=width(), color=colors(no_color), verbose=verbose))
    if plan.refusals or dry_run or plan_json.status(plan) == "nothing-to-do":
        if json_wanted:
            emit(plan_json.render(plan, host, data.date, None if plan.refusals or dry_run else _unchanged(plan)))
        return FAILED if plan.refusals else OK
    if (refused := _may_change(yes)) is not None:
        return refused
    target = Machine()
    try:
        applying.settled(target)
        if reasons := _busy(plan, target):
            plan = replace(plan, refusals=tuple(Refusal("busy", reason, "wait until it has ended") for reason in reasons))
            for reason in reasons:
                complain(f"refused: {reason}; wait until it has ended, nothing was changed")
            if json_wanted:
                emit(plan_json.render(plan, host, data.date))
            return FAILED
        if found := rehearsal.rehearse(plan, target, rehearsal.LOG):
            plan = replace(plan, refusals=found)
            for refusal in found:
                complain(f"refused: {refusal.reason}" + (f" ({refusal.help})" if refusal.help else ""))
            if target.state(rehearsal.LOG) is not None:
                complain(f"what the package manager said is in {rehearsal.LOG}")
            if json_wanted:
                emit(plan_json.render(plan, host, data.date))
            return FAILED
        planned = plan_json.document(plan, host, data.date) if json_wanted else {}  # with the files as they are before
        outcome = applying.apply(plan, target, _watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    emit(plan_json.applied(planned, outcome) if json_wanted else plan_text.outcome(outcome))
    return _status(outcome)


def _unchanged(plan: Plan) -> Outcome:
    from rocmdoctor.plan.apply import Outcome

    return Outcome("unchanged", None, (), reboot=any(s.kind == "reboot-notice" for s in plan.open_steps))


def _resume(format: str, no_color: bool) -> int:
    from rocmdoctor.plan import apply as applying
    from rocmdoctor.reports import plan_text

    if os.geteuid() != 0:
        complain("resuming a run changes the system: run it as root")
        return FAILED
    try:
        outcome = applying.resume(None, Machine(), _watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    if format == "json":
        from rocmdoctor.reports import plan_runs

        emit(plan_runs.taken_back(outcome, "json"))
    else:
        emit(plan_text.outcome(outcome))
    return _status(outcome)


def _status(outcome: Outcome) -> int:
    if outcome.status == "interrupted":
        return 130
    return OK if outcome.status in ("done", "unchanged") else FAILED


def _may_change(yes: bool) -> int | None:
    """None when it may go on, else the exit status: only root changes the system, and only when somebody said yes."""
    if os.geteuid() != 0:
        complain("this changes the system: run it as root (sudo), or add --dry-run to see it only")
        return FAILED
    if yes:
        return None
    if not sys.stdin.isatty():
        complain("there is no terminal to ask at: --yes says that it may be done")
        return USAGE
    sys.stderr.write("Do this? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    complain("nothing was changed")
    return FAILED


def _busy(plan: Plan, target: Machine) -> list[str]:
    from rocmdoctor.plan import refusals

    managers = {getattr(step, "manager", "") for step in plan.open_steps} - {""}
    return [reason for manager in sorted(managers) for reason in refusals.busy(target, manager)]


def _watcher(no_color: bool) -> Watcher:
    from rocmdoctor.plan import progress

    return progress.watcher(no_color)
