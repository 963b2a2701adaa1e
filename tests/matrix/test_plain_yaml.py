"""The reader of plain YAML against PyYAML: the same nodes, tags, values and lines, or it says that a piece is not for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor.matrix import load_matrix
from rocmdoctor.matrix.plain_yaml import NotPlain, compose
from tests.matrix.small_matrix import SMALL

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def tree(node: Any) -> object:
    """A node of either reader as plain data."""
    if node.id == "mapping":
        value: object = [(tree(key), tree(child)) for key, child in node.value]
    elif node.id == "sequence":
        value = [tree(child) for child in node.value]
    else:
        value = node.value
    return node.id, node.tag, node.start_mark.line, value


def by_pyyaml(text: str) -> object:
    return tree(yaml.compose(text, Loader=LOADER))


@cache
def pieces() -> dict[str, str]:
    """Every section and every entry of the repository's file, as the document hands them to the reader."""
    doc = load_matrix()._doc
    found = {}
    for section in doc.section_names:
        start, end = doc._span(section)
        found[section] = doc.text[start:end]
        for key, (first, last) in doc._index(section).items():
            found[f"{section}/{key}"] = doc.text[first:last]
    return found


def test_the_file_is_plain_and_read_as_pyyaml_reads_it() -> None:
    wrong = []
    for name, text in pieces().items():
        try:
            if tree(compose(text)) != by_pyyaml(text):
                wrong.append(f"{name} differs")
        except NotPlain:
            wrong.append(f"{name} is not plain: see the module's docstring for what is")
    assert wrong == []


PLAIN = [
    "a: b\n",
    "a: b",
    'a: "1.0"  # why\n',
    "a:\n  # why\n\n  b: c d\n  e: [f, g h, {i: j}]\nk: {}\n",
    "a: [b,\n    c,  # why\n    d]\n",
    "a:\n  - b\n  - {c: d}\n",
    'a: ["x, y", "z: #", ""]\n',
    "a: http://x/y#z\n",
    "a: {b: true, c: false}\n",
    "a: [b, c, ]\n",
    "a: {b: c, }\n",
    "a: (b) c's d\n",
    'a: {"1.0": b}\n',
    'a: "b\n  c"\n',
    'a: "say \\"b\\""\n',
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain(text: str) -> None:
    assert tree(compose(text)) == by_pyyaml(text)


NOT_PLAIN = [
    "",
    "a\n",
    "- a\n- b: c\n",
    "a: 1\n",
    "a: 6.10\n",
    "a: [1.0]\n",
    "a: 2026-11-30\n",
    "a: ~\n",
    "a:\n",
    "a: yes\n",
    "a: [No]\n",
    "a: null\n",
    "a: True\n",
    "1: a\n",
    "yes: a\n",
    "a: 'b'\n",
    "a: |\n  b\n",
    "a: >\n  b\n",
    "a: &x b\n",
    "a: *x\n",
    "a: !!str b\n",
    "a: b\n  c\n",
    "a:\tb\n",
    "a: b\r\n",
    "a: é\n",
    'a: "\\x41"\n',
    'a: "\\\\"\n',
    'a: "b\n',
    'a: "b" c\n',
    'a: "b\n\n  c"\n',
    'a: "b\n  \n  c"\n',
    'a: "b\nc"\n',
    'a: "b\n"\n',
    'a: {"b\n  c": d}\n',
    "a: {" + "k" * 1100 + ": b}\n",
    "a: [b\n",
    "a: [b]]\n",
    "a: {b: c]\n",
    "a: {b, c}\n",
    "a: {b}\n",
    "a: [b: c]\n",
    "a: [, b]\n",
    "a: [b,, c]\n",
    "a: {? b: c}\n",
    "a: b: c\n",
    "a:\n  b: c\n d: e\n",
    "a:\n  b: c\n   d: e\n",
    "  a: b\nc: d\n",
    "a: b\n---\nc: d\n",
    "%YAML 1.1\n---\na: b\n",
    "a: <<\n",
    "<<: a\n",
    "a: b\n...\n",
    "a: @b\n",
    "a: `b`\n",
    "a: ==\n",
    "a: .inf\n",
    "a: -b\n",
    "a: " + "[" * 60 + "]" * 60 + "\n",
    "k" * 1100 + ": a\n",
]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_not_plain(text: str) -> None:
    with pytest.raises(NotPlain):
        compose(text)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A piece of the file with a few characters taken out, put in or replaced, and a window of it."""
    names = sorted(name for name, text in pieces().items() if len(text) < 3000)
    text = draw(st.sampled_from([*(pieces()[name] for name in names), *PLAIN, SMALL]))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 3))
        new = draw(st.text(st.sampled_from(list(" \n\n:,[]{}\"'#-|>&*!?%@`~=<./\\0123abyesno\t")), max_size=4))
        text = text[:at] + new + text[at + cut :]
    return text


@settings(max_examples=600, deadline=None)
@given(damaged())
def test_damaged_pieces(text: str) -> None:
    """Whatever is read at all is read as PyYAML reads it, and what PyYAML refuses is not read."""
    try:
        node = compose(text)
    except NotPlain:
        return
    assert tree(node) == by_pyyaml(text)


@settings(max_examples=600, deadline=None)
@given(st.text(st.sampled_from(list("ab \n\n:,[]{}\"#-/(t.1'")), max_size=30))
def test_any_small_text(text: str) -> None:
    try:
        node = compose(text)
    except NotPlain:
        return
    assert tree(node) == by_pyyaml(text)
