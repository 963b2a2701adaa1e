"""Package repositories and pins: apt one-line and deb822, yum, zypp (sources.list(5), apt_preferences(5), yum.conf(5))."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Repository:
    """One apt source line or stanza, or one .repo section. `kind`: apt | yum | zypp. apt has one entry per (line or stanza)."""

    kind: str
    file: str
    line: int
    text: str
    """The line as written (credentials in URLs removed), for evidence."""
    uris: tuple[str, ...]
    suites: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    id: str = ""
    """Section name of a .repo file."""
    enabled: bool = True
    signed_by: tuple[str, ...] = ()
    trusted: bool = False
    gpgcheck: bool | None = None
    gpgkey: tuple[str, ...] = ()
    priority: int | None = None
    architectures: tuple[str, ...] = ()

    @property
    def is_amd(self) -> bool:
        """Served by AMD (host repo.radeon.com, repo.amd.com or under amd.com), or a mirror with AMD's path layout (/rocm/apt/, /amdgpu/...)."""
        raise NotImplementedError

    @property
    def product(self) -> str | None:
        """rocm | amdgpu | graphics | amdrocm, from the path; None for anything else."""
        raise NotImplementedError

    @property
    def release(self) -> str | None:
        """The release in the path: "6.2" of rocm/apt/6.2, "30.10.2" of amdgpu/30.10.2/ubuntu, "latest"; None when there is none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Pin:
    """One stanza of apt preferences."""

    file: str
    packages: tuple[str, ...]
    pin: str
    priority: int | None

    @property
    def covers_amd(self) -> bool:
        """Pins origin repo.radeon.com (release o=repo.radeon.com, or origin "repo.radeon.com") for every package or ROCm's."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Key:
    """A primary OpenPGP public key. `fingerprint` 40 upper-case hex digits; `expires` ISO date or None (never). Subkeys' ids included in `key_ids`."""

    fingerprint: str
    key_ids: tuple[str, ...]
    created: str
    expires: str | None


@dataclass(frozen=True, slots=True)
class Keyring:
    """A key file that exists. `keys` None: content unknown (placeholder) or not parsable; `armored`: ASCII armour (apt reads .asc only by that suffix)."""

    path: str
    keys: tuple[Key, ...] | None
    armored: bool = False


@dataclass(frozen=True, slots=True)
class Repositories:
    """All sources of the host, disabled ones included; keyrings are those in apt's trusted folders and those named by signed-by."""

    sources: tuple[Repository, ...]
    pins: tuple[Pin, ...] = ()
    keyrings: tuple[Keyring, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Files that could not be parsed at all."""

    @property
    def amd(self) -> tuple[Repository, ...]:
        return tuple(s for s in self.sources if s.enabled and s.is_amd)

    def keyring(self, path: str) -> Keyring | None:
        return next((k for k in self.keyrings if k.path == path), None)


def gather(host: Host) -> Repositories:
    raise NotImplementedError
