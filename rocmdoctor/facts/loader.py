"""What the dynamic loader resolves: `ldconfig -p`, /etc/ld.so.conf(.d), LD_LIBRARY_PATH (ld.so(8))."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocmdoctor.facts.remembered import remembered
from rocmdoctor.host import Host, UnknownFact

LDCONFIG_QUERY = ("ldconfig", "-p")

_WIDE = frozenset(("x86-64", "AArch64", "64bit", "double-float"))
"""Flags of 64-bit entries (glibc elf/cache.c); i386 has none and x32 has its own."""

_INCLUDE_DEPTH = 5
_CONF_FILES = 200
_CONF_LIMIT = 64 << 10
_CACHE_ENTRIES = 50_000


class Loader(NamedTuple):
    """`cache`: (soname, path) of 64-bit entries in the order of ldconfig -p. `conf_dirs`: (folder, file naming it).
    `library_path`: folders of LD_LIBRARY_PATH in order, empty entries dropped."""

    cache: tuple[tuple[str, str], ...]
    conf_dirs: tuple[tuple[str, str], ...]
    library_path: tuple[str, ...]

    def cached(self, soname_prefix: str) -> tuple[tuple[str, str], ...]:
        """Entries whose soname starts so: cached("libamdhip64.so")."""
        return tuple(e for e in self.cache if e[0].startswith(soname_prefix))


def gather(host: Host) -> Loader:
    """Raises UnknownFact when the cache could not be listed. A host without ldconfig and without a cache file (musl) has an
    empty one."""
    answer = host.run(LDCONFIG_QUERY)
    if answer.timed_out or (answer.found and answer.rc != 0):
        raise UnknownFact("ldconfig -p failed" + (" (time-out)" if answer.timed_out else f" with status {answer.rc}"))
    if not answer.found and host.node("/etc/ld.so.cache") is not None:
        raise UnknownFact("there is a loader cache, but no ldconfig to list it")
    return Loader(parse_cache(answer.stdout), _conf_dirs(host), parse_library_path(host.env.get("LD_LIBRARY_PATH", "")))


@remembered
def parse_cache(text: str) -> tuple[tuple[str, str], ...]:
    """(soname, path) of the 64-bit entries: "\\tlibm.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/libm.so.6"."""
    entries = []
    for line in text.split("\n"):
        left, arrow, path = line.partition(" => ")
        if not arrow or line[:1] not in "\t ":
            continue
        soname, _, flags = left.strip().partition(" (")
        if soname and not _WIDE.isdisjoint(flags.rstrip(")").replace(" ", "").split(",")):
            entries.append((soname, path.strip()))
            if len(entries) >= _CACHE_ENTRIES:
                break
    return tuple(entries)


def parse_library_path(value: str) -> tuple[str, ...]:
    """Folders of LD_LIBRARY_PATH; both colon and semicolon separate them. (The loader takes an empty entry for the working
    folder; that is dropped here.)"""
    return tuple(folder for folder in re.split("[:;]", value) if folder)


def _conf_dirs(host: Host) -> tuple[tuple[str, str], ...]:
    """Folders of ld.so.conf and what it includes, in ldconfig's order, each named once."""
    folders: dict[str, str] = {}
    for folder, path in _conf_entries(host, "/etc/ld.so.conf", set()):
        folders.setdefault(folder, path)
    return tuple(folders.items())


def _conf_entries(host: Host, path: str, seen: set[str], depth: int = 0) -> Iterator[tuple[str, str]]:
    """(folder, file naming it) of one file; an include line stands for the files' lines (ldconfig(8))."""
    if path in seen or len(seen) >= _CONF_FILES:
        return
    seen.add(path)
    try:
        text = host.read(path, _CONF_LIMIT)
    except UnknownFact:
        # Every distribution includes the folder; older snapshots hold no more than that.
        text = None if depth else "include ld.so.conf.d/*.conf"
    for line in (text or "").splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0] == "hwcap":
            continue
        if words[0] == "include":
            if depth < _INCLUDE_DEPTH:
                for pattern in words[1:]:
                    for match in _matches(host, pattern, path):
                        yield from _conf_entries(host, match, seen, depth + 1)
        elif words[0].startswith("/"):
            yield words[0].partition("=")[0].rstrip("/") or "/", path


def _matches(host: Host, pattern: str, including: str) -> tuple[str, ...]:
    """Files of an include line; a relative pattern is relative to the including file (ldconfig(8))."""
    try:
        return host.glob(pattern if pattern.startswith("/") else f"{including.rpartition('/')[0]}/{pattern}")
    except UnknownFact:
        return ()
