"""The catalogue of checks for readers: the list of all, and the page on one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocmdoctor.reports.printable import printable, wrap

if TYPE_CHECKING:
    from rocmdoctor.engine import Check


def listing(checks: Sequence[Check], width: int = 80) -> str:
    """A line for each check, grouped by area in the order in which they are judged."""
    lines: list[str] = []
    column = min(max((len(c.id) for c in checks), default=0) + 2, 40)
    for check in checks:
        title = printable(check.title) + (" (only with --deep)" if check.deep else "")
        if width < column + 30:  # no room beside the name
            lines += [printable(check.id), *wrap(title, width, "    ")]
            continue
        lines += wrap(title, width, " " * column, f"{printable(check.id):<{column}}")
    return "".join(f"{line}\n" for line in lines)


def listing_json(checks: Sequence[Check]) -> str:
    """The checks as a JSON list: id, area, title, after, docs, places, profiles (null: all), needs_gpu, deep."""
    rows = [
        {
            "id": c.id,
            "area": c.area,
            "title": c.title,
            "after": list(c.after),
            "docs": list(c.docs),
            "places": list(c.places),
            "profiles": None if c.profiles is None else list(c.profiles),
            "needs_gpu": c.needs_gpu,
            "deep": c.deep,
        }
        for c in checks
    ]
    return json.dumps(rows, indent=2) + "\n"


def explain(check: Check, checks: Sequence[Check], width: int = 80) -> str:
    """The page on `check`: the healthy state, what it looks at, why it matters and what cures it (its docstring), where it
    stands among `checks`, links, and how to run it alone."""
    from rocmdoctor.engine import PLACES

    lines = [*wrap(printable(check.title), width), f"({printable(check.id)})"]
    for paragraph in check.why.split("\n\n"):
        lines += ["", *wrap(" ".join(paragraph.split()), width)]
    rows: list[tuple[str, str]] = []
    if check.after:
        rows.append(("Judged after", ", ".join(check.after)))
    waiting = [c.id for c in checks if check.id in c.after]
    if waiting:
        rows.append(("Needed by", ", ".join(waiting)))
    if check.places != PLACES:
        rows.append(("On", ", ".join(check.places)))
    if check.profiles is not None:
        rows.append(("Profiles", ", ".join(check.profiles)))
    rows += [("See" if i == 0 else "", link) for i, link in enumerate(check.docs)]
    rows.append(("Run it", f"rocmdoctor check -v {'--deep ' if check.deep else ''}--only {check.id}"))
    lines.append("")
    for label, text in rows:
        lines += wrap(printable(text), width, " " * 14, f"{label:<14}")
    return "".join(f"{line}\n" for line in lines)
