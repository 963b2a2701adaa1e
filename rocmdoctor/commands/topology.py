"""`rocmdoctor topology`: how the GPUs are joined."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rocmdoctor.commands.asked import OK, ColorOption, MatrixOption, asked_host
from rocmdoctor.terminal import colors, emit, width


def topology(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Draw a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Draw the system installed under DIR.")] = None,
    matrix: MatrixOption = None,
    format: Annotated[Literal["text", "svg", "json"], typer.Option("--format", help="Form of the output.")] = "text",
    no_color: ColorOption = False,
) -> int:
    """How the GPUs are joined: xGMI, PCIe and NUMA nodes."""
    host = asked_host(snapshot, root, None)
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.reports import topology as drawn
    from rocmdoctor.topology import gather

    emit(drawn.render(format, gather(Facts(host, load_matrix(matrix))), color=colors(no_color), width=width()))
    return OK
