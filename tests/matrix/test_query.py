"""Pairs and suggestions, in the API and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocmdoctor.commands.matrix import app
from rocmdoctor.matrix import Matrix, Verdict
from tests.matrix.small_matrix import SMALL

GOOD = {"rocm": "6.2", "os": "ubuntu:22.04", "kernel": "6.8", "gfx": "gfx90a", "torch": "2.5.1", "python": "3.10"}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def options(what: dict[str, str]) -> list[str]:
    return [part for name, value in what.items() for part in (f"--{name}", value)]


def test_every_pair_is_answered(matrix: Matrix) -> None:
    answers = matrix.query(**GOOD)
    assert [a.verdict for a in answers] == [Verdict.SUPPORTED] * len(answers)
    assert [a.question for a in answers] == [
        "ubuntu 22.04 with ROCm 6.2.4",
        "kernel 6.8 on ubuntu 22.04 with ROCm 6.2.4",
        "gfx90a with ROCm 6.2.4 on ubuntu 22.04",
        "Python 3.10 with ROCm 6.2.4",
        "PyTorch 2.5.1 with ROCm 6.2.4",
        "PyTorch 2.5.1 on gfx90a",
        "PyTorch 2.5.1 with Python 3.10",
    ]
    assert all(a.source for a in answers)


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ({"rocm": "10.1", "os": "debian:13", "gfx": "gfx1100"}, "not for gfx1100"),
        ({"torch": "2.5.1", "python": "3.13"}, "cp39, cp310"),
        ({"torch": "2.5.1", "gfx": "gfx1201"}, "none of rocm6.1, rocm6.2 is compiled for gfx1201"),
        ({"torch": "2.5.1", "rocm": "7.2"}, "wheels for rocm6.1, rocm6.2 only"),
        ({"rocm": "7.2.0", "driver": "6.2.4"}, "not for 7.2.0"),
        ({"torch": "2.14.1", "driver": "6.2.4"}, "not for"),
        ({"rocm": "10.1", "python": "3.9"}, "not 3.9"),
    ],
)
def test_what_does_not_fit(matrix: Matrix, what: dict[str, str], word: str) -> None:
    answers = matrix.query(**what)
    assert any(a.verdict is Verdict.UNSUPPORTED and word in a.reason for a in answers), answers
    code, _ = run("query", *options(what))
    assert code == 1


def test_unknown_is_not_unsupported(matrix: Matrix) -> None:
    for what in ({"rocm": "10.2", "gfx": "gfx90a"}, {"torch": "2.15.0", "gfx": "gfx90a"}, {"rocm": "7.0.2", "python": "3.12"}):
        assert {a.verdict for a in matrix.query(**what)} == {Verdict.UNKNOWN}
        assert run("query", *options(what))[0] == 0
        assert matrix.suggest(**what) == []


def test_amd_lists_a_torch_without_an_official_index(matrix: Matrix) -> None:
    assert matrix.query(rocm="10.1", torch="2.14.0")[0].verdict is Verdict.SUPPORTED
    assert matrix.query(rocm="7.0.2", torch="2.8.0")[0].verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("what", "element", "new"),
    [
        ({**GOOD, "kernel": "6.11"}, "kernel", "6.8"),
        ({"torch": "2.5.1", "python": "3.13"}, "python", "3.12"),
        ({"torch": "2.5.1", "python": "3.13"}, "torch", "2.6.0"),
        ({"torch": "2.5.1", "gfx": "gfx1201"}, "torch", "2.7.0"),
        ({"rocm": "7.2.0", "driver": "6.2.4"}, "driver", "6.4.0"),
        ({"rocm": "6.2.0", "os": "ubuntu:20.04"}, "os", "ubuntu:22.04"),
        ({"rocm": "6.2.0", "gfx": "gfx1201"}, "rocm", "6.4.1"),
    ],
)
def test_nearest_change(matrix: Matrix, what: dict[str, str], element: str, new: str) -> None:
    found = [s for s in matrix.suggest(**what) if s.element == element]
    assert found and found[0].new == new, found
    assert found[0].old == what[element]
    assert not any(a.verdict is Verdict.UNSUPPORTED for a in found[0].answers)


def test_the_gpu_is_never_changed(matrix: Matrix) -> None:
    assert matrix.suggest(rocm="6.2.0", gfx="gfx1036") == []
    assert run("suggest", "--rocm", "6.2.0", "--gfx", "gfx1036")[0] == 1


def test_nothing_to_change(matrix: Matrix) -> None:
    assert matrix.suggest(**GOOD) == []
    code, output = run("suggest", *options(GOOD))
    assert code == 0 and "Nothing to change" in output


@pytest.mark.parametrize(
    "what",
    [
        {"rocm": "six"},
        {"os": "ubuntu"},
        {"gfx": "MI300X"},
        {"python": "2.7"},
        {"torch": "newest"},
        {"driver": "x"},
        {"colour": "red"},
    ],
)
def test_unreadable_elements(matrix: Matrix, what: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"unknown element|is not"):
        matrix.query(**what)


@pytest.mark.parametrize(
    "arguments",
    [
        ("query",),
        ("query", "--rocm", "6.2"),
        ("query", "--rocm", "6.2", "--gfx", "MI300X"),
        ("query", "--kernel", "6.8", "--gfx", "gfx90a"),
        ("query", "--rocm", "6.2", "--gfx", "gfx90a", "--matrix", "/nonexistent"),
        ("query", "--format", "xml", "--rocm", "6.2", "--gfx", "gfx90a"),
        ("show", "colours"),
        ("suggest", "--torch", "2.5.1"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2


def test_query_text_and_json(matrix: Matrix) -> None:
    code, text = run("query", *options(GOOD))
    assert code == 0
    assert "supported   gfx90a with ROCm 6.2.4 on ubuntu 22.04" in text and "source: ROCm/" in text
    code, text = run("query", *options(GOOD), "--format", "json")
    data = json.loads(text)
    assert code == 0 and data["matrix_date"] == matrix.date
    assert {a["verdict"] for a in data["answers"]} == {"supported"}
    assert set(data["answers"][0]) == {"verdict", "question", "reason", "source", "confidence"}
    code, text = run("suggest", "--torch", "2.5.1", "--python", "3.13", "--format", "json")
    data = json.loads(text)
    assert code == 0 and data["suggestions"][0]["to"] == "2.6.0" and data["unsupported"]


def test_show(matrix: Matrix) -> None:
    for version in matrix.versions:
        code, text = run("show", version)
        assert code == 0 and f"ROCm {version} (" in text
        assert json.loads(run("show", version, "--format", "json")[1])["version"] == version
    for section in matrix.sections:
        code, text = run("show", section)
        assert code == 0 and text.startswith(f"{section}:")
    assert "releases: 5.7.0, 5.7.1" in run("show")[1]
    assert json.loads(run("show", "--format", "json")[1])["releases"][-1] == "10.1.0"
    assert json.loads(run("show", "gfx", "--format", "json")[1])["text"].startswith("gfx:")


def test_lint_of_the_repository() -> None:
    code, text = run("lint")
    assert code == 0, text
    assert json.loads(run("lint", "--format", "json")[1])["problems"] == []


def test_lint_of_a_wrong_file(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.replace('kernels: ["5.15", "6.8"]', "kernels: [5.15]"), encoding="utf-8")
    code, text = run("lint", "--matrix", str(file))
    assert code == 1
    assert "releases/6.2.0/os/rows/0/kernels/0: expected text, found a number" in text
    assert "section is missing" in text
    code, text = run("lint", "--matrix", str(file), "--format", "json")
    assert code == 1 and len(json.loads(text)["problems"]) > 5
