"""What several commands are asked for in the same words: a host, an interpreter, patterns of checks, the form of the output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rocmdoctor.terminal import complain

if TYPE_CHECKING:
    from rocmdoctor.host import Host

OK, FAILED, USAGE, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit status: nothing failed, something did, wrong usage, the doctor itself broke, interrupted."""


class WrongUsage(Exception):
    """Options that exclude each other, or a value that no layer below would understand."""


FormatOption = Annotated[Literal["text", "json"], typer.Option("--format", help="Form of the output.")]
ColorOption = Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")]
MatrixOption = Annotated[str | None, typer.Option("--matrix", metavar="FILE", help="Use this compatibility matrix.")]


def asked_host(snapshot: str | None, root: str | None, user: str | None) -> Host:
    """The recorded host, the system under `root`, or this machine. Raises WrongUsage and HostError."""
    if snapshot is not None and root is not None:
        raise WrongUsage("--snapshot and --root exclude each other")
    if snapshot is not None:
        from rocmdoctor.host.recorded import open_snapshot

        return open_snapshot(snapshot, user)
    if root == "":
        raise WrongUsage("--root names no folder")
    from rocmdoctor.host.live import LiveHost

    host = LiveHost(root or "/", user=user)
    if root is not None:
        host.require_system()
    return host


def asked_python(python: str | None, snapshot: str | None, root: str | None) -> str | None:
    """--python as an absolute path where it is one of this machine's: `~` after an equals sign is nobody's but ours."""
    if not python or snapshot is not None or root is not None:
        return python
    path = os.path.expanduser(python)
    return absolute(path) if "/" in path or os.path.isdir(path) else python


def absolute(path: str) -> str:
    """Raises WrongUsage where the current folder is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        raise WrongUsage(f"{path}: the current folder does not exist any more; give an absolute path") from None


def reader_is_root(host: Host, snapshot: str | None) -> bool:
    """Whether the reader is root, so that commands need no sudo."""
    return host.user.uid == 0 if snapshot else os.geteuid() == 0


def every_check() -> tuple[Any, ...]:
    """The built-in checks and those of plug-ins; a broken plug-in is one line on standard error."""
    from rocmdoctor import engine

    checks = engine.all_checks()
    extra, broken = engine.plugin_checks()
    for result in broken:
        complain(f"{result.title}: {result.detail}")
    return checks + extra


def patterns(option: str, values: list[str] | None) -> tuple[str, ...]:
    """Globs of a repeatable option that takes comma lists as well. An option without one would silently mean every check."""
    found = tuple(p.strip() for value in values or () for p in value.split(",") if p.strip())
    if values and not found:
        raise WrongUsage(f"{option} names no check")
    return found
