"""Plug-ins are loaded one by one: what a broken one has registered is taken back. Imported only where there is a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rocmdoctor.engine import in_order
from rocmdoctor.results import Result, Status

if TYPE_CHECKING:
    from rocmdoctor.engine import Check


def load(
    entries: Iterable[tuple[str, Callable[[], object]]], registry: dict[str, Check]
) -> tuple[tuple[Check, ...], tuple[Result, ...]]:
    """Their checks, which importing puts into `registry`, and one error result for each plug-in that is broken."""
    placed = tuple(registry.values())
    before = len(placed)
    errors: dict[str, BaseException] = {}
    waiting: dict[str, tuple[Check, ...]] = {}
    for name, imported in entries:
        known = len(registry)
        try:
            imported()
        except (Exception, SystemExit) as error:
            errors[name] = error
            _forget(registry, tuple(registry.values())[known:])
        else:
            waiting[name] = tuple(registry.values())[known:]
    # A plug-in may come after another's checks, whichever was loaded first.
    while waiting:
        refused: dict[str, BaseException] = {}
        for name, own in waiting.items():
            try:
                in_order(placed + own)
            except ValueError as error:
                refused[name] = error
            else:
                placed += own
        if len(refused) == len(waiting):
            errors |= refused
            _forget(registry, [c for own in waiting.values() for c in own])
            break
        waiting = {name: waiting[name] for name in refused}
    broken = (
        Result(
            f"plugin.{name}",
            "plugin",
            Status.ERROR,
            f"The plug-in {name} could not be loaded",
            f"{type(errors[name]).__name__}: {errors[name]}",
        )
        for name in sorted(errors)
    )
    return tuple(registry.values())[before:], tuple(broken)


def _forget(registry: dict[str, Check], checks: Iterable[Check]) -> None:
    for check in checks:
        del registry[check.id]
