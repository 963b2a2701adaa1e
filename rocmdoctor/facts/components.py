"""Versions of ROCm's parts, one by one: from the package database, the names of the libraries' files, and Python wheels.

A library of AMD's packages carries the release in its file name ("librocblas.so.4.2.60200" is rocBLAS 4.2 of ROCm 6.2.0), and so
does the version of its package ("4.2.0.60200-66~22.04"). No file is opened but two small text files.
"""

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.facts.component_parts import PARTS, Part
from rocmdoctor.facts.release_stamps import stamp

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import Package, PackageDb
    from rocmdoctor.facts.pythons import PythonEnv
    from rocmdoctor.facts.rocm import RocmInstall
    from rocmdoctor.host import Host


class Component(NamedTuple):
    """One part in one place. `root` is the install's folder, or the wheel's. `version` is the part's own, None when unknown;
    `release` the ROCm release it belongs to. `package` is "name version" of the package or distribution that brought it.
    `soname`: the number behind .so ("4"). `path`: the file, None for a part that a database knows and no folder shows."""

    name: str
    group: str
    root: str
    version: str | None
    release: str | None
    package: str | None
    path: str | None
    soname: str | None = None
    wheel: bool = False


_SDK = r"_rocm_sdk_(core|libraries|devel)"
_HIP_VERSION = re.compile(r"^HIP_VERSION_(MAJOR|MINOR|PATCH)=(\d{1,8})\s*$", re.MULTILINE)
_NUMBERS = r"\d{1,8}(?:\.\d{1,8}){0,4}"


def upstream(version: str) -> str:
    """A package's own version without packaging and stamp: "4.2.0.60200-66~22.04" is "4.2.0", "5.7.1-3build1" is "5.7.1"."""
    plain = re.split(r"[-~+]", version, maxsplit=1)[0]
    return plain.rpartition(".")[0] if stamp(version) and plain.count(".") else plain


def file_version(names: tuple[str, ...], library: str) -> tuple[str | None, str | None, str | None]:
    """(version, ROCm release, soname) that the file names of one library tell: the longest one tells most.

    "librocblas.so.4.2.60200" is ("4.2", "6.2.0", "4"); "librocblas.so.4" tells the soname alone.
    """
    start = f"{library}.so."
    numbers = [n[len(start) :] for n in names if n.startswith(start) and re.fullmatch(_NUMBERS, n[len(start) :])]
    if not numbers:
        return None, None, None
    longest = max(numbers, key=lambda n: (n.count("."), n))
    soname = longest.partition(".")[0]
    release = stamp(longest)
    plain = longest.rpartition(".")[0] if release else longest
    return (plain if "." in plain else None), release, soname


def gather(
    host: "Host", installs: "tuple[RocmInstall, ...]", packages: "PackageDb | None", env: "PythonEnv | None"
) -> tuple[Component, ...]:
    """Every part that is there, in order of layer: the active install's, those of the others, and the wheel's of `env`.

    Raises UnknownFact where a folder of an install cannot be listed. `packages` None: unknown.
    """
    found: list[Component] = []
    for install in sorted(installs, key=lambda i: not i.active):
        if not install.hollow and install.origin != "wheel":
            found += _of_install(host, install, packages)
    if env is not None:
        found += _of_wheels(host, env)
    return tuple(found)


def _of_install(host: "Host", install: "RocmInstall", packages: "PackageDb | None") -> list[Component]:
    names = _library_names(host, install)
    parts = []
    for part in PARTS:
        package = _package(part, install, packages)
        here = _is_here(part, install)
        if not here and (package is None or not _own_package(part, package, install)):
            continue
        # A package of another release has put its files elsewhere: it is shown, so that the difference can be seen.
        told = file_version(names, part.library) if part.library else (None, None, None)
        own = upstream(package.version) if package else None
        if here and part.name == "HIP":
            own = _hip_version(host, install.root) or own
        elif here and part.name == "LLVM" and install.clang:
            own = own or clang_version(host, install.clang)
        release = package.rocm_release if package else None
        parts.append(
            Component(
                part.name,
                part.group,
                install.root,
                own or told[0],
                release or told[1],
                f"{package.name} {package.full_version}" if package else None,
                _path(part, install) if here else None,
                told[2],
            )
        )
    return parts


def _own_package(part: Part, package: "Package", install: "RocmInstall") -> bool:
    """A package that is there for this part, and not one that merely held it in some releases (hipcc in hip-dev)."""
    return install.origin != "amd-package" or package.name.startswith(part.packages[0])


def _is_here(part: Part, install: "RocmInstall") -> bool:
    if part.name == "LLVM":
        return install.clang is not None
    if part.program:
        return part.program in install.tools
    return f"{part.library}.so" in install.libraries


def _path(part: Part, install: "RocmInstall") -> str | None:
    if part.name == "LLVM":
        return install.clang
    return f"{install.root}/bin/{part.program}" if part.program else f"{install.root}/lib/{part.library}.so"


def _library_names(host: "Host", install: "RocmInstall") -> tuple[str, ...]:
    folders = [f"{install.root}/lib", f"{install.root}/lib64"]
    if install.root == "/usr":
        folders.append(f"/usr/lib/{known(lambda: host.uname.machine, 'x86_64')}-linux-gnu")
    return tuple(n for folder in folders for n in host.names(folder) if ".so." in n)


def _package(part: Part, install: "RocmInstall", packages: "PackageDb | None") -> "Package | None":
    """The package that brought a part of this install; None when the database knows none."""
    if packages is None:
        return None
    release = install.version or ""
    if install.origin == "amdrocm-package":
        line = versions.major_minor(release)
        for name in (f"{part.amdrocm}{line}", f"{part.amdrocm}{line}-*", part.amdrocm):
            found = packages.matching(name)
            if found:
                return found[0]
        return None
    if install.origin == "distro-package":
        return next((p for pattern in part.distro for p in packages.matching(pattern) if not p.from_amd), None)
    if install.origin != "amd-package":
        return None
    for name in part.packages:
        versioned = packages.get(f"{name}{release}")
        if versioned:
            return versioned
        plain = packages.get(name)
        if plain and (install.active or plain.rocm_release == release):
            return plain
    return None


def _hip_version(host: "Host", root: str) -> str | None:
    """HIP's own version from share/hip/version (bin/.hipVersion before ROCm 6): "6.2.41133"."""
    for path in (f"{root}/share/hip/version", f"{root}/bin/.hipVersion", f"{root}/hip/bin/.hipVersion"):
        text = known(partial(host.read, path, 4096), None)
        if text:
            numbers = dict(_HIP_VERSION.findall(text))
            if "MAJOR" in numbers and "MINOR" in numbers:
                return ".".join(numbers[n] for n in ("MAJOR", "MINOR", "PATCH") if n in numbers)
    return None


def clang_version(host: "Host", clang: str) -> str | None:
    """The version of a clang by its resource folder: "18" of llvm/lib/clang/18; None when that folder is not there or unknown."""
    llvm = clang.rpartition("/bin/")[0]
    nothing: tuple[str, ...] = ()
    names = [n for n in known(lambda: host.names(f"{llvm}/lib/clang"), nothing) if re.fullmatch(_NUMBERS, n)]
    return max(names, key=versions.key, default=None)


# wheels ----------------------------------------------------------------------------------------------------------


def _of_wheels(host: "Host", env: "PythonEnv") -> list[Component]:
    """The libraries that torch brings in torch/lib, or the rocm-sdk wheels beside it."""
    torch = env.torch
    if torch and torch.build == "rocm" and torch.layout == "bundled":
        whole, lib, release = f"torch {torch.version}", f"{torch.path}/lib", torch.rocm_release
        return [
            Component(p.name, p.group, lib, None, release, whole, f"{lib}/{p.library}.so", wheel=True)
            for p in PARTS
            if p.library and p.group != "tools" and f"{p.library}.so" in torch.libraries
        ]
    sdk = env.get("rocm-sdk-core")
    return _of_sdk(host, env, f"rocm-sdk-core {sdk.version}", sdk.version) if sdk else []


def _of_sdk(host: "Host", env: "PythonEnv", package: str, version: str) -> list[Component]:
    found = re.match(_NUMBERS, version)
    release = found.group() if found else None
    folders: list[str] = []
    nothing: tuple[str, ...] = ()
    for site in env.site_packages:
        names = known(partial(host.names, site), nothing)
        folders += [f"{site}/{n}" for n in names if re.match(_SDK, n) and not n.endswith(".dist-info")]
    parts = []
    for part in PARTS:
        for folder in folders:
            names = known(partial(host.names, f"{folder}/lib"), nothing)
            programs = known(partial(host.names, f"{folder}/bin"), nothing)
            told = file_version(names, part.library) if part.library else (None, None, None)
            here = bool(told[2]) or f"{part.library}.so" in names
            if part.group == "tools" or part.program:
                here = part.program in programs
            if here:
                path = f"{folder}/bin/{part.program}" if part.program else f"{folder}/lib/{part.library}.so"
                parts.append(Component(part.name, part.group, folder, told[0], release, package, path, told[2], wheel=True))
                break
    return parts


def on_path(host: "Host", program: str) -> str | None:
    """Where PATH finds a program, after all links; None when it does not, or cannot be told."""
    for folder in host.env.get("PATH", "").split(":")[:64]:
        if folder.startswith("/"):
            real = known(partial(host.resolve, f"{folder.rstrip('/')}/{program}"), None)
            if real:
                return real
    return None
