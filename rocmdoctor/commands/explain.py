"""`rocmdoctor explain`: what a check looks at, or what an error text means on this host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from rocmdoctor.commands.asked import (
    FAILED,
    OK,
    ColorOption,
    FormatOption,
    MatrixOption,
    WrongUsage,
    asked_host,
    asked_python,
    every_check,
    reader_is_root,
)
from rocmdoctor.terminal import colors, emit, piped_text, width


def explain(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...", help="A check (id, area or glob), or an error text; standard input without it or with -."
        ),
    ] = None,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Look for the cause on a recorded host.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Look at the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every candidate with its reason.")] = False,
    no_color: ColorOption = False,
) -> int:
    """What a check looks at, or what an error text means here.

    Of the causes that an error can have, the one that holds on this host is named.

    Exit status: 0 the text was recognised, 1 it was not, 2 there was none.
    """
    words = text or []
    if words and (page := _check_pages(words, format)):
        emit(page)
        return OK
    from rocmdoctor import diagnosis

    said = " ".join(words) if words and words != ["-"] else piped_text(diagnosis.LIMIT)
    if not said.strip():
        raise WrongUsage("explain what? Give a check's id or an error text, as arguments or on standard input")
    found = diagnosis.recognise(said)
    if not found:
        if len(words) == 1 and re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9*?-]+)?", words[0]):
            from rocmdoctor.engine import UnknownCheck

            raise UnknownCheck(
                f"{words[0]!r} is neither a check nor a known error text; `rocmdoctor list-checks` names the checks"
            )
        from rocmdoctor.reports import diagnosis_json, diagnosis_text

        json_wanted = format == "json"
        emit(diagnosis_json.render_unrecognised() if json_wanted else diagnosis_text.render_unrecognised(width()))
        return FAILED
    host = asked_host(snapshot, root, user)
    from rocmdoctor.matrix import load_matrix

    answer = diagnosis.diagnose(host, load_matrix(matrix), found, python=asked_python(python, snapshot, root))
    if format == "json":
        from rocmdoctor.reports import diagnosis_json

        emit(diagnosis_json.render(answer))
    else:
        from rocmdoctor.reports import diagnosis_text

        emit(
            diagnosis_text.render(
                answer, verbose=verbose, color=colors(no_color), width=width(), as_root=reader_is_root(host, snapshot)
            )
        )
    return OK


def _check_pages(words: Sequence[str], format: str) -> str | None:
    """The pages on checks, when every word is the id or area of one, or a glob; None when they are something else."""
    if not all(re.fullmatch(r"[a-z][a-z0-9_.*?\[\]-]*|\*", word) for word in words):
        return None
    from rocmdoctor import engine
    from rocmdoctor.reports import catalog

    checks = every_check()
    try:
        chosen = engine.select(checks, words, deep=True)
    except engine.UnknownCheck:
        return None
    return catalog.listing_json(chosen) if format == "json" else "\n".join(catalog.explain(c, checks, width()) for c in chosen)
