"""Applying a plan: lock, skip what is done, journal the intent, do it, look again, journal the result.

It stops at the first failure. A step is done when the machine shows it, whatever its program has said.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from rocmdoctor import __version__
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import journal, kept, reboot
from rocmdoctor.plan.journal import Entry, Journal, NotWritten
from rocmdoctor.plan.step import Plan, Run, Step, judged


class Watcher(Protocol):
    """Who is told what happens: a progress display, or plain lines."""

    def begins(self, number: int, count: int, step: Step) -> None: ...

    def ends(self, step: Step, status: str) -> None:
        """`status`: done | unchanged | failed."""

    def says(self, text: str) -> None: ...

    def breathes(self) -> None:
        """Called a few times a second while a program runs."""


class Outcome(NamedTuple):
    """`status`: done | unchanged | failed | interrupted. `changed`: ids of the steps that changed something. `message`: why it
    failed; of `unchanged`, what there was to be found instead."""

    status: str
    run_id: str | None
    changed: tuple[str, ...]
    failed_step: str | None = None
    message: str = ""
    log: str | None = None
    reboot: bool = False


def apply(plan: Plan, target: Target, watcher: Watcher) -> Outcome:
    """Do what is open of a plan. Raises ChangeFailed when nothing could be begun (another run, an unwritable state folder)."""
    assert not plan.refusals, "a refused plan is not applied"
    host = target.look()
    done = judged(plan.steps, host)
    if all(done[step.id] for step in plan.steps if not isinstance(step, reboot.RebootNotice)):
        still = [step for step in plan.steps if not done[step.id]]
        return Outcome("unchanged", None, (), reboot=bool(still))
    prepare_state(target)
    with target.lock(journal.LOCK):
        unfinished(target)
        run_id = journal.new_id(target, plan.command)
        book = Journal(target, run_id)
        try:
            book.begin(run_id, plan, reboot.boot_id(host), __version__)
        except NotWritten as error:
            raise ChangeFailed(f"{error}; nothing was changed") from None
        entry = Entry(run_id, plan.command, plan.title, target.now(), None, plan.versions, plan.steps)
        return _go(plan.steps, entry, book, target, watcher)


def resume(run_id: str | None, target: Target, watcher: Watcher) -> Outcome:
    """Go on with a run that was cut off or failed (without an id: the newest one, see `_newest`). One that is complete is said to
    be so, with the reboot that it may wait for. Raises ChangeFailed when there is no run at all."""
    prepare_state(target)
    with target.lock(journal.LOCK):
        entry = _wanted(run_id, target)
        if entry.undone or entry.undo_began:
            raise ChangeFailed(f"{entry.id} is being taken back; `rocmdoctor undo {entry.id}` finishes that")
        if entry.status == "done":
            return _complete(entry, target)
        undisturbed((step for step in entry.steps if step.id not in entry.after), target)
        book = Journal(target, entry.id)
        book.mend()
        try:
            book.add("resume", tool=__version__)
        except NotWritten as error:
            raise ChangeFailed(f"{error}; nothing more was changed") from None
        return _go(entry.steps, entry, book, target, watcher)


def _wanted(run_id: str | None, target: Target) -> Entry:
    if run_id is not None:
        entry = journal.read(target, run_id)
        if entry is None:
            raise ChangeFailed(f"there is no run {run_id}")
        return entry
    runs = journal.runs(target)
    alive = [entry for entry in runs if not entry.undone]
    if not alive:
        raise ChangeFailed(f"there is no run to resume{f': {runs[-1].id} has been taken back' if runs else ''}")
    return _newest(alive)


def _newest(alive: list[Entry]) -> Entry:
    """The newest run that is not complete, unless another installation was completed after it and has taken its place; else the
    newest run of all. Fixes take nobody's place."""
    for entry in reversed(alive):
        if entry.status != "done" or entry.undo_began:
            return entry
        if entry.command != "fix":
            break
    return alive[-1]


def _complete(entry: Entry, target: Target) -> Outcome:
    count = len(entry.changed)
    done = f"{entry.title}, {count} step{'' if count == 1 else 's'} done"
    waits = reboot.since(entry.steps, entry.before, target.look()) == "needed"
    return Outcome("unchanged", entry.id, (), message=f"the newest run {entry.id} is complete: {done}", reboot=waits)


def unfinished(target: Target) -> None:
    """Raise ChangeFailed when a run was cut off: what it was doing is settled before something new begins."""
    for entry in journal.runs(target):
        if entry.open:
            finish, back = "`rocmdoctor install --resume` finishes it", f"`rocmdoctor undo {entry.id}` takes it back"
            raise ChangeFailed(f"the run {entry.id} was cut off; {finish}, {back}")
        if entry.undo_began and not entry.undone:
            raise ChangeFailed(f"taking back {entry.id} was cut off; `rocmdoctor undo {entry.id}` finishes it")


def settled(target: Target) -> None:
    """As `unfinished`, but a run that is still at work is no run that was cut off: then it raises what the lock says."""
    try:
        unfinished(target)
    except ChangeFailed:
        with target.lock(journal.LOCK):
            unfinished(target)


def undisturbed(steps: Iterable[Step], target: Target) -> None:
    """Raise ChangeFailed while a package manager of these steps is at work: the one of a run that was killed goes on to its end,
    and what it has done can only be told then."""
    from rocmdoctor.plan import refusals

    for manager in sorted({getattr(step, "manager", "") for step in steps} - {""}):
        for reason in refusals.busy(target, manager):
            raise ChangeFailed(f"{reason}; wait until it has ended, nothing was changed")


def prepare_state(target: Target) -> None:
    """The folders of journal, kept files and logs. Raises ChangeFailed."""
    try:
        kept.make_folders(target, kept.STATE)
        for folder in (journal.FOLDER, f"{kept.STATE}/kept"):
            kept.make_folders(target, folder, 0o700)
        kept.make_folders(target, kept.LOGS)
    except ChangeFailed as error:
        raise ChangeFailed(f"{error}; nothing was changed") from None


def _is_done(step: Step, target: Target) -> bool:
    try:
        return step.is_done(target.look())
    except UnknownFact:
        return False


def log_of(run_id: str) -> str:
    return f"{kept.LOGS}/{run_id}.log"


def _go(steps: tuple[Step, ...], entry: Entry, book: Journal, target: Target, watcher: Watcher) -> Outcome:
    log = log_of(entry.id)
    run = Run(target, log, f"{kept.STATE}/kept/{entry.id}", watcher.says, watcher.breathes)
    changed: list[str] = [step.id for step in entry.changed if step.id in entry.after]
    needs_reboot = False
    for number, step in enumerate(steps, 1):
        if step.id in entry.after:
            needs_reboot |= isinstance(step, reboot.RebootNotice)
            continue
        # a step that was begun is done again, whatever it looks like: the program behind a written file may not have run
        if step.id not in entry.before and _is_done(step, target):
            watcher.begins(number, len(steps), step)
            watcher.ends(step, "unchanged")
            continue
        watcher.begins(number, len(steps), step)
        try:
            before = entry.before.get(step.id)
            if before is None:
                before = step.prepare(run)
                book.add("intent", step=step.id, before=before)
            after = step.apply(run, before)
            _look_again(step, target)
        except (ChangeFailed, UnknownFact) as error:
            return _stopped("failed", step, str(error), changed, entry, book, watcher)
        except KeyboardInterrupt:
            return _stopped("interrupted", step, "interrupted", changed, entry, book, watcher)
        changed.append(step.id)
        needs_reboot |= isinstance(step, reboot.RebootNotice)
        try:
            book.add("result", step=step.id, status="done", after=after)
        except NotWritten as error:
            watcher.ends(step, "failed")
            message = f"{error}; the step itself is done, {way_on(changed, entry.steps)}"
            return Outcome("failed", entry.id, tuple(changed), step.id, message, log, needs_reboot)
        watcher.ends(step, "done")
    try:
        book.add("end", status="done")
    except NotWritten as error:
        return Outcome("failed", entry.id, tuple(changed), None, f"{error}; {way_on(changed, entry.steps)}", log, needs_reboot)
    return Outcome("done", entry.id, tuple(changed), log=log, reboot=needs_reboot)


def way_on(changed: Sequence[str], steps: Sequence[Step]) -> str:
    """What a run has done that could not write its journal, and what can be done about it."""
    done = f"{len(changed)} of {len(steps)} steps are done ({', '.join(changed)})" if changed else "no step was done"
    finish, back = "`rocmdoctor install --resume` finishes the run", "`rocmdoctor undo` takes it back"
    return f"{done}; once the journal can be written, {finish}, {back}"


def _look_again(step: Step, target: Target) -> None:
    """A command that returned 0 and left the step undone has failed. Raises ChangeFailed."""
    try:
        took = step.took(target.look())
    except UnknownFact as unknown:
        raise ChangeFailed(f"whether it was done cannot be told: {unknown}") from None
    if not took:
        said = step.commands[0][0] if step.commands else "it"
        raise ChangeFailed(f"{said} reported success, but the step is still not done")


def _stopped(status: str, step: Step, message: str, changed: list[str], entry: Entry, book: Journal, watcher: Watcher) -> Outcome:
    watcher.ends(step, "failed")
    try:
        book.add("result", step=step.id, status="failed", message=message)
        book.add("end", status=status, step=step.id, message=message)
    except NotWritten as error:  # the disk is full: the run then counts as cut off, which is true
        same = str(error) == message
        message = message if same else f"{message}; the journal could not be written either: {error}"
        message = f"{message}; {way_on(changed, entry.steps)}"
    return Outcome(status, entry.id, tuple(changed), step.id, message, log_of(entry.id))
