"""`rocmdoctor undo`: take back what a run did."""

from __future__ import annotations

from typing import Annotated

import typer

from rocmdoctor.commands import changing
from rocmdoctor.commands.asked import FAILED, OK, ColorOption, FormatOption
from rocmdoctor.commands.changing import DryOption, YesOption
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.terminal import complain, emit


def undo(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run to take back; else the newest.")] = None,
    list_runs: Annotated[bool, typer.Option("--list", help="Name the runs.")] = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
    format: FormatOption = "text",
    no_color: ColorOption = False,
) -> int:
    """Take back what a run did, and nothing else."""
    from rocmdoctor.plan import journal
    from rocmdoctor.plan import undo as undoing
    from rocmdoctor.reports import plan_runs

    target = changing.this_machine()
    try:
        if list_runs:
            emit(plan_runs.listing(journal.runs(target), format))
            return OK
        entry = undoing.wanted(run, target)
        if dry_run or format == "text":
            emit(plan_runs.taking_back(entry, format))
        if dry_run:
            return OK
        if (refused := changing.may_change(yes)) is not None:
            return refused
        outcome = undoing.undo(entry.id, target, changing.watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    emit(plan_runs.taken_back(outcome, format))
    return OK if outcome.status == "done" else FAILED
