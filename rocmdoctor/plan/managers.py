"""apt, dnf, zypper and tdnf as small back ends: argv for each question, and what their answers say. Nothing is run here."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rocmdoctor.plan.files import ZYPPER_DONE
from rocmdoctor.plan.step import Argv

_APT_OPTIONS = ("Dpkg::Options::=--force-confdef", "Dpkg::Options::=--force-confold", "DPkg::Lock::Timeout=120")
"""Configuration files that the user has edited stay; an unattended upgrade that has just begun is waited for (seconds)."""
_APT = ("apt-get", "-y", *(word for option in _APT_OPTIONS for word in ("-o", option)))


class Wish(NamedTuple):
    """A package as it shall be. `name` may carry a version in rpm's way (kernel-devel-5.14.0-427.el9.x86_64).

    `version` is exact, or a glob; `release` is the ROCm or driver release that its version must be of. `optional`: only where
    there is such a package.
    """

    name: str
    version: str = ""
    release: str = ""
    optional: bool = False


class Rehearsal(NamedTuple):
    """What a package manager would do: names it would remove, bytes it would need on the disk (None: it did not say)."""

    removes: tuple[str, ...] = ()
    disk: int | None = None
    failed: str = ""


def refresh(manager: str, repositories: Sequence[str]) -> Argv:
    """Read the package lists again. `repositories`: the ids of AMD's; apt has none, and reads all."""
    if manager == "apt":
        return ("apt-get", "update")
    if manager == "zypper":
        return ("zypper", "--non-interactive", "refresh", *repositories)
    only = tuple(f"--enablerepo={name}" for name in repositories)
    return (manager, "-y", "--disablerepo=*", *only, "makecache")


def install(manager: str, wishes: Iterable[Wish], *, removals: bool = False, downgrade: bool = False, dry: bool = False) -> Argv:
    """Install or upgrade. Without `removals` a package manager that wants to remove something gives up where it can."""
    names = tuple(named(manager, wish) for wish in wishes)
    if manager == "apt":
        guards = () if removals else ("--no-remove",)
        down = ("--allow-downgrades",) if downgrade else ()
        return (*_APT, *(("-s",) if dry else ()), *guards, *down, "install", *names)
    if manager == "zypper":
        down = ("--oldpackage",) if downgrade else ()
        return ("zypper", "--non-interactive", "install", *(("--dry-run",) if dry else ()), *down, *names)
    # without --best an older version that is installed is good enough for dnf (RHEL has it in dnf.conf, others have not)
    best = ("--best",) if manager == "dnf" and not downgrade else ()
    return (manager, *(no_change(manager) if dry else ("-y",)), *best, "downgrade" if downgrade else "install", *names)


def remove(manager: str, names: Sequence[str], *, purge: bool = True, dry: bool = False) -> Argv:
    """Remove packages by name; what depends on them goes too, which a rehearsal tells."""
    if manager == "apt":
        return (*_APT, *(("-s",) if dry else ()), "purge" if purge else "remove", *names)
    if manager == "zypper":
        return ("zypper", "--non-interactive", "remove", *(("--dry-run",) if dry else ()), *names)
    clean = ("--noautoremove",) if manager == "dnf" else ()
    return (manager, *(no_change(manager) if dry else ("-y",)), "remove", *clean, *names)


def no_change(manager: str) -> tuple[str, ...]:
    """Options by which dnf and tdnf only say what they would do: nobody says yes, and a transaction would be a test."""
    return ("--assumeno", "--setopt=tsflags=test") if manager == "dnf" else ("--assumeno", "--testonly")


def exists(manager: str, name: str) -> Argv:
    """Ends with 0 when there is a package of that name to install."""
    if manager == "apt":
        return ("apt-cache", "show", "--no-all-versions", name)
    if manager == "zypper":
        return ("zypper", "--non-interactive", "search", "--match-exact", name)
    return (manager, "-q", "info", name)


def named(manager: str, wish: Wish) -> str:
    """The word for a wish on the package manager's command line."""
    if not wish.version:
        return wish.name
    return f"{wish.name}={wish.version}" if manager in ("apt", "zypper") else f"{wish.name}-{wish.version}"


def rehearsed(manager: str, rc: int, output: str) -> Rehearsal:
    """Read the answer to a dry run. dnf ends with 1 because nobody said yes; what it says tells."""
    if manager == "apt":
        removes = tuple(re.findall(r"^(?:Remv|Purg) (\S+)", output, re.M))
        return Rehearsal(removes, None, "" if rc == 0 else "apt-get cannot do it")
    if manager == "zypper":
        found = re.search(r"packages? (?:is|are) going to be REMOVED:\n((?:[ \t]+.*\n?)+)", output)
        return Rehearsal(tuple(found[1].split()) if found else (), None, "" if rc in ZYPPER_DONE else "zypper cannot do it")
    removes_ = tuple(_dnf_section(output, "Removing"))
    if rc == 0 or "Operation aborted" in output or "Nothing to do" in output or "Is this ok" in output:
        return Rehearsal(removes_)
    return Rehearsal(removes_, None, f"{manager} cannot do it")


def _dnf_section(output: str, title: str) -> Iterable[str]:
    """Names in dnf's sections "Removing:", "Removing dependent packages:" ..., up to an empty line or the next section. A row has
    one space in front of the name; behind a long name the rest of it is in the next line, further in."""
    inside = False
    for line in output.splitlines():
        if line.startswith(title):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and line[1:2].strip():
            yield line.split()[0]
