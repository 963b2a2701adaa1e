"""The file tree of a snapshot: names, links and metadata, resolved inside the snapshot and never on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Literal, Protocol

from rocmdoctor.host import HostError, UnknownFact

Kind = Literal["file", "dir", "link", "char", "block", "other"]
"""`other`: something on disk that a snapshot never holds (FIFO, socket, device)."""

MAX_LINKS = 40
"""As many links as Linux follows in one path (MAXSYMLINKS, include/linux/namei.h)."""
MAX_FILE = 64 << 20
"""Bytes of a file of a snapshot."""
MAX_ENTRIES = 200_000
_DEEP = 100
"""Folders in each other; Linux has some twenty."""
MAX_PATH = 4096
"""PATH_MAX: no question about a longer path can be answered with yes."""


class Source(Protocol):
    """Where file contents come from. Paths are canonical paths of the host ("" is the root)."""

    def children(self, path: str) -> Mapping[str, Kind]:
        """Names and kinds in a folder; empty when it is none."""

    def content(self, path: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a regular file; None when it is not there."""

    def target(self, path: str) -> str:
        """Where a link points."""


class MemorySource:
    """Contents held in memory: an archive's members, or a test's files."""

    def __init__(self, files: Mapping[str, bytes], folders: tuple[str, ...] = ()) -> None:
        """Raises HostError where one path is both a file and a folder."""
        self._files = files
        self._children: dict[str, dict[str, Kind]] = {}
        for path in files:
            parent, _, name = path.rpartition("/")
            names = self._children.get(parent)
            if names is None:
                names = self._children[parent] = {}
            names[name] = "file"
        for path in tuple(self._children):  # the folders that hold files, and those above them
            self._add(path, "dir")
        for path in folders:
            self._add(path, "dir")

    def _add(self, path: str, kind: Kind) -> None:
        while path:
            parent, _, name = path.rpartition("/")
            names = self._children.setdefault(parent, {})
            known = names.get(name)
            if known is not None:
                if known != kind:
                    raise HostError(f"the snapshot has {path!r} both as a file and as a folder")
                return
            names[name] = kind
            path, kind = parent, "dir"

    def children(self, path: str) -> Mapping[str, Kind]:
        return self._children.get(path, {})

    def content(self, path: str, limit: int) -> bytes | None:
        data = self._files.get(path)
        return None if data is None else data[:limit]

    def target(self, path: str) -> str:
        raise UnknownFact(f"{path} is no link")


class FolderSource:
    """Contents under `files/` of a snapshot folder, listed and read when asked. Nothing outside is ever opened: every
    component that leads to a file is a real folder, and the file itself is opened without following a link."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._entries = 0

    def children(self, path: str) -> Mapping[str, Kind]:
        names: dict[str, Kind] = {}
        try:
            with os.scandir(self._root + path) as entries:
                for entry in entries:
                    self._entries += 1
                    if self._entries > MAX_ENTRIES:
                        raise UnknownFact(f"the snapshot has more than {MAX_ENTRIES} files")
                    names[entry.name] = (
                        "link"
                        if entry.is_symlink()
                        else "dir"
                        if entry.is_dir(follow_symlinks=False)
                        else "file"
                        if entry.is_file(follow_symlinks=False)
                        else "other"
                    )
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as exc:
            raise UnknownFact(f"{path or '/'} of the snapshot cannot be listed: {reason(exc)}") from None
        return names

    def content(self, path: str, limit: int) -> bytes | None:
        try:
            # O_NONBLOCK: a FIFO that took the file's place must not hang the reader.
            fd = os.open(self._root + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as exc:
            raise UnknownFact(f"{path} of the snapshot cannot be read: {reason(exc)}") from None
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise UnknownFact(f"{path} of the snapshot is no regular file")
            return read_up_to(fd, min(limit, info.st_size))
        except OSError as exc:
            raise UnknownFact(f"{path} of the snapshot cannot be read: {reason(exc)}") from None
        finally:
            os.close(fd)

    def target(self, path: str) -> str:
        try:
            return os.readlink(self._root + path)
        except (OSError, ValueError) as exc:
            raise UnknownFact(f"link {path} of the snapshot cannot be read: {reason(exc)}") from None


def read_up_to(fd: int, limit: int) -> bytes:
    """At most `limit` bytes. Raises OSError."""
    parts: list[bytes] = []
    size = 1 << 14  # a larger buffer costs more than most files take to read
    while limit > 0:
        part = os.read(fd, min(limit, size))
        if not part:
            break
        parts.append(part)
        limit -= len(part)
        size = 1 << 20
    return b"".join(parts)


def reason(exc: Exception) -> str:
    """An error's reason without the path of this machine."""
    return (exc.strerror if isinstance(exc, OSError) else None) or type(exc).__name__


class Tree:
    """Names of `nodes.json` laid over those of the files; what nodes.json says of a path wins."""

    def __init__(self, source: Source, nodes: Mapping[str, tuple[Kind, str | None]]) -> None:
        """`nodes`: path to kind and link target."""
        self._source = source
        self._nodes = nodes
        self._listed: dict[str, Mapping[str, Kind]] = {}
        self._folders: dict[str, tuple[str, bool]] = {}
        """By the path that was asked for: the canonical path, and whether it is a folder."""
        self._over: dict[str, dict[str, Kind]] = {}
        for path, (kind, _) in nodes.items():
            parent, _, name = path.rpartition("/")
            self._over.setdefault(parent, {})[name] = kind
            while parent:
                parent, _, name = parent.rpartition("/")
                names = self._over.setdefault(parent, {})
                if name in names:
                    break
                names[name] = "dir"

    def listing(self, path: str) -> Mapping[str, Kind]:
        """Names and kinds in the folder with this canonical path ("" is the root)."""
        known = self._listed.get(path)
        if known is None:
            known = self._source.children(path)
            over = self._over.get(path)
            if over:
                # A folder that nodes.json merely implies may be a link or a file under files/.
                nodes = self._nodes
                known = {**{n: k for n, k in over.items() if f"{path}/{n}" not in nodes}, **known}
                known.update({n: k for n, k in over.items() if f"{path}/{n}" in nodes})
            self._listed[path] = known
        return known

    def content(self, path: str, limit: int) -> bytes | None:
        """The file's content by canonical path; None when nodes.json alone knows it."""
        return self._source.content(path, limit)

    def target(self, path: str) -> str:
        """Where the link with this canonical path points."""
        known = self._nodes.get(path)
        return known[1] if known and known[1] is not None else self._source.target(path)

    def walk(self, path: str, follow: bool) -> tuple[str, Kind | None]:
        """The canonical path ("" for the root) and its kind, None when it does not exist; then the path is where it would be.

        Raises UnknownFact for a path that is not absolute, and for a loop of links (ELOOP).
        """
        if path[:1] != "/" or len(path) > MAX_PATH:
            raise UnknownFact(f"not an absolute path: {path[:80]!r}")
        parent, _, name = path.rpartition("/")
        if name and name not in (".", ".."):
            folder, is_folder = self._folders.get(parent) or self._folder(parent)
            if not is_folder:
                return f"{folder}/{name}", None
            found = (self._listed.get(folder) or self.listing(folder)).get(name)
            if found != "link" or not follow:
                return f"{folder}/{name}", found
        return self._walk(path, follow)

    def _folder(self, path: str) -> tuple[str, bool]:
        """The canonical path of what `path` leads to, and whether that is a folder. Neighbours are asked for one after another,
        and so are folders in one: each is looked up once."""
        if path.count("/") > _DEEP:
            where, kind = self._walk(path, True)
            return where, kind == "dir"
        parent, _, name = path.rpartition("/")
        if not path:
            answer = "", True
        elif not name or name in (".", ".."):
            where, kind = self._walk(path, True)
            answer = where, kind == "dir"
        else:
            folder, is_folder = self._folders.get(parent) or self._folder(parent)
            found = (self._listed.get(folder) or self.listing(folder)).get(name) if is_folder else None
            if found == "link":
                where, kind = self._walk(path, True)
                answer = where, kind == "dir"
            else:
                answer = f"{folder}/{name}", found == "dir"
        self._folders[path] = answer
        return answer

    def _walk(self, path: str, follow: bool) -> tuple[str, Kind | None]:
        """`walk` from the root, component by component."""
        todo = path.split("/")
        todo.reverse()
        where, links = "", 0
        kind: Kind = "dir"
        while todo:
            name = todo.pop()
            if not name or name == ".":
                continue
            if name == "..":
                where = where.rpartition("/")[0]
                continue
            found = self.listing(where).get(name)
            here = f"{where}/{name}"
            if found is None:
                return "/".join([here, *(n for n in reversed(todo) if n)]), None
            if found == "link" and (follow or any(todo)):
                links += 1
                target = self.target(here)
                if links > MAX_LINKS or len(target) > MAX_PATH:
                    raise UnknownFact(f"too many levels of links at {path}")
                if target.startswith("/"):
                    where = ""
                todo.extend(reversed(target.split("/")))
                kind = "dir"
                continue
            if found != "dir" and any(todo):
                return "/".join([here, *(n for n in reversed(todo) if n)]), None
            where, kind = here, found
        return (where, kind) if where else ("", "dir")
