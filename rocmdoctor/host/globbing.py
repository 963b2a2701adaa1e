"""Expansion of a glob over any host: `*`, `?` and `[...]` within components, as a shell does (names with a leading dot only
match a pattern with one)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from rocmdoctor.host.capture_patterns import is_wild, regex_of


@lru_cache(maxsize=256)
def _matcher(name: str) -> Callable[[str], re.Match[str] | None]:
    # `**` has no meaning of its own here.
    while "**" in name:
        name = name.replace("**", "*")
    return re.compile(regex_of(name), re.DOTALL).fullmatch


def matches(name_glob: str, name: str) -> bool:
    """Whether one name matches the glob of one component."""
    return _matcher(name_glob)(name) is not None and (name_glob.startswith(".") or not name.startswith("."))


def expand(pattern: str, names: Callable[[str, str], Iterable[str]], exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Existing paths for an absolute `pattern`, sorted.

    `names(folder, glob)` lists a folder ("" is the root; empty when it is none), `exists(path)` tells of a literal tail.
    """
    found = [""]
    literal = False
    for part in pattern.split("/")[1:]:
        if not part:
            continue
        if not is_wild(part):
            found = [f"{folder}/{part}" for folder in found]
            literal = True
            continue
        match, dotted = _matcher(part), part.startswith(".")
        found = [
            f"{folder}/{name}"
            for folder in found
            for name in names(folder, part)
            if match(name) and (dotted or not name.startswith("."))
        ]
        literal = False
        if not found:
            return ()
    return tuple(sorted(path for path in found if exists(path)) if literal else sorted(found))
