"""`--deep` from the command line to the time limits of the engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rocmdoctor import cli, engine
from rocmdoctor.commands.asked import FAILED, OK, USAGE
from rocmdoctor.engine import Check
from rocmdoctor.results import Finding, Status

FACTS: Any = SimpleNamespace(gpus=("one",))
MATRIX: Any = None


def passes(facts: object, matrix: object) -> Iterator[Finding]:
    return iter(())


def fails(facts: object, matrix: object) -> Iterator[Finding]:
    yield Finding(Status.FAIL, "broken")


STATIC = Check("a.static", "t", passes)
DEEP = Check("a.deep", "t", passes, ("a.static",), deep=True)
AFTER_DEEP = Check("b.static", "t", passes, ("a.deep",))
ALL = (STATIC, DEEP, AFTER_DEEP)


def ids(*only: str, deep: bool = False, skip: tuple[str, ...] = ()) -> list[str]:
    return [c.id for c in engine.select(ALL, only, skip, deep=deep)]


def test_selection() -> None:
    assert ids() == ["a.static", "b.static"]
    assert ids("a") == ["a.static"]
    assert ids(skip=("a.deep",)) == ["a.static", "b.static"]
    assert ids(deep=True) == ["a.static", "a.deep", "b.static"]
    assert ids("a.deep", deep=True) == ["a.deep"]
    assert ids(deep=True, skip=("a.d*",)) == ["a.static", "b.static"]
    for pattern in ("a.deep", "a.d*"):
        with pytest.raises(engine.UnknownCheck, match="add --deep"):
            ids(pattern)


def test_a_deep_check_that_was_not_asked_for_does_not_run_because_another_comes_after_it() -> None:
    ran = []

    def noted(facts: object, matrix: object) -> Iterator[Finding]:
        ran.append("deep")
        yield Finding(Status.FAIL, "broken")

    checks = (STATIC, Check("a.deep", "t", noted, deep=True), AFTER_DEEP)
    found = engine.run(checks, engine.select(checks), FACTS, MATRIX)
    assert [(r.id, r.status) for r in found] == [("a.static", Status.PASS), ("b.static", Status.PASS)] and not ran
    found = engine.run(checks, engine.select(checks, deep=True), FACTS, MATRIX)
    assert [r.status for r in found] == [Status.PASS, Status.FAIL, Status.SKIP] and found[2].because_of == "a.deep"


def test_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep check has its own limit, and a run with one its own deadline."""

    def slow(facts: object, matrix: object) -> Iterator[Finding]:
        time.sleep(0.3)
        return iter(())

    monkeypatch.setattr(engine, "TIME_LIMIT", 0.1)
    monkeypatch.setattr(engine, "DEADLINE", 0.2)
    checks = (Check("a.slow", "t", slow), Check("b.slow", "t", slow, deep=True))
    assert [r.status for r in engine.run(checks, checks, FACTS, MATRIX)] == [Status.ERROR, Status.PASS]
    late = (Check("a.slow", "t", slow), Check("b.static", "t", passes), Check("c.static", "t", passes))
    monkeypatch.setattr(engine, "TIME_LIMIT", 5.0)
    assert [r.status for r in engine.run(late, late, FACTS, MATRIX)] == [Status.ERROR] * 3
    monkeypatch.setattr(engine, "DEEP_TIME_LIMIT", 0.1)
    assert [r.status for r in engine.run(checks, checks, FACTS, MATRIX)] == [Status.PASS, Status.ERROR]


def test_only_a_deep_check_without_deep_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "--only", "torch_arch.computes"]) == USAGE
    said = capsys.readouterr()
    assert said.out == "" and said.err.endswith("add --deep\n") and said.err.count("\n") == 1


def test_the_catalogue_marks_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["list-checks"]) == OK
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["torch_arch.computes"].endswith("(only with --deep)")
    assert "--deep" not in lines["torch_arch.gpu"]
    assert cli.run(["explain", "torch_arch.computes"]) == OK
    assert "rocmdoctor check -v --deep --only torch_arch.computes" in capsys.readouterr().out


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever this machine is, deep checks end in a report and break nothing."""
    code = cli.run(["check", "--deep", "--only", "torch_build,torch_arch,rocm_install.compiles", "--format", "json"])
    assert code in (OK, FAILED) and '"rocm_install.compiles"' in capsys.readouterr().out


def test_what_a_check_prints_is_not_data(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is for the report; a plug-in prints to standard error, whatever it thinks."""

    def chatty(facts: object, matrix: object) -> Iterator[Finding]:
        print("noise")
        yield from ()

    checks = (Check("a.chatty", "t", chatty),)
    assert [r.status for r in engine.run(checks, checks, FACTS, MATRIX)] == [Status.PASS]
    assert capsys.readouterr() == ("", "noise\n")
