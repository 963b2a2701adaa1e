"""The Host: the only layer that reads a file, the environment or a user database, or runs a command.

Three back ends answer the same questions: a live machine (`live`), a recorded one (`recorded`, from a
snapshot folder, a .tar.gz or the tests' host builder), and a recorder that wraps a live one (`recorder`).

Every answer has three states. A value is returned; *absent* is `None` (or an empty tuple for listings);
*unknown* (no permission, time-out, not captured) raises `UnknownFact`, which the engine turns into a `skip`
result, so that an unknown fact can never fail a host.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol


class UnknownFact(Exception):
    """A question that this host could not answer; `str()` of it is the reason, fit for a `skip` result."""


class HostError(Exception):
    """The host itself cannot be read (missing, empty, truncated or hostile snapshot): wrong input, exit 2."""


NodeType = Literal["file", "dir", "link", "char", "block"]


class Node(NamedTuple):
    """Metadata of a path (lstat when links are not followed). `size` is in bytes where it is known."""

    type: NodeType
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    major: int | None = None
    minor: int | None = None
    target: str | None = None
    size: int | None = None


class Uname(NamedTuple):
    """uname(2) of the host: `release` is the running kernel, `machine` the architecture."""

    sysname: str
    release: str
    version: str
    machine: str


class User(NamedTuple):
    """The asked user. `groups`: gids of this session; `database_groups`: gids of a new session (getgrouplist).

    They differ between `usermod` and the next login (rules.md 20).
    """

    name: str
    uid: int
    gid: int
    groups: frozenset[int]
    database_groups: frozenset[int]
    sudo_user: str | None = None


class Command(NamedTuple):
    """What a command said. Not found: `program` None and rc 127; time-out: `timed_out` and rc 124."""

    argv: tuple[str, ...]
    program: str | None
    rc: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def found(self) -> bool:
        return self.program is not None


class Filesystem(NamedTuple):
    """Size and free space of a mounted file system, in bytes (statvfs)."""

    size: int
    free: int


class Scratch(Protocol):
    """A private temporary folder in which programs run. When its block ends it is gone, with all that they left in it."""

    @property
    def folder(self) -> str:
        """Absolute path."""

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        """As `Host.run`, as the asked user, with the folder as the working directory and the place of temporary files and caches
        (TMPDIR, XDG_CACHE_HOME). The answer is not kept: asked again, the program runs again."""


class Host(Protocol):
    """One machine, live or recorded. All paths are absolute paths of that machine.

    Links are resolved inside the host (never out of `--root` or a snapshot). Members raise `UnknownFact`
    for what cannot be told, and never any other error for what the host contains.
    """

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables that matter; set-but-empty is kept as ""."""

    @property
    def uname(self) -> Uname: ...

    @property
    def date(self) -> str:
        """ISO date of the observation: today on a live machine, the day on which a snapshot was taken."""

    @property
    def user(self) -> User: ...

    @property
    def groups(self) -> Mapping[str, int]:
        """The group database, name to gid."""

    def read(self, path: str, limit: int = 4 << 20) -> str | None:
        """Text of a regular file (UTF-8 with replacement), at most `limit` bytes; None when absent."""

    def read_bytes(self, path: str, limit: int = 1 << 20) -> bytes | None:
        """Content of a regular file, at most `limit` bytes; None when absent. Placeholders raise UnknownFact
        when a recorded binary's content was not kept (an empty file at a binary's place)."""

    def node(self, path: str, follow: bool = True) -> Node | None:
        """Metadata; with `follow` links are resolved first. A dangling link is absent when followed."""

    def resolve(self, path: str) -> str | None:
        """The canonical path after all links, or None when it does not exist."""

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty when the folder is absent."""

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Existing paths for a pattern with `*`, `?`, `[...]` in components (no `**`), sorted by path."""

    def open_result(self, path: str) -> str:
        """Opening read-write as the asked user: "ok" or an errno name (EACCES, ENOENT, EPERM, EINVAL, ...)."""

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        """Run a command (argv, no shell, LC_ALL=C.UTF-8, bounded output) once; the answer is kept.

        A command that was not found has `program` None; one that hangs has `timed_out`.
        """

    def scratch(self, files: Mapping[str, str]) -> AbstractContextManager[Scratch]:
        """A folder that holds `files` (base name to text), for a test that has to write something, such as a compiler's.

        Raises UnknownFact where no program can be run (a recorded host, a foreign root) and where no folder can be made.
        """

    def filesystem(self, path: str) -> Filesystem | None:
        """statvfs of the file system mounted at `path`; None when it is not a mount point of its own."""
