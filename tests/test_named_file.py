"""Files that the user names: a pipe is read, and what has no end or no writer ends."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from rocmdoctor import named_file
from rocmdoctor.cli import run


def test_a_file_and_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    assert named_file.read(str(path), 10) == b"x" * 10
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def late() -> None:
        time.sleep(0.1)
        fifo.write_bytes(b"late")

    writer = threading.Thread(target=late)
    writer.start()
    assert named_file.read(str(fifo), 10, 5) == b"late"
    writer.join()


def test_what_cannot_be_read_ends(tmp_path: Path) -> None:
    fifo, large = tmp_path / "fifo", tmp_path / "large"
    os.mkfifo(fifo)
    large.write_bytes(b"x" * 1025)
    for path, why in (
        (fifo, "does not end within"),
        (large, "larger than 1 KiB"),
        (Path("/dev/zero"), "larger than 1 KiB"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none", "No such file"),
        (Path("a\0b"), "no file can have that name"),
    ):
        with pytest.raises(named_file.NotRead, match=why):
            named_file.read(str(path), 1024, 0.2)


@pytest.mark.parametrize(
    "argv", [["check", "--matrix"], ["check", "--baseline"], ["install", "--dry-run", "--lock"], ["matrix", "lint", "--matrix"]]
)
@pytest.mark.parametrize("kind", ["zero", "fifo", "nested"])
def test_wrong_usage_on_the_command_line(
    argv: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(named_file.read, "__defaults__", (0.2,))
    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    path = Path("/dev/zero") if kind == "zero" else path
    if kind == "nested":
        path.write_text("[" * 100_000)
    assert run([*argv, str(path)]) == 2
    said = capsys.readouterr()
    assert len(said.err.strip().splitlines()) == 1 and said.out == ""
