"""Kernel modules: loaded, built in, blacklisted; and amdgpu in particular.

/sys/module/NAME decides whether a driver is there (it may be built in); /sys/module/amdgpu/version exists only
for the DKMS driver (rules.md 8).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Blacklist:
    """A reason why a module is not loaded by itself: `source` is a file (with line) or "/proc/cmdline"."""

    module: str
    source: str
    line: str


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module file of the running kernel: `kind` is dkms (updates/dkms, extra, weak-updates) or inbox (kernel/...)."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Module:
    """One module by name. `kind` is builtin | dkms | inbox, None when not loaded. `parameters` from sysfs."""

    name: str
    loaded: bool
    kind: str | None
    version: str | None
    srcversion: str | None
    initstate: str | None
    parameters: dict[str, str]
    files: tuple[ModuleFile, ...]
    """Files for the running kernel, from modules.dep, updates/, extra/ and kernel/."""
    builtin: bool
    """Named in modules.builtin of the running kernel."""


@dataclass(frozen=True, slots=True)
class Modinfo:
    """`modinfo amdgpu`: file name, version, signer, vermagic, and firmware names; empty fields are None."""

    filename: str | None
    version: str | None
    signer: str | None
    sig_key: str | None
    vermagic: str | None
    firmware: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModprobeConfig:
    """modprobe.d of /etc, /run, /usr/local/lib, /usr/lib, /lib, by modprobe's rule that a file in an earlier folder hides
    one of the same name in a later one."""

    blacklisted: tuple[Blacklist, ...]
    options: tuple[tuple[str, str, str], ...]
    """(module, parameter text, source)."""
    installs: tuple[tuple[str, str, str], ...]
    """(module, command, source): `install amdgpu /bin/true` keeps a module out as well."""


def gather(host: Host, name: str) -> Module:
    raise NotImplementedError


def gather_modprobe(host: Host) -> ModprobeConfig:
    raise NotImplementedError


def gather_modinfo(host: Host, name: str) -> Modinfo | None:
    """None when modinfo finds no such module (or there is no modinfo)."""
    raise NotImplementedError


def proc_modules(host: Host) -> frozenset[str]:
    """Names in /proc/modules."""
    raise NotImplementedError
