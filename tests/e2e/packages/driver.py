"""The amdgpu driver repository: amdgpu-dkms with a small source that the stand-in dkms builds, its firmware, and the graphics
packages that some of ROCm needs."""

from __future__ import annotations

from tests.e2e.packages.package import Package
from tests.e2e.packages.targets import Target
from tests.hostbuilder.releases import Release, driver_of, driver_stamp, release_of

_UDEV = 'KERNEL=="kfd", GROUP="render", MODE="0660"\nSUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660"\n'
_INSTALL = """\
dkms add -m amdgpu -v {version} || true
kernel=$(uname -r)
if [ -e "/lib/modules/$kernel/build/Makefile" ]; then
    dkms build -m amdgpu -v {version} -k "$kernel"
    dkms install -m amdgpu -v {version} -k "$kernel"
else
    echo "Module build for kernel $kernel was skipped since the"
    echo "kernel headers for this kernel do not seem to be installed."
fi"""
_REMOVE = "dkms remove -m amdgpu -v {version} --all || true"


def _suffix(target: Target) -> str:
    return f".{target.tag}"


def dkms_version(row: Release, target: Target) -> str:
    """As `dkms status` prints it: 6.8.5-2065830.22.04."""
    return f"{row.module}-{row.module_build}{_suffix(target)}"


def packages(release: str, target: Target) -> tuple[Package, ...]:
    """Everything in amdgpu/RELEASE for one target."""
    row = driver_of(release)
    version = dkms_version(row, target)
    module, _, rest = version.partition("-")
    full = f"1:{module}.{driver_stamp(row.driver)}-{rest}"
    needs = ("dkms (>= 1.95)", "autoconf", "automake") if target.deb else ("dkms", "autoconf", "automake")
    made = [
        Package("amdgpu-dkms-firmware", full, (), {"/lib/firmware/updates/amdgpu/gc_11_0_0_mes1.bin": b"firmware\n"}, "all"),
        Package(
            "amdgpu-dkms", full, (f"amdgpu-dkms-firmware (= {full})", *needs),
            {
                f"/usr/src/amdgpu-{version}/dkms.conf":
                    f'PACKAGE_NAME="amdgpu"\nPACKAGE_VERSION="{version}"\nAUTOINSTALL="yes"\n',
                f"/usr/src/amdgpu-{version}/amd/amdgpu/amdgpu_drv.c": f"/* {row.module} */\n",
                "/etc/modprobe.d/blacklist-radeon.conf": "blacklist radeon\n",
                "/etc/udev/rules.d/70-amdgpu.rules": _UDEV,
            },
            "all", _INSTALL.format(version=version), _REMOVE.format(version=version),
            conffiles=("/etc/modprobe.d/blacklist-radeon.conf", "/etc/udev/rules.d/70-amdgpu.rules"),
        ),
        Package("amdgpu-core", f"1:{row.driver}.{driver_stamp(row.driver)}-{row.module_build}{_suffix(target)}", arch="all"),
    ]  # fmt: skip
    if not row.driver.startswith("3"):
        made += mesa(row.version, target, row.module_build)
    return tuple(made)


def mesa(rocm: str, target: Target, build: str) -> list[Package]:
    """What rocdecode needs: in the driver repository up to 6.4, in the graphics repository from 7.0 on."""
    row = release_of(rocm)
    full = f"1:24.3.0.{row.stamp}-{build}{_suffix(target)}"
    return [
        Package("libdrm-amdgpu-common", f"1.0.0.{row.stamp}-{build}{_suffix(target)}", arch="all"),
        Package(
            "mesa-amdgpu-va-drivers", full, ("libdrm-amdgpu-common",),
            {"/opt/amdgpu/lib/dri/radeonsi_drv_video.so": b""},
        ),
    ]  # fmt: skip
