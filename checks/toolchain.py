"""The development set-up: compiler, C++ headers, device libraries, and the variables that builds read.

Nothing here stops a program that is already built, so all of it warns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.toolchain import PATH_VARIABLES, Compiler, Gcc, Targets, read_targets, target_covers
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.facts.packages import Package
    from rocmdoctor.matrix import Matrix

HIPCC = "https://rocm.docs.amd.com/projects/HIPCC/en/latest/env.html"
NVIDIA = "10de"
HEADER_PACKAGES = {
    "apt": "libstdc++-{major}-dev",
    "dnf": "gcc-c++",
    "tdnf": "gcc-c++",
    "zypper": "gcc{major}-c++",
    "pacman": "gcc",
}
"""The package with the C++ headers of one gcc, by package manager."""


def _compiler(facts: Facts) -> Compiler:
    compiler = facts.toolchain.compiler
    if compiler is None or not (compiler.hipcc or compiler.clang):
        raise NotApplicable("no ROCm compiler is installed")
    return compiler


@check("rocm_install.compiler", title="The installed HIP compiler is complete", needs_gpu=False, docs=[HIPCC])
def compiler(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A host with the package of hipcc must have hipcc, the clang that it calls, the device libraries (amdgcn/bitcode) that clang
    links into every kernel, and, with the development package, HIP's headers. An interrupted or partial upgrade leaves some out.

    Whether these are wanted is told by the packages: a host that only runs programs needs no compiler.
    """
    active = facts.rocm.active
    if active is None or active.origin in ("wheel", "distro-package", "unknown"):
        raise NotApplicable("no ROCm from packages or an archive is active")
    there = facts.toolchain.compiler
    if there is None:
        raise NotApplicable("no ROCm compiler is installed")
    packages = {p.name: p for p in known(lambda: facts.packages.rocm, ()) if p.rocm_release == active.version}
    missing: list[str] = []
    owners: list[Package] = []

    def need(package: str, what: str) -> None:
        owner = packages.get(package) or packages.get(f"{package}{active.version if active else ''}")
        if owner:
            missing.append(what)
            owners.append(owner)

    if active.tools and not there.hipcc:
        need("hipcc", f"{active.root}/bin/hipcc")
    if active.tools and there.hipcc and not there.clang:
        need("rocm-llvm", "clang, which hipcc calls")
    if there.clang and there.version and not there.device_libraries:
        missing.append("the device libraries (amdgcn/bitcode/*.bc)")
        owners += [p for p in (packages.get("rocm-device-libs"), packages.get("rocm-llvm")) if p][:1]
    if there.hip_headers is False:
        need("hip-dev", "hip/hip_runtime.h")
        need("hip-devel", "hip/hip_runtime.h")
    if not missing:
        return
    names = [p.name for p in owners] or ["rocm-device-libs"]
    yield Finding(
        Status.WARN,
        f"The HIP compiler of ROCm {active.version or 'in ' + active.root} is not complete: {' and '.join(missing)} missing",
        "Programs that are already built run; compiling fails: 'cannot find ROCm device library', 'hip_runtime.h not found'.",
        (
            Evidence(active.root, f"hipcc: {'there' if there.hipcc else 'absent'}, clang: {there.clang or 'absent'}"),
            *(Evidence(folder, "holds no *.bc") for folder in there.empty_device_folders),
            *(Evidence(f"package {p.name}", p.full_version) for p in owners),
        ),
        (
            Fix(
                f"Install {' and '.join(names)} of this release again",
                _again(facts, *names),
                needs=("root", "network"),
                verify=recheck("rocm_install.compiler"),
            ),
        ),
    )


def _again(facts: Facts, *names: str) -> tuple[tuple[str, ...], ...]:
    """Install packages that the database takes for installed."""
    if remedies.manager(facts) == "apt":
        return (("apt-get", "install", "--reinstall", "-y", *names),)
    if remedies.manager(facts) == "dnf":
        return (("dnf", "reinstall", "-y", *names),)
    return remedies.install(facts, *names)


@check("rocm_install.cxx-headers", title="ROCm's clang finds the C++ standard headers", needs_gpu=False)
def cxx_headers(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """clang has no C++ library of its own: it takes the headers of the newest gcc that it finds in /usr/lib/gcc. Where that gcc
    came without its C++ part (gcc-12 as a dependency of kernel headers, g++ still of 11), every HIP file ends with "'cmath' file
    not found". The cure is the C++ headers of that very gcc; nothing has to be copied or linked.
    """
    compiler = _compiler(facts)
    gccs = facts.toolchain.gccs
    if compiler.clang is None or not gccs:
        raise NotApplicable("there is no clang of ROCm, or no gcc beside it")
    newest = gccs[0]
    if newest.headers is not None:
        return
    older = next((g for g in gccs if g.headers), None)
    if older and not matrix.faults.clang_needs_newest_headers(compiler.version, facts.rocm_version):
        raise NotApplicable("this clang prefers a gcc whose C++ headers are installed")
    yield Finding(
        Status.WARN,
        f"ROCm's clang takes gcc {newest.version}, whose C++ headers are not installed",
        "Compiling HIP code fails with \"'cmath' file not found\"; programs that are already built run. "
        + (
            f"The headers of gcc {older.version} are there, but clang takes the newest gcc folder."
            if older
            else "g++ is not installed."
        ),
        (
            Evidence(f"{newest.path}/crtbegin.o", "present"),
            Evidence(f"/usr/include/c++/{newest.version}", "absent"),
            *((Evidence(older.headers, f"headers of gcc {older.version}"),) if older and older.headers else ()),
        ),
        (_install_headers(facts, newest),),
    )


def _install_headers(facts: Facts, gcc: Gcc) -> Fix:
    major = gcc.version.partition(".")[0]
    name = HEADER_PACKAGES.get(remedies.manager(facts) or "", "").format(major=major)
    also = f" (g++-{major} brings them as well)" if name.startswith("libstdc++") else ""
    return Fix(
        f"Install the C++ headers of gcc {gcc.version}{f': {name}' if name else ''}{also}",
        remedies.install(facts, name) if name else (),
        needs=("root", "network"),
        verify=recheck("rocm_install.cxx-headers"),
    )


@check("rocm_install.build-variables", title="The HIP variables lead to this ROCm", needs_gpu=False, docs=[HIPCC])
def build_variables(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """HIP_PLATFORM=nvidia makes hipcc call nvcc; ROCM_PATH, HIP_PATH, HIP_CLANG_PATH and DEVICE_LIB_PATH that name a folder of a
    removed release make compilers and CMake look into nothing (HIP_PATH=/opt/rocm/hip went with ROCm 6). They need none of them.
    """
    _compiler(facts)
    platform = facts.env.get("HIP_PLATFORM", "").strip().lower()
    if platform in ("nvidia", "nvcc") and facts.gpus and not _nvidia(facts):
        yield Finding(
            Status.WARN,
            f"HIP_PLATFORM={facts.env['HIP_PLATFORM']} on a host with an AMD GPU",
            "hipcc calls nvcc and builds for CUDA, or stops because there is no CUDA.",
            (Evidence("environment", f"HIP_PLATFORM={facts.env['HIP_PLATFORM']}"), Evidence("GPU", facts.gpus[0].label)),
            (
                Fix(
                    "Unset HIP_PLATFORM, or set it to amd",
                    (("unset", "HIP_PLATFORM"),),
                    verify=recheck("rocm_install.build-variables"),
                ),
            ),
        )
    gone = [name for name in PATH_VARIABLES if _leads_nowhere(facts, facts.env.get(name, ""))]
    if gone:
        active = facts.rocm.active
        right = f"{active.root}" if active else "/opt/rocm"
        yield Finding(
            Status.WARN,
            f"{gone[0]} leads to nothing" if len(gone) == 1 else f"{' and '.join(gone)} lead to nothing",
            "hipcc, clang and CMake believe these variables before they look for themselves, and miss headers and libraries.",
            tuple(Evidence("environment", f"{name}={facts.env[name]}"[:300]) for name in gone),
            (
                Fix(
                    f"Unset {' and '.join(gone)} (the tools find {right} by themselves), also where it is set",
                    tuple(c for name in gone for c in remedies.unset(facts, name, "").commands),
                    needs=tuple(dict.fromkeys(n for name in gone for n in remedies.unset(facts, name, "").needs)),
                    verify=recheck("rocm_install.build-variables"),
                ),
            ),
        )


def _nvidia(facts: Facts) -> bool:
    return any(d.vendor == NVIDIA and d.is_display for d in known(lambda: facts.pci, ()))


def _leads_nowhere(facts: Facts, path: str) -> bool:
    return path.startswith("/") and known(lambda: facts.host.resolve(path), path) is None


@check(
    "rocm_install.build-targets",
    title="The build targets in the environment include a GPU that is here",
    after=["gpu_present.device"],
    docs=["https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html"],
)
def build_targets(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """PYTORCH_ROCM_ARCH, AMDGPU_TARGETS, GPU_TARGETS and HCC_AMDGPU_TARGET say for which gfx targets extensions and programs are
    compiled. A list without this host's GPU builds and installs without a word, and the first kernel ends with "invalid device
    function". A long list that has the GPU is fine; so is a generic target of its family, and one that an override makes of it.
    """
    lists = read_targets(facts.env)
    if not lists:
        raise NotApplicable("no build target variable is set")
    gpus = [g for g in facts.gpus if g.gfx]
    if not gpus:
        raise NotApplicable("no GPU's target is known")
    for targets in lists:
        if targets.unread or any(_covered(facts, gpu, t) for gpu in gpus for t in targets.targets):
            continue
        here = sorted({g.gfx for g in gpus if g.gfx})
        setting = f"{targets.variable}={targets.value}"[:300]
        yield Finding(
            Status.WARN,
            f"{targets.variable} builds for {_few(targets)}, and the GPU here is {' and '.join(here)}",
            "What is compiled with it installs without an error and cannot run here: the first kernel ends with 'invalid device "
            "function' (hipErrorNoBinaryForGpu).",
            (Evidence("environment", setting), *(Evidence("GPU", f"{g.label}: {g.gfx} (from {g.gfx_source})") for g in gpus[:4])),
            (
                Fix(
                    f"Set it to this host's target, or unset it, and build again: {targets.variable}={';'.join(here)}",
                    (("export", f"{targets.variable}={';'.join(here)}"),),
                    verify=recheck("rocm_install.build-targets"),
                ),
            ),
        )


def _covered(facts: Facts, gpu: Gpu, target: str) -> bool:
    """Whether code for the target runs on this GPU, as it is or as an override makes it look."""
    override = known(lambda: facts.environment.override_for(gpu.kfd_node), None)
    names = {gpu.gfx, override.gfx if override else None} - {None}
    mode = _mode(facts, gpu) if ":" in target else ""
    return any(target_covers(target, gfx, mode) for gfx in names if gfx)


def _mode(facts: Facts, gpu: Gpu) -> str:
    """The GPU's XNACK and SRAM-ECC mode as rocminfo prints it ("sramecc+:xnack-"), "" when unknown."""
    info = known(lambda: facts.rocminfo, None)
    agents = info.gpus if info else ()
    return next((a.features for a in agents if a.node is not None and a.node == gpu.kfd_node), "")


def _few(targets: Targets) -> str:
    shown = ", ".join(targets.targets[:4])
    return f"{shown} and {len(targets.targets) - 4} more" if len(targets.targets) > 4 else shown
