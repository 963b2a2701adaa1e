"""What `install --format json` prints beside the plan: the outcome, files as they were, and refusals of the last moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.commands import changing
from rocmdoctor.host.machine import Machine
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import refusals
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.packages import InstallPackages
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan, Step, judged

Carry = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def carry(tmp_path: Path, matrix: Matrix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Carry:
    """Exit status, JSON and standard error of a plan that is carried out in a temporary root, as root."""
    machine = Machine(str(tmp_path))
    monkeypatch.setattr(changing, "this_machine", lambda: machine)
    monkeypatch.setattr("os.geteuid", lambda: 0)

    def run(*steps: Step, dry_run: bool = False) -> tuple[int, dict[str, Any], str]:
        host = machine.look()
        plan = Plan("install", "Install", steps, done=judged(steps, host))
        code = changing.carry_out(plan, host, matrix, yes=True, dry_run=dry_run, format="json", no_color=True, verbose=False)
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return run


def test_files_are_those_of_before_the_run(carry: Carry, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n")
    step = WriteFile("one", "Write /a", path="/a", text="new\n")
    code, found, _ = carry(step, dry_run=True)
    assert (code, found["outcome"], (tmp_path / "a").read_text()) == (0, None, "old\n")
    code, found, _ = carry(step)
    assert code == 0 and (tmp_path / "a").read_text() == "new\n"
    assert found["steps"][0]["files"] == [{"path": "/a", "before": "old\n", "after": "new\n", "note": ""}]
    assert found["steps"][0]["done"] is False
    assert found["outcome"]["changed"] == ["one"] and found["outcome"]["reboot_required"] is False
    code, found, _ = carry(step)
    assert (code, found["status"]) == (0, "nothing-to-do")
    assert found["outcome"]["status"] == "unchanged" and found["outcome"]["changed"] == []


def test_a_reboot_that_is_still_due_is_no_change(carry: Carry) -> None:
    code, found, _ = carry(RebootNotice("reboot", "Reboot", needs=("reboot",)))
    assert (code, found["status"]) == (0, "nothing-to-do")
    assert found["outcome"]["changed"] == [] and found["outcome"]["reboot_required"] is True


def test_a_busy_package_manager_is_a_refusal(carry: Carry, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a program can tell it from others, and try again."""
    monkeypatch.setattr(refusals, "busy", lambda target, manager: iter([f"{manager} is at work"]))
    monkeypatch.setattr(InstallPackages, "is_done", lambda self, host: False)
    code, found, err = carry(InstallPackages("rocm", "Install", manager="apt"))
    assert code == 1 and found["status"] == "refused" and found["outcome"] is None
    assert found["refusals"] == [{"code": "busy", "reason": "apt is at work", "help": "wait until it has ended"}]
    assert "refused: apt is at work" in err
