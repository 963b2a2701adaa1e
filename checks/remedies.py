"""Remedies that several checks offer, worded for this host's package manager and place.

Commands are those that AMD's or the distribution's documents give for the same step. None edits the boot loader, switches off
Secure Boot or removes a package that it does not name (rules.md 49).
"""

from __future__ import annotations

from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Fix

INSTALL = {
    "apt": ("apt-get", "install", "-y"),
    "dnf": ("dnf", "install", "-y"),
    "zypper": ("zypper", "install", "-y"),
    "tdnf": ("tdnf", "install", "-y"),
    "pacman": ("pacman", "-S", "--needed"),
}
REMOVE = {
    "apt": ("apt-get", "purge"),
    "dnf": ("dnf", "remove"),
    "zypper": ("zypper", "remove"),
    "tdnf": ("tdnf", "remove"),
    "pacman": ("pacman", "-R"),
}


LOADER_FIRST = "/etc/ld.so.conf.d/00-rocm.conf"
"""The loader reads the files of this folder in the order of their names, and takes the first folder that has a library."""


def manager(facts: Facts) -> str | None:
    """apt | dnf | zypper | tdnf | pacman, None when the distribution is unknown."""
    return known(lambda: facts.os.package_manager, None)


def recheck(*ids: str) -> tuple[str, ...]:
    """The command that shows whether a remedy worked."""
    return ("rocmdoctor", "check", "--only", ",".join(ids))


def install(facts: Facts, *packages: str) -> tuple[tuple[str, ...], ...]:
    """Install packages with this host's package manager; nothing when it is unknown."""
    tool = manager(facts)
    return ((*INSTALL[tool], *packages),) if tool in INSTALL else ()


def remove(facts: Facts, *packages: str) -> tuple[tuple[str, ...], ...]:
    """Remove the named packages; the package manager still asks before it does."""
    tool = manager(facts)
    return ((*REMOVE[tool], *packages),) if tool in REMOVE else ()


def write(path: str, *lines: str, add: bool = False) -> tuple[str, ...]:
    """Write a file with these lines (or `add` them to it). Everything is quoted: the shell runs nothing of it."""
    content = " ".join(map(_quoted, lines))
    return ("sh", "-c", f'printf "%s\\n" {content} {">>" if add else ">"} {_quoted(path) if _special(path) else path}')


def replace(path: str, old: str, new: str, on: str = "") -> tuple[str, ...]:
    """Replace a text in a file, in the lines that hold `on`; () for texts that are not plain."""
    if not old or not f"{old}{new}{on}".isprintable():
        return ()
    by = "".join(f"\\{c}" if c in "\\&|" else c for c in new)
    return ("sed", "-i", (f"\\|{_pattern(on)}|" if on else "") + f"s|{_pattern(old)}|{by}|", path)


def _pattern(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\.*[]^$|" else c for c in text)


def _quoted(text: str) -> str:
    """In double quotes, for a shell: readable inside of the single quotes that the report puts around the command."""
    return '"' + "".join(f"\\{c}" if c in '\\"$`' else c for c in text) + '"'


def _special(path: str) -> bool:
    return not path.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()


def comment_out(path: str, pattern: str) -> tuple[str, ...]:
    """Put a # before the lines of a file that match an extended regular expression of ours."""
    return ("sed", "-i", "-E", f"/{pattern}/s/^/# /", path)


def unset(facts: Facts, variable: str, title: str, *ids: str) -> Fix:
    """Unset a variable: in this session, and in the start-up files that set it. Without such a file it is for the reader to find
    what sets it (a compose file, a service, a manifest), and the command helps this session alone."""
    files = tuple(dict.fromkeys(s.file for s in known(lambda: facts.environment.set_in(variable), ()) if s.file.startswith("/")))
    root = any(not path.startswith(("/home/", "/root/")) for path in files)
    return Fix(
        title + ("" if files else "; also where it is set (a service, compose file, module or profile)"),
        (*(comment_out(path, rf"^\s*(export\s+|setenv\s+)?{variable}\b") for path in files), ("unset", variable)),
        needs=(*(("root",) if root else ()), *(("relogin",) if files else ())),
        verify=recheck(*ids),
    )


def sentence(text: str) -> str:
    """A reason of the matrix as a sentence: it begins with a capital where it begins with a plain word, and has its full stop."""
    text = text.strip()
    first = text.partition(" ")[0]
    if first.isalpha() and first.islower() and first not in ("amdgpu", "rocminfo", "torch", "libtorch", "gcc", "apt", "dpkg"):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."


def count(number: int, one: str, many: str = "") -> str:
    """ "1 package", "2 packages"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def headers(facts: Facts) -> tuple[str, ...]:
    """Packages with the headers of the running kernel, as AMD's install prerequisites name them."""
    release = facts.kernel.release
    tool = manager(facts)
    if tool == "apt":
        return (f"linux-headers-{release}",)
    if tool in ("dnf", "tdnf"):
        name = "kernel-uek-devel" if "uek" in release else "kernel-devel"
        return (f"{name}-{release}",)
    if tool == "zypper":
        return (f"kernel-{facts.kernel.flavour or 'default'}-devel",)
    return ()


def inbox_driver(facts: Facts) -> Fix:
    """Leave the kernel's own driver to the GPU: remove the packaged one (rules.md 10)."""
    return Fix(
        "Use the kernel's own (inbox) driver: remove amdgpu-dkms; ROCm itself stays installed",
        remove(facts, "amdgpu-dkms"),
        needs=("root", "reboot"),
        verify=recheck("amdgpu_module.*", "dkms.*"),
    )


def load_amdgpu(title: str = "Load the amdgpu driver now") -> Fix:
    return Fix(title, (("modprobe", "amdgpu"),), needs=("root",), automatic=True, verify=recheck("amdgpu_module.*", "kfd_node.*"))


def initramfs(facts: Facts) -> tuple[str, ...]:
    """The command that rebuilds the initramfs here, () when the distribution is unknown."""
    return {
        "apt": ("update-initramfs", "-u"),
        "dnf": ("dracut", "-f"),
        "zypper": ("dracut", "-f"),
        "pacman": ("mkinitcpio", "-P"),
    }.get(manager(facts) or "", ())


def log_evidence(facts: Facts, pattern: str, limit: int = 4, words: tuple[str, ...] = ()) -> tuple[Evidence, ...]:
    """The first kernel messages that match, as evidence; none when the log is unknown.

    `words`, in lower case: every match holds one of them. A log without any is not searched, and the pattern not even compiled:
    on a healthy host that is every search.
    """
    log = known(lambda: facts.kernel_log, None)
    if log is None or (words and not log.mentions(words)):
        return ()
    return tuple(Evidence(log.source, line.text) for line in log.matching(pattern)[:limit])


def said(facts: Facts, pattern: str, words: tuple[str, ...] = ()) -> bool:
    """Whether the kernel log holds a message that matches; False when the log is unknown."""
    return bool(log_evidence(facts, pattern, 1, words))


ROCM_PREREQUISITES = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html"
SYSTEM_REQUIREMENTS = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html"
USER_KERNEL_SPACE = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html"
COMPATIBILITY = "https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html"
CONTAINERS = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"
ENVIRONMENT = "https://rocm.docs.amd.com/en/latest/reference/env-variables.html"
PYTORCH = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html"
