"""A package before it is written down as .deb or .rpm: name, version, relations, a few small files, and two scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

AMD = "Advanced Micro Devices, Inc."
AMD_MAINTAINER = "ROCm Dev Support <rocm-dev.support@amd.com>"


class Link(NamedTuple):
    target: str


class Program(NamedTuple):
    """An executable file."""

    text: str


Content: TypeAlias = "bytes | str | Link | Program"


@dataclass(frozen=True, slots=True)
class Package:
    """`version` is Debian's form with the epoch ("1:6.8.5.60204-2065830.22.04"); what is behind the last hyphen is rpm's release.

    `depends` and the other relations are written as Debian does ("rocm-core (= 6.2.4.60204-139~22.04)", "a | b"). The scripts
    are sh: `on_install` runs after the files are there (also on an upgrade), `on_remove` before they go (also on an upgrade, for
    the old version), both with $PHASE as dpkg names it.
    """

    name: str
    version: str
    depends: tuple[str, ...] = ()
    files: Mapping[str, Content] = field(default_factory=dict)
    arch: str = "amd64"
    on_install: str = ""
    on_remove: str = ""
    provides: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    conffiles: tuple[str, ...] = ()
    maintainer: str = AMD_MAINTAINER
    vendor: str = AMD

    @property
    def file_version(self) -> str:
        """Without epoch, as in file names."""
        return self.version.partition(":")[2] or self.version

    def folders(self) -> Iterator[str]:
        """Every folder above the files, parents first; the root itself is left out."""
        seen = set()
        for path in sorted(self.files):
            parts = path.strip("/").split("/")[:-1]
            for end in range(1, len(parts) + 1):
                folder = "/" + "/".join(parts[:end])
                if folder not in seen:
                    seen.add(folder)
                    yield folder


def body(content: Content) -> tuple[bytes, int]:
    """The bytes and the mode of a file that is no link."""
    assert not isinstance(content, Link)
    if isinstance(content, Program):
        return content.text.encode(), 0o755
    return (content.encode() if isinstance(content, str) else content), 0o644
