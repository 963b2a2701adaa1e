"""Scratch folders: private, made where programs may run, and gone afterwards whatever happened in them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocmdoctor.host import UnknownFact, User
from rocmdoctor.host import scratch as module
from rocmdoctor.host.commands import Commands
from rocmdoctor.host.live import LiveHost
from rocmdoctor.host.recorder import Recorder
from rocmdoctor.host.scratch import ScratchFolder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_programs_run_in_it_with_its_files(place: Path) -> None:
    with LiveHost().scratch({"source.cpp": "text"}) as scratch:
        assert Path(scratch.folder).parent == place and Path(scratch.folder).stat().st_mode & 0o777 == 0o700
        said = scratch.run(["sh", "-c", "pwd; cat source.cpp; echo; echo $TMPDIR $XDG_CACHE_HOME; touch made"])
        assert said.stdout.split() == [scratch.folder, "text", scratch.folder, scratch.folder]
        assert scratch.run(["sh", "-c", "ls"]).stdout.split() == ["made", "source.cpp"]
        scratch.run(["sh", "-c", "rm made"])
        assert scratch.run(["sh", "-c", "ls"]).stdout.split() == ["source.cpp"], "the answer is not kept"
        assert not scratch.run([f"{scratch.folder}/none"]).found
    assert list(place.iterdir()) == []


def test_nothing_stays_behind_after_a_time_out(place: Path) -> None:
    with LiveHost().scratch({}) as scratch:
        done = scratch.run(["sh", "-c", "mkdir -p a/b; (while :; do : > a/b/$$; done) & sleep 60"], 0.3)
    assert done.timed_out and list(place.iterdir()) == []


def test_nothing_stays_behind_after_an_error(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt), LiveHost().scratch({"a": "b"}):
        raise KeyboardInterrupt
    assert list(place.iterdir()) == []


def test_a_place_from_which_nothing_may_run_is_passed_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = os.statvfs, []

    class NoExec:
        f_flag = os.ST_NOEXEC

    def statvfs(path: str) -> object:
        refused.append(path)
        return NoExec() if path == str(place) else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert str(place) not in list(module._places()) and str(place) in refused
    monkeypatch.setattr(os, "statvfs", lambda path: NoExec())
    with pytest.raises(UnknownFact, match="no temporary folder"), LiveHost().scratch({}):
        pass


def test_a_full_disk_is_unknown(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(self: ScratchFolder) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ScratchFolder, "_fill", fill)
    monkeypatch.setattr(module, "_places", lambda: iter([str(place)]))
    with pytest.raises(UnknownFact), LiveHost().scratch({"a": "b"}):
        pass
    assert list(place.iterdir()) == []


def test_hosts_without_programs_have_none(tmp_path: Path) -> None:
    with pytest.raises(UnknownFact, match="foreign root"):
        LiveHost(str(tmp_path)).scratch({})
    with pytest.raises(UnknownFact, match="not recorded"):
        Recorder(LiveHost()).scratch({})


def test_another_user_cannot_be_acted_as_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    other = User("other", 65534, 65534, frozenset({65534}), frozenset({65534}))
    with pytest.raises(UnknownFact, match="another user than other"):
        ScratchFolder(Commands({}), {}, other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_root_acts_as_the_asked_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_places", lambda: iter(["/tmp"]))
    nobody = User("nobody", 65534, 65534, frozenset({65534}), frozenset({65534}))
    with ScratchFolder(Commands({"PATH": "/usr/bin:/bin"}), {"a": "text"}, nobody) as scratch:
        said = scratch.run(["sh", "-c", "id -u; cat a; : > b; echo; stat -c %u b"]).stdout.split()
        assert said == ["65534", "text", "65534"]
        folder = Path(scratch.folder)
    assert not folder.exists()


def test_a_crash_leaves_no_core_file() -> None:
    """Soft limit 0: neither the kernel nor ROCR-Runtime writes a core file."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
    try:
        with LiveHost().scratch({}) as scratch:
            done = scratch.run(["sh", "-c", "sleep 0.1; ulimit -c; kill -SEGV $$"])
            assert (done.rc, done.stdout) == (-11, "0\n")
            assert os.listdir(scratch.folder) == []
        assert LiveHost().run(["sh", "-c", "sleep 0.1; ulimit -c"]).stdout == "0\n"
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, limits)


def test_sigterm_clears_everything_away(place: Path) -> None:
    """timeout(1) and schedulers end the doctor so: neither the program nor the folder outlives it."""
    program = (
        "from rocmdoctor.host.live import LiveHost\n"
        "with LiveHost().scratch({'a': 'b'}) as scratch:\n"
        "    scratch.run(['sh', '-c', f'echo $$ > {scratch.folder}/../pid; sleep 60'], 60.0)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    try:
        deadline = time.monotonic() + 20
        while not (place / "pid").exists() or not (place / "pid").read_text().strip():
            assert time.monotonic() < deadline and child.poll() is None
            time.sleep(0.02)
        child.terminate()
        assert child.wait(10) == -signal.SIGTERM
    finally:
        child.kill()
    pid = int((place / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    assert [path.name for path in place.iterdir()] == ["pid"]


def test_killing_is_quick() -> None:
    start = time.monotonic()
    with LiveHost().scratch({}) as scratch:
        assert scratch.run(["sleep", "60"], 0.2).timed_out
    assert time.monotonic() - start < 5
