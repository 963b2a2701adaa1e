"""`rocmdoctor list-checks`: the catalogue of checks."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from rocmdoctor.commands.asked import OK, every_check
from rocmdoctor.terminal import emit, to_terminal, width

CatalogFormat = Literal["text", "json", "markdown"]


def list_checks(format: Annotated[CatalogFormat, typer.Option("--format", help="Form of the output.")] = "text") -> int:
    """Name every check, in the order in which they are judged."""
    from rocmdoctor.reports import catalog

    checks = every_check()
    if format == "markdown":
        from rocmdoctor.reports import catalog_page

        emit(catalog_page.render(checks))
        return OK
    # a line for each check where it goes to a program
    columns = width() if to_terminal() else sys.maxsize
    emit(catalog.listing_json(checks) if format == "json" else catalog.listing(checks, columns))
    return OK
