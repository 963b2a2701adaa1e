"""Small hosts for the tests of distribution facts, and where the shared captures lie."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.host.recorded import RecordedHost

SHARED = Path(os.environ.get("ROCMDOCTOR_SHARED") or Path(__file__).parents[2].parent / "shared")


def host(
    files: Mapping[str, bytes | str] | None = None,
    *,
    nodes: Mapping[str, Any] | None = None,
    commands: Sequence[Any] = (),
    unknown: Sequence[str] = (),
    captured: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    release: str = "6.8.0-45-generic",
) -> RecordedHost:
    """A recorded host with nothing but what is named."""
    meta: dict[str, Any] = {
        "uname": {"sysname": "Linux", "release": release, "version": "#1 SMP", "machine": "x86_64"},
        "user": {"name": "user1", "uid": 1000, "gid": 1000, "groups": [1000], "database_groups": [1000]},
        "groups": {},
        "env": dict(env or {}),
        "unknown": list(unknown),
    }
    if captured is not None:
        meta["captured"] = list(captured)
    return RecordedHost(meta, files, nodes, commands)


def command(argv: Sequence[str], stdout: str = "", rc: int = 0, timed_out: bool = False) -> dict[str, Any]:
    """An entry of commands.json, of a program that was found."""
    return {
        "argv": list(argv),
        "program": f"/usr/bin/{argv[0]}",
        "rc": rc,
        "stdout": stdout,
        "stderr": "",
        "timed_out": timed_out,
    }


def shared(*parts: str) -> Path:
    """A path in the shared folder beside the repository; skips the test when it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not beside the repository")
    return path
