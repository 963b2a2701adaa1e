"""Commands end in time, and within memory, whatever they do."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from rocmdoctor.host import Command, UnknownFact, User
from rocmdoctor.host import commands as module
from rocmdoctor.host.commands import MAX_OUTPUT, Commands, find_program


def commands(folder: Path | None = None, **env: str) -> Commands:
    return Commands({"PATH": f"{folder}:/usr/bin:/bin" if folder else "/usr/bin:/bin", **env})


def sh(script: str, timeout: float = 10.0) -> Command:
    return commands().run(["sh", "-c", script], timeout)


def program(folder: Path, name: str, text: str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_output_and_status() -> None:
    done = sh("echo out; echo err >&2; exit 3")
    assert (done.rc, done.stdout, done.stderr, done.timed_out) == (3, "out\n", "err\n", False)
    assert done.program is not None and done.program.endswith("/bin/sh")


def test_surroundings() -> None:
    done = commands(HSA_OVERRIDE_GFX_VERSION="11.0.0", LANGUAGE="de").run(
        ["sh", "-c", "echo $LC_ALL,$HSA_OVERRIDE_GFX_VERSION,$LANGUAGE; pwd; cat; ps -o pgid= -p $$ | tr -d ' '; echo $$"], 10.0
    )
    lines = done.stdout.split()
    assert lines[:2] == ["C.UTF-8,11.0.0,", "/"]
    if len(lines) == 4:
        assert lines[2] == lines[3], "a session of its own"


def test_not_found(tmp_path: Path) -> None:
    program(tmp_path, "locked", "#!/bin/sh\n", 0o644)
    (tmp_path / "folder").mkdir()
    for name in ("no-such-program", "locked", "folder", str(tmp_path / "nope"), "a\0b"):
        done = commands(tmp_path).run([name], 5.0)
        assert (done.program, done.rc, done.found) == (None, 127, False)


def test_cannot_be_executed(tmp_path: Path) -> None:
    path = program(tmp_path, "broken", "\x7fELF nonsense")
    done = commands(tmp_path).run(["broken", "x"], 5.0)
    assert (done.program, done.rc) == (str(path), 126) and done.stderr


def test_folders_of_the_system_are_searched_and_relative_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "rocminfo", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_SYSTEM_FOLDERS", (str(tmp_path),))
    assert find_program("rocminfo", "/usr/bin") == str(tmp_path / "rocminfo")
    monkeypatch.setattr(module, "_SYSTEM_FOLDERS", ())
    assert find_program("rocminfo", ".::bin") is None


def test_the_same_argv_runs_once(tmp_path: Path) -> None:
    program(tmp_path, "count", f"#!/bin/sh\necho x >> {tmp_path}/log; wc -l < {tmp_path}/log\n")
    runner = commands(tmp_path)
    assert runner.run(["count"], 5.0) is runner.run(("count",), 5.0)
    assert runner.run(["count", "again"], 5.0).stdout.strip() == "2"


def alive(pids: Path) -> list[int]:
    """Those that live on; a killed process needs a moment to be gone."""
    for _ in range(100):
        found = running(pids)
        if not found:
            break
        time.sleep(0.02)
    return found


def running(pids: Path) -> list[int]:
    found = []
    for pid in pids.read_text().split():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(int(pid))
    return found


def test_a_hung_command_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    start = time.monotonic()
    done = sh(f"trap '' TERM INT HUP; sleep 60 & echo $! > {pids}; echo $$ >> {pids}; echo begun; wait", 0.5)
    assert (done.rc, done.timed_out, done.stdout) == (124, True, "begun\n")
    assert time.monotonic() - start < 5
    assert alive(pids) == []


def test_a_command_that_closes_its_output_and_goes_on_is_killed() -> None:
    start = time.monotonic()
    done = sh("exec >&- 2>&-; sleep 60", 0.5)
    assert done.timed_out and time.monotonic() - start < 5


def test_a_child_that_stays_behind_does_not_hold_us(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    start = time.monotonic()
    done = sh(f"sleep 60 & echo $! > {pids}; echo done", 30.0)
    assert (done.rc, done.stdout, done.timed_out) == (0, "done\n", False)
    assert time.monotonic() - start < 10 and alive(pids) == []


def test_a_gigabyte_is_read_and_dropped() -> None:
    start = time.monotonic()
    before = peak()
    done = sh("head -c 1000000000 /dev/zero; echo end >&2", 60.0)
    assert done.rc == 0 and len(done.stdout) == MAX_OUTPUT and done.stderr == "end\n"
    assert time.monotonic() - start < 30 and peak() - before < 64 << 10


def peak() -> int:
    """KiB that this process has had at most."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))


def test_output_without_end_is_cut_by_the_time_limit() -> None:
    done = commands().run(["yes"], 0.5)
    assert done.timed_out and len(done.stdout) == MAX_OUTPUT


def test_bytes_that_are_no_text() -> None:
    assert sh(r"printf '\377\000x'").stdout == "\ufffd\0x"


def test_an_interrupted_command_is_not_asked_again(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    class Ring(BaseException): ...

    def ring(*_: object) -> None:
        raise Ring

    runner = commands()
    argv = ["sh", "-c", f"echo $$ > {pids}; sleep 60"]
    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(Ring):
            runner.run(argv, 30.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert alive(pids) == []
    start = time.monotonic()
    assert runner.run(argv, 30.0).timed_out and time.monotonic() - start < 1


ALICE = User("alice", 65534, 65534, frozenset({65534}), frozenset({65534}))


def test_what_depends_on_the_user_is_not_asked_as_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    program(tmp_path, "rocminfo", "#!/bin/sh\nid -u\n")
    program(tmp_path, "ldconfig", "#!/bin/sh\nid -u\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UnknownFact, match="another user"):
        commands(tmp_path).run(["rocminfo"], 5.0, ALICE)
    assert commands(tmp_path).run(["ldconfig"], 5.0, ALICE).stdout.strip() == str(os.getuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_root_asks_as_the_asked_user(tmp_path: Path) -> None:
    if not all(p.stat().st_mode & stat.S_IXOTH for p in tmp_path.resolve().parents):
        pytest.skip("another user cannot reach the temporary folder")
    tmp_path.chmod(0o755)
    program(tmp_path, "rocminfo", "#!/bin/sh\nid -u; id -G\n")
    assert commands(tmp_path).run(["rocminfo"], 5.0, ALICE).stdout.split() == ["65534", "65534"]
