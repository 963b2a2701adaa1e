"""A root to break: an overlay over the base root in namespaces of its own (mount, UTS, IPC, PID, network), held by one process
that sits in it. When the process that made it ends, however it ends, everything of it is gone."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.mirror import NetworkNamespace

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Run by sh as process 1 of the new namespaces. $AT is an empty folder, the same for every root: the mount on it is private.
_HOLD = r"""
set -e
trap '' CHLD
mount --make-rprivate /
if [ -n "$UPPER" ]; then
    mount -t tmpfs -o mode=0755 e2e "$AT"
    mkdir "$AT/root" "$AT/state"
    upper=$UPPER work=$WORK
else
    mount -t tmpfs -o "mode=0755,size=$SIZE" e2e "$AT"
    mkdir "$AT/root" "$AT/state" "$AT/upper" "$AT/work"
    upper=$AT/upper work=$AT/work
fi
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$upper,workdir=$work,redirect_dir=off,index=off,metacopy=off" "$AT/root"
cd "$AT/root"
mount -t proc proc proc
mount -t tmpfs -o mode=0755,size=64m sysfs sys
mount -t tmpfs -o mode=0755,size=16m udev dev
mount -t tmpfs -o mode=0755,size=64m tmpfs run
mount -t tmpfs -o mode=1777,size=2g tmpfs tmp
mkdir dev/pts dev/shm run/lock
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
mount -t tmpfs -o mode=1777,size=1g shm dev/shm
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 0666 "dev/${node%:*}" c 1 "${node#*:}"; done
mknod -m 0666 dev/tty c 5 0
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
echo -n "$TOKEN" > "$AT/state/token"
mount --bind "$AT/state" .e2e/state
mount --bind "$upper" .e2e/upper
for pair in $BINDS; do mount --bind -o ro "${pair%=*}" "${pair#*=}"; done
for pair in $WRITABLE; do mount --bind "${pair%=*}" "${pair#*=}"; done
hostname "$NAME"
echo ready
exec chroot . /bin/cat
"""


_NAMESPACES = (("mount", "mnt"), ("uts", "uts"), ("ipc", "ipc"), ("net", "net"), ("pid", "pid"))
"""nsenter's names and those of /proc/PID/ns."""


@dataclass(frozen=True, slots=True)
class Done:
    """A program that ended. `rc` is negative for a signal."""

    argv: tuple[str, ...]
    rc: int
    out: str
    err: str

    def ok(self) -> Done:
        """Itself, when it succeeded; else an assertion that shows what it said."""
        assert self.rc == 0, f"{' '.join(self.argv)}: exit status {self.rc}\n{self.out[-4000:]}\n{self.err[-4000:]}"
        return self

    @property
    def said(self) -> str:
        return self.out + self.err


class RootFailed(Exception):
    """The namespaces or mounts could not be made; the text is what the program said."""


class Root:
    """One root. `layers` are the read-only folders below, the uppermost first."""

    def __init__(
        self,
        layers: Sequence[Path],
        network: NetworkNamespace,
        *,
        mount_point: Path,
        upper: Path | None = None,
        binds: Mapping[str, Path] | None = None,
        writable: Mapping[str, Path] | None = None,
        size: str = "3g",
        hostname: str = "host",
    ) -> None:
        """`upper`: a folder on disk that keeps the changes (to make a layer); without it they are in memory, at most `size`.
        `binds` and `writable`: paths in the root and what is mounted there, read-only or not."""
        self.layers = tuple(layers)
        mount_point.mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": PATH, "AT": str(mount_point), "LOWER": ":".join(map(str, layers)), "SIZE": size, "NAME": hostname,
            "TOKEN": secrets.token_hex(16),
            "UPPER": str(upper) if upper else "", "WORK": str(upper.with_name(upper.name + ".work")) if upper else "",
            "BINDS": " ".join(f"{source}=.{path}" for path, source in (binds or {}).items()),
            "WRITABLE": " ".join(f"{source}=.{path}" for path, source in (writable or {}).items()),
        }  # fmt: skip
        if upper:
            upper.mkdir(parents=True, exist_ok=True)
            Path(environment["WORK"]).mkdir(exist_ok=True)
        self._work = Path(environment["WORK"]) if upper else None
        argv = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "sh", "-c", _HOLD]
        pipe = subprocess.PIPE
        self._holder = network.run(
            lambda: subprocess.Popen(argv, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
        )
        assert self._holder.stdout is not None
        said = []
        for line in self._holder.stdout:
            if line == "ready\n":
                break
            said.append(line)
        else:
            raise RootFailed("".join(said).strip() or f"unshare ended with {self._holder.wait()}")
        self._pid, self._top = self._inside(environment["TOKEN"])
        self._namespaces = {
            name: os.open(f"/proc/{self._pid}/ns/{file}", os.O_RDONLY | os.O_CLOEXEC) for name, file in _NAMESPACES
        }

    def _inside(self, token: str) -> tuple[int, int]:
        """Process 1 of the root, and its folder as a descriptor. It is ours when the token is in it: who writes to a root by a
        number that has come to mean another process writes to the machine itself."""
        for _ in range(1000):
            for child in _children(self._holder.pid):
                with suppress(OSError):
                    top = os.open(f"/proc/{child}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                    with suppress(OSError):
                        if Path(f"/proc/self/fd/{top}/.e2e/state/token").read_text() == token:
                            return child, top
                    os.close(top)
            time.sleep(0.01)
        raise RootFailed("the process that holds the root did not start")

    def close(self) -> None:
        """End everything in it."""
        if self._top < 0:
            return
        assert self._holder.stdin is not None and self._holder.stdout is not None
        self._holder.stdin.close()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._holder.wait()
        self._holder.stdout.close()
        for descriptor in (self._top, *self._namespaces.values()):
            os.close(descriptor)
        self._top = -1
        if self._work:
            shutil.rmtree(self._work, ignore_errors=True)

    # programs --------------------------------------------------------------------------------------------------

    def _argv(self, argv: Sequence[str]) -> list[str]:
        """By descriptors of this process: they stay what they are, and other programs of the tests can use them as well."""
        assert self._top >= 0, "the root is closed"
        mine = f"/proc/{os.getpid()}/fd"
        enter = [f"--{name}={mine}/{descriptor}" for name, descriptor in self._namespaces.items()]
        return ["nsenter", *enter, f"--root={mine}/{self._top}", f"--wd={mine}/{self._top}", *argv]

    @property
    def enter(self) -> list[str]:
        """Words in front of a command that run it in the root as its root user, for a program that starts commands itself."""
        return [*self._argv(()), "/usr/bin/env", "-i", *(f"{name}={value}" for name, value in self._environment(None).items())]

    @staticmethod
    def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
        base = {"PATH": PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
        return base | {"TERM": "dumb"} | dict(env or {})

    def popen(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, **more: object) -> subprocess.Popen[str]:
        """A program left running in the root, in a session of its own. `more` goes to Popen."""
        options: dict[str, object] = {
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace",
        } | more  # fmt: skip
        return subprocess.Popen(self._argv(argv), env=self._environment(env), start_new_session=True, **options)  # type: ignore[call-overload, no-any-return]

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 120.0, data: str | None = None
    ) -> Done:
        """Run a program to its end. `timeout` in seconds: then everything that it started in its session is killed."""
        process = self.popen(argv, env=env, stdin=subprocess.PIPE if data is not None else subprocess.DEVNULL)
        try:
            out, err = process.communicate(data, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"{' '.join(argv)}: no end in {timeout:.0f} s\n{out[-3000:]}\n{err[-3000:]}") from None
        return Done(tuple(argv), process.returncode, out, err)

    def shell(self, script: str, **more: object) -> Done:
        return self.run(["sh", "-c", script], **more)  # type: ignore[arg-type]

    def mount(self, *argv: str) -> None:
        """mount(8) in the root."""
        self.run(["mount", *argv]).ok()

    def unmount(self, place: str) -> None:
        """umount(8), lazily: a program that is being killed may still be in it."""
        self.run(["umount", "--lazy", place]).ok()

    # files -----------------------------------------------------------------------------------------------------

    def path(self, path: str, *, follow: bool = True) -> Path:
        """A path of the root for use out here, links resolved inside the root; the last part only with `follow`."""
        assert self._top >= 0, "the root is closed"
        top = f"/proc/self/fd/{self._top}"
        parts, done = [p for p in path.split("/") if p], ""
        for _ in range(1000):
            if not parts:
                break
            part = parts.pop(0)
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{top}{done}/{part}"
            if part != "." and (parts or follow) and os.path.islink(here):
                target = os.readlink(here)
                if target.startswith("/"):
                    done = ""
                parts = [p for p in target.split("/") if p] + parts
            elif part != ".":
                done += f"/{part}"
        return Path(top + done)

    def exists(self, path: str) -> bool:
        return self.path(path).exists()

    def read(self, path: str) -> str:
        return self.path(path).read_text(errors="replace")

    def write(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        """Write a file as root, with the folders above it."""
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        file.chmod(mode)

    def node(self, path: str, mode: int, gid: int, *, kind: int = stat.S_IFCHR, device: tuple[int, int] = (1, 3)) -> None:
        """A device node; by default one that opens and says nothing, as /dev/null does."""
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        os.mknod(file, kind | mode, os.makedev(*device))
        os.chmod(file, mode)
        os.chown(file, 0, gid)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(number) for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


@contextmanager
def root(layers: Sequence[Path], network: NetworkNamespace, **more: object) -> Iterator[Root]:
    """A Root that is closed at the end."""
    made = Root(layers, network, **more)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.close()
