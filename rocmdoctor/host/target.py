"""A machine as something that can be changed: what a plan may do to one, and how it hears that it could not.

Everything that a plan does goes through `Target`; `rocmdoctor.host.machine` is the machine that this runs on.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from rocmdoctor.host import Command, Host


class ChangeFailed(Exception):
    """A change could not be made; `str()` of it is one sentence for the user."""


class FileState(NamedTuple):
    """What lies at a path, links not followed. `type` is file | dir | link | other."""

    type: str
    mode: int
    uid: int
    gid: int
    target: str | None = None


class Target(Protocol):
    """One machine that may be changed. Paths are absolute. Every member that changes something raises ChangeFailed."""

    def look(self) -> Host:
        """The machine as it is now; nothing that an earlier look has read is remembered."""

    def now(self) -> str:
        """The time in UTC, as 2026-11-30T12:00:00Z."""

    def state(self, path: str) -> FileState | None: ...

    def read(self, path: str) -> bytes | None:
        """The whole content of a regular file, None when there is none."""

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty when there is none."""

    def write(self, path: str, data: bytes, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
        """Replace a file at once; it is on the disk when this returns. A link at the path is replaced, not followed."""

    def link(self, path: str, to: str) -> None:
        """Make a symbolic link, replacing what is there at once."""

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        """Make one folder whose parent exists; nothing happens when it is there."""

    def remove(self, path: str) -> None:
        """Remove a file or link; nothing happens when there is none."""

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder; False when it is not empty or not there."""

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all that is in it; links are removed, not followed."""

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file (made with mode 0600) and wait until it is on the disk."""

    def lock(self, path: str) -> AbstractContextManager[None]:
        """Hold an exclusive flock(2) on a file for the time of a block. ChangeFailed when another process has it."""

    def room(self, path: str) -> tuple[int, int] | None:
        """(device, free bytes) of the file system that a path lies on, or would lie on; None when it cannot be told."""

    def lock_holder(self, path: str) -> int | None:
        """The process that holds a record lock (fcntl(2), as dpkg and rpm take them) on a file; None when nobody does."""

    def run(
        self,
        argv: Sequence[str],
        log: str,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        heard: Callable[[], None] | None = None,
    ) -> Command:
        """Run a program to its end with both streams appended to `log`; `stdout` of the answer is what it wrote (its last MiB).

        `heard` is called a few times a second while it runs. Proxy variables are passed on, others are not.
        """

    def fetch(self, url: str, limit: int, ca: str | None = None) -> bytes:
        """The content behind a URL, at most `limit` bytes. `ca`: PEM file of a private certificate authority."""


def temporary_name(path: str) -> str:
    """Where a new version of `path` is written before it takes its place. One fixed name: what a killed run left is found again,
    and neither apt nor dnf reads a name that begins with a dot."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.rocmdoctor-new"
