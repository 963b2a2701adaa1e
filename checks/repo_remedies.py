"""Remedies for package repositories: each changes the file that it names, or says that it is to be edited by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rocmdoctor.checks import fitting
from rocmdoctor.checks.remedies import recheck, replace, write
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Fix

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import Package
    from rocmdoctor.facts.repos import Repository
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.signing_keys import SigningKey

ROOT = ("root", "network")
UPDATE = ("apt-get", "update")
DOWNLOAD = "/run/rocm.gpg.key"
"""Where a key is put down before it is converted: a folder that only root writes to."""


def anew(facts: Facts, matrix: Matrix, *edits: Fix, first: bool = False) -> tuple[Fix, ...]:
    """Edits of the file, and the sources written again by rocmdoctor, for the installed release where it fits this host and else
    for the newest that does. Where none does there is only the edit, or the word that AMD's server has nothing for this host."""
    installed = known(lambda: facts.rocm_version, None)
    title = "Let rocmdoctor write AMD's repository, key and pin for a release that fits this host: {rocm}"
    fix = fitting.install(facts, matrix, title, "repo.*", prefer=installed)
    if not fix.commands:
        return edits or (fix,)
    return (fix, *edits) if first else (*edits, fix)


def edit(sources: Sequence[Repository], old: str, new: str, title: str = "", instead: str = "") -> Fix:
    """Write `new` for `old` in the lines of these sources. `title`: in other words; `instead`: what to say where no command can
    edit a file."""
    commands = [
        replace(s.file, old, new, on=_host_and_path(s)) if old in s.text and _one_line(s) and s.uris else () for s in sources
    ]
    files = and_of(dict.fromkeys(s.file for s in sources))
    if not all(commands):
        by_hand = instead or f"Edit {files} by hand: {new.strip()} in the place of {old.strip()}"
        return Fix(by_hand, needs=ROOT, verify=recheck("repo.*"))
    more = (UPDATE,) if sources[0].kind == "apt" else ()
    return Fix(
        f"{title or f'Replace {old.strip()} by {new.strip()}'} in {files}" + (", and update the package lists" if more else ""),
        (*commands, *more),
        needs=ROOT,
        verify=recheck("repo.*"),
    )


def and_of(words: Iterable[str]) -> str:
    """ "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def fetch_key(source: Repository, matrix: Matrix, path: str = "") -> Fix:
    """Fetch the key that signs this source into the file that it names, or into AMD's own with a signed-by that names that."""
    key = key_of(source, matrix)
    file = path or key.keyring
    armoured = file.endswith(".asc")
    commands: list[tuple[str, ...]] = [
        ("install", "-d", "-m", "0755", file.rpartition("/")[0]),
        ("wget", "-O", file if armoured else DOWNLOAD, key.url),
    ]
    if not armoured:
        commands.append(("gpg", "--dearmor", "--yes", "-o", file, DOWNLOAD))
    title = f"Fetch AMD's current signing key into {file}"
    if not path:
        named = _name_key(source, file)
        title += f", and let {source.file} name it" if named else f"; then add signed-by={file} to {source.file} by hand"
        commands += [named] if named else []
    return Fix(title, (*commands, UPDATE), needs=ROOT, verify=recheck("repo.*"))


def key_of(source: Repository, matrix: Matrix) -> SigningKey:
    """AMD's key that signs this source: by the server, the newest of its keys; the classic one where none is known for it."""
    keys = tuple(matrix.signing_keys.values())
    return next((k for k in reversed(keys) if any(_host(k.url) == _host(u) for u in source.uris)), keys[0])


def _name_key(source: Repository, file: str) -> tuple[str, ...]:
    """Write signed-by into a one-line source; () for a stanza."""
    if not _one_line(source):
        return ()
    if source.text.startswith("deb ["):
        return replace(source.file, "deb [", f"deb [signed-by={file} ", on=_host_and_path(source))
    return replace(source.file, "deb ", f"deb [signed-by={file}] ", on=_host_and_path(source))


def pin(facts: Facts, matrix: Matrix, shadowing: list[Package]) -> Fix:
    """AMD's pin, then AMD's versions of the packages: named by number where a dependency tells it, because apt never goes back to
    a lower number by itself; else the distribution's are removed first."""
    wanted = {r.name: r.version for u in known(lambda: facts.packages.unmet(), ()) for r in u.wanted if r.operator == "="}
    names = [p.name for p in shadowing]
    commands: tuple[tuple[str, ...], ...]
    if all(wanted.get(n) for n in names):
        exact = tuple(f"{n}={wanted[n]}" for n in names)
        commands = (("apt-get", "install", "-f", "--allow-downgrades", *exact), ("dpkg", "--configure", "-a"))
    else:
        commands = (("apt-get", "remove", *names), ("apt-get", "install", *names))
    own = matrix.apt_pin
    lines = own.text.splitlines()
    origin, priority = lines[1].rpartition("o=")[2], lines[2].rpartition(" ")[2]
    return Fix(
        f"Write AMD's pin to {own.path} (origin {origin}, priority {priority}), and put AMD's packages in the place of the "
        "distribution's",
        (write(own.path, *lines), UPDATE, *commands),
        needs=ROOT,
        verify=recheck("repo.*", "packages.*"),
    )


def _one_line(source: Repository) -> bool:
    return source.text.startswith(("deb ", "[")) and source.text.isprintable()


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _host_and_path(source: Repository) -> str:
    """What marks the lines of this source in its file."""
    return source.uris[0].partition("://")[2] if source.uris else ""
