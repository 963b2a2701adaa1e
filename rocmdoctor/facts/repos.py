"""Package repositories and pins: apt one-line and deb822, yum, zypp (sources.list(5), apt_preferences(5), yum.conf(5))."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from rocmdoctor.facts import repo_layout
from rocmdoctor.host import Host, UnknownFact

_AMD_FILE = re.compile(r"rocm|amdgpu|radeon|amd\b", re.I)
"""Names of files that AMD's sources are kept in; when one of these cannot be read, nothing can be said of AMD's repositories."""

_SOURCE_LIMIT = 256 << 10
_FILE_COUNT = 400
_SOURCE_COUNT = 2000


class Repository(NamedTuple):
    """One apt source line or stanza, or one .repo section. `kind`: apt | yum | zypp. apt has one entry per (line or stanza)."""

    kind: str
    file: str
    line: int
    text: str
    """The line as written (credentials in URLs removed), for evidence; of a stanza or section the fields that say where."""
    uris: tuple[str, ...]
    """Without credentials. A mirror list or metalink counts where there is no baseurl."""
    suites: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    id: str = ""
    """Section name of a .repo file."""
    enabled: bool = True
    signed_by: tuple[str, ...] = ()
    """Key files, fingerprints, or for a key written into the stanza itself the `path` of its Keyring."""
    trusted: bool = False
    gpgcheck: bool | None = None
    gpgkey: tuple[str, ...] = ()
    priority: int | None = None
    architectures: tuple[str, ...] = ()
    types: tuple[str, ...] = ("deb",)
    """apt: deb, deb-src or both; what has no "deb" serves no installable package."""

    @property
    def is_amd(self) -> bool:
        """Served by AMD (host repo.radeon.com, repo.amd.com or under amd.com), or a mirror with AMD's path layout (/rocm/apt/,
        /amdgpu/...)."""
        return any(map(repo_layout.is_amd, self.uris))

    @property
    def product(self) -> str | None:
        """rocm | amdgpu | graphics | amdrocm, from the path; None for anything else."""
        return next(filter(None, map(repo_layout.product, self.uris)), None)

    @property
    def release(self) -> str | None:
        """The release in the path: "6.2" of rocm/apt/6.2, "30.10.2" of amdgpu/30.10.2/ubuntu, "latest"; None when there is
        none."""
        return next(filter(None, map(repo_layout.release, self.uris)), None)


class Pin(NamedTuple):
    """One stanza of apt preferences."""

    file: str
    packages: tuple[str, ...]
    pin: str
    priority: int | None

    def covers(self, names: Iterable[str]) -> bool:
        """Pins origin repo.radeon.com (release o=repo.radeon.com, or origin "repo.radeon.com") for all of these packages, above
        the 500 that every other source has: at 500 the higher version number still wins (apt_preferences(5))."""
        if self.priority is None or self.priority <= 500:
            return False
        kind, _, condition = self.pin.partition(" ")
        if kind.lower() == "origin":
            origin = condition.strip().strip("\"'")
        elif kind.lower() == "release":
            conditions = dict(part.strip().partition("=")[::2] for part in condition.split(","))
            origin = conditions.get("o", "").strip().strip("\"'")
        else:
            return False
        if not origin or not fnmatchcase(repo_layout.CLASSIC_HOST, origin):
            return False
        return all(any(fnmatchcase(name, pattern) for pattern in self.packages) for name in names)


class Key(NamedTuple):
    """A primary OpenPGP public key. `fingerprint` is upper-case hex, 40 digits (64 for the rare version 6 key); `created` and
    `expires` are ISO dates in UTC, `expires` None for never. Subkeys' ids are included in `key_ids`, the primary's own first."""

    fingerprint: str
    key_ids: tuple[str, ...]
    created: str
    expires: str | None
    revoked: bool = False


class Keyring(NamedTuple):
    """A key file that exists. `keys` None: content unknown (placeholder, no permission); empty: read, and no OpenPGP key is in it
    (an error page saved by curl). `armored`: ASCII armour (apt reads .asc only by that suffix)."""

    path: str
    keys: tuple[Key, ...] | None
    armored: bool = False


class Repositories(NamedTuple):
    """All sources of the host, disabled ones included; keyrings are those in apt's trusted folders and those named by
    signed-by."""

    sources: tuple[Repository, ...]
    pins: tuple[Pin, ...] = ()
    keyrings: tuple[Keyring, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Files that could not be read or parsed at all; none of them is named like one of AMD's."""

    @property
    def amd(self) -> tuple[Repository, ...]:
        """AMD's sources that are in force: enabled, and not for source packages only."""
        return tuple(s for s in self.sources if s.enabled and "deb" in s.types and s.is_amd)

    def keyring(self, path: str) -> Keyring | None:
        return next((k for k in self.keyrings if k.path == path), None)


def gather(host: Host) -> Repositories:
    """Raises UnknownFact when apt's sources, or a file named like one of AMD's, could not be read."""
    from rocmdoctor.facts import apt_sources

    sources: list[Repository] = []
    pins: list[Pin] = []
    inline: list[Keyring] = []
    unreadable: list[str] = []
    for path in apt_sources.source_files(host):
        if (text := _text(host, path, unreadable)) is not None:
            if path.endswith(".sources"):
                found, keyrings = apt_sources.parse_deb822(path, text)
                sources += found
                inline += keyrings
            else:
                sources += apt_sources.parse_list(path, text)
    for path in apt_sources.preference_files(host):
        if (text := _text(host, path, unreadable)) is not None:
            pins += apt_sources.parse_preferences(path, text)
    for path in _repo_files(host, optional=bool(sources)):
        if (text := _text(host, path, unreadable)) is not None:
            from rocmdoctor.facts import rpm_repos

            try:
                sources += rpm_repos.parse(path, text)
            except ValueError:
                unreadable.append(path)
    del sources[_SOURCE_COUNT:]
    return Repositories(tuple(sources), tuple(pins), (*_keyrings(host, sources), *inline), tuple(unreadable))


def _repo_files(host: Host, *, optional: bool) -> list[str]:
    """The .repo files of yum, dnf and zypper. `optional`: a folder that is unknown counts as absent (the host has apt)."""
    paths = []
    for folder in ("/etc/yum.repos.d", "/etc/zypp/repos.d"):
        try:
            names = host.names(folder)
        except UnknownFact:
            if not optional:
                raise
            continue
        paths += [f"{folder}/{name}" for name in names[:_FILE_COUNT] if name.endswith(".repo")]
    return paths


def _text(host: Host, path: str, unreadable: list[str]) -> str | None:
    """A source file's text. One that this user may not read is noted, unless it may well be AMD's: then UnknownFact goes on."""
    try:
        return host.read(path, _SOURCE_LIMIT)
    except UnknownFact:
        if _AMD_FILE.search(path.rpartition("/")[2]):
            raise
        unreadable.append(path)
        return None


def _keyrings(host: Host, sources: Iterable[Repository]) -> list[Keyring]:
    """The key files of apt's folders and of Signed-By, as far as they exist."""
    from rocmdoctor.facts import apt_sources

    named = (path for s in sources for path in s.signed_by if path.startswith("/") and path != f"{s.file}:{s.line}")
    found = []
    for path in list(dict.fromkeys((*apt_sources.keyring_files(host), *named)))[:_FILE_COUNT]:
        try:
            data = host.read_bytes(path)
        except UnknownFact:
            found.append(Keyring(path, None, path.endswith(".asc")))
            continue
        if data is not None:
            from rocmdoctor.facts import openpgp_key

            found.append(Keyring(path, openpgp_key.parse(data), openpgp_key.is_armored(data)))
    return found
