"""The live host: this machine, or a foreign root on it (a mounted disk, a chroot, an unpacked image)."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from rocmdoctor.host import Command, Filesystem, HostError, Node, NodeType, Scratch, Uname, UnknownFact, User
from rocmdoctor.host.capture_patterns import is_wild
from rocmdoctor.host.machine_files import Files, MachineFiles, RootedFiles, check_path, read_all
from rocmdoctor.host.snapshot_tree import reason

if TYPE_CHECKING:
    from rocmdoctor.host.commands import Commands

OF_THE_SESSION = frozenset({"/proc/self/limits", "/proc/self/status"})
"""Files that tell of this process and of no other user's."""
_VIRTUAL = {"/proc": "version", "/sys": "class", "/dev": "null", "/run": ""}
"""Folders that the kernel or the boot fills, and what lies in each when it is filled ("": anything)."""


class LiveHost:
    """Implements `rocmdoctor.host.Host` on this machine. Reads only; runs programs only for `/` itself."""

    def __init__(self, root: str = "/", user: str | None = None) -> None:
        """`root`: another folder makes a foreign root: links are resolved inside it and no program is run. `user`: judge this
        account instead of the user of this process.

        Raises HostError for a root that is not a readable folder and for an unknown user.
        """
        try:
            self._root = os.path.realpath(root, strict=True)
            self._files: Files = MachineFiles() if self._root == "/" else RootedFiles(self._root)
        except (OSError, ValueError) as exc:
            raise HostError(f"root {root} cannot be read: {reason(exc)}") from None
        self._foreign = self._root != "/"
        self._filled: dict[str, bool] = {}
        self._user = None if user is None else self._account(user)

    def require_system(self) -> None:
        """Raises HostError when the root holds no system, or one that cannot be looked at: every answer would be "unknown"."""
        try:
            if any(self._files.stat(folder, False) is not None for folder in ("/etc", "/usr", "/opt", "/bin")):
                return
        except UnknownFact as exc:
            raise HostError(f"root {self._root} cannot be read: {exc}") from None
        raise HostError(f"root {self._root} holds no system: it has neither /etc nor /usr")

    # identity ------------------------------------------------------------------------------------------------

    @cached_property
    def env(self) -> Mapping[str, str]:
        if self._foreign:
            return {}
        from rocmdoctor.host.environment import relevant

        return relevant(os.environ)

    @cached_property
    def date(self) -> str:
        from datetime import date

        return date.today().isoformat()

    @cached_property
    def uname(self) -> Uname:
        if not self._foreign:
            name = os.uname()
            return Uname(name.sysname, name.release, name.version, name.machine)
        kernel = "/proc/sys/kernel"
        release = (self.read(f"{kernel}/osrelease", 4096) or "").strip()
        if not release:
            raise UnknownFact(f"the kernel of the root {self._root} is not running")
        version = (self.read(f"{kernel}/version", 4096) or "").strip()
        # /proc/sys/kernel/arch came with Linux 6.1; an older foreign root is taken to be of this machine's kind.
        machine = (self.read(f"{kernel}/arch", 4096) or "").strip() or os.uname().machine
        return Uname("Linux", release, version, machine)

    @cached_property
    def user(self) -> User:
        return self._user or self._process_user

    @cached_property
    def _process_user(self) -> User:
        """The user of this process with the groups of this session; in a foreign root the same uid there, else its root."""
        uid, gid = os.geteuid(), os.getegid()
        if self._foreign:
            return self._foreign_account(uid) or self._account("root")
        import pwd

        groups = frozenset(os.getgroups()) | {gid}
        try:
            entry = pwd.getpwuid(uid)
            name, database = entry.pw_name, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))
        except (KeyError, OSError):
            # A uid without an account: containers do that. There is no new session that could differ.
            name, database = str(uid), groups
        return User(name, uid, gid, groups, database, os.environ.get("SUDO_USER") or None)

    def _account(self, name: str) -> User:
        from rocmdoctor.host.accounts import account

        if self._foreign:
            try:
                found = account(name, self._database("passwd"), self._database("group"), {})
            except UnknownFact as exc:
                raise HostError(f"user {name!r} cannot be looked up in {self._root}: {exc}") from None
            if found is None:
                raise HostError(f"user {name!r} does not exist in {self._root}")
            return found
        import pwd

        try:
            entry = pwd.getpwnam(name)
            groups = frozenset(os.getgrouplist(name, entry.pw_gid))
        except (KeyError, OSError, ValueError):
            raise HostError(f"user {name!r} does not exist") from None
        if entry.pw_uid == os.geteuid():
            return self._process_user
        return User(name, entry.pw_uid, entry.pw_gid, groups, groups)

    def _foreign_account(self, uid: int) -> User | None:
        try:
            lines = self._database("passwd").splitlines()
        except UnknownFact:
            return None
        for line in lines:
            fields = line.split(":")
            if len(fields) >= 4 and fields[2] == str(uid):
                return self._account(fields[0])
        return None

    def _database(self, name: str) -> str:
        return self.read(f"/etc/{name}", 4 << 20) or ""

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """Group names of /etc/group, and of the directory service only for the groups that matter here: listing all of a
        directory can take minutes."""
        from rocmdoctor.host.accounts import group_database

        groups = group_database(self._database("group"))
        if self._foreign:
            return groups
        import grp

        for name in ("render", "video"):
            if name not in groups:
                try:
                    groups[name] = grp.getgrnam(name).gr_gid
                except (KeyError, OSError):
                    continue
        gids = set(self.user.groups | self.user.database_groups)
        try:
            nodes = [self.node(path) for path in ("/dev/kfd", *self.glob("/dev/dri/renderD*")[:8])]
        except UnknownFact:
            nodes = []
        gids.update(node.gid for node in nodes if node is not None)
        for gid in sorted(gids - set(groups.values()))[:64]:
            try:
                groups.setdefault(grp.getgrgid(gid).gr_name, gid)
            except (KeyError, OSError):
                continue
        return groups

    # files ---------------------------------------------------------------------------------------------------

    def _ask(self, path: str) -> None:
        """Raise UnknownFact for what a foreign root cannot hold: kernel facts where no kernel filled the folder."""
        check_path(path)
        if not self._foreign:
            return
        for folder, mark in _VIRTUAL.items():
            if path == folder or path.startswith(folder + "/"):
                if folder not in self._filled:
                    self._filled[folder] = mark in self._files.names(folder) if mark else bool(self._files.names(folder))
                if not self._filled[folder]:
                    raise UnknownFact(f"{folder} of the root {self._root} is not populated")

    def read(self, path: str, limit: int = 4 << 20) -> str | None:
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = 1 << 20) -> bytes | None:
        self._ask(path)
        if path in OF_THE_SESSION and self.user != self._process_user:
            raise UnknownFact(f"{path} tells of this process, not of {self.user.name}")
        fd = self._files.open(path)
        return None if fd is None else read_all(fd, path, limit)

    def node(self, path: str, follow: bool = True) -> Node | None:
        self._ask(path)
        info = self._files.stat(path, follow)
        if info is None:
            return None
        kind = _kind(info.st_mode)
        target = self._files.readlink(path) if kind == "link" else None
        device = kind in ("char", "block")
        major, minor = (os.major(info.st_rdev), os.minor(info.st_rdev)) if device else (None, None)
        size = None
        if kind == "dir" and not self._foreign and path.rstrip("/") == "/dev/shm":
            space = self._files.statvfs(path)
            size = space.f_blocks * space.f_frsize if space is not None else None
        return Node(kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, major, minor, target, size)

    def resolve(self, path: str) -> str | None:
        self._ask(path)
        return self._files.resolve(path)

    def names(self, path: str) -> tuple[str, ...]:
        self._ask(path)
        return tuple(sorted(self._files.names(path)))

    def glob(self, pattern: str) -> tuple[str, ...]:
        self._ask(pattern)
        if not is_wild(pattern):
            return (pattern,) if self._exists(pattern) else ()
        from rocmdoctor.host.globbing import expand

        return expand(pattern, lambda folder, _: self._files.names(folder or "/"), self._exists)

    def _exists(self, path: str) -> bool:
        """Whether a path of a glob exists; one that cannot be looked at does, so that reading it tells that it is unknown."""
        try:
            return self._files.stat(path, False) is not None
        except UnknownFact:
            return True

    def filesystem(self, path: str) -> Filesystem | None:
        self._ask(path)
        info = self._files.stat(path, False)
        if info is None or not stat.S_ISDIR(info.st_mode):
            return None
        if path.strip("/"):
            above = self._files.stat(path.rstrip("/").rpartition("/")[0] or "/", True)
            if above is not None and above.st_dev == info.st_dev:
                return None
        space = self._files.statvfs(path)
        return None if space is None else Filesystem(space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize)

    # access --------------------------------------------------------------------------------------------------

    def open_result(self, path: str) -> str:
        """Opens the GPU's device nodes for the user of this process; for anyone and anything else the mode and the ACL tell.

        A device node is opened and closed, never read: `cat /dev/kfd` fails on healthy hosts. The card nodes are not opened:
        who opens one when nobody is DRM master becomes it (drm_master_open), and a display server that starts would fail.
        """
        self._ask(path)
        info = self._files.stat(path, True)
        if info is None:
            return "ENOENT"
        real = self._files.resolve(path) or path
        mine = not self._foreign and self.user == self._process_user
        if mine and stat.S_ISCHR(info.st_mode) and (real == "/dev/kfd" or real.startswith("/dev/dri/renderD")):
            try:
                os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY))
            except OSError as exc:
                return errno.errorcode.get(exc.errno or 0, f"E{exc.errno}")
            return "ok"
        if stat.S_ISDIR(info.st_mode):
            return "EISDIR"
        from rocmdoctor.host.permission import READ_WRITE, allows, read_acl

        folder = real
        while folder.strip("/"):
            folder = folder.rpartition("/")[0] or "/"
            above = self._files.stat(folder, True)
            if above is not None:
                acl = read_acl(self._files.acl(folder))
                if not allows(self.user, above.st_mode, above.st_uid, above.st_gid, 1, acl):
                    return "EACCES"
        acl = read_acl(self._files.acl(real))
        return "ok" if allows(self.user, info.st_mode, info.st_uid, info.st_gid, READ_WRITE, acl) else "EACCES"

    # commands ------------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        if self._foreign:
            raise UnknownFact("commands are not run in a foreign root")
        return self._commands.run(argv, timeout, None if self.user == self._process_user else self.user)

    def scratch(self, files: Mapping[str, str]) -> AbstractContextManager[Scratch]:
        if self._foreign:
            raise UnknownFact("commands are not run in a foreign root")
        from rocmdoctor.host.scratch import ScratchFolder

        return ScratchFolder(self._commands, files, None if self.user == self._process_user else self.user)

    @cached_property
    def _commands(self) -> Commands:
        from rocmdoctor.host.commands import Commands

        return Commands(os.environ)


def _kind(mode: int) -> NodeType:
    if stat.S_ISDIR(mode):
        return "dir"
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISCHR(mode):
        return "char"
    # A FIFO or socket exists, and that is all that is said of it: reading one is refused.
    return "block" if stat.S_ISBLK(mode) else "file"
