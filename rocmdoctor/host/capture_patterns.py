"""Patterns of `captured` and `unknown` in a snapshot: globs of paths in which `**` crosses folders, and `cmd:NAME`.

Strangers write them, so matching takes time in proportion to pattern and path, whatever they hold; a regular expression of
several `**` would not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase, translate
from functools import lru_cache

from rocmdoctor.host import UnknownFact

_WILD = re.compile(r"[*?\[]")
_ESCAPED = re.compile(r"\[([*?\[])\]")


class NotCaptured(UnknownFact):
    """A question outside what a snapshot set out to capture."""


def is_wild(text: str) -> bool:
    """Whether `text` holds a wildcard."""
    return _WILD.search(text) is not None


def glob_escape(path: str) -> str:
    """`path` as a pattern that matches nothing else."""
    return _WILD.sub(lambda found: f"[{found.group()}]", path)


def literal(pattern: str) -> str | None:
    """The one path that `pattern` matches, None when it has wildcards: the reverse of `glob_escape`."""
    text = _ESCAPED.sub(r"\1", pattern)
    return text if glob_escape(text) == pattern else None


@lru_cache(maxsize=512)
def name_matcher(glob: str) -> Callable[[str], bool]:
    """What tells whether a name matches the glob of one component (`*`, `?`, `[...]`), or is that glob itself."""
    if not is_wild(glob):
        return lambda name: name == glob
    single = re.sub(r"\*{2,}", "*", glob)
    try:
        # Python's translation tries no alternative twice, so that "*a*a*a*b" is no trap.
        match = re.compile(translate(single)).match
    except re.error:
        return lambda name: name == glob
    return lambda name: name == glob or match(name) is not None


def _components(pattern: str, below: bool) -> Iterable[list[Callable[[str], bool] | None]]:
    """The pattern as matchers of components, None for any number of them. A `**` within a name gives two forms: "a**b" is
    "a*b", or "a*" and any number of folders and "*b"."""
    parts = pattern.split("/")[1:]
    if below and parts and parts[-1] == "**":
        parts[-1] = "*"  # what is below a folder, and not the folder
    forms = [parts]
    for number, part in enumerate(parts):
        head, crossing, tail = part.partition("**")
        if crossing and part.strip("*"):
            forms.append([*parts[:number], f"{head}*", "**", f"*{tail}", *parts[number + 1 :]])
            break
    for form in forms:
        yield [None if p == "**" else name_matcher(p) for p in form] + ([None] if below else [])


def _matches(components: list[Callable[[str], bool] | None], parts: list[str]) -> bool:
    """Whether all parts match; only the last `**` is ever tried again, as that is enough."""
    i = j = mark = 0
    star, end = -1, len(components)
    while j < len(parts):
        component = components[i] if i < end else None
        if i < end and component is None:
            star, mark = i, j
            i += 1
        elif component is not None and component(parts[j]):
            i += 1
            j += 1
        elif star >= 0:
            mark += 1
            i, j = star + 1, mark
        else:
            return False
    return all(c is None for c in components[i:])


def may_overlap(a: str, b: str) -> bool:
    """Whether two globs of one name may match the same name; may err towards yes."""
    wild_a, wild_b = _WILD.search(a), _WILD.search(b)
    if wild_a is None:
        return fnmatchcase(a, b)
    if wild_b is None:
        return fnmatchcase(b, a)
    head = min(wild_a.start(), wild_b.start())
    if a[:head] != b[:head]:
        return False
    if "]" in a or "]" in b:
        return True
    tail_a = a[max(a.rfind("*"), a.rfind("?")) + 1 :]
    tail_b = b[max(b.rfind("*"), b.rfind("?")) + 1 :]
    return tail_a.endswith(tail_b) or tail_b.endswith(tail_a)


class Patterns:
    """One list of patterns. Commands are asked by name, paths as text or as the glob that a check asked."""

    def __init__(self, patterns: Iterable[str], *, below: bool) -> None:
        """`below`: a pattern also covers everything under what it matches (the rule for `unknown`). Without it (the rule for
        `captured`), `/proc/**` covers /proc itself as well."""
        paths: list[str] = []
        self.commands: list[str] = []
        for pattern in patterns:
            if pattern.startswith("cmd:"):
                self.commands.append(pattern[4:])
            else:
                paths.append(pattern)
        self.paths = tuple(dict.fromkeys(paths))
        self._exact = frozenset(self.paths)
        self._below = below
        self._wild: list[list[Callable[[str], bool] | None]] | None = None

    def command(self, name: str) -> bool:
        """Whether the command `name` (argv[0]) is covered."""
        base = name.rsplit("/", 1)[-1]
        return any(fnmatchcase(name, p) or fnmatchcase(base, p) for p in self.commands)

    def path(self, path: str) -> bool:
        """Whether the path, or every path of a glob, is covered."""
        if not self.paths:
            return False
        if path in self._exact:
            return True
        if self._below:
            parent = path.rpartition("/")[0]
            while parent:
                if parent in self._exact:
                    return True
                parent = parent.rpartition("/")[0]
        if self._wild is None:
            self._wild = [form for p in self.paths if is_wild(p) for form in _components(p, self._below)]
        parts = [part for part in path.split("/") if part]
        return any(_matches(form, parts) for form in self._wild)

    def exactly(self, path: str) -> bool:
        """Whether this very path is listed, not merely covered."""
        return glob_escape(path) in self._exact or path in self._exact

    def children(self, folder: str, name: str) -> tuple[bool, list[str]]:
        """What the patterns say about the names in `folder` that match the glob `name`: whether wildcards reach them,
        and the single names that are listed literally."""
        reached, single = False, []
        for pattern in self.paths:
            parent, _, last = pattern.rpartition("/")
            name_itself = literal(last)
            if not last or last == "**" or not may_overlap(name, last if name_itself is None else name_itself):
                continue
            if literal(parent) != folder and not (is_wild(parent) and Patterns([parent], below=False).path(folder)):
                continue
            if name_itself is None:
                reached = True
            else:
                single.append(name_itself)
        return reached, single
