"""`rocmdoctor fix`: do the automatic remedies of findings."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rocmdoctor.commands import changing
from rocmdoctor.commands.asked import OK, ColorOption, FormatOption, MatrixOption
from rocmdoctor.commands.changing import DryOption, YesOption
from rocmdoctor.terminal import complain


def fix(
    checks: Annotated[list[str] | None, typer.Argument(metavar="[CHECK-ID]...", help="Only these checks or areas.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge and fix the access of this user.")] = None,
    yes: YesOption = False,
    dry_run: DryOption = False,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="With --dry-run: plan for a recorded host.")] = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
    no_color: ColorOption = False,
) -> int:
    """Do what findings offer as automatic remedies, then check again."""
    if snapshot is not None and not dry_run:
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import fix as building

    data = load_matrix(matrix)
    host = changing.host_of(snapshot, user or (changing.who_called() if snapshot is None and os.geteuid() == 0 else None))
    report = changing.examined(host, data, checks or ())
    plan, ids = building.build(report.results, host)
    code = changing.carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=False)
    if dry_run or code != OK or not ids:
        return code
    again = changing.examined(changing.host_of(None, host.user.name if host.user.uid else None), data, ids)
    left = [result for result in again.results if result.status.value == "fail"]
    for result in left:
        waits = " (log in again first)" if any("relogin" in f.needs for f in result.fixes) else ""
        complain(f"still fails: {result.id}: {result.title}{waits}")
    return OK
