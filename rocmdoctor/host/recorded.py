"""A recorded host: a snapshot folder, a .tar.gz of one, or a host built in memory by a test.

Semantics are those of docs/snapshot-format.md: what was captured and is not there is absent; what lies outside `captured` or
under `unknown` is unknown.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rocmdoctor.host import Command, Filesystem, HostError, Node, Scratch, Uname, UnknownFact, User
from rocmdoctor.host import snapshot_shape as shape
from rocmdoctor.host.capture_patterns import NotCaptured, Patterns, is_wild
from rocmdoctor.host.snapshot_tree import MAX_FILE, FolderSource, Kind, MemorySource, Source, Tree, reason

SAME_FOR_ALL = frozenset(
    {"dmesg", "journalctl", "ldconfig", "modinfo", "dkms", "rpm", "dpkg", "dpkg-query", "mokutil", "lspci", "systemd-detect-virt"}
)
"""Commands whose output does not depend on who runs them: of others, only what the recorded user saw is known."""
OF_THE_SESSION = frozenset({"/proc/self/limits", "/proc/self/status"})
"""Files that tell of the recording process and of no other user's."""


class RecordedHost:
    """Implements `rocmdoctor.host.Host` from recorded data. Nothing is read from this machine but the snapshot."""

    def __init__(
        self,
        meta: Mapping[str, Any],
        files: Mapping[str, bytes | str] | None = None,
        nodes: Mapping[str, Any] | None = None,
        commands: Sequence[Any] = (),
        *,
        user: str | None = None,
        source: Source | None = None,
    ) -> None:
        """`meta`, `nodes`, `commands`: as in the three JSON files. `files`: host path to content; or `source`.

        `user`: judge this account instead of the recorded one. Raises HostError for data of the wrong shape, and for a user
        whose account is not recorded.
        """
        self._meta = shape.read_meta(meta)
        self._nodes = shape.read_nodes({} if nodes is None else nodes)
        self._commands = shape.read_commands(commands)
        self._programs = {argv[0] for argv, command in self._commands.items() if command.found}
        if source is None:
            source = MemorySource(
                {shape.plain_path(p, "file"): d.encode() if isinstance(d, str) else d for p, d in (files or {}).items()}
            )
        self._tree = Tree(source, {p: (n.node.type, n.node.target) for p, n in self._nodes.items()})
        self._unknown = Patterns(self._meta.unknown, below=True)
        self._captured = None if self._meta.captured is None else Patterns(self._meta.captured, below=False)
        self._user = self._meta.user
        if user is not None and user != self._user.name:
            self._user = self._account(user)

    # identity ------------------------------------------------------------------------------------------------

    @property
    def env(self) -> Mapping[str, str]:
        return self._meta.env

    @property
    def uname(self) -> Uname:
        if self._meta.uname is None:
            raise self._unknown_fact("uname", "the snapshot does not hold uname")
        return self._meta.uname

    @property
    def date(self) -> str:
        from datetime import date

        return self._meta.date or date.today().isoformat()

    @property
    def user(self) -> User:
        return self._user

    @property
    def groups(self) -> Mapping[str, int]:
        return self._meta.groups

    @property
    def _other_user(self) -> bool:
        """Somebody else is asked about than the user whose session was recorded."""
        return self._user.uid != self._meta.user.uid

    def _account(self, name: str) -> User:
        """The account `name` from the recorded /etc/passwd and /etc/group."""
        from rocmdoctor.host.accounts import account

        try:
            passwd, group = self.read("/etc/passwd"), self.read("/etc/group")
        except UnknownFact:
            passwd = group = None
        found = account(name, passwd or "", group or "", self._meta.groups if group is None else {})
        if found is None:
            raise HostError(f"user {name!r} is not recorded in this snapshot (it was taken for {self._meta.user.name!r})")
        if group is None and name != "root":
            raise HostError(f"the snapshot does not record the groups of user {name!r}")
        return found

    # files ---------------------------------------------------------------------------------------------------

    def _ask(self, path: str, content: bool = False) -> None:
        """Raise UnknownFact when the path was not captured."""
        if self._unknown.paths and self._unknown.path(path):
            denied = self._denied_file(path)
            if denied is None or (content and denied == path):
                raise self._unknown_fact(path, f"{path} could not be captured in this snapshot")

    def _denied_file(self, path: str) -> str | None:
        """The file whose content was denied that is this path, or lies on the way to it. A file that is itself listed as
        unknown and has an entry in nodes.json is such: its metadata is known, and that it is no folder."""
        while self._unknown.paths and path.strip("/"):
            entry = self._nodes.get(path)
            if entry is not None and entry.node.type == "file" and self._unknown.exactly(path):
                return path
            path = path.rpartition("/")[0]
        return None

    def _unknown_fact(self, question: str, otherwise: str) -> UnknownFact:
        """The reason that the recorder heard, else `otherwise`."""
        return UnknownFact(self._meta.reasons.get(question, otherwise))

    def _not_captured(self, question: str, what: str) -> NotCaptured:
        return NotCaptured(self._meta.reasons.get(question, f"{what} was not captured in this snapshot"))

    def _find(self, path: str, follow: bool = True, content: bool = False) -> tuple[str, Kind | None]:
        """Canonical path and kind (None: absent), after the three-state rules for the path as asked and after links."""
        if self._unknown.paths:
            self._ask(path, content)
        where, kind = self._tree.walk(path, follow)
        real = where or "/"
        if real != path:
            self._ask(real, content)
        if self._captured is not None and not (self._captured.path(path) or self._captured.path(real)):
            raise self._not_captured(path, path)
        if kind is None and self._unknown.paths and self._unknown.path(f"{real}/*") and self._denied_file(real) is None:
            raise self._unknown_fact(path, f"{path} could not be captured in this snapshot")
        if kind == "other":
            raise UnknownFact(f"the snapshot has a device or FIFO in the place of {path}")
        return where, kind

    def read(self, path: str, limit: int = 4 << 20) -> str | None:
        data = self._content(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = 1 << 20) -> bytes | None:
        return self._content(path, limit)

    def _content(self, path: str, limit: int) -> bytes | None:
        if path in OF_THE_SESSION and self._other_user:
            raise UnknownFact(f"{path} was recorded for {self._meta.user.name}, not for {self._user.name}")
        where, kind = self._find(path, content=True)
        if kind is None or kind == "dir":
            return None
        if kind != "file":
            raise UnknownFact(f"{path} is not a regular file")
        data = self._tree.content(where, limit)
        if not data and limit > 0:
            from rocmdoctor.host.binaries import may_be_placeholder

            if data is not None and not may_be_placeholder(where):
                return data
            raise self._unknown_fact(path, f"the content of {path} was not captured in this snapshot")
        return data

    def node(self, path: str, follow: bool = True) -> Node | None:
        where, kind = self._find(path, follow)
        if kind is None:
            return None
        recorded = self._nodes.get(where)
        if recorded is not None:
            return recorded.node
        if kind == "link":
            return Node("link", 0o777, target=self._tree.target(where))
        return Node("dir", 0o755) if kind == "dir" else Node("file", 0o644)

    def resolve(self, path: str) -> str | None:
        where, kind = self._find(path)
        return None if kind is None else where or "/"

    def names(self, path: str) -> tuple[str, ...]:
        where, kind = self._tree.walk(path, True)
        self._ask(path)
        self._ask(where or "/")
        if kind not in ("dir", None) or self._denied_file(where) is not None:
            return ()
        names = self._listed(path.rstrip("/"), where, "*", captured=False)
        return tuple(sorted(names))

    def _listed(self, asked: str, where: str, name: str, captured: bool) -> Iterable[str]:
        """Names in the folder `where`, of which those that match the glob `name` matter. `captured`: known to be."""
        folders = (asked,) if asked == where else (asked, where)
        names: Iterable[str] = self._tree.listing(where)
        if not captured and self._captured is not None and not any(self._captured.path(f"{f}/{name}") for f in folders):
            raise self._not_captured(asked or "/", asked or "/")
        if self._unknown.paths:
            for folder in folders:
                reached, single = self._unknown.children(folder, name)
                if reached or self._unknown.path(f"{folder}/{name}"):
                    raise self._unknown_fact(asked or "/", f"{asked or '/'} could not be captured in this snapshot")
                # Such a path may or may not exist: it is listed, and whoever asks for it hears that it is unknown.
                names = {*names, *single}
        return names

    def glob(self, pattern: str) -> tuple[str, ...]:
        if not is_wild(pattern):
            return (pattern,) if self._exists(pattern) else ()
        from rocmdoctor.host.globbing import expand

        if self._unknown.path(pattern):
            raise self._unknown_fact(pattern, f"{pattern} could not be captured in this snapshot")
        # A pattern that the recorder captured as a whole needs no further leave for the folders on its way.
        captured = self._captured is None or self._captured.path(pattern)

        def names(folder: str, name: str) -> Iterable[str]:
            where, kind = self._tree.walk(folder or "/", True)
            self._ask(folder or "/")
            self._ask(where or "/")
            if kind not in ("dir", None) or self._denied_file(where) is not None:
                return ()
            return self._listed(folder, where, name, captured)

        return expand(pattern, names, lambda path: self._exists(path, captured))

    def _exists(self, path: str, captured: bool = False) -> bool:
        """Whether a path of a glob exists; an unknown one does, so that reading it tells that it is unknown."""
        try:
            where, kind = self._tree.walk(path, False)
        except UnknownFact:
            return True
        real = where or "/"
        if kind is not None:
            return True
        if any(self._unknown.path(p) and self._denied_file(p) is None for p in {path, real}):
            return True
        return not captured and self._captured is not None and not (self._captured.path(path) or self._captured.path(real))

    def open_result(self, path: str) -> str:
        where, kind = self._find(path)
        if kind is None:
            return "ENOENT"
        recorded = self._nodes.get(where)
        if recorded is not None and recorded.open is not None and self._user == self._meta.user:
            return recorded.open
        if kind == "dir":
            return "EISDIR"
        if recorded is not None and not recorded.has_mode and kind != "file":
            raise UnknownFact(f"the mode of {path} was not captured in this snapshot")
        from rocmdoctor.host.permission import READ_WRITE, allows

        parent = where
        while parent:
            parent = parent.rpartition("/")[0]
            folder = self._nodes.get(parent)
            if folder is not None and folder.node.type == "dir":
                node = folder.node
                if not allows(self._user, node.mode, node.uid, node.gid, 1):
                    return "EACCES"
        node = recorded.node if recorded is not None else Node("file", 0o644)
        return "ok" if allows(self._user, node.mode, node.uid, node.gid, READ_WRITE) else "EACCES"

    def filesystem(self, path: str) -> Filesystem | None:
        found = self._meta.filesystems.get(path)
        if found is None:
            if f"statvfs:{path}" in (self._meta.captured or ()):
                return None  # the recorder asked, and it was no mount of its own
            raise self._not_captured(f"statvfs:{path}", f"the file system at {path}")
        return found

    # commands ------------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        key = tuple(argv)
        question = f"cmd:{' '.join(key)}"
        if self._unknown.command(key[0]):
            raise self._unknown_fact(question, f"the output of {key[0]} could not be captured in this snapshot")
        if self._other_user and key[0].rpartition("/")[2] not in SAME_FOR_ALL:
            raise UnknownFact(f"{key[0]} was recorded for {self._meta.user.name}, not for {self._user.name}")
        found = self._commands.get(key)
        if found is not None:
            return found
        if self._captured is not None and not self._captured.command(key[0]):
            raise self._not_captured(question, f"the output of {key[0]}")
        if key[0] in self._programs:
            raise self._not_captured(question, f"the output of {' '.join(key)}")
        return Command(key, None, 127, "", "")

    def scratch(self, files: Mapping[str, str]) -> AbstractContextManager[Scratch]:
        raise UnknownFact("programs are not run on a recorded host")


def open_snapshot(path: str | os.PathLike[str], user: str | None = None) -> RecordedHost:
    """Open a snapshot folder or .tar.gz. Raises HostError, with one clear sentence, for whatever is not a sound one."""
    name = os.fspath(path)
    try:
        return _open(name, user)
    except HostError as exc:
        said = str(exc)
        raise HostError(said if name and name in said else f"snapshot {name or repr(name)}: {said}") from None


def _open(name: str, user: str | None) -> RecordedHost:
    try:
        info = os.stat(name)
    except (OSError, ValueError) as exc:
        raise HostError(f"snapshot {name} cannot be read: {reason(exc)}") from None
    if stat.S_ISDIR(info.st_mode):
        return _open_folder(name, user)
    from rocmdoctor.host.snapshot_archive import read_archive

    archive = read_archive(name)
    meta, nodes, commands = _parts(archive.parts)
    return RecordedHost(meta, None, nodes, commands, user=user, source=MemorySource(archive.files, archive.folders))


def _parts(parts: Mapping[str, bytes]) -> tuple[Mapping[str, Any], Any, Any]:
    if "snapshot.json" not in parts:
        raise HostError("not a snapshot: it has no snapshot.json")
    # The version first: a later one may have other parts.
    meta = shape.check_header(shape.load("snapshot.json", parts["snapshot.json"]))
    for part in ("nodes.json", "commands.json"):
        if part not in parts:
            raise HostError(f"not a snapshot: it has no {part}")
    return meta, shape.load("nodes.json", parts["nodes.json"]), shape.load("commands.json", parts["commands.json"])


def _open_folder(name: str, user: str | None) -> RecordedHost:
    top = FolderSource(name)
    parts: dict[str, bytes] = {}
    try:
        for part in ("snapshot.json", "nodes.json", "commands.json"):
            data = top.content(f"/{part}", MAX_FILE + 1)
            if data is not None:
                if len(data) > MAX_FILE:
                    raise HostError(f"{part} of the snapshot is larger than {MAX_FILE >> 20} MiB")
                parts[part] = data
        meta, nodes, commands = _parts(parts)
        if top.children("").get("files", "dir") != "dir":
            raise HostError("files in the snapshot is not a folder")
    except UnknownFact as exc:
        raise HostError(f"snapshot {name} cannot be read: {exc}") from None
    return RecordedHost(meta, None, nodes, commands, user=user, source=FolderSource(f"{name}/files"))
