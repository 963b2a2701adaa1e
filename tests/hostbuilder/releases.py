"""ROCm releases, the driver that came with each, and the PyTorch wheels of the time: small tables of the host builder's own.

Independent of the compatibility matrix on purpose. A release that is not in the table is derived from its nearest lower
neighbour, so that a sweep over a newer matrix still builds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache


def key(version: str) -> tuple[int, ...]:
    """Numeric order by component (7.2 < 7.14 < 10.0)."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


@dataclass(frozen=True, slots=True)
class Release:
    """`build`: number behind package versions. `driver`: release of amdgpu-dkms; `module` and `module_build` are what dkms
    shows. `hip` is the version of the HIP package, `hsa` the "Runtime Version" that rocminfo prints."""

    version: str
    build: str
    driver: str
    module: str
    module_build: str
    hip: str
    hsa: str

    @property
    def therock(self) -> bool:
        """7.9 and later: amdrocm packages, /opt/rocm/core-X.Y."""
        return key(self.version) >= (7, 9)

    @property
    def short(self) -> str:
        """As in repository paths: a trailing .0 is dropped."""
        return self.version.removesuffix(".0") if self.version.count(".") == 2 else self.version

    @property
    def two(self) -> str:
        return ".".join(self.version.split(".")[:2])

    @property
    def stamp(self) -> str:
        """The release in package versions: 6.2.0 is 60200."""
        major, minor, patch = [*self.version.split("."), "0", "0"][:3]
        return f"{major}{int(minor):02d}{int(patch):02d}"

    @property
    def hip_major(self) -> int:
        return 5 if key(self.version) < (6,) else 6 if key(self.version) < (7,) else 7

    @property
    def gfx(self) -> tuple[str, ...]:
        """Targets that the release's rocBLAS has kernels for."""
        v = key(self.version)
        text = "gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1101 gfx1102"
        if v < (7,):
            text = "gfx900 gfx906 " + text if v < (6, 4) else "gfx906 " + text
        if v >= (6, 2):
            text += " gfx1010 gfx1012 gfx1151"
        if v >= (6, 4):
            text += " gfx1150 gfx1200 gfx1201"
        if v >= (7,):
            text += " gfx950"
        if v >= (7, 9):
            text += " gfx1011 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1103 gfx1152 gfx1153"
        return tuple(text.split())


# release build driver module module-build hip hsa
_ROWS = """
5.6.0 67 5.6.0 6.1.5 1609671 5.6.31061 1.1
5.7.0 63 5.7.0 6.2.4 1652687 5.7.31921 1.1
5.7.1 98 5.7.1 6.2.4 1664922 5.7.31921 1.1
6.0.0 91 6.0.0 6.3.6 1697589 6.0.32830 1.1
6.0.2 115 6.0.2 6.3.6 1718217 6.0.32831 1.1
6.1.0 82 6.1.0 6.7.0 1756574 6.1.40091 1.13
6.1.1 90 6.1.1 6.7.0 1769056 6.1.40092 1.13
6.1.2 119 6.1.2 6.7.0 1781449 6.1.40093 1.13
6.1.3 122 6.1.3 6.7.0 1787201 6.1.40093 1.13
6.1.5 134 6.1.5 6.7.0 1793000 6.1.40093 1.13
6.2.0 66 6.2.0 6.8.5 2009582 6.2.41133 1.14
6.2.1 104 6.2.1 6.8.5 2029125 6.2.41133 1.14
6.2.2 116 6.2.2 6.8.5 2041575 6.2.41134 1.14
6.2.3 124 6.2.3 6.8.5 2048203 6.2.41133 1.14
6.2.4 139 6.2.4 6.8.5 2065830 6.2.41134 1.14
6.3.0 39 6.3.0 6.10.5 2084815 6.3.42131 1.14
6.3.1 48 6.3.1 6.10.5 2095006 6.3.42131 1.14
6.3.2 66 6.3.2 6.10.5 2109964 6.3.42131 1.14
6.3.3 74 6.3.3 6.10.5 2119913 6.3.42131 1.14
6.3.4 76 6.3.4 6.10.5 2125197 6.3.42134 1.14
6.4.0 47 6.4.0 6.12.12 2147987 6.4.43482 1.15
6.4.1 83 6.4.1 6.12.12 2164967 6.4.43483 1.15
6.4.2 120 6.4.2 6.12.12 2187269 6.4.43484 1.15
6.4.3 128 6.4.3 6.12.12 2194681 6.4.43484 1.15
6.4.4 129 6.4.4 6.12.12 2202139 6.4.43484 1.15
7.0.0 38 30.10.0 6.14.14 2204008 7.0.51830 1.18
7.0.1 42 30.10.1 6.14.14 2212064 7.0.51831 1.18
7.0.2 56 30.10.2 6.14.14 2222715 7.0.51831 1.18
7.1.0 20 30.20.0 6.16.6 2238411 7.1.25424 1.18
7.1.1 38 30.20.1 6.16.6 2255209 7.1.52802 1.18
7.2.0 43 30.30.0 6.16.13 2278356 7.2.26015 1.18
7.2.1 81 30.30.1 6.16.13 2303411 7.2.53211 1.18
7.2.2 86 30.30.1 6.16.13 2303411 7.2.53211 1.18
7.2.3 90 30.30.3 6.16.13 2327644 7.2.53211 1.18
7.2.4 93 30.30.4 6.16.13 2341068 7.2.53211 1.18
7.9.0 1 30.10.2 6.14.14 2222715 7.1.25254 1.18
7.10.0 1 30.20.0 6.16.6 2238411 7.1.52802 1.18
7.11.0 1 31.10.0 6.18.6 2290114 7.2.53150 1.18
7.12.0 1 31.20.0 6.19.4 2305230 7.2.53150 1.18
7.13.0 1 31.30.0 6.19.10 2330912 7.13.60100 1.18
7.14.0 1 31.40.0 6.19.14 2352004 7.14.60850 1.21
7.14.1 1 31.40.1 6.19.14 2360517 7.14.60850 1.21
10.0.0 1 31.50.0 7.1.3 2381220 7.15.26333 1.22
10.1.0 1 31.60.0 7.1.9 2402881 7.16.26385 1.22
"""

RELEASES = {row.split()[0]: Release(*row.split()) for row in _ROWS.strip().splitlines()}


@cache
def release_of(version: str) -> Release:
    """The row of a release, or one derived from the nearest lower release (its driver number equals the release below 7.0)."""
    if version in RELEASES:
        return RELEASES[version]
    lower = [v for v in RELEASES if key(v) <= key(version)]
    near = RELEASES[max(lower or list(RELEASES)[:1], key=key)]
    return replace(near, version=version, driver=version if key(version) < (7,) else near.driver)


@cache
def driver_of(release: str) -> Release:
    """The ROCm row whose driver has that release ("6.2.0", "30.10.2", "30.10")."""
    wanted = key(release) + (0,) * (3 - len(key(release)))
    rows = [row for row in RELEASES.values() if key(row.driver)[: len(wanted)] == wanted]
    lower = [row for row in RELEASES.values() if key(row.driver) <= wanted]
    row = rows[0] if rows else max(lower or list(RELEASES.values())[:1], key=lambda r: key(r.driver))
    return row if rows else replace(row, driver=release)


def driver_stamp(release: str) -> str:
    """The driver release in package versions: 6.2.0 is 60200, 30.10.2 is 30100200."""
    major, minor, patch = [*release.split("."), "0", "0"][:3]
    return f"{major}{int(minor):02d}{int(patch):02d}" + ("00" if int(major) >= 30 else "")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A PyTorch release for one ROCm index with its companions and compiled targets."""

    torch: str
    rocm: str
    hip: str
    gfx: tuple[str, ...]
    torchvision: str
    torchaudio: str
    triton: str
    python: str
    """Lowest and highest CPython: "3.9-3.12"."""

    @property
    def triton_name(self) -> str:
        return "triton-rocm" if key(self.torch) >= (2, 10) else "pytorch-triton-rocm"

    @property
    def bundled(self) -> bool:
        return key(self.rocm) < (7, 9)


_OLD = "gfx900 gfx906 gfx908 gfx90a gfx1030 gfx1100"
_MID = "gfx900 gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100"
_NEW = _MID + " gfx1101 gfx1102 gfx1200 gfx1201"
_ALL = _NEW + " gfx950 gfx1150 gfx1151"
_SDK = "gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201"
_WHEELS = {
    ("2.1.2", "5.6"): ("5.6.31061-8c743ae5d", _OLD, "0.16.2", "2.1.2", "2.1.0", "3.8-3.11"),
    ("2.3.1", "5.7"): ("5.7.31921-d1770ee1b", _OLD, "0.18.1", "2.3.1", "2.3.1", "3.8-3.12"),
    ("2.4.1", "6.0"): ("6.0.32830-d62f6a171", _MID, "0.19.1", "2.4.1", "3.0.0", "3.8-3.12"),
    ("2.4.1", "6.1"): ("6.1.40091-a8dbc0c19", _MID, "0.19.1", "2.4.1", "3.0.0", "3.8-3.12"),
    ("2.5.1", "6.2"): ("6.2.41133-dd7f95766", _MID, "0.20.1", "2.5.1", "3.1.0", "3.9-3.12"),
    ("2.7.1", "6.2.4"): ("6.2.41134-65d174c3e", _NEW, "0.22.1", "2.7.1", "3.3.1", "3.9-3.13"),
    ("2.8.0", "6.3"): ("6.3.42131-fa1d09cbd", _NEW, "0.23.0", "2.8.0", "3.4.0", "3.9-3.13"),
    ("2.9.1", "6.4"): ("6.4.43484-123eb5128", _NEW, "0.24.1", "2.9.1", "3.5.1", "3.10-3.14"),
    ("2.10.0", "7.0"): ("7.0.51831", _ALL, "0.25.0", "2.10.0", "3.6.0", "3.10-3.14"),
    ("2.10.0", "7.1"): ("7.1.25424", _ALL, "0.25.0", "2.10.0", "3.6.0", "3.10-3.14"),
    ("2.11.0", "7.2"): ("7.2.26015", _ALL, "0.26.0", "2.11.0", "3.6.0", "3.10-3.14"),
    ("2.13.0", "7.2"): ("7.2.53211", _ALL + " gfx1103", "0.28.0", "2.11.0", "3.7.1", "3.10-3.14"),
    ("2.14.1", "7.14"): ("7.14.60850", _SDK, "0.29.1", "2.11.1", "3.8.0", "3.10-3.14"),
    ("2.13.0", "10.0.0"): ("7.15.26333", _SDK, "0.28.0", "2.11.0.2", "3.8.0", "3.10-3.14"),
    ("2.14.0", "10.1.0"): ("7.16.26385", _SDK, "0.29.0", "2.11.1", "3.8.0", "3.10-3.14"),
}
WHEELS = tuple(Wheel(torch, rocm, row[0], tuple(row[1].split()), *row[2:]) for (torch, rocm), row in _WHEELS.items())


@cache
def wheel_for(release: str) -> Wheel:
    """The newest table row whose ROCm is not above the host's release (same major.minor first)."""
    fits = [w for w in WHEELS if key(w.rocm) <= key(release)]
    return max(fits or [WHEELS[0]], key=lambda w: (key(w.rocm), key(w.torch)))


@cache
def wheel_named(torch: str, rocm: str) -> Wheel:
    """The row of a torch version and ROCm tag; unknown pairs borrow from the nearest row of that ROCm."""
    for wheel in WHEELS:
        if wheel.torch == torch and (wheel.rocm == rocm or wheel.rocm.removesuffix(".0") == rocm):
            return wheel
    return replace(wheel_for(rocm), torch=torch, rocm=rocm)
