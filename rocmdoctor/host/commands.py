"""Runs the few programs whose answers lie in no file: bounded in time and memory, without a shell."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rocmdoctor.host import Command, UnknownFact, User
from rocmdoctor.host.snapshot_tree import reason

if TYPE_CHECKING:
    from subprocess import Popen

MAX_OUTPUT = 4 << 20
"""Bytes kept of each stream; the rest is read and dropped, so that the program can end."""
_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Debian leaves these out of the PATH of users, yet ldconfig and modinfo lie there."""
_AS_ASKED_USER = re.compile(r"rocminfo|rocm_agent_enumerator|clinfo|python[0-9.]*")
"""Programs whose answer depends on who runs them."""


def find_program(name: str, path: str) -> str | None:
    """The executable that `name` means, as execvp(3) would find it. Relative folders on PATH are not searched: a program in the
    folder that we were started in is nobody's rocminfo."""
    candidates = (
        [name]
        if "/" in name
        else [f"{folder.rstrip('/')}/{name}" for folder in (*path.split(":"), *_SYSTEM_FOLDERS) if folder.startswith("/")]
    )
    for candidate in candidates:
        try:
            if stat.S_ISREG(os.stat(candidate).st_mode) and os.access(candidate, os.X_OK):
                return candidate
        except (OSError, ValueError):
            continue
    return None


class Commands:
    """Runs each argv once and keeps the answer."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment`: what the programs get, besides LC_ALL=C.UTF-8."""
        self._environment = {**environment, "LC_ALL": "C.UTF-8"}
        self._environment.pop("LANGUAGE", None)
        self._answers: dict[tuple[str, ...], Command] = {}

    def run(self, argv: Sequence[str], timeout: float, user: User | None = None) -> Command:
        """The answer of `argv` within `timeout` seconds. `user`: the asked user, when that is not the one of this process.

        Raises UnknownFact when the answer depends on the user and this process may not act as the asked one.
        """
        key = tuple(argv)
        known = self._answers.get(key)
        if known is not None:
            return known
        program = find_program(key[0], self._environment.get("PATH", os.defpath))
        if program is None:
            command = Command(key, None, 127, "", "")
        else:
            if user is not None:
                if not _AS_ASKED_USER.fullmatch(key[0].rpartition("/")[2]):
                    user = None
                elif os.geteuid() != 0:
                    raise UnknownFact(f"{key[0]} would run as another user than {user.name}")
            try:
                command = self._start(key, program, timeout, user)
            except BaseException:
                # Our own time limit or Ctrl-C: asking again would hang again.
                self._answers[key] = Command(key, program, 124, "", "interrupted", True)
                raise
        self._answers[key] = command
        return command

    def run_in(self, folder: str, argv: Sequence[str], timeout: float, user: User | None = None) -> Command:
        """Like `run`, with `folder` as the working directory and for temporary files and caches; the answer is not kept."""
        key = tuple(argv)
        program = find_program(key[0], self._environment.get("PATH", os.defpath))
        if program is None:
            return Command(key, None, 127, "", "")
        return self._start(key, program, timeout, user, folder)

    def _start(
        self, argv: tuple[str, ...], program: str, timeout: float, user: User | None, folder: str | None = None
    ) -> Command:
        own = {"TMPDIR": folder, "XDG_CACHE_HOME": folder} if folder else {}
        with unwinding():
            return self._watch(argv, program, timeout, user, folder or "/", {**self._environment, **own})

    @staticmethod
    def _watch(
        argv: tuple[str, ...], program: str, timeout: float, user: User | None, folder: str, environment: Mapping[str, str]
    ) -> Command:
        import subprocess

        try:
            process = subprocess.Popen(
                argv,
                executable=program,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=folder,
                start_new_session=True,
                user=user.uid if user else None,
                group=user.gid if user else None,
                extra_groups=sorted(user.database_groups) if user else None,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as exc:
            return Command(argv, program, 126, "", reason(exc))
        _forbid_core_file(process.pid)
        try:
            streams, timed_out = _drain(process, time.monotonic() + timeout)
        finally:
            _end(process)
        stdout, stderr = (s.decode("utf-8", "replace") for s in streams)
        rc = process.returncode
        if timed_out or rc is None:
            return Command(argv, program, 124, stdout, stderr, True)
        return Command(argv, program, rc, stdout, stderr)


class _Terminated(BaseException):
    """SIGTERM has come; no `except Exception` may keep it."""


@contextlib.contextmanager
def unwinding() -> Iterator[None]:
    """SIGTERM (of timeout(1), of a scheduler) would end us at once, and leave running what we started and lying what it wrote. In
    this block it is an exception, so that everything in it is cleared away; then the signal does what it was sent for."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # in an outer block, or somebody else's business
        return

    def stop(signum: int, frame: object) -> None:
        signal.signal(signum, signal.SIG_IGN)  # a second one must not disturb the clearing away
        raise _Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _forbid_core_file(pid: int) -> None:
    """A program that crashes leaves nothing on the disk: neither the kernel's core file, which with a GPU mapped is huge, nor
    that of the GPU, which ROCR-Runtime writes (amd_core_dump.cpp) unless the limit is 0."""
    import resource

    try:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (OSError, ValueError):
        return  # it has ended already, or a sandbox forbids the call


def _exited(process: Popen[bytes]) -> bool:
    """Whether the program has ended. It is not reaped, so that its number and group stay its own."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True  # whoever started us ignores SIGCHLD, and the kernel has reaped it already


def _drain(process: Popen[bytes], deadline: float) -> tuple[tuple[bytes, bytes], bool]:
    """Both streams, each cut at MAX_OUTPUT, and whether the time was over first."""
    import selectors

    assert process.stdout is not None and process.stderr is not None
    kept = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    stop: float | None = None
    with selectors.DefaultSelector() as selector:
        for fd in kept:
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline or (stop is not None and now >= stop):
                break
            for key, _ in selector.select(min(deadline - now, 0.1)):
                fd = key.fd
                try:
                    data = os.read(fd, 1 << 18)
                except BlockingIOError:
                    continue
                if not data:
                    selector.unregister(fd)
                elif len(kept[fd]) < MAX_OUTPUT:
                    kept[fd] += data[: MAX_OUTPUT - len(kept[fd])]
            if stop is None and selector.get_map() and _exited(process):
                # A child of the program still holds the pipe; what the program itself wrote is already in it.
                stop = time.monotonic() + 0.2
    while not _exited(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    out, err = (bytes(b) for b in kept.values())
    return (out, err), not _exited(process)


def _end(process: Popen[bytes]) -> None:
    """Kill whatever is left of the program's session and reap it. One that the kernel holds (state D) is left behind."""
    import signal
    import subprocess

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError as exc:
        if exc.errno not in (errno.ESRCH, errno.EPERM):
            raise
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        process.returncode = -signal.SIGKILL  # do not wait for it again
