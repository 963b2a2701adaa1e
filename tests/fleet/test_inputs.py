"""What is found under the paths that are given, and under which name."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from rocmdoctor.fleet import inputs
from rocmdoctor.fleet.inputs import Input, find
from tests.hostbuilder import HostBuilder


def names(*paths: Path) -> list[str]:
    return [found.name for found in find([str(p) for p in paths])]


def write(path: Path, text: str | bytes = "{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_folder_gives_its_files_and_snapshots_by_name(tmp_path: Path) -> None:
    HostBuilder().write(tmp_path / "node2")
    write(tmp_path / "node10.tar.gz", b"\x1f\x8b")
    write(tmp_path / "node1.json")
    write(tmp_path / "rack2" / "node3", b"\x1f\x8b")
    write(tmp_path / "README", "about these files")
    assert names(tmp_path) == ["node1", "node10", "node2", "node3"]


def test_a_file_with_a_common_name_has_the_name_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "node1" / "var" / "tmp" / "snapshot.tar.gz", b"\x1f\x8b")
    write(tmp_path / "node2" / "report.json")
    assert names(tmp_path) == ["node1", "node2"]
    assert names(tmp_path / "node2" / "report.json") == ["node2"]


def test_lines_of_a_stream_are_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "all.jsonl", '{"a": 1}\n\n{"a": 2}\n')
    found = list(find([str(file)]))
    assert [(f.name, f.line) for f in found] == [(f"{file}:1", b'{"a": 1}\n'), (f"{file}:3", b'{"a": 2}\n')]

    class Stdin:
        buffer = io.BytesIO(b'{"a": 3}')

    monkeypatch.setattr("sys.stdin", Stdin)
    assert [f.name for f in find(["-"])] == ["-:1"]


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": 1}\n', '{\n "a": 1\n}\n', '{"a": 1}\n\n \n'])
def test_a_file_with_one_object_is_opened_by_its_reader(tmp_path: Path, text: str) -> None:
    assert list(find([str(write(tmp_path / "node1.json", text))])) == [
        Input("node1", str(tmp_path / "node1.json"), path=str(tmp_path / "node1.json"))
    ]


def test_a_line_that_is_too_long_is_one_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_LINE", 100)
    file = write(tmp_path / "all.json", '{"a": 1}\n' + json.dumps({"a": "x" * 5000}) + '\n{"a": 2}\n')
    found = list(find([str(file)]))
    assert [bool(f.fault) for f in found] == [False, True, False]


def test_what_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = list(find([str(tmp_path / "gone.tar.gz"), str(tmp_path / "empty")]))
    assert [(f.name, bool(f.fault)) for f in found] == [("gone", True), ("empty", True)]


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "node1.json")
    os.symlink(tmp_path, tmp_path / "loop")
    assert names(tmp_path) == ["node1"]
