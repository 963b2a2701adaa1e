"""Recognising error texts: fixed pieces in a text of any length, whatever its line breaks, colours and case.

No regular expressions over untrusted text: pieces are searched one after another, so the time is linear in its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

LIMIT = 1 << 20
"""Characters of a text that are looked at."""
GAP = 100
"""Characters that "..." in a pattern may stand for."""
OCCURRENCES = 2000
"""Places of a pattern's first piece that are tried."""
EXCERPT = 200
"""Characters of the matched line that are kept."""

_QUOTES = str.maketrans("", "", "'\"`\u2018\u2019\u201c\u201d")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,32}[A-Za-z]")


@dataclass(frozen=True, slots=True)
class ErrorText:
    """What people paste. `texts`: alternatives in lower case, in which "..." stands for anything of up to GAP characters, and "|"
    at the end for the end of a word.

    `meaning`: what the text says, in one or two sentences. `candidates`: checks (ids or "area.*") that could explain it, the
    likeliest first. `otherwise`: what to do when none of them does.
    """

    id: str
    title: str
    texts: tuple[str, ...]
    meaning: str
    candidates: tuple[str, ...]
    otherwise: str = ""


def error_text(id: str, title: str, texts: str, meaning: str, candidates: str, otherwise: str = "") -> ErrorText:
    """An entry as the tables write it: one pattern per line of `texts`, candidates between blanks."""
    patterns = dict.fromkeys(plain for line in texts.splitlines() if (plain := _plain(line)))
    return ErrorText(id, title, tuple(patterns), meaning, tuple(candidates.split()), otherwise)


@dataclass(frozen=True, slots=True)
class Match:
    """`excerpt`: the line in which the text was found; `position`: where, by which matches are ordered."""

    error: ErrorText
    excerpt: str
    position: int


def recognise(text: str, errors: Iterable[ErrorText] | None = None) -> tuple[Match, ...]:
    """The known texts in `text`, each once, in order of appearance. `errors` None: all that are known."""
    if errors is None:
        from rocmdoctor.diagnosis.error_texts import ERROR_TEXTS

        errors = ERROR_TEXTS
    # Terminals and mail programs break lines anywhere: for the search a line end is a blank like any other.
    lines = [line for line in _ANSI.sub("", text[:LIMIT]).splitlines() if line.strip()]
    words = [_plain(line) for line in lines]
    starts = list(accumulate((len(w) + 1 for w in words), initial=0))
    flat = " ".join(words)
    found = []
    for error in errors:
        place = _place(flat, error.texts)
        if place >= 0:
            line = min(bisect_right(starts, place) - 1, len(lines) - 1)
            found.append(Match(error, _excerpt(lines[line], words[line], place - starts[line]), place))
    return tuple(sorted(found, key=lambda m: m.position))


def _plain(text: str) -> str:
    """Lower case, one blank between words, without quotes: shells eat them, and typographers turn them."""
    return " ".join(text.lower().translate(_QUOTES).split())


def _place(flat: str, texts: tuple[str, ...]) -> int:
    """The first place of any of the patterns, -1 when there is none."""
    places = [place for text in texts if (place := _find(flat, text)) >= 0]
    return min(places, default=-1)


def _find(flat: str, text: str) -> int:
    """Where the pieces of a pattern stand one after another, each within GAP of the one before; -1 when they do not."""
    whole_word = text.endswith("|")
    first, *rest = text.removesuffix("|").split("...")
    start = flat.find(first)
    for _ in range(OCCURRENCES):
        if start < 0:
            return -1
        end = _follow(flat, start + len(first), rest)
        if end >= 0 and not (whole_word and flat[end : end + 1].isalnum()):
            return start
        start = flat.find(first, start + 1)
    return -1  # a text made of nothing else


def _follow(flat: str, at: int, pieces: list[str]) -> int:
    """The end of the last piece, when each stands behind the one before; else -1."""
    for piece in pieces:
        at = flat.find(piece, at, at + GAP + len(piece))
        if at < 0:
            return -1
        at += len(piece)
    return at


def _excerpt(line: str, plain: str, place: int) -> str:
    """The line as it was pasted; of a long one the part around the place (of its plain form)."""
    if len(line) <= EXCERPT:
        return line.strip()
    return plain[max(0, place - 40) :][:EXCERPT]
