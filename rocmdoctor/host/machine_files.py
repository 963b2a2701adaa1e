"""Reading files of this machine, or of a foreign root such as a mounted disk or a chroot, without ever leaving it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from itertools import islice
from typing import Protocol, TypeVar

from rocmdoctor.host import UnknownFact
from rocmdoctor.host.snapshot_tree import MAX_LINKS, MAX_PATH, read_up_to, reason

T = TypeVar("T")

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""Errors that mean that the path does not exist. Every other one leaves the question open."""
MAX_NAMES = 200_000

# O_NONBLOCK: a FIFO must not hang us, and files such as /proc/kmsg are regular files that wait for more.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PATH = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW


class Files(Protocol):
    """Questions about files. None is absent; UnknownFact when the kernel refuses or fails."""

    def stat(self, path: str, follow: bool) -> os.stat_result | None: ...

    def readlink(self, path: str) -> str: ...

    def resolve(self, path: str) -> str | None: ...

    def names(self, path: str) -> list[str]: ...

    def open(self, path: str) -> int | None:
        """A file descriptor for reading a regular file; UnknownFact when it is something else."""

    def acl(self, path: str) -> bytes:
        """The raw access ACL, b"" when there is none."""

    def statvfs(self, path: str) -> os.statvfs_result | None: ...


def answer(path: str, question: Callable[[], T], absent: T) -> T:
    """The three states of a system call: its value, `absent`, or UnknownFact with the kernel's reason."""
    try:
        return question()
    except OSError as exc:
        if exc.errno in ABSENT:
            return absent
        raise UnknownFact(f"{path}: {reason(exc)}") from None
    except ValueError:
        return absent  # a NUL or a lone surrogate: no file can have that name


def check_path(path: str) -> None:
    """Raise UnknownFact for a path that is not absolute: it would depend on the folder that this program was started in."""
    if not path.startswith("/"):
        raise UnknownFact(f"not an absolute path: {path[:80]!r}")


class MachineFiles:
    """Files of the running machine; the kernel resolves links."""

    def stat(self, path: str, follow: bool) -> os.stat_result | None:
        return answer(path, lambda: os.stat(path, follow_symlinks=follow), None)

    def readlink(self, path: str) -> str:
        return answer(path, lambda: os.readlink(path), "")

    def resolve(self, path: str) -> str | None:
        return answer(path, lambda: os.path.realpath(path, strict=True), None)

    def names(self, path: str) -> list[str]:
        empty: list[str] = []
        return answer(path, lambda: _listed(path, path), empty)

    def open(self, path: str) -> int | None:
        # Looked at before it is opened: opening some devices has effects.
        info = self.stat(path, True)
        if info is None:
            return None
        if not _is_regular(path, info.st_mode):
            return None
        return answer(path, lambda: os.open(path, _READ), None)

    def acl(self, path: str) -> bytes:
        return _acl(path)

    def statvfs(self, path: str) -> os.statvfs_result | None:
        return answer(path, lambda: os.statvfs(path), None)


class RootedFiles:
    """Files under a foreign root. Every component is opened relative to the one before it and never followed by the kernel,
    so that no link, and no change while we look, leads out."""

    def __init__(self, root: str) -> None:
        """Raises OSError when `root` cannot be opened as a folder."""
        self._top = -1
        self._top = os.open(root, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)

    def __del__(self) -> None:
        if self._top >= 0:
            os.close(self._top)

    def _walk(self, path: str, follow: bool, use: Callable[[int, str], T], absent: T) -> T:
        """`use(fd, canonical path)` of an O_PATH descriptor of what the path leads to."""
        check_path(path)
        if len(path) > MAX_PATH:
            return absent
        fds: list[int] = []
        names: list[str] = []
        todo = path.split("/")
        todo.reverse()
        links = 0
        try:
            while todo:
                name = todo.pop()
                if name in ("", "."):
                    continue
                if name == "..":
                    if fds:
                        os.close(fds.pop())
                        names.pop()
                    continue
                last = not any(todo)
                fd = os.open(name, _PATH, dir_fd=fds[-1] if fds else self._top)
                fds.append(fd)
                names.append(name)
                mode = os.fstat(fd).st_mode
                if stat.S_ISLNK(mode) and (follow or not last):
                    links += 1
                    target = os.readlink("", dir_fd=fd)
                    if links > MAX_LINKS:
                        raise UnknownFact(f"{path}: {os.strerror(errno.ELOOP)}")
                    os.close(fds.pop())
                    names.pop()
                    if target.startswith("/"):
                        while fds:
                            os.close(fds.pop())
                        names.clear()
                    todo.extend(reversed(target.split("/")))
                elif not last and not stat.S_ISDIR(mode):
                    return absent
            return use(fds[-1] if fds else self._top, "/" + "/".join(names))
        except OSError as exc:
            if exc.errno in ABSENT:
                return absent
            raise UnknownFact(f"{path}: {reason(exc)}") from None
        except ValueError:
            return absent
        finally:
            for fd in fds:
                os.close(fd)

    def stat(self, path: str, follow: bool) -> os.stat_result | None:
        return self._walk(path, follow, lambda fd, _: os.fstat(fd), None)

    def readlink(self, path: str) -> str:
        return self._walk(path, False, lambda fd, _: os.readlink("", dir_fd=fd), "")

    def resolve(self, path: str) -> str | None:
        return self._walk(path, True, lambda _, real: real, None)

    def names(self, path: str) -> list[str]:
        def listed(fd: int, _: str) -> list[str]:
            folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            try:
                return _listed(folder, path)
            finally:
                os.close(folder)

        empty: list[str] = []
        return self._walk(path, True, listed, empty)

    def open(self, path: str) -> int | None:
        def opened(fd: int, _: str) -> int | None:
            if not _is_regular(path, os.fstat(fd).st_mode):
                return None
            return os.open(f"/proc/self/fd/{fd}", _READ)

        return self._walk(path, True, opened, None)

    def acl(self, path: str) -> bytes:
        return self._walk(path, True, lambda fd, _: _acl(f"/proc/self/fd/{fd}"), b"")

    def statvfs(self, path: str) -> os.statvfs_result | None:
        return self._walk(path, True, lambda fd, _: os.fstatvfs(fd), None)


def _listed(folder: str | int, path: str) -> list[str]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MAX_NAMES + 1)]
    if len(names) > MAX_NAMES:
        raise UnknownFact(f"{path} has more than {MAX_NAMES} names")
    return names


def _is_regular(path: str, mode: int) -> bool:
    """False for a folder (there is no such file), UnknownFact for a device, FIFO or socket."""
    if stat.S_ISREG(mode):
        return True
    if stat.S_ISDIR(mode):
        return False
    raise UnknownFact(f"{path} is not a regular file")


def _acl(path: str) -> bytes:
    try:
        return os.getxattr(path, "system.posix_acl_access")
    except (OSError, ValueError):
        return b""  # none, or a file system without ACLs: the mode decides


def read_all(fd: int, path: str, limit: int) -> bytes:
    """At most `limit` bytes; closes `fd`. Raises UnknownFact when reading fails (a sysfs attribute may answer EIO)."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UnknownFact(f"{path} is not a regular file")
        return read_up_to(fd, limit)
    except OSError as exc:
        raise UnknownFact(f"{path}: {reason(exc)}") from None
    finally:
        os.close(fd)
