"""A plan as JSON, and what came of applying it (docs/plan.schema.json)."""

from __future__ import annotations

import json
from typing import Any

from rocmdoctor import __version__
from rocmdoctor.facts import known
from rocmdoctor.host import Host
from rocmdoctor.plan.apply import Outcome
from rocmdoctor.plan.step import Plan, Step

SCHEMA_VERSION = 1
_COMMON = ("kind", "id", "title", "reason", "needs")


def document(plan: Plan, host: Host, matrix_date: str, outcome: Outcome | None = None) -> dict[str, Any]:
    """JSON values: the plan for `host`, and the outcome where it was applied."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "rocmdoctor", "version": __version__, "matrix_date": matrix_date},
        "command": plan.command,
        "title": plan.title,
        "status": status(plan),
        "versions": dict(plan.versions),
        "choices": dict(plan.choices),
        "needs": list(plan.needs),
        "steps": [_step(step, plan, host) for step in plan.steps],
        "notices": list(plan.notices),
        "refusals": [{"code": r.code, "reason": r.reason, "help": r.help} for r in plan.refusals],
        "outcome": None if outcome is None else outcome_values(outcome),
    }


def render(plan: Plan, host: Host, matrix_date: str, outcome: Outcome | None = None) -> str:
    return _json(document(plan, host, matrix_date, outcome))


def applied(planned: dict[str, Any], outcome: Outcome) -> str:
    """`planned`: the document as it was before the plan was applied, whose files are those of before."""
    return _json({**planned, "outcome": outcome_values(outcome)})


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def status(plan: Plan) -> str:
    """applicable | nothing-to-do | refused."""
    if plan.refusals:
        return "refused"
    return "applicable" if any(step.kind != "reboot-notice" for step in plan.open_steps) else "nothing-to-do"


def _step(step: Step, plan: Plan, host: Host) -> dict[str, Any]:
    written = step.written_down()
    changes = known(lambda: step.files(host), ())
    return {
        "id": step.id,
        "kind": step.kind,
        "title": step.title,
        "reason": step.reason,
        "needs": list(step.needs),
        "done": plan.done.get(step.id),
        "commands": [list(argv) for argv in step.commands],
        "files": [{"path": f.path, "before": f.before, "after": f.after, "note": f.note} for f in changes],
        "data": {name: value for name, value in written.items() if name not in _COMMON},
    }


def outcome_values(outcome: Outcome) -> dict[str, Any]:
    """JSON values of what came of a run."""
    return {
        "status": outcome.status,
        "changed": list(outcome.changed),
        "run_id": outcome.run_id,
        "failed_step": outcome.failed_step,
        "message": outcome.message,
        "log": outcome.log,
        "reboot_required": outcome.reboot,
    }
