"""Applying, killing, resuming and undoing on a machine in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan import codec, journal
from rocmdoctor.plan.accounts import AddUserToGroups
from rocmdoctor.plan.environments import PipInstall, PythonVenv
from rocmdoctor.plan.files import RemoveFile, WriteFile
from rocmdoctor.plan.keys import FetchKey
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan, Step
from rocmdoctor.plan.undo import undo
from tests.hostbuilder import openpgp
from tests.plan.fake_machine import FakeMachine, File, Killed, Quiet, bare_ubuntu, journal_lines

KEY_URL = "https://repo.example/rocm.gpg.key"
FINGERPRINT = openpgp.fingerprint("2016-04-26")
LIST = "/etc/apt/sources.list.d/rocm.list"
WISH = Wish("rocm", release="6.2.4")
OLD = ("6.2.0.60200-66~22.04", ("rocm-core", "old-part"))
NEW = ("6.2.4.60204-139~22.04", ("rocm-core", "new-part"))


def machine(*, upgrade: bool = False) -> FakeMachine:
    made = bare_ubuntu()
    made.urls[KEY_URL] = openpgp.armored(openpgp.public_key("2016-04-26"))
    for release, rocm, part in (("6.2", OLD, "old-part"), ("6.2.4", NEW, "new-part")):
        made.repositories[f"/apt/{release} "] = {
            "rocm": rocm,
            "rocm-core": (rocm[0], ()),
            part: (rocm[0], ()),
        }
    if upgrade:
        made.files[LIST] = File(b"deb https://repo.example/apt/6.2 jammy main\n", 0o640, 3, 4)
        for name in ("rocm", "rocm-core", "old-part"):
            made.packages[name] = (OLD[0], "installed")
    return made


def whole_plan() -> Plan:
    steps: tuple[Step, ...] = (
        FetchKey("key", "Fetch the key", url=KEY_URL, path="/etc/apt/keyrings/rocm.gpg", fingerprint=FINGERPRINT),
        WriteFile("list", "Write the list", path=LIST, text="deb https://repo.example/apt/6.2.4 jammy main\n"),
        RefreshIndex("index", "Read the lists", manager="apt", repositories=("https://repo.example/apt",), serves=(WISH,)),
        InstallPackages("packages", "Install rocm", manager="apt", wishes=(WISH, Wish("python3-setuptools"))),
        AddUserToGroups("groups", "Add ada", user="ada", groups=("render", "video")),
        WriteFile("loader", "Loader", path="/etc/ld.so.conf.d/rocm.conf", text="/opt/rocm/lib\n", then=("ldconfig",)),
        PythonVenv("venv", "Environment", path="/opt/rocmdoctor/torch", python="/usr/bin/python3.10"),
        PipInstall(
            "torch",
            "torch",
            python="/opt/rocmdoctor/torch/bin/python",
            requirements=("torch==2.5.1+rocm6.2",),
            index="https://x/whl",
        ),
        RemoveFile("leftover", "Remove", path="/etc/apt/sources.list.d/old.list"),
        RebootNotice("reboot", "Reboot"),
    )
    return Plan("install", "Install ROCm 6.2.4", steps)


def test_apply_twice_and_undo() -> None:
    host = machine()
    before = host.picture()
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert outcome.status == "done", outcome.message
    assert "leftover" not in outcome.changed and "packages" in outcome.changed
    assert host.packages["rocm"] == (NEW[0], "installed")
    assert b"render:x:109:ada" in host.files["/etc/group"].data
    after = host.picture()
    again = applying.apply(whole_plan(), host, Quiet())
    assert (again.status, again.changed, again.reboot) == ("unchanged", (), True)
    assert host.picture() == after
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == before
    with pytest.raises(ChangeFailed, match="nothing to take back"):
        undo(None, host, Quiet())


def test_upgrade_and_undo_brings_the_old_versions_back() -> None:
    host = machine(upgrade=True)
    before = host.picture()
    assert applying.apply(whole_plan(), host, Quiet()).status == "done"
    assert host.packages["rocm"][0] == NEW[0] and "new-part" in host.packages
    assert (host.files[LIST].mode, host.files[LIST].uid) == (0o640, 3), "mode and owner of a file that was there stay"
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == before


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ("Err:1 https://repo.example/apt/6.2 jammy InRelease\n  Could not connect to repo.example:443", False),
        (
            "Err:1 https://repo.example/apt/6.2 jammy Release\n  404  Not Found\nE: The repository does not have a Release file.",
            True,
        ),
    ],
)
def test_undo_without_the_repository_of_the_old_versions(said: str, answers: bool) -> None:
    """A repository that does not answer is asked another time, and nothing is removed; one that has them no more has spoken."""
    host = machine(upgrade=True)
    before = host.picture()
    assert applying.apply(whole_plan(), host, Quiet()).status == "done"
    newer = dict(host.packages)
    old = host.repositories.pop("/apt/6.2 ")
    host.fails = {"update": said}
    watcher = Quiet()
    outcome = undo(None, host, watcher)
    if answers:
        assert outcome.status == "done" and "no repository has it any more" in watcher.said[-1]
        return
    assert outcome.status == "failed" and outcome.failed_step == "packages"
    assert "https://repo.example/apt/6.2 jammy InRelease Could not connect" in outcome.message
    assert host.packages == newer and journal.runs(host)[0].state == "half-undone"
    host.fails, host.repositories["/apt/6.2 "] = {}, old
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == before


def test_files_of_a_removed_package_come_back_first() -> None:
    """A package that owns the repository takes it away, and the packages come from there."""
    host = machine(upgrade=True)
    before = host.picture()
    gone = RemovePackages("gone", "Remove", manager="apt", names=("rocm", "rocm-core", "old-part"), keeps=(LIST,))
    program = host._program

    def purging(words: tuple[str, ...]) -> tuple[int, str]:
        if "purge" in words and "-s" not in words:
            host.files.pop(LIST, None)
        return program(words)

    host._program = purging  # type: ignore[method-assign]
    plan = Plan("uninstall", "x", (gone, RemoveFile("list", "Remove", path=LIST)))
    assert applying.apply(plan, host, Quiet()).changed == ("gone",)
    assert LIST not in host.files
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == before


def test_undo_marks_as_automatic_what_was_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """apt counts a package that is brought back by name as asked for."""
    host = machine(upgrade=True)
    answers = {"showauto": ["rocm\n", ""], "showmanual": ["rocm\n"]}
    program = host._program

    def with_marks(words: tuple[str, ...]) -> tuple[int, str]:
        if words[0] == "apt-mark" and words[1] in answers:
            said = answers[words[1]]
            return 0, said.pop(0) if len(said) > 1 else said[0]
        return program(words)

    monkeypatch.setattr(host, "_program", with_marks)
    assert applying.apply(whole_plan(), host, Quiet()).status == "done"
    assert undo(None, host, Quiet()).status == "done"
    assert ("apt-mark", "auto", "rocm") in host.ran


def points(make: Any) -> int:
    """How many changes a whole run makes."""
    host = make()
    applying.apply(whole_plan(), host, Quiet())
    return int(host.operations)


def killed_at(point: int, *, upgrade: bool) -> FakeMachine:
    host = machine(upgrade=upgrade)
    host.kill_at = point
    with pytest.raises(Killed):
        applying.apply(whole_plan(), host, Quiet())
    return host.restarted()


def every_point() -> Iterator[tuple[int, bool]]:
    for upgrade in (False, True):
        for point in range(1, points(lambda upgrade=upgrade: machine(upgrade=upgrade)) + 1):
            yield point, upgrade


def end_state(upgrade: bool) -> dict[str, Any]:
    host = machine(upgrade=upgrade)
    applying.apply(whole_plan(), host, Quiet())
    return host.picture()


@pytest.mark.parametrize(("point", "upgrade"), list(every_point()))
def test_killed_then_resumed(point: int, upgrade: bool) -> None:
    host = killed_at(point, upgrade=upgrade)
    try:
        outcome = applying.resume(None, host, Quiet())
    except ChangeFailed as nothing:  # killed before the plan was written: nothing was done, and a new run may begin
        assert "no run to resume" in str(nothing)
        outcome = applying.apply(whole_plan(), host, Quiet())
    assert outcome.status in ("done", "unchanged"), outcome.message
    assert host.picture() == end_state(upgrade)
    undone = undo(None, host, Quiet())
    assert undone.status == "done", undone.message
    assert host.picture() == machine(upgrade=upgrade).picture()


@pytest.mark.parametrize(("point", "upgrade"), list(every_point()))
def test_killed_then_undone(point: int, upgrade: bool) -> None:
    host = killed_at(point, upgrade=upgrade)
    untouched = machine(upgrade=upgrade).picture()
    try:
        outcome = undo(None, host, Quiet())
    except ChangeFailed as nothing:
        assert "nothing to take back" in str(nothing)
    else:
        assert outcome.status == "done", outcome.message
    assert host.picture() == untouched


@pytest.mark.parametrize("upgrade", [False, True])
def test_undo_that_is_killed_is_finished(upgrade: bool) -> None:
    """Killed at every change that undoing makes; then undone again."""
    untouched = machine(upgrade=upgrade).picture()
    start = machine(upgrade=upgrade)
    applying.apply(whole_plan(), start, Quiet())
    point = 0
    while True:
        point += 1
        host = machine(upgrade=upgrade)
        applying.apply(whole_plan(), host, Quiet())
        host.kill_at = host.operations + point
        try:
            undo(None, host, Quiet())
        except Killed:
            host.restarted()
            if journal.runs(host)[0].undo_began:
                with pytest.raises(ChangeFailed, match=r"undo|no run to resume"):
                    applying.resume(None, host, Quiet())
            else:  # the line that says so was torn
                assert applying.resume(None, host, Quiet()).status == "unchanged"
            run_id = journal.runs(host)[0].id
            try:
                assert undo(run_id, host, Quiet()).status == "done"
            except ChangeFailed as done:
                assert "taken back already" in str(done)
            assert host.picture() == untouched, point
        else:
            break
    assert point > 10


def test_a_new_run_waits_for_a_cut_off_one() -> None:
    host = killed_at(20, upgrade=False)
    with pytest.raises(ChangeFailed, match="was cut off"):
        applying.apply(whole_plan(), host, Quiet())


def test_a_program_that_lies() -> None:
    host = machine()
    host.lies = {"install"}
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert (outcome.status, outcome.failed_step) == ("failed", "packages")
    assert "still not done" in outcome.message and outcome.log
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine().picture()


@pytest.mark.parametrize(
    ("word", "said", "step"),
    [
        ("update", "E: The repository is not signed.\n", "index"),
        ("install", "E: Could not get lock /var/lib/dpkg/lock-frontend\n", "packages"),
        ("usermod", "usermod: cannot lock /etc/passwd\n", "groups"),
        ("ldconfig", "ldconfig: full\n", "loader"),
        ("venv", "Error: ensurepip is not available\n", "venv"),
        ("pip", "ERROR: No matching distribution found\n", "torch"),
    ],
)
def test_failures_stop_and_can_be_resumed_or_undone(word: str, said: str, step: str) -> None:
    host = machine()
    host.fails = {word: said}
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert (outcome.status, outcome.failed_step) == ("failed", step)
    assert said.strip() in outcome.message
    host.fails = {}
    assert applying.resume(None, host, Quiet()).status == "done"
    assert host.picture() == end_state(False)
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine().picture()


def test_apt_would_remove_something() -> None:
    host = machine()
    host.removes = ("nvidia-driver-550",)
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert outcome.failed_step == "packages" and "nvidia-driver-550" in outcome.message
    assert "rocm" not in host.packages


def test_apt_ends_with_0_and_has_not_read_the_repository() -> None:
    host = machine()
    real = host._apt

    def apt(words: tuple[str, ...]) -> tuple[int, str]:
        if "update" in words:
            address = "https://repo.example/apt/6.2.4"
            return 0, f"Err:1 {address} jammy Release\n  404\nW: Failed to fetch {address}/x  404\n"
        return real(words)

    host._apt = apt  # type: ignore[method-assign]
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert outcome.failed_step == "index" and "404" in outcome.message


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (b"<html>404</html>", "no OpenPGP key"),
        (openpgp.public_key("2017-01-01"), "its fingerprint is"),
        (openpgp.public_key("2016-04-26", "2020-01-01"), "it expired on 2020-01-01"),
        (openpgp.public_key("2016-04-26") + openpgp.public_key("2018-01-01"), "also holds the key"),
    ],
)
def test_wrong_keys_are_refused_and_nothing_is_put_in_place(key: bytes, said: str) -> None:
    host = machine()
    host.urls[KEY_URL] = key
    outcome = applying.apply(whole_plan(), host, Quiet())
    assert outcome.failed_step == "key" and said in outcome.message
    assert "/etc/apt/keyrings/rocm.gpg" not in host.files
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine().picture()


def test_a_half_configured_package_is_finished_first() -> None:
    host = machine()
    host.packages["libc6"] = ("2.35-0ubuntu3", "unpacked")
    assert applying.apply(whole_plan(), host, Quiet()).status == "done"
    assert host.packages["libc6"][1] == "installed"


def test_what_was_edited_since_is_kept() -> None:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    host.files[LIST].data = b"deb https://repo.example/apt/mine jammy main\n"
    watcher = Quiet()
    assert undo(None, host, watcher).status == "done"
    kept = [text for text in watcher.said if "was edited" in text]
    assert kept and host.files[kept[0].rpartition(" ")[2]].data == b"deb https://repo.example/apt/mine jammy main\n"
    assert LIST not in host.files


def test_packages_that_the_user_installed_later_stay() -> None:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    host.packages["vim"] = ("9.0", "installed")
    undo(None, host, Quiet())
    assert "vim" in host.packages and "rocm" not in host.packages


def test_runs_are_taken_back_in_reverse_order() -> None:
    host = machine()
    first = applying.apply(whole_plan(), host, Quiet()).run_id
    more = Plan("install", "more", (WriteFile("x", "x", path=LIST, text="other\n"),))
    second = applying.apply(more, host, Quiet()).run_id
    assert first and second and second > first
    with pytest.raises(ChangeFailed, match="take that back first"):
        undo(first, host, Quiet())
    undo(second, host, Quiet())
    undo(first, host, Quiet())
    assert host.picture() == machine().picture()


def test_removed_packages_come_back() -> None:
    host = machine(upgrade=True)
    plan = Plan("uninstall", "x", (RemovePackages("gone", "Remove", manager="apt", names=("rocm", "rocm-core", "old-part")),))
    assert applying.apply(plan, host, Quiet()).status == "done"
    assert "rocm" not in host.packages
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine(upgrade=True).picture()


def test_optional_packages_that_do_not_exist() -> None:
    host = machine()
    extra = Wish("linux-modules-extra-6.8.0-45-generic", optional=True)
    plan = Plan("install", "x", (InstallPackages("p", "x", manager="apt", wishes=(Wish("python3-setuptools"), extra)),))
    host.missing = {extra.name}
    assert applying.apply(plan, host, Quiet()).status == "done"
    assert applying.apply(plan, host, Quiet()).status == "unchanged"


def test_every_kind_of_step_is_written_down_and_read_back() -> None:
    steps: tuple[Step, ...] = (
        *whole_plan().steps,
        RunCommand("run", "run", argv=("udevadm", "trigger"), back=("true",)),
        RemovePackages("gone", "Remove", manager="apt", names=("a", "b")),
    )
    import json

    for step in steps:
        assert codec.read_step(json.loads(json.dumps(step.written_down()))) == step
    for wrong in (None, {}, {"kind": "no"}, {"kind": "write-file"}, {"kind": "write-file", "id": "x", "title": "x", "why": 1}):
        with pytest.raises(codec.NoStep):
            codec.read_step(wrong)


def test_the_journal_has_intents_before_results() -> None:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    order = [(row["type"], row.get("step")) for row in journal_lines(host)]
    assert order[0] == ("plan", None) and order[-1] == ("end", None)
    for step in ("key", "list", "packages"):
        assert order.index(("intent", step)) < order.index(("result", step))


def test_another_repository_that_is_broken_is_said_and_no_obstacle() -> None:
    host = machine()
    real = host._apt

    def apt(words: tuple[str, ...]) -> tuple[int, str]:
        return (100, "E: The repository 'https://other.example/x Release' is not signed.\n") if "update" in words else real(words)

    host._apt = apt  # type: ignore[method-assign]
    watcher = Quiet()
    assert applying.apply(whole_plan(), host, watcher).status == "done"
    assert any("other.example" in text for text in watcher.said)
