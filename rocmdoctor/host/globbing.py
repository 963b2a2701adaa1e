"""Expansion of a glob over any host: `*`, `?` and `[...]` within components, as a shell does (names with a leading dot only
match a pattern with one)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rocmdoctor.host.capture_patterns import is_wild, name_matcher


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
        match, dotted = name_matcher(part), part.startswith(".")
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
