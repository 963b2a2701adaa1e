"""ROCm installs: /opt/rocm*, /opt/rocm/core-X.Y (TheRock), the distribution's own; versions from .info/version."""

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.facts.gfx_names import targets_in

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import PackageDb
    from rocmdoctor.host import Host

TOOLS = frozenset((
    "rocminfo", "rocm_agent_enumerator", "hipcc", "hipconfig", "rocm-smi", "amd-smi", "rocprof", "rocprofv2", "rocprofv3",
    "rocprof-compute", "rocprof-sys-run", "rocgdb", "hipify-perl", "hipify-clang", "amdclang", "amdclang++", "rocm-sdk", "clinfo",
))  # fmt: skip


class RocmInstall(NamedTuple):
    """`root` is the real folder. `origin`: amd-package | distro-package | amdrocm-package | wheel | tarball | unknown.
    `active`: the one that /opt/rocm, ROCM_PATH or PATH (first rocminfo/hipcc) leads to. `gfx`: targets in rocblas/library
    file names (None when there is no rocBLAS)."""

    root: str
    version: str | None
    origin: str
    active: bool
    gfx: frozenset[str] | None
    has_hip: bool
    """libamdhip64.so* lies in its lib (hip/lib and libhip_hcc.so* before ROCm 4)."""
    has_hsa: bool
    """libhsa-runtime64.so* lies in its lib (hsa/lib before ROCm 5)."""
    hip_soname: str | None
    """"6" of libamdhip64.so.6."""
    tools: frozenset[str]
    """Of bin/: rocminfo, hipcc, hipconfig, rocm-smi, amd-smi, rocprof, rocprofv3, rocgdb, hipify-perl, hipify-clang ..."""
    libraries: frozenset[str]
    """Library base names without version: librocblas.so, libMIOpen.so ..."""
    clang: str | None
    """Path of llvm/bin/clang or lib/llvm/bin/clang."""

    @property
    def hollow(self) -> bool:
        """A folder that an uninstall left behind: no run time and no tool. It is listed, but never active."""
        return not (self.has_hip or self.has_hsa or self.tools)


class Rocm(NamedTuple):
    """Installs by root; at most one is active. `link`: where /opt/rocm leads, None when absent or a real folder."""

    installs: tuple[RocmInstall, ...]
    link: str | None

    @property
    def active(self) -> RocmInstall | None:
        return next((i for i in self.installs if i.active), None)


_NUMBER = r"\d{1,4}(?:\.\d{1,6}){1,3}"
_FOLDER = r"(?:rocm|core)-?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)"
_SDK = r"rocm_sdk_core-(.+)\.dist-info$"
_OWN_LIBRARIES = ("libroc", "libhip", "libamd", "libhsa", "libMIOpen", "librccl", "libmigraphx")
# What tells a distribution's release, the most telling first.
_DISTRIBUTION_PACKAGES = (
    "rocm-core", "rocm-runtime", "rocm-hip", "hip-runtime-amd", "hsa-rocr", "libamdhip64-*", "libhsa-runtime64-1", "rocminfo",
)  # fmt: skip


def release_of(text: str) -> str | None:
    """The release in a version file: "6.2.0-66" is "6.2.0", "7.11.0a20260104" is "7.11.0"; None for anything else."""
    found = re.match(_NUMBER, text.strip())
    return found.group() if found else None


def _names(host: "Host", folder: str) -> tuple[str, ...]:
    """Names in a folder that merely helps: none where it is unknown."""
    return known(lambda: host.names(folder), ())


def _resolved(host: "Host", path: str) -> str | None:
    """Where an absolute path leads; None where it does not exist, is relative, or is unknown."""
    return known(lambda: host.resolve(path), None) if path.startswith("/") else None


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _version(host: "Host", root: str) -> str | None:
    """From .info/version (version-dev in older releases), else from the folder's name."""
    for name in (f"{root}/.info/version", f"{root}/.info/version-dev"):
        release = release_of(known(partial(host.read, name, 4096), None) or "")
        if release:
            return release
    found = re.match(_FOLDER, root.rpartition("/")[2])
    return found.group(1) if found else None


def _distribution_version(packages: "PackageDb | None") -> str | None:
    """The release of a distribution's ROCm: its packages carry the upstream version ("5.7.1-3", "6.3.1")."""
    if packages is None:
        return None
    found = (release_of(p.version) for pattern in _DISTRIBUTION_PACKAGES for p in packages.matching(pattern))
    return next((release for release in found if release), None)


def _origin(root: str, version: str | None, packages: "PackageDb | None") -> str:
    """Who put it there, by the package database. A database that knows no such package leaves an unpacked archive ("tarball")."""
    if packages is None or packages.kind is None:
        return "unknown"
    if root.startswith("/opt/rocm/core") and packages.matching("amdrocm*"):
        return "amdrocm-package"
    if packages.kind == "pacman":  # Arch installs its own into /opt/rocm
        owns = root == "/opt/rocm" and any(packages.has(n) for n in ("rocm-core", "hsa-rocr", "hip-runtime-amd"))
        return "distro-package" if owns else "tarball"
    release = versions.key(version) if version else None
    stamps = {p.rocm_release for p in packages.rocm}
    # Before ROCm 3 versions carried no stamp; the meta package had the release itself.
    stamps.update(release_of(p.version) for name in ("rocm-dev", "rocm-dkms") if (p := packages.get(name)))
    return "amd-package" if release and release in {versions.key(s) for s in stamps if s} else "tarball"


def _libraries(host: "Host", root: str, libs: tuple[str, ...]) -> set[str]:
    """File names of shared libraries; before ROCm 4 the run time lay in hip/lib and hsa/lib."""
    names = {n for lib in libs for n in host.names(lib) if n.startswith("lib") and ".so" in n}
    if root != "/usr" and not any(n.startswith("libhsa-runtime64.so") for n in names):
        names.update(n for lib in ("hip/lib", "hsa/lib") for n in _names(host, f"{root}/{lib}") if ".so" in n)
    return names


def _rocblas_targets(host: "Host", folders: tuple[str, ...]) -> frozenset[str] | None:
    """gfx in the file names of rocblas/library (Debian: rocblas/4.2.1/library); None when there is no such folder."""
    found: frozenset[str] | None = None
    for rocblas in folders:
        for name in _names(host, rocblas):
            if name == "library" or name[:1].isdigit():
                library = f"{rocblas}/{name}" if name == "library" else f"{rocblas}/{name}/library"
                found = (found or frozenset()) | targets_in(_names(host, library))
    return found


def _probe(host: "Host", root: str, libs: tuple[str, ...], version: str | None, origin: str) -> RocmInstall:
    """One install by listing its folders: a handful of directory reads, no file is opened."""
    names = _libraries(host, root, libs)
    sonames = [n.split(".")[2] for n in names if n.startswith("libamdhip64.so.")]
    libraries = frozenset(n[: n.index(".so") + 3] for n in names)
    if root == "/usr":
        libraries = frozenset(n for n in libraries if n.startswith(_OWN_LIBRARIES))
    gfx = _rocblas_targets(host, (*(f"{lib}/rocblas" for lib in libs), f"{root}/rocblas/lib"))
    if gfx is None and "librocblas.so" in libraries:
        gfx = frozenset()
    clangs = [f"{root}/llvm/bin/clang", *(f"{lib}/{sub}llvm/bin/clang" for lib in libs for sub in ("", "rocm/"))]
    return RocmInstall(
        root,
        version,
        origin,
        active=False,
        gfx=gfx,
        has_hip=not libraries.isdisjoint(("libamdhip64.so", "libhip_hcc.so")),
        has_hsa="libhsa-runtime64.so" in libraries,
        hip_soname=max((s for s in sonames if s.isdecimal()), key=int, default=None),
        tools=TOOLS.intersection(_names(host, f"{root}/bin")),
        libraries=libraries,
        clang=next((c for c in clangs if known(partial(host.node, c), None)), None),
    )


def _opt_roots(host: "Host") -> tuple[list[str], str | None]:
    """(real folders of installs under /opt, where the link /opt/rocm leads)."""
    roots: list[str] = []
    link = None
    for name in host.names("/opt"):
        if name != "rocm" and not name.startswith(("rocm-", "rocm_")):
            continue
        node = host.node(f"/opt/{name}", follow=False)
        real = host.resolve(f"/opt/{name}")
        if name == "rocm" and node and node.type == "link":
            link = real or node.target
        folder = host.node(real) if real else None
        if real and folder and folder.type == "dir":
            cores = [f"{real}/{n}" for n in _names(host, real) if n.startswith("core-")] if name == "rocm" else []
            roots.extend(cores or [real])
    return list(dict.fromkeys(roots)), link


def _on_path(host: "Host") -> str | None:
    """The first rocminfo or hipcc on PATH, as a real path."""
    folders = host.env.get("PATH", "").split(":")[:64]
    found = (_resolved(host, f"{folder.rstrip('/')}/{tool}") for folder in folders if folder for tool in ("rocminfo", "hipcc"))
    return next((real for real in found if real), None)


def _wheel(host: "Host", tool: str) -> RocmInstall | None:
    """ROCm from Python wheels whose rocminfo is the first on PATH: site-packages/_rocm_sdk_core of that environment."""
    for core in host.glob(f"{_parent(_parent(tool))}/lib/python3.*/site-packages/_rocm_sdk_core"):
        stamps = (re.match(_SDK, name) for name in host.names(_parent(core)))
        version = next((release_of(s.group(1)) for s in stamps if s), None)
        return _probe(host, core, (f"{core}/lib",), version, "wheel")
    return None


def _distribution(host: "Host", packages: "PackageDb | None") -> RocmInstall | None:
    """ROCm in /usr. Libraries alone are none: Debian's MPI packages pull them in on hosts that have nothing to do with ROCm."""
    if not any((_resolved(host, f"/usr/bin/{tool}") or "").startswith("/usr/") for tool in ("rocminfo", "hipcc", "hipconfig")):
        return None
    machine = known(lambda: host.uname.machine, "x86_64")
    for lib in (f"/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib"):
        if any(n.startswith(("libamdhip64.so", "libhsa-runtime64.so")) for n in _names(host, lib)):
            return _probe(host, "/usr", (lib,), _distribution_version(packages), "distro-package")
    return None


def _holder(path: str | None, installs: list[RocmInstall]) -> RocmInstall | None:
    """The install in which a real path lies."""
    inside = [i for i in installs if path and (path == i.root or path.startswith(f"{i.root}/"))]
    return max(inside, key=lambda i: len(i.root), default=None)


def _active(host: "Host", installs: list[RocmInstall], tool: str | None) -> RocmInstall | None:
    """Where /opt/rocm leads (its bin is alternatives' link for TheRock), else ROCM_PATH, else PATH, else the only one."""
    whole = [i for i in installs if not i.hollow]
    for way in ("/opt/rocm", "/opt/rocm/core", "/opt/rocm/bin", host.env.get("ROCM_PATH", "")):
        found = _holder(_resolved(host, way), whole)
        if found:
            return found
    return _holder(tool, whole) or (whole[0] if len(whole) == 1 else None)


def gather(host: "Host", packages: "PackageDb | None" = None) -> Rocm:
    """`packages` tells whose they are; without it `origin` is "unknown". Raises UnknownFact where /opt cannot be listed."""
    roots, link = _opt_roots(host)
    asked = _resolved(host, host.env.get("ROCM_PATH", ""))
    if asked and asked not in ("/", "/usr") and not any(_overlap(asked, root) for root in roots):
        roots.append(asked)
    installs = []
    for root in roots:
        version = _version(host, root)
        installs.append(_probe(host, root, (f"{root}/lib", f"{root}/lib64"), version, _origin(root, version, packages)))
    tool = _on_path(host)
    own = _distribution(host, packages)
    if own is None and tool and not _holder(tool, installs):
        own = _wheel(host, tool)
    if own:
        installs.append(own)
    active = _active(host, installs, tool)
    installs.sort(key=lambda i: (versions.key(i.root), i.root))
    return Rocm(tuple(i._replace(active=i is active) for i in installs), link)


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
