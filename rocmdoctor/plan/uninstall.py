"""Removing ROCm, by whichever recipe it came: packages by name, repository files, pins, keys, and what amdgpu-install left.

`apt remove amdgpu-install` leaves its list and its pin behind (they are configuration files); only a purge takes them, and
what is left outranks newer repositories. What rocmdoctor itself has brought along from the distribution goes too (brought.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocmdoctor import versions
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.packages import Package
from rocmdoctor.facts.repos import Repository
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import brought, unfinished
from rocmdoctor.plan.draft import Draft, Options
from rocmdoctor.plan.files import RemoveFile
from rocmdoctor.plan.install import LOADER, PATH_FILE
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.keys import imported
from rocmdoctor.plan.packages import RefreshIndex, RemovePackages
from rocmdoctor.plan.repositories import RPM_KEYS
from rocmdoctor.plan.step import Plan, judged
from rocmdoctor.plan.torch_choice import OWN

INSTALLERS = ("amdgpu-install", "amdgpu-install-internal", "amdrocm-repo")
"""Packages that bring AMD's repository files."""


def build(
    facts: Facts, matrix: Matrix, rocm: str | None = None, *, keep_driver: bool = False, runs: Iterable[Entry] = ()
) -> Plan:
    """The plan. `rocm`: only that release ("6.2" is any 6.2.x); None: all of AMD's ROCm, the driver too unless it is kept, and
    what `runs` of rocmdoctor on this host have installed for it.

    Raises UnknownFact when the installed packages cannot be told.
    """
    draft = Draft(facts, matrix, Options())
    manager = facts.os.package_manager or ""
    if manager in ("dnf", "zypper", "tdnf"):
        unfinished.judge(draft, manager)
    if draft.refusals:
        return Plan("uninstall", "Uninstall ROCm", (), refusals=tuple(draft.refusals), versions={"rocm": rocm})
    database = facts.packages
    keep_driver = keep_driver and rocm is None and any(p.installed and p.from_amd and p.driver_release for p in database.packages)
    packages = sorted(_packages(draft, rocm, keep_driver=keep_driver))
    names = tuple(dict.fromkeys(packages))
    if manager not in ("apt", "dnf", "zypper", "tdnf"):
        draft.refuse("manager", f"packages of {facts.os.name} are not removed by rocmdoctor")
    elif manager == "apt":
        unfinished.judge(draft, manager, names)
    if names and not draft.refusals:
        title = f"Remove {len(names)} packages of {'ROCm ' + rocm if rocm else 'ROCm and its driver'}: {', '.join(names[:4])}"
        title += " ..." if len(names) > 4 else ""
        draft.steps.append(RemovePackages("packages", title, manager=manager, names=names, keeps=_files_of_repositories(draft)))
    sources = tuple(_sources(draft, rocm, keep_driver=keep_driver))
    for path in dict.fromkeys(source.file for source in sources):
        others = [s for s in known(lambda: facts.repos.sources, ()) if s.file == path and s not in sources]
        if others and all(s.is_amd for s in others):
            draft.note(f"{path} has the repository of the driver too, and stays with it")
            continue
        if others:
            draft.note(f"{path} has other sources beside AMD's, which stay; take AMD's lines out by hand")
            continue
        name = path.rpartition("/")[2]
        draft.steps.append(RemoveFile(f"repo-{name}", f"Remove {path}", "AMD's repository", path=path))
    if rocm is None:
        _leftovers(draft, keep_driver=keep_driver)
    if sources and manager in ("apt", "dnf", "zypper", "tdnf"):
        draft.steps.append(RefreshIndex("index", "Read the package lists", needs=("root", "network"), manager=manager))
    if rocm is None and not draft.refusals:
        along = brought.packages(draft, runs, manager, names)
        if along:
            title = f"Remove {len(along)} packages that came along: {', '.join(along[:4])}" + (" ..." if len(along) > 4 else "")
            reason = "rocmdoctor installed them for ROCm, and nothing else needs them"
            draft.steps.append(RemovePackages("brought-along", title, reason, manager=manager, names=along))
    if database.has("amdgpu-dkms") and "amdgpu-dkms" in names:
        draft.note("after the next reboot the kernel's own driver serves the GPU")
    if known(lambda: facts.host.node(f"{OWN}/pyvenv.cfg"), None) is not None:
        draft.note(f"the Python environment {OWN} stays; `rocmdoctor undo` of its run, or rm -r, removes it")
    steps = tuple(draft.steps)
    title = f"Uninstall ROCm {rocm}" if rocm else "Uninstall ROCm"
    return Plan("uninstall", title, steps, tuple(draft.notices), tuple(draft.refusals), {"rocm": rocm}, judged(steps, facts.host))


def _packages(draft: Draft, rocm: str | None, *, keep_driver: bool) -> Iterator[str]:
    for package in draft.facts.packages.packages:
        if rocm is not None:
            if package.installed and _of_release(package, rocm):
                yield package.name
        elif package.name in INSTALLERS and package.state != "not-installed":
            if not (keep_driver and package.installed and package.name.startswith("amdgpu-")):  # it owns the driver's repository
                yield package.name  # also when only its configuration files are left
        elif package.installed and package.from_amd and not (keep_driver and package.driver_release):
            yield package.name


def _of_release(package: Package, rocm: str) -> bool:
    release = package.rocm_release
    return release is not None and versions.is_prefix(rocm, release)


def _sources(draft: Draft, rocm: str | None, *, keep_driver: bool) -> Iterator[Repository]:
    for source in known(lambda: draft.facts.repos.sources, ()):
        if keep_driver and source.product == "amdgpu":
            continue  # a driver that is kept gets its updates
        if source.is_amd and (rocm is None or _serves_only(draft, source, rocm)):
            yield source


def _serves_only(draft: Draft, source: Repository, rocm: str) -> bool:
    """A repository directory of that release (TheRock's hold every release, and stay)."""
    if source.product not in ("rocm", "graphics") or source.release is None:
        return False
    found = draft.matrix.rocm_of_repository(source.release)
    return found is not None and versions.is_prefix(rocm, found)


def _files_of_repositories(draft: Draft) -> tuple[str, ...]:
    """AMD's repository files, keys and pins: removing the package that owns them (amdgpu-install) takes them away."""
    repos, found = draft.facts.repos, _keys(draft)
    for source in known(lambda: repos.sources, ()):
        if source.is_amd:
            found |= {source.file, *(path for path in source.signed_by if path.startswith("/"))}
    shadowed = draft.matrix.faults.shadowed_packages
    found |= {pin.file for pin in known(lambda: repos.pins, ()) if pin.covers(shadowed)}
    host = draft.facts.host
    return tuple(path for path in sorted(found) if known(lambda path=path: host.node(path, follow=False), None) is not None)  # type: ignore[misc]


def _keys(draft: Draft) -> set[str]:
    keys = {key.keyring for key in draft.matrix.signing_keys.values()}
    return keys | {f"{RPM_KEYS}{name}" for name in draft.matrix.signing_keys}


def _leftovers(draft: Draft, *, keep_driver: bool) -> None:
    facts = draft.facts
    for pin in known(lambda: facts.repos.pins, ()):
        alone = [p for p in facts.repos.pins if p.file == pin.file] == [pin]
        if pin.covers(draft.matrix.faults.shadowed_packages) and alone:
            name = pin.file.rpartition("/")[2]
            draft.steps.append(RemoveFile(f"pin-{name}", f"Remove {pin.file}", "the pin of AMD's packages", path=pin.file))
    keys = _keys(draft)
    drivers = [s for s in known(lambda: facts.repos.sources, ()) if s.product == "amdgpu"] if keep_driver else []
    if any(s.kind != "apt" or not s.signed_by for s in drivers):
        keys = set()
    for path in sorted(keys.difference(*(s.signed_by for s in drivers))):
        if known(lambda path=path: facts.host.node(path, follow=False), None) is not None:  # type: ignore[misc]
            name = path.rpartition("/")[2]
            draft.steps.append(RemoveFile(f"key-{name}", f"Remove {path}", "AMD's signing key", path=path))
    if facts.os.package_manager in ("dnf", "zypper", "tdnf") and not drivers:
        prints = {key.fingerprint for key in draft.matrix.signing_keys.values()}
        names = [name for p in sorted(prints) for name in known(lambda p=p: imported(facts.host, p), ())]  # type: ignore[misc]
        if names:
            draft.note(f"rpm goes on trusting AMD's key; `rpm -e --allmatches {' '.join(names)}` ends that")
    for name, (path, text), then in (("loader", LOADER, ("ldconfig",)), ("path", PATH_FILE, ())):
        found = known(lambda path=path: facts.host.read(path), None)  # type: ignore[misc]
        if found == text:
            draft.steps.append(RemoveFile(name, f"Remove {path}", path=path, then=then))
        elif found is not None:
            draft.note(f"{path} has been edited and stays")
