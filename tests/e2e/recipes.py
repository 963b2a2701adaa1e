"""AMD's recipes typed by hand, for tests of the repositories themselves: what its pages tell a person to do."""

from __future__ import annotations

from tests.e2e.install_case import InstallCase
from tests.e2e.root import Done

PIN = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
_RADEON = "https://repo.radeon.com"
_GPGKEY = f"{_RADEON}/rocm/rocm.gpg.key"


def short(version: str) -> str:
    """A trailing .0 is dropped in directories."""
    return version.removesuffix(".0") if version.count(".") == 2 else version


def fetch_key(case: InstallCase) -> None:
    """The apt keyring, from the key at AMD's address."""
    case.shell(f"mkdir -p -m 0755 /etc/apt/keyrings && curl -fsS {_GPGKEY} | gpg --dearmor > /etc/apt/keyrings/rocm.gpg").ok()


def apt(case: InstallCase, rocm: str, driver: str, *, pin: bool = True) -> None:
    """rocm.list, amdgpu.list, the key and the pin; nothing is fetched but the key."""
    fetch_key(case)
    suite, signed = case.distro.suite, "[arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg]"
    lines = [f"deb {signed} {_RADEON}/rocm/apt/{short(rocm)} {suite} main"]
    if rocm.startswith("7"):
        lines.append(f"deb {signed} {_RADEON}/graphics/{short(rocm)}/ubuntu {suite} main")
    case.write("/etc/apt/sources.list.d/rocm.list", "\n".join(lines) + "\n")
    case.write("/etc/apt/sources.list.d/amdgpu.list", f"deb {signed} {_RADEON}/amdgpu/{short(driver)}/ubuntu {suite} main\n")
    if pin:
        case.write("/etc/apt/preferences.d/rocm-pin-600", PIN)


def _section(ident: str, url: str) -> str:
    return f"[{ident}]\nname={ident}\nbaseurl={url}\nenabled=1\npriority=50\ngpgcheck=1\ngpgkey={_GPGKEY}\n\n"


def dnf(case: InstallCase, rocm: str, driver: str) -> None:
    """EPEL, CodeReady Builder and the .repo files."""
    case.shell(
        """
        subscription-manager repos --enable codeready-builder-for-rhel-9-x86_64-rpms
        dnf -y install https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
        """
    ).ok()
    minor = case.distro.version
    case.write("/etc/yum.repos.d/amdgpu.repo", _section("amdgpu", f"{_RADEON}/amdgpu/{short(driver)}/el/{minor}/main/x86_64/"))
    text = _section("rocm", f"{_RADEON}/rocm/el9/{short(rocm)}/main")
    if rocm.startswith("7"):
        text += _section("amdgraphics", f"{_RADEON}/graphics/{short(rocm)}/el/{minor}/main/x86_64/")
    case.write("/etc/yum.repos.d/rocm.repo", text)


def zypper(case: InstallCase, rocm: str, driver: str) -> None:
    """The modules, the Perl project of the Open Build Service and the .repo files."""
    version = case.distro.version
    case.shell(
        f"""
        for module in sle-module-desktop-applications sle-module-development-tools PackageHub; do
            SUSEConnect -p $module/{version}/x86_64
        done
        zypper addrepo https://download.opensuse.org/repositories/devel:/languages:/perl/{version}/devel:languages:perl.repo
        """
    ).ok()
    driver_url = f"{_RADEON}/amdgpu/{short(driver)}/sle/{version}/main/x86_64/"
    case.write("/etc/zypp/repos.d/amdgpu.repo", _section("amdgpu", driver_url))
    text = _section("rocm", f"{_RADEON}/rocm/zyp/{short(rocm)}/main")
    if rocm.startswith("7"):
        text += _section("amdgraphics", f"{_RADEON}/graphics/{short(rocm)}/sle/{version}/main/x86_64/")
    case.write("/etc/zypp/repos.d/rocm.repo", text)


def set_up(case: InstallCase, rocm: str, driver: str) -> None:
    """The repositories by the case's package manager."""
    {"deb": apt, "el": dnf, "suse": zypper}[case.family](case, rocm, driver)


def refresh(case: InstallCase) -> Done:
    """Fetch the indexes."""
    command = {"deb": "apt-get update", "el": "dnf -y makecache", "suse": "zypper -n --gpg-auto-import-keys refresh"}
    return case.shell(command[case.family])


def install(case: InstallCase, *packages: str) -> Done:
    """Install packages without a question."""
    command = {
        "deb": "DEBIAN_FRONTEND=noninteractive apt-get install -y",
        "el": "dnf -y install",
        "suse": "zypper -n --gpg-auto-import-keys install",
    }
    return case.shell(f"{command[case.family]} {' '.join(packages)}")


def remove(case: InstallCase, *packages: str) -> Done:
    """Remove packages and what only they needed."""
    command = {"deb": "apt-get autoremove -y --purge", "el": "dnf -y remove", "suse": "zypper -n remove --clean-deps"}
    return case.shell(f"{command[case.family]} {' '.join(packages)}")
