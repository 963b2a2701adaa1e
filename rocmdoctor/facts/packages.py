"""Installed packages: dpkg's status file, rpm -qa, pacman's local database; and what they tell of ROCm.

ROCm's package versions carry the release: "6.2.0.60200-66~22.04" and "1:6.8.5.60200-2009582.22.04" are of 6.2.0, driver
packages from 7.0 on carry the driver release instead (30100200 is 30.10.2). TheRock packages are named amdrocm*.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Package:
    """`version` without epoch as the database writes it (`epoch` apart); `state` is dpkg's third word: installed | half-configured |
    half-installed | unpacked | triggers-pending | triggers-awaited | config-files; rpm and pacman: installed. `hold`: dpkg's want is hold.
    `depends` is the raw Depends+Pre-Depends text of dpkg, "" elsewhere."""

    name: str
    version: str
    arch: str
    state: str = "installed"
    epoch: str = ""
    hold: bool = False
    origin: str = ""
    """rpm's vendor, or dpkg's Origin/Maintainer where it tells AMD from the distribution."""
    depends: str = ""

    @property
    def installed(self) -> bool:
        return self.state not in ("config-files", "not-installed")

    @property
    def broken(self) -> bool:
        return self.state in ("half-configured", "half-installed", "unpacked", "triggers-awaited", "triggers-pending")

    @property
    def rocm_release(self) -> str | None:
        """The ROCm release in a classic package's version ("6.2.0"), from its name for amdrocm ("10.0"), else None."""
        raise NotImplementedError

    @property
    def driver_release(self) -> str | None:
        """For amdgpu-dkms and its firmware: "6.2.0", "30.10.2" ..., else None."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PackageDb:
    """`kind` is dpkg | rpm | pacman | None (no database found)."""

    kind: str | None
    packages: tuple[Package, ...]

    def get(self, name: str) -> Package | None:
        """The installed package of that exact name (first architecture), None when not installed."""
        raise NotImplementedError

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def matching(self, pattern: str) -> tuple[Package, ...]:
        """Installed packages whose name matches a glob (fnmatch)."""
        raise NotImplementedError

    @property
    def broken(self) -> tuple[Package, ...]:
        return tuple(p for p in self.packages if p.broken)

    @property
    def rocm(self) -> tuple[Package, ...]:
        """Packages of AMD's ROCm, classic or amdrocm (told by version stamp or name), not the distribution's."""
        raise NotImplementedError


def gather(host: Host) -> PackageDb:
    """Raises UnknownFact when a database exists but could not be read."""
    raise NotImplementedError
