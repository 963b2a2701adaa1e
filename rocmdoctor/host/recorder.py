"""A host that remembers what it was asked, to write it down as a snapshot.

Every question is passed on to the host behind it, and question and answer are kept. Replaying the snapshot gives the same
answers; what no one asked, and the capture list does not hold, is unknown there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

from rocmdoctor.host import Command, Filesystem, Host, Node, Scratch, Uname, UnknownFact, User, capture_list
from rocmdoctor.host.binaries import keeps_content
from rocmdoctor.host.capture_patterns import NotCaptured, glob_escape, is_wild
from rocmdoctor.host.globbing import expand
from rocmdoctor.host.snapshot_tree import MAX_LINKS

T = TypeVar("T")

MAX_LISTING = 20_000
"""Names of one folder; a larger one is unknown in the snapshot, which has bounds of its own."""
COMMAND_TIMEOUT = 15.0
"""Seconds for each command of the capture list."""


class Recorder:
    """Implements `rocmdoctor.host.Host` over another host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.files: dict[str, bytes] = {}
        """Contents by canonical path; b"" also for the placeholder of a binary."""
        self.nodes: dict[str, Node] = {}
        """Metadata by canonical path, of everything that was come across."""
        self.asked: set[str] = set()
        """Canonical paths of which the metadata was asked."""
        self.denied: set[str] = set()
        """Canonical paths of files that could not be read."""
        self.opened: dict[str, str] = {}
        self.commands: dict[tuple[str, ...], Command] = {}
        self.filesystems: dict[str, Filesystem] = {}
        self.captured: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.reasons: dict[str, str] = {}
        self._read: dict[str, bytes | None] = {}
        self._seen: dict[str, Node | None] = {"/": Node("dir", 0o755)}

    # identity ------------------------------------------------------------------------------------------------

    @property
    def env(self) -> Mapping[str, str]:
        return self.host.env

    @property
    def uname(self) -> Uname:
        return self.host.uname

    @property
    def user(self) -> User:
        return self.host.user

    @property
    def groups(self) -> Mapping[str, int]:
        return self.host.groups

    @property
    def date(self) -> str:
        return self.host.date

    # keeping -------------------------------------------------------------------------------------------------

    def _look(self, path: str) -> Node | None:
        """Metadata of one canonical path, asked once."""
        if path not in self._seen:
            # /proc/self leads to the number of this process; the files are written down where checks ask for them.
            self._seen[path] = self.host.node(path, follow=path == "/proc/self")
        node = self._seen[path]
        if node is not None and path != "/":
            self.nodes.setdefault(path, node)
        return node

    def _trace(self, path: str, follow: bool = True) -> tuple[str, Node | None]:
        """Keep every link and folder on the way; the canonical path and what is there. Raises UnknownFact."""
        todo = path.split("/")
        todo.reverse()
        where, node, links = "", self._look("/"), 0
        while todo:
            name = todo.pop()
            if not name or name == ".":
                continue
            if name == "..":
                where = where.rpartition("/")[0]
                continue
            here = f"{where}/{name}"
            try:
                node = self._look(here)
            except NotCaptured:
                # A snapshot that is recorded again may know the path's end, by the name that was asked, and not its way.
                if any(todo):
                    node = Node("dir")
                else:
                    node = self.host.node(path, follow)
                    if node is not None:
                        self.nodes.setdefault(here, node)
            except UnknownFact as exc:
                self._not_known(here, here, exc)
                raise
            if node is None:
                return "/".join([here, *(n for n in reversed(todo) if n)]), None
            if node.type == "link" and (follow or any(todo)):
                links += 1
                if links > MAX_LINKS or not node.target:
                    # Written down, such a link would make the snapshot unsound; it is unknown, as it is here.
                    del self.nodes[here]
                    unknown = UnknownFact(f"{path}: too many levels of links")
                    self._not_known(here, here, unknown)
                    raise unknown
                if node.target.startswith("/"):
                    where = ""
                todo.extend(reversed(node.target.split("/")))
                continue
            where = here
        return where or "/", node

    def _not_known(self, path: str, question: str, exc: UnknownFact) -> None:
        self.reasons.setdefault(question, str(exc))
        if not isinstance(exc, NotCaptured):
            self.unknown[glob_escape(path)] = None

    def _asked(self, path: str, question: Callable[[], T], follow: bool = True) -> tuple[T, str, Node | None]:
        """The host's answer to a question about a path, its canonical path and metadata."""
        try:
            answer = question()
        except UnknownFact as exc:
            self._denied(path, follow, exc)
            raise
        self.captured[glob_escape(path)] = None
        try:
            where, node = self._trace(path, follow)
        except UnknownFact:
            where, node = path, None
        if not where.startswith("/sys/devices/"):  # asked by their links only, and there are thousands
            self.captured[glob_escape(where)] = None
        return answer, where, node

    def _denied(self, path: str, follow: bool, exc: UnknownFact) -> None:
        """Note what is unknown, and what is known nevertheless: a file that cannot be read still has its metadata."""
        self.reasons.setdefault(path, str(exc))
        if isinstance(exc, NotCaptured):
            return
        try:
            where, node = self._trace(path, follow)
        except UnknownFact:
            return
        self.captured[glob_escape(path)] = None
        if node is None or node.type == "file":
            self.unknown[glob_escape(where)] = None
            self.denied.add(where)

    # files ---------------------------------------------------------------------------------------------------

    def read(self, path: str, limit: int = 4 << 20) -> str | None:
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = 1 << 20) -> bytes | None:
        if not path.startswith("/"):
            return self.host.read_bytes(path, limit)
        if path in self._read:
            known = self._read[path]  # what a check has seen is what is written, however often the file changes
            return None if known is None else known[:limit]
        data, where, _ = self._asked(path, lambda: self.host.read_bytes(path, limit))
        if data is None:
            self._read[path] = None
        elif keeps_content(where, data):
            kept = data
            if len(data) == limit < capture_list.LIMIT:
                # Cut by this question; another one may want more.
                kept = self.host.read_bytes(path, capture_list.LIMIT) or data
            self._read[path] = self.files.setdefault(where, kept[: capture_list.LIMIT])
        return data

    def node(self, path: str, follow: bool = True) -> Node | None:
        if not path.startswith("/"):
            return self.host.node(path, follow)
        answer, where, _ = self._asked(path, lambda: self.host.node(path, follow), follow)
        if answer is not None:
            if where not in self.asked:
                self.nodes[where] = answer
            self.asked.add(where)
        return answer

    def resolve(self, path: str) -> str | None:
        if not path.startswith("/"):
            return self.host.resolve(path)
        return self._asked(path, lambda: self.host.resolve(path))[0]

    def names(self, path: str) -> tuple[str, ...]:
        if not path.startswith("/"):
            return self.host.names(path)
        names = self._list(path)
        try:
            where, node = self._trace(path)
        except UnknownFact:
            where, node = path, None
        if len(names) > MAX_LISTING:
            self.unknown[f"{glob_escape(where.rstrip('/'))}/*"] = None
            return names
        if node is None or node.type == "dir":
            for name in names:
                self._found(f"{where.rstrip('/')}/{name}")
        self.captured[f"{glob_escape(path.rstrip('/'))}/*"] = None
        return names

    def _list(self, folder: str) -> tuple[str, ...]:
        """Names in a folder; when it cannot be listed, what lies in it is unknown."""
        try:
            return self.host.names(folder)
        except UnknownFact as exc:
            self.reasons.setdefault(folder.rstrip("/") or "/", str(exc))
            if not isinstance(exc, NotCaptured):
                try:
                    where, _ = self._trace(folder)
                except UnknownFact:
                    raise exc from None
                self.unknown[f"{glob_escape(where.rstrip('/'))}/*"] = None
            raise

    def _found(self, path: str) -> None:
        """Keep that a path exists; one that cannot be looked at is noted as unknown."""
        try:
            self._trace(path, follow=False)
        except UnknownFact:
            return

    def glob(self, pattern: str) -> tuple[str, ...]:
        if not pattern.startswith("/"):
            return self.host.glob(pattern)
        try:
            found = self.host.glob(pattern)
        except UnknownFact as exc:
            self.reasons.setdefault(pattern, str(exc))
            if not isinstance(exc, NotCaptured):
                # Only to hear which folder it is that cannot be listed.
                with suppress(UnknownFact):
                    expand(pattern, lambda folder, _: self._list(folder or "/"), lambda _: True)
            raise
        for path in found:
            self._found(path)
        self.captured[pattern] = None
        return found

    def open_result(self, path: str) -> str:
        answer, where, node = self._asked(path, lambda: self.host.open_result(path))
        if node is not None and where not in self.opened:
            self.nodes[where] = node
            self.opened[where] = answer
        return answer

    def filesystem(self, path: str) -> Filesystem | None:
        if path in self.filesystems:
            return self.filesystems[path]
        try:
            found = self.host.filesystem(path)
        except UnknownFact as exc:
            self.reasons.setdefault(f"statvfs:{path}", str(exc))
            raise
        if found is None:
            self.captured[f"statvfs:{path}"] = None
        else:
            self.filesystems[path] = found
        return found

    # commands ------------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        key = tuple(argv)
        name = f"cmd:{key[0]}"
        try:
            command = self.host.run(argv, timeout)
        except UnknownFact as exc:
            self.reasons.setdefault(f"cmd:{' '.join(key)}", str(exc))
            if not isinstance(exc, NotCaptured):
                self.unknown[name] = None
            raise
        self.commands[key] = Command(key, command.program, command.rc, command.stdout, command.stderr, command.timed_out)
        self.captured[name] = None
        return command

    def scratch(self, files: Mapping[str, str]) -> AbstractContextManager[Scratch]:
        raise UnknownFact("what runs in a temporary folder is not recorded")

    # the capture list ----------------------------------------------------------------------------------------

    def capture(self) -> None:
        """Ask everything of the capture list. What is denied is noted as unknown; nothing raises."""
        try:
            release = self.host.uname.release
        except UnknownFact:
            release = "*"
        for pattern in capture_list.READ:
            for path in self._paths(pattern.replace("{release}", release)):
                self._try(lambda p: self.read_bytes(p, capture_list.LIMIT), path)
        for pattern in capture_list.LOOK:
            for path in self._paths(pattern.replace("{release}", release)):
                self._try(self.node, path)
        for pattern in capture_list.OPEN:
            for path in self._paths(pattern):
                self._try(self._open_device, path)
        for path in capture_list.FILESYSTEMS:
            self._try(self.filesystem, path)
        for argv in capture_list.COMMANDS:
            self._try(lambda a: self.run(a, COMMAND_TIMEOUT), argv)
        log = self.commands.get(("dmesg",))
        if log is None or log.rc != 0:
            self._try(lambda a: self.run(a, COMMAND_TIMEOUT), capture_list.JOURNAL)
        if not any(path.startswith("/sys/firmware/efi/efivars/SecureBoot-") and data for path, data in self.files.items()):
            self._try(lambda a: self.run(a, COMMAND_TIMEOUT), capture_list.SECURE_BOOT)

    def _paths(self, pattern: str) -> tuple[str, ...]:
        """The paths of a pattern; the path itself when it is none, so that its absence is captured as well."""
        if not is_wild(pattern):
            return (pattern,)
        try:
            return self.glob(pattern)
        except UnknownFact:
            return ()

    @staticmethod
    def _try(question: Callable[[T], object], subject: T) -> None:
        try:
            question(subject)
        except UnknownFact:
            return

    def _open_device(self, path: str) -> None:
        node = self.node(path)
        if node is not None and node.type == "char":
            self.open_result(path)

    # writing -------------------------------------------------------------------------------------------------

    def write(self, path: str | os.PathLike[str], redact: bool = True, force: bool = False) -> None:
        """Capture the list and write a snapshot: a .tar.gz when `path` ends so, a folder otherwise.

        Raises HostError when `path` exists (and `force` does not allow to replace it) or cannot be written.
        """
        from rocmdoctor.host.snapshot_writer import document, write

        self.capture()
        write(document(self, redact), os.fspath(path), force)
