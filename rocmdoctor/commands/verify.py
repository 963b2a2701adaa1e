"""`rocmdoctor verify`: whether the last installation holds."""

from __future__ import annotations

from typing import Annotated

import typer

from rocmdoctor.commands import changing
from rocmdoctor.commands.asked import FAILED, OK, FormatOption, MatrixOption
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.terminal import complain, emit, width


def verify(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run to verify; else the newest.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
) -> int:
    """Whether the last installation holds.

    The reboot that it needed, its steps, and what still fails.
    """
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import verify as verifying
    from rocmdoctor.reports import plan_runs

    target, data = changing.this_machine(), load_matrix(matrix)
    try:
        found = verifying.verify(run, target)
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    report = changing.examined(changing.host_of(None, user or changing.who_called()), data, ())
    if found.command == "uninstall":  # that nothing works without ROCm is what was asked for
        report = report._replace(results=())
    emit(plan_runs.verified(found, report, format, width()))
    return OK if found.holds and not report.root_causes else FAILED
