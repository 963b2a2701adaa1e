"""What a repository URL says: whether it is AMD's, of which product and release (paths of repo.radeon.com and repo.amd.com)."""

from __future__ import annotations

import re
from functools import lru_cache

CLASSIC_HOST = "repo.radeon.com"
"""Host of the classic ROCm and driver repositories, and the Origin of their Release files."""

_URL = r"(?i)^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)(?::\d+)?([^?#]*)"
_CREDENTIALS = r"(://)[^/\s@]*@"
_RELEASE = r"^(?:\d+(?:\.\d+){0,3}|latest)$"

_ROCM_BRANCH = r"^(?:apt|yum|zyp|(?:rhel|el|centos|azurelinux|sle)\d*)$"
_DRIVER_BRANCH = r"^(?:ubuntu|debian|rhel|el|sle|sles|centos|amzn|azurelinux)\d*$"


def without_credentials(text: str) -> str:
    """Text with "user:password@" taken out of its URLs."""
    return re.sub(_CREDENTIALS, r"\1", text)


def _split(url: str) -> tuple[str, list[str]]:
    """(host, path segments) in lower case; apt's signs before the scheme ("mirror+https") do not matter here."""
    found = re.match(_URL, url.strip())
    if not found:
        return "", []
    return found[1].lower().rstrip("."), [s for s in found[2].lower().split("/") if s]


def _served_by_amd(host: str) -> bool:
    return host in ("amd.com", "radeon.com") or host.endswith((".amd.com", ".radeon.com"))


@lru_cache(maxsize=512)  # each check of repositories asks again, and so does each node of a fleet
def is_amd(url: str) -> bool:
    """On a host of AMD's, or anywhere under AMD's path layout."""
    host, segments = _split(url)
    return _served_by_amd(host) or _layout(host, segments) is not None


@lru_cache(maxsize=512)
def product(url: str) -> str | None:
    """rocm | amdgpu | graphics | amdrocm, or None."""
    found = _layout(*_split(url))
    return found[0] if found else None


@lru_cache(maxsize=512)
def release(url: str) -> str | None:
    """The release folder ("6.2", "30.10.2", "latest"); None for the unversioned rocm/apt/debian and for amdrocm, which has one
    repository for all."""
    found = _layout(*_split(url))
    return found[1] if found else None


def _layout(host: str, segments: list[str]) -> tuple[str, str | None] | None:
    """(product, release) of AMD's layout, wherever in the path it begins.

    rocm/apt/6.2, rocm/el9/6.2.2/main, rocm/apt/debian; amdgpu/30.10.2/ubuntu, graphics/7.2/ubuntu; and for amdrocm
    rocm/packages-multi-arch/ubuntu2404 (7.14) and rocm/core/packages/ubuntu2404 (10.0).
    """
    classic = host == CLASSIC_HOST
    for index, segment in enumerate(segments[:30]):
        first, second = (*segments[index + 1 : index + 3], "", "")[:2]
        if segment == "rocm":
            if first == "packages-multi-arch" or (first, second) == ("core", "packages"):
                return "amdrocm", None
            if first == "packages" and _served_by_amd(host) and not classic:
                return "amdrocm", None
            if re.match(_ROCM_BRANCH, first) and re.match(_RELEASE, second):
                return "rocm", second
            if classic or first in ("apt", "yum", "zyp"):
                return "rocm", None
        elif segment in ("amdgpu", "graphics") and (re.match(_DRIVER_BRANCH, second) or (classic and index == 0)):
            if re.match(_RELEASE, first):
                return segment, first
            if classic:
                return segment, None
    return ("amdrocm", None) if host.startswith("rocm.") and _served_by_amd(host) else None
