"""Whose a ROCm package is, and which release it is of: told by name, version stamp, and maintainer or vendor.

AMD appends the release to the version of every classic package: "6.2.41133.60200-66~22.04" is HIP of ROCm 6.2.0, and
"1:6.14.14.30100200-2222715.24.04" is the driver 30.10.2. Distributions' packages of the same names carry no such stamp.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DRIVER = re.compile(r"^(?:amdgpu|amdgpu-dkms|rock-dkms)(?:-firmware|-headers)?$")

_NOT_USER_SPACE = re.compile(r"^amdgpu|^rock-dkms|^amdrocm-repo|^(?!llvm-|.*rocr4wsl).*-amdgpu")
"""Driver, installer and graphics packages: AMD's too, and stamped, but numbered with the driver or the graphics repository."""

_ROCM_NAME = re.compile(
    r"^(?:amdrocm"
    r"|(?:lib)?rocm|(?:lib)?roc(?:minfo|blas|fft|rand|solver|sparse|prim|thrust|alution|wmma|decode|jpeg|al|shmem|gdb"
    r"|profiler|tracer|dxg|r-runtime|t-thunk)(?![a-z]{4})"
    r"|(?:lib)?hip(?:cc|ify|blas|fft|rand|solver|sparse|cub|tensor|fort|rtc|dnn|file|-runtime|-dev|-rocclr|-samples|-doc|[-_]base|[-_]hcc)"
    r"|h(?:ip|cc)$|libamdhip64|libhiprtc|python3-hip$"
    r"|hsa-(?:rocr|ext|amd|runtime)|hsakmt|libhsa(?:kmt|-runtime)"
    r"|comgr|lib(?:amd-?)?comgr|amd-?smi|libamd-?smi|python3-amd-?smi"
    r"|(?:lib)?(?:miopen|migraphx|rccl)|openmp-extras|composablekernel|mivisionx|rdc$|rpp$|rpp-|llvm-amdgpu|aqlprofile|opencl-amd)"
)

_META = frozenset(("rocm-dev", "rocm-dkms", "rocm-libs", "rocm-utils", "rocm-core", "rocm-opencl"))
"""Packages whose own version was the release before stamps came with 3.x."""

_AMDROCM_RELEASE = re.compile(r"([0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)(?=-|$)")
_LEADING_RELEASE = re.compile(r"^([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,4}))?(?![0-9])")


@lru_cache(maxsize=4096)
def stamp(version: str) -> str | None:
    """The release stamped into a version without epoch: "1.0.0.60200-66~22.04" gives "6.2.0", "6.8.5.30100200-1" gives "30.10.2".

    The stamp is the last dotted number before the first hyphen: X, YY, ZZ for ROCm (XX from 10 on) and, from driver 30 on,
    XX, YY, ZZ and two digits more. Numbers that no release could have (HIP's build number 41133) are no stamp.
    """
    _, dot, last = version.partition("-")[0].partition("~")[0].rpartition(".")
    if not dot or not (last.isascii() and last.isdigit()) or last[0] == "0":
        return None
    number = int(last) if len(last) <= 8 else 0
    if len(last) == 8:
        number //= 100
    elif not 5 <= len(last) <= 6:
        return None
    major, minor, patch = number // 10000, number // 100 % 100, number % 100
    if not 1 <= major <= 99 or minor > 60 or patch > 15:
        return None
    return f"{major}.{minor}.{patch}"


def is_driver(name: str) -> bool:
    """The kernel driver's packages and its firmware (Azure Linux names it amdgpu)."""
    return bool(_DRIVER.match(name))


def is_rocm_name(name: str) -> bool:
    """A name of ROCm's user space, whoever packaged it."""
    return bool(_ROCM_NAME.match(name)) and not _NOT_USER_SPACE.match(name)


def from_amd(name: str, version: str, origin: str) -> bool:
    """Packaged by AMD: by maintainer or vendor, by TheRock's name, or by the stamp, which only AMD writes."""
    if "amd.com" in origin or "Advanced Micro Devices" in origin or name.startswith("amdrocm"):
        return True
    return stamp(version) is not None and (is_rocm_name(name) or is_driver(name))


@lru_cache(maxsize=4096)
def is_amd_rocm(name: str, version: str, origin: str) -> bool:
    """A package of AMD's own ROCm user space."""
    if _NOT_USER_SPACE.match(name) or not from_amd(name, version, origin):
        return False
    return is_rocm_name(name) or stamp(version) is not None


@lru_cache(maxsize=4096)
def rocm_release(name: str, version: str, origin: str) -> str | None:
    """The ROCm release of a package of AMD's user space, else None. amdrocm packages tell it by name ("10.0") before version."""
    if not is_amd_rocm(name, version, origin):
        return None
    if name.startswith("amdrocm"):
        found = _AMDROCM_RELEASE.search(name) or _AMDROCM_RELEASE.match(version.partition("~")[0])
        return found[1] if found else None
    if release := stamp(version):
        return release
    leading = _LEADING_RELEASE.match(version) if name in _META else None
    return _release(leading) if leading else None


def driver_release(name: str, version: str) -> str | None:
    """The driver release of amdgpu-dkms, rock-dkms and their firmware ("6.2.0", "30.10.2"), else None.

    rock-dkms (ROCm up to 4.x) had the release itself as version. Drivers of 2021 and before carry neither.
    """
    if not is_driver(name):
        return None
    if release := stamp(version):
        return release
    leading = _LEADING_RELEASE.match(version) if name.startswith("rock-dkms") else None
    return _release(leading) if leading else None


def _release(leading: re.Match[str]) -> str:
    """Up to 2.x the third number counted builds ("1.7.60"), and is no part of the release."""
    major, minor, third = leading[1], leading[2], leading[3] or "0"
    return f"{major}.{minor}.{third if len(third) == 1 else 0}"
