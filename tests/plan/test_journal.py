"""A journal that cannot be written any more, and a run that is complete: what is said, what has been done, and how it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan import journal, kept, verify
from rocmdoctor.plan.apply import Outcome
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan
from rocmdoctor.plan.undo import undo
from rocmdoctor.reports import plan_runs, plan_text
from rocmdoctor.results import Report
from tests.plan.fake_machine import FakeMachine, File, Quiet, journal_lines
from tests.plan.test_apply import end_state, machine, whole_plan

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "runs.schema.json").read_text(encoding="utf-8"))
FULL = "the disk is full"


class Full(FakeMachine):
    """`room`: lines that the file system of the journal still has room for; of the next one half is written."""

    lines = 1 << 30

    def append(self, path: str, data: bytes) -> None:
        if self.lines > 0:
            self.lines -= 1
            super().append(path, data)
            return
        super().append(path, data[: len(data) // 2])
        raise ChangeFailed(f"cannot write {path}: {FULL}")


def full(lines: int, host: FakeMachine | None = None) -> Full:
    made = Full(**vars(host or machine()))
    made.lines = lines
    return made


def all_lines() -> int:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    return len(journal_lines(host))


def done_by(lines: int) -> list[str]:
    """The steps that are done when that many lines have been written: what the next line reports counts too."""
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    rows = journal_lines(host)[: lines + 1]
    return [row["step"] for row in rows if row["type"] == "result"]


def test_nothing_is_begun_that_cannot_be_written_down() -> None:
    host = full(0)
    with pytest.raises(ChangeFailed, match=f"cannot write .*{FULL}; nothing was changed"):
        applying.apply(whole_plan(), host, Quiet())
    assert host.picture() == machine().picture()
    host.lines = 1000
    assert applying.apply(whole_plan(), host, Quiet()).status == "done", "half a plan is none"
    assert host.picture() == end_state(False)


@pytest.mark.parametrize("back", [False, True], ids=["resume", "undo"])
@pytest.mark.parametrize("lines", range(1, all_lines() + 1))
def test_the_disk_fills_behind_every_line(lines: int, back: bool) -> None:
    """The message says what has been done until then and what can be done once there is room. The last row is healthy."""
    host = full(lines)
    outcome = applying.apply(whole_plan(), host, Quiet())
    if lines == all_lines():
        assert outcome.status == "done"
        return
    assert outcome.status == "failed" and outcome.message.startswith(f"cannot write {journal.FOLDER}/")
    assert FULL in outcome.message and list(outcome.changed) == done_by(lines)
    said = plan_text.outcome(outcome)
    for word in (*outcome.changed, "once the journal can be written", "`rocmdoctor install --resume`", "`rocmdoctor undo`"):
        assert said.count(word) >= 1, said
    assert said.count("--resume") == 1 and len(said) < 600
    for again in (applying.resume, undo):
        with pytest.raises(ChangeFailed, match="nothing"):
            again(None, host, Quiet())
    host.lines = 1000
    if back:
        assert undo(None, host, Quiet()).status == "done"
        assert host.picture() == machine().picture()
    else:
        assert applying.resume(None, host, Quiet()).status == "done"
        assert host.picture() == end_state(False)


def test_the_disk_fills_behind_every_line_of_undo() -> None:
    lines = 0
    while True:
        host = full(1000)
        applying.apply(whole_plan(), host, Quiet())
        before = len(journal_lines(host))
        host.lines = lines
        if lines == 0:
            with pytest.raises(ChangeFailed, match=f"{FULL}; nothing was taken back"):
                undo(None, host, Quiet())
        else:
            outcome = undo(None, host, Quiet())
            if outcome.status == "done":
                break
            said = plan_runs.taken_back(outcome, "text")
            assert "steps are taken back" in said and "rocmdoctor undo" in said and "step None" not in said
            assert all(step in said for step in outcome.changed)
        assert len(journal_lines(host)) == before + lines
        host.lines = 1000
        assert undo(None, host, Quiet()).status == "done"
        assert host.picture() == machine().picture()
        lines += 1
    assert lines > 10


def test_the_state_folder_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    host = machine()

    def refuse(path: str, mode: int = 0o755) -> None:
        raise ChangeFailed(f"cannot make the folder {path}: the file system is read-only")

    monkeypatch.setattr(host, "make_folder", refuse)
    acts: tuple[Callable[[], Outcome], ...] = (
        lambda: applying.apply(whole_plan(), host, Quiet()),
        lambda: applying.resume(None, host, Quiet()),
        lambda: undo(None, host, Quiet()),
    )
    for act in acts:
        with pytest.raises(ChangeFailed, match=f"{kept.STATE}: the file system is read-only; nothing was changed"):
            act()


# runs that are complete ------------------------------------------------------------------------------------------


def file(name: str) -> WriteFile:
    return WriteFile(name, f"Write {name}", path=f"/opt/{name}", text="x\n")


def ran(host: FakeMachine, command: str, *names: str) -> str:
    outcome = applying.apply(Plan(command, f"{command} {names[0]}", tuple(map(file, names))), host, Quiet())
    assert outcome.run_id is not None
    return outcome.run_id


def test_resuming_a_complete_run_says_what_it_did() -> None:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    before = host.picture()
    for boot, waits in (("boot-1", True), ("boot-2", False)):
        host.boot_id = boot
        outcome = applying.resume(None, host, Quiet())
        assert (outcome.status, outcome.changed, outcome.reboot) == ("unchanged", (), waits), "no change for Ansible"
        said = plan_text.outcome(outcome)
        assert f"the newest run {outcome.run_id} is complete: Install ROCm 6.2.4, 9 steps done." in said
        assert ("Reboot to load the new driver" in said) is waits
        shown = json.loads(plan_runs.ended(outcome))
        jsonschema.validate(shown, SCHEMA)
        assert shown["outcome"]["changed"] == [] and shown["outcome"]["reboot_required"] is waits
        assert verify.verify(None, host).reboot == ("needed" if waits else "done")
    assert host.picture() == before


def test_which_run_is_resumed() -> None:
    """The newest one that is not complete, but none whose place another installation has taken."""
    host = machine()
    with pytest.raises(ChangeFailed, match=r"^there is no run to resume$"):
        applying.resume(None, host, Quiet())
    first = ran(host, "install", "a")
    assert applying.resume(None, host, Quiet()).run_id == first
    host.fails = {"false": "no"}
    broken = Plan("install", "broken", (WriteFile("b", "Write b", path="/opt/b", text="x\n", then=("false",)),))
    failed = applying.apply(broken, host, Quiet()).run_id
    host.fails = {}
    ran(host, "fix", "c")
    outcome = applying.resume(None, host, Quiet())
    assert (outcome.status, outcome.run_id) == ("done", failed), "a fix takes nobody's place"
    host.fails = {"false": "no"}
    (step,) = broken.steps
    assert isinstance(step, WriteFile)
    again = Plan("install", "broken", (WriteFile("b", "Write b", path="/opt/d", text="x\n", then=("false",)),))
    assert applying.apply(again, host, Quiet()).status == "failed"
    last = ran(host, "install", "e")
    outcome = applying.resume(None, host, Quiet())
    assert (outcome.status, outcome.run_id) == ("unchanged", last)
    assert "/opt/d" in host.files, "its file was written, its program was not run, and is not now"


def test_runs_that_were_taken_back() -> None:
    host = machine()
    name = ran(host, "install", "a")
    undo(None, host, Quiet())
    with pytest.raises(ChangeFailed, match=f"^there is no run to resume: {name} has been taken back$"):
        applying.resume(None, host, Quiet())


def test_the_forms_of_runs_fit_their_schema() -> None:
    host = machine()
    applying.apply(Plan("install", "x", (file("a"), RebootNotice("reboot", "Reboot"))), host, Quiet())
    (entry,) = journal.runs(host)
    found = verify.verify(None, host)
    report = Report({}, (), "", "")
    texts = [plan_runs.listing([entry], "json"), plan_runs.taking_back(entry, "json"), plan_runs.listing([], "json")]
    assert found.reboot == "needed"
    texts.append(plan_runs.verified(found, report, "json", 80))
    texts.append(plan_runs.taken_back(undo(None, host, Quiet()), "json"))
    for text in texts:
        jsonschema.validate(json.loads(text), SCHEMA)


# programs that had ended when their run was killed ---------------------------------------------------------------

SOURCE = "/etc/apt/sources.list.d/perl.list"
ADD = RunCommand("project", "Add", argv=("add-repository", "x"), path=SOURCE, back=("remove-repository", "x"))
SWITCH = RunCommand("module", "Enable", argv=("switch-on", "x"), back=("switch-off", "x"))


class Once(FakeMachine):
    """Programs that fail where there is nothing to do any more, as zypper and SUSEConnect do."""

    on = False

    def _program(self, words: tuple[str, ...]) -> tuple[int, str]:
        wants = words[0] in ("add-repository", "switch-on")
        there = SOURCE in self.files if "repository" in words[0] else self.on
        if there is wants:
            return 4, "it is so already\n"
        if "switch" in words[0]:
            self.on = wants
        elif wants:
            self.files[SOURCE] = File(b"x\n")
        else:
            del self.files[SOURCE]
        return 0, ""


@pytest.mark.parametrize("step", [ADD, SWITCH], ids=["with a trace", "without"])
def test_a_program_that_had_ended_when_undo_was_killed(step: RunCommand) -> None:
    host = Once(**vars(machine()))
    before = host.picture()
    applying.apply(Plan("install", "x", (step,)), host, Quiet())
    watcher = Quiet()
    book = journal.Journal(host, journal.runs(host)[0].id)
    book.add("undo-begin")
    host._program(step.back)  # and nobody has written down that it ended
    assert undo(None, host, watcher).status == "done"
    assert host.picture() == before and not host.on
    assert bool(watcher.said) is (step is SWITCH), "what cannot be told is said"


def test_a_program_that_had_ended_when_its_run_was_killed() -> None:
    host = Once(**vars(machine()))
    applying.apply(Plan("install", "x", (ADD,)), host, Quiet())
    path = journal.FOLDER + "/" + journal.runs(host)[0].id + ".jsonl"
    host.files[path].data = b"".join(host.files[path].data.splitlines(keepends=True)[:2]) + b'{"type":"res'
    assert applying.resume(None, host, Quiet()).status == "done"
    assert SOURCE in host.files


@pytest.mark.parametrize("step", [ADD, SWITCH], ids=["with a trace", "without"])
def test_a_program_that_fails_is_a_failure(step: RunCommand) -> None:
    """The healthy twin of the above, once each way."""
    host = Once(**vars(machine()))
    host.fails = {step.argv[0]: "E: no network\n"}
    outcome = applying.apply(Plan("install", "x", (step,)), host, Quiet())
    assert outcome.status == "failed" and "no network" in outcome.message
    host.fails = {}
    assert applying.resume(None, host, Quiet()).status == "done"
    host.fails = {step.back[0]: "E: no network\n"}
    outcome = undo(None, host, Quiet())
    assert outcome.status == "failed" and "no network" in outcome.message
