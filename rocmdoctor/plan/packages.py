"""Steps that install and remove packages, and what it takes to bring the set of packages back to what it was.

Before a package manager runs, every installed package with its version is written down; what it then did is the difference,
dependencies included. A run that was killed has no such result: then the difference is taken when it is undone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rocmdoctor import versions
from rocmdoctor.facts.packages import Package, PackageDb
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import compared, kept, managers, marks
from rocmdoctor.plan.files import last_words, run_or_fail
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.step import Argv, Record, Run, Step, installed

Versions = Mapping[str, str]
"""Package name (with ":arch" for the second of a name) to full version."""


@dataclass(frozen=True, slots=True)
class RefreshIndex(Step):
    """Read the package lists again. There is nothing to do when the packages that it is for (`serves`) are there; without any it
    is for the lists themselves."""

    kind: ClassVar[str] = "refresh-index"
    shapes: ClassVar[Mapping[str, Any]] = {"serves": lambda rows: tuple(Wish(**row) for row in rows)}

    manager: str = ""
    repositories: tuple[str, ...] = ()
    """Ids for dnf and zypper, URLs for apt."""
    serves: tuple[Wish, ...] = ()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (managers.refresh(self.manager, self.repositories),)

    def is_done(self, host: Host) -> bool:
        return bool(self.serves) and not unfulfilled(installed(host), self.serves)

    def took(self, host: Host) -> bool:
        return True  # apply has read what the package manager said

    def apply(self, run: Run, before: Record) -> Record:
        if self.manager != "apt":
            run_or_fail(run, self.commands[0])
            return {}
        answer = run.target.run(self.commands[0], run.log, heard=run.heard)
        fault, strange = apt_faults(answer.stdout, self.repositories)
        if fault is None and answer.rc != 0 and not strange:
            fault = last_words(answer.stdout, answer.stderr)
        if fault is not None:  # apt-get update ends with 0 when it could not read a repository
            raise ChangeFailed(f"apt cannot read the package lists: {fault}")
        if strange:
            run.say(f"apt could not read another repository, which is left to you: {strange}")
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        return

    def settle(self, run: Run, before: Record, after: Record | None) -> None:
        """The lists of the repositories as they are now. Without a network the old ones stay, which the next update mends."""
        argv = managers.refresh(self.manager, ()) if self.manager in ("apt", "zypper") else (self.manager, "clean", "metadata")
        run.target.run(argv, run.log)


def apt_faults(output: str, urls: Iterable[str]) -> tuple[str | None, str | None]:
    """What `apt-get update` said against these repositories, and against others: a line of each, or None."""
    told = [line.strip() for line in output.splitlines() if line.startswith(("Err:", "E:", "W:"))]
    places = [url.rstrip("/").partition("://")[2] for url in urls]
    ours = [line for line in told if any(place in line for place in places)]
    others = [line for line in told if line not in ours and "://" in line]
    worst = next((line for line in ours if not line.startswith("Err:")), ours[0] if ours else None)
    return (worst[:300] if worst else None), (others[0][:300] if others else None)


@dataclass(frozen=True, slots=True)
class InstallPackages(Step):
    """Install or upgrade packages. `removes`: names that the package manager may remove on the way, because the plan says so."""

    kind: ClassVar[str] = "install-packages"
    shapes: ClassVar[Mapping[str, Any]] = {
        "wishes": lambda rows: tuple(Wish(**row) for row in rows),
        "ahead": lambda rows: tuple(Wish(**row) for row in rows),
    }

    manager: str = ""
    wishes: tuple[Wish, ...] = ()
    removes: tuple[str, ...] = ()
    digests: tuple[tuple[str, str, str], ...] = ()
    """(name, version, SHA-256) from a lock: what is not that is not installed. Those of `ahead` too."""
    ahead: tuple[Wish, ...] = ()
    """What later steps of the lock install: compared before this one changes anything."""

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (managers.install(self.manager, self.wishes, removals=bool(self.removes)),)

    def is_done(self, host: Host) -> bool:
        open_ = unfulfilled(installed(host), self.wishes)
        return not [wish for wish in open_ if not (wish.optional and self._missing(host, wish))]

    def _missing(self, host: Host, wish: Wish) -> bool:
        """There is no such package for this host."""
        answer = host.run(managers.exists(self.manager, wish.name), timeout=60.0)
        return answer.found and not answer.timed_out and answer.rc != 0

    def prepare(self, run: Run) -> Record:
        return {"packages": keep_versions(run, self.id), **marks.keep(run, self.id, self.manager)}

    def apply(self, run: Run, before: Record) -> Record:
        repair(run, self.manager)
        host = run.target.look()
        wishes = tuple(wish for wish in self.wishes if not (wish.optional and self._missing(host, wish)))
        self.compare(run)
        rehearse(run, self.manager, managers.install(self.manager, wishes, removals=True, dry=True), self.removes)
        run_or_fail(run, managers.install(self.manager, wishes, removals=bool(self.removes)))
        if self.manager != "apt":
            compared.as_installed(run, self.manager, self.digests)
        done = difference(read_versions(run, before), now(run))
        self._say_what_came_along(run, done)
        return done

    def _say_what_came_along(self, run: Run, done: Record) -> None:
        locked = {wish.name for wish in (*self.wishes, *self.ahead)} | {name for name, _, _ in self.digests}
        names = [name for name in done["installed"] if name.partition(":")[0] not in locked]
        if self.digests and names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            run.say(f"came along, and is not in the lock: {', '.join(names[:8])}{more}")

    def compare(self, run: Run, options: Argv = ()) -> None:
        """Raises ChangeFailed, before any package is changed, for one that is not the lock's."""
        if not self.digests:
            return
        if self.manager == "apt":  # its signed lists have the digests of the files
            compared.in_lists(run, self.digests, options)
        else:
            wishes = tuple(wish for wish in self.wishes if not wish.optional)
            compared.in_files(run, self.manager, (*wishes, *self.ahead), self.digests)

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        repair(run, self.manager, needed=False)
        done = after if after is not None else difference(read_versions(run, before), now(run))
        current = now(run)
        names = [name for name in done["installed"] if name in current]
        if names:
            rehearse(run, self.manager, managers.remove(self.manager, names, dry=True), names)
            try:
                run_or_fail(run, managers.remove(self.manager, names))
            except ChangeFailed as error:
                if set(names) & set(now(run)):
                    raise
                run.say(f"the packages are gone, although {error}")

    def settle(self, run: Run, before: Record, after: Record | None) -> None:
        marks.bring_back(run, before)


@dataclass(frozen=True, slots=True)
class RemovePackages(Step):
    """Remove packages that the plan names, and no other. They come back with undo where a repository still has their version."""

    kind: ClassVar[str] = "remove-packages"

    manager: str = ""
    names: tuple[str, ...] = ()
    purge: bool = True
    keeps: tuple[str, ...] = ()
    """Files that may go with the packages that own them, and that packages cannot be brought back without: repositories, keys."""

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (managers.remove(self.manager, self.names, purge=self.purge),)

    def is_done(self, host: Host) -> bool:
        db = installed(host)
        left = {p.name for p in db.packages if p.installed or (self.purge and p.state == "config-files")}
        return not left.intersection(self.names)

    def prepare(self, run: Run) -> Record:
        before = {"packages": keep_versions(run, self.id), **marks.keep(run, self.id, self.manager)}
        if self.keeps:
            before["files"] = [kept.keep(run, f"{self.id}-{number}", path) for number, path in enumerate(self.keeps)]
        return before

    def apply(self, run: Run, before: Record) -> Record:
        repair(run, self.manager, gone=self.names)
        db = installed(run.target.look())
        there = {p.name for p in db.packages if p.state != "not-installed"}
        names = tuple(name for name in self.names if name in there)
        if names:
            rehearse(run, self.manager, managers.remove(self.manager, names, purge=self.purge, dry=True), self.names)
            run_or_fail(run, managers.remove(self.manager, names, purge=self.purge))
        return difference(read_versions(run, before), now(run))

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        for number, record in enumerate(before.get("files", ())):
            if record["type"] is not None and run.target.state(str(record["path"])) is None:
                kept.make_folders(run.target, str(record["path"]).rpartition("/")[0])
                kept.put_back(run, record, None, f"{self.id}-{number}")

    def settle(self, run: Run, before: Record, after: Record | None) -> None:
        marks.bring_back(run, before)


# what is installed -----------------------------------------------------------------------------------------------


def unfulfilled(db: PackageDb, wishes: Iterable[Wish]) -> list[Wish]:
    """The wishes that the package database does not fulfil."""
    return [wish for wish in wishes if not any(_fulfils(package, wish) for package in _candidates(db, wish))]


def _candidates(db: PackageDb, wish: Wish) -> Iterable[Package]:
    """Packages that the name may mean; rpm's names may end in the version."""
    yield from (p for p in db.packages if p.name == wish.name and p.installed)
    if db.kind == "rpm":
        for p in db.packages:
            if wish.name.startswith(f"{p.name}-") and wish.name in (f"{p.name}-{p.version}", f"{p.name}-{p.version}.{p.arch}"):
                yield p


def _fulfils(package: Package, wish: Wish) -> bool:
    if package.broken:
        return False
    if wish.version:
        from fnmatch import fnmatchcase

        if not any(fnmatchcase(v, wish.version) for v in (package.full_version, package.version)):
            return False
    if wish.release:
        found = package.driver_release or package.rocm_release
        if package.is_therock:  # its name has two numbers of the release, its version has three
            found = ".".join(map(str, versions.components(package.version)[:3]))
        return found is not None and versions.key(found) == versions.key(wish.release)
    return True


def keep_versions(run: Run, step: str) -> str:
    """Write down every installed package with its version; the path."""
    kept.make_folders(run.target, run.kept, 0o700)
    place = f"{run.kept}/{step}-packages.json"
    run.target.write(place, json.dumps(now(run), sort_keys=True).encode(), 0o600)
    return place


def read_versions(run: Run, before: Record) -> Versions:
    """What `keep_versions` wrote. Raises ChangeFailed."""
    data = run.target.read(str(before["packages"]))
    if data is None:
        raise ChangeFailed(f"the list of packages {before['packages']} is gone")
    return dict(json.loads(data))


def now(run: Run) -> Versions:
    """Every installed package with its version. Raises ChangeFailed."""
    try:
        db = installed(run.target.look())
    except UnknownFact as unknown:
        raise ChangeFailed(f"the installed packages cannot be told: {unknown}") from None
    found: dict[str, str] = {}
    for package in db.packages:
        if package.installed:
            name = package.name if package.name not in found else f"{package.name}:{package.arch}"
            if db.kind == "rpm" and package.name in found:
                name = f"{package.name}-{package.version}.{package.arch}"  # kernels are installed several times
            found[name] = package.full_version
    return found


def difference(before: Versions, after: Versions) -> Record:
    """What a package manager did: installed, upgraded (with the version from before) and removed."""
    return {
        "installed": sorted(set(after) - set(before)),
        "upgraded": {name: before[name] for name in sorted(before) if name in after and before[name] != after[name]},
        "removed": {name: before[name] for name in sorted(set(before) - set(after))},
    }


def digests_of(
    target: Target, log: str, manager: str, wanted: Iterable[tuple[str, str]], options: Argv = ()
) -> dict[tuple[str, str], str]:
    """SHA-256 by (name, version): of debs as apt's index has it (`options`: which index), of installed rpms their header's."""
    names = list(wanted)
    if not names:
        return {}
    return compared.answered(manager, target.run(compared.question(manager, names, options), log).stdout)


# before a package manager runs -----------------------------------------------------------------------------------


def rehearse(run: Run, manager: str, argv: Argv, allowed: Iterable[str]) -> None:
    """Ask the package manager what it would do. Raises ChangeFailed when it would remove what the plan does not name."""
    answer = run.target.run(argv, run.log, heard=run.heard)
    if not answer.found:
        raise ChangeFailed(f"{argv[0]} is not installed")
    found = managers.rehearsed(manager, answer.rc, answer.stdout)
    if found.failed:
        raise ChangeFailed(f"{found.failed}: {last_words(answer.stdout, answer.stderr)}")
    permitted = {name.partition(":")[0] for name in allowed}
    strangers = [name for name in found.removes if name.partition(":")[0] not in permitted]
    if strangers:
        names = ", ".join(strangers[:8])
        raise ChangeFailed(f"{manager} would remove {names}, which the plan does not name; no package was changed")


def configure(names: Iterable[str] = ()) -> Argv:
    """dpkg finishes these packages, or all that wait for it; configuration files that the user has edited stay."""
    return ("dpkg", "--force-confdef", "--force-confold", "--configure", *(tuple(names) or ("-a",)))


def cut_off(host: Host) -> bool:
    """Whether dpkg was killed: changes that are not in its status file yet lie in files with numbers for names, and apt does
    nothing until dpkg has read them."""
    from rocmdoctor.facts import known

    return any(name.isdigit() for name in known(lambda: host.names("/var/lib/dpkg/updates"), ()))


def repair(run: Run, manager: str, *, needed: bool = True, gone: Iterable[str] = ()) -> None:
    """Finish what an interrupted dpkg left: without that apt refuses to do anything. Not `needed`: somebody else's package that
    cannot be configured is left as it is, and said. `gone`: packages that are removed next, in whatever state they are. Raises
    ChangeFailed."""
    if manager != "apt":
        return
    try:
        leaving, host = frozenset(gone), run.target.look()
        broken = [p for p in installed(host).broken if p.name not in leaving]
    except UnknownFact:
        return
    if broken or cut_off(host):
        what = f"{broken[0].name} is {broken[0].state}" if broken else "dpkg was interrupted"
        run.say(f"{what}: dpkg finishes that first")
        try:
            run_or_fail(run, configure(p.name for p in broken if leaving))
        except ChangeFailed as error:
            if needed:
                raise
            run.say(f"it cannot be finished: {error}")
