"""Reading what the programs of deep checks say: never an exception, always bounded; and the programs themselves."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor import engine
from rocmdoctor.facts import Facts, deep
from rocmdoctor.facts.deep_programs import MARK, TORCH, VECTOR_ADD
from rocmdoctor.host import Command
from rocmdoctor.matrix import load_matrix
from tests.hostbuilder import HostBuilder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("stage", "state", "device", "dtype", "kind", "text", "version", "hip", "name", "gfx", "available", "count", "error")


def command(rc: int = 0, stdout: str = "", stderr: str = "", timed_out: bool = False) -> Command:
    return Command(("x",), "/usr/bin/x", rc, stdout, stderr, timed_out)


@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6), max_size=6), st.text(max_size=40))
def test_any_object_is_a_step_or_nothing(objects: list[dict[str, Any]], noise: str) -> None:
    text = "".join(f"{noise}\n{MARK}{json.dumps(o)}\n" for o in objects)
    for step in deep.parse_steps(text):
        assert step.device is None or 0 <= step.device < 1 << 16
        assert step.count is None or step.count >= 0
        assert isinstance(step.right, bool) and step.message.isprintable() and step.device_name.isprintable()
        assert all(line.isprintable() and len(line) <= 303 for line in step.lines) and len(step.lines) <= 5


@given(st.text(max_size=2000))
def test_any_text(text: str) -> None:
    deep.parse_steps(MARK + text)
    lines = deep.printable_lines(text)
    assert len(lines) <= 5 and all(line.isprintable() and line for line in lines)
    assert len(deep.python_frames(text + "(most recent call first):\n" + text)) <= 3


def test_hostile_json() -> None:
    nested = MARK + "[" * 100_000
    huge = MARK + json.dumps({"stage": "x", "state": "done", "error": 10**400, "count": True, "device": 10**30})
    many = f'{MARK}{{"stage": "x", "state": "done"}}\n' * 5000
    (step,) = deep.parse_steps(f"{nested}\n{huge}")
    assert (step.error, step.count, step.device, step.right) == (None, None, None, False)
    assert len(deep.parse_steps(many)) == deep.MAX_STEPS
    assert deep.parse_steps(MARK + '{"stage": "x", "state": "done", "text": "' + "a" * 20_000 + '"}') == ()


@pytest.mark.parametrize(
    ("said", "how", "what"),
    [
        (command(), "exit", "exit status 0"),
        (command(3), "exit", "exit status 3"),
        (command(-11), "signal", "SIGSEGV"),
        (command(134), "signal", "SIGABRT"),
        (command(-64), "signal", "SIGRTMAX"),
        (command(-200), "signal", "signal 200"),
        (command(126), "not-started", "exit status 126"),
        (command(124, timed_out=True), "time-out", "30 s"),
    ],
)
def test_endings(said: Command, how: str, what: str) -> None:
    ending = deep.ending_of(said, 30.0)
    assert (ending.how, ending.what) == (how, what)


def test_last_lines() -> None:
    text = "\n".join(f"line {n}" for n in range(9)) + "\n\n \x1b[31mred\x1b[0m \x07\u202ebidi\n" + MARK + "{}\n" + "x" * 1000
    lines = deep.printable_lines(text)
    assert lines[:3] == ("line 6", "line 7", "line 8") and lines[3] == "red   bidi" and len(lines[4]) == 303
    assert deep.ending_of(command(1, "out", "err"), 1.0).lines == ("err",)
    assert deep.ending_of(command(1, "out", " \n"), 1.0).lines == ("out",)


def test_where_it_stopped_in_python() -> None:
    trace = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x0000 (most recent call first):\n"
        '  File "/v/torch/cuda/__init__.py", line 120 in device_count\n  File "<frozen importlib._bootstrap>", line 1 in _call\n'
        '  File "/v/torch/__init__.py", line 9 in <module>\n  File "<string>", line 30 in load\n'
    )
    assert deep.python_frames(trace) == (
        'File "/v/torch/cuda/__init__.py", line 120 in device_count',
        'File "/v/torch/__init__.py", line 9 in <module>',
    )
    assert deep.python_frames("File x") == ()


def test_the_first_program_is_python_3_6() -> None:
    ast.parse(TORCH, feature_version=(3, 6))
    assert TORCH.isascii() and VECTOR_ADD.isascii() and len(TORCH) < 4000
    assert MARK in TORCH and MARK in VECTOR_ADD


def test_time_limits_fit_each_other() -> None:
    assert f"dump_traceback_later({deep.TORCH_LIMIT - 10:.0f}," in TORCH
    assert deep.TORCH_LIMIT < engine.DEEP_TIME_LIMIT - 10
    assert 2 * deep.COMPILE_LIMIT + deep.RUN_LIMIT < engine.DEEP_TIME_LIMIT


@pytest.mark.parametrize(
    ("builder", "targets"),
    [
        (HostBuilder(), ("gfx1100",)),
        (HostBuilder().gpus("gfx1036").add_gpus("gfx1100"), ("gfx1100", "gfx1036")),
        (HostBuilder().gpus("gfx90a", count=8), ("gfx90a",)),
        (HostBuilder().gpus("gfx1031").env(HSA_OVERRIDE_GFX_VERSION="10.3.0"), ("gfx1030",)),
        (HostBuilder().gpus("gfx1031").env(HSA_OVERRIDE_GFX_VERSION="10.3.0").no_command("rocminfo"), ("gfx1030",)),
        (HostBuilder().no_command("rocminfo"), ("gfx1100",)),
    ],
)
def test_targets(builder: HostBuilder, targets: tuple[str, ...]) -> None:
    assert deep.hip_targets(Facts(builder.build(), load_matrix())) == targets
