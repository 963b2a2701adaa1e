"""The package database: dpkg's status file, rpm's list, pacman's folders; and which packages a host of this kind has."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tests.hostbuilder.out import Out
from tests.hostbuilder.releases import Release, key, release_of
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.spec import Rocm

RPM_QUERY = ("rpm", "-qa", "--qf", "%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{VENDOR}\n")


class Package(NamedTuple):
    """`version` as the database has it: "1:6.8.5.60200-2009582.22.04", epoch included. `state` is dpkg's third word."""

    name: str
    version: str
    arch: str = ""
    state: str = "installed"
    vendor: str = ""
    depends: str = ""
    hold: bool = False
    origin: str = ""


AMD = "Advanced Micro Devices, Inc."
_CLASSIC = (
    "rocm-core", "rocminfo", "hsa-rocr", "hsa-rocr-dev", "hip-runtime-amd", "hip-dev", "hipcc", "comgr", "rocm-device-libs",
    "rocm-llvm", "openmp-extras-runtime", "rocm-smi-lib", "amd-smi-lib", "rocblas", "hipblas", "hipblaslt", "rocsolver",
    "rocsparse", "rocfft", "rocrand", "miopen-hip", "rccl", "rocprofiler-register", "rocm-opencl", "rocm-opencl-runtime",
    "rocm-language-runtime", "rocm-hip-runtime", "rocm-hip-libraries", "rocm-hip-sdk", "rocm-ml-libraries", "rocm",
)  # fmt: skip
# Versions that are not the release: package -> version before the stamp, {v} the release, {hip} HIP's.
_OWN_VERSION = {
    "rocminfo": "1.0.0", "hsa-rocr": "{hsa}.0", "hsa-rocr-dev": "{hsa}.0", "hip-runtime-amd": "{hip}", "hip-dev": "{hip}",
    "hipcc": "1.1.1",
    "comgr": "2.8.0", "rocm-device-libs": "1.0.0", "rocm-llvm": "18.0.0.24232", "rocm-smi-lib": "7.3.0", "amd-smi-lib": "24.6.2",
    "rocblas": "4.2.0", "hipblas": "2.2.0", "hipblaslt": "0.8.0", "rocsolver": "3.26.0", "rocsparse": "3.2.0", "rocfft": "1.0.28",
    "rocrand": "3.1.0", "miopen-hip": "3.2.0", "rccl": "2.20.5", "rocprofiler-register": "0.4.0", "rocm-opencl": "2.0.0",
    "rocm-opencl-runtime": "{v}", "openmp-extras-runtime": "18.62.0",
}  # fmt: skip
_DEPENDS = {
    "rocm": "rocm-hip-sdk, rocm-ml-libraries, rocm-opencl-runtime",
    "rocm-hip-runtime": "rocm-core, hip-runtime-amd, rocminfo, hipcc",
    "hip-runtime-amd": "hsa-rocr, comgr, rocm-core, rocprofiler-register", "rocblas": "hip-runtime-amd, rocm-core",
}  # fmt: skip


@lru_cache(maxsize=512)
def classic_packages(version: str, versioned: bool, suffix: str, rpm: bool) -> tuple[Package, ...]:
    """AMD's rocm-* packages of one release. `suffix`: "~22.04" or ".el9". `versioned`: side-by-side names (rocblas6.2.0)."""
    row: Release = release_of(version)
    tail = version if versioned else ""
    packages = []
    for name in _CLASSIC:
        own = _OWN_VERSION.get(name, "{v}").format(v=version, hip=row.hip, hsa=row.hsa)
        if rpm:
            name = name.replace("-dev", "-devel") if name.endswith("-dev") else name
        sles = suffix.startswith(".sles")
        release = f"{suffix[1:]}.{row.build}" if sles else f"{row.build}{suffix}"
        depends = ", ".join(f"{n}{tail}" for n in _DEPENDS.get(name, "rocm-core" if name != "rocm-core" else "").split(", ") if n)
        packages.append(Package(name + tail, f"{own}.{row.stamp}-{release}", "", "installed", AMD, depends))
    return tuple(packages)


@lru_cache(maxsize=512)
def therock_packages(version: str, gfx: tuple[str, ...], suffix: str) -> tuple[Package, ...]:
    """amdrocm* packages: the release is in the name, one device package per target."""
    two = release_of(version).two
    parts = ("", "-core", "-runtime", "-llvm", "-blas", "-smi")
    names = [f"amdrocm{part}{two}" for part in parts]
    names += [f"amdrocm{two}-{target}" for target in gfx]
    return tuple(Package(name, f"{version}-1{suffix}", "", "installed", AMD, "", False, "AMD ROCm") for name in names)


def _distro_rocm(host: Resolved, tree: Rocm) -> tuple[Package, ...]:
    """The distribution's own ROCm."""
    version, family = tree.version, host.distro.family
    if family == "deb":
        text = "rocminfo hipcc libamdhip64-5 libhsa-runtime64-1 libamd-comgr2 librocblas0 rocm-smi rocm-device-libs-17"
        return tuple(Package(n, f"{version}-3build1") for n in text.split())
    if family == "arch":
        text = "rocm-core rocminfo hsa-rocr hip-runtime-amd comgr rocblas rocm-smi-lib amdsmi rocm-llvm rocm-hip-sdk"
        return tuple(Package(n, f"{version}-1", "x86_64") for n in text.split())
    text = "rocminfo rocm-hip rocm-runtime rocm-comgr rocblas rocm-smi hipcc rocm-core"
    release = host.distro.tag or "suse"
    return tuple(Package(n, f"{version}-2.{release}", "x86_64", "installed", host.distro.name) for n in text.split())


def rocm_packages(host: Resolved) -> tuple[Package, ...]:
    """Packages of every tree on the host."""
    packages: tuple[Package, ...] = ()
    for tree in host.spec.rocm:
        if not tree.packages:
            continue
        if tree.origin == "amd-package":
            packages += classic_packages(tree.version, tree.versioned, host.package_suffix("~"), not host.distro.deb)
        elif tree.origin == "amdrocm-package":
            gfx = tuple(dict.fromkeys(c.gfx for c in host.spec.cards))
            packages += therock_packages(tree.version, gfx, host.package_suffix("~") if host.distro.deb else "")
        elif tree.origin == "distro-package":
            packages += _distro_rocm(host, tree)
    if host.wsl and host.place.wsl_libraries and host.rocm and key(host.rocm.version) < (7, 2):
        packages += (Package("hsa-runtime-rocr4wsl-amdgpu", "25.10-2165406.24.04", "", "installed", AMD),)
    return packages


def _driver_packages(host: Resolved) -> tuple[Package, ...]:
    driver = host.driver
    if driver is None or not host.dkms or not driver.packages:
        return ()
    version, arch = f"1:{host.driver_package_version}", "all" if host.distro.deb else "noarch"
    return (
        Package("amdgpu-dkms", version, arch, driver.package_state, AMD, "dkms (>= 1.95), amdgpu-dkms-firmware"),
        Package("amdgpu-dkms-firmware", version, arch, "installed", AMD),
    )


@lru_cache(maxsize=256)
def _deb_base(ident: str, version: str, kernel: str, python: str, glibc: str, extra: bool, uefi: bool) -> tuple[Package, ...]:
    rows = [
        ("ca-certificates", "20240203", "all"), ("dkms", "3.0.11-1ubuntu13" if version == "24.04" else "2.8.7-2ubuntu2.2", "all"),
        ("gcc-12", "12.3.0-1ubuntu1~22.04", ""), ("kmod", "29-1ubuntu1", ""), ("libc6", f"{glibc}-0ubuntu3", ""),
        ("libdrm-amdgpu1", "2.4.113-2", ""),
        ("libelf1", "0.186-1", ""), ("libnuma1", "2.0.14-3ubuntu2", ""), ("libstdc++6", "12.3.0-1ubuntu1~22.04", ""), ("make",
        "4.3-4.1build1", ""),
        ("pciutils", "1:3.7.0-6", ""), ("python3", f"{python}.6-1~22.04", ""), (f"python{python}", f"{python}.12-1~22.04", ""),
        (f"python{python}-venv", f"{python}.12-1~22.04", ""), ("systemd", "249.11-0ubuntu3.12", ""), ("udev",
        "249.11-0ubuntu3.12", ""),
        (f"linux-image-{kernel}", kernel.rpartition("-")[0], ""), (f"linux-headers-{kernel}", kernel.rpartition("-")[0], ""),
    ]  # fmt: skip
    if ident == "debian":
        rows += [("firmware-amd-graphics", "20230210-5", "all"), ("linux-image-amd64", "6.1.119-1", "")]
    else:
        rows += [
            ("linux-firmware", "20220329.git681281e4-0ubuntu3.31", "all"),
            (f"linux-modules-{kernel}", kernel.rpartition("-")[0], ""),
        ]
        if extra:
            rows.append((f"linux-modules-extra-{kernel}", kernel.rpartition("-")[0], ""))
    if uefi:
        rows += [("shim-signed", "1.51.3+15.7-0ubuntu1", ""), ("mokutil", "0.6.0-2~22.04.1", "")]
    return tuple(Package(*row) for row in rows)


@lru_cache(maxsize=256)
def _rpm_base(family: str, ident: str, vendor: str, kernel: str, python: str, glibc: str, tag: str) -> tuple[Package, ...]:
    plain = kernel.removesuffix(".x86_64").removesuffix("-default")
    version, _, release = plain.partition("-")
    uek = "uek" in kernel
    kernels = {"suse": ("kernel-default", "kernel-default-devel"), "azl": ("kernel", "kernel-devel",
    "kernel-drivers-gpu")}.get(family) or (
        ("kernel-uek", "kernel-uek-core", "kernel-uek-modules", "kernel-uek-modules-extra", "kernel-uek-devel")
        if uek
        else ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra", "kernel-devel",
        "kernel-headers",
              "kernel-devel-matched")
    )  # fmt: skip
    firmware = "kernel-firmware-amdgpu" if family == "suse" else "amd-gpu-firmware" if family == "fedora" else "linux-firmware"
    rows = [(name, f"{version}-{release}", "x86_64") for name in kernels]
    rows += [
        ("ca-certificates", "2024.2.69-91.4", "noarch"), ("dkms", f"3.1.5-1.{tag or 'suse'}", "noarch"), (firmware,
        "20250310-149", "noarch"),
        ("gcc", "11.4.1-3", "x86_64"), ("glibc", f"{glibc}-100", "x86_64"), ("libdrm", "2.4.117-1", "x86_64"), ("libstdc++",
        "11.4.1-3", "x86_64"),
        ("make", "4.3-8", "x86_64"), ("pciutils", "3.7.0-5", "x86_64"), ("python3", f"{python}.18-3", "x86_64"), ("systemd",
        "252-32", "x86_64"),
        ("mokutil", "0.6.0-4", "x86_64"),
    ]  # fmt: skip
    if family == "el":
        rows.append(("epel-release", "9-7" if ident != "ol" else "1.0-4", "noarch"))
    # dkms is not the distribution's own on EL: it comes from EPEL.
    return tuple(
        Package(name, text, arch, "installed", "Fedora Project" if family == "el" and name == "dkms" else vendor)
        for name, text, arch in rows
    )


_VENDORS = {"rhel": "Red Hat, Inc.", "rocky": "Rocky Enterprise Software Foundation", "almalinux": "AlmaLinux",
"ol": "Oracle America",
            "centos": "CentOS", "sles": "SUSE LLC <https://www.suse.com/>", "azurelinux": "Microsoft Corporation",
            "fedora": "Fedora Project"}  # fmt: skip


def base_packages(host: Resolved) -> tuple[Package, ...]:
    """What the distribution installs, with kernel packages of the running kernel (a container and WSL have none)."""
    d = host.distro
    own_kernel = not (host.container or host.wsl)
    if d.deb:
        extra = (
            bool(host.driver and host.driver.file)
            and d.id != "debian"
            and host.kernel.endswith(("-generic", "-aws", "-azure", "-gcp"))
        )
        rows = _deb_base(d.id, d.version, host.kernel, d.python, d.glibc, extra, host.spec.machine.uefi and own_kernel)
        return rows if own_kernel else tuple(p for p in rows if not p.name.startswith(("linux-", "dkms", "firmware-")))
    if d.rpm:
        rows = _rpm_base(d.family, d.id, _VENDORS.get(d.id, d.name), host.kernel, d.python, d.glibc, d.tag)
        return rows if own_kernel else tuple(p for p in rows if not p.name.startswith(("kernel", "linux-", "dkms", "mokutil")))
    if d.family == "arch":
        names = {"linux": host.kernel.replace("-arch", ".arch"), "linux-headers": host.kernel.replace("-arch", ".arch"),
        "glibc": f"{d.glibc}-1",
                 "linux-firmware-amdgpu": "20251111-1", "python": f"{d.python}.7-1", "gcc-libs": "15.2.1-1", "systemd": "258-1",
                 "libdrm": "2.4.125-1"}  # fmt: skip
        return tuple(Package(n, v, "x86_64") for n, v in names.items() if own_kernel or not n.startswith("linux"))
    return ()


@lru_cache(maxsize=4096)
def _stanza(package: Package, maintainer: str) -> str:
    arch = package.arch or "amd64"
    want = "hold" if package.hold else "deinstall" if package.state == "config-files" else "install"
    flag = "reinstreq" if package.state == "half-installed" else "ok"
    lines = [
        f"Package: {package.name}",
        f"Status: {want} {flag} {package.state}",
        "Priority: optional",
        "Section: devel",
        "Installed-Size: 1024",
    ]
    lines += [f"Maintainer: {maintainer}", f"Architecture: {arch}", f"Version: {package.version}"]
    if package.depends:
        lines.append(f"Depends: {package.depends}")
    if package.origin:
        lines.append(f"Origin: {package.origin}")
    lines.append(f"Description: {package.name}\n")
    return "\n".join(lines)


@lru_cache(maxsize=4096)
def _rpm_line(package: Package) -> str:
    epoch, colon, rest = package.version.partition(":")
    if not colon:
        epoch, rest = "0", package.version
    version, _, release = rest.rpartition("-") if "-" in rest else (rest, "", "1")
    return f"{package.name}\t{epoch}\t{version}\t{release}\t{package.arch or 'x86_64'}\t{package.vendor or '(none)'}\n"


def render_packages(out: Out, host: Resolved, extra: dict[str, Package | None]) -> None:
    """Write the database. `extra`: packages by name that replace or join the rest; None takes one away."""
    packages = {p.name: p for p in (*base_packages(host), *rocm_packages(host))}
    if not (host.container or host.wsl):
        packages.update((p.name, p) for p in _driver_packages(host))
    for name, package in extra.items():
        if package is None:
            packages.pop(name, None)
        else:
            packages[name] = package
    ordered = [packages[name] for name in sorted(packages)]
    d = host.distro
    if d.deb:
        own = "Ubuntu Developers <devel@example.org>" if d.ubuntu_codename else "Debian Maintainers <devel@example.org>"
        out.file(
            "/var/lib/dpkg/status",
            "\n".join([_stanza(p, "ROCm Maintainer <rocm@amd.com>" if p.vendor == AMD else own) for p in ordered]),
        )
    elif d.rpm:
        path = "/usr/lib/sysimage/rpm" if d.family in ("suse", "fedora") else "/var/lib/rpm"
        out.binary(f"{path}/rpmdb.sqlite")
        if path != "/var/lib/rpm":
            out.link("/var/lib/rpm", "../../usr/lib/sysimage/rpm")
        out.command(RPM_QUERY, "/usr/bin/rpm", "".join([_rpm_line(p) for p in ordered]))
    elif d.family == "arch":
        out.file("/var/lib/pacman/local/ALPM_DB_VERSION", "9\n")
        for p in ordered:
            text = f"%NAME%\n{p.name}\n\n%VERSION%\n{p.version}\n\n%ARCH%\n{p.arch or 'x86_64'}\n\n%DESC%\n{p.name}\n\n"
            out.file(f"/var/lib/pacman/local/{p.name}-{p.version}/desc", text)
