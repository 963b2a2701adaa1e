"""Small recorded hosts for the tests of facts, and where the shared captures are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocmdoctor.host.recorded import RecordedHost

SHARED = Path(os.environ.get("ROCMDOCTOR_SHARED") or Path(__file__).parents[2].parent / "shared")


def small_host(
    files: Mapping[str, bytes | str] | None = None,
    nodes: Mapping[str, Any] | None = None,
    commands: Sequence[Any] = (),
    *,
    release: str = "6.8.0-45-generic",
    machine: str = "x86_64",
    groups: Mapping[str, int] | None = None,
    env: Mapping[str, str] | None = None,
    unknown: Sequence[str] = (),
) -> RecordedHost:
    """A host that has what is given and nothing else; the user is uid 1000."""
    meta = {
        "format": "rocmdoctor-snapshot",
        "version": 1,
        "uname": {"sysname": "Linux", "release": release, "version": "#1 SMP", "machine": machine},
        "user": {"name": "user1", "uid": 1000, "gid": 1000, "groups": [1000], "database_groups": [1000], "sudo_user": None},
        "groups": dict(groups or {"root": 0, "video": 44, "render": 109}),
        "env": dict(env or {}),
        "unknown": list(unknown),
    }
    return RecordedHost(meta, files, nodes, commands)


def command(*argv: str, stdout: str = "", stderr: str = "", rc: int = 0, timed_out: bool = False) -> dict[str, Any]:
    """An entry of commands.json for a program that was found."""
    return {
        "argv": list(argv),
        "program": f"/usr/bin/{argv[0]}",
        "rc": rc,
        "stdout": stdout,
        "stderr": stderr,
        "timed_out": timed_out,
    }


def tree(folder: Path, below: str, suffix: str = "") -> dict[str, bytes]:
    """Every file of a folder on disk as files of a host, below the host path `below`."""
    return {
        f"{below}/{path.relative_to(folder).as_posix()}{suffix}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
