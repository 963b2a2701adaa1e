"""The journal of a run: JSON lines under /var/lib/rocmdoctor/journal, each on the disk before what it announces is done.

    {"type": "plan", ...}                       the whole plan, readable by another process
    {"type": "intent", "step", "before"}        what is about to be changed, and what was there
    {"type": "result", "step", "status", "after"}
    {"type": "end", "status"}                   done | failed | interrupted
    {"type": "undo", "step", "phase", "status"} a step taken back
    {"type": "undone"}

A line that was cut off by a crash is the last one, and counts as not written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import codec, kept
from rocmdoctor.plan.step import Plan, Record, Step

FOLDER = f"{kept.STATE}/journal"
LOCK = f"{kept.STATE}/lock"
FORMAT = 1


class NotWritten(ChangeFailed):
    """A line could not be put on the disk: what it announces must not be done, what it reports is done all the same."""


@dataclass(slots=True)
class Entry:
    """A journal as it was read. `before` and `after` by step id; `status`: done | failed | interrupted, None when the run was cut
    off. `undone_steps` holds (phase, step id)."""

    id: str
    command: str
    title: str
    created: str
    boot_id: str | None
    versions: Mapping[str, Any]
    steps: tuple[Step, ...]
    before: dict[str, Record] = field(default_factory=dict)
    after: dict[str, Record] = field(default_factory=dict)
    status: str | None = None
    message: str = ""
    undo_began: bool = False
    undone: bool = False
    undone_steps: set[tuple[str, str]] = field(default_factory=set)

    @property
    def changed(self) -> tuple[Step, ...]:
        """The steps that were begun, in order."""
        return tuple(step for step in self.steps if step.id in self.before)

    @property
    def state(self) -> str:
        """undone | half-undone | done | failed | interrupted | cut-off."""
        if self.undone:
            return "undone"
        return "half-undone" if self.undo_began else self.status or "cut-off"

    @property
    def open(self) -> bool:
        """Cut off in the middle: neither ended nor taken back."""
        return self.status is None and not self.undone


class Journal:
    """Writes the journal of one run."""

    def __init__(self, target: Target, run_id: str) -> None:
        self.target = target
        self.path = f"{FOLDER}/{run_id}.jsonl"
        self._torn = False

    def add(self, kind: str, **values: Any) -> None:
        """One line, on the disk when this returns. Raises NotWritten."""
        line = json.dumps({"type": kind, "time": self.target.now(), **values}, ensure_ascii=True, separators=(",", ":"))
        try:
            self.target.append(self.path, (b"\n" if self._torn else b"") + line.encode() + b"\n")
        except ChangeFailed as error:
            self._torn = True  # as much of it as there was room for may be there
            raise NotWritten(str(error)) from None
        self._torn = False

    def mend(self) -> None:
        """A line that was cut off is ended by the next one, which is whole then."""
        data = self.target.read(self.path)
        self._torn = data is not None and data[-1:] not in (b"", b"\n")

    def begin(self, run_id: str, plan: Plan, boot_id: str | None, tool: str) -> None:
        """The plan itself: the first line."""
        self.add(
            "plan",
            format=FORMAT,
            id=run_id,
            tool=tool,
            command=plan.command,
            title=plan.title,
            boot_id=boot_id,
            versions=dict(plan.versions),
            steps=[step.written_down() for step in plan.steps],
        )


def new_id(target: Target, command: str) -> str:
    """An id that sorts by time: 20261130T120000Z-install. It comes behind every other, also when the clock has been set back: a
    later second is taken then."""
    from datetime import datetime, timedelta

    form = "%Y%m%dT%H%M%SZ"
    stamp = target.now().replace("-", "").replace(":", "")
    last = max((name.partition("-")[0] for name in target.names(FOLDER)), default="")
    if last >= stamp:
        try:
            stamp = (datetime.strptime(last, form) + timedelta(seconds=1)).strftime(form)
        except (ValueError, OverflowError):  # a file of somebody else
            stamp = f"{last}Z"
    return f"{stamp}-{command}"


def read(target: Target, run_id: str) -> Entry | None:
    """The journal of a run; None when there is none, or it was cut off before the plan was written (then nothing was done).

    Raises ChangeFailed for one that this version cannot read.
    """
    data = target.read(f"{FOLDER}/{run_id}.jsonl")
    if data is None:
        return None
    entry: Entry | None = None
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        if row.get("type") == "plan":
            entry = _header(run_id, row)
        elif entry is not None:
            _note(entry, row)
    return entry


def _header(run_id: str, row: Mapping[str, Any]) -> Entry:
    if row.get("format") != FORMAT:
        raise ChangeFailed(f"the journal {run_id} was written by another version of rocmdoctor")
    try:
        steps = tuple(codec.read_step(record) for record in row["steps"])
        return Entry(
            run_id, str(row["command"]), str(row["title"]), str(row["time"]), row.get("boot_id"), dict(row["versions"]), steps
        )
    except (codec.NoStep, KeyError, TypeError, ValueError) as error:
        raise ChangeFailed(f"the journal {run_id} cannot be read: {error}") from None


def _note(entry: Entry, row: Mapping[str, Any]) -> None:
    kind, step = row.get("type"), str(row.get("step", ""))
    if kind == "intent" and isinstance(row.get("before"), dict):
        entry.before.setdefault(step, row["before"])  # the first one: of a resumed run, what was there before all of it
    elif kind == "result" and row.get("status") == "done" and isinstance(row.get("after"), dict):
        entry.after[step] = row["after"]
    elif kind == "end":
        entry.status, entry.message = str(row.get("status")), str(row.get("message", ""))
    elif kind == "resume":
        entry.status = None
    elif kind == "undo-begin":
        entry.undo_began = True
    elif kind == "undo":
        entry.undone_steps.add((str(row.get("phase")), step))
    elif kind == "undone":
        entry.undone = True


def runs(target: Target) -> list[Entry]:
    """Every readable run, oldest first."""
    found = []
    for name in target.names(FOLDER):
        if name.endswith(".jsonl") and (entry := read(target, name.removesuffix(".jsonl"))) is not None:
            found.append(entry)
    return found
