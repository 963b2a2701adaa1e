"""apt's marks: which packages came only because others need them. A version that is brought back by name would count as asked
for, and stay for ever (apt-mark(8))."""

from __future__ import annotations

import json

from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan.step import Record, Run


def keep(run: Run, step: str, manager: str) -> Record:
    """Write down the packages that are marked as automatic; a record with the path, empty for the other package managers."""
    if manager != "apt":
        return {}
    place = f"{run.kept}/{step}-automatic.json"
    run.target.write(place, json.dumps(sorted(_automatic(run))).encode(), 0o600)
    return {"automatic": place}


def bring_back(run: Run, before: Record) -> None:
    """Mark as automatic what was so, and as asked for what was so, as far as it is installed. Raises ChangeFailed when apt's
    state cannot be told."""
    place = before.get("automatic")
    data = run.target.read(str(place)) if place else None
    if data is None:  # a run of an older rocmdoctor
        return
    current = _automatic(run)
    manual = set(_said(run, "showmanual"))
    automatic = set(json.loads(data))
    lost = sorted(name for name in automatic if name not in current and name in manual)
    if lost:
        run.target.run(("apt-mark", "auto", *lost), run.log)
    place = before.get("packages")
    there = run.target.read(str(place)) if place else None
    asked = sorted(name for name in json.loads(there or b"{}") if name in current and name not in automatic)
    if asked:  # removed, and come back because others need it
        run.target.run(("apt-mark", "manual", *asked), run.log)


def _automatic(run: Run) -> frozenset[str]:
    return frozenset(_said(run, "showauto"))


def _said(run: Run, question: str) -> list[str]:
    answer = run.target.run(("apt-mark", question), run.log)
    if not answer.found:
        raise ChangeFailed("apt-mark is not installed")
    return answer.stdout.split()
