"""What a package manager has left unfinished: found before anything is changed, because every package manager stops at it.

dpkg writes the state of each package down. What is unpacked or half-configured may only have been interrupted, so dpkg is asked
to finish it, first of all; whatever is still not configured then is named, and the plan is refused. rpm has no such states: there
the database itself is what can be broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from rocmdoctor.facts import known
from rocmdoctor.facts.package_relations import Unmet
from rocmdoctor.facts.packages import RPM_QUERY, Package, PackageDb
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.target import Target
from rocmdoctor.plan import journal
from rocmdoctor.plan.draft import Draft
from rocmdoctor.plan.files import last_words
from rocmdoctor.plan.packages import InstallPackages, RemovePackages, configure, cut_off
from rocmdoctor.plan.step import Plan, Refusal, installed

CODE = "unfinished"
_SEVERAL = ("kernel", "gpg-pubkey", "kmod-")
"""Packages that rpm installs beside their older versions begin with these words, or have "-kmp-" in them."""


def judge(draft: Draft, manager: str, removed: Iterable[str] = ()) -> None:
    """Refuse what the package manager's state tells for certain, and note what is to be finished first. `removed`: packages
    that the plan removes, in whatever state they are."""
    database = draft.packages
    if manager == "apt":
        if database is not None:
            gone = frozenset(removed)
            for refusal in _hopeless(database, gone):
                draft.refuse(refusal.code, refusal.reason, refusal.help)
            waiting = [p for p in database.broken if p.name not in gone]
            if waiting and not any(r.code == CODE for r in draft.refusals):
                draft.note(f"{_named(waiting)}: dpkg finishes that first, and nothing is done when it cannot")
        return
    _rpm(draft)
    for name, versions in _twice(database):
        draft.note(f"{name} is installed as {' and as '.join(versions)}: an update was cut off ({_cleans(manager)} ends it)")


def _hopeless(database: PackageDb, gone: frozenset[str]) -> Iterator[Refusal]:
    """What `dpkg --configure -a` cannot finish: files that are not all there, dependencies that are missing."""
    for package in database.broken:
        if package.name not in gone and package.state == "half-installed":
            mend = f"`apt-get install --reinstall {package.name}`, or `dpkg --remove --force-remove-reinstreq {package.name}`"
            yield Refusal(
                CODE, f"{package.name} is half-installed: not all of its files are there, and apt would remove it", mend
            )
    wants: list[Unmet] = [u for u in known(database.unmet, ()) if not u.waits and u.package.name not in gone]
    for unmet in wants[:3]:
        there = f"{unmet.found.name} is {unmet.found.full_version}" if unmet.found else "that is not installed"
        yield Refusal(
            CODE,
            f"{unmet.package.name} is {unmet.package.state}: it needs {unmet}, and {there}",
            f"`apt-get --fix-broken install`, or remove {unmet.package.name}",
        )


def _named(packages: list[Package]) -> str:
    more = f", and {len(packages) - 3} more" if len(packages) > 3 else ""
    return ", ".join(f"{p.name} is {p.state}" for p in packages[:3]) + more


def _rpm(draft: Draft) -> None:
    try:
        answer = draft.facts.host.run(RPM_QUERY, timeout=15.0)
    except UnknownFact:
        return
    if not answer.found or answer.timed_out:
        return
    said = next((line for line in answer.stderr.splitlines() if line.startswith("error:")), "")
    if answer.rc != 0 or said:
        reason = said.removeprefix("error:").strip()[:200] or f"rpm -qa ended with status {answer.rc}"
        mend = "`rpm --rebuilddb`, or a backup of /var/lib/rpm (or /usr/lib/sysimage/rpm)"
        draft.refuse("package-database", f"rpm cannot read its database: {reason}", mend)


def _twice(database: PackageDb | None) -> Iterator[tuple[str, list[str]]]:
    """Packages of rpm with two versions at once, of which the older one should have gone."""
    found: dict[tuple[str, str], list[str]] = {}
    for package in database.packages if database is not None and database.kind == "rpm" else ():
        if not package.name.startswith(_SEVERAL) and "-kmp-" not in package.name:
            found.setdefault((package.name, package.arch), []).append(package.full_version)
    yield from ((name, versions) for (name, _), versions in found.items() if len(versions) > 1)


def _cleans(manager: str) -> str:
    return "`zypper verify`" if manager == "zypper" else f"`{manager} remove --duplicates`"


# on the machine that is to be changed ----------------------------------------------------------------------------


def finish(plan: Plan, target: Target, log: str) -> tuple[Refusal, ...]:
    """Let dpkg finish what was interrupted, before anything else is changed. The packages that cannot be configured, each as a
    refusal; empty when all are, or no step of the plan is one of apt's. Raises ChangeFailed."""
    steps = [s for s in plan.open_steps if isinstance(s, (InstallPackages, RemovePackages)) and s.manager == "apt"]
    if not steps:
        return ()
    # what is removed before anything is installed need not be configured for that
    removals = takewhile(lambda step: isinstance(step, RemovePackages), steps)
    gone = tuple(name for step in removals if isinstance(step, RemovePackages) for name in step.names)
    waiting = _waiting(target, gone)
    if waiting is None:
        return ()
    with target.lock(journal.LOCK):
        answer = target.run(configure(waiting if gone else ()), log)
    left = _waiting(target, gone)
    if not left:
        return ()
    why = last_words(answer.stdout, answer.stderr)
    back = f"mend or remove it (`apt-get remove {left[0]}`), then `dpkg --configure -a`"
    return (Refusal(CODE, f"{', '.join(left[:5])} cannot be configured, and apt stops at that: {why}", back),)


def _waiting(target: Target, gone: Iterable[str]) -> tuple[str, ...] | None:
    """Names of packages that are to be configured; None when dpkg has nothing to finish, or that cannot be told."""
    host = target.look()
    try:
        found = tuple(p.name for p in installed(host).broken if p.name not in set(gone))
    except UnknownFact:
        return None
    return found if found or cut_off(host) else None
