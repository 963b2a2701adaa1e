"""DKMS: out-of-tree modules and the kernels they are built for (/var/lib/dkms, `dkms status`; dkms(8)).

The tree is MODULE/VERSION/KERNEL/ARCH/module/*.ko for what was built, and MODULE/VERSION/build/make.log for what was not;
"installed" means that the built module lies below /lib/modules/KERNEL as well. `dkms status` (a slow shell script) is asked
where the tree leaves something open.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from rocmdoctor.host import Host, UnknownFact

TREE = "/var/lib/dkms"

MAX_BUILDS = 512
MAX_LOGS = 32
MAX_ERRORS = 12
_LOG_LIMIT = 8 << 20
_MAX_ERROR_LENGTH = 400
_RANK = {"broken": 0, "added": 1, "built": 2, "installed": 3}
_INSTALL_FOLDERS = ("updates/dkms", "updates", "extra", "weak-updates")
"""Where dkms installs: Debian and Ubuntu, SUSE, RHEL and Fedora, and RHEL's links for kernels of the same ABI."""

BuildKey = tuple[str, str, "str | None", "str | None"]
"""Module, version, kernel, architecture."""
Builds = dict[BuildKey, str]


class DkmsBuild(NamedTuple):
    """`state`: added | built | installed | broken ("installed (original_module exists)" and "installed-weak from ..." are given
    as installed; broken is what dkms 3 says of a module whose source is gone).

    `kernel` is None for a module that is only added. `module` is "amdgpu" (or "rock-dkms"'s "amdgpu")."""

    module: str
    version: str
    kernel: str | None
    arch: str | None
    state: str


class DkmsLog(NamedTuple):
    """Log of a build that gave no module: /var/lib/dkms/MODULE/VERSION/{build,KERNEL/ARCH/log}/make.log. `kernel`: the one it
    was for. `errors`: its first telling lines, bounded; empty when there are none or it cannot be read."""

    path: str
    kernel: str | None
    errors: tuple[str, ...]


class Dkms(NamedTuple):
    """`available`: a dkms tree or program exists."""

    available: bool
    builds: tuple[DkmsBuild, ...] = ()
    logs: tuple[DkmsLog, ...] = ()

    def amdgpu(self) -> tuple[DkmsBuild, ...]:
        return tuple(b for b in self.builds if b.module in ("amdgpu", "rock"))


def parse_status(text: str) -> tuple[DkmsBuild, ...]:
    """Both forms: "amdgpu, 6.8.5-x, 6.8.0-45-generic, x86_64: installed" (dkms 2) and "amdgpu/6.8.5-x, ...: installed" (3)."""
    builds = []
    for line in text.splitlines():
        match = re.match(_STATUS, line.strip()[:1024], re.IGNORECASE)
        if match:
            module, version, kernel, arch, state = match.groups()
            builds.append(DkmsBuild(module, version, kernel, arch, state))
            if len(builds) == MAX_BUILDS:
                break
    return tuple(builds)


_STATUS = r"([^\s,/:]+)(?:/|,\s*)([^\s,:]+)(?:,\s*([^\s,:]+),\s*([^\s,:]+))?:\s*(added|built|installed|broken)\b"


def gather(host: Host) -> Dkms:
    """The tree of /var/lib/dkms and `dkms status` together. Raises UnknownFact when neither can be asked."""
    found: Builds = {}
    logs: list[DkmsLog] = []
    unknown: UnknownFact | None = None
    try:
        present = host.node(TREE) is not None
        certain = present and _read_tree(host, found, logs)
    except UnknownFact as exc:
        present, certain, unknown = False, False, exc
    if not certain:
        try:
            command = host.run(("dkms", "status"), timeout=15.0)
        except UnknownFact:
            if unknown:
                raise unknown from None
        else:
            if unknown and not command.found:
                raise unknown
            present = present or command.found
            for build in parse_status(command.stdout):
                _note(found, (build.module, build.version, build.kernel, build.arch), build.state.lower())
    built = {(module, version) for module, version, kernel, _ in found if kernel}
    builds = [DkmsBuild(*key, state) for key, state in found.items() if key[2] or key[:2] not in built]
    return Dkms(present, tuple(builds[:MAX_BUILDS]), tuple(logs))


def _note(found: Builds, key: BuildKey, state: str) -> None:
    if key not in found or _RANK[state] > _RANK[found[key]]:
        found[key] = state


def _read_tree(host: Host, found: Builds, logs: list[DkmsLog]) -> bool:
    """Fill `found` and `logs`; True when nothing was left open that `dkms status` could still tell."""
    certain = True
    for module in host.names(TREE):
        for version in host.names(f"{TREE}/{module}"):
            # kernel-REL-ARCH are links to the built versions, original_module is what an installation replaced.
            if len(found) >= MAX_BUILDS or version.startswith("kernel-") or version == "original_module":
                continue
            entries = host.names(f"{TREE}/{module}/{version}")
            if entries:
                found.setdefault((module, version, None, None), "added")
            for kernel in entries:
                if kernel == "build":
                    _note_log(host, f"{TREE}/{module}/{version}/build/make.log", None, logs)
                elif kernel not in ("source", "tarball", "deb", "rpm"):
                    certain &= _read_kernel(host, module, version, kernel, found, logs)
    return certain


def _read_kernel(
    host: Host,
    module: str,
    version: str,
    kernel: str,
    found: Builds,
    logs: list[DkmsLog],
) -> bool:
    certain = True
    for arch in host.names(f"{TREE}/{module}/{version}/{kernel}"):
        folder = f"{TREE}/{module}/{version}/{kernel}/{arch}"
        files = [n for n in host.names(f"{folder}/module") if ".ko" in n]
        if files:
            installed = _is_installed(host, kernel, files)
            _note(found, (module, version, kernel, arch), "installed" if installed else "built")
            certain &= installed
        else:
            _note_log(host, f"{folder}/log/make.log", kernel, logs)
    return certain


def _is_installed(host: Host, kernel: str, files: Iterable[str]) -> bool:
    wanted = {n.partition(".ko")[0] for n in files}
    for folder in _INSTALL_FOLDERS:
        try:
            names = host.names(f"/lib/modules/{kernel}/{folder}")
        except UnknownFact:
            continue
        if any(".ko" in n and n.partition(".ko")[0] in wanted for n in names):
            return True
    return False


def _note_log(host: Host, path: str, kernel: str | None, logs: list[DkmsLog]) -> None:
    if len(logs) >= MAX_LOGS:
        return
    try:
        text = host.read(path, _LOG_LIMIT)
    except UnknownFact:
        text = ""
    if text is not None:
        told, errors = parse_make_log(text)
        logs.append(DkmsLog(path, kernel or told, errors))


def parse_make_log(text: str) -> tuple[str | None, tuple[str, ...]]:
    """(kernel it was for, first telling lines) of a make.log: compiler errors and make's "***" before what merely follows."""
    match = re.search(r"make\.log for \S+ for kernel (\S{1,128})", text[:4096])
    telling = re.compile(_TELLING, re.IGNORECASE).search
    errors: dict[str, None] = {}
    for line in text.splitlines():
        if telling(line[:_MAX_ERROR_LENGTH]):
            errors.setdefault(line.strip()[:_MAX_ERROR_LENGTH])
            if len(errors) == MAX_ERRORS:
                break
    return match[1] if match else None, tuple(errors)


_TELLING = (
    r"gcc-\d+: not found"
    r"|\b(?:fatal )?error:|\bError!|\bFATAL\b|\*\*\*|bad exit status|No rule to make target|\bKilled\b|No space left"
)
