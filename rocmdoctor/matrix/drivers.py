"""amdgpu driver releases: which ROCm user space runs on which, and what a module version is called.

From ROCm 7.0 on the driver has numbers of its own (30.10, 30.20 ...), and neither dkms nor modinfo shows them
(rules.md 9): 6.16.13-2278356 is 30.30.0, and a bare 6.16.13 is some 30.30.x.
"""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

import re
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document

_RELEASE = frozenset({"dir", "date", "modules", "bases", "note", "confidence"})
_PACKAGE = r"(?:\d+:)?(\d+\.\d+\.\d+)(?:\.(?:\d\d\.\d\d\.)?(\d{5,8}))?(?:[-.](\d{7}))?(?:\D.*)?$"


class DriverRelease(NamedTuple):
    """One release of AMD's driver. `directory` under repo.radeon.com/amdgpu, `modules` are builds as dkms shows them,
    `bases` kernel bases (6.19.14) where no build is known. `date` is ISO or None."""

    version: str
    directory: str | None
    date: str | None
    modules: tuple[str, ...]
    bases: tuple[str, ...]
    note: str | None
    source: tuple[str, ...]
    confidence: str | None

    @property
    def line(self) -> str:
        """X.Y: "30.20"."""
        return versions.major_minor(self.version)


class Window(NamedTuple):
    """A row of AMD's cross table: a driver line ("30.10.x") and the ROCm lines that run on it."""

    driver: str
    userspace: tuple[str, ...]


class Windows(NamedTuple):
    rows: tuple[Window, ...]
    source: tuple[str, ...]
    rule: str


def covers(pattern: str, version: str) -> bool:
    """ "6.2.x" covers every 6.2 release, anything else only itself; a trailing .0 does not matter."""
    if pattern.endswith(".x"):
        return versions.components(version)[: pattern.count(".")] == versions.components(pattern[:-2])
    return versions.key(pattern) == versions.key(version)


def read_windows(doc: Document) -> Windows:
    fields = doc.section("driver_windows").fields(frozenset({"source", "rule", "rows"}), frozenset({"note"}))
    rows = []
    for row in fields["rows"].sequence():
        cells = row.fields(frozenset({"driver", "userspace"}))
        rows.append(Window(cells["driver"].text(), cells["userspace"].texts()))
    return Windows(tuple(rows), fields["source"].sources(), fields["rule"].text())


def read_driver_releases(doc: Document) -> tuple[DriverRelease, ...]:
    """Every driver release of the file, oldest first."""
    found = []
    for version, node in doc.section("driver_releases").items():
        fields = node.fields(frozenset({"source"}), _RELEASE)
        found.append(
            DriverRelease(
                version=version,
                directory=fields["dir"].text() if "dir" in fields else None,
                date=fields["date"].text() if "date" in fields else None,
                modules=fields["modules"].texts() if "modules" in fields else (),
                bases=fields["bases"].texts() if "bases" in fields else (),
                note=fields["note"].text() if "note" in fields else None,
                source=fields["source"].sources(),
                confidence=fields["confidence"].text() if "confidence" in fields else None,
            )
        )
    return tuple(sorted(found, key=lambda release: versions.key(release.version)))


def release_from_digits(digits: str) -> str | None:
    """The release that AMD writes into package versions: "60203" is 6.2.3, "30100200" is 30.10.2, "315000" is 31.50.0."""
    if len(digits) == 5:
        parts = (digits[0], digits[1:3], digits[3:5])
    elif len(digits) in (6, 8):
        parts = (digits[:2], digits[2:4], digits[4:6])
    else:
        return None
    return ".".join(str(int(part)) for part in parts)


def release_of_module(releases: tuple[DriverRelease, ...], module: str) -> str | None:
    """The driver release of a module or package version; an X.Y line when only the kernel base is known; None when unknown.

    "6.14.14-2222715.24.04" is "30.10.2", "1:6.10.5.60303-2119913.22.04" is "6.3.3", "6.16.13" is "30.30".
    """
    found = re.fullmatch(_PACKAGE, module.strip())
    if not found:
        return None
    base, digits, build = found.groups()
    if digits:
        return release_from_digits(digits)
    if build:
        wanted = f"{base}-{build}"
        exact = next((r.version for r in releases if wanted in r.modules), None)
        if exact:
            return exact
    lines = {r.line for r in releases if any(m.partition("-")[0] == base for m in r.modules)}
    lines |= {r.line for r in releases if any(versions.is_prefix(b, base) for b in r.bases)}
    return max(lines, key=versions.key) if lines else None
