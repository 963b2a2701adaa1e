"""Taking a run back: only what it did, in reverse order; then, with every file as it was, the versions of packages.

Packages that a run only added are removed first, while its repositories are still there. What it replaced or removed can only
come from the repositories of before: then every package waits until the files are back, and until the older versions are known to
be had (replaced.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from rocmdoctor import __version__
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import journal, kept, replaced
from rocmdoctor.plan.apply import Outcome, Watcher, log_of, prepare_state, undisturbed
from rocmdoctor.plan.journal import Entry, Journal, NotWritten
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages
from rocmdoctor.plan.step import Run, Step


def undo(run_id: str | None, target: Target, watcher: Watcher) -> Outcome:
    """Take back a run: the newest one that changed something without an id. Raises ChangeFailed when there is none."""
    prepare_state(target)
    with target.lock(journal.LOCK):
        entry = wanted(run_id, target)
        undisturbed(entry.changed, target)
        book = Journal(target, entry.id)
        book.mend()
        try:
            book.add("undo-begin", tool=__version__)
        except NotWritten as error:
            raise ChangeFailed(f"{error}; nothing was taken back") from None
        return _take_back(entry, book, target, watcher)


def wanted(run_id: str | None, target: Target) -> Entry:
    """The run that is meant: the newest that changed something or was cut off. Raises ChangeFailed."""
    # one that was cut off before its first step is meant too: it stands in the way of a new run until it is taken back
    alive = [entry for entry in journal.runs(target) if not entry.undone and (entry.changed or entry.open)]
    if run_id is None:
        if not alive:
            raise ChangeFailed("there is nothing to take back")
        return alive[-1]
    entry = journal.read(target, run_id)
    if entry is None:
        raise ChangeFailed(f"there is no run {run_id}")
    if entry.undone:
        raise ChangeFailed(f"{run_id} is taken back already")
    later = [other.id for other in alive if other.id > run_id]
    if later:
        raise ChangeFailed(f"{later[-1]} was done after {run_id}; take that back first")
    return entry


def _take_back(entry: Entry, book: Journal, target: Target, watcher: Watcher) -> Outcome:
    log = log_of(entry.id)
    run = Run(target, log, f"{kept.STATE}/kept/{entry.id}", watcher.says, watcher.breathes, entry.undo_began)
    steps = entry.changed
    changed: list[str] = []
    try:
        packages = replaced.of(run, entry)
    except (ChangeFailed, UnknownFact) as error:
        return Outcome("failed", entry.id, (), None, str(error), log)
    lists_first = sorted(reversed(steps), key=lambda step: step.kind != RefreshIndex.kind)
    ordered: list[tuple[str, Step]] = [("undo", step) for step in reversed(steps)] + [("settle", step) for step in lists_first]
    for number, (phase, step) in enumerate(ordered, 1):
        if (phase, step.id) in entry.undone_steps:
            continue
        if phase == "undo":
            watcher.begins(number, len(steps), step)
        try:
            if phase == "settle" and packages is not None and isinstance(step, (InstallPackages, RemovePackages)):
                replaced.bring_back(run, packages)
                packages = None
            waits = phase == "undo" and isinstance(step, InstallPackages) and packages is not None and packages.wanted
            if not waits:
                act = step.undo if phase == "undo" else step.settle
                act(run, entry.before[step.id], entry.after.get(step.id))
        except (ChangeFailed, UnknownFact) as error:
            watcher.ends(step, "failed")
            return Outcome("failed", entry.id, tuple(changed), step.id, str(error), log)
        except KeyboardInterrupt:
            return Outcome("interrupted", entry.id, tuple(changed), step.id, "interrupted", log)
        try:
            book.add("undo", step=step.id, phase=phase)
        except NotWritten as error:
            watcher.ends(step, "failed")
            so_far = [*changed, step.id] if phase == "undo" else changed
            return Outcome("failed", entry.id, tuple(so_far), step.id, f"{error}; {_so_far(so_far, steps)}", log)
        if phase == "undo":
            changed.append(step.id)
            watcher.ends(step, "done")
    try:
        book.add("undone")
    except NotWritten as error:
        return Outcome("failed", entry.id, tuple(changed), None, f"{error}; {_so_far(changed, steps)}", log)
    return Outcome("done", entry.id, tuple(changed), log=log)


def _so_far(changed: Sequence[str], steps: Sequence[Step]) -> str:
    done = f"{len(changed)} of {len(steps)} steps are taken back" + (f" ({', '.join(changed)})" if changed else "")
    return f"{done}; once the journal can be written, `rocmdoctor undo` takes back the rest"
