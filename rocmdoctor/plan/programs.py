"""A step that runs one program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.host import Host
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, Record, Run, Step


@dataclass(frozen=True, slots=True)
class RunCommand(Step):
    """One program. `path`: a file or folder that shows that it was done; without one it runs whenever the plan is applied, and
    its exit status is all that can be asked. `back` takes it back.

    One that brings a repository says which, so that the package manager can be asked with it before anything is changed:
    `repository` is the text of its .repo file, `enables` are ids of disabled repositories that it switches on."""

    kind: ClassVar[str] = "run-command"

    argv: Argv = ()
    path: str = ""
    back: Argv = ()
    repository: str = ""
    enables: tuple[str, ...] = ()

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
        # of a run that was killed when the program had ended: some say then that it is there already, and fail (zypper addrepo)
        done = not before.get("there") and self.is_done(run.target.look())
        try:
            run_or_fail(run, self.argv)
        except ChangeFailed:
            if not done:
                raise
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        if not self.back or before.get("there"):
            return
        try:
            run_or_fail(run, self.back)
        except ChangeFailed as error:
            if self.path:  # gone already is as good as taken back
                if run.target.state(self.path) is not None:
                    raise
            elif not run.again:
                raise
            else:  # it may have been taken back before undo was killed, and nothing would tell
                run.say(f"{error}; whether `{' '.join(self.argv)}` is taken back is left to you")
