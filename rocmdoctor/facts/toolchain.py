"""The development set-up: the gcc that ROCm's clang takes its C++ headers from, device libraries, HIP headers, build variables.

Sources: clang's driver (Gnu.cpp GCCInstallationDetector: the highest version among folders with crtbegin.o; AMDGPU.cpp
RocmInstallationDetector: amdgcn/bitcode), hipcc's documentation of its variables.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.facts.components import clang_version

if TYPE_CHECKING:
    from rocmdoctor.facts.rocm import RocmInstall
    from rocmdoctor.host import Host

TARGET_VARIABLES = ("PYTORCH_ROCM_ARCH", "HCC_AMDGPU_TARGET", "AMDGPU_TARGETS", "GPU_TARGETS")
"""Lists of gfx targets that builds read: PyTorch extensions; hipcc (before ROCm 5.3 and, deprecated, after); CMake projects."""

PATH_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH")
"""Folders that hipcc, clang and CMake take from the environment."""

MAX_TARGETS = 256

_VERSION = r"\d{1,4}(?:\.\d{1,4}){0,2}"
_TARGET = r"gfx(?:\d{1,2}(?:-\d)?-generic|[0-9a-f]{3,5})"
_SPLIT = r"[\s,;]+"


class Gcc(NamedTuple):
    """A gcc that clang counts (its folder holds crtbegin.o). `version` is the folder's name ("12"); `headers` the folder with the
    C++ headers of that version, None when they are not installed."""

    version: str
    path: str
    headers: str | None


class Compiler(NamedTuple):
    """The compiler of one install. `clang` None: there is none. `version`: of its resource folder, None when that is not there.

    `device_libraries`: the folder with the *.bc files; `empty_device_folders`: such folders without them. `hip_headers`: None
    where nothing tells (no include folder)."""

    root: str
    hipcc: bool
    clang: str | None
    version: str | None
    device_libraries: str | None
    empty_device_folders: tuple[str, ...]
    hip_headers: bool | None

    @property
    def complete_folder(self) -> bool:
        """The resource folder is there, so that this install shows what a real one shows."""
        return self.version is not None


class Targets(NamedTuple):
    """A variable with build targets. `targets` as written, with features ("gfx90a:xnack-"); `unread`: words that are none."""

    variable: str
    value: str
    targets: tuple[str, ...]
    unread: tuple[str, ...]


class Toolchain(NamedTuple):
    """`gccs`: newest first, so the first is the one that clang takes. `compiler`: of the active install, None without one."""

    gccs: tuple[Gcc, ...]
    compiler: Compiler | None


def gather(host: "Host", install: "RocmInstall | None") -> Toolchain:
    """`install` is the active ROCm. Raises UnknownFact where the folders of gcc cannot be listed."""
    return Toolchain(find_gccs(host), _compiler(host, install) if install else None)


def find_gccs(host: "Host") -> tuple[Gcc, ...]:
    """Every gcc under /usr and /opt/rh (gcc-toolset) that clang would consider for this machine, the highest version first."""
    machine = known(lambda: host.uname.machine, "x86_64")
    found = []
    for prefix in ("/usr", *host.glob("/opt/rh/*/root/usr")):
        for lib in ("lib", "lib64"):
            for triple in host.names(f"{prefix}/{lib}/gcc"):
                if not triple.startswith(f"{machine}-") or "linux" not in triple:
                    continue  # cross compilers
                folder = f"{prefix}/{lib}/gcc/{triple}"
                for name in host.names(folder):
                    if re.fullmatch(_VERSION, name) and host.node(f"{folder}/{name}/crtbegin.o"):
                        found.append(Gcc(name, f"{folder}/{name}", _headers(host, prefix, f"{folder}/{name}", name)))
    found.sort(key=lambda g: versions.key(g.version), reverse=True)
    return tuple(found)


def _headers(host: "Host", prefix: str, folder: str, version: str) -> str | None:
    """Debian, Fedora, SUSE and Arch keep the headers in /usr/include/c++/VERSION, Gentoo beside gcc."""
    major = version.partition(".")[0]
    for path in (f"{prefix}/include/c++/{version}", f"{prefix}/include/c++/{major}", f"{folder}/include/g++-v{major}"):
        if host.node(f"{path}/cmath"):
            return path
    return None


def _compiler(host: "Host", install: "RocmInstall") -> Compiler:
    root, clang = install.root, install.clang
    version = clang_version(host, clang) if clang else None
    folders = _device_folders(root, clang, version)
    nothing: tuple[str, ...] = ()
    filled, empty = None, []
    for folder in folders:
        node = known(partial(host.node, folder), None)
        if node is None or node.type != "dir":
            continue
        if any(n.endswith(".bc") for n in known(partial(host.names, folder), nothing)):
            filled = filled or folder
        else:
            empty.append(folder)
    return Compiler(root, "hipcc" in install.tools, clang, version, filled, tuple(empty), _hip_headers(host, root))


def _device_folders(root: str, clang: str | None, version: str | None) -> tuple[str, ...]:
    """Where clang looks, relative to ROCm and to itself. TheRock keeps them in lib/llvm/amdgcn (legacy-rocm-build #5773)."""
    folders = [f"{root}/amdgcn/bitcode", f"{root}/lib/amdgcn/bitcode", f"{root}/lib64/amdgcn/bitcode", f"{root}/lib/bitcode"]
    if clang:
        llvm = clang.rpartition("/bin/")[0]
        folders += [f"{llvm}/amdgcn/bitcode", f"{llvm}/lib/amdgcn/bitcode"]
        if version:
            folders += [f"{llvm}/lib/clang/{version}/lib/amdgcn/bitcode", f"{llvm}/lib/clang/{version}/amdgcn/bitcode"]
    return tuple(folders)


def _hip_headers(host: "Host", root: str) -> bool | None:
    nothing: tuple[str, ...] = ()
    folders = (f"{root}/include", f"{root}/hip/include")
    if any(known(partial(host.node, f"{f}/hip/hip_runtime.h"), None) for f in folders):
        return True
    return False if any(known(partial(host.names, f), nothing) for f in folders) else None


def read_targets(env: Mapping[str, str]) -> tuple[Targets, ...]:
    """The build target variables that hold something. Commas, semicolons and blanks separate, as CMake and PyTorch read it."""
    found = []
    for variable in TARGET_VARIABLES:
        value = env.get(variable, "")
        words = [w for w in re.split(_SPLIT, value.strip(" \"'")) if w][:MAX_TARGETS]
        if words:
            names = [w.partition(":")[0].lower() for w in words]
            good = tuple(w for w, n in zip(words, names, strict=True) if re.fullmatch(_TARGET, n))
            found.append(Targets(variable, value, good, tuple(w for w in words if w not in good)))
    return tuple(found)


def target_covers(target: str, gfx: str, features: str = "") -> bool:
    """Whether code for `target` ("gfx90a:xnack-", "gfx11-generic") runs on a GPU of `gfx` in a mode like "sramecc+:xnack-".

    A generic target covers its family (LLVM AMDGPUUsage, "Generic processors"); a feature that is not named fits either mode.
    """
    name, _, wanted = target.lower().partition(":")
    if name.endswith("-generic"):
        if not _in_generic(name.removesuffix("-generic"), gfx):
            return False
    elif name != gfx:
        return False
    modes = {mode[:-1]: mode[-1] for mode in features.split(":") if mode[-1:] in ("+", "-")}
    return all(modes.get(f[:-1], f[-1]) == f[-1] for f in wanted.split(":") if f[-1:] in ("+", "-"))


def _in_generic(family: str, gfx: str) -> bool:
    """gfx9 is gfx900 to gfx90c without gfx908 and gfx90a; gfx9-4 is gfx94x and gfx950; then gfx10-1, gfx10-3, gfx11, gfx12."""
    if family == "gfx9":
        return gfx in ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c")
    if family == "gfx9-4":
        return gfx.startswith(("gfx94", "gfx95"))
    if family == "gfx12":
        return gfx.startswith("gfx120")
    return gfx.startswith(family.replace("-", "")) and len(gfx) == 7
