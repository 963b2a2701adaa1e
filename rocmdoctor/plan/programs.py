"""A step that runs one program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.host import Host
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, Record, Run, Step


@dataclass(frozen=True, slots=True)
class RunCommand(Step):
    """One program. `path`: a file or folder that shows that it was done; without one it runs whenever the plan is applied, and
    its exit status is all that can be asked. `back` takes it back."""

    kind: ClassVar[str] = "run-command"

    argv: Argv = ()
    path: str = ""
    back: Argv = ()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (self.argv,)

    def is_done(self, host: Host) -> bool:
        return bool(self.path) and host.node(self.path) is not None

    def took(self, host: Host) -> bool:
        return not self.path or self.is_done(host)

    def prepare(self, run: Run) -> Record:
        return {"there": bool(self.path) and run.target.state(self.path) is not None}

    def apply(self, run: Run, before: Record) -> Record:
        run_or_fail(run, self.argv)
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        if self.back and not before.get("there"):
            run_or_fail(run, self.back)
