"""The catalogue of checks as a page of Markdown: docs/checks.md, from the registry alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rocmdoctor.reports.fences import code_span
from rocmdoctor.reports.printable import printable

if TYPE_CHECKING:
    from rocmdoctor.engine import Check

HEAD = """\
# Checks

What `rocmdoctor check` judges, in this order. An id never changes its meaning; `rocmdoctor explain ID` shows the same text.
A check whose precondition failed is skipped because of it, so that one root cause gives one failure.
[writing-checks.md](writing-checks.md) tells how to add your own.

This page is generated: `rocmdoctor list-checks --format markdown > docs/checks.md`.
"""

_PROSE = re.compile(r"`[^`]+`|[\\*<>&\[\]|~`]|(?<![^\W_])_|_(?![^\W_])|\A(?:[-+#=]|\d+(?=[.)]))")
"""Code, which stays; else what CommonMark could act upon. Underscores inside of words are plain."""


def render(checks: Sequence[Check]) -> str:
    """The page on `checks`, with a final line end: a table of the areas, then each check with its docstring."""
    areas: dict[str, list[Check]] = {}
    for check in checks:
        areas.setdefault(check.area, []).append(check)
    return "".join(f"{line}\n" for line in _lines(areas)).rstrip("\n") + "\n"


def _lines(areas: dict[str, list[Check]]) -> Iterator[str]:
    yield HEAD
    yield "| area | checks |"
    yield "| --- | --- |"
    for area, checks in areas.items():
        names = ", ".join(f"[{prose(c.id.rpartition('.')[2])}](#{anchor(c.id)})" for c in checks)
        yield f"| {code_span(area)} | {names} |"
    for area, checks in areas.items():
        yield ""
        yield f"## {code_span(area)}"
        for check in checks:
            yield ""
            yield from _check(check)


def _check(check: Check) -> Iterator[str]:
    from rocmdoctor.engine import PLACES

    yield f"### {code_span(check.id)}"
    yield ""
    yield f"**{prose(check.title)}.**"
    for paragraph in check.why.split("\n\n"):
        if paragraph.strip():
            yield ""
            yield prose(" ".join(paragraph.split()))
    rows = []
    if check.after:
        before = [f"[{code_span(id)}](#{anchor(id)})" for id in check.after]
        rows.append(f"Judged after {_listed(before)}.")
    if check.places != PLACES:
        rows.append(f"Only on hosts of the kind {_listed(list(check.places))}.")
    if check.profiles is not None:
        rows.append(f"Only with `--profile` {_listed(list(check.profiles))}.")
    if check.deep:
        rows.append("Only with `--deep`: it starts programs on the GPU.")
    if not check.needs_gpu:
        rows.append("Judged on hosts without an AMD GPU too.")
    rows += [f"See <{link}>" if _plain(link) else f"See {code_span(link)}" for link in check.docs]
    if rows:
        yield ""
        yield from (f"- {row}" for row in rows)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def anchor(heading: str) -> str:
    """The fragment that GitHub makes of a heading: lower case, letters, digits, hyphens and underscores, spaces as hyphens."""
    return "".join("-" if c == " " else c for c in heading.lower() if c.isalnum() or c in "-_ ")


def prose(text: str) -> str:
    """`text` in one line, shown as it is: only its backticks act, as code."""

    def escaped(found: re.Match[str]) -> str:
        what = found.group()
        if what[0] == "`" and len(what) > 1:
            return what
        return f"{what}\\" if what[0].isdigit() else f"\\{what}"  # "1\\." begins no list

    return _PROSE.sub(escaped, printable(text))


def _plain(link: str) -> bool:
    """Whether `link` can stand as an autolink: an address without what would end it."""
    return link.startswith("https://") and link.isascii() and link.isprintable() and not set(link) & set(" <>")
