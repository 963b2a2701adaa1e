"""Signing keys of repositories: fetched, compared with the fingerprint that the matrix pins, and only then put in place.

Only apt refuses an expired key by itself (dnf takes it, zypper warns), so the expiry is looked at here for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.facts import openpgp_key
from rocmdoctor.facts.packages import RPM_QUERY
from rocmdoctor.facts.repos import Key
from rocmdoctor.host import Host
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import kept
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, FileChange, Record, Run, Step

MAX_KEY = 1 << 20


@dataclass(frozen=True, slots=True)
class FetchKey(Step):
    """A keyring for apt's signed-by, in binary form. `trusted`: fingerprints that may be in the file; `fingerprint` must be."""

    kind: ClassVar[str] = "fetch-key"

    url: str = ""
    path: str = ""
    fingerprint: str = ""
    trusted: tuple[str, ...] = ()
    ca: str = ""

    def files(self, host: Host) -> tuple[FileChange, ...]:
        there = host.node(self.path) is not None
        return (FileChange(self.path, "" if there else None, "", f"key {self.fingerprint} from {self.url}"),)

    def is_done(self, host: Host) -> bool:
        data = host.read_bytes(self.path, MAX_KEY)
        if data is None or (openpgp_key.is_armored(data) and not self.path.endswith(".asc")):
            return False
        return judge(openpgp_key.parse(data), self.fingerprint, self.trusted, host.date) is None

    def prepare(self, run: Run) -> Record:
        return kept.keep(run, self.id, self.path)

    def fetched(self, run: Run) -> bytes:
        """The verified key. Raises ChangeFailed."""
        return fetched(run, self.url, self.fingerprint, self.trusted, self.ca)

    def apply(self, run: Run, before: Record) -> Record:
        data = self.fetched(run)
        kept.make_folders(run.target, self.path.rpartition("/")[0])
        run.target.write(self.path, data if self.path.endswith(".asc") else openpgp_key.dearmored(data), 0o644)
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        ours = run.target.read(self.path)
        kept.put_back(run, before, ours, self.id)


@dataclass(frozen=True, slots=True)
class ImportKey(Step):
    """A key of dnf and zypper: kept at `path`, and imported into rpm's database, so that no package manager fetches another one
    by itself."""

    kind: ClassVar[str] = "import-key"

    url: str = ""
    path: str = ""
    fingerprint: str = ""
    trusted: tuple[str, ...] = ()
    ca: str = ""

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("rpm", "--import", self.path),)

    def files(self, host: Host) -> tuple[FileChange, ...]:
        there = host.node(self.path) is not None
        return (FileChange(self.path, "" if there else None, "", f"key {self.fingerprint} from {self.url}"),)

    def is_done(self, host: Host) -> bool:
        data = host.read_bytes(self.path, MAX_KEY)
        if data is None or judge(openpgp_key.parse(data), self.fingerprint, self.trusted, host.date) is not None:
            return False
        return bool(imported(host, self.fingerprint))

    def prepare(self, run: Run) -> Record:
        return {**kept.keep(run, self.id, self.path), "imported": list(imported(run.target.look(), self.fingerprint))}

    def fetched(self, run: Run) -> bytes:
        """The verified key. Raises ChangeFailed."""
        return fetched(run, self.url, self.fingerprint, self.trusted, self.ca)

    def apply(self, run: Run, before: Record) -> Record:
        data = self.fetched(run)
        kept.make_folders(run.target, self.path.rpartition("/")[0])
        run.target.write(self.path, data, 0o644)
        run_or_fail(run, ("rpm", "--import", self.path))
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        for name in imported(run.target.look(), self.fingerprint):
            if name not in before["imported"]:
                run_or_fail(run, ("rpm", "-e", "--allmatches", name))
        kept.put_back(run, before, run.target.read(self.path), self.id)


@dataclass(frozen=True, slots=True)
class TrustKey(ImportKey):
    """A key whose fingerprint nobody publishes: taken as its HTTPS address gives it, once, and told. It is kept at `path`; from
    then on rpm's database has it, and another key at the address is not taken."""

    kind: ClassVar[str] = "trust-key"

    def files(self, host: Host) -> tuple[FileChange, ...]:
        there = host.node(self.path) is not None
        return (FileChange(self.path, "" if there else None, "", f"the key at {self.url}, trusted at the first use"),)

    def is_done(self, host: Host) -> bool:
        data = host.read_bytes(self.path, MAX_KEY)
        keys = openpgp_key.parse(data) if data is not None else ()
        return judge_unpinned(keys, host.date) is None and bool(imported(host, keys[0].fingerprint))

    def fetched(self, run: Run) -> bytes:
        data = run.target.fetch(self.url, MAX_KEY, self.ca or None)
        keys = openpgp_key.parse(data)
        fault = judge_unpinned(keys, run.target.now()[:10])
        if fault is not None:
            raise ChangeFailed(f"the key at {self.url} is refused: {fault}")
        return data

    def prepare(self, run: Run) -> Record:
        return {**kept.keep(run, self.id, self.path), "imported": list(imported(run.target.look(), ""))}

    def apply(self, run: Run, before: Record) -> Record:
        ImportKey.apply(self, run, before)
        fingerprint = openpgp_key.parse(run.target.read(self.path) or b"")[0].fingerprint
        run.say(f"the key {fingerprint} of {self.url} is trusted from now on")
        return {"fingerprint": fingerprint}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        ours = run.target.read(self.path)
        for key in openpgp_key.parse(ours or b""):
            for name in imported(run.target.look(), key.fingerprint):
                if name not in before["imported"]:
                    run_or_fail(run, ("rpm", "-e", "--allmatches", name))
        kept.put_back(run, before, ours, self.id)


def imported(host: Host, fingerprint: str) -> tuple[str, ...]:
    """Names of rpm's pseudo packages of a key, of all keys with "": gpg-pubkey-VERSION-RELEASE; VERSION is the key id (in rpm 6
    the fingerprint)."""
    answer = host.run(RPM_QUERY, timeout=15.0)
    found = []
    for line in answer.stdout.splitlines():
        fields = line.split("\t")
        if len(fields) != 6 or fields[0] != "gpg-pubkey" or len(fields[2]) < 8:
            continue
        if not fingerprint or fingerprint.lower().endswith(fields[2].lower()):
            found.append(f"gpg-pubkey-{fields[2]}-{fields[3]}")
    return tuple(found)


def fetched(run: Run, url: str, fingerprint: str, trusted: tuple[str, ...], ca: str) -> bytes:
    """The key file behind a URL, verified. Raises ChangeFailed, and then nothing has been put in place."""
    data = run.target.fetch(url, MAX_KEY, ca or None)
    fault = judge(openpgp_key.parse(data), fingerprint, trusted, run.target.now()[:10])
    if fault is not None:
        raise ChangeFailed(f"the key at {url} is refused: {fault}")
    return data


def judge(keys: tuple[Key, ...], fingerprint: str, trusted: tuple[str, ...], today: str) -> str | None:
    """Why a key file is not to be trusted; None when it is."""
    if not keys:
        return "there is no OpenPGP key in it"
    wanted = next((key for key in keys if key.fingerprint == fingerprint), None)
    if wanted is None:
        return f"its fingerprint is {keys[0].fingerprint}, and {fingerprint} is expected"
    strangers = [key.fingerprint for key in keys if key.fingerprint != fingerprint and key.fingerprint not in trusted]
    if strangers:
        return f"it also holds the key {strangers[0]}, which is not known"
    return _ended(wanted, today)


def judge_unpinned(keys: tuple[Key, ...], today: str) -> str | None:
    """Why a key file without a pinned fingerprint is not to be trusted: it must hold one key that is in force."""
    if len(keys) != 1:
        return "there is no OpenPGP key in it" if not keys else f"there are {len(keys)} keys in it, and one is expected"
    return _ended(keys[0], today)


def _ended(key: Key, today: str) -> str | None:
    if key.revoked:
        return "it is revoked"
    if key.expires is not None and key.expires <= today:
        return f"it expired on {key.expires}; its owner renews the file, a mirror may have an old copy"
    return None
