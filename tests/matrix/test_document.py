"""A wrong file: the error names file, place and line. A right one: only what is asked is parsed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmdoctor.matrix import Matrix, MatrixError, Verdict, load_matrix
from tests.matrix.small_matrix import SMALL, line_of, load_text


def ask_release(matrix: Matrix) -> object:
    release = matrix.release("6.2.0")
    return release and release.everything()


def ask_gpu(matrix: Matrix) -> object:
    return matrix.gpu("6.2.0", "gfx90a")


WRONG: list[tuple[str, str, str, str, str]] = [
    # what is wrong, replace this, by this, place in the document, words of the message
    ("float version", 'kernels: ["5.15", "6.8"]', "kernels: [5.15, 6.8]", "releases/6.2.0/os/rows/0/kernels/0", "found a number"),
    ("integer", 'point: "22.04.5"', "point: 22", "releases/6.2.0/os/rows/0/point", "versions are quoted strings"),
    ("date as a date", 'date: "2024-08-02"', "date: 2024-08-02", "releases/6.2.0/date", "found a date"),
    (
        "wrong type",
        "products: [Instinct MI210]",
        "products: Instinct MI210",
        "releases/6.2.0/gpus/rows/0/products",
        "expected a list",
    ),
    ("mapping for text", "{gfx: gfx90a,", "{gfx: {a: b},", "releases/6.2.0/gpus/rows/0/gfx", "expected text"),
    ("unknown key", "line: classic", "line: classic\n    colour: red", "releases/6.2.0/colour", "unknown key 'colour'"),
    ("unknown row key", "{gfx: gfx90a,", "{gfx: gfx90a, x: y,", "releases/6.2.0/gpus/rows/0/x", "unknown key 'x'"),
    ("key twice", "line: classic", "line: classic\n    line: preview", "releases/6.2.0/line", "the same key twice"),
    ("missing key", '    date: "2024-08-02"\n', "", "releases/6.2.0", "missing key date"),
    ("unknown word", "line: classic", "line: clasic", "releases/6.2.0/line", "not one of classic, preview, therock"),
    (
        "unresolved source",
        "    source: [page]\n    os:",
        "    source: [gone]\n    os:",
        "releases/6.2.0/source/0",
        "'gone' is not in the section",
    ),
    ("null", "products: [Instinct MI210]", "products: [null]", "releases/6.2.0/gpus/rows/0/products/0", "found nothing"),
    (
        "flag",
        "{gfx: gfx90a,",
        "{gfx: gfx90a, limits: [{open: 1}],",
        "releases/6.2.0/gpus/rows/0/limits/0/open",
        "expected true or false",
    ),
    ("os without version", "{os: ubuntu 22.04,", "{os: ubuntu,", "releases/6.2.0/os/rows/0/os", 'expected "id version"'),
    ("like unknown", "line: classic", 'like: "6.1.0"', "releases/6.2.0/like", "names 6.1.0, which is not in the section"),
    ("like itself", "line: classic", 'like: "6.2.0"', "releases/6.2.0/like", "goes in a circle"),
    ("not YAML", "{gfx: gfx90a,", "{gfx: gfx90a]", "releases/6.2.0", "not YAML"),
    (
        "drop nothing",
        "      rows:\n        - {gfx",
        "      drop: [gfx1]\n      rows:\n        - {gfx",
        "releases/6.2.0/gpus/drop/0",
        "drops nothing",
    ),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_file(tmp_path: Path, old: str, new: str, place: str, words: str) -> None:
    assert SMALL.count(old) == 1
    text = SMALL.replace(old, new)
    with pytest.raises(MatrixError) as caught:
        ask_release(load_text(tmp_path, text))
    error = caught.value
    assert error.path == place
    assert words in error.message
    assert str(error).startswith(f"{tmp_path / 'matrix.yaml'}:{error.line}: ")
    expected = line_of(text, new.split("\n")[-1] if new else '  "6.2.0":')
    assert abs(error.line - expected) <= 2


def test_lines_are_exact(tmp_path: Path) -> None:
    text = SMALL.replace('kernels: ["5.15", "6.8"]', "kernels: [5.15]")
    with pytest.raises(MatrixError) as caught:
        ask_release(load_text(tmp_path, text))
    assert caught.value.line == line_of(text, "[5.15]")


def test_circle_of_two(tmp_path: Path) -> None:
    text = (
        SMALL.replace("    line: classic\n", '    like: "6.2.1"\n')
        + '  "6.2.1": {like: "6.2.0", date: unknown, source: [page]}\n'
    )
    with pytest.raises(MatrixError, match=re.escape("6.2.0 -> 6.2.1 -> 6.2.0")):
        ask_release(load_text(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "section is missing"),
        ("date: 2026-11-30\n", "one quoted string"),
        ('date: "soon"\n', "not a date"),
        ('date: "2026-11-30"\ndate: "2026-11-30"\n', "the same section twice"),
    ],
)
def test_wrong_date(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(MatrixError, match=words):
        load_text(tmp_path, text)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="cannot be read"):
        load_matrix(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MatrixError, match="cannot be read"):
        load_matrix(tmp_path / "binary.yaml")


def test_entry_twice(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="the same key twice"):
        ask_release(load_text(tmp_path, SMALL + RELEASE_AGAIN))


RELEASE_AGAIN = '  "6.2.0": {date: unknown, line: classic, source: [page]}\n'


def test_an_error_stays_in_its_section(tmp_path: Path) -> None:
    """A wrong release does not keep other questions from their answers."""
    matrix = load_text(tmp_path, SMALL + '  "6.3.0": {date: 1}\n')
    assert matrix.versions == ("6.2.0", "6.3.0")
    assert matrix.gpu("6.2.0", "gfx90a").verdict is Verdict.SUPPORTED
    with pytest.raises(MatrixError):
        matrix.release("6.3.0")


def test_issues_are_sources(tmp_path: Path) -> None:
    matrix = load_text(tmp_path, SMALL.replace("    source: [page]\n    os:", "    source: [ROCm/TheRock#7183]\n    os:"))
    release = matrix.release("6.2.0")
    assert release is not None and release.source == ("ROCm/TheRock#7183",)


INHERITED = """\
  "6.2.1":
    like: "6.2.0"
    date: "2024-09-20"
    source: [page]
    os:
      rows:
        - {os: ubuntu 24.04, kernels: ["6.8"]}
    gpus:
      confidence: derived
      rows:
        - {gfx: gfx1100, products: [Radeon RX 7900 XTX]}
  "6.2.2":
    like: "6.2.1"
    date: unknown
    source: [page]
    os: {drop: [ubuntu 22.04.5]}
    gpus: {confidence: stated, rows: [{gfx: gfx90a, products: [Instinct MI250]}]}
  "6.2.3": {like: "6.2.2", date: unknown, source: [page], os: unknown}
"""


def test_inheritance(tmp_path: Path) -> None:
    matrix = load_text(tmp_path, SMALL + INHERITED)
    first, second, third = (matrix.release(f"6.2.{n}") for n in (1, 2, 3))
    assert first is not None and second is not None and third is not None
    assert [r.key for r in first.os_rows or ()] == ["ubuntu 22.04.5", "ubuntu 24.04"]
    assert [r.key for r in second.os_rows or ()] == ["ubuntu 24.04"]
    assert third.os_rows is None and third.line == "classic"
    assert [(g.gfx, g.confidence) for g in first.gpu_rows or ()] == [("gfx90a", "derived"), ("gfx1100", "derived")]
    assert {g.gfx: (g.products, g.confidence) for g in third.gpu_rows or ()} == {
        "gfx1100": (("Radeon RX 7900 XTX",), None),
        "gfx90a": (("Instinct MI250",), None),
    }
    assert (second.date, first.date) == (None, "2024-09-20")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("question", "yaml"),
    [("m.date", False), ("m.versions", False), ("m.resolve('6.2')", False), ("m.pci_gpu('744c')", True)],
)
def test_yaml_is_imported_by_the_first_question_that_needs_it(question: str, yaml: bool) -> None:
    code = f"import sys; from rocmdoctor.matrix import load_matrix; m = load_matrix(); {question}; print('yaml' in sys.modules)"
    assert run(code) == str(yaml)


def test_only_the_asked_entries_are_parsed(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = load_matrix(matrix.path)
    parsed: list[str] = []
    compose: Callable[..., object] = fresh._doc._compose

    def spy(start: int, end: int, path: str) -> object:
        parsed.append(path)
        return compose(start, end, path)

    monkeypatch.setattr(fresh._doc, "_compose", spy)
    fresh.pci_gpu("744c", "c8")
    assert parsed == ["pci_ids/744c", "chips/Navi 31", "gfx/gfx1100", "gfx/source"]
    parsed.clear()
    fresh.release("6.2.4")
    assert parsed == ["releases/6.2.4", "releases/6.2.1", "releases/6.2.0"]
