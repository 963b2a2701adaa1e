"""Automatic fixes of findings as a plan: what `rocmdoctor fix` does, with the same journal and undo as an installation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocmdoctor.host import Host
from rocmdoctor.plan.accounts import AddUserToGroups
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.step import Argv, Plan, Step, judged
from rocmdoctor.results import Fix, Result, Status

_INSTALLS = re.compile(r"apt-get|dnf|zypper|tdnf")


def build(results: Iterable[Result], host: Host) -> tuple[Plan, tuple[str, ...]]:
    """The plan of the first automatic fix of each finding, and the ids of the checks that are to be asked again."""
    steps: list[Step] = []
    notices: list[str] = []
    ids: list[str] = []
    seen: set[tuple[Argv, ...]] = set()
    for result in results:
        if result.status not in (Status.FAIL, Status.WARN):
            continue
        fix = next((f for f in result.fixes if f.automatic and f.commands), None)
        if fix is None:
            by_hand = result.fixes[0].title if result.fixes else "there is no known remedy"
            notices.append(f"{result.id}: not fixed automatically; {by_hand}")
            continue
        ids.append(result.id)
        if fix.commands in seen:
            continue
        seen.add(fix.commands)
        for number, argv in enumerate(fix.commands, 1):
            name = result.id if number == 1 else f"{result.id}-{number}"
            taken = sum(step.id == name or step.id.startswith(f"{name}/") for step in steps)
            steps.append(_step(name if not taken else f"{name}/{taken + 1}", argv, fix, result))
    found = tuple(steps)
    plan = Plan("fix", f"Fix {', '.join(dict.fromkeys(ids)) or 'nothing'}", found, tuple(notices), done=judged(found, host))
    return plan, tuple(dict.fromkeys(ids))


def _step(name: str, argv: Argv, fix: Fix, result: Result) -> Step:
    """The step that can be probed and taken back where there is one for the command; else the command itself."""
    needs = tuple(need for need in fix.needs) or ("root",)
    if argv[0] == "usermod" and argv[1:3] == ("-a", "-G") and len(argv) == 5:
        return AddUserToGroups(name, fix.title, result.title, needs, user=argv[4], groups=tuple(argv[3].split(",")))
    if _INSTALLS.fullmatch(argv[0]) and argv[1:3] == ("install", "-y") and not any(word.startswith("-") for word in argv[3:]):
        wishes = tuple(Wish(word) for word in argv[3:])
        return InstallPackages(name, fix.title, result.title, needs, manager=argv[0], wishes=wishes)
    return RunCommand(name, fix.title, result.title, needs, argv=argv)
