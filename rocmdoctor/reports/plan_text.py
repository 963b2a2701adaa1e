"""A plan for people: what will be done, in order, with its commands and files; then notices, or why it is refused."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator

from rocmdoctor.facts import known
from rocmdoctor.host import Host
from rocmdoctor.plan.apply import Outcome
from rocmdoctor.plan.step import FileChange, Plan, Step
from rocmdoctor.reports.printable import STYLES, command_lines, printable

MAX_DIFF = 40
"""Lines shown of a file; repository files have ten."""


def render(plan: Plan, host: Host, *, width: int, color: bool, verbose: bool = False) -> str:
    """The preview: also what `--dry-run` prints. `verbose` shows what is done already."""
    lines = [_styled(printable(plan.title), "strong", color), ""]
    for label, value in (("driver", plan.versions.get("driver")), ("PyTorch", plan.versions.get("torch"))):
        if value:
            lines.insert(-1, f"  {label}: {printable(value)}")
    steps = plan.steps if verbose else plan.open_steps
    done = len(plan.steps) - len(plan.open_steps)
    for number, step in enumerate(steps, 1):
        lines += _step(number, step, plan, host, width, color)
    if done and not verbose:
        lines.append(f"{done} step{'' if done == 1 else 's'} done already.")
    if not plan.open_steps and not plan.refusals:
        lines.append("Nothing to do.")
    if plan.needs:
        lines.append("Needs: " + ", ".join(plan.needs))
    for notice in plan.notices:
        lines += _wrapped(f"note: {printable(notice)}", width, "      ")
    for refusal in plan.refusals:
        lines += _wrapped(f"{_styled('refused', 'fail', color)}: {printable(refusal.reason)}", width, "  ")
        if refusal.help:
            lines += _wrapped(f"  what helps: {printable(refusal.help)}", width, "    ")
    return "\n".join(lines) + "\n"


def outcome(result: Outcome, plan: Plan | None = None) -> str:
    """What came of it: one or two lines."""
    if result.status == "unchanged":
        text = f"Nothing to do: {printable(result.message or 'everything is as planned')}."
        if result.message:
            text += f" `rocmdoctor undo {result.run_id}` takes it back."
    elif result.status == "done":
        count = len(result.changed)
        text = f"Done: {count} step{'' if count == 1 else 's'}. `rocmdoctor undo {result.run_id}` takes it back."
    else:
        where = f" at step {result.failed_step}" if result.failed_step else ""
        text = f"{result.status.capitalize()}{where}: {printable(result.message)}"  # paths keep their capitals
        if result.log:
            text += f"\nThe log is {result.log}"
            said = "--resume" in result.message
            text += "." if said else "; `rocmdoctor install --resume` goes on, `rocmdoctor undo` takes it back."
    if result.reboot:
        text += "\nReboot to load the new driver, then run `rocmdoctor verify`."
    return text + "\n"


def _step(number: int, step: Step, plan: Plan, host: Host, width: int, color: bool) -> Iterator[str]:
    mark = "done" if plan.done.get(step.id) else f"{number}."
    yield f"{mark:>4} {printable(step.title)}"
    if step.reason:
        yield from _wrapped(_styled(printable(step.reason), "faint", color), width, "     ", "     ")
    if plan.done.get(step.id):
        return
    for argv in step.commands:
        yield from (_styled(line, "command", color) for line in command_lines(argv, width, "       "))
    for change in known(lambda: step.files(host), ()):
        yield from _diff(change, color)


def _diff(change: FileChange, color: bool) -> Iterator[str]:
    if change.note:
        yield f"       {change.path}: {printable(change.note)}"
        return
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    rows = [line for line in difflib.unified_diff(before, after, n=1, lineterm="") if line[:3] not in ("---", "+++")]
    yield f"       {change.path}" + (" (removed)" if change.after is None else " (new)" if change.before is None else "")
    for line in rows[:MAX_DIFF]:
        if not line.startswith("@@"):
            style = {"+": "pass", "-": "fail"}.get(line[:1], "faint")
            yield _styled(f"         {printable(line, 300)}", style, color)
    if len(rows) > MAX_DIFF:
        yield f"         ... {len(rows) - MAX_DIFF} lines more"


def _wrapped(text: str, width: int, indent: str, first: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]


def _styled(text: str, style: str, color: bool) -> str:
    return f"\033[{STYLES[style]}m{text}\033[0m" if color else text
