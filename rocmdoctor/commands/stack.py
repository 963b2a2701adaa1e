"""`rocmdoctor stack`: every layer at a glance."""

from __future__ import annotations

from typing import Annotated

import typer

from rocmdoctor.commands.asked import OK, ColorOption, FormatOption, MatrixOption, asked_host, asked_python
from rocmdoctor.terminal import colors, emit, width


def stack(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Show a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Show the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Show this interpreter or environment.")] = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say also why a layer fits.")] = False,
    no_color: ColorOption = False,
) -> int:
    """Every layer from the GPU to the frameworks at a glance.

    A row a layer: version, where it comes from, and whether it fits the others.
    """
    host = asked_host(snapshot, root, user)
    from rocmdoctor import stack as layers
    from rocmdoctor.matrix import load_matrix

    seen = layers.gather(host, load_matrix(matrix), python=asked_python(python, snapshot, root))
    if format == "json":
        from rocmdoctor.reports import stack_json

        emit(stack_json.render(seen))
    else:
        from rocmdoctor.reports import stack_text

        emit(stack_text.render(seen, verbose=verbose, color=colors(no_color), width=width()))
    return OK
