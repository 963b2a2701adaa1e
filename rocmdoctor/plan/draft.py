"""A plan in the making: what is asked, what is known of the host, and what has been decided so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.gpus import Gpu, deciding
from rocmdoctor.facts.packages import PackageDb
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan.step import Refusal, Step


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked of `install`. `rocm`: 6.2 | 6.2.0 | latest | None for the best supported. `pytorch`: a version, "none", or
    None for the newest that fits. `users`: who shall be able to use the GPUs."""

    rocm: str | None = None
    packages: tuple[str, ...] = ("rocm",)
    driver: str = "auto"
    pytorch: str | None = None
    venv: str | None = None
    python: str | None = None
    users: tuple[str, ...] = ()
    mirror: str | None = None
    ca: str | None = None
    side_by_side: bool = False
    allow_unsupported: bool = False


@dataclass
class Draft:
    """Collects steps, notices and refusals; `choices` says how options were understood."""

    facts: Facts
    matrix: Matrix
    options: Options
    steps: list[Step] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    choices: dict[str, Any] = field(default_factory=dict)

    def note(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def refuse(self, code: str, reason: str, help: str = "") -> None:
        if not any(refusal.code == code and refusal.reason == reason for refusal in self.refusals):
            self.refusals.append(Refusal(code, reason, help))

    def doubt(self, code: str, reason: str, help: str = "") -> None:
        """A refusal that --allow-unsupported turns into a notice."""
        if self.options.allow_unsupported:
            self.note(f"{reason} (--allow-unsupported)")
        else:
            self.refuse(code, reason, f"{help + '; ' if help else ''}--allow-unsupported goes on all the same")

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that a release must serve; none when they are unknown."""
        return deciding(known(lambda: self.facts.gpus, ()))

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """gfx targets of the GPUs that count, each once."""
        return tuple(dict.fromkeys(gpu.gfx for gpu in self.gpus if gpu.gfx))

    @cached_property
    def packages(self) -> PackageDb | None:
        """The package database; None when it is unknown."""
        return known(lambda: self.facts.packages, None)

    @property
    def place(self) -> str:
        return self.facts.place.kind
