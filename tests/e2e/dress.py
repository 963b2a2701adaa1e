"""Dresses the base root as a distribution: os-release, repositories of the distribution, package databases, and stand-ins for the
programs that ask the kernel or a subscription. One read-only layer per distribution, made once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.base_root import python_version
from tests.e2e.cache import cache_of, digest
from tests.e2e.mirror import UNION, NetworkNamespace
from tests.e2e.packages import deb, distribution, rpm
from tests.e2e.packages.package import Package
from tests.e2e.packages.site import Site
from tests.e2e.root import Root
from tests.hostbuilder.distros import Distro, distro_of

DISTRIBUTIONS = (
    *("ubuntu-20.04", "ubuntu-22.04", "ubuntu-24.04", "debian-12", "debian-13"),
    *("rhel-8.10", "rhel-9.4", "rhel-9.6", "rhel-9.8", "rhel-10.0", "rocky-9.6", "almalinux-9.6", "ol-9.6"),
    *("sles-15.6", "sles-15.7", "sles-16.0"),
)
USER = "user1"
PRELOADED = Path(__file__).with_name("kernel_name.c")
_MODINFO = """\
#!/bin/sh
# modinfo NAME: what stands in the small module file, which is text here.
for last; do :; done
kernel=$(uname -r)
for folder in updates/dkms extra updates kernel; do
    file=$(find "/lib/modules/$kernel/$folder" -name "$last.ko*" 2>/dev/null | head -n 1)
    [ -n "$file" ] || continue
    printf '%-15s %s\\n' filename: "$file"
    sed -n 's/^\\([a-z]*\\)=\\(.*\\)/\\1: \\2/p' "$file" | while read -r key value; do printf '%-15s %s\\n' "$key" "$value"; done
    # every build has a number of its own, also of the same version
    build=$({ cat "$file"; readlink "/var/lib/dkms/$last/kernel-$kernel-x86_64"; } | md5sum | cut -c 1-23 | tr a-f A-F)
    printf '%-15s %s\\n' srcversion: "$build"
    printf '%-15s %s\\n' license: "GPL and additional rights" name: "$last"
    exit 0
done
echo "modinfo: ERROR: Module $last not found." >&2
exit 1
"""
_DMESG = "#!/bin/sh\nexec cat /.e2e/state/dmesg\n"
_QUIET = "#!/bin/sh\nexit 0\n"
_SUBSCRIPTION = """\
#!/bin/sh
# subscription-manager identity | repos --enable=ID | repos --disable=ID | repos --list-enabled | release
file=/etc/yum.repos.d/redhat.repo
crb=codeready-builder-for-rhel-@MAJOR@-x86_64-rpms
set_enabled() { sed -i "/^\\[$1\\]/,/^\\[/s/^enabled=.*/enabled=$2/" "$file"; }
case "$1" in
    identity) echo "system identity: 00000000-0000-0000-0000-000000000000" ;;
    repos)
        shift
        while [ $# -gt 0 ]; do
            case "$1" in
                --enable) set_enabled "$2" 1; echo "Repository '$2' is enabled for this system."; shift ;;
                --enable=*) set_enabled "${1#*=}" 1; echo "Repository '${1#*=}' is enabled for this system." ;;
                --disable) set_enabled "$2" 0; shift ;;
                --disable=*) set_enabled "${1#*=}" 0 ;;
                --crb) case "$2" in enable) set_enabled "$crb" 1 ;; disable) set_enabled "$crb" 0 ;; esac; shift ;;
                --list-enabled) grep -B9 '^enabled=1' "$file" | sed -n 's/^\\[\\(.*\\)\\]/Repo ID:   \\1/p' ;;
            esac
            shift
        done ;;
    release) echo "Release: @VERSION@" ;;
esac
"""
_SUSECONNECT = """\
#!/bin/sh
# SUSEConnect --status | --list-extensions | [-d] -p MODULE/VERSION/ARCH: enables the repositories of a module.
remove=
while [ $# -gt 0 ]; do
    case "$1" in
        -d|--de-register) remove=1 ;;
        -s|--status|--status-text)
            printf '['; comma=
            for file in /etc/zypp/repos.d/SLE-*.repo; do
                grep -q '^enabled=1' "$file" || continue
                name=${file##*/SLE-}; name=${name%.repo}
                case "$name" in PackageHub) product=$name ;; *) product=sle-module-$name ;; esac
                printf '%s{"identifier":"%s","version":"@VERSION@","arch":"x86_64","status":"Registered"}' "$comma" "$product"
                comma=,
            done
            printf ']\\n' ;;
        -p|--product)
            name=${2%%/*}; version=${2#*/}; version=${version%/*}
            name=${name#sle-module-}
            file=/etc/zypp/repos.d/SLE-$name.repo
            if [ ! -e "$file" ] || [ "$version" != "@VERSION@" ]; then
                echo "Error: Registration server returned 'No subscription with $2' (422)" >&2; exit 67
            fi
            on=1; [ -z "$remove" ] || on=0
            sed -i "s/^enabled=.*/enabled=$on/" "$file"
            echo "Successfully registered system" ;;
    esac
    shift
done
"""
_ALTERNATIVES = '#!/bin/sh\nexec /usr/bin/update-alternatives.base --admindir @DIR@ "$@"\n'
"""The base root's own program, with the folder of the distribution that is played."""


def distro(name: str) -> Distro:
    """The distribution of "ubuntu-22.04"."""
    ident, _, version = name.rpartition("-")
    return distro_of(ident, version)


def layer(cache: Path, name: str, base: Path, site: Site, network: Callable[[], NetworkNamespace]) -> Path:
    """The folder of the layer for a distribution. Making it takes a second or two."""
    key = digest(Path(__file__), PRELOADED, str(site.folder), str(base), name)
    return cache_of(cache, f"layer-{name}", key, lambda folder: _build(folder, cache, name, base, site, network())) / "files"


def _build(folder: Path, cache: Path, name: str, base: Path, site: Site, network: NetworkNamespace) -> None:
    found = distro(name)
    made = Root([base], network, mount_point=cache / "mnt", upper=folder / "files")
    try:
        _common(made, found, site, folder)
        if found.deb:
            _deb(made, found, site)
        else:
            _rpm(made, found, folder, site.keys["distribution"].armoured.decode())
    finally:
        made.close()


def _common(root: Root, found: Distro, site: Site, folder: Path) -> None:
    root.path("/etc/os-release", follow=False).unlink(missing_ok=True)
    root.write("/usr/lib/os-release", found.os_release)
    root.path("/etc/os-release", follow=False).symlink_to("../usr/lib/os-release")
    hosts = "".join(f"127.0.0.1 {host}\n" for host in (*site.hosts, UNION))
    root.write("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost ip6-localhost\n{hosts}")
    # No name server: names that the mirror does not play fail at once.
    root.write("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    authority = site.certificates.authority.read_text()
    root.write("/usr/local/share/ca-certificates/e2e.crt", authority)
    root.run(["update-ca-certificates"]).ok()
    # These are not empty on a machine, and dpkg takes an empty folder away with the last package that had files in it.
    for place in ("/opt/vendor", "/etc/modprobe.d", "/etc/udev/rules.d", "/lib/firmware"):
        root.write(f"{place}/README", "Somebody else's.\n")
    root.write("/usr/sbin/modinfo", _MODINFO, 0o755)
    root.write("/usr/bin/dmesg", _DMESG, 0o755)
    for program in ("depmod", "modprobe", "udevadm", "update-initramfs", "dracut"):
        root.write(f"/usr/sbin/{program}", _QUIET, 0o755)
    if not found.externally_managed:
        version = python_version(root.layers[-1])
        root.path(f"/usr/lib/python{version}/EXTERNALLY-MANAGED").unlink(missing_ok=True)
    _accounts(root, found)
    preload = folder / "kernel_name.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", str(preload), str(PRELOADED)], check=True)
    root.write("/.e2e/kernel_name.so", preload.read_bytes(), 0o755)
    root.write("/etc/ld.so.preload", "/.e2e/kernel_name.so\n")


def _accounts(root: Root, found: Distro) -> None:
    """The groups by the distribution's numbers, and a user who is in none of those that open the GPU."""
    admin, gid = found.admin_group
    own = {"video": found.video, "render": found.render, admin: gid, USER: 1000}
    taken = {*own, *(str(number) for number in own.values())}
    groups = [line for line in root.read("/etc/group").splitlines() if not taken.intersection(line.split(":")[:3:2])]
    groups += [f"{name}:x:{number}:{USER if name == admin else ''}" for name, number in own.items()]
    root.write("/etc/group", "\n".join(groups) + "\n")
    root.write("/etc/gshadow", "".join(f"{line.split(':')[0]}:!::{line.split(':')[3]}\n" for line in groups), 0o640)
    root.write("/etc/passwd", root.read("/etc/passwd") + f"{USER}:x:1000:1000::/home/{USER}:/bin/bash\n")
    root.write("/etc/shadow", root.read("/etc/shadow") + f"{USER}:!:20000:0:99999:7:::\n", 0o640)
    home = root.path(f"/home/{USER}")
    home.mkdir()
    os.chown(home, 1000, 1000)


# apt ---------------------------------------------------------------------------------------------------------------


def _deb(root: Root, found: Distro, site: Site) -> None:
    root.shell(
        "rm -rf /usr/bin/dnf* /usr/bin/zypper /usr/bin/rpm* /etc/dnf /etc/zypp /etc/rpm /usr/lib/rpm /var/lib/rpm "
        "/var/lib/dnf /var/cache/dnf /etc/yum.repos.d /usr/lib/python3/dist-packages/dnf"
    ).ok()
    root.write("/usr/share/keyrings/distribution.gpg", site.keys["distribution"].binary)
    where = "http://distribution.test"
    if found.id == "debian":
        root.write("/etc/debian_version", f"{found.version}.1\n")
        line = f"deb [signed-by=/usr/share/keyrings/distribution.gpg] {where}/debian {found.codename} main non-free-firmware\n"
    else:
        sid = {"20.04": "bullseye/sid", "22.04": "bookworm/sid"}.get(found.version, "trixie/sid")
        root.write("/etc/debian_version", f"{sid}\n")
        root.write("/etc/lsb-release", f"DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE={found.version}\nDISTRIB_CODENAME={found.codename}\n")
        line = f"deb [signed-by=/usr/share/keyrings/distribution.gpg] {where}/ubuntu {found.codename} main universe\n"
    root.write("/etc/apt/sources.list", line)
    root.write("/etc/apt/apt.conf.d/90e2e", 'Acquire::Retries "0";\n')
    root.write("/etc/dpkg/dpkg.cfg.d/e2e", "force-unsafe-io\n")
    root.path("/etc/apt/keyrings").mkdir(exist_ok=True)
    maintainer = distribution.DEBIAN if found.id == "debian" else distribution.UBUNTU
    kernel = distribution.deb_kernel(found, maintainer)
    _install_debs(root, [package for package in kernel if not package.name.startswith("linux-headers")])


def _install_debs(root: Root, packages: list[Package]) -> None:
    names = []
    for package in packages:
        root.write(f"/tmp/{package.name}.deb", deb.deb(package)[0])
        names.append(f"/tmp/{package.name}.deb")
    root.run(["dpkg", "--install", *names]).ok()
    root.run(["apt-mark", "manual", *(package.name for package in packages)]).ok()


# rpm ---------------------------------------------------------------------------------------------------------------


def _rpm(root: Root, found: Distro, folder: Path, key: str) -> None:
    suse = found.family == "suse"
    database = "/usr/lib/sysimage/rpm" if suse else "/var/lib/rpm"
    alternatives = "/var/lib/alternatives"
    root.shell(
        "rm -rf /usr/bin/apt* /usr/bin/dpkg* /usr/lib/apt /usr/lib/dpkg /etc/apt /etc/dpkg /var/lib/dpkg /var/lib/apt "
        "/var/cache/apt /etc/debian_version /etc/cron.daily/dpkg /usr/share/keyrings; "
        + ("rm -rf /usr/bin/dnf* /etc/dnf /var/lib/dnf /var/cache/dnf" if suse else "rm -rf /usr/bin/zypper /etc/zypp")
        + f"; mkdir -p {database} {alternatives}; mv /usr/bin/update-alternatives /usr/bin/update-alternatives.base"
    ).ok()
    root.write("/usr/sbin/update-alternatives", _ALTERNATIVES.replace("@DIR@", alternatives), 0o755)
    if not suse:
        root.path("/usr/sbin/alternatives", follow=False).symlink_to("update-alternatives")
    root.write("/etc/rpm/macros", f"%_dbpath {database}\n")
    if suse:
        root.shell("rm -rf /var/lib/rpm && ln -s ../../usr/lib/sysimage/rpm /var/lib/rpm").ok()
    installed = distribution.suse_installed(found) if suse else distribution.el_installed(found)
    files = rpm.build(installed, folder / "packages")
    for file in files:
        root.write(f"/tmp/{file.name}", file.read_bytes())
    # dpkg's rpm refuses by itself where dpkg is; it is gone here.
    root.shell("rpm --install --nosignature --nodeps /tmp/*.rpm").ok()
    (_suse if suse else _el)(root, found, key)


def _repo(ident: str, name: str, url: str, enabled: int) -> str:
    key = "file:///etc/pki/rpm-gpg/RPM-GPG-KEY-distribution"
    return f"[{ident}]\nname={name}\nbaseurl={url}\nenabled={enabled}\ngpgcheck=1\ngpgkey={key}\n\n"


def _el(root: Root, found: Distro, key: str) -> None:
    _distribution_key(root, key)
    major = found.version.partition(".")[0]
    root.write(f"/etc/pki/rpm-gpg/RPM-GPG-KEY-EPEL-{major}", key)
    root.path("/usr/src/kernels").mkdir()
    root.write("/etc/redhat-release", f"{found.name} release {found.version_text}\n")
    rows = (
        "[main]",
        "gpgcheck=1",
        "installonly_limit=3",
        "clean_requirements_on_remove=True",
        "best=True",
        "skip_if_unavailable=False",
    )
    root.write("/etc/dnf/dnf.conf", "\n".join(rows) + "\n")
    base = f"http://distribution.test/rhel/{found.version}"
    file, ids = {
        "rhel": ("redhat", (f"rhel-{major}-for-x86_64-baseos-rpms", f"rhel-{major}-for-x86_64-appstream-rpms",
                            f"codeready-builder-for-rhel-{major}-x86_64-rpms")),
        "ol": (f"oracle-linux-ol{major}", (f"ol{major}_baseos_latest", f"ol{major}_appstream", f"ol{major}_codeready_builder")),
    }.get(found.id, (found.id, ("baseos", "appstream", "crb")))  # fmt: skip
    rows_ = zip(ids, ("baseos", "appstream", "crb"), (1, 1, 0), strict=True)
    text = "".join(_repo(ident, ident, f"{base}/{name}", on) for ident, name, on in rows_)
    if found.id == "rhel":  # a subscription knows more than is wanted, disabled
        text += _repo(ids[2].replace("-rpms", "-source-rpms"), "sources", f"{base}/source", 0)
        text += _repo(ids[2].replace("-rpms", "-eus-rpms"), "extended support", f"{base}/eus", 0)
        tool = _SUBSCRIPTION.replace("@VERSION@", found.version).replace("@MAJOR@", major)
        root.write("/usr/sbin/subscription-manager", tool, 0o755)
    root.write(f"/etc/yum.repos.d/{file}.repo", text)


def _suse(root: Root, found: Distro, key: str) -> None:
    _distribution_key(root, key)
    base = f"http://distribution.test/sles/{found.version}"
    modules: tuple[tuple[str, int], ...] = (
        ("basesystem", 1),
        ("desktop-applications", 0),
        ("development-tools", 0),
        ("PackageHub", 0),
    )
    if found.version.startswith("16"):  # one product repository, and no modules
        modules = (("basesystem", 1), ("PackageHub", 0))
    for name, on in modules:
        text = _repo(f"SLE-{name}", f"SLE-{name}-Pool", f"{base}/{name.lower()}", on)
        root.write(f"/etc/zypp/repos.d/SLE-{name}.repo", text)
    root.write("/etc/products.d/SLES.prod", (
        '<?xml version="1.0" encoding="UTF-8"?>\n<product schemeversion="0">\n  <vendor>SUSE</vendor>\n  <name>SLES</name>\n'
        f"  <version>{found.version}</version>\n  <release>0</release>\n  <arch>x86_64</arch>\n"
        f"  <summary>{found.pretty}</summary>\n</product>\n"
    ))  # fmt: skip
    root.path("/etc/products.d/baseproduct", follow=False).symlink_to("SLES.prod")
    root.write("/usr/bin/SUSEConnect", _SUSECONNECT.replace("@VERSION@", found.version), 0o755)
    root.path("/usr/sbin/SUSEConnect").symlink_to("../bin/SUSEConnect")


def _distribution_key(root: Root, key: str) -> None:
    """The distribution's key is in the rpm database from the start."""
    root.write("/etc/pki/rpm-gpg/RPM-GPG-KEY-distribution", key)
    root.run(["rpm", "--import", "/etc/pki/rpm-gpg/RPM-GPG-KEY-distribution"]).ok()
