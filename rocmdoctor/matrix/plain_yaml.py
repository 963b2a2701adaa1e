"""Reads the plain style of compat_matrix.yaml without PyYAML, whose import alone costs more than a check may.

The file is written in a small part of YAML: block mappings, block lists of one-line or flow values, flow collections, double
quotes, plain words. This reader knows that part and nothing else: whatever it is not sure of raises NotPlain, and PyYAML
reads that piece, so that errors are PyYAML's too. Tests hold both to the same nodes, tags and lines, on the whole file and on
damaged pieces of it.
"""

from __future__ import annotations

import re

STR, BOOL, SEQ, MAP = (f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "seq", "map"))
_BOOLS = frozenset({"true", "false"})
_SPECIAL = frozenset(
    word for name in ("yes", "no", "on", "off", "true", "false", "null") for word in (name, name.capitalize(), name.upper())
)
"""Plain words that YAML 1.1 does not read as text."""
_MAX_KEY = 1000
_MAX_DEPTH = 40

# Spaces, line ends and comments, then one of: punctuation, a quoted scalar, a plain word with what may follow it.
_FLOW = re.compile(
    r"(?:[ \n]|(?<=[ \n])#[^\n]*\n)*(?:([\[\]{},])"
    r'|"([^"\\]*(?:\\"[^"\\]*)*)"'
    r'|([A-Za-z/(](?:[^,\[\]{}:#"?\n]|(?<! )#|:(?=[\w/]))*))'
)
_LINE = re.compile(r"(?: *(?:#[^\n]*)?\n)*( *)")
_KEY = re.compile(r'(?:"([^"\\\n]*)"|([A-Za-z][^:#"\'\n]*)):(?=[ \n])')
_PLAIN = re.compile(r"[A-Za-z/(](?:[^\n:#]|(?<! )#|:(?=[^ \n]))*")
_END = re.compile(r" *(?: #[^\n]*)?(?:\n|$)")
_FOLD = re.compile(r" *\n +(?! *\n)")


class NotPlain(Exception):
    """This piece of text is for PyYAML."""


class PlainNode:
    """What this package uses of a PyYAML node: id, tag, value, and start_mark.line."""

    __slots__ = ("_at", "_text", "id", "tag", "value")

    def __init__(self, kind: str, tag: str, value: object, text: str, at: int) -> None:
        self.id, self.tag, self.value = kind, tag, value
        self._text, self._at = text, at

    @property
    def start_mark(self) -> PlainNode:
        return self

    @property
    def line(self) -> int:
        return self._text.count("\n", 0, self._at)

    def long_key(self, end: int) -> bool:
        """YAML wants a key, which ends here, on one line and short."""
        return end - self._at > _MAX_KEY or "\n" in self._text[self._at : end]


def compose(text: str) -> PlainNode:
    """The root node of a piece of YAML. Raises NotPlain for anything that is not certainly of the plain style."""
    if not text.isascii() or "\t" in text or not text.replace("\n", "").isprintable():
        raise NotPlain
    node, at = _block(text, 0, -1, 0)
    if _LINE.sub("", text[at:], 1).strip(" "):
        raise NotPlain
    return node


def _block(text: str, at: int, parent: int, depth: int) -> tuple[PlainNode, int]:
    """A block collection whose lines are indented deeper than `parent`; `at` is at the start of a line."""
    indent, at = _next_line(text, at)
    if indent <= parent or depth > _MAX_DEPTH:
        raise NotPlain
    if text.startswith("- ", at):
        return _list(text, at, indent, depth)
    start, pairs = at, []
    while True:
        found = _KEY.match(text, at)
        if not found or found.end() - at > _MAX_KEY:
            raise NotPlain
        quoted, plain = found.groups()
        key = PlainNode("scalar", STR, _word(plain) if quoted is None else quoted, text, at)
        value, at = _value(text, found.end(), indent, depth)
        pairs.append((key, value))
        following, place = _next_line(text, at)
        if place >= len(text) or following < indent:
            return PlainNode("mapping", MAP, pairs, text, start), at
        if following > indent:
            raise NotPlain
        at = place


def _list(text: str, at: int, indent: int, depth: int) -> tuple[PlainNode, int]:
    start, values = at, []
    while True:
        value, at = _value(text, at + 2, indent, depth, in_list=True)
        values.append(value)
        following, place = _next_line(text, at)
        if place >= len(text) or following < indent:
            return PlainNode("sequence", SEQ, values, text, start), at
        if following > indent or not text.startswith("- ", place):
            raise NotPlain
        at = place


def _next_line(text: str, at: int) -> tuple[int, int]:
    """Indentation and start of the next line that is neither empty nor a comment."""
    found = _LINE.match(text, at)
    assert found is not None
    return len(found.group(1)), found.end()


def _value(text: str, at: int, indent: int, depth: int, in_list: bool = False) -> tuple[PlainNode, int]:
    """What follows a key or a hyphen: a value on the line, or a block on the lines below."""
    while text.startswith(" ", at):
        at += 1
    first = text[at : at + 1]
    if first in ("\n", "#"):
        end = _END.match(text, at - 1 if first == "#" else at)
        if in_list or not end:
            raise NotPlain
        return _block(text, end.end(), indent, depth + 1)
    if first in ("{", "["):
        node, at = _flow(text, at, depth + 1)
    elif first == '"':
        found = _FLOW.match(text, at)
        if not found or found.group(2) is None:
            raise NotPlain
        node, at = PlainNode("scalar", STR, _quoted(found.group(2)), text, at), found.end()
    else:
        found = _PLAIN.match(text, at)
        if not found:
            raise NotPlain
        node, at = _scalar(found.group(), text, at), found.end()
        if text[at - 1] == " ":
            at -= 1
    end = _END.match(text, at)
    if not end:
        raise NotPlain
    return node, end.end()


def _flow(text: str, at: int, depth: int) -> tuple[PlainNode, int]:
    """A flow collection; `at` is at its bracket."""
    if depth > _MAX_DEPTH:
        raise NotPlain
    start, is_map = at, text[at] == "{"
    closing = "}" if is_map else "]"
    items: list[object] = []
    at += 1
    while True:
        key: PlainNode | None = None
        node, at, mark = _item(text, at, depth)
        if is_map and node is not None and mark is None:
            if node.id != "scalar" or node.long_key(at) or text[at : at + 2] not in (": ", ":\n"):
                raise NotPlain
            key = node
            node, at, mark = _item(text, at + 1, depth)
            if node is None:
                raise NotPlain
        if mark is None:
            if node is None:
                raise NotPlain
            items.append((key, node) if is_map else node)
            _, at, mark = _item(text, at, depth)
        elif mark != closing:
            raise NotPlain
        if mark == closing:
            kind, tag = ("mapping", MAP) if is_map else ("sequence", SEQ)
            return PlainNode(kind, tag, items, text, start), at
        if mark != ",":
            raise NotPlain


def _item(text: str, at: int, depth: int) -> tuple[PlainNode | None, int, str | None]:
    """The next node, or the comma or closing bracket that stands in its place."""
    found = _FLOW.match(text, at)
    if not found:
        raise NotPlain
    mark, quoted, plain = found.groups()
    if mark in ("{", "["):
        node, at = _flow(text, found.end() - 1, depth + 1)
        return node, at, None
    if mark:
        return None, found.end(), str(mark)
    if quoted is not None:
        return PlainNode("scalar", STR, _quoted(quoted), text, found.end() - len(quoted) - 2), found.end(), None
    return _scalar(plain, text, found.end() - len(plain)), found.end(), None


def _scalar(plain: str, text: str, at: int) -> PlainNode:
    word = plain.rstrip(" ")
    if word in _BOOLS:
        return PlainNode("scalar", BOOL, word, text, at)
    return PlainNode("scalar", STR, _word(word), text, at)


def _word(plain: str) -> str:
    word = plain.rstrip(" ")
    if word in _SPECIAL:
        raise NotPlain
    return word


def _quoted(raw: str) -> str:
    """A double-quoted scalar: line ends fold to one space."""
    if "\n" in raw:
        raw = _FOLD.sub(" ", raw)
        if "\n" in raw:  # an empty line, or text from column 0
            raise NotPlain
    return raw.replace('\\"', '"')
