"""Package repositories of the distribution and of AMD: apt lists and deb822, yum and zypp .repo files, the pin and keyrings."""

from __future__ import annotations

from tests.hostbuilder.out import Out
from tests.hostbuilder.releases import driver_of, key, release_of
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.spec import Rocm

RADEON = "https://repo.radeon.com"
SIGNED = "[arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg]"
PIN = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
GPGKEY = f"{RADEON}/rocm/rocm.gpg.key"


def driver_dir(release: str) -> str:
    """Directory of a driver release: 30.10.0 is 30.10, 6.2.0 is 6.2; the pairs are those of the table."""
    return driver_of(release).driver.removesuffix(".0") if release.count(".") == 2 else release


def _ini(sections: list[tuple[str, str, str]], gpgkey: str, priority: str) -> str:
    return "\n".join(
        f"[{ident}]\nname={name}\nbaseurl={url}\nenabled=1\n{priority}gpgcheck=1\ngpgkey={gpgkey}\n"
        for ident, name, url in sections
    )


def _apt_driver(out: Out, host: Resolved) -> None:
    where = f"{RADEON}/amdgpu/{driver_dir(host.driver_release)}/ubuntu {host.distro.suite} main"
    out.file("/etc/apt/sources.list.d/amdgpu.list", f"deb {SIGNED} {where}\n")
    out.binary("/etc/apt/keyrings/rocm.gpg")


def _apt(out: Out, host: Resolved, tree: Rocm) -> None:
    row, suite = release_of(tree.version), host.distro.suite
    if tree.origin == "amdrocm-package":
        base = host.distro.id if host.distro.id == "debian" else "ubuntu"
        version = (
            host.distro.version if base == "debian" else {"jammy": "2204", "noble": "2404", "resolute": "2604"}.get(suite, "2004")
        )
        where = f"{base}{version}"
        if key(tree.version) >= (10,):
            out.file(
                "/etc/apt/sources.list.d/amdrocm-stable.sources",
                f"X-Repo-Id: amdrocm-stable\nTypes: deb\nURIs: https://stable.repo.amd.com/rocm/core/packages/{where}/\n"
                "Suites: stable\nComponents: main\nArchitectures: amd64\n"
                "Signed-By: /etc/apt/keyrings/amdrocm.gpg\nEnabled: yes\n",
            )
        else:
            line = f"https://repo.amd.com/rocm/packages-multi-arch/{where} stable main"
            out.file("/etc/apt/sources.list.d/rocm.list", f"deb [arch=amd64 signed-by=/etc/apt/keyrings/amdrocm.gpg] {line}\n")
        out.binary("/etc/apt/keyrings/amdrocm.gpg")
    else:
        text = f"deb {SIGNED} {RADEON}/rocm/apt/{row.short} {suite} main\n"
        if key(tree.version) >= (7,):
            text += f"deb {SIGNED} {RADEON}/graphics/{'7.2.1' if row.version == '7.2.2' else row.short}/ubuntu {suite} main\n"
        out.file("/etc/apt/sources.list.d/rocm.list", text)
        out.binary("/etc/apt/keyrings/rocm.gpg")
        if host.spec.pin:
            out.file("/etc/apt/preferences.d/rocm-pin-600", PIN)


def _yum_driver(out: Out, host: Resolved) -> None:
    d, release = host.distro, host.driver_release
    major = d.version.partition(".")[0]
    line = "el" if key(release) >= (6, 2) else "rhel"
    part = f"sle/{d.version}" if d.family == "suse" else f"{line}/{major if major == '10' else d.version}"
    url = f"{RADEON}/amdgpu/{driver_dir(release)}/{part}/main/x86_64/"
    folder = "/etc/zypp/repos.d" if d.family == "suse" else "/etc/yum.repos.d"
    out.file(f"{folder}/amdgpu.repo", _ini([("amdgpu", "amdgpu", url)], GPGKEY, "priority=50\n"))


def _yum(out: Out, host: Resolved, tree: Rocm) -> None:
    row, d = release_of(tree.version), host.distro
    major, v = d.version.partition(".")[0], key(tree.version)
    folder = "/etc/zypp/repos.d" if d.family == "suse" else "/etc/yum.repos.d"
    if tree.origin == "amdrocm-package":
        where = f"sles{major}" if d.family == "suse" else "azl3" if d.family == "azl" else f"rhel{major}"
        if v >= (10,):
            url, name = f"https://stable.repo.amd.com/rocm/core/packages/{where}/x86_64", "amdrocm-stable"
            text = _ini([(name, f"ROCm {tree.version}", url)], "https://stable.repo.amd.com/rocm/gpg/packages.gpg", "")
        else:
            url, name = f"https://repo.amd.com/rocm/packages-multi-arch/{where}/x86_64", "rocm"
            text = _ini(
                [(name, f"ROCm {tree.version}", url)],
                "https://repo.amd.com/rocm/packages-multi-arch/gpg/rocm.gpg",
                "priority=50\n",
            )
        out.file(f"{folder}/{name}.repo", text)
    else:
        if d.family == "suse":
            path = f"zyp/{row.short}/main"
        elif d.family == "azl":
            path = f"azurelinux3/{row.short}/main"
        else:
            path = f"{'el' if v >= (6, 2) else 'rhel'}{major}/{row.short}/main"
        sections = [(f"ROCm-{tree.version}" if v < (7,) else "rocm", f"ROCm{tree.version}", f"{RADEON}/rocm/{path}")]
        if v >= (7,) and d.family == "el":
            sections.append(("amdgraphics", "AMD Graphics", f"{RADEON}/graphics/{row.short}/el/{d.version}/main/x86_64/"))
        out.file(f"{folder}/rocm.repo", _ini(sections, GPGKEY, "priority=50\n"))


def _own(out: Out, host: Resolved) -> None:
    """The distribution's own sources."""
    d = host.distro
    if d.deb and d.ubuntu_codename:
        words = f"{d.ubuntu_codename} main restricted universe multiverse"
        if key(d.version) >= (24, 4) and d.id == "ubuntu":
            suites = f"{d.ubuntu_codename} {d.ubuntu_codename}-updates {d.ubuntu_codename}-security"
            out.file("/etc/apt/sources.list", "# Ubuntu sources have moved to /etc/apt/sources.list.d/ubuntu.sources\n")
            out.file(
                "/etc/apt/sources.list.d/ubuntu.sources",
                f"Types: deb\nURIs: http://archive.example.org/ubuntu/\nSuites: {suites}\n"
                "Components: main restricted universe multiverse\nSigned-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n",
            )
        else:
            updates = words.replace(" ", "-updates ", 1)
            out.file(
                "/etc/apt/sources.list",
                f"deb http://archive.example.org/ubuntu {words}\ndeb http://archive.example.org/ubuntu {updates}\n",
            )
    elif d.deb:
        components = "main contrib non-free" + ("" if key(d.version) < (12,) else "-firmware")
        text = "".join(f"deb http://archive.example.org/debian {d.codename}{s} {components}\n" for s in ("", "-updates"))
        out.file("/etc/apt/sources.list", text)
    elif d.family == "suse":
        out.file(
            "/etc/zypp/repos.d/base.repo",
            f"[base]\nname={d.pretty}\nenabled=1\nbaseurl=https://mirror.example.org/{d.id}/{d.version}/\ngpgcheck=1\n",
        )
    elif d.rpm:
        major = d.version.partition(".")[0]
        names = ("baseos", "appstream", "codeready-builder" if d.id in ("rhel", "ol") else "crb", "epel")
        text = "\n".join(
            f"[{n}]\nname={d.name} {major} - {n}\nbaseurl=https://mirror.example.org/{d.id}/{major}/{n}/\nenabled=1\ngpgcheck=1\n"
            for n in names
        )
        out.file(f"/etc/yum.repos.d/{d.id}.repo", text)


def render_repos(out: Out, host: Resolved) -> None:
    """Sources of the distribution and of AMD."""
    _own(out, host)
    trees = [t for t in host.spec.rocm if t.origin in ("amd-package", "amdrocm-package") and t.packages and t.repo]
    if trees and host.distro.amd_base:
        (_apt if host.distro.deb else _yum)(out, host, trees[0])
    driver = host.driver
    if driver and host.dkms and driver.repo and driver.packages and not host.container:
        if host.distro.deb:
            _apt_driver(out, host)
        elif host.distro.family in ("el", "suse"):
            _yum_driver(out, host)
