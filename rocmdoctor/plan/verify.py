"""Whether a run holds: its steps, and the reboot that it asked for (told by the id of the boot)."""

from typing import NamedTuple

from rocmdoctor.host import UnknownFact
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import journal, reboot
from rocmdoctor.plan.journal import Entry


class Verified(NamedTuple):
    """`state` as in Entry. `reboot`: needed (not done yet) | done | None (none was needed, or the boots cannot be told apart).
    `open_steps`: titles of steps that do not hold."""

    run_id: str
    command: str
    title: str
    created: str
    state: str
    reboot: str | None
    open_steps: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return self.state == "done" and self.reboot != "needed" and not self.open_steps


def verify(run_id: str | None, target: Target) -> Verified:
    """Look at the newest run, or a named one. Raises ChangeFailed when there is none."""
    entry = _wanted(run_id, target)
    host = target.look()
    open_: list[str] = []
    for step in entry.steps:
        if isinstance(step, reboot.RebootNotice):
            continue
        try:
            # steps without a trace of their own (a program that ran) cannot be asked again
            holds = step.is_done(host) or (step.id in entry.after and step.kind in ("run-command", "refresh-index"))
        except UnknownFact:
            continue
        if not holds:
            open_.append(step.title)
    rebooted = reboot.since(entry.steps, entry.before, host)
    return Verified(entry.id, entry.command, entry.title, entry.created, entry.state, rebooted, tuple(open_))


def _wanted(run_id: str | None, target: Target) -> Entry:
    if run_id is not None:
        entry = journal.read(target, run_id)
        if entry is None:
            raise ChangeFailed(f"there is no run {run_id}")
        return entry
    alive = [entry for entry in journal.runs(target) if not entry.undone]
    if not alive:
        raise ChangeFailed("rocmdoctor has installed nothing here")
    return alive[-1]
