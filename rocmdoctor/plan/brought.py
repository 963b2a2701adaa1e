"""What came along with ROCm from the distribution: the packages that rocmdoctor's own runs have installed, and that nothing needs
any more when AMD's are gone. What `apt autoremove` would take, and of that only what a journal names.

A package stays when another one needs it, when somebody has asked for it by name since, or when something may need it that no
package manager knows: modules of DKMS that were added by hand, a Python environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rocmdoctor.facts import known
from rocmdoctor.facts.package_relations import relations
from rocmdoctor.facts.packages import Package, PackageDb
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.plan import managers
from rocmdoctor.plan.draft import Draft
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.packages import InstallPackages, RemovePackages
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.torch_choice import OWN

AUTO_INSTALLED = "/var/lib/zypp/AutoInstalled"
"""zypp's list of packages that came only because others need them; one name a line."""
_TIMEOUT = 30.0
_HEADERS = ("linux-headers-", "kernel-devel", "kernel-headers", "kernel-default-devel", "kernel-syms")
_QUESTIONS = 20
"""Times that rpm is asked which of them others need; each answer keeps at least one."""


def packages(draft: Draft, runs: Iterable[Entry], manager: str, removed: Sequence[str]) -> tuple[str, ...]:
    """The names to be removed after `removed`; notes say what stays and why."""
    alive = [entry for entry in runs if not entry.undone]
    _switched_on(draft, alive)
    database = draft.packages
    there: dict[str, int] = {}
    amd = set(removed)  # and what is AMD's and not removed is kept on purpose (--keep-driver)
    for package in database.packages if database is not None else ():
        there[package.name] = there.get(package.name, 0) + package.installed
        if package.from_amd:
            amd.add(package.name)
    # of a name that is installed several times (kernels) none is known to be ours
    ours = [name for name in _installed(alive) if there.get(name) == 1 and name not in amd]
    if database is None or not ours:
        return ()
    kept: dict[str, str] = {}
    try:
        wished = [wish.name for entry in alive for step in _installs(entry) for wish in step.wishes]
        asked = _asked_for(draft.facts.host, manager)
        _keep(kept, ours, lambda name: name in asked and not _among(name, wished), "asked for by name since")
        _unseen(draft, ours, kept)
        _needed(draft.facts.host, database, removed, ours, kept)
        if there.get("dkms") and ("dkms" in kept or "dkms" not in ours):
            _keep(kept, ours, lambda name: name.startswith(_HEADERS), "DKMS builds with it")
            _needed(draft.facts.host, database, removed, ours, kept)
        if manager == "apt":
            _confirmed(draft.facts.host, removed, [name for name in ours if name not in kept])
    except UnknownFact as unknown:
        draft.note(f"{', '.join(ours[:5])} came along with ROCm and stay: whether others need them cannot be told ({unknown})")
        return ()
    if kept:
        draft.note("came along with ROCm, and left installed: " + ", ".join(f"{name} ({kept[name]})" for name in sorted(kept)))
    return tuple(name for name in ours if name not in kept)


def _switched_on(draft: Draft, runs: Iterable[Entry]) -> None:
    """Repositories of others (EPEL, CodeReady Builder, SUSE's modules): other packages may come from them by now."""
    amd = {source.file for source in known(lambda: draft.facts.repos.sources, ()) if source.is_amd}
    for entry in runs:
        for step in entry.steps if entry.command == "install" else ():
            if step.id not in entry.after:
                continue
            if isinstance(step, RunCommand) and step.back:
                path, back = step.path, " ".join(step.back)
            elif isinstance(step, WriteFile) and step.path.endswith(".repo") and step.path not in amd:
                path, back = step.path, f"rm {step.path}"
            else:
                continue
            if not path or known(lambda path=path: draft.facts.host.node(path), None) is not None:  # type: ignore[misc]
                draft.note(f'"{step.title}" of {entry.id} is not taken back, others may use it by now; `{back}` does that')


def _installs(entry: Entry) -> Iterator[InstallPackages]:
    if entry.command == "install":
        yield from (step for step in entry.steps if isinstance(step, InstallPackages) and step.id in entry.after)


def _among(name: str, wished: Iterable[str]) -> bool:
    """A wish may end in the version: kernel-devel-5.14.0-427.el9.x86_64."""
    return any(wish == name or (wish.startswith(f"{name}-") and wish[len(name) + 1 :][:1].isdigit()) for wish in wished)


def _installed(runs: Iterable[Entry]) -> list[str]:
    """Names that runs have installed, and no later one has removed."""
    found: dict[str, None] = {}
    for entry in runs:
        for step in entry.steps:
            after = entry.after.get(step.id)
            if after is None or not isinstance(step, (InstallPackages, RemovePackages)):
                continue
            if isinstance(step, InstallPackages) and entry.command == "install":
                found.update(dict.fromkeys(map(str, after.get("installed", ()))))
            for name in after.get("removed", ()):
                found.pop(name, None)
    return sorted(found)


def _asked_for(host: Host, manager: str) -> frozenset[str]:
    """Packages that somebody asked for by name. Raises UnknownFact."""
    if manager == "zypper":
        automatic = host.read(AUTO_INSTALLED) or ""
        return _Others(line.strip() for line in automatic.splitlines() if line.strip() and not line.startswith("#"))
    if manager == "tdnf":
        return frozenset()  # it keeps no such list that can be read
    argv = (
        ("apt-mark", "showmanual") if manager == "apt" else ("dnf", "-q", "-C", "repoquery", "--userinstalled", "--qf", "%{name}")
    )
    return frozenset(_said(host, argv).split())


class _Others(frozenset[str]):
    """All names but these."""

    def __contains__(self, name: object) -> bool:
        return not super().__contains__(name)


def _said(host: Host, argv: tuple[str, ...]) -> str:
    answer = host.run(argv, timeout=_TIMEOUT)
    if answer.rc != 0 or answer.timed_out:
        raise UnknownFact(f"{' '.join(argv[:2])} ended with status {answer.rc}")
    return answer.stdout


def _keep(kept: dict[str, str], names: Iterable[str], which: Callable[[str], bool], reason: str) -> None:
    for name in names:
        if which(name):
            kept.setdefault(name, reason)


def _unseen(draft: Draft, names: Iterable[str], kept: dict[str, str]) -> None:
    """What no package manager knows of."""
    host = draft.facts.host
    others = [name for name in known(lambda: host.names("/var/lib/dkms"), ()) if not name.startswith(("amdgpu", "dkms", "mok"))]
    if others:
        _keep(kept, names, lambda name: name == "dkms", f"DKMS has the module {others[0]}")
    if known(lambda: host.node(f"{OWN}/pyvenv.cfg"), None) is not None:
        _keep(kept, names, lambda name: name.startswith("python"), f"the Python environment {OWN} may need it")


def _confirmed(host: Host, removed: Sequence[str], going: Sequence[str]) -> None:
    """Ask apt as well. Raises UnknownFact when it would remove more, or does not say."""
    said = _said(host, managers.remove("apt", [*removed, *going], dry=True)) if going else ""
    strangers = {name.partition(":")[0] for name in managers.rehearsed("apt", 0, said).removes} - {*removed, *going}
    if strangers:
        raise UnknownFact(f"apt would remove {min(strangers)} with them")


def _needed(host: Host, database: PackageDb, removed: Sequence[str], names: Sequence[str], kept: dict[str, str]) -> None:
    """Keep what is needed by packages that stay. Raises UnknownFact."""
    if database.kind == "dpkg":
        _needed_by_debs(database, removed, names, kept)
        return
    for _ in range(_QUESTIONS):
        going = [name for name in names if name not in kept]
        if not going:
            return
        answer = host.run(("rpm", "-e", "--test", *removed, *going), timeout=_TIMEOUT)
        if answer.rc == 0 and not answer.timed_out:
            return
        before = len(kept)
        for wanted, _, who in (line.partition(" is needed by ") for line in answer.stderr.splitlines()):
            if who:
                capability = wanted.strip().partition(" ")[0]
                asked = ("rpm", "-q", "--qf", "%{NAME}\\n", "--whatprovides", capability)
                providers = _said(host, asked).split()
                _keep(kept, going, providers.__contains__, f"{who.strip().removeprefix('(installed) ')} needs it")
        if len(kept) == before:
            raise UnknownFact("rpm would not remove them")
    raise UnknownFact("rpm would not remove them")


def _needed_by_debs(database: PackageDb, removed: Sequence[str], names: Sequence[str], kept: dict[str, str]) -> None:
    """As many rounds as there are links: what a kept package needs is kept too. An alternative that is also fulfilled by another
    package counts as needed."""
    gone = frozenset(removed)
    provides: Mapping[str, list[str]] = _providers(database, names)
    waiting: list[Package] = [p for p in database.packages if p.installed and p.name not in gone]
    while True:
        before = len(kept)
        for package in waiting:
            if package.name in names and package.name not in kept:
                continue
            for alternatives in relations(package.depends):
                for relation in alternatives:
                    for name in provides.get(relation.name, ()):
                        if name != package.name:
                            kept.setdefault(name, f"{package.name} needs it")
        if len(kept) == before:
            return


def _providers(database: PackageDb, names: Iterable[str]) -> dict[str, list[str]]:
    wanted = frozenset(names)
    found: dict[str, list[str]] = {name: [name] for name in wanted}
    for package in database.packages:
        if package.name in wanted and package.installed:
            for alternatives in relations(package.provides):
                for relation in alternatives:
                    found.setdefault(relation.name, []).append(package.name)
    return found
