"""Bringing back the packages that a run has replaced or removed, all its steps together.

Nothing is removed before the older versions are known to be had: what the repositories of before offer is asked first, and what
they have takes the place of the newer versions in one transaction, which every package manager downloads first. Only what the run
itself had to remove before it could be installed (a driver) is removed first again, and it is downloaded before that.

A package that no repository has any more, although these answer, is named and left. When one does not answer the undo has
failed; it can be repeated, since it looks at what is installed each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import managers
from rocmdoctor.plan.files import ZYPPER_DONE, last_words, run_or_fail
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import (
    InstallPackages,
    RemovePackages,
    difference,
    now,
    read_versions,
    rehearse,
    repair,
)
from rocmdoctor.plan.step import Argv, Run

_PASS_BY = "--setopt=*.skip_if_unavailable=1"
"""One repository that is not there must not keep dnf from the others."""
_KEEP = "--setopt=keepcache=1"
_GONE = re.compile(r"\b(?:404|410)\b|not found on medium|Repository type can.t be determined")
"""A server that says so has answered."""
_UNREACHED = re.compile(
    r"Failed to fetch|Unable to fetch|Error downloading|Failed to download|Cannot download|Curl error|Download \(curl\) error"
    r"|[Tt]imeout|[Cc]ould(?: not|n't) (?:resolve|connect)|Connection (?:failed|refused|reset|timed out)|not found on medium"
    r"|Status code: (?!404|410)|Retrieving: .*\[error\]"
)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a run did to packages. `wanted`: the versions of before of all that it replaced or removed; `fresh`: names that were
    not there before; `swapped`: names of `wanted` that it removed and installed in two steps."""

    manager: str
    wanted: dict[str, str]
    fresh: tuple[str, ...]
    swapped: tuple[str, ...]


def of(run: Run, entry: Entry) -> Replaced | None:
    """All steps of a run together; None when none has to do with packages. Raises ChangeFailed."""
    steps = [step for step in entry.changed if isinstance(step, (InstallPackages, RemovePackages))]
    if not steps:
        return None
    wanted: dict[str, str] = {}
    fresh: set[str] = set()
    came: set[str] = set()
    for step in steps:
        done = entry.after.get(step.id)
        if done is None:
            done = difference(read_versions(run, entry.before[step.id]), now(run))
        came.update(done["installed"])
        for name, version in {**done["upgraded"], **done["removed"]}.items():
            if name not in fresh:
                wanted.setdefault(name, version)  # the first step to touch it saw it as it was
        fresh.update(name for name in done["installed"] if name not in wanted)
    return Replaced(steps[0].manager, wanted, tuple(sorted(fresh)), tuple(name for name in wanted if name in came))


def bring_back(run: Run, done: Replaced) -> None:
    """The packages as they were before. Raises ChangeFailed when that failed and can be tried again."""
    manager = done.manager
    repair(run, manager, needed=False)
    wishes = _obtainable(run, manager, _open(run, done))
    current = now(run)
    fresh = [name for name in done.fresh if name in current]
    chosen = {wish.name for wish in wishes}
    swapped = [name for name in done.swapped if name in current and name in chosen]
    if swapped:
        _download(run, manager, wishes)
        _remove(run, manager, swapped, [*swapped, *fresh])
    refused = _exchange(run, manager, wishes, fresh)
    current = now(run)
    left = [name for name in fresh if name in current]
    if left:
        try:
            _remove(run, manager, left, left)
        except ChangeFailed as error:
            if not _open(run, done):
                raise
            run.say(f"{', '.join(left[:5])} stay with what could not be brought back: {error}")
    if refused:  # what the run installed may have been in the way; the older versions are known to be had
        for down in (False, True):
            refused = _exchange(run, manager, [w for w in wishes if (w.name in current) is down], ())
            if refused:
                names = ", ".join(f"{w.name} {w.version}" for w in wishes[:5])
                run.say(f"{manager} cannot bring back {names}: {refused}")


def _open(run: Run, done: Replaced) -> list[Wish]:
    current = now(run)
    return [Wish(name, version) for name, version in done.wanted.items() if current.get(name) != version]


def _obtainable(run: Run, manager: str, wishes: list[Wish]) -> list[Wish]:
    """Those that a repository has; the others are said. Raises ChangeFailed when a repository does not answer that may have
    them."""
    lacking = _lacking(run, manager, wishes)
    if not lacking:
        return wishes
    fault = _unanswered(run, manager)
    lacking = _lacking(run, manager, wishes)
    if not lacking:
        return wishes
    names = ", ".join(f"{w.name} {w.version}" for w in lacking[:5]) + (f" and {len(lacking) - 5} more" if lacking[5:] else "")
    if fault:
        raise ChangeFailed(
            f"{names} cannot be brought back while a repository does not answer: {fault}; no package was removed; "
            "`rocmdoctor undo` goes on when it answers, or without it once it is disabled"
        )
    run.say(f"{manager} cannot bring back {names}: no repository has it any more")
    return [wish for wish in wishes if wish not in lacking]


def _lacking(run: Run, manager: str, wishes: list[Wish]) -> list[Wish]:
    if not wishes or manager == "tdnf":
        return []  # tdnf says at the transaction
    names = [wish.name for wish in wishes]
    if manager == "apt":
        said = run.target.run(("apt-cache", "show", *(f"{w.name}={w.version}" for w in wishes)), run.log).stdout
        # what is only installed has no Filename
        stanzas = [dict(row.partition(": ")[::2] for row in stanza.splitlines()) for stanza in said.split("\n\n")]
        offered = {(s["Package"], s["Version"]) for s in stanzas if {"Package", "Version", "Filename"} <= s.keys()}
        return [w for w in wishes if (w.name.partition(":")[0], w.version) not in offered]
    if manager == "zypper":
        asked: Argv = ("zypper", "--non-interactive", "--no-refresh", "search", "--match-exact", "--details", *names)
        rows = [[cell.strip() for cell in line.split("|")] for line in run.target.run(asked, run.log).stdout.splitlines()]
        offered = {(r[1], r[3]) for r in rows if len(r) > 5 and r[5] != "(System Packages)"}
    else:
        asked = (manager, "-q", _PASS_BY, "repoquery", "--available", "--qf", "%{name} %{evr}\\n", *names)
        words = [line.split() for line in run.target.run(asked, run.log).stdout.splitlines()]
        offered = {(w[0], w[1].removeprefix("0:")) for w in words if len(w) == 2}
    return [w for w in wishes if (w.name, w.version) not in offered]


def _unanswered(run: Run, manager: str) -> str | None:
    """Read the lists again; what was said of a repository that does not answer. One that answers it has nothing has answered."""
    if manager == "zypper":
        argv: Argv = ("zypper", "--non-interactive", "refresh")
    elif manager == "apt":
        argv = ("apt-get", "update")
    else:
        run.target.run((manager, "clean", "expire-cache"), run.log)
        argv = (manager, "-y", *((_PASS_BY,) if manager == "dnf" else ()), "makecache")
    answer = run.target.run(argv, run.log, heard=run.heard)
    lines = [line.strip() for line in f"{answer.stdout}\n{answer.stderr}".splitlines()]
    for number, line in enumerate(lines):
        if manager == "apt" and line.startswith("Err:"):
            told = f"{line.partition(' ')[2]} {''.join(lines[number + 1 : number + 2])}"
        elif manager != "apt" and _UNREACHED.search(line):
            told = line
        else:
            continue
        if not _GONE.search(told) and not line.startswith(("Error: Failed to download", "Ignoring")):
            return told[:300]
    done = answer.rc == 0 or (manager == "zypper" and answer.rc in ZYPPER_DONE) or any(map(_GONE.search, lines))
    return None if done else last_words(answer.stdout, answer.stderr)


def _download(run: Run, manager: str, wishes: Sequence[Wish]) -> None:
    """All of them, before any is removed. Raises ChangeFailed when one cannot be had."""
    current = now(run)
    for down in (True, False):
        part = [w for w in wishes if (w.name in current) is down]
        if not part:
            continue
        argv = list(managers.install(manager, part, removals=True, downgrade=down or manager not in ("dnf", "tdnf")))
        if manager == "tdnf":
            argv[1:1] = ["--downloadonly"]
        elif manager == "dnf":
            argv[1:1] = [_PASS_BY, _KEEP, "--downloadonly", "--allowerasing"]
        elif manager == "zypper":
            argv[3:3] = ["--download-only", "--force-resolution"]
        else:
            argv[1:1] = ["--download-only"]
        try:
            run_or_fail(run, tuple(argv))
        except ChangeFailed as error:
            if _UNREACHED.search(str(error)):
                raise ChangeFailed(f"{error}; no package was removed, and `rocmdoctor undo` goes on when it can be had") from None
            run.say(f"not downloaded ahead: {error}")  # something is in the way; that they are offered is known


def _remove(run: Run, manager: str, names: Sequence[str], allowed: Iterable[str]) -> None:
    """Raises ChangeFailed when they are still there."""
    rehearse(run, manager, managers.remove(manager, names, dry=True), allowed)
    argv = managers.remove(manager, names)
    try:
        run_or_fail(run, (argv[0], _KEEP, *argv[1:]) if manager == "dnf" else argv)
    except ChangeFailed as error:
        if set(names) & set(now(run)):
            raise
        run.say(f"the packages are gone, although {error}")


def _exchange(run: Run, manager: str, wishes: Sequence[Wish], fresh: Sequence[str]) -> str:
    """The versions of before in the place of what is there, `fresh` out of their way. The answer is why the package manager would
    not; empty when it has done it. Raises ChangeFailed when a repository does not answer."""
    current = now(run)
    # dnf has two words for it; to downgrade loses nothing, and comes first
    parts = (
        [[w for w in wishes if (w.name in current) is down] for down in (True, False)] if manager in ("dnf", "tdnf") else [wishes]
    )
    for part in parts:
        if not part:
            continue
        down = manager not in ("dnf", "tdnf") or part[0].name in current
        for dry in (True, False):
            argv = list(managers.install(manager, part, removals=True, downgrade=down, dry=dry))
            if manager == "apt":
                argv[1:1] = ["--purge"]
                argv += [f"{name}-" for name in fresh]
            elif manager == "zypper":
                argv[3:3] = ["--force-resolution", *(() if dry else ("--download-in-advance",))]
                argv += [f"!{name}" for name in fresh]
            elif manager == "dnf":
                argv[1:1] = [_PASS_BY, _KEEP, "--allowerasing"] if fresh else [_PASS_BY, _KEEP]
            try:
                if dry:
                    rehearse(run, manager, tuple(argv), fresh)
                else:
                    run_or_fail(run, tuple(argv))
            except ChangeFailed as error:
                if not dry and _UNREACHED.search(str(error)):
                    raise
                there = now(run)
                if any(there.get(wish.name) != wish.version for wish in part):
                    return str(error)
                run.say(f"the packages are back, although {error}")
                break
    return ""
