"""modprobe.d: what keeps a module out and which options it gets (modprobe.d(5); libkmod/libkmod-config.c).

Only names ending in .conf count. A file hides those of the same name in later folders; all are read in order of their
names. `-` and `_` are equal in module names. A backslash at the end of a line continues it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.facts.kernel import gather_cmdline
from rocmdoctor.facts.modules import Blacklist, ModprobeConfig
from rocmdoctor.host import Host, UnknownFact

FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")

MAX_FILES = 512
_FILE_LIMIT = 256 << 10


def gather(host: Host) -> ModprobeConfig:
    """All of modprobe.d, and module_blacklist= and modprobe.blacklist= of /proc/cmdline. Never raises, see `unreadable`."""
    blacklisted: list[Blacklist] = []
    options: list[tuple[str, str, str]] = []
    installs: list[tuple[str, str, str]] = []
    paths, unreadable = _files(host)
    for path in paths:
        try:
            text = host.read(path, _FILE_LIMIT)
        except UnknownFact:
            unreadable.append(path)
            continue
        for number, words in parse(text or ""):
            module = words[1].replace("-", "_")
            rest = " ".join(words[2:])
            if words[0] == "blacklist":
                blacklisted.append(Blacklist(module, path, " ".join(words), number))
            elif words[0] == "options" and rest:
                options.append((module, rest, path))
            elif words[0] == "install" and rest:
                installs.append((module, rest, path))
    try:
        cmdline = gather_cmdline(host)
    except UnknownFact:
        unreadable.append("/proc/cmdline")
    else:
        for parameter in ("modprobe.blacklist", "module_blacklist"):
            for value in cmdline.all(parameter):
                names = (n.strip().replace("-", "_") for n in value.split(","))
                blacklisted.extend(Blacklist(n, "/proc/cmdline", f"{parameter}={value}") for n in names if n)
    return ModprobeConfig(tuple(blacklisted), tuple(options), tuple(installs), tuple(unreadable))


def parse(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, words) of every command with an argument; comments and empty lines are left out."""
    words: list[str] = []
    begun = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begun = begun or number
        continued = line.endswith("\\")
        words += line.removesuffix("\\").split()
        if continued:
            continue
        if len(words) > 1 and not words[0].startswith("#"):
            yield begun, words
        words, begun = [], 0


def _files(host: Host) -> tuple[list[str], list[str]]:
    """Paths that count, by name; and folders that could not be read."""
    by_name: dict[str, str] = {}
    unreadable = []
    for folder in FOLDERS:
        try:
            names = host.names(folder)
        except UnknownFact:
            unreadable.append(folder)
            continue
        for name in names:
            if name.endswith(".conf"):
                by_name.setdefault(name, f"{folder}/{name}")
    return [by_name[n] for n in sorted(by_name)[:MAX_FILES]], unreadable
