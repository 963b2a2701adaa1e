"""Snapshots for the tests of the host layer: in memory, as a folder and as an archive."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocmdoctor.host.recorded import RecordedHost


def meta(**changes: Any) -> dict[str, Any]:
    """A whole snapshot.json; a change to None takes the key out."""
    whole: dict[str, Any] = {
        "format": "rocmdoctor-snapshot",
        "version": 1,
        "created": "2026-11-30T12:00:00Z",
        "tool": "rocmdoctor 0.1.0",
        "redacted": True,
        "uname": {"sysname": "Linux", "release": "6.8.0-45-generic", "version": "#45 SMP", "machine": "x86_64"},
        "user": {
            **{"name": "user1", "uid": 1000, "gid": 1000, "groups": [1000, 27]},
            **{"database_groups": [1000, 27, 109], "sudo_user": None},
        },
        "groups": {"root": 0, "sudo": 27, "video": 44, "render": 109, "user1": 1000},
        "env": {"PATH": "/usr/bin:/bin", "HSA_OVERRIDE_GFX_VERSION": ""},
        "unknown": [],
    }
    whole.update(changes)
    return {k: v for k, v in whole.items() if v is not None}


def recorded(
    files: Mapping[str, bytes | str] | None = None,
    nodes: Mapping[str, Any] | None = None,
    commands: Sequence[Any] = (),
    *,
    user: str | None = None,
    account: Mapping[str, Any] | None = None,
    **changes: Any,
) -> RecordedHost:
    """`account`: the user of snapshot.json; `user`: the asked one."""
    if account is not None:
        changes["user"] = account
    return RecordedHost(meta(**changes), files, nodes, commands, user=user)


def parts(
    nodes: Any = None, commands: Any = None, files: Mapping[str, bytes] | None = None, snapshot: Any = None
) -> dict[str, bytes]:
    """The members of a snapshot by name."""
    return {
        "snapshot.json": json.dumps(meta() if snapshot is None else snapshot).encode(),
        "nodes.json": json.dumps({} if nodes is None else nodes).encode(),
        "commands.json": json.dumps([] if commands is None else commands).encode(),
        **{f"files{path}": data for path, data in (files or {"/etc/os-release": b"ID=ubuntu\n"}).items()},
    }


def folder_of(where: Path, members: Mapping[str, bytes]) -> Path:
    for name, data in members.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return where


def member(name: str, data: bytes = b"", **attributes: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info, data


def archive_of(
    path: Path,
    members: Mapping[str, bytes],
    extra: Iterable[tuple[tarfile.TarInfo, bytes]] = (),
    form: int = tarfile.PAX_FORMAT,
    prefix: str = "",
) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
        for info, data in [*(member(prefix + name, data) for name, data in members.items()), *extra]:
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(raw.getvalue(), 1, mtime=0))
    return path
