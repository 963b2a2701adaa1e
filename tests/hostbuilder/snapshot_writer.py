"""Writes a built host as a snapshot: a folder or a .tar.gz."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

from tests.hostbuilder.spec import Snapshot


def _parts(snapshot: Snapshot) -> dict[str, bytes]:
    values = {"snapshot.json": snapshot.meta, "nodes.json": snapshot.nodes, "commands.json": snapshot.commands}
    parts = {
        name: (json.dumps(value, indent=1, sort_keys=name != "commands.json") + "\n").encode() for name, value in values.items()
    }
    parts.update((f"files{path}", content) for path, content in snapshot.files.items())
    return parts


def write_folder(snapshot: Snapshot, folder: str | os.PathLike[str]) -> None:
    """Raises ValueError for a host path that leads out of the folder."""
    top = Path(folder)
    made: set[Path] = set()
    (top / "files").mkdir(parents=True, exist_ok=True)
    for name, content in _parts(snapshot).items():
        if ".." in name.split("/"):
            raise ValueError(f"{name} leads out of the snapshot")
        path = top / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(content)


def write_tar(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Members lie at the archive's top; their times are fixed, so that equal hosts give equal bytes."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, content in sorted(_parts(snapshot).items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            tar.addfile(member, io.BytesIO(content))
