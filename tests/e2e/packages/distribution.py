"""Stand-ins for the distributions' own repositories: kernels, headers, what ROCm's packages ask for, and the packages of the
same names as AMD's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.e2e.packages.dkms_program import dkms
from tests.e2e.packages.package import Content, Link, Package, Program
from tests.hostbuilder.distros import Distro

UBUNTU = "Ubuntu Developers <ubuntu-devel-discuss@lists.ubuntu.com>"
DEBIAN = "Debian Kernel Team <debian-kernel@lists.debian.org>"
_AMDGPU = "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu"

# Ubuntu's universe (and Debian) has ROCm packages of AMD's names; some have higher versions than AMD's.
UNIVERSE = {
    "jammy": {"rocminfo": "5.0.0-1", "rocm-cmake": "5.0.0-1", "rocm-device-libs": "5.0.0-1"},
    "noble": {"rocminfo": "5.7.1-3build1", "hipcc": "5.7.1-3", "rocm-cmake": "6.0.0-1", "rocm-smi": "5.7.0-1"},
    "trixie": {"rocminfo": "6.1.2-1", "hipcc": "6.1.2-3", "rocm-cmake": "6.1.2-1", "rocm-smi": "6.1.2-1"},
}  # fmt: skip


def _plain(names: Mapping[str, str], **more: str) -> list[Package]:
    return [Package(name, version, **more) for name, version in names.items()]  # type: ignore[arg-type]


def kernel_files(distro: Distro, *, module: bool) -> dict[str, Content]:
    """The running kernel; `module` is amdgpu.ko, which Ubuntu has in a package of its own."""
    base, ko = f"/lib/modules/{distro.kernel}", distro.ko
    if module:
        return {f"{base}/{_AMDGPU}{ko}": f"intree=Y\nvermagic={distro.kernel} SMP preempt mod_unload modversions\n"}
    return {
        f"/boot/vmlinuz-{distro.kernel}": b"",
        f"{base}/modules.builtin": "kernel/drivers/base/firmware_loader/firmware_class.ko\n",
        f"{base}/modules.dep": f"{_AMDGPU}{ko}: kernel/drivers/gpu/drm/ttm/ttm{ko}\n",
    }


def headers(distro: Distro) -> dict[str, Content]:
    """What DKMS builds against."""
    folder = {"deb": f"/usr/src/linux-headers-{distro.kernel}", "suse": f"/usr/src/linux-{distro.kernel}-obj"}.get(
        distro.family, f"/usr/src/kernels/{distro.kernel}"
    )
    return {f"{folder}/Makefile": "# headers\n", f"/lib/modules/{distro.kernel}/build": Link(folder)}


def deb_kernel(distro: Distro, maintainer: str) -> list[Package]:
    """The packages of the running kernel on Debian and Ubuntu; the first is installed from the start."""
    kernel = distro.kernel
    debian = "6.1.119-1" if distro.version == "12" else "6.12.48-1"
    version = debian if distro.id == "debian" else f"{kernel.removesuffix('-generic')}.{kernel.split('-')[1]}"
    image = kernel_files(distro, module=False) | (kernel_files(distro, module=True) if distro.id == "debian" else {})
    made = [
        Package(f"linux-image-{kernel}", version, (), image, maintainer=maintainer, vendor=""),
        Package(f"linux-headers-{kernel}", version, (), headers(distro), maintainer=maintainer, vendor=""),
    ]
    if distro.id == "ubuntu":
        extra = kernel_files(distro, module=True)
        made.append(
            Package(f"linux-modules-extra-{kernel}", version, (f"linux-image-{kernel}",), extra, maintainer=maintainer, vendor="")
        )
    return made


def deb_packages(distro: Distro) -> dict[str, tuple[Package, ...]]:
    """Packages by component."""
    maintainer = DEBIAN if distro.id == "debian" else UBUNTU
    common = {
        "python3-setuptools": "68.1.2-2", "python3-wheel": "0.42.0-2", "libatomic1": "14-20240412-0",
        "libquadmath0": "14-20240412-0", "libnuma1": "2.0.18-1", "libdrm-amdgpu1": "2.4.122-1",
        "autoconf": "2.71-3", "automake": "1:1.16.5-1.3",
        "environment-modules": "5.4.0-1", "python3-pip": "24.0+dfsg-1",
    }  # fmt: skip
    main = _plain(common, maintainer=maintainer, vendor="")
    main.append(Package("dkms", "3.0.11-1", (), dkms("deb"), "all", maintainer=maintainer, vendor=""))
    main.append(Package("broken-on-install", "1.0-1", (), {}, "all", "exit 1", maintainer=maintainer, vendor=""))
    main += deb_kernel(distro, maintainer)
    suite = distro.codename
    universe = _plain(UNIVERSE.get(suite, {}), maintainer=maintainer, vendor="")
    if distro.id == "debian":
        firmware = Package("firmware-amd-graphics", "20250410-2", arch="all", maintainer=maintainer, vendor="")
        return {"main": (*main, *universe), "non-free-firmware": (firmware,)}
    return {"main": tuple(main), "universe": tuple(universe)}


# rpm ---------------------------------------------------------------------------------------------------------------


def _rpms(names: Iterable[str], release: str, vendor: str, version: str = "1.0") -> list[Package]:
    return [Package(name, f"{version}-{release}", vendor=vendor, maintainer=vendor) for name in names]


def _split(distro: Distro) -> tuple[str, str]:
    version, _, release = distro.kernel.removesuffix(".x86_64").removesuffix("-default").partition("-")
    return version, release


def el_installed(distro: Distro) -> list[Package]:
    """What the rpm database of a fresh EL system has: the release, what scripts need, and the kernel."""
    version, release = _split(distro)
    vendor = "Red Hat, Inc."
    full = f"{version}-{release}"
    minor = distro.version
    major = minor.partition(".")[0]
    return [
        Package("redhat-release", f"{minor}-0.5.el{major}", provides=(
            f"system-release (= {minor}-0.5.el{major})", f"system-release(releasever) (= {major})",
        ), vendor=vendor, maintainer=vendor),
        Package("bash", "5.1.8-9.el9", provides=("/bin/sh", "/bin/bash", "/usr/bin/sh"), vendor=vendor, maintainer=vendor),
        Package("python3", "3.9.18-3.el9", provides=("/usr/bin/python3",), vendor=vendor, maintainer=vendor),
        Package("glibc", "2.34-100.el9", vendor=vendor, maintainer=vendor),
        Package("linux-firmware", "20240212-143.el9", arch="all", vendor=vendor, maintainer=vendor),
        Package("kernel-core", full, (), kernel_files(distro, module=False), vendor=vendor, maintainer=vendor),
        Package("kernel-modules-core", full, (f"kernel-core (= {full})",), kernel_files(distro, module=True),
                vendor=vendor, maintainer=vendor),
        Package("kernel", full, (f"kernel-core (= {full})", f"kernel-modules-core (= {full})"), vendor=vendor, maintainer=vendor),
    ]  # fmt: skip


def el_packages(distro: Distro) -> dict[str, tuple[Package, ...]]:
    """Packages by repository: baseos, appstream, crb and epel."""
    version, release = _split(distro)
    full, vendor, fedora = f"{version}-{release}", "Red Hat, Inc.", "Fedora Project"
    major = distro.version.partition(".")[0]
    tag = f"1.el{major}"
    devel = Package("kernel-devel", full, (), headers(distro), vendor=vendor, maintainer=vendor)
    baseos = [*_rpms(("libatomic", "libquadmath", "numactl-libs", "libdrm", "perl"), tag, vendor), *el_installed(distro)]
    appstream = [
        devel,
        Package("kernel-headers", full, vendor=vendor, maintainer=vendor),
        Package(
            "kernel-devel-matched",
            full,
            (f"kernel-devel (= {full})", f"kernel-core (= {full})"),
            vendor=vendor,
            maintainer=vendor,
        ),
        *_rpms(
            ("python3-setuptools", "python3-wheel", "autoconf", "automake", "environment-modules", "python3-pip"), tag, vendor
        ),
    ]
    epel = [
        Package("dkms", f"3.0.13-{tag}", (), dkms("el"), "all", vendor=fedora, maintainer=fedora),
        Package("perl-File-BaseDir", f"0.08-{tag}", ("perl-IPC-System-Simple",), arch="all", vendor=fedora, maintainer=fedora),
        Package("perl-URI-Encode", f"1.1.1-{tag}", ("perl",), arch="all", vendor=fedora, maintainer=fedora),
        Package("rocminfo", f"5.7.1-{tag}", vendor=fedora, maintainer=fedora),
        epel_release(major),
    ]
    crb = [Package("perl-IPC-System-Simple", f"1.30-{tag}", ("perl",), arch="all", vendor=vendor, maintainer=vendor)]
    return {"baseos": tuple(baseos), "appstream": tuple(appstream), "crb": tuple(crb), "epel": tuple(epel)}


def epel_release(major: str) -> Package:
    """The package that AMD's pages have installed from its address."""
    repo = (
        f"[epel]\nname=Extra Packages for Enterprise Linux {major} - $basearch\n"
        f"baseurl=https://dl.fedoraproject.org/pub/epel/{major}/Everything/$basearch/\nenabled=1\ngpgcheck=1\n"
        f"gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-EPEL-{major}\n"
    )
    # crb enable | disable: CodeReady Builder of the subscription, or of the distribution's own .repo file
    crb = """\
#!/bin/sh
if command -v subscription-manager >/dev/null; then exec subscription-manager repos --crb "$1"; fi
on=0; [ "$1" = enable ] && on=1
cd /etc/yum.repos.d
exec sed -i "/^\\[\\(crb\\|powertools\\|ol[0-9]*_codeready_builder\\)\\]/,/^\\[/s/^enabled=.*/enabled=$on/" ./*.repo
"""
    return Package(
        "epel-release", f"{major}-7.el{major}", (),
        {"/etc/yum.repos.d/epel.repo": repo, "/usr/bin/crb": Program(crb)},
        "all", conffiles=("/etc/yum.repos.d/epel.repo",), vendor="Fedora Project", maintainer="Fedora Project",
    )  # fmt: skip


def suse_installed(distro: Distro) -> list[Package]:
    version, release = _split(distro)
    vendor = "SUSE LLC <https://www.suse.com/>"
    full = f"{version}-{release}"
    files = kernel_files(distro, module=False) | kernel_files(distro, module=True)
    return [
        Package("sles-release", f"{distro.version}-150600.37.2",
                provides=(f"distribution-release (= {distro.version})", "product() (= SLES)"),
                vendor=vendor, maintainer=vendor),
        Package("bash", "4.4-150400.25.22", provides=("/bin/sh", "/bin/bash", "/usr/bin/sh"), vendor=vendor, maintainer=vendor),
        Package("python3", "3.6.15-150300.10.65.1", provides=("/usr/bin/python3",), vendor=vendor, maintainer=vendor),
        Package("glibc", "2.38-150600.12.1", vendor=vendor, maintainer=vendor),
        Package("kernel-firmware-amdgpu", "20240728-150600.3.9.1", arch="all", vendor=vendor, maintainer=vendor),
        Package("kernel-default", full, (), files, vendor=vendor, maintainer=vendor),
    ]  # fmt: skip


def suse_packages(distro: Distro) -> dict[str, tuple[Package, ...]]:
    """Packages by module; obs-perl is the Open Build Service project devel:languages:perl."""
    version, release = _split(distro)
    full, vendor = f"{version}-{release}", "SUSE LLC <https://www.suse.com/>"
    tag = "150600.1.1"
    obs = "obs://build.opensuse.org/devel:languages:perl"
    devel = Package("kernel-default-devel", full, (), headers(distro), vendor=vendor, maintainer=vendor)
    basesystem = [
        devel, *suse_installed(distro),
        *_rpms(("libatomic1", "libquadmath0", "libnuma1", "libdrm_amdgpu1", "perl"), tag, vendor),
        *_rpms(("python3-setuptools", "python3-wheel"), tag, vendor),
    ]  # fmt: skip
    return {
        "basesystem": tuple(basesystem),
        "desktop-applications": tuple(_rpms(("libva2",), tag, vendor)),
        "development-tools": tuple(_rpms(("autoconf", "automake", "gcc", "make"), tag, vendor)),
        "packagehub": (
            Package("dkms", f"3.0.13-{tag}", (), dkms("suse"), "all", vendor="openSUSE", maintainer="openSUSE"),
            Package("perl-File-BaseDir", f"0.09-{tag}", ("perl",), arch="all", vendor="openSUSE", maintainer="openSUSE"),
        ),
        "obs-perl": (Package("perl-URI-Encode", f"1.1.1-{tag}", ("perl",), arch="all", vendor=obs, maintainer=obs),),
    }
