"""What the commands that may change this machine have in common: the question, the plan, the run.

Exit status: 0 done, nothing to do, or a dry run that could be applied; 1 refused or failed; 2 wrong usage (also: no terminal and
no --yes); 3 a bug. Data and previews go to standard output, progress and questions to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from rocmdoctor.commands.asked import FAILED, INTERRUPTED, OK, USAGE
from rocmdoctor.host.machine import Machine
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.terminal import colors, complain, emit, width

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.plan.apply import Outcome, Watcher
    from rocmdoctor.plan.step import Plan, Refusal
    from rocmdoctor.results import Report

YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")]


def this_machine() -> Machine:
    """This machine, to be changed."""
    return Machine()


def host_of(snapshot: str | None, user: str | None = None) -> Host:
    """The host that is planned for: this one, or a recorded one."""
    if snapshot is not None:
        from rocmdoctor.host.recorded import open_snapshot

        return open_snapshot(snapshot, user)
    from rocmdoctor.host.live import LiveHost

    return LiveHost("/", user=user)


def who_called() -> str | None:
    """Who used sudo; None where nobody did. Ansible and init systems may set the variable to nothing."""
    return os.environ.get("SUDO_USER") or None


def examined(host: Host, data: Matrix, only: tuple[str, ...] | list[str]) -> Report:
    """Its checks, for what a fix or an installation has brought."""
    from rocmdoctor.examination import examine

    return examine(host, data, only=only)


def built(building: Callable[[], Plan]) -> Plan | None:
    """The plan; None when the host does not tell enough for one, which is said."""
    from rocmdoctor.host import UnknownFact

    try:
        plan = building()
    except UnknownFact as unknown:
        complain(f"no plan can be made: {unknown}")
        return None
    return plan


def script(plan: Plan, data: Matrix) -> int:
    """Print the plan as a shell script, or why there is none."""
    if plan.refusals:
        for refusal in plan.refusals:
            complain(f"refused: {refusal.reason}" + (f" ({refusal.help})" if refusal.help else ""))
        return FAILED
    from rocmdoctor.reports import plan_script

    emit(plan_script.render(plan, data.date))
    return OK


def carry_out(
    plan: Plan, host: Host, data: Matrix, *, yes: bool, dry_run: bool, format: str, no_color: bool, verbose: bool
) -> int:
    """Show the plan, ask, rehearse, do it, and say what came of it."""
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
    if (refused := may_change(yes)) is not None:
        return refused
    target = this_machine()
    try:
        applying.settled(target)
        if reasons := _busy(plan, target):
            plan = replace(plan, refusals=tuple(Refusal("busy", reason, "wait until it has ended") for reason in reasons))
            for reason in reasons:
                complain(f"refused: {reason}; wait until it has ended, nothing was changed")
            if json_wanted:
                emit(plan_json.render(plan, host, data.date))
            return FAILED
        if found := _unfinished(plan, target, rehearsal.LOG) or rehearsal.rehearse(plan, target, rehearsal.LOG):
            plan = replace(plan, refusals=found)
            for refusal in found:
                complain(f"refused: {refusal.reason}" + (f" ({refusal.help})" if refusal.help else ""))
            if target.state(rehearsal.LOG) is not None:
                complain(f"what the package manager said is in {rehearsal.LOG}")
            if json_wanted:
                emit(plan_json.render(plan, host, data.date))
            return FAILED
        planned = plan_json.document(plan, host, data.date) if json_wanted else {}  # with the files as they are before
        outcome = applying.apply(plan, target, watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    emit(plan_json.applied(planned, outcome) if json_wanted else plan_text.outcome(outcome))
    return status_of(outcome)


def _unchanged(plan: Plan) -> Outcome:
    from rocmdoctor.plan.apply import Outcome

    return Outcome("unchanged", None, (), reboot=any(s.kind == "reboot-notice" for s in plan.open_steps))


def status_of(outcome: Outcome) -> int:
    """The exit status."""
    if outcome.status == "interrupted":
        return INTERRUPTED
    return OK if outcome.status in ("done", "unchanged") else FAILED


def may_change(yes: bool) -> int | None:
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


def _unfinished(plan: Plan, target: Machine, log: str) -> tuple[Refusal, ...]:
    """Packages that dpkg cannot configure. A fix may be the remedy for that, and is not kept from it."""
    from rocmdoctor.plan import apply as applying
    from rocmdoctor.plan import unfinished

    if plan.command == "fix":
        return ()
    applying.prepare_state(target)
    return unfinished.finish(plan, target, log)


def watcher(no_color: bool) -> Watcher:
    """Who is told of the steps while they are done."""
    from rocmdoctor.commands import progress

    return progress.watcher(no_color)
