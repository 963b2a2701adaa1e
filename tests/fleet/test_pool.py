"""Worker processes: order, a worker that dies, one that is held up, large lines."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from rocmdoctor.fleet import pool
from rocmdoctor.fleet.inputs import Input
from rocmdoctor.fleet.pool import Settings, read_all
from rocmdoctor.fleet.reading import Unreadable

TREE = Path(__file__).parents[2]


def lines(count: int, size: int = 10) -> Iterator[Input]:
    for n in range(count):
        yield Input(f"n{n}", f"n{n}", line=b"x" * size)


def sources(inputs: Iterator[Input], **options: Any) -> list[str]:
    return [answer.source for answer in read_all(inputs, Settings(None, False), **options)]


def test_answers_come_in_order() -> None:
    assert sources(lines(60), jobs=2) == [f"n{n}" for n in range(60)]
    assert not multiprocessing.active_children()


def test_large_lines_do_not_block_each_other() -> None:
    assert len(sources(lines(12, 3 << 20), jobs=2)) == 12


def test_a_worker_that_dies_costs_one_input() -> None:
    """The input that a worker is at when it ends is lost; those behind it are read by the next one."""
    killed: list[int] = []

    def inputs() -> Iterator[Input]:
        yield from lines(30)
        for process in multiprocessing.active_children()[:1]:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)
        yield from lines(30)

    found = list(read_all(inputs(), Settings(None, False), jobs=2))
    assert killed and [a.source for a in found] == [f"n{n}" for n in (*range(30), *range(30))]
    lost = [a for a in found if isinstance(a, Unreadable) and "ended" in a.reason]
    assert len(lost) <= 1 and not multiprocessing.active_children()


def test_workers_that_cannot_start_are_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as in a program whose main module does its work when it is imported: spawn imports it again."""
    monkeypatch.setattr(pool, "serve", len)  # ends at once with an error
    with pytest.raises(RuntimeError, match="--jobs 1"):
        sources(lines(60), jobs=2)
    assert not multiprocessing.active_children()


def test_an_input_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO that nobody writes to stands for whatever holds a reader up."""
    monkeypatch.setattr(pool, "TIME_LIMIT", 3.0)
    os.mkfifo(tmp_path / "held")

    def inputs() -> Iterator[Input]:
        yield from lines(10)
        yield Input("held", "held", path=str(tmp_path / "held"))
        yield from lines(10)

    started = time.monotonic()
    found = list(read_all(inputs(), Settings(None, False), jobs=2))
    held = [a for a in found if isinstance(a, Unreadable) and "longer than 3 s" in a.reason]
    assert [a.source for a in held] == ["held"] and len(found) == 21 and time.monotonic() - started < 60


def test_nothing_is_left_when_the_reader_stops_early() -> None:
    answers = read_all(lines(1000), Settings(None, False), jobs=2)
    next(answers)
    answers.close()
    assert not multiprocessing.active_children()


def test_ctrl_c_ends_all_with_one_line() -> None:
    """The signal of a terminal goes to the workers too: they stay silent, and nothing is left of them."""
    program = "import sys; from rocmdoctor.fleet import pool; pool.FEW = 1; from rocmdoctor.__main__ import main; main()"
    argv = [sys.executable, "-c", program, "fleet", "-", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background hands down an ignored one
    ) as started:
        assert started.stdin is not None
        started.stdin.write(b"{}\n" * 5)
        started.stdin.flush()
        parent = psutil.Process(started.pid)
        until = time.monotonic() + 30
        while len(parent.children(recursive=True)) < 3 and time.monotonic() < until:  # two workers and the resource tracker
            time.sleep(0.05)
        children = parent.children(recursive=True)
        os.killpg(started.pid, signal.SIGINT)
        _, said = started.communicate(timeout=30)
    assert (started.returncode, said) == (130, b"rocmdoctor: interrupted\n")
    assert len(children) >= 2 and not psutil.wait_procs(children, timeout=10)[1]
