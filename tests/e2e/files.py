"""What a root is like in files, packages and marks: to compare before and after."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatch, translate
from pathlib import Path
from typing import NamedTuple

from tests.e2e.root import Root

VOLATILE = (
    *("/proc", "/sys", "/dev", "/run", "/tmp", "/.e2e", "/var/cache", "/var/log", "/var/tmp", "/var/lib/apt/lists"),
    # The package databases: package_set() compares what is in them.
    *("/var/lib/dpkg/status*", "/var/lib/dpkg/info", "/var/lib/dpkg/available*", "/var/lib/dpkg/lock*", "/var/lib/dpkg/updates"),
    *("/var/lib/dpkg/triggers", "/var/lib/dpkg/diversions*", "/var/lib/dpkg/statoverride*", "/var/lib/apt/extended_states*"),
    *("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/dnf", "/var/lib/YaST2", "/var/lib/zypp", "/var/lib/PackageKit"),
    *("/etc/ld.so.cache", "*/__pycache__", "/root/.gnupg", "/root/.cache", "/var/lib/dpkg/alternatives.log"),
)
"""Paths (fnmatch) that change by looking at a system, or that are compared otherwise; all below them is left out too."""
_SKIP = re.compile("|".join(translate(pattern) for pattern in VOLATILE))


class File(NamedTuple):
    """`content`: a digest, a link's target, or "" for folders and devices. None: unchanged since the root was made."""

    kind: str
    mode: int
    uid: int
    gid: int
    content: str | None


class Files(dict[str, File]):
    """Every file of a root that is not volatile, by path. Compare with `changes`."""

    def __init__(self, layers: tuple[Path, ...]) -> None:
        super().__init__()
        self._layers = layers

    def resolved(self, path: str) -> File | None:
        """The file with its digest, also when it is unchanged."""
        file = self.get(path)
        if file is None or file.content is not None or file.kind != "file":
            return file
        for layer in self._layers:
            below = Path(f"{layer}{path}")
            if below.is_file() and not below.is_symlink():
                return file._replace(content=_digest(below))
        return file

    def changes(self, later: Files, ignore: tuple[str, ...] = ()) -> list[str]:
        """What differs in a later picture, one line each: "+ /etc/a", "- /etc/b", "! /etc/c (mode 644 -> 600)". `ignore`: fnmatch
        patterns of paths; a pattern also covers what is below."""
        lines = []
        for path in sorted({*self, *later}):
            if any(fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*") for pattern in ignore):
                continue
            before, after = self.get(path), later.get(path)
            if before == after and (before is None or before.content is not None or after is None or after.content is None):
                continue
            before, after = self.resolved(path), later.resolved(path)
            if before == after:
                continue
            if before is None or after is None:
                lines.append(f"{'+' if before is None else '-'} {path}")
            else:
                pairs = zip(File._fields, _shown(before), _shown(after), strict=True)
                lines.append(f"! {path} ({', '.join(f'{name} {old} -> {new}' for name, old, new in pairs if old != new)})")
        return lines


def _shown(file: File) -> tuple[str, ...]:
    return (file.kind, f"{file.mode:o}", str(file.uid), str(file.gid), (file.content or "")[:24])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def picture(root: Root) -> Files:
    """All files of the root now. Takes about a fifth of a second."""
    files = Files(root.layers)
    upper = str(root.path("/.e2e/upper"))
    top = str(root.path("/"))
    for path, info in _walk(top.rstrip("/"), ""):
        content: str | None = ""
        if stat.S_ISLNK(info.st_mode):
            kind, content = "link", os.readlink(top.rstrip("/") + path)
        elif stat.S_ISDIR(info.st_mode):
            kind = "dir"
        elif stat.S_ISREG(info.st_mode):
            kind = "file"
            content = _digest(Path(top.rstrip("/") + path)) if os.path.lexists(upper + path) else None
        else:
            kind = "other"
        files[path] = File(kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, content)
    return files


def _walk(top: str, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(f"{top}{folder}" or "/") as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            path = f"{folder}/{entry.name}"
            if _SKIP.fullmatch(path):
                continue
            info = entry.stat(follow_symlinks=False)
            yield path, info
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(top, path)


def package_set(root: Root, family: str) -> dict[str, str]:
    """Installed packages: name to version, with dpkg's status where it is not "installed" and apt's mark ("auto")."""
    if family != "deb":
        said = root.run(["rpm", "-qa", "--qf", "%{NAME} %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n"]).ok().out
        return dict(line.split(" ", 1) for line in said.splitlines() if not line.startswith("gpg-pubkey"))
    said = root.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n"]).ok().out
    automatic = set(root.run(["apt-mark", "showauto"]).ok().out.split())
    packages = {}
    for line in said.splitlines():
        name, version, status = line.split()
        extra = [word for word in (status if status != "installed" else "", "auto" if name in automatic else "") if word]
        packages[name] = " ".join([version, *extra])
    return packages


def rpm_keys(root: Root) -> set[str]:
    """Public keys in the rpm database."""
    said = root.run(["rpm", "-q", "gpg-pubkey", "--qf", "%{VERSION} %{SUMMARY}\n"]).out
    return set(said.splitlines())
