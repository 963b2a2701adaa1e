"""The distribution, from /etc/os-release (else /usr/lib/os-release), read by the `distro` library (os-release(5))."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rocmdoctor.host import Host

_PATHS = ("/etc/os-release", "/usr/lib/os-release")

_LIMIT = 64 << 10
"""Bytes read. Real files have less than 1 KiB, and distro's lexer takes one character at a time."""

_VALUE_LIMIT = 200
"""Characters kept of a value; os-release(5) values are a few words."""

_PACKAGE_MANAGERS = {
    "debian": "apt",
    "ubuntu": "apt",
    "rhel": "dnf",
    "fedora": "dnf",
    "centos": "dnf",
    "rocky": "dnf",
    "almalinux": "dnf",
    "ol": "dnf",
    "amzn": "dnf",
    "sles": "zypper",
    "sled": "zypper",
    "sles_sap": "zypper",
    "sle_hpc": "zypper",
    "suse": "zypper",
    "opensuse": "zypper",
    "opensuse-leap": "zypper",
    "opensuse-tumbleweed": "zypper",
    "azurelinux": "tdnf",
    "mariner": "tdnf",
    "arch": "pacman",
}


class OsRelease(NamedTuple):
    """`id` lower case, "linux" when there is no file. `codename` is VERSION_CODENAME; the Ubuntu base is in `ubuntu_codename`.
    `name` is PRETTY_NAME, else NAME."""

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
        return next((_PACKAGE_MANAGERS[i] for i in self.ids if i in _PACKAGE_MANAGERS), None)


def gather(host: "Host") -> OsRelease:
    """Raises UnknownFact when the file that counts could not be read; a host without one is "linux" (os-release(5))."""
    text = None
    for path in _PATHS:
        text = host.read(path, _LIMIT)
        if text is not None:
            break
    return parse(text or "")


@lru_cache(maxsize=32)  # a fleet has few
def parse(text: str) -> OsRelease:
    """An os-release file. Never fails: lines that no shell could read are left out."""
    values = {key: value.splitlines()[0][:_VALUE_LIMIT] for key, value in _assignments(text[:_LIMIT]).items() if value.strip()}
    return OsRelease(
        id=values.get("id", "linux").lower(),
        version_id=values.get("version_id"),
        name=values.get("pretty_name") or values.get("name") or "Linux",
        codename=values.get("version_codename"),
        id_like=tuple(values.get("id_like", "").lower().split()),
        ubuntu_codename=values.get("ubuntu_codename"),
        variant_id=values.get("variant_id"),
    )


def _assignments(text: str) -> dict[str, str]:
    """Keys in lower case, as distro reads them; an unbalanced quote spoils its own line only."""
    try:
        return _by_distro(text)
    except ValueError:
        import shlex

        def balanced(line: str) -> bool:
            try:
                return bool(shlex.split(line, comments=True))
            except ValueError:
                return False

        return _by_distro("\n".join(line for line in text.splitlines() if balanced(line)))


def _by_distro(text: str) -> dict[str, str]:
    """What `distro` says of the text. It wants a file: an anonymous one, since the text may come from a snapshot.

    `os_release_info` and not `id()`: distro renames ids there (ol to oracle), while AMD's tables and ID_LIKE do not.
    """
    import distro

    if not text.strip():
        return {}
    with _file_of(text) as path:
        release = distro.LinuxDistribution(
            os_release_file=path, include_lsb=False, include_uname=False, include_oslevel=False, distro_release_file=""
        )
        return dict(release.os_release_info())


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """The path of a file in memory with this text, or of a temporary one where the kernel, libc or /proc cannot give it."""
    data = text.encode("utf-8", "replace")
    try:
        descriptor = os.memfd_create("os-release")
    except (AttributeError, OSError):
        descriptor = -1
    if descriptor >= 0:
        try:
            os.write(descriptor, data)
            path = f"/proc/self/fd/{descriptor}"
            if os.path.isfile(path):
                yield path
                return
        finally:
            os.close(descriptor)
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.name
