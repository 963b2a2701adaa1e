"""The YAML file behind the matrix: sections found by a scan, parsed one by one, read with strict types.

Every top-level section starts in column 0 and every entry of a section in column 2, so a question about one release or one
PCI id parses only that entry. What is read is checked as it is read: an unknown key, a number where a version belongs or a
source that does not resolve is a MatrixError that names the file, the place in the document and the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

_SECTION = re.compile(r"\n([a-z][a-z0-9_]*):")
_ENTRY = re.compile(r"\n  (?:\"([^\"\n]+)\"|([^\s\"#:][^:\n]*)):")
"""Both begin with the line break: a search for a fixed beginning skips the rest of 180 KiB, one for ^ tries every position."""
_TEXT = "tag:yaml.org,2002:str"
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
_SCALAR = {"int": "a number", "float": "a number", "bool": "true or false", "null": "nothing", "timestamp": "a date"}


class MatrixError(Exception):
    """The compatibility file is wrong: `file`, `path` inside the document ("releases/6.2.0/os/rows/3"), `line` from 1, or 0 where
    nothing of the file could be read."""

    def __init__(self, file: str, path: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {path or 'document'}: {message}" if line else f"matrix {file} {message}")
        self.file, self.path, self.line, self.message = file, path, line, message


class Node:
    """A YAML node with its place. The readers below refuse what is not of their type."""

    __slots__ = ("_base", "_name", "_parent", "doc", "raw")

    def __init__(self, doc: Document, raw: Any, name: object, base: int, parent: Node | None = None) -> None:
        self.doc, self.raw, self._name, self._base, self._parent = doc, raw, name, base, parent

    @property
    def path(self) -> str:
        """Where it stands in the document: "releases/6.2.0/os/rows/3". Written out when asked for: for an error."""
        return f"{self._parent.path}/{self._name}" if self._parent else str(self._name)

    @property
    def line(self) -> int:
        return self.doc.line_at(self._base) + int(self.raw.start_mark.line)

    def fail(self, message: str) -> MatrixError:
        return MatrixError(str(self.doc.file), self.path, self.line, message)

    def _child(self, raw: Any, name: object) -> Node:
        return Node(self.doc, raw, name, self._base, self)

    @property
    def kind(self) -> str:
        """scalar | sequence | mapping."""
        return str(self.raw.id)

    def fields(self, required: frozenset[str], optional: frozenset[str] = frozenset()) -> dict[str, Node]:
        """A mapping with exactly these keys; unknown, missing and doubled keys are errors."""
        found = dict(self.items())
        if not found.keys() <= required | optional:
            name, node = next(pair for pair in found.items() if pair[0] not in required and pair[0] not in optional)
            raise node.fail(f"unknown key {name!r}; known here: {', '.join(sorted(required | optional))}")
        if not found.keys() >= required:
            raise self.fail(f"missing key {', '.join(sorted(required - found.keys()))}")
        return found

    def items(self) -> Iterator[tuple[str, Node]]:
        """Keys and values of a mapping, in order; keys must be text and unique."""
        if self.raw.id != "mapping":
            raise self.fail(f"expected a mapping, found a {self.raw.id}")
        seen: set[str] = set()
        for key, value in self.raw.value:
            name = key.value
            if key.tag != _TEXT or key.id != "scalar":
                raise self._child(key, name if key.id == "scalar" else "?").fail("a key must be text; quote versions")
            if name in seen:
                raise self._child(key, name).fail("the same key twice")
            seen.add(name)
            yield name, Node(self.doc, value, name, self._base, self)

    def _sequence(self) -> list[Any]:
        if self.raw.id != "sequence":
            raise self.fail(f"expected a list, found a {self.raw.id}")
        return self.raw.value  # type: ignore[no-any-return]

    def sequence(self) -> list[Node]:
        return [self._child(raw, i) for i, raw in enumerate(self._sequence())]

    def text(self) -> str:
        """A string. A version that YAML would read as a number is refused: 6.10 is not 6.1."""
        raw = self.raw
        if raw.tag == _TEXT and raw.id == "scalar":
            return raw.value  # type: ignore[no-any-return]
        if raw.id != "scalar":
            raise self.fail(f"expected text, found a {raw.id}")
        kind = _SCALAR.get(raw.tag.rpartition(":")[2], raw.tag)
        raise self.fail(f"expected text, found {kind} ({raw.value}); versions are quoted strings")

    def word(self, allowed: tuple[str, ...]) -> str:
        value = self.text()
        if value not in allowed:
            raise self.fail(f"{value!r} is not one of {', '.join(allowed)}")
        return value

    def texts(self) -> tuple[str, ...]:
        found = self._sequence()
        if all(raw.tag == _TEXT and raw.id == "scalar" for raw in found):
            return tuple([raw.value for raw in found])
        return tuple(node.text() for node in self.sequence())

    def flag(self) -> bool:
        if self.raw.id != "scalar" or self.raw.tag != "tag:yaml.org,2002:bool":
            raise self.fail("expected true or false")
        return str(self.raw.value) == "true"

    def sources(self) -> tuple[str, ...]:
        """Keys of the section `sources`, or issues written owner/repository#number."""
        keys = self.texts()
        for i, key in enumerate(keys):
            if key not in self.doc.source_keys and not _ISSUE.fullmatch(key):
                raise self.sequence()[i].fail(f"source {key!r} is not in the section sources")
        return keys

    def mapping_of_texts(self) -> dict[str, str]:
        return {name: node.text() for name, node in self.items()}


class Document:
    """The text of one matrix file and where its sections and entries lie."""

    def __init__(self, text: str, file: Path) -> None:
        self.text, self.file = text, file
        starts = [(m.group(1), m.start(1)) for m in _SECTION.finditer(text)]
        if first := _SECTION.match(f"\n{text[:80]}"):
            starts.insert(0, (first.group(1), 0))
        self._sections: dict[str, tuple[int, int]] = {}
        for (name, start), end in zip(starts, [start for _, start in starts[1:]] + [len(text)], strict=False):
            if name in self._sections:
                raise MatrixError(str(file), name, self.line_at(start), "the same section twice")
            self._sections[name] = (start, end)
        self._parsed: dict[str, Node] = {}
        self._entries: dict[str, dict[str, tuple[int, int]]] = {}

    @property
    def section_names(self) -> tuple[str, ...]:
        return tuple(self._sections)

    @cached_property
    def source_keys(self) -> frozenset[str]:
        return frozenset(self.entry_keys("sources"))

    def line_at(self, offset: int) -> int:
        """The line number, from 1, of a position in the text."""
        return self.text.count("\n", 0, offset) + 1

    def line_of(self, section: str, key: str | None = None) -> int:
        """Where a section or one of its entries starts; 1 when there is none."""
        span = self._index(section).get(key) if key else self._sections.get(section)
        return self.line_at(span[0]) if span else 1

    def fail(self, path: str, message: str) -> MatrixError:
        """An error about a section as a whole."""
        span = self._sections.get(path.partition("/")[0])
        return MatrixError(str(self.file), path, self.line_at(span[0]) if span else 1, message)

    def quoted(self, section: str) -> str:
        """The value of a section that is one quoted string on its line, without a YAML parser."""
        start, end = self._span(section)
        found = re.match(rf'{section}: "([^"\n]*)"', self.text[start:end])
        if not found:
            raise self.fail(section, "expected one quoted string on the same line")
        return found.group(1)

    def section_text(self, name: str) -> str | None:
        """The section as written, with the comment lines right above it left to the section before."""
        span = self._sections.get(name)
        return self.text[slice(*span)].rstrip() + "\n" if span else None

    def section(self, name: str) -> Node:
        """A whole section, parsed."""
        if name not in self._parsed:
            start, end = self._span(name)
            root = self._compose(start, end, name)
            self._parsed[name] = Node(self, root.value[0][1], name, start)
        return self._parsed[name]

    def entry_keys(self, section: str) -> tuple[str, ...]:
        """The keys of a section's entries, in order of the file, without parsing them."""
        return tuple(self._index(section))

    def entry(self, section: str, key: str) -> Node | None:
        """One entry of a section, the only thing parsed; None when there is no such key."""
        path = f"{section}/{key}"
        if path not in self._parsed:
            span = self._index(section).get(key)
            if span is None:
                return None
            root = self._compose(*span, path)
            self._parsed[path] = Node(self, root.value[0][1], path, span[0])
        return self._parsed[path]

    def _span(self, section: str) -> tuple[int, int]:
        if section not in self._sections:
            raise MatrixError(str(self.file), section, 1, "section is missing")
        return self._sections[section]

    def _index(self, section: str) -> dict[str, tuple[int, int]]:
        if section not in self._entries:
            start, end = self._span(section)
            found = [(m.group(1) or m.group(2), m.start() + 1) for m in _ENTRY.finditer(self.text, start, end)]
            index: dict[str, tuple[int, int]] = {}
            for (key, position), stop in zip(found, [position for _, position in found[1:]] + [end], strict=False):
                if key in index:
                    raise MatrixError(str(self.file), f"{section}/{key}", self.line_at(position), "the same key twice")
                index[key] = (position, stop)
            self._entries[section] = index
        return self._entries[section]

    def _compose(self, start: int, end: int, path: str) -> Any:
        import yaml  # 12 ms: not for who only asks for the date

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            root = yaml.compose(self.text[start:end], Loader=loader)
        except (yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = self.line_at(start) + (mark.line if mark else 0)
            raise MatrixError(str(self.file), path, line, f"not YAML: {getattr(error, 'problem', error)}") from error
        if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
            raise MatrixError(str(self.file), path, self.line_at(start), "expected one key here")
        return root
