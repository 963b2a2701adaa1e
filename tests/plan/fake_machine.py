"""A machine in memory that can be changed: files, packages of a small apt, groups, Python environments; and that can be killed.

It answers the programs that plans run well enough to see what they leave behind. `kill_at` ends the process at the n-th change,
in the middle of it: a temporary file is left, a journal line is cut in two, half of the packages are unpacked.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocmdoctor.host import Command, Host
from rocmdoctor.host.recorded import RecordedHost
from rocmdoctor.host.target import ChangeFailed, FileState, temporary_name

NOW = "2026-11-30T12:00:00Z"


class Killed(BaseException):
    """kill -9."""


@dataclass
class File:
    data: bytes = b""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    target: str | None = None


Offers = dict[str, tuple[str, tuple[str, ...]]]
"""Package to (version, what it depends on)."""


@dataclass
class FakeMachine:
    """Implements rocmdoctor.host.target.Target."""

    files: dict[str, File] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    packages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name to (version, dpkg state)."""
    repositories: dict[str, Offers] = field(default_factory=dict)
    """What a repository offers, by a part of its URL; "" is the distribution's, which is always there."""
    urls: dict[str, bytes] = field(default_factory=dict)
    lies: set[str] = field(default_factory=set)
    """Programs that end with 0 and do nothing."""
    fails: dict[str, str] = field(default_factory=dict)
    """A word of a command line to what it says before it ends with 1."""
    missing: set[str] = field(default_factory=set)
    """Packages of which apt-cache says that there is none."""
    removes: tuple[str, ...] = ()
    """What apt would remove on the way."""
    kill_at: int | None = None
    operations: int = 0
    ran: list[tuple[str, ...]] = field(default_factory=list)
    boot_id: str = "boot-1"
    free: int = 1 << 40
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    extra_files: dict[str, bytes] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    kernel: str = "6.8.0-45-generic"
    lock_holders: dict[str, int] = field(default_factory=dict)

    # the life of it ------------------------------------------------------------------------------------------

    def _change(self, half: Callable[[], None] | None = None) -> None:
        self.operations += 1
        if self.kill_at is not None and self.operations == self.kill_at:
            if half is not None:
                half()
            raise Killed

    def picture(self) -> dict[str, Any]:
        """Everything that undoing must bring back: files outside rocmdoctor's own folders, folders, packages."""
        own = ("/var/lib/rocmdoctor", "/var/log/rocmdoctor")
        return {
            "files": {p: (f.data, f.mode, f.uid, f.gid, f.target) for p, f in self.files.items() if not p.startswith(own)},
            "folders": {p for p in self.folders if not p.startswith(own)},
            "packages": dict(self.packages),
        }

    def restarted(self) -> FakeMachine:
        """The same machine for the next process."""
        self.kill_at = None
        return self

    # looking -------------------------------------------------------------------------------------------------

    def look(self) -> Host:
        files = {p: f.data for p, f in self.files.items() if f.target is None} | self.extra_files
        files["/var/lib/dpkg/status"] = self._status()
        files["/proc/sys/kernel/random/boot_id"] = self.boot_id.encode() + b"\n"
        nodes: dict[str, dict[str, Any]] = {p: {"type": "dir"} for p in self.folders}
        for path, file in self.files.items():
            if file.target is not None:
                nodes[path] = {"type": "link", "target": file.target}
            else:
                nodes[path] = {"type": "file", "mode": f"{file.mode:04o}", "uid": file.uid, "gid": file.gid}
        nodes |= self.nodes
        meta = {
            "format": "rocmdoctor-snapshot",
            "version": 1,
            "created": NOW,
            "tool": "test",
            "redacted": False,
            "uname": {"sysname": "Linux", "release": self.kernel, "version": "#1", "machine": "x86_64"},
            "user": {"name": "root", "uid": 0, "gid": 0, "groups": [0], "database_groups": [0], "sudo_user": None},
            "groups": {"root": 0, "video": 44, "render": 109},
            "env": {"PATH": "/usr/bin:/bin", "HOME": "/root"},
        }
        answers = [_answer(("apt-cache", "show", "--no-all-versions", name), 100) for name in sorted(self.missing)]
        return RecordedHost(meta, files, nodes, [*self.commands, *answers])

    def _status(self) -> bytes:
        return "".join(
            f"Package: {name}\nStatus: install ok {state}\nArchitecture: amd64\nVersion: {version}\n\n"
            for name, (version, state) in sorted(self.packages.items())
        ).encode()

    def now(self) -> str:
        return NOW

    def state(self, path: str) -> FileState | None:
        if path in self.folders or path == "/":
            return FileState("dir", 0o755, 0, 0)
        file = self.files.get(path)
        if file is None:
            return None
        return FileState("link" if file.target else "file", file.mode, file.uid, file.gid, file.target)

    def read(self, path: str) -> bytes | None:
        file = self.files.get(path)
        return None if file is None or file.target else file.data

    def names(self, path: str) -> tuple[str, ...]:
        below = [p[len(path) + 1 :] for p in (*self.files, *self.folders) if p.startswith(path + "/")]
        return tuple(sorted({name.partition("/")[0] for name in below}))

    # changing ------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
        self._needs_parent(path)
        self._change(lambda: self.files.update({temporary_name(path): File(data[: len(data) // 2], 0o600)}))
        self.files.pop(temporary_name(path), None)
        self.files[path] = File(data, mode, *(owner or (0, 0)))

    def link(self, path: str, to: str) -> None:
        self._needs_parent(path)
        self._change()
        self.files[path] = File(target=to, mode=0o777)

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        self._needs_parent(path)
        self._change()
        self.folders.add(path)

    def _needs_parent(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if parent and parent not in self.folders:
            raise ChangeFailed(f"cannot write {path}: No such file or directory")

    def remove(self, path: str) -> None:
        if path in self.files:
            self._change()
            del self.files[path]

    def remove_folder(self, path: str) -> bool:
        if path not in self.folders or self.names(path):
            return False
        self._change()
        self.folders.discard(path)
        return True

    def remove_tree(self, path: str) -> None:
        self._change()
        for name in [p for p in self.files if p.startswith(path + "/")]:
            del self.files[name]
        self.folders = {p for p in self.folders if p != path and not p.startswith(path + "/")}

    def append(self, path: str, data: bytes) -> None:
        self._needs_parent(path)
        file = self.files.setdefault(path, File(mode=0o600))

        def half() -> None:
            file.data += data[: len(data) // 2]

        self._change(half)
        file.data += data

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        yield

    def lock_holder(self, path: str) -> int | None:
        return self.lock_holders.get(path)

    def room(self, path: str) -> tuple[int, int] | None:
        return (1, self.free)

    def fetch(self, url: str, limit: int, ca: str | None = None) -> bytes:
        if url not in self.urls:
            raise ChangeFailed(f"{url} cannot be fetched: the server answered 404 Not Found")
        return self.urls[url]

    # programs ------------------------------------------------------------------------------------------------

    def run(
        self,
        argv: Sequence[str],
        log: str,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        heard: Callable[[], None] | None = None,
    ) -> Command:
        words = tuple(argv)
        self.ran.append(words)
        said = next((text for word, text in self.fails.items() if word in words), None)
        if said is not None:
            self._change()
            return Command(words, f"/usr/bin/{words[0]}", 1, said, "")
        if self.lies.intersection(words):
            self._change()
            return Command(words, f"/usr/bin/{words[0]}", 0, "", "")
        rc, output = self._program(words)
        return Command(words, f"/usr/bin/{words[0]}", rc, output, "")

    def _program(self, words: tuple[str, ...]) -> tuple[int, str]:
        name = words[0].rpartition("/")[2]
        if name == "apt-get":
            return self._apt(words)
        if name == "apt-cache":
            offers = self._offers()
            pairs = [tuple(word.split("=")) for word in words[2:] if "=" in word]
            return 0, "\n".join(
                f"Package: {n}\nVersion: {v}\nFilename: pool/{n}.deb\n" for n, v in pairs if offers.get(n, ("",))[0] == v
            )
        if name == "dpkg":
            self._change()
            self.packages = {n: (v, "installed" if s == "unpacked" else s) for n, (v, s) in self.packages.items()}
        elif name == "usermod":
            self._change()
            self._groups(words[-1], words[-2].split(","), True)
        elif name == "gpasswd":
            self._change()
            self._groups(words[2], [words[3]], False)
        elif words[1:3] == ("-m", "venv"):
            self._venv(words[3])
        elif words[1:4] == ("-m", "pip", "install"):
            self._pip(words)
        elif words[1:4] == ("-m", "pip", "uninstall"):
            site = self._site(words[0])
            for gone in words[5:]:
                self._change()
                for path in [p for p in self.files if p.startswith((f"{site}/{gone}-", f"{site}/{gone}/"))]:
                    del self.files[path]
                self.folders = {p for p in self.folders if not p.startswith((f"{site}/{gone}-", f"{site}/{gone}"))}
        else:
            self._change()
        return 0, ""

    def _groups(self, user: str, groups: list[str], add: bool) -> None:
        lines = []
        for line in self.files["/etc/group"].data.decode().splitlines():
            name, password, gid, members = line.split(":")
            has = [m for m in members.split(",") if m and m != user]
            if (name in groups and add) or (name not in groups and user in members.split(",")):
                has.append(user)
            lines.append(":".join((name, password, gid, ",".join(has))))
        self.files["/etc/group"].data = ("\n".join(lines) + "\n").encode()

    # a small apt ---------------------------------------------------------------------------------------------

    def _offers(self) -> Offers:
        configured = b"\n".join(f.data for p, f in self.files.items() if p.startswith("/etc/apt/sources.list.d/")).decode()
        found: Offers = {}
        for url, offers in self.repositories.items():
            if url in configured:
                found.update(offers)
        return found

    def _apt(self, words: tuple[str, ...]) -> tuple[int, str]:
        if "update" in words:
            self._change()
            return 0, ""
        verb = next(w for w in ("install", "purge", "remove") if w in words)
        names = words[words.index(verb) + 1 :]
        dry = "-s" in words
        if verb != "install":
            gone = [n for n in names if n in self.packages]
            if dry:
                return 0, "".join(f"Purg {n} [1]\n" for n in gone)
            for name in gone:
                self._change()
                del self.packages[name]
            return 0, ""
        offers = self._offers()
        wanted: dict[str, str] = {}
        out = [n[:-1] for n in names if n.endswith("-") and n[:-1] in self.packages]
        names = tuple(n for n in names if not n.endswith("-"))
        todo = [n.partition("=")[0] for n in names]
        for name in todo:
            if name not in offers:
                return 100, f"E: Unable to locate package {name}\n"
            exact = next((n.partition("=")[2] for n in names if n.startswith(name + "=")), "")
            if exact and exact != offers[name][0]:
                return 100, f"E: Version '{exact}' for '{name}' was not found\n"
            if name not in wanted:
                wanted[name] = offers[name][0]
                todo += offers[name][1]
        if dry:
            return 0, "".join(f"Remv {n} [1]\n" for n in (*self.removes, *out))
        if "--download-only" in words:
            return 0, ""
        for name in out:
            self._change()
            del self.packages[name]
        fresh = [n for n in wanted if self.packages.get(n) != (wanted[n], "installed")]
        for name in fresh:
            self._change()
            self.packages[name] = (wanted[name], "unpacked")
        for name in fresh:
            self.packages[name] = (wanted[name], "installed")
        return 0, ""

    # Python --------------------------------------------------------------------------------------------------

    def _venv(self, path: str) -> None:
        for folder in (path, f"{path}/bin", f"{path}/lib", f"{path}/lib/python3.10", f"{path}/lib/python3.10/site-packages"):
            self._change()
            self.folders.add(folder)
        self._change()
        self.files[f"{path}/pyvenv.cfg"] = File(b"home = /usr/bin\nversion = 3.10.12\n")
        self.files[f"{path}/bin/python"] = File(b"", 0o755)

    @staticmethod
    def _site(python: str) -> str:
        return f"{python.removesuffix('/bin/python')}/lib/python3.10/site-packages"

    def _pip(self, words: tuple[str, ...]) -> None:
        site = self._site(words[0])
        for word in words:
            if "==" in word:
                self._change()
                name, version = word.split("==")
                self.folders.add(f"{site}/{name}-{version}.dist-info")
                self.files[f"{site}/{name}-{version}.dist-info/METADATA"] = File(f"Name: {name}\nVersion: {version}\n".encode())
                if name == "torch":
                    self.folders.add(f"{site}/torch")
                    hip = "'6.2.41133'" if "rocm" in version else "None"
                    self.files[f"{site}/torch/version.py"] = File(
                        f"__version__ = '{version}'\nhip = {hip}\ncuda = None\n".encode()
                    )


def _answer(argv: tuple[str, ...], rc: int, stdout: str = "") -> dict[str, Any]:
    program = f"/usr/bin/{argv[0]}"
    return {"argv": list(argv), "program": program, "rc": rc, "stdout": stdout, "stderr": "", "timed_out": False}


def bare_ubuntu() -> FakeMachine:
    """Ubuntu 22.04 with a user, one file that somebody has edited, and one package."""
    machine = FakeMachine()
    folders = (
        "/etc",
        "/etc/apt",
        "/etc/apt/sources.list.d",
        "/etc/apt/preferences.d",
        "/etc/ld.so.conf.d",
        "/opt",
        "/usr",
        "/usr/bin",
    )
    machine.folders |= {*folders, "/var", "/var/lib", "/var/log", "/var/lib/dpkg"}
    machine.files = {
        "/etc/os-release": File(b'ID=ubuntu\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\nUBUNTU_CODENAME=jammy\n'),
        "/etc/passwd": File(b"root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n"),
        "/etc/group": File(b"root:x:0:\nvideo:x:44:ada\nrender:x:109:\nada:x:1000:\n"),
        "/etc/ld.so.conf.d/rocm.conf": File(b"/opt/old/lib\n", 0o640, 7, 8),
        "/usr/bin/python3.10": File(b"", 0o755),
    }
    machine.packages = {"libc6": ("2.35-0ubuntu3", "installed")}
    machine.repositories = {"": {"python3-setuptools": ("59.6.0-1", ()), "libc6": ("2.35-0ubuntu3", ())}}
    return machine


def journal_lines(machine: FakeMachine) -> list[dict[str, Any]]:
    """All whole lines of all journals."""
    found = []
    for path, file in sorted(machine.files.items()):
        if path.startswith("/var/lib/rocmdoctor/journal/"):
            for line in file.data.decode().splitlines():
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
    return found


class Quiet:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str]] = []
        self.said: list[str] = []

    def begins(self, number: int, count: int, step: Any) -> None: ...

    def ends(self, step: Any, status: str) -> None:
        self.ended.append((step.id, status))

    def says(self, text: str) -> None:
        self.said.append(text)

    def breathes(self) -> None: ...
