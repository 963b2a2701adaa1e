"""The distribution, from /etc/os-release (else /usr/lib/os-release), read by the `distro` library (os-release(5))."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class OsRelease:
    """`id` lower case, "linux" when there is no file. `codename` is VERSION_CODENAME; the Ubuntu base is in `ubuntu_codename`."""

    id: str
    version_id: str | None
    name: str
    codename: str | None
    id_like: tuple[str, ...]
    ubuntu_codename: str | None
    variant_id: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """`id` and what it is like, nearest first."""
        return (self.id, *self.id_like)

    @property
    def package_manager(self) -> str | None:
        """apt | dnf | zypper | tdnf | pacman, from the identity alone; None when unknown."""
        raise NotImplementedError


def gather(host: Host) -> OsRelease:
    raise NotImplementedError
