"""The real target, in a temporary root: files are whole or not there, locks hold, programs and downloads end in one sentence."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmdoctor.host.machine import Machine
from rocmdoctor.host.target import ChangeFailed, Target, temporary_name


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(str(tmp_path))


def test_machine_is_a_target(machine: Machine) -> None:
    target: Target = machine
    assert target.now().endswith("Z") and len(target.now()) == 20


def test_write_replaces_whole_and_for_good(machine: Machine, tmp_path: Path) -> None:
    machine.make_folder("/etc")
    machine.write("/etc/a", b"one", 0o640)
    first = (tmp_path / "etc/a").stat().st_ino
    machine.write("/etc/a", b"two")
    info = (tmp_path / "etc/a").stat()
    assert (tmp_path / "etc/a").read_bytes() == b"two"
    assert info.st_ino != first and info.st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path / "etc") == ["a"]
    state = machine.state("/etc/a")
    assert state is not None and (state.type, state.mode) == ("file", 0o644)


def test_a_link_is_replaced_and_not_followed(machine: Machine, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("keep")
    machine.link("/name", str(outside))
    state = machine.state("/name")
    assert state is not None and (state.type, state.target) == ("link", str(outside))
    machine.write("/name", b"new")
    assert outside.read_text() == "keep" and (tmp_path / "name").read_bytes() == b"new"


def test_a_temporary_file_of_a_killed_run_is_in_nobodys_way(machine: Machine, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    os.symlink(victim, temporary_name(str(tmp_path / "a")))
    machine.write("/a", b"x")
    assert victim.read_text() == "keep" and not os.path.lexists(temporary_name(str(tmp_path / "a")))


def test_what_cannot_be_written_says_so(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(ChangeFailed, match="cannot write /no/such: No such file"):
        machine.write("/no/such", b"")
    with pytest.raises(ChangeFailed, match="not an absolute path"):
        machine.write("relative", b"")
    (tmp_path / "file").write_text("")
    with pytest.raises(ChangeFailed, match="is no folder"):
        machine.make_folder("/file")
    with pytest.raises(ChangeFailed, match="not removed as a whole"):
        machine.remove_tree("/usr")


def test_full_and_read_only_disks(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fails(number: int) -> None:
        def write(descriptor: int, data: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "write", write)

    for number, words in ((28, "the disk is full"), (30, "read-only"), (122, "quota")):
        fails(number)
        with pytest.raises(ChangeFailed, match=words):
            machine.write("/a", b"new")
        monkeypatch.undo()
        assert (tmp_path / "a").read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_append_and_names(machine: Machine) -> None:
    machine.append("/j", b"1\n")
    machine.append("/j", b"2\n")
    assert machine.read("/j") == b"1\n2\n" and machine.names("/") == ("j",) and machine.names("/none") == ()
    state = machine.state("/j")
    assert state is not None and state.mode == 0o600


def test_folders_and_trees(machine: Machine) -> None:
    for folder in ("/a", "/a/b", "/a/b"):
        machine.make_folder(folder)
    assert not machine.remove_folder("/a") and not machine.remove_folder("/none")
    machine.write("/a/b/c", b"")
    machine.remove_tree("/a/b")
    machine.remove_tree("/a/none")
    machine.remove("/a/none")
    assert machine.names("/a") == () and machine.remove_folder("/a")


def test_one_lock(machine: Machine) -> None:
    with machine.lock("/lock"), pytest.raises(ChangeFailed, match=f"process {os.getpid()}"), machine.lock("/lock"):
        pass
    with machine.lock("/lock"):
        pass


def test_lock_holder(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "dpkg-lock"
    path.touch()
    assert machine.lock_holder("/dpkg-lock") is None and machine.lock_holder("/none") is None
    program = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        assert machine.lock_holder("/dpkg-lock") == child.pid
        child.communicate(b"\n")
    assert machine.lock_holder("/dpkg-lock") is None


def test_programs(tmp_path: Path) -> None:
    machine = Machine(environment={"https_proxy": "http://p:3128", "SECRET": "x", "HOME": "/root"})
    log = str(tmp_path / "log")
    answer = machine.run(("sh", "-c", "echo out; echo err >&2; echo $https_proxy:$SECRET:$DEBIAN_FRONTEND; exit 3"), log)
    assert answer.rc == 3 and answer.stdout == "out\nerr\nhttp://p:3128::noninteractive\n"
    again = machine.run(("sh", "-c", "echo second"), log)
    assert again.stdout == "second\n" and Path(log).read_text().endswith(answer.stdout + "second\n")
    assert not machine.run(("no-such-program-here",), log).found
    slow = machine.run(("sleep", "30"), log, timeout=0.3)
    assert slow.timed_out and slow.rc == 124
    with pytest.raises(ChangeFailed, match="foreign root"):
        Machine(str(tmp_path)).run(("true",), log)


def test_a_program_outlives_its_caller(tmp_path: Path) -> None:
    """kill -9 of the doctor does not break a package manager in the middle: its output goes into the log, not into a pipe."""
    log, done = tmp_path / "log", tmp_path / "done"
    program = (
        "import os, sys; from rocmdoctor.host.machine import Machine; "
        f"Machine().run(('sh', '-c', 'echo begun; sleep 1; echo ended; touch {done}'), {str(log)!r})"
    )
    child = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    for _ in range(100):
        if log.exists() and "begun" in log.read_text():
            break
        threading.Event().wait(0.05)
    child.kill()
    child.wait()
    for _ in range(100):
        if done.exists():
            break
        threading.Event().wait(0.05)
    assert done.exists() and log.read_text() == "begun\nended\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/key":
                self.send_response(200)
                self.send_header("Content-Length", "3")
                self.end_headers()
                self.wfile.write(b"abc")
            elif self.path == "/cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"abc")
            else:
                self.send_error(int(self.path.strip("/") or 404))

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


def test_downloads(server: str, tmp_path: Path) -> None:
    machine = Machine()
    assert machine.fetch(f"{server}/key", 100) == b"abc"
    (tmp_path / "file").write_bytes(b"local")
    assert machine.fetch(f"file://{tmp_path}/file", 100) == b"local"
    for url, words in (
        (f"{server}/404", "answered 404"),
        (f"{server}/503", "answered 503"),
        (f"{server}/cut", "connection broke"),
        ("http://127.0.0.1:1/x", "refused"),
        ("ftp://x/y", "only https"),
        ("https://no.such.host.invalid/x", "cannot be fetched"),
    ):
        with pytest.raises(ChangeFailed, match=words):
            machine.fetch(url, 100)
    with pytest.raises(ChangeFailed, match="larger than 2"):
        machine.fetch(f"{server}/key", 2)
    with pytest.raises(ChangeFailed, match="certificate file"):
        machine.fetch("https://127.0.0.1/x", 2, "/no/such.pem")
