"""What the package manager would do with the plan's repositories, asked before anything is changed.

The repositories of the plan are laid out in a scratch folder of our own beside copies of those that stay, the signing keys are
fetched and verified there, and the package manager plays the installation with that: it names what it would remove and the room
that it needs. A wrong key, a mirror that is down, a package that does not exist: all of it is found here, with nothing changed.

EPEL comes with a package and CodeReady Builder is there but disabled: both can be named in the question. Repositories that only
come with a subscription (SUSE's modules) cannot; then AMD's own are asked for, and what they need is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocmdoctor.facts import openpgp_key
from rocmdoctor.host.target import ChangeFailed, Target
from rocmdoctor.plan import journal, kept, managers
from rocmdoctor.plan.apply import prepare_state
from rocmdoctor.plan.files import RemoveFile, WriteFile, last_words
from rocmdoctor.plan.keys import FetchKey, ImportKey
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages, apt_faults
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.step import Argv, Plan, Refusal, Run, Step

FOLDER = f"{kept.STATE}/rehearsal"
LOG = f"{kept.LOGS}/rehearsal.log"
SOURCES = {"dnf": "/etc/yum.repos.d", "tdnf": "/etc/yum.repos.d", "zypper": "/etc/zypp/repos.d"}
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_APT_SIZES = (r"Need to get ([\d.,]+) ?([kMGT]?)B", r"After this operation, ([\d.,]+) ?([kMGT]?)B of additional disk space")
_DNF_SIZES = (r"Total download size: ([\d.,]+) ?([kMGT]?)", r"Installed size: ([\d.,]+) ?([kMGT]?)")
_ZYPPER_SIZES = (r"Overall download size: ([\d.,]+) ?([KMGT]?)i?B", r"additional ([\d.,]+) ?([KMGT]?)i?B will be used")
_SIZES = {"apt": _APT_SIZES, "dnf": _DNF_SIZES, "tdnf": _DNF_SIZES, "zypper": _ZYPPER_SIZES}
DOWNLOADS = {"apt": "/var/cache/apt/archives", "dnf": "/var/cache/dnf", "tdnf": "/var/cache/tdnf", "zypper": "/var/cache/zypp"}


def rehearse(plan: Plan, target: Target, log: str) -> tuple[Refusal, ...]:
    """Why the plan would fail or remove what it does not name. Empty when it would not, and when there is nothing to ask.

    Raises ChangeFailed when the scratch folder cannot be made.
    """
    open_ = plan.open_steps
    installs = [step for step in open_ if isinstance(step, InstallPackages)]
    manager = installs[0].manager if installs else ""
    if not installs:
        return ()
    prepare_state(target)
    with target.lock(journal.LOCK):
        if target.state(FOLDER) is not None:
            target.remove_tree(FOLDER)
        target.make_folder(FOLDER, 0o700)
        target.remove(log)  # it is that of this rehearsal, and is not there when no program has been asked
        run = Run(target, log, FOLDER, lambda text: None)
        try:
            return tuple(_asked(run, manager, open_, installs))
        except ChangeFailed as error:
            return (Refusal("rehearsal", str(error), "nothing was changed"),)
        finally:
            target.remove_tree(FOLDER)


def _asked(run: Run, manager: str, steps: tuple[Step, ...], installs: list[InstallPackages]) -> Iterator[Refusal]:
    keys = _keys(run, steps)
    commands = [step for step in steps if isinstance(step, RunCommand)]
    whole = all(step.repository or step.enables for step in commands)
    if not whole and manager == "apt":
        return
    options = _apt_options(run, steps, keys) if manager == "apt" else _rpm_options(run, manager, steps, commands)
    if not whole:
        _reachable(run, manager, options, steps)
        return
    removals = [step for step in steps if isinstance(step, RemovePackages)]
    for step in removals:
        yield from _removed(run, manager, options, step)
    gone = {name for step in removals for name in step.names}
    if manager == "apt" and gone:
        options = (*options, *_without(run, gone))
    allowed = gone | {name for step in installs for name in step.removes}
    if manager == "apt":
        argv: Argv = ("apt-get", *options, "update")
        answer = run.target.run(argv, run.log)
        urls = [url for step in steps if isinstance(step, RefreshIndex) for url in step.repositories]
        fault, strange = apt_faults(answer.stdout, urls)
        if fault or (answer.rc != 0 and not strange):
            raise ChangeFailed(f"apt cannot read AMD's repository: {fault or last_words(answer.stdout, answer.stderr)}")
        for install in installs:
            install.compare(run, options)
    wishes = tuple(_existing(run, manager, options, (wish for step in installs for wish in step.wishes)))
    answer = run.target.run(_play(manager, options, wishes), run.log)
    found = managers.rehearsed(manager, answer.rc, answer.stdout)
    if found.failed:
        raise ChangeFailed(f"{manager} cannot install this: {last_words(answer.stdout, answer.stderr)}")
    yield from _strangers(manager, _removals(manager, answer.stdout, found.removes), allowed)
    yield from _room(run.target, manager, answer.stdout)


def _removed(run: Run, manager: str, options: Argv, step: RemovePackages) -> Iterator[Refusal]:
    """What goes before anything is installed, asked by itself: a part of it may come back with what is installed (the firmware of
    the old driver with the new one), so it is no question for the same breath. Raises ChangeFailed."""
    argv = managers.remove(manager, step.names, purge=step.purge, dry=True)
    answer = run.target.run((argv[0], *options, *argv[1:]), run.log)
    found = managers.rehearsed(manager, answer.rc, answer.stdout)
    if found.failed:
        raise ChangeFailed(f"{manager} cannot remove {', '.join(step.names)}: {last_words(answer.stdout, answer.stderr)}")
    yield from _strangers(manager, found.removes, set(step.names))


def _strangers(manager: str, removes: Iterable[str], allowed: set[str]) -> Iterator[Refusal]:
    strangers = [name for name in removes if name.partition(":")[0] not in allowed]
    if strangers:
        names = ", ".join(strangers[:8])
        yield Refusal(
            "removals", f"{manager} would remove {names}, which the plan does not name", "remove or keep them by hand first"
        )


def _without(run: Run, names: set[str]) -> Argv:
    """apt's options for the packages that will be there when these have been removed. rpm's database cannot be had like this:
    there an upgrade is played in place of removing and installing."""
    data = run.target.read("/var/lib/dpkg/status") or b""
    gone = {f"Package: {name}".encode() for name in names}
    kept_ = [paragraph for paragraph in data.split(b"\n\n") if paragraph.lstrip(b"\n").partition(b"\n")[0].rstrip() not in gone]
    run.target.write(f"{FOLDER}/status", b"\n\n".join(kept_).rstrip(b"\n") + b"\n\n")
    return ("-o", f"Dir::State::status={FOLDER}/status")


def _keys(run: Run, steps: tuple[Step, ...]) -> dict[str, str]:
    """Verified keys in the scratch folder: place in the plan to place here. Raises ChangeFailed for one that is refused."""
    found = {}
    for step in steps:
        if isinstance(step, (FetchKey, ImportKey)):
            data = step.fetched(run)
            if isinstance(step, FetchKey):
                place = f"{FOLDER}/{step.path.rpartition('/')[2]}"
                run.target.write(place, data if place.endswith(".asc") else openpgp_key.dearmored(data))
                found[step.path] = place
    return found


def _laid_out(run: Run, steps: tuple[Step, ...], folder: str, place: str, keys: dict[str, str]) -> None:
    """A folder of source files as the plan leaves it."""
    target = run.target
    target.make_folder(place)
    changed = {s.path for s in steps if isinstance(s, (WriteFile, RemoveFile))}
    for name in target.names(folder):
        state = target.state(f"{folder}/{name}")
        if f"{folder}/{name}" not in changed and state is not None and state.type != "dir":
            data = target.read(f"{folder}/{name}")
            if data is not None:
                target.write(f"{place}/{name}", data)
    for step in steps:
        if isinstance(step, WriteFile) and step.path.rpartition("/")[0] == folder:
            text = step.text
            for there, here in keys.items():
                text = text.replace(there, here)
            target.write(f"{place}/{step.path.rpartition('/')[2]}", text.encode())


def _apt_options(run: Run, steps: tuple[Step, ...], keys: dict[str, str]) -> tuple[str, ...]:
    target = run.target
    for part in ("sources.list.d", "preferences.d", "apt.conf.d"):
        _laid_out(run, steps, f"/etc/apt/{part}", f"{FOLDER}/{part}", keys)
    target.make_folder(f"{FOLDER}/cache")
    # the lists that are there already need not be fetched again
    answer = target.run(("cp", "-a", "/var/lib/apt/lists", f"{FOLDER}/lists"), run.log)
    if answer.rc != 0:
        target.make_folder(f"{FOLDER}/lists")
    settings = (
        f"Dir::Etc::sourceparts={FOLDER}/sources.list.d",
        f"Dir::Etc::preferencesparts={FOLDER}/preferences.d",
        f"Dir::State::lists={FOLDER}/lists",
        f"Dir::Cache={FOLDER}/cache",
        "Dir::State::status=/var/lib/dpkg/status",
        "APT::Sandbox::User=root",  # the folder is ours alone
        "Debug::NoLocking=1",
    )
    # apt has read its own apt.conf.d before it hears where another one is: what the plan adds is named file by file
    more = (step.path for step in steps if isinstance(step, WriteFile) and step.path.startswith("/etc/apt/apt.conf.d/"))
    files = tuple(word for path in more for word in ("-c", f"{FOLDER}/apt.conf.d/{path.rpartition('/')[2]}"))
    return (*files, *(word for setting in settings for word in ("-o", setting)))


def _rpm_options(run: Run, manager: str, steps: tuple[Step, ...], commands: list[RunCommand]) -> tuple[str, ...]:
    _laid_out(run, steps, SOURCES[manager], f"{FOLDER}/repos", {})
    if manager == "zypper":
        # the key is verified, and imported by the plan itself; here nothing is installed
        return ("--non-interactive", "--no-gpg-checks", "--reposd-dir", f"{FOLDER}/repos")
    options = (*managers.no_change(manager), f"--setopt=reposdir={FOLDER}/repos")
    if not commands:
        return options
    for step in commands:
        if step.repository:
            run.target.write(f"{FOLDER}/repos/{step.path.rpartition('/')[2] or step.id + '.repo'}", step.repository.encode())
    # lists of repositories that are named here only must not stay in the system's cache
    enabled = (f"--enablerepo={name}" for step in commands for name in step.enables)
    return (*options, f"--setopt=cachedir={FOLDER}/cache", *enabled)


def _reachable(run: Run, manager: str, options: tuple[str, ...], steps: tuple[Step, ...]) -> None:
    """Whether the plan's own repositories answer. Raises ChangeFailed when one does not."""
    names = [name for step in steps if isinstance(step, RefreshIndex) for name in step.repositories]
    if not names or manager == "apt":
        return
    if manager == "zypper":
        argv: Argv = ("zypper", *options, "--cache-dir", f"{FOLDER}/cache", "refresh", *names)
    else:
        only = (f"--enablerepo={name}" for name in names)
        argv = (manager, "-y", *options[len(managers.no_change(manager)) :], "--disablerepo=*", *only, "makecache")
    answer = run.target.run(argv, run.log)
    if answer.rc != 0:
        raise ChangeFailed(f"{manager} cannot read AMD's repository: {last_words(answer.stdout, answer.stderr)}")


def _existing(run: Run, manager: str, options: tuple[str, ...], wishes: Iterable[Wish]) -> Iterator[Wish]:
    """Without the optional ones that there is no package of."""
    for wish in wishes:
        show = ("apt-cache", *options, "show", wish.name)
        if not wish.optional or (manager == "apt" and run.target.run(show, run.log).rc == 0):
            yield wish


def _play(manager: str, options: tuple[str, ...], wishes: tuple[Wish, ...]) -> Argv:
    names = [managers.named(manager, wish) for wish in wishes]
    if manager == "apt":
        # not --assume-no: apt asks nothing, and installs, when it is to install no more than what was named
        return ("apt-get", *options, "-y", "--print-uris", "install", *names)
    if manager == "zypper":
        return ("zypper", *options, "install", "--dry-run", *names)
    return (manager, *options, "install", *names)


def _removals(manager: str, output: str, found: tuple[str, ...]) -> tuple[str, ...]:
    """apt's real run names them under a heading, its simulation line by line."""
    if manager != "apt":
        return found
    section = re.search(r"^The following packages will be REMOVED:\n((?:  .*\n)+)", output, re.M)
    return (*found, *(name.rstrip("*") for name in section[1].split())) if section else found


def _room(target: Target, manager: str, output: str) -> Iterator[Refusal]:
    """Whether the download and what is unpacked fit, by the package manager's own numbers."""
    download, unpacked = (_bytes(pattern, output) for pattern in _SIZES[manager])
    asked = [(DOWNLOADS[manager], download), ("/opt", unpacked)]
    by_place: dict[int, tuple[str, int, int]] = {}
    for path, size in asked:
        room = target.room(path)
        if size and room is not None:
            device, free = room
            place, needed, _ = by_place.get(device, (path, 0, free))
            by_place[device] = (place, needed + size, free)
    for path, needed, free in by_place.values():
        if needed > free:
            reason = f"{needed >> 20} MiB are needed on the file system of {path}, and {free >> 20} MiB are free"
            yield Refusal("disk", reason, "make room there")


def _bytes(pattern: str, output: str) -> int | None:
    found = re.search(pattern, output)
    if not found:
        return None
    number = found[1].replace(",", "")
    try:
        return int(float(number) * _UNITS[found[2].lower() or "b"])
    except ValueError:
        return None
