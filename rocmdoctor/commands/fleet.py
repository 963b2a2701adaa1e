"""`rocmdoctor fleet PATH...` on the command line.

Exit status: 0 every node was read and none is broken, 1 a node is broken, 2 wrong usage or nothing could be read, 3 some input
could not be read or a check broke on some node (the rest is reported all the same), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rocmdoctor.terminal import colors, complain, emit, width

if TYPE_CHECKING:
    from rocmdoctor.fleet import Fleet

OK, BROKEN_NODES, INCOMPLETE = 0, 1, 3
CHUNK = 1 << 16

app = typer.Typer(
    name="fleet",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def fleet(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Snapshots and reports: files, folders of them, JSON lines; - is standard input."),
    ],
    golden: Annotated[str | None, typer.Option(metavar="NODE", help="Compare with this node, not with the majority.")] = None,
    inventory: Annotated[bool, typer.Option("--inventory", help="Print an Ansible inventory with groups.")] = False,
    format: Annotated[Literal["text", "json", "html"], typer.Option("--format", help="Form of the output.")] = "text",
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=0, max=256, help="Processes; 0 is one for each core.")] = 0,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every node and every value.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")] = False,
) -> int:
    """Merge many hosts: verdicts, root causes, differences."""
    from rocmdoctor.fleet import merge

    with merge(paths, golden=golden, matrix=matrix, details=format == "html" and not inventory, jobs=jobs) as found:
        if inventory:
            from rocmdoctor.reports import fleet_inventory

            _write(fleet_inventory.render(found))
            _complain_of_names(found)
        elif format == "json":
            from rocmdoctor.reports import fleet_json

            _write(fleet_json.render(found))
        elif format == "html":
            from rocmdoctor.reports import fleet_html

            _write(fleet_html.render(found))
        else:
            from rocmdoctor.reports import fleet_text

            columns = width() if sys.stdout.isatty() else 80
            _write(fleet_text.render(found, verbose=verbose, color=colors(no_color), width=columns))
        if inventory or format != "text":  # the text tells it itself
            for one in found.unreadable:
                complain(f"{one.source}: {one.reason}")
        if found.unreadable_count or found.errors:
            return INCOMPLETE
        return BROKEN_NODES if found.verdicts["broken"] else OK


def _write(pieces: Iterator[str]) -> None:
    """To standard output in pieces of a decent size: a page of ten thousand nodes never lies in memory as a whole."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > CHUNK:
            emit("".join(waiting))
            waiting.clear()
            size = 0
    emit("".join(waiting))


def _complain_of_names(found: Fleet) -> None:
    from rocmdoctor.reports.fleet_inventory import usable

    odd = [record.name for record in found.spool.records() if not usable(record.name)]
    if odd:
        more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        complain(f"left out of the inventory, no host name: {odd[0]}{more}")
