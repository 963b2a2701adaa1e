"""Distributions: os-release, default kernel, Python, package database and group numbers of a fresh install.

`distro_of("rhel", "9.4")` also answers for versions that are not in the table (the nearest row of that id lends its defaults), so
that a sweep over a newer matrix still builds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True, slots=True)
class Distro:
    """`family`: deb | el | suse | azl | fedora | arch | none. `suite` is the Ubuntu suite that AMD's apt repositories use
    here, `tag` the rpm release tag ("el9", "sles156"). `kernel`: release of the default kernel, `build` what uname -v
    says."""

    id: str
    version: str
    name: str
    pretty: str
    version_text: str
    codename: str
    id_like: str
    ubuntu_codename: str
    family: str
    kernel: str
    build: str
    python: str
    glibc: str
    video: int
    render: int
    suite: str
    tag: str
    ko: str
    """Suffix of module files: ".ko", ".ko.xz", ".ko.zst"."""
    platform: str = ""

    @property
    def os_release(self) -> str:
        quoted = self.family in ("el", "fedora", "suse")
        rows = [
            ("PRETTY_NAME", f'"{self.pretty}"'),
            ("NAME", f'"{self.name}"'),
            ("VERSION_ID", f'"{self.version}"' if self.version else ""),
            ("VERSION", f'"{self.version_text}"' if self.version_text else ""),
            ("VERSION_CODENAME", self.codename),
            ("ID", f'"{self.id}"' if quoted else self.id),
            ("ID_LIKE", f'"{self.id_like}"' if " " in self.id_like or quoted else self.id_like),
            ("PLATFORM_ID", f'"{self.platform}"' if self.platform else ""),
            ("BUILD_ID", "rolling" if self.family == "arch" else ""),
            ("UBUNTU_CODENAME", self.ubuntu_codename),
            ("HOME_URL", '"https://www.example.org/"'),
        ]
        return "".join(f"{key}={value}\n" for key, value in rows if value not in ("", '""'))

    @property
    def deb(self) -> bool:
        return self.family == "deb"

    @property
    def rpm(self) -> bool:
        return self.family in ("el", "suse", "azl", "fedora")

    @property
    def amd_base(self) -> bool:
        """AMD has packages that this one can use, its own or those of the distribution it is built on."""
        return bool(self.suite or self.tag) and self.family not in ("fedora", "arch", "none")

    @property
    def admin_group(self) -> tuple[str, int]:
        return ("sudo", 27) if self.deb else ("wheel", 10)

    @property
    def render_mode(self) -> int:
        """Mode of /dev/kfd and renderD* by the distribution's own udev rules (systemd's group-render-mode)."""
        return 0o666 if self.family in ("fedora", "arch") else 0o660

    @property
    def externally_managed(self) -> bool:
        """pip refuses the system Python (PEP 668)."""
        if self.family == "arch":
            return True
        return self.deb and tuple(map(int, self.python.split("."))) >= (3, 11)


# version | codename | VERSION | kernel | its build number | when | python | glibc | render gid | suite | ko
_UBUNTU = """
20.04|focal|20.04.6 LTS (Focal Fossa)|5.15.0-117-generic|127~20.04.1|Thu Jul 11 15:36:12 UTC 2024|3.8|2.31|109|focal|.ko
22.04|jammy|22.04.4 LTS (Jammy Jellyfish)|6.8.0-40-generic|40~22.04.3|Tue Jul 30 17:30:19 UTC 2|3.10|2.35|110|jammy|.ko
24.04|noble|24.04.3 LTS (Noble Numbat)|6.8.0-41-generic|41|Fri Aug  2 20:41:06 UTC 2024|3.12|2.39|992|noble|.ko.zst
24.10|oracular|24.10 (Oracular Oriole)|6.11.0-14-generic|15|Fri Jan 10 23:48:25 UTC 2025|3.12|2.40|992|noble|.ko.zst
25.04|plucky|25.04 (Plucky Puffin)|6.14.0-15-generic|15|Sun Apr  6 15:05:05 UTC 2025|3.13|2.41|992|noble|.ko.zst
25.10|questing|25.10 (Questing Quokka)|6.17.0-8-generic|8|Fri Nov 14 21:44:46 UTC 2025|3.13|2.42|991|noble|.ko.zst
26.04|resolute|26.04 LTS (Resolute Raccoon)|7.0.0-14-generic|14|Mon Apr 13 11:09:53 UTC 2026|3.14|2.43|991|resolute|.ko.zst
"""
_DEBIAN = """
11|bullseye|11 (bullseye)|5.10.0-32-amd64|5.10.223-1|(2024-08-10)|3.9|2.31|106|focal|.ko
12|bookworm|12 (bookworm)|6.1.0-28-amd64|6.1.119-1|(2024-11-22)|3.11|2.36|105|jammy|.ko
13|trixie|13 (trixie)|6.12.48+deb13-amd64|6.12.48-1|(2025-09-20)|3.13|2.41|992|noble|.ko.xz
"""
# minor | kernel version; the release text and Python follow from the major
_EL = {
    "8.6": "4.18.0-372.9.1.el8", "8.7": "4.18.0-425.3.1.el8", "8.8": "4.18.0-477.27.1.el8_8", "8.9": "4.18.0-513.24.1.el8_9",
    "8.10": "4.18.0-553.16.1.el8_10", "9.0": "5.14.0-70.13.1.el9_0", "9.1": "5.14.0-162.6.1.el9_1",
    "9.2": "5.14.0-284.30.1.el9_2",
    "9.3": "5.14.0-362.24.1.el9_3", "9.4": "5.14.0-427.13.1.el9_4", "9.5": "5.14.0-503.11.1.el9_5",
    "9.6": "5.14.0-570.12.1.el9_6",
    "9.7": "5.14.0-611.5.1.el9_7", "9.8": "5.14.0-687.5.1.el9_8", "10.0": "6.12.0-55.9.1.el10_0", "10.1": "6.12.0-124.8.1.el10_1",
    "10.2": "6.12.0-211.7.1.el10_2",
}  # fmt: skip
_EL_NAMES: dict[str, tuple[str, dict[str, str], str]] = {
    "rhel": ("Red Hat Enterprise Linux", {"8": "Ootpa", "9": "Plow", "10": "Coughlan"}, "fedora"),
    "rocky": ("Rocky Linux", {"8": "Green Obsidian", "9": "Blue Onyx", "10": "Red Quartz"}, "rhel centos fedora"),
    "almalinux": ("AlmaLinux", {"8": "Cerulean Leopard", "9": "Sage Margay", "10": "Purple Lion"}, "rhel centos fedora"),
    "ol": ("Oracle Linux Server", {}, "fedora"),
    "centos": ("CentOS Stream", {}, "rhel fedora"),
}  # fmt: skip
_UEK = {"8": "5.15.0-206.153.7.1.el8uek", "9": "6.12.0-103.40.4.1.el9uek", "10": "6.12.0-104.43.4.1.el10uek"}
_SUSE_KERNELS = {
    "15.4": "5.14.21-150400.24.128-default", "15.5": "5.14.21-150500.55.73-default", "15.6": "6.4.0-150600.23.17-default",
    "15.7": "6.4.0-150700.51-default", "16.0": "6.12.0-160000.5-default",
}  # fmt: skip
_FEDORA_KERNELS = {"40": "6.11.4-200", "41": "6.14.5-200", "42": "6.17.8-200", "43": "6.17.9-300", "44": "7.0.2-200"}
_DERIVED = {  # id: name, version -> (Ubuntu version, codename of its own, VERSION text)
    "linuxmint": ("Linux Mint", "ubuntu debian", {
        "21": ("22.04", "vanessa", "21 (Vanessa)"), "21.3": ("22.04", "virginia", "21.3 (Virginia)"),
        "22": ("24.04", "wilma", "22 (Wilma)"), "22.1": ("24.04", "xia", "22.1 (Xia)"), "22.2": ("24.04", "zara", "22.2 (Zara)"),
    }),
    "pop": ("Pop!_OS", "ubuntu debian", {"22.04": ("22.04", "jammy", "22.04 LTS"), "24.04": ("24.04", "noble", "24.04 LTS")}),
    "neon": ("KDE neon", "ubuntu debian", {"22.04": ("22.04", "jammy", "22.04"), "24.04": ("24.04", "noble", "24.04")}),
    "zorin": ("Zorin OS", "ubuntu debian", {"17": ("22.04", "jammy", "17"), "18": ("24.04", "noble", "18")}),
}  # fmt: skip
_PLAIN_BUILD = "#1 SMP PREEMPT_DYNAMIC Mon May 12 09:12:44 UTC 2025"


def _deb_rows(text: str) -> dict[str, list[str]]:
    rows = [line.split("|") for line in text.strip().splitlines()]
    return {row[0]: row for row in rows}


_UBUNTU_ROWS = _deb_rows(_UBUNTU)
_DEBIAN_ROWS = _deb_rows(_DEBIAN)

DISTROS = (
    *(("ubuntu", v) for v in _UBUNTU_ROWS), *(("debian", v) for v in _DEBIAN_ROWS),
    *(("rhel", v) for v in _EL), *((name, v) for name in ("rocky", "almalinux", "ol") for v in ("8.10", "9.4", "9.6", "10.0")),
    ("centos", "9"), ("centos", "10"), *(("sles", v) for v in _SUSE_KERNELS), ("opensuse-leap", "15.6"), ("opensuse-leap",
    "16.0"),
    ("opensuse-tumbleweed", "20251120"), ("azurelinux", "3.0"), *(("fedora", v) for v in _FEDORA_KERNELS), ("amzn", "2023"),
    ("arch", ""), ("cachyos", ""), ("manjaro", ""), ("void", ""), *((i, v) for i, row in _DERIVED.items() for v in row[2]),
)  # fmt: skip
"""Every (id, version) that the table knows by name."""


def _nearest(version: str, known: dict[str, object]) -> str:
    """The row of that version; else the highest one that is not above it, else the lowest one."""

    def key(text: str) -> list[int]:
        return [int(part) if part.isdigit() else 0 for part in text.split(".")]

    if version in known:
        return version
    ordered = sorted(known, key=key)
    lower = [v for v in ordered if key(v) <= key(version)]
    return (lower or ordered[:1])[-1]


def _debian_like(ident: str, version: str) -> Distro:
    rows = _UBUNTU_ROWS if ident == "ubuntu" else _DEBIAN_ROWS
    row = rows[_nearest(version, dict(rows))]
    _, codename, text, kernel, number, when, python, glibc, render, suite, ko = row
    if ident == "ubuntu":
        build = f"#{number}-Ubuntu SMP PREEMPT_DYNAMIC {when}"
    else:
        build = f"#1 SMP PREEMPT_DYNAMIC Debian {number} {when}"
    if version != row[0]:
        text = text.replace(row[0], version, 1)
    name = "Ubuntu" if ident == "ubuntu" else "Debian GNU/Linux"
    pretty = f"{name} {text.split(' (')[0]}" if ident == "ubuntu" else f"{name} {text}"
    return Distro(
        ident, version, name, pretty, text, codename, "debian" if ident == "ubuntu" else "",
        codename if ident == "ubuntu" else "", "deb",
        kernel, build, python, glibc, 44, int(render), suite, "", ko,
    )  # fmt: skip


def _el(ident: str, version: str) -> Distro:
    name, words, like = _EL_NAMES[ident]
    major = version.split(".")[0]
    kernel = _EL[_nearest(version if "." in version else f"{version}.99", dict(_EL))]
    if ident == "ol":
        kernel = _UEK.get(major, _UEK["9"])
    if ident == "rhel" and major == "10":
        like = "centos fedora"
    word = words.get(major, "")
    text = f"{version} ({word})" if word else version
    python, glibc = {"8": ("3.6", "2.28"), "9": ("3.9", "2.34")}.get(major, ("3.12", "2.39"))
    return Distro(
        ident, version, name, f"{name} {text}", text, "", like, "", "el", f"{kernel}.x86_64", _PLAIN_BUILD, python, glibc, 39,
        105,
        "", f"el{major}", ".ko.xz", f"platform:el{major}",
    )  # fmt: skip


def _suse(ident: str, version: str) -> Distro:
    if ident == "opensuse-tumbleweed":
        return Distro(
            ident, version, "openSUSE Tumbleweed", "openSUSE Tumbleweed", "", "", "opensuse suse", "", "suse", "6.17.8-1-default",
            _PLAIN_BUILD, "3.13", "2.42", 483, 482, "", "", ".ko.zst",
        )  # fmt: skip
    kernel = _SUSE_KERNELS[_nearest(version, dict(_SUSE_KERNELS))]
    major, _, pack = version.partition(".")
    if ident == "sles":
        text, name, like = (f"{major}-SP{pack}" if major == "15" else version), "SLES", "suse"
        pretty = f"SUSE Linux Enterprise Server {major} SP{pack}" if major == "15" else f"SUSE Linux Enterprise Server {version}"
    else:
        text, name, pretty, like = version, "openSUSE Leap", f"openSUSE Leap {version}", "suse opensuse"
    return Distro(
        ident, version, name, pretty, text, "", like, "", "suse", kernel, _PLAIN_BUILD, "3.6" if major == "15" else "3.13",
        "2.38" if version in ("15.6", "15.7") else "2.31" if major == "15" else "2.40", 483, 482, "",
        f"sles{version.replace('.', '')}",
        ".ko.zst",
    )  # fmt: skip


def _derived(ident: str, version: str) -> Distro:
    name, like, versions = _DERIVED[ident]
    base, codename, text = versions[_nearest(version, dict(versions))]
    pretty = f"{name} {version}" if ident != "pop" else f"{name} {text}"
    return replace(
        _debian_like("ubuntu", base),
        id=ident,
        version=version,
        name=name,
        pretty=pretty,
        version_text=text,
        codename=codename,
        id_like=like,
    )


@cache
def distro_of(ident: str, version: str = "") -> Distro:
    """The distribution by os-release's ID and VERSION_ID. Raises KeyError for an id that the table does not know."""
    if ident in ("ubuntu", "debian"):
        return _debian_like(ident, version)
    if ident in _EL_NAMES:
        return _el(ident, version)
    if ident in _DERIVED:
        return _derived(ident, version)
    if ident in ("sles", "opensuse-leap", "opensuse-tumbleweed"):
        return _suse(ident, version)
    if ident == "fedora":
        kernel = _FEDORA_KERNELS[_nearest(version, dict(_FEDORA_KERNELS))]
        return Distro(
            ident, version, "Fedora Linux", f"Fedora Linux {version} (Workstation Edition)", f"{version} (Workstation Edition)",
            "", "", "",
            "fedora", f"{kernel}.fc{version}.x86_64", _PLAIN_BUILD, "3.14" if int(version) >= 43 else "3.13", "2.41", 39, 105, "",
            f"fc{version}", ".ko.xz", f"platform:f{version}",
        )  # fmt: skip
    if ident == "azurelinux":
        return Distro(
            ident, version, "Microsoft Azure Linux", f"Microsoft Azure Linux {version}", f"{version}.20250910", "", "", "", "azl",
            "6.6.92.2-2.azl3", _PLAIN_BUILD, "3.12", "2.38", 39, 105, "", "azl3", ".ko.xz",
        )  # fmt: skip
    if ident == "amzn":
        return Distro(
            ident, version, "Amazon Linux", f"Amazon Linux {version}", version, "", "fedora", "", "fedora",
            "6.1.112-124.190.amzn2023.x86_64",
            _PLAIN_BUILD, "3.9", "2.34", 39, 105, "", "amzn2023", ".ko.xz", "platform:al2023",
        )  # fmt: skip
    if ident in ("arch", "cachyos", "manjaro"):
        name = {"arch": "Arch Linux", "cachyos": "CachyOS Linux", "manjaro": "Manjaro Linux"}[ident]
        kernel = {"arch": "6.17.9-arch1-1", "cachyos": "6.17.9-2-cachyos", "manjaro": "6.12.60-1-MANJARO"}[ident]
        return Distro(
            ident, version, name, name, "", "", "" if ident == "arch" else "arch", "", "arch", kernel,
            "#1 SMP PREEMPT_DYNAMIC Mon, 24 Nov 2025 15:21:09 +0000", "3.13", "2.42", 985, 989, "", "", ".ko.zst",
        )  # fmt: skip
    if ident == "void":
        return Distro(
            ident, version, "Void", "Void Linux", "", "", "", "", "none", "6.12.58_1", _PLAIN_BUILD, "3.13", "2.41", 12, 995, "",
            "",
            ".ko.zst",
        )  # fmt: skip
    raise KeyError(f"no distribution {ident!r} in the host builder's table")
