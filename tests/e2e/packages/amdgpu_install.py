"""AMD's installer package as hosts have it: repository files and pin as conffiles, which `apt remove` leaves behind."""

from __future__ import annotations

from tests.e2e.packages.package import Package, Program
from tests.e2e.packages.targets import Target
from tests.hostbuilder.releases import key, release_of

_OPTIONS = "arch=amd64,i386 signed-by=/etc/apt/keyrings/rocm.gpg"


def deb(rocm: str, target: Target, keyring: bytes) -> tuple[Package, str]:
    """The package and the path under repo.radeon.com that AMD's pages name."""
    row = release_of(rocm)
    seven = key(rocm) >= (7,)
    short = f"{row.two if rocm.endswith('.0') or not seven else rocm}.{row.stamp}"
    version = f"{short}-{row.module_build}.{target.tag}"
    driver = row.driver.removesuffix(".0")
    base = "https://repo.radeon.com"
    rocm_list = f"deb [{_OPTIONS}] {base}/rocm/apt/{row.short} {target.suite} main\n"
    if seven:
        rocm_list += f"deb [{_OPTIONS}] {base}/graphics/{row.short}/ubuntu {target.suite} main\n"
    files = {
        "/etc/apt/sources.list.d/rocm.list": rocm_list,
        "/etc/apt/sources.list.d/amdgpu.list": f"deb [{_OPTIONS}] {base}/amdgpu/{driver}/ubuntu {target.suite} main\n",
        "/etc/apt/preferences.d/repo-radeon-pin-600": "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n",
    }
    package = Package(
        "amdgpu-install", version, (),
        {**files, "/etc/apt/keyrings/rocm.gpg": keyring, "/usr/bin/amdgpu-install": Program("#!/bin/sh\nexit 0\n")},
        "all", conffiles=tuple(files),
    )  # fmt: skip
    return package, f"amdgpu-install/{row.short}/ubuntu/{target.suite}/amdgpu-install_{short}-1_all.deb"
