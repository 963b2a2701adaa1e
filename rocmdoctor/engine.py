"""The engine: a registry of checks, their order, their time limits, and one result for each.

A check is a generator of findings over facts and matrix. What it cannot know becomes `skip`, what it depends on and
has failed becomes `skip` because of that, and what it breaks itself becomes `error`; the other checks go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Finding, Result, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix

CheckFunction = Callable[["Facts", "Matrix"], Iterator[Finding]]

PLACES = ("bare-metal", "vm", "container", "wsl")
PROFILES = ("node", "workstation", "container", "wsl", "ci")
TIME_LIMIT = 20.0
"""Seconds a check may take. Commands have shorter limits of their own; this one catches a plug-in that loops."""


class NotApplicable(Exception):
    """Raised by a check that has nothing to judge on this host: a `skip` that says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check. `why` is its docstring; `places` are the environments it judges; `profiles` None means every profile."""

    id: str
    title: str
    function: CheckFunction
    after: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    places: tuple[str, ...] = PLACES
    profiles: tuple[str, ...] | None = None
    needs_gpu: bool = True

    @property
    def area(self) -> str:
        return self.id.rpartition(".")[0]

    @property
    def why(self) -> str:
        import inspect

        return inspect.cleandoc(self.function.__doc__ or "")


_registry: dict[str, Check] = {}


def check(
    id: str,
    *,
    title: str,
    after: Sequence[str] = (),
    docs: Sequence[str] = (),
    places: Sequence[str] = PLACES,
    profiles: Sequence[str] | None = None,
    needs_gpu: bool = True,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check. `id` is `area.name` (stable once released), `title` states the healthy case.

    `after` names checks that must hold first: when one of them fails, this one is skipped because of it. `needs_gpu`:
    skipped on a host without an AMD GPU. Raises ValueError on a duplicate id: two checks must not share a name.
    """

    def register(function: CheckFunction) -> CheckFunction:
        if id in _registry:
            raise ValueError(f"check {id} is registered twice")
        _registry[id] = Check(
            id, title, function, tuple(after), tuple(docs), tuple(places), tuple(profiles) if profiles else None, needs_gpu
        )
        return function

    return register
