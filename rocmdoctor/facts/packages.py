"""Installed packages: dpkg's status file, rpm -qa, pacman's local database; and what they tell of ROCm.

ROCm's package versions carry the release: "6.2.0.60200-66~22.04" and "1:6.8.5.60200-2009582.22.04" are of 6.2.0, driver
packages from 7.0 on carry the driver release instead (30100200 is 30.10.2). TheRock packages are named amdrocm*.
"""

import re
from fnmatch import filter as glob_filter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import release_stamps
from rocmdoctor.facts.remembered import remembered
from rocmdoctor.host import Host, UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts.package_relations import Unmet

_DPKG_STATUS = "/var/lib/dpkg/status"
_PACMAN_LOCAL = "/var/lib/pacman/local"
_RPM_FOLDERS = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
RPM_QUERY = ("rpm", "-qa", "--qf", "%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{VENDOR}\n")
"""The query of the snapshot contract, to the byte: recorded commands are found by their argv."""

_STATUS_LIMIT = 64 << 20
"""Bytes of dpkg's status file; a desktop's has about 5 MiB."""

_DPKG_FIELDS = re.compile(
    r"\n(?:(Package|Status|Version|Architecture|Depends|Pre-Depends|Maintainer|Origin|Provides):[ \t]*"
    r"([^\n]*(?:\n[ \t][^\n]*)*)|(?=\n))"
)
"""A wanted field with its folded lines, or (both groups empty) the end of a stanza."""

_RPM_TIMEOUT = 15.0
"""Seconds: a cold rpm database on a slow disk takes several."""


class Package(NamedTuple):
    """`version` without epoch as the database writes it (`epoch` apart); `state` is dpkg's third word: installed |
    half-configured | half-installed | unpacked | triggers-pending | triggers-awaited | config-files; rpm and pacman: installed.
    `hold`: dpkg's want is hold. `depends` and `provides` are the raw fields of dpkg (Pre-Depends included), "" elsewhere."""

    name: str
    version: str
    arch: str
    state: str = "installed"
    epoch: str = ""
    hold: bool = False
    origin: str = ""
    """rpm's vendor, or dpkg's Origin/Maintainer where it tells AMD from the distribution."""
    depends: str = ""
    provides: str = ""

    @property
    def full_version(self) -> str:
        """With the epoch, as the package manager compares and prints it."""
        return f"{self.epoch}:{self.version}" if self.epoch else self.version

    @property
    def installed(self) -> bool:
        return self.state not in ("config-files", "not-installed")

    @property
    def broken(self) -> bool:
        return self.state in ("half-configured", "half-installed", "unpacked", "triggers-awaited", "triggers-pending")

    @property
    def from_amd(self) -> bool:
        """Packaged by AMD, whatever it is: ROCm, driver, installer or graphics."""
        return release_stamps.from_amd(self.name, self.version, self.origin)

    @property
    def rocm_release(self) -> str | None:
        """The ROCm release in a classic package's version ("6.2.0"), from its name for amdrocm ("10.0"), else None.

        None for AMD's driver, installer and graphics packages, which have numbers of their own.
        """
        return release_stamps.rocm_release(self.name, self.version, self.origin)

    @property
    def is_therock(self) -> bool:
        """Of AMD's packaging from 7.14 on (amdrocm...), which must not join the classic one."""
        return self.name.startswith("amdrocm")

    @property
    def is_side_by_side(self) -> bool:
        """A classic package that carries its release in the name (rocm-core6.2.4), to stand beside others."""
        return self.rocm_release is not None and self.name.endswith(self.rocm_release)

    @property
    def driver_release(self) -> str | None:
        """For amdgpu-dkms and its firmware: "6.2.0", "30.10.2" ..., else None."""
        return release_stamps.driver_release(self.name, self.version)


class PackageDb:
    """`kind` is dpkg | rpm | pacman | None (no database found)."""

    def __init__(self, kind: str | None, packages: tuple[Package, ...]) -> None:
        self.kind, self.packages = kind, packages
        self._by_name: dict[str, list[Package]] = {}
        for package in packages:
            if package.installed:
                self._by_name.setdefault(package.name, []).append(package)

    def get(self, name: str) -> Package | None:
        """The installed package of that exact name (first architecture), None when not installed."""
        found = self._by_name.get(name)
        return found[0] if found else None

    def has(self, name: str) -> bool:
        return name in self._by_name

    def matching(self, pattern: str) -> tuple[Package, ...]:
        """Installed packages whose name matches a glob (fnmatch)."""
        return tuple(p for name in glob_filter(self._by_name, pattern) for p in self._by_name[name])

    @property
    def broken(self) -> tuple[Package, ...]:
        return tuple(p for p in self.packages if p.broken)

    def unmet(self) -> "tuple[Unmet, ...]":
        """Dependencies of broken packages that no installed and configured package fulfils. Only dpkg records them."""
        from rocmdoctor.facts import package_relations

        return package_relations.unmet(self.packages)

    @cached_property
    def rocm(self) -> tuple[Package, ...]:
        """Packages of AMD's ROCm, classic or amdrocm (told by version stamp or name), not the distribution's; user space only."""
        return tuple(p for p in self.packages if p.installed and release_stamps.is_amd_rocm(p.name, p.version, p.origin))

    @cached_property
    def distro_rocm(self) -> tuple[Package, ...]:
        """ROCm as the distribution packages it (rocminfo, libamdhip64-5, rocm-hip ...), told by name, without AMD's stamp."""
        return tuple(p for p in self.packages if p.installed and release_stamps.is_rocm_name(p.name) and not p.from_amd)


def gather(host: Host) -> PackageDb:
    """The first database that has packages. Raises UnknownFact when none has and one of them could not be read.

    dpkg comes first (Fedora has a dpkg package with an empty database, and Debian an rpm package), rpm last, since it is a
    program of some seconds.
    """
    unknown: UnknownFact | None = None
    for read in (_dpkg, _pacman, _rpm):
        try:
            database = read(host)
            if database.packages:
                return database
        except UnknownFact as exc:
            unknown = unknown or exc
    if unknown:
        raise unknown
    return PackageDb(None, ())


def _dpkg(host: Host) -> PackageDb:
    return _of_dpkg(host.read(_DPKG_STATUS, _STATUS_LIMIT) or "")


@remembered
def _of_dpkg(status: str) -> PackageDb:
    return PackageDb("dpkg", parse_dpkg_status(status))


def _pacman(host: Host) -> PackageDb:
    return PackageDb("pacman", parse_pacman_local(host.names(_PACMAN_LOCAL)))


@remembered
def _of_rpm(answer: str) -> PackageDb:
    return PackageDb("rpm", parse_rpm(answer))


def _rpm(host: Host) -> PackageDb:
    answer = host.run(RPM_QUERY, timeout=_RPM_TIMEOUT)
    if not answer.found:
        if any(host.node(folder) is not None for folder in _RPM_FOLDERS):
            raise UnknownFact("there is an rpm database, but no rpm program to read it")
        return PackageDb("rpm", ())
    if answer.timed_out:
        raise UnknownFact("rpm -qa took too long")
    if answer.rc != 0:
        raise UnknownFact(f"rpm -qa failed with status {answer.rc}")
    return _of_rpm(answer.stdout)


def parse_dpkg_status(text: str) -> tuple[Package, ...]:
    """dpkg's status file (deb822). Stanzas without Package or Status are left out.

    An own reader, and not python-debian: the file has megabytes, nine fields of it are wanted, and dpkg itself writes it in
    one form, so one pass of a regular expression does; that takes some 25 ms where a general deb822 reader takes seconds.
    """
    packages = []
    fields: dict[str, str] = {}
    for key, value in _DPKG_FIELDS.findall(f"\n{text}\n\n"):
        if key:
            fields[key] = value
        elif fields:
            if package := _dpkg_package(fields):
                packages.append(package)
            fields = {}
    return tuple(packages)


def _dpkg_package(fields: dict[str, str]) -> Package | None:
    get = fields.get
    name, status = get("Package", "").strip(), get("Status", "").split()
    if not name or len(status) != 3:
        return None
    epoch, version = _epoch(get("Version", "").strip())
    maintainer, depends = get("Maintainer", ""), get("Depends", "")
    if before := get("Pre-Depends"):
        depends = f"{before}, {depends}" if depends else before
    return Package(
        name=name,
        version=version,
        arch=get("Architecture", "").strip(),
        state=status[2],
        epoch=epoch,
        hold=status[0] == "hold",
        origin=maintainer if "amd.com" in maintainer else get("Origin") or maintainer,
        depends=depends,
        provides=get("Provides", ""),
    )


def _epoch(version: str) -> tuple[str, str]:
    """(epoch, rest) of "[epoch:]version"; an epoch of 0 is none."""
    epoch, colon, rest = version.partition(":")
    return ("" if epoch == "0" else epoch, rest) if colon else ("", version)


def parse_rpm(text: str) -> tuple[Package, ...]:
    """The answer to RPM_QUERY; lines of another form (warnings, gpg-pubkey entries) are left out."""
    packages = []
    for line in text.split("\n"):
        fields = line.split("\t")
        if len(fields) != 6 or not fields[0] or fields[0] == "gpg-pubkey":
            continue
        name, epoch, version, release, arch, vendor = fields
        packages.append(
            Package(
                name=name,
                version=f"{version}-{release}",
                arch=arch,
                epoch="" if epoch in ("0", "(none)") else epoch,
                origin="" if vendor == "(none)" else vendor,
            )
        )
    return tuple(packages)


def parse_pacman_local(folders: tuple[str, ...]) -> tuple[Package, ...]:
    """pacman's local database: each folder is named NAME-[EPOCH:]VERSION-RELEASE, so none of the files must be read."""
    packages = []
    for folder in folders:
        name, _, rest = folder.rpartition("-")
        name, _, version = name.rpartition("-")
        if not name:
            continue
        epoch, upstream = _epoch(version)
        packages.append(Package(name=name, version=f"{upstream}-{rest}", arch="", epoch=epoch))
    return tuple(packages)
