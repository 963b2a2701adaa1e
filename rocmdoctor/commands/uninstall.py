"""`rocmdoctor uninstall`: remove AMD's packages, by whichever recipe they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rocmdoctor.commands import changing
from rocmdoctor.commands.asked import FAILED, ColorOption, MatrixOption
from rocmdoctor.commands.changing import DryOption, YesOption
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.terminal import complain

if TYPE_CHECKING:
    from rocmdoctor.plan.journal import Entry


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
    """Remove AMD's packages, repositories, pins and keys."""
    if snapshot is not None and not (dry_run or format == "script"):
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import uninstall as building

    host, data = changing.host_of(snapshot), load_matrix(matrix)
    runs = _runs() if snapshot is None else []
    plan = changing.built(lambda: building.build(Facts(host, data), data, rocm, keep_driver=keep_driver, runs=runs))
    if plan is None:
        return FAILED
    if format == "script":
        return changing.script(plan, data)
    return changing.carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=verbose)


def _runs() -> list[Entry]:
    """What rocmdoctor has done here; that is written where only root can read it."""
    from rocmdoctor.plan import journal

    try:
        return journal.runs(changing.this_machine())
    except ChangeFailed as error:
        complain(f"note: what rocmdoctor installed beside ROCm is not in this plan: {error}")
        return []
