"""A step, and a plan of steps: frozen data that can be written down, read back, shown, applied and undone.

Every step is idempotent: applying one again that was cut off in the middle ends in the same state. Before it changes anything
it says what it is going to change (`prepare`); that goes into the journal, and is all that undoing it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import Target

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import PackageDb

Argv: TypeAlias = tuple[str, ...]
Record: TypeAlias = dict[str, Any]
"""What the journal keeps of a step: JSON values only."""

NEEDS = ("root", "network", "reboot", "relogin")


class FileChange(NamedTuple):
    """A file before and after a step, for diffs; None: there is none. `note` for what is no text."""

    path: str
    before: str | None
    after: str | None
    note: str = ""


class Run(NamedTuple):
    """What a step may use while it is applied: the machine, the log of this run, the folder for kept files, and a voice."""

    target: Target
    log: str
    kept: str
    """Folder of this run below /var/lib/rocmdoctor/kept."""
    say: Callable[[str], None]
    """Notices for the user: one sentence each."""
    heard: Callable[[], None] | None = None
    again: bool = False
    """Whether undoing was begun before, and cut off or failed."""


@dataclass(frozen=True, slots=True)
class Step:
    """`id` is unique in its plan, `title` says what is done, `reason` why. `needs`: any of root, network, reboot, relogin."""

    kind: ClassVar[str] = ""

    id: str
    title: str
    reason: str = ""
    needs: tuple[str, ...] = ("root",)
    follows: tuple[str, ...] = field(default=(), kw_only=True)
    """Ids of steps that undo this one's effect when they are done: a new driver makes the loaded one an old one."""

    @property
    def commands(self) -> tuple[Argv, ...]:
        """What a reader would type to do the same; empty where it is no program that does it."""
        return ()

    def files(self, host: Host) -> tuple[FileChange, ...]:
        """Files that this step writes or removes, by its own hand."""
        return ()

    def is_done(self, host: Host) -> bool:
        """Whether there is nothing to do. Raises UnknownFact when the host cannot tell."""
        raise NotImplementedError

    def took(self, host: Host) -> bool:
        """Whether applying it has had its effect: asked after every step, because programs that failed have ended with 0."""
        return self.is_done(host)

    def prepare(self, run: Run) -> Record:
        """What is there before: enough to take the step back. Changes nothing but what is kept in `run.kept`."""
        return {}

    def apply(self, run: Run, before: Record) -> Record:
        """Do it. The answer is journaled as the result. Raises ChangeFailed."""
        raise NotImplementedError

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        """Take back what this step did. `after` is None when the run was cut off in the middle of it. Raises ChangeFailed."""

    def settle(self, run: Run, before: Record, after: Record | None) -> None:
        """The second half of undoing, when every file is as it was: what needs the old repositories."""

    def written_down(self) -> Record:
        """The step as JSON values."""
        from dataclasses import fields

        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plan is not applied: `code` is stable, `help` what the user can do."""

    code: str
    reason: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`command`: install | uninstall | fix. `versions`: rocm, driver, torch ... `done` holds, per step id, whether it is done
    already (None: this host cannot tell). A plan with refusals is never applied."""

    command: str
    title: str
    steps: tuple[Step, ...]
    notices: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    versions: Mapping[str, str | None] = field(default_factory=dict)
    done: Mapping[str, bool | None] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    """How options were understood: JSON values, for programs."""

    @property
    def open_steps(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if self.done.get(step.id) is not True)

    @property
    def needs(self) -> tuple[str, ...]:
        wanted = {need for step in self.open_steps for need in step.needs}
        return tuple(need for need in NEEDS if need in wanted)


def judged(steps: tuple[Step, ...], host: Host) -> dict[str, bool | None]:
    """Per step id, whether it is done on this host; None where the host cannot tell. What follows a step that is still to be done
    is to be done after it, however it looks now."""
    found: dict[str, bool | None] = {}
    for step in steps:
        if any(found.get(earlier) is False for earlier in step.follows):
            found[step.id] = False
            continue
        try:
            found[step.id] = step.is_done(host)
        except UnknownFact:
            found[step.id] = None
    return found


def installed(host: Host) -> "PackageDb":
    """The package database as it is now. Raises UnknownFact."""
    from rocmdoctor.facts import packages

    return packages.gather(host)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value
