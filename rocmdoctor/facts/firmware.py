"""Firmware files of amdgpu: where they lie and which package brought them (kernel: drivers/base/firmware_loader/main.c).

The driver asks for names like amdgpu/gc_11_0_0_mec.bin. amdgpu-dkms brings its own set in /lib/firmware/updates, which the
kernel looks into first.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known
from rocmdoctor.host import Host, UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import Package, PackageDb

_PACKAGES = ("linux-firmware", "firmware-amd-graphics", "amd-gpu-firmware", "kernel-firmware-amdgpu", "linux-firmware-amdgpu")
"""Distribution packages with the amdgpu folder: Ubuntu, EL; Debian; Fedora; SUSE; Arch since 2025. Narrow ones win."""

_DKMS_PACKAGE = "amdgpu-dkms-firmware"
_SUFFIXES = ("", ".zst", ".xz")
"""In the order of the kernel: uncompressed everywhere first, then CONFIG_FW_LOADER_COMPRESS_ZSTD and _XZ."""

_DATE = r"(?<![0-9])(20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])"
_NAME = r"^[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*$"


class Firmware(NamedTuple):
    """`folders`: existing amdgpu folders in the kernel's order of search, each once. The package is the distribution's, None when
    there is none (or packages are unknown); `date` is the linux-firmware snapshot in its version as YYYYMMDD."""

    folders: tuple[str, ...]
    package: str | None = None
    package_version: str | None = None
    date: int | None = None
    dkms_version: str | None = None
    """Version of amdgpu-dkms-firmware."""


def gather(host: Host, packages: "PackageDb | None" = None) -> Firmware:
    """Raises UnknownFact when the firmware folders could not be looked at. `packages` None: unknown."""
    folders: dict[str, str] = {}
    for root in search_roots(host):
        path = f"{root}/amdgpu"
        node = host.node(path)
        if node is not None and node.type == "dir":
            folders.setdefault(host.resolve(path) or path, path)
    found: Package | None = None
    dkms: Package | None = None
    if packages is not None:
        found = next((p for p in map(packages.get, reversed(_PACKAGES)) if p), None)
        dkms = packages.get(_DKMS_PACKAGE)
    return Firmware(
        folders=tuple(folders.values()),
        package=found.name if found else None,
        package_version=found.full_version if found else None,
        date=snapshot_date(found.version) if found else None,
        dkms_version=dkms.full_version if dkms else None,
    )


def search_roots(host: Host) -> tuple[str, ...]:
    """Folders the kernel looks into, in its order. /usr/lib is added for hosts whose /lib link is not recorded."""
    roots = []
    custom = known(lambda: host.read("/sys/module/firmware_class/parameters/path", 4096), None)
    if custom and custom.strip().startswith("/"):
        roots.append(custom.strip().rstrip("/"))
    try:
        release = host.uname.release
    except UnknownFact:
        release = ""
    for lib in ("/lib", "/usr/lib"):
        base = f"{lib}/firmware"
        updates = f"{base}/updates"
        roots += [f"{updates}/{release}", updates, f"{base}/{release}", base] if release else [updates, base]
    return tuple(dict.fromkeys(roots))


def find(host: Host, name: str) -> str | None:
    """The file the kernel would load for a name such as "amdgpu/gc_11_5_1_mes1.bin", compressed ones included; None when there is
    none. Raises UnknownFact when that could not be looked at."""
    if not re.match(_NAME, name) or ".." in name.split("/"):
        return None
    roots = search_roots(host)
    for suffix in _SUFFIXES:
        for root in roots:
            path = f"{root}/{name}{suffix}"
            if host.node(path) is not None:
                return path
    return None


def snapshot_date(version: str) -> int | None:
    """The date in a firmware package's version: "20240318.git3b128b60-0ubuntu2.6" is of 20240318; None for the numbers of old
    Ubuntu releases ("1.187.39")."""
    found = re.search(_DATE, version)
    return int(found[1]) if found else None
