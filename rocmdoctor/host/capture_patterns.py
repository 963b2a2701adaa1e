"""Patterns of `captured` and `unknown` in a snapshot: globs of paths in which `**` crosses folders, and `cmd:NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from rocmdoctor.host import UnknownFact

_WILD = re.compile(r"[*?\[]")


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
    text = re.sub(r"\[([*?\[])\]", r"\1", pattern)
    return text if glob_escape(text) == pattern else None


def regex_of(pattern: str) -> str:
    """A path glob as regular expression text: `*` and `?` stay within a folder, `**` crosses folders."""
    out: list[str] = []
    i, n = 0, len(pattern)
    while i < n:
        char = pattern[i]
        if pattern.startswith("/**/", i):
            out.append("/(?:.*/)?")
            i += 4
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
            while i < n and pattern[i] == "*":
                i += 1
        elif char == "*":
            out.append("[^/]*")
            i += 1
        elif char == "?":
            out.append("[^/]")
            i += 1
        elif char == "[":
            end = pattern.find("]", i + 2)
            if end < 0:
                out.append(re.escape(char))
                i += 1
            else:
                body = pattern[i + 1 : end]
                negated = body[:1] in ("!", "^")
                # Everything but a range's dash is escaped, so that no text of a snapshot is regular expression syntax.
                inner = re.escape(body[1:] if negated else body).replace(r"\-", "-")
                try:
                    re.compile(f"[{inner}]")
                except re.error:
                    inner = re.escape(body)
                out.append(f"(?!/)[{'^' if negated else ''}{inner}]")
                i = end + 1
        else:
            out.append(re.escape(char))
            i += 1
    return "".join(out)


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
        """`below`: a pattern also covers everything under what it matches (the rule for `unknown`)."""
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
        self._regex: re.Pattern[str] | None = None

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
        if self._regex is None:
            texts: list[str] = []
            for pattern in self.paths:
                if not is_wild(pattern):
                    continue
                if pattern.endswith("/**") and not self._below:
                    texts.append(regex_of(pattern[:-3]) + "(?:/.*)?")
                else:
                    texts.append(regex_of(pattern) + ("(?:/.*)?" if self._below else ""))
            self._regex = re.compile("|".join(texts) or "(?!)", re.DOTALL)
        return self._regex.fullmatch(path) is not None

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
            if literal(parent) != folder and not (is_wild(parent) and re.fullmatch(regex_of(parent), folder, re.DOTALL)):
                continue
            if name_itself is None:
                reached = True
            else:
                single.append(name_itself)
        return reached, single
