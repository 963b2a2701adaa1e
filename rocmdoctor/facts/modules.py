"""Kernel modules: loaded, built in, blacklisted; and amdgpu in particular.

/sys/module/NAME decides whether a driver is there (it may be built in); /sys/module/amdgpu/version exists only
for the DKMS driver (rules.md 8).

Sources: Linux Documentation/ABI/testing/sysfs-module, Documentation/kbuild/kbuild.rst (modules.builtin), depmod(8),
depmod.d(5) (updates, extra and weak-updates come before kernel), modinfo(8).
modprobe.d is read in `modprobe_config`.
"""

import re
from typing import NamedTuple

from rocmdoctor.facts.sysfs import attribute
from rocmdoctor.host import Host, UnknownFact

MAX_PARAMETERS = 512
_DEP_LIMIT = 16 << 20
_MODULE_FOLDERS = ("/lib/modules", "/usr/lib/modules")
_OUT_OF_TREE = ("updates/", "extra/", "weak-updates/")


class Blacklist(NamedTuple):
    """A reason why a module is not loaded by itself: `source` is a file or "/proc/cmdline", `line` the text there, `number` the
    number of the line (from 1; 0 for the command line)."""

    module: str
    source: str
    line: str
    number: int = 0


class ModuleFile(NamedTuple):
    """A module file of the running kernel: `kind` is dkms (updates/dkms, extra, weak-updates) or inbox (kernel/...)."""

    path: str
    kind: str


class Module(NamedTuple):
    """One module by name, `-` written `_`. `kind` is builtin | dkms | inbox, None when not loaded. `parameters` from sysfs."""

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


class Modinfo(NamedTuple):
    """`modinfo amdgpu`: file name, version, signer, vermagic, and firmware names; empty fields are None."""

    filename: str | None
    version: str | None
    signer: str | None
    sig_key: str | None
    vermagic: str | None
    firmware: tuple[str, ...]
    srcversion: str | None = None
    intree: bool = False


class ModprobeConfig(NamedTuple):
    """modprobe.d of /etc, /run, /usr/local/lib, /usr/lib, /lib, by modprobe's rule that a file in an earlier folder hides
    one of the same name in a later one."""

    blacklisted: tuple[Blacklist, ...]
    options: tuple[tuple[str, str, str], ...]
    """(module, parameter text, source)."""
    installs: tuple[tuple[str, str, str], ...]
    """(module, command, source): `install amdgpu /bin/true` keeps a module out as well."""
    unreadable: tuple[str, ...] = ()
    """Files and folders that could not be read: what they say is unknown."""


def gather(host: Host, name: str) -> Module:
    """The module as the running kernel has it. Raises UnknownFact when neither /sys/module nor /proc/modules can be read."""
    name = name.replace("-", "_")
    folder = f"/sys/module/{name}"
    base = _module_folder(host)
    builtin = base is not None and _is_builtin(host, base, name)
    listed = _listed(host, name)
    version: str | None = None
    version_told = False
    try:
        loaded = host.node(folder) is not None or bool(listed) or builtin
        version = attribute(host, f"{folder}/version")
        version_told = True
    except UnknownFact:
        if listed is None:
            raise
        loaded = listed or builtin
    files = _files(host, base, name) if base else ()
    if builtin and not listed:
        kind = "builtin"
    elif name == "amdgpu" and version_told:
        # The kernel's own amdgpu has no version. A DKMS file on disk is no proof: it may wait for the next boot.
        kind = "dkms" if version is not None else "inbox"
    else:
        kind = files[0].kind if files else "inbox"
    return Module(
        name=name,
        loaded=loaded,
        kind=kind if loaded else None,
        version=version,
        srcversion=_known(host, f"{folder}/srcversion"),
        initstate=_known(host, f"{folder}/initstate"),
        parameters=_parameters(host, folder) if loaded else {},
        files=files,
        builtin=builtin,
    )


def gather_modprobe(host: Host) -> ModprobeConfig:
    """modprobe.d and the black lists of the kernel command line; never raises, see `unreadable`."""
    from rocmdoctor.facts import modprobe_config

    return modprobe_config.gather(host)


def gather_modinfo(host: Host, name: str) -> Modinfo | None:
    """None when modinfo finds no such module (or there is no modinfo). Raises UnknownFact on a time-out."""
    command = host.run(("modinfo", name), timeout=5.0)
    if command.timed_out:
        raise UnknownFact(f"modinfo {name} did not answer in time")
    return parse_modinfo(command.stdout) if command.found and command.rc == 0 else None


def parse_modinfo(text: str) -> Modinfo:
    """Lines "field:   value"; firmware is given once per file, other fields once (the first counts)."""
    fields: dict[str, str] = {}
    firmware: list[str] = []
    for line in text.splitlines():
        field, colon, value = line.partition(":")
        if not colon:
            continue
        if field == "firmware":
            firmware.append(value.strip())
        else:
            fields.setdefault(field.strip(), value.strip())
    return Modinfo(
        filename=fields.get("filename") or None,
        version=fields.get("version") or None,
        signer=fields.get("signer") or None,
        sig_key=fields.get("sig_key") or None,
        vermagic=fields.get("vermagic") or None,
        firmware=tuple(firmware),
        srcversion=fields.get("srcversion") or None,
        intree=fields.get("intree", "").upper() == "Y",
    )


def proc_modules(host: Host) -> frozenset[str]:
    """Names in /proc/modules. Raises UnknownFact."""
    return parse_proc_modules(host.read("/proc/modules") or "")


def parse_proc_modules(text: str) -> frozenset[str]:
    """The first word of each line ("amdgpu 17211392 23 - Live 0x..."); `lsmod` output too, without its heading."""
    names = (line.split(None, 1)[0] for line in text.splitlines() if line.strip())
    return frozenset(n for n in names if n != "Module")


def module_file_kind(path: str) -> str:
    """dkms or inbox, by the folder below /lib/modules/RELEASE."""
    relative = re.sub(r"^.*/lib/modules/[^/]*/", "", path)
    return "dkms" if relative.startswith(_OUT_OF_TREE) else "inbox"


def _listed(host: Host, name: str) -> bool | None:
    try:
        return name in proc_modules(host)
    except UnknownFact:
        return None


def _module_folder(host: Host) -> str | None:
    """/lib/modules/RELEASE of the running kernel, None when it is not there (a container) or cannot be told."""
    try:
        release = host.uname.release
        return next((f"{f}/{release}" for f in _MODULE_FOLDERS if host.node(f"{f}/{release}")), None)
    except UnknownFact:
        return None


def _is_builtin(host: Host, base: str, name: str) -> bool:
    try:
        text = host.read(f"{base}/modules.builtin") or ""
    except UnknownFact:
        return False
    return any(f"/{n}.ko" in text for n in _spellings(name)) and name in {
        line.rpartition("/")[2].partition(".ko")[0].replace("-", "_") for line in text.splitlines()
    }


def _files(host: Host, base: str, name: str) -> tuple[ModuleFile, ...]:
    """Files of a module: first the one that modules.dep names (modprobe takes it), then others, out-of-tree ones first."""
    found = _by_modules_dep(host, base, name)
    for spelling in _spellings(name):
        for folder in ("updates/dkms", "updates", "extra", "extra/*", "weak-updates", "weak-updates/*", f"kernel/{_IN_KERNEL}"):
            try:
                found.extend(p for p in host.glob(f"{base}/{folder}/{spelling}.ko*") if _is_module(p, spelling))
            except UnknownFact:
                continue
    return tuple(ModuleFile(path, module_file_kind(path)) for path in dict.fromkeys(found))


_IN_KERNEL = "drivers/gpu/drm/amd/amdgpu"


def _by_modules_dep(host: Host, base: str, name: str) -> list[str]:
    try:
        text = host.read(f"{base}/modules.dep", _DEP_LIMIT) or ""
        paths = parse_modules_dep(text, name)
        # modules.dep may be older than what a package manager has removed since.
        return [path for path in (p if p.startswith("/") else f"{base}/{p}" for p in paths) if host.node(path)]
    except UnknownFact:
        return []


def parse_modules_dep(text: str, name: str) -> list[str]:
    """Paths of a module's own lines in modules.dep ("kernel/.../amdgpu.ko.zst: kernel/.../drm.ko.zst ...")."""
    paths = []
    for spelling in _spellings(name):
        start = 0
        # The file has thousands of lines; only those with the name are looked at.
        while (at := text.find(f"{spelling}.ko", start)) >= 0:
            start = at + 1
            begin = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            line = text[begin : end if end >= 0 else len(text)]
            path = line.partition(":")[0]
            if begin + len(path) > at and _is_module(path, spelling):
                paths.append(path.strip())
            start = max(start, begin + len(line))
    return list(dict.fromkeys(paths))


def _is_module(path: str, spelling: str) -> bool:
    return re.fullmatch(r"\.ko(\.(gz|xz|zst))?", path.rpartition("/")[2].removeprefix(spelling).strip()) is not None


def _spellings(name: str) -> tuple[str, ...]:
    """amd_sched is the module, amd-sched.ko may be its file."""
    return (name, name.replace("_", "-")) if "_" in name else (name,)


def _parameters(host: Host, folder: str) -> dict[str, str]:
    try:
        names = host.names(f"{folder}/parameters")[:MAX_PARAMETERS]
    except UnknownFact:
        return {}
    found = {}
    for name in names:
        value = _known(host, f"{folder}/parameters/{name}")
        if value is not None:
            found[name] = value
    return found


def _known(host: Host, path: str) -> str | None:
    try:
        return attribute(host, path)
    except UnknownFact:
        return None
