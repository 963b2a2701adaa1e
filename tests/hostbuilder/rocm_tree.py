"""ROCm on disk: /opt trees, links and the loader's cache."""

from __future__ import annotations

from fnmatch import fnmatch
from functools import lru_cache

from tests.hostbuilder.out import EXECUTABLE, Out
from tests.hostbuilder.releases import Release, key, release_of
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.spec import Rocm

_TOOLS = (
    "rocminfo", "rocm_agent_enumerator", "hipcc", "hipconfig", "amd-smi", "rocm-smi", "rocprof", "rocprofv3", "rocgdb",
    "hipify-perl", "hipify-clang", "amdclang", "amdclang++",
)  # fmt: skip
ROCDXG = "librocdxg.so.1"


def libraries(row: Release) -> tuple[str, ...]:
    """File names of the shared libraries with the soname numbers of that release."""
    hip = row.hip_major
    seven = hip >= 7
    return (
        f"libamdhip64.so.{hip}", "libhsa-runtime64.so.1", f"libamd_comgr.so.{3 if seven else 2}", f"libhiprtc.so.{hip}",
        f"librocblas.so.{5 if seven else hip - 2}", f"libhipblas.so.{3 if seven else 2 if hip == 6 else 1}",
        f"libhipblaslt.so.{1 if seven else 0}",
        "libMIOpen.so.1", "librccl.so.1", "librocfft.so.0", "librocsolver.so.0", "librocsparse.so.1", "librocrand.so.1",
        f"libamd_smi.so.{26 if seven else 24}", "librocm_smi64.so.7", "libOpenCL.so.1", "libamdocl64.so",
        "librocprofiler-register.so.0",
    )  # fmt: skip


@lru_cache(maxsize=512)
def _tree(tree: Rocm) -> tuple[dict[str, bytes], dict[str, dict[str, object]]]:
    """Files and nodes of one tree; cached, as sweeps build it again and again."""
    row, root = release_of(tree.version), tree.root
    names = [f"bin/{t}" for t in _TOOLS if t != "rocm-smi" or key(tree.version) < (10, 1)]
    libs = [f"lib/{lib}" for lib in libraries(row)]
    libs += [f"lib/{lib.partition('.so.')[0]}.so" for lib in libraries(row) if ".so." in lib]
    # The compiler lies in llvm/ (a real folder up to 6.x, a link to lib/llvm from 7.0 on).
    llvm = "llvm" if key(tree.version) < (7,) else "lib/llvm"
    names += [*libs, f"{llvm}/bin/clang", f"{llvm}/bin/clang++", "share/doc/rocm/copyright"]
    if tree.rocblas:
        targets = row.gfx if tree.gfx is None else tree.gfx
        names += [f"lib/rocblas/library/TensileLibrary_lazy_{gfx}.dat" for gfx in targets]
        names += [f"lib/rocblas/library/Kernels.so-000-{gfx}.hsaco" for gfx in targets]
        names.append("lib/rocblas/library/TensileManifest.txt")
    names = [n for n in names if not any(fnmatch(n.rpartition("/")[2], pattern) for pattern in tree.missing)]
    files = {f"{root}/{name}": b"" for name in names}
    nodes: dict[str, dict[str, object]] = {f"{root}/{n}": EXECUTABLE for n in names if "/bin/" in f"/{n}"}
    if llvm != "llvm":
        nodes[f"{root}/llvm"] = {"type": "link", "target": "lib/llvm"}
    if tree.version_file:
        text = tree.version if row.therock else f"{tree.version}-{row.build}"
        files[f"{root}/.info/version"] = f"{text}\n".encode()
    return files, nodes


def has_rocdxg(host: Resolved) -> bool:
    """WSL from ROCm 7.2 on: the run time reaches /dev/dxg through librocdxg (before, its own build of ROCr did)."""
    tree = host.rocm
    return host.wsl and host.place.wsl_libraries and tree is not None and key(tree.version) >= (7, 2)


def _distro_tree(out: Out, host: Resolved, tree: Rocm) -> None:
    """A distribution's ROCm lies in the usual folders."""
    row = release_of(tree.version)
    lib = "/usr/lib/x86_64-linux-gnu" if host.distro.deb else "/usr/lib64"
    for tool in ("rocminfo", "rocm_agent_enumerator", "hipcc", "rocm-smi"):
        out.program(f"/usr/bin/{tool}")
    out.binaries(lib, libraries(row)[:7])
    targets = row.gfx if tree.gfx is None else tree.gfx
    out.binaries(f"{lib}/rocblas/library", (f"TensileLibrary_lazy_{gfx}.dat" for gfx in targets))


def tool_folder(host: Resolved) -> str | None:
    """The folder that programs of the active tree are run from."""
    tree = host.rocm
    if tree is None:
        return None
    if tree.root == "/usr":
        return "/usr/bin"
    return "/opt/rocm/bin" if tree.root.startswith("/opt/rocm") else f"{tree.root}/bin"


def render_trees(out: Out, host: Resolved) -> None:
    """Every tree; the first one is what /opt/rocm leads to."""
    for tree in host.spec.rocm:
        if tree.root == "/usr":
            _distro_tree(out, host, tree)
            continue
        files, nodes = _tree(tree)
        out.files.update(files)
        out.nodes.update(nodes)
    active = host.rocm
    if active is not None and has_rocdxg(host):
        out.binary(f"{active.root}/lib/{ROCDXG}")
    if active is None or active.root in ("/usr", "/opt/rocm") or not active.root.startswith("/opt/rocm"):
        return
    if active.root.startswith("/opt/rocm/"):
        # TheRock: /opt/rocm is a folder of links made by update-alternatives.
        out.link("/opt/rocm/core", "/etc/alternatives/rocm-core")
        out.link("/etc/alternatives/rocm-core", active.root)
        for name in ("bin", "lib", "llvm", "share"):
            out.link(f"/opt/rocm/{name}", f"/etc/alternatives/rocm-{name}")
            out.link(f"/etc/alternatives/rocm-{name}", f"{active.root}/{name}")
    else:
        out.link("/opt/rocm", "/etc/alternatives/rocm")
        out.link("/etc/alternatives/rocm", active.root)


@lru_cache(maxsize=512)
def _ldconfig(lib: str, rocm_lib: str | None, names: tuple[str, ...], wsl: bool, glibc: str) -> str:
    entries = [
        (n, f"{lib}/{n}")
        for n in ("libstdc++.so.6", "libnuma.so.1", "libelf.so.1", "libdrm_amdgpu.so.1", "libdrm.so.2", "libc.so.6")
    ]
    if rocm_lib:
        entries += [(n, f"{rocm_lib}/{n}") for n in names]
    if wsl:
        entries += [(n, f"/usr/lib/wsl/lib/{n}") for n in ("libdxcore.so", "libd3d12.so", "libd3d12core.so")]
    entries.sort(reverse=True)
    text = f"{len(entries)} libs found in cache `/etc/ld.so.cache'\n"
    text += "".join(f"\t{name} (libc6,x86-64) => {path}\n" for name, path in entries)
    return text + f"Cache generated by: ldconfig (GNU libc) stable release version {glibc}\n"


def render_loader(out: Out, host: Resolved) -> None:
    """/etc/ld.so.conf(.d) and what `ldconfig -p` lists."""
    out.file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    tree = host.rocm
    lib = "/lib/x86_64-linux-gnu" if host.distro.deb else "/lib64"
    out.binaries(lib, ("libc.so.6", "libdrm.so.2", "libdrm_amdgpu.so.1", "libelf.so.1", "libnuma.so.1", "libstdc++.so.6"))
    rocm_lib: str | None = None
    names: tuple[str, ...] = ()
    if tree is not None and tree.root != "/usr":
        rocm_lib = tool_folder(host)
        assert rocm_lib is not None
        rocm_lib = rocm_lib.removesuffix("/bin") + "/lib"
        names = tuple(n for n in libraries(release_of(tree.version)) if f"{tree.root}/lib/{n}" in out.files)
        names += (ROCDXG,) if has_rocdxg(host) else ()
        out.file("/etc/ld.so.conf.d/10-rocm-opencl.conf", f"{rocm_lib}\n")
    elif tree is not None:
        rocm_lib, names = lib, libraries(release_of(tree.version))[:7]
    if host.wsl:
        out.file("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n")
    program = "/sbin/ldconfig" if host.distro.deb else "/usr/sbin/ldconfig"
    out.command(("ldconfig", "-p"), program, _ldconfig(lib, rocm_lib, names, host.wsl, host.distro.glibc))
