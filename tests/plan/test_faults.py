"""Faults around a run: another one at work, package managers that outlive it, and what messages say."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from rocmdoctor.host.machine import Machine
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan import journal
from rocmdoctor.plan.apply import Outcome
from rocmdoctor.plan.files import last_words
from rocmdoctor.plan.undo import undo
from rocmdoctor.reports import plan_text
from tests.plan.fake_machine import FakeMachine, Killed, Quiet, journal_lines
from tests.plan.test_apply import machine, whole_plan

FRONTEND = "/var/lib/dpkg/lock-frontend"


def killed_behind(lines: int) -> FakeMachine:
    """A machine on which a run was killed when its journal had that many lines."""
    for point in range(1, 100):
        host = machine()
        host.kill_at = point
        with pytest.raises(Killed):
            applying.apply(whole_plan(), host, Quiet())
        if len(journal_lines(host)) == lines:
            return host.restarted()
    raise AssertionError("there is no such point")


def test_a_run_cut_off_behind_its_plan_is_taken_back_without_its_name() -> None:
    host = killed_behind(1)
    with pytest.raises(ChangeFailed, match="was cut off"):
        applying.settled(host)
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine().picture()
    applying.settled(host)
    with pytest.raises(ChangeFailed, match="nothing to take back"):
        undo(None, host, Quiet())


def test_a_run_at_work_is_not_called_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    host = killed_behind(2)

    def held(path: str) -> AbstractContextManager[None]:
        assert path == journal.LOCK
        raise ChangeFailed("another rocmdoctor (process 7) is changing this machine; wait until it has ended")

    monkeypatch.setattr(host, "lock", held)
    with pytest.raises(ChangeFailed, match="another rocmdoctor"):
        applying.settled(host)


def test_a_package_manager_that_outlived_its_run_is_not_disturbed() -> None:
    lines = next(n for n, row in enumerate(journal_lines(finished()), 1) if row.get("step") == "packages")
    host = killed_behind(lines)
    host.lock_holders[FRONTEND] = 254
    before = host.picture()
    acts: tuple[Callable[[], Outcome], ...] = (
        lambda: applying.resume(None, host, Quiet()),
        lambda: undo(None, host, Quiet()),
    )
    for act in acts:
        with pytest.raises(ChangeFailed, match=f"process 254.* holds {FRONTEND}; wait"):
            act()
    assert host.picture() == before
    host.lock_holders.clear()
    assert undo(None, host, Quiet()).status == "done"
    assert host.picture() == machine().picture()


def finished() -> FakeMachine:
    host = machine()
    applying.apply(whole_plan(), host, Quiet())
    return host


def test_messages_keep_their_capitals() -> None:
    said = plan_text.outcome(Outcome("failed", "run", (), "index", "E: /etc/X11/InRelease is not signed", "/var/log/x.log"))
    assert said.startswith("Failed at step index: E: /etc/X11/InRelease is not signed\n")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Unpacking\ndpkg: error processing archive x.deb (--unpack):\n cannot copy: No space left on device\nE: Sub",
            "dpkg: error processing archive x.deb (--unpack): cannot copy: No space left on device",
        ),
        ("dpkg: error processing package x (--configure):", "dpkg: error processing package x (--configure):"),
        ("one\nE: two\nthree", "E: two"),
        ("one\ntwo", "two"),
        ("", "it said nothing"),
    ],
)
def test_last_words(said: str, words: str) -> None:
    assert last_words(said) == words


def test_what_is_not_there_is_removed_from_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.unlink", refuse)
    monkeypatch.setattr("os.rmdir", refuse)
    host = Machine(str(tmp_path))
    host.remove("/none")
    assert host.remove_folder("/none") is False
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    acts: tuple[Callable[[], object], ...] = (lambda: host.remove("/file"), lambda: host.remove_folder("/folder"))
    for act in acts:
        with pytest.raises(ChangeFailed, match="the file system is read-only"):
            act()
