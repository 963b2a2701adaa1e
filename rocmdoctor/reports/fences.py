"""Untrusted text inside of Markdown code, where CommonMark and GitHub act on nothing: no markup, HTML, link, mention or image."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocmdoctor.reports.printable import printable

_TICKS = re.compile("`+")


def _longest(text: str) -> int:
    """Length of the longest run of backticks."""
    return max(map(len, _TICKS.findall(text)), default=0)


def code_span(text: str) -> str:
    """`text` in one line as a code span: delimited by more backticks than it holds, and padded where it begins or ends with one
    (CommonMark 0.31, 6.1). A code span cannot be empty, so nothing becomes one space."""
    shown = printable(text)
    ticks = "`" * (_longest(shown) + 1)
    pad = " " if not shown.strip(" ") or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown or ' '}{pad}{ticks}"


def fence(lines: Sequence[str], language: str = "") -> list[str]:
    """`lines` (printable) as a fenced code block, its fence longer than any run of backticks inside (CommonMark 0.31, 4.5)."""
    ticks = "`" * max(3, *(_longest(line) + 1 for line in lines), 3)
    return [f"{ticks}{language}", *lines, ticks]
