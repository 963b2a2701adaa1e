"""Whether a run holds: its steps, and the reboot that it asked for (told by the id of the boot)."""

from typing import NamedTuple

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import journal, reboot
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.packages import InstallPackages, RemovePackages
from rocmdoctor.plan.step import installed


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
            holds = (
                step.is_done(host)
                or (step.id in entry.after and step.kind in ("run-command", "refresh-index"))
                or (isinstance(step, RemovePackages) and _back(step, entry, host))
            )
        except UnknownFact:
            continue
        if not holds:
            open_.append(step.title)
    rebooted = reboot.since(entry.steps, entry.before, host)
    return Verified(entry.id, entry.command, entry.title, entry.created, entry.state, rebooted, tuple(open_))


def _back(step: RemovePackages, entry: Entry, host: Host) -> bool:
    """Whether what was removed is there only because a later step of the same run has installed it anew: an old driver gives way
    to a new one of the same names. Raises UnknownFact."""
    later = entry.steps[entry.steps.index(step) + 1 :]
    anew = {name for other in later if isinstance(other, InstallPackages) for name in _installed(entry, other)}
    there = {p.name for p in installed(host).packages if p.installed}
    return step.id in entry.after and there.intersection(step.names) <= anew


def _installed(entry: Entry, step: InstallPackages) -> tuple[str, ...]:
    return tuple(map(str, entry.after.get(step.id, {}).get("installed", ())))


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
