"""Runs of the plan engine for people and programs: listed, taken back, gone on with, verified (docs/runs.schema.json)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from rocmdoctor.plan.apply import Outcome
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.verify import Verified
from rocmdoctor.reports.plan_json import outcome_values
from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report, Status


def listing(entries: Sequence[Entry], format: str) -> str:
    if format == "json":
        return _json({"runs": [_run(entry) for entry in entries]})
    lines = [f"{entry.id}  {entry.state:<11} {printable(entry.title)}" for entry in entries]
    return "\n".join(lines or ["rocmdoctor has changed nothing here."]) + "\n"


def taking_back(entry: Entry, format: str) -> str:
    """What undoing would take back."""
    if format == "json":
        return _json({"run": _run(entry)})
    lines = [f"Take back {entry.id}: {printable(entry.title)}", ""]
    lines += [f"  - {printable(step.title)}" for step in reversed(entry.changed)]
    return "\n".join(lines) + "\n"


def ended(outcome: Outcome) -> str:
    """JSON of what came of a run that was gone on with or taken back."""
    return _json({"outcome": outcome_values(outcome)})


def taken_back(outcome: Outcome, format: str) -> str:
    if format == "json":
        return ended(outcome)
    if outcome.status == "done":
        return f"Taken back: {outcome.run_id}.\n"
    where = f" at step {outcome.failed_step}" if outcome.failed_step else ""
    text = f"{outcome.status}{where}: {printable(outcome.message)}\nThe log is {outcome.log}."
    return f"{text} `rocmdoctor undo {outcome.run_id}` goes on.\n"


def verified(found: Verified, report: Report, format: str, width: int) -> str:
    """The run, the reboot, and what still fails."""
    failing = [result for result in report.results if result.status is Status.FAIL]
    if format == "json":
        rows = [{"id": r.id, "title": r.title} for r in failing]
        return _json({"run": _verified(found), "verdict": report.verdict, "failing": rows})
    reboot = {"needed": "the reboot is still to be done", "done": "rebooted since", None: "no reboot was needed"}[found.reboot]
    lines = [f"{found.run_id}: {printable(found.title)} ({found.state}); {reboot}"]
    lines += [f"  does not hold: {printable(title)}" for title in found.open_steps]
    for result in failing:
        lines += textwrap.wrap(
            f"fails: {result.id}: {printable(result.title)}", width, initial_indent="  ", subsequent_indent="    "
        )
    if found.holds and not failing:
        lines.append("Everything holds.")
    return "\n".join(lines) + "\n"


def _verified(found: Verified) -> dict[str, Any]:
    return {
        "run_id": found.run_id,
        "command": found.command,
        "title": found.title,
        "created": found.created,
        "state": found.state,
        "reboot_required": found.reboot == "needed",
        "rebooted": found.reboot == "done",
        "open_steps": list(found.open_steps),
        "holds": found.holds,
    }


def _run(entry: Entry) -> dict[str, Any]:
    begun = [{"id": step.id, "kind": step.kind, "title": step.title} for step in entry.changed]
    return {
        "run_id": entry.id,
        "command": entry.command,
        "title": entry.title,
        "created": entry.created,
        "state": entry.state,
        "message": entry.message,
        "steps": begun,
    }


def _json(values: dict[str, Any]) -> str:
    return json.dumps({"schema_version": 1, **values}, indent=1, ensure_ascii=False) + "\n"
