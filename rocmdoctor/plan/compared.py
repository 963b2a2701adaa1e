"""Package files compared with the hashes of a lock, before any package is changed.

A deb is compared by apt's lists, which are signed and hold the digest that apt itself insists on when it downloads. The lists of
rpm repositories have no digest that an installed package keeps, so the files are downloaded first and asked themselves; the
package manager then installs from its own cache. Of what is installed already, rpm's database knows the hash. dpkg's does not:
where no repository has that version any more, only the version can be compared, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rocmdoctor.facts.packages import PackageDb
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import managers
from rocmdoctor.plan.files import ZYPPER_DONE, last_words
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.step import Argv, Run, installed

Digest = tuple[str, str, str]
"""(name, version, SHA-256)"""
Found = Mapping[tuple[str, str], str]

_FORM = "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\t%{SHA256HEADER}\\n"
_CACHES = {
    "dnf": ("/var/cache/dnf", "/etc/dnf/dnf.conf", "cachedir"),
    "tdnf": ("/var/cache/tdnf", "/etc/tdnf/tdnf.conf", "cachedir"),
    "zypper": ("/var/cache/zypp/packages", "/etc/zypp/zypp.conf", "packagesdir"),
}
"""Where downloads lie, and the setting that may say otherwise (dnf.conf(5), zypp.conf)."""
_TIMEOUT = 60.0
_SHA256 = re.compile(r"[0-9a-f]{64}")


# questions and answers -------------------------------------------------------------------------------------------


def question(manager: str, wanted: Iterable[tuple[str, str]], options: Argv = ()) -> Argv:
    """Asks for the hashes of debs in apt's lists (`options`: which lists), or of installed rpms."""
    names = list(wanted)
    if manager == "apt":
        return ("apt-cache", *options, "show", *(f"{name}={version}" for name, version in names))
    return ("rpm", "-q", "--qf", _FORM, *dict.fromkeys(name for name, _ in names))


def answered(manager: str, output: str) -> dict[tuple[str, str], str]:
    """SHA-256 by (name, version); of an rpm it is the header's."""
    found: dict[tuple[str, str], str] = {}
    if manager == "apt":
        for stanza in output.split("\n\n"):
            fields = dict(line.partition(": ")[::2] for line in stanza.splitlines() if line[:1] not in (" ", "\t"))
            if "SHA256" in fields:
                found[fields.get("Package", ""), fields.get("Version", "")] = fields["SHA256"].strip()
        return found
    for line in output.splitlines():
        fields_ = line.split("\t")
        if len(fields_) == 3 and _SHA256.fullmatch(fields_[2]):
            found[fields_[0], fields_[1].removeprefix("0:")] = fields_[2]
    return found


def others(digests: Iterable[Digest], found: Found) -> list[str]:
    """What is another file than the lock's, a phrase each."""
    return [
        f"{name} {version} is another file than the lock's (SHA-256 {there[:16]}... here, {digest[:16]}... in the lock)"
        for name, version, digest in digests
        if (there := found.get((name, version))) is not None and there != digest
    ]


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        more = f"; and {len(faults) - 4} more" if len(faults) > 4 else ""
        raise ChangeFailed(f"{'; '.join(faults[:4])}{more}; the lock cannot be reproduced here")


def _there(database: PackageDb, digests: Iterable[Digest]) -> list[Digest]:
    """Those that are installed in their version."""
    have = {(p.name, p.full_version) for p in database.packages if p.installed}
    return [row for row in digests if row[:2] in have]


def unchecked(names: Sequence[str]) -> str:
    """What is said of installed debs that no repository has."""
    some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return f"only the version is compared, not the hash: no file is at hand of what is installed already ({some})"


# while a plan is made --------------------------------------------------------------------------------------------


def standing(host: Host, manager: str, digests: Sequence[Digest]) -> tuple[list[str], list[str]]:
    """Of what is installed already in the lock's version: what differs, and names whose hash cannot be told."""
    try:
        rows = _there(installed(host), digests)
        if not rows:
            return [], []
        answer = host.run(question(manager, (row[:2] for row in rows)), timeout=_TIMEOUT)
        found = answered(manager, answer.stdout) if answer.found and not answer.timed_out else {}
    except UnknownFact:
        found, rows = {}, list(digests)
    return others(rows, found), [row[0] for row in rows if row[:2] not in found]


# before packages are changed -------------------------------------------------------------------------------------


def in_lists(run: Run, digests: Sequence[Digest], options: Argv = ()) -> None:
    """debs by apt's lists. Raises ChangeFailed for what is another file, and for what is neither there nor to be had."""
    if not digests:
        return
    found = answered("apt", run.target.run(question("apt", (row[:2] for row in digests), options), run.log).stdout)
    lacking = [row for row in digests if row[:2] not in found]
    there = _there(_database(run), lacking)
    _refuse([*others(digests, found), *(f"{name} {version} is not to be had" for name, version, _ in _without(lacking, there))])
    if there:
        run.say(unchecked([row[0] for row in there]))


def in_files(run: Run, manager: str, wishes: Sequence[Wish], digests: Sequence[Digest]) -> None:
    """rpms by the installed ones and by the files of the others, which are downloaded. Raises ChangeFailed; what was downloaded
    is then removed."""
    as_installed(run, manager, digests)
    missing = _without(digests, _there(_database(run), digests))
    if not missing:
        return
    before = _downloads(run, manager)
    argv = list(managers.install(manager, wishes, removals=True))
    argv.insert(*((argv.index("install") + 1, "--download-only") if manager == "zypper" else (1, "--downloadonly")))
    answer = run.target.run(tuple(argv), run.log, heard=run.heard)
    if not answer.found or answer.rc not in (ZYPPER_DONE if manager == "zypper" else (0,)):
        raise ChangeFailed(f"{manager} cannot download the packages of the lock: {last_words(answer.stdout, answer.stderr)}")
    files = _downloads(run, manager)
    starts = tuple(f"{name}-" for name, _, _ in missing)
    asked = [path for path in files if path.rpartition("/")[2].startswith(starts)]
    found: dict[tuple[str, str], str] = {}
    for first in range(0, len(asked), 500):  # a command line has an end
        query = ("rpm", "-qp", "--nosignature", "--qf", _FORM, *asked[first : first + 500])
        found.update(answered(manager, run.target.run(query, run.log).stdout))
    lacking = [f"{name} {version} was not downloaded" for name, version, _ in missing if (name, version) not in found]
    try:
        _refuse([*others(missing, found), *lacking])
    except ChangeFailed:
        for path in files - before:
            run.target.remove(path)
        raise


def as_installed(run: Run, manager: str, digests: Sequence[Digest]) -> None:
    """rpms as rpm's database knows them. Raises ChangeFailed for another file than the lock's."""
    if digests:
        answer = run.target.run(question(manager, (row[:2] for row in digests)), run.log)
        _refuse(others(digests, answered(manager, answer.stdout)))


def _without(rows: Iterable[Digest], taken: Sequence[Digest]) -> list[Digest]:
    left = set(taken)
    return [row for row in rows if row not in left]


def _database(run: Run) -> PackageDb:
    try:
        return installed(run.target.look())
    except UnknownFact as unknown:
        raise ChangeFailed(f"the installed packages cannot be told: {unknown}") from None


def _downloads(run: Run, manager: str) -> set[str]:
    """The rpm files in the package manager's cache."""
    folder, settings, key = _CACHES[manager]
    text = (run.target.read(settings) or b"").decode("utf-8", "replace")
    if found := re.search(rf"^{key}[ \t]*=[ \t]*(/\S+)", text, re.M):
        folder = found[1]
    answer = run.target.run(("find", folder, "-name", "*.rpm", "-type", "f"), run.log)
    return {line for line in answer.stdout.splitlines() if line.startswith("/")}
