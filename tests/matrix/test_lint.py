"""Faults that no schema sees: each is put into the real file, one at a time, and found at its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocmdoctor.matrix import Matrix
from tests.matrix.small_matrix import line_of, load_text

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "compat_matrix.schema.json").read_text(encoding="utf-8"))

FAULTS: list[tuple[str, str, str, str]] = [
    # (replace, by, place of the problem, words)
    (
        "{gfx: gfx1030, products: [Radeon PRO W6800, Radeon PRO V620]}",
        "{gfx: gfx1039, products: [X]}",
        "releases/5.7.0",
        "gfx1039 is not in",
    ),
    (
        '- {os: centos 7, point: "7.9"',
        '- {os: plan9 7, point: "7.9"',
        "releases/5.7.0",
        "plan9 is not in the section distributions",
    ),
    ("- {os: rhel 7.9,", "- {os: rhel 6.9,", "releases/5.7.0", "distributions/rhel/listed lacks 6.9"),
    (
        'last_good: "6.4", source: [ROCm',
        'last_good: "6.4", source: [gone, ROCm',
        "known_faults/gfx803_stops_all/source/0",
        "'gone' is not in the section sources",
    ),
    ("verdict: risky", "verdict: fatal", "overrides/rules/0/verdict", "not one of ok"),
    (
        'value: "10.3.0", rocm: {from: "6.4.3"',
        'value: "10.3", rocm: {from: "6.4.3"',
        "overrides/rules/0/value",
        "not major.minor.stepping",
    ),
    ("systems: docs-5.7, source: [docs571]}", "systems: docs-4.0, source: [docs571]}", "recipe_systems/docs-4.0", "is missing"),
    (
        '"6.0.2": {form: classic-5, dir: "6.0.2", driver: "6.0.2"',
        '"6.0.2": {form: classic-5, dir: "6.0.2", driver: "9.9"',
        "recipes/6.0.2",
        "driver 9.9",
    ),
    ("classic-6/apt: {like: classic-5/apt", "classic-6/apt: {like: classic-6/apt", "recipe_forms/classic-6/apt/like", "circle"),
    (
        "rocm/apt/{dir} {codename} main",
        "rocm/apt/{dir} {colour} main",
        "recipe_forms/classic-5/apt/rocm/lines/0",
        "unknown placeholder",
    ),
    ("Navi 31: {gfx: gfx1100", "Navi 31: {gfx: gfx1109", "chips/Navi 31", "gfx1109 is not in the section gfx"),
    ('"744c": {chip: Navi 31', '"744c": {chip: Navi 39', "pci_ids/744c/chip", "chip 'Navi 39' is not in the section"),
    ('"6.2": torch-2.3}', '"6.2": torch-9.9}', "torch_releases/2.5.0/indexes/6.2", "not in the section arch_lists"),
    ('with: "30.20.0"', 'with: "30.25.0"', "releases/7.1.0", "driver 30.25.0 is not in"),
    ("\nwsl:\n", "\nwls:\n", "wls", "unknown section"),
    (
        "index: stable-10, cpython",
        "index: stable-11, cpython",
        "therock_torch/10.1.0/index",
        "not in the section therock_indexes",
    ),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), FAULTS, ids=[f[2] for f in FAULTS])
def test_faults(matrix: Matrix, tmp_path: Path, old: str, new: str, place: str, words: str) -> None:
    text = matrix.path.read_text(encoding="utf-8")
    assert old in text
    broken = load_text(tmp_path, text.replace(old, new, 1))
    found = [p for p in broken.lint() if p.path == place and words in p.message]
    assert found, broken.lint()
    assert found[0].line > 1 or not new


def test_order_of_the_file(matrix: Matrix, tmp_path: Path) -> None:
    text = matrix.path.read_text(encoding="utf-8")
    moved = text.replace('  "7.14.1":\n', '  "7.1.9":\n', 1)
    problems = load_text(tmp_path, moved).lint()
    assert any("which is not older" in p.message and p.line == line_of(moved, '  "7.1.9":') for p in problems)


def test_a_source_that_nothing_names(matrix: Matrix, tmp_path: Path) -> None:
    text = matrix.path.read_text(encoding="utf-8").replace("sources:\n", 'sources:\n  leftover: "a page"\n', 1)
    assert [p.path for p in load_text(tmp_path, text).lint()] == ["sources/leftover"]


def loaded(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def test_schema(matrix: Matrix) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(loaded(matrix.path.read_text(encoding="utf-8"))))
    assert not errors, [(list(e.absolute_path), e.message) for e in errors[:5]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kernels: ["3.10"]', "kernels: [3.10]"),
        ("line: classic\n", "line: classic\n    colour: red\n"),
        ('date: "2026-11-30"', "date: 2026-11-30"),
        ("class: radeon,", "class: gpu,"),
        ("source: [gpuos57, vers, rel]", "source: gpuos57"),
    ],
)
def test_schema_refuses(matrix: Matrix, old: str, new: str) -> None:
    data = loaded(matrix.path.read_text(encoding="utf-8").replace(old, new, 1))
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))


def test_the_file_is_readable(matrix: Matrix) -> None:
    """A maintained file: no long lines, no tabs, every version quoted, well under 2,500 lines."""
    lines = matrix.path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 2500
    assert not [n for n, line in enumerate(lines, 1) if len(line) > 165 or "\t" in line or line != line.rstrip()]
    first = lines.index("driver_windows:")  # sources are prose
    plain = [
        n for n, line in enumerate(lines[first:], first) if re.search(r"[\[{,:] \d+\.\d+[\],}]", re.sub(r'"[^"]*"|#.*', "", line))
    ]
    assert not plain


def test_it_says_nothing_of_this_machine(matrix: Matrix) -> None:
    text = matrix.path.read_text(encoding="utf-8")
    assert not re.search(r"/home/|/tmp/|/root/", text)
