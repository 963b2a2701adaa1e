"""The stack at a glance: one row per layer from the GPU to the frameworks, with version, origin, and whether it fits the others.

A row is judged by versions and the matrix first (is the release in a library's file name that of the installed ROCm, does AMD
list the kernel), and then by the checks of that layer: what a check finds wrong there, the row says. There is no second opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocmdoctor import __version__

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix

FITS, DIFFERS, UNKNOWN, MISSING = "fits", "differs", "unknown", "not installed"

GROUPS = ("hardware", "driver", "runtime", "compiler", "libraries", "tools", "frameworks")
"""In order, from the bottom of the stack."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One row. `version` as the layer counts it; `source`: package, wheel or folder; `fit`: one of the four words above; `why` in
    a few words; `check`: the id of the finding behind it."""

    group: str
    name: str
    version: str | None = None
    source: str | None = None
    fit: str = UNKNOWN
    why: str = ""
    check: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """`rocm`: the release that the rows are compared with, None when there is none. `host`: as in a report."""

    layers: tuple[Layer, ...]
    rocm: str | None
    host: dict[str, Any]
    matrix_date: str
    tool_version: str

    def count(self, fit: str) -> int:
        return sum(layer.fit == fit for layer in self.layers)


def gather(host: Host, matrix: Matrix, *, python: str | None = None) -> Stack:
    """Every layer of `host`. What cannot be told is a row that says so; nothing is raised for what a host may contain."""
    from rocmdoctor.examination import describe
    from rocmdoctor.facts import Facts
    from rocmdoctor.stack.rows import Rows, reference
    from rocmdoctor.stack.verdicts import judge, with_checks

    facts = Facts(host, matrix, python=python)
    facts.require_targets()
    layers = with_checks(Rows(facts, matrix).all(), judge(facts, matrix))
    return Stack(tuple(layers), reference(facts), describe(facts), matrix.date, __version__)
