"""Writes .deb files (deb(5)) and signed apt repositories, without dpkg-deb and apt-ftparchive: hundreds of them take a second."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from tests.e2e.packages.keys import Key
from tests.e2e.packages.package import Link, Package, body

EPOCH = 1_700_000_000
"""Time stamp of every file in a package: the same source gives the same bytes."""

_SCRIPTS = {"postinst": ("configure",), "prerm": ("remove", "upgrade", "deconfigure")}


def control(package: Package, size: int) -> str:
    """The control stanza; `size` is Installed-Size in KiB."""
    rows = [
        ("Package", package.name),
        ("Version", package.version),
        ("Architecture", package.arch),
        ("Maintainer", package.maintainer),
        ("Installed-Size", str(size)),
        ("Depends", ", ".join(package.depends)),
        ("Recommends", ", ".join(package.recommends)),
        ("Provides", ", ".join(package.provides)),
        ("Conflicts", ", ".join(package.conflicts)),
        ("Replaces", ", ".join(package.conflicts)),
        ("Section", "devel"),
        ("Priority", "optional"),
        ("Description", f"{package.name} (small body)"),
    ]
    return "".join(f"{key}: {value}\n" for key, value in rows if value)


def _script(name: str, text: str) -> str:
    phases = "|".join(_SCRIPTS[name])
    return f'#!/bin/sh\nset -e\nPHASE="$1"\ncase "$PHASE" in {phases}) ;; *) exit 0 ;; esac\n{text}\n'


def _tar(members: Iterable[tuple[str, bytes | Link | None, int]]) -> bytes:
    """A gzipped tar of (path, content, mode); None is a folder."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, content, mode in members:
            info = tarfile.TarInfo("." + path)
            info.mode, info.mtime, info.uname, info.gname = mode, EPOCH, "root", "root"
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, Link):
                info.type, info.linkname = tarfile.SYMTYPE, content.target
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return gzip.compress(raw.getvalue(), compresslevel=1, mtime=0)


def deb(package: Package) -> tuple[bytes, str]:
    """The file and its control stanza."""
    data: list[tuple[str, bytes | Link | None, int]] = [(folder, None, 0o755) for folder in ("/", *package.folders())]
    total = 0
    for path, content in sorted(package.files.items()):
        if isinstance(content, Link):
            data.append((path, content, 0o777))
        else:
            blob, mode = body(content)
            total += len(blob)
            data.append((path, blob, mode))
    stanza = control(package, total // 1024 + 1)
    meta: list[tuple[str, bytes | Link | None, int]] = [("/control", stanza.encode(), 0o644)]
    for name, text in (("postinst", package.on_install), ("prerm", package.on_remove)):
        if text:
            meta.append((f"/{name}", _script(name, text).encode(), 0o755))
    if package.conffiles:
        meta.append(("/conffiles", "".join(f"{path}\n" for path in package.conffiles).encode(), 0o644))
    out = io.BytesIO(b"!<arch>\n")
    out.seek(0, io.SEEK_END)
    for name, blob in (("debian-binary", b"2.0\n"), ("control.tar.gz", _tar(meta)), ("data.tar.gz", _tar(data))):
        out.write(f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{0o100644:<8o}{len(blob):<10}`\n".encode())
        out.write(blob + b"\n" * (len(blob) % 2))
    return out.getvalue(), stanza


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite of a repository: its packages by component."""

    name: str
    components: Mapping[str, tuple[Package, ...]]


def write_repository(root: Path, suites: Iterable[Suite], key: Key, *, origin: str, label: str) -> None:
    """A repository at `root` in the layout of `deb URI suite component`. `origin` is what apt's pins compare."""
    for suite in suites:
        dist = root / "dists" / suite.name
        sums: list[tuple[str, bytes]] = []
        for component, packages in suite.components.items():
            stanzas = []
            for package in packages:
                blob, stanza = deb(package)
                name = f"{package.name}_{package.file_version}_{package.arch}.deb"
                path = f"pool/{component}/{package.name[0]}/{package.name}/{name}"
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(blob)
                digest = hashlib.sha256(blob).hexdigest()
                stanzas.append(f"{stanza}Filename: {path}\nSize: {len(blob)}\nSHA256: {digest}\n")
            text = "\n".join(stanzas).encode()
            for arch, content in (("amd64", text), ("i386", b"")):
                for name, blob in (("Packages", content), ("Packages.gz", gzip.compress(content, 1, mtime=0))):
                    file = dist / component / f"binary-{arch}" / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(blob)
                    sums.append((f"{component}/binary-{arch}/{name}", blob))
        (dist / "InRelease").write_bytes(key.clear_sign(_release(suite, sums, origin, label)))


def _release(suite: Suite, sums: list[tuple[str, bytes]], origin: str, label: str) -> bytes:
    rows = [
        ("Origin", origin),
        ("Label", label),
        ("Suite", suite.name),
        ("Codename", suite.name),
        ("Date", formatdate(time.time(), usegmt=True)),
        ("Architectures", "amd64 i386"),
        ("Components", " ".join(suite.components)),
        ("Description", f"{label}, small bodies"),
    ]
    head = "".join(f"{key}: {value}\n" for key, value in rows)
    listed = "".join(f" {hashlib.sha256(blob).hexdigest()} {len(blob)} {path}\n" for path, blob in sums)
    return f"{head}SHA256:\n{listed}".encode()
