"""ROCm 7.14 and 10.x as TheRock packages it: amdrocm* names that carry the release, one package per gfx target, one repository
for all releases, trees in /opt/rocm/core-X.Y."""

from __future__ import annotations

from tests.e2e.packages.classic import soname_numbers, tree_files
from tests.e2e.packages.package import Content, Package
from tests.e2e.packages.targets import Target
from tests.hostbuilder.releases import release_of

BUILDS = {"7.14.1": "1", "10.0.0": "4", "10.1.0": "5"}
"""Number behind the hyphen, as seen of 10.0.0 (10.0.0-4) and of the 10.1.0 runfile."""
GFX = {
    "deb": ("gfx1100", "gfx1151", "gfx1201", "gfx90a", "gfx942"),
    "el": ("gfx1100", "gfx90a", "gfx942"),
    "suse": ("gfx90a", "gfx942"),
}
_LINKS = ("bin", "lib", "include", "llvm", "amdgcn", "libexec", "share")


def _alternatives(prefix: str, priority: int) -> tuple[str, str]:
    slaves = " ".join(f"--slave /opt/rocm/{name} rocm-{name} {prefix}/{name}" for name in _LINKS)
    return (
        f"mkdir -p /opt/rocm\nupdate-alternatives --install /opt/rocm/core rocm-core {prefix} {priority} {slaves}",
        f"update-alternatives --remove rocm-core {prefix}",
    )


def packages(version: str, target: Target) -> tuple[Package, ...]:
    """All packages of one release."""
    row = release_of(version)
    two, full, prefix = row.two, f"{version}-{BUILDS[version]}", f"/opt/rocm/core-{row.two}"
    numbers = soname_numbers(row)
    made: list[Package] = []

    def add(name: str, depends: tuple[str, ...], names: str = "", on_install: str = "", on_remove: str = "") -> None:
        files: dict[str, Content] = tree_files(prefix, names.format(**numbers).split())
        files[f"{prefix}/share/doc/{name}/copyright"] = "MIT\n"
        if name == f"amdrocm-base{two}":
            files[f"{prefix}/.info/version"] = f"{version}\n"
            # update-alternatives links only to what is there, and rpm runs this package's script before the others have files.
            files |= {f"{prefix}/{link}/.base": b"" for link in _LINKS}
        exact = tuple(f"{other} (= {full})" if other.startswith("amdrocm") else other for other in depends)
        made.append(Package(name, full, exact, files, on_install=on_install, on_remove=on_remove))

    link, unlink = _alternatives(prefix, int(row.stamp))
    quadmath = ("libatomic1", "libquadmath0") if target.family != "el" else ("libatomic", "libquadmath")
    add(f"amdrocm-base{two}", (), "include/rocm_version.h", on_install=link, on_remove=unlink)
    add(f"amdrocm-llvm{two}", (f"amdrocm-base{two}",), "lib/llvm/bin/clang lib/llvm/bin/clang++ bin/amdclang bin/hipcc")
    add(f"amdrocm-runtime{two}", (f"amdrocm-base{two}", *quadmath),
        "lib/libamdhip64.so.7 lib/libhiprtc.so.7 lib/libhsa-runtime64.so.1 lib/libamd_comgr.so.3 "
        "lib/librocprofiler-register.so.0 bin/rocminfo bin/rocm_agent_enumerator")  # fmt: skip
    add(f"amdrocm-smi{two}", (f"amdrocm-base{two}",), "bin/amd-smi lib/libamd_smi.so.{amdsmi}")
    add(f"amdrocm-math-common{two}", (f"amdrocm-runtime{two}",),
        "lib/librocblas.so.5 lib/libhipblas.so.3 lib/libhipblaslt.so.1 lib/libMIOpen.so.1 lib/librccl.so.1")  # fmt: skip
    for gfx in GFX[target.family]:
        add(f"amdrocm-blas{two}-{gfx}", (f"amdrocm-math-common{two}",), f"lib/rocblas/library/TensileLibrary_lazy_{gfx}.dat")
        add(f"amdrocm-core{two}-{gfx}", (f"amdrocm-blas{two}-{gfx}", f"amdrocm-runtime{two}", f"amdrocm-smi{two}"))
        add(f"amdrocm-core-dev{two}-{gfx}" if target.deb else f"amdrocm-core-devel{two}-{gfx}",
            (f"amdrocm-core{two}-{gfx}", f"amdrocm-llvm{two}"))  # fmt: skip
        add(f"amdrocm-core-sdk{two}-{gfx}",
            (f"amdrocm-core-dev{two}-{gfx}" if target.deb else f"amdrocm-core-devel{two}-{gfx}",))  # fmt: skip
        add(f"amdrocm{two}-{gfx}", (f"amdrocm-core-sdk{two}-{gfx}",))
    for name in ("amdrocm-core", "amdrocm-core-sdk", "amdrocm"):
        add(f"{name}{two}", tuple(f"{name}{two}-{gfx}" for gfx in GFX[target.family]))
    return tuple(made)
