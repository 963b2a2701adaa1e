"""`rocmdoctor fleet`: many hosts at once."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(name="fleet", add_completion=False, rich_markup_mode=None)


@app.command()
def fleet(paths: Annotated[list[str], typer.Argument(metavar="PATH...")]) -> int:
    """Merge snapshots and reports of many hosts."""
    raise typer.BadParameter(f"not yet: {len(paths)}")
