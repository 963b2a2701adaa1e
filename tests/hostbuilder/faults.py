"""The register of faults: what a `fault_*` method breaks, for tests that run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Fault(NamedTuple):
    """`areas`: areas of the report of which at least one has to complain. `status`: fail, or warn where a warning is enough.
    `base`: a method that makes the healthy twin on which the fault makes sense ("" for the default host)."""

    name: str
    areas: tuple[str, ...]
    status: str
    base: str


FAULTS: dict[str, Fault] = {}
"""Every fault by method name. Each method can be called without arguments."""


def fault(*areas: str, status: str = "fail", base: str = "") -> Callable[[F], F]:
    """Register a method; see Fault."""

    def register(method: F) -> F:
        FAULTS[method.__name__] = Fault(method.__name__, areas, status, base)
        return method

    return register
