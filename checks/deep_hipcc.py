"""The deep check of the compiler: hipcc compiles a vector addition, and the program runs."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.checks import remedies
from rocmdoctor.checks.endings import OPENS, again, evidence_of, how, kernel_log, meaning, sign
from rocmdoctor.checks.toolchain import HEADER_PACKAGES
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.deep import HipRun
from rocmdoctor.matrix import Matrix
from rocmdoctor.results import Evidence, Finding, Fix, Status

COMPILER_SIGNS = (
    (
        "headers",
        r"'c?[a-z_]{2,20}(\.h)?' file not found|library -lstdc\+\+|-lstdc\+\+: No such",
        "clang takes the C++ headers and libstdc++ of the newest gcc folder that it finds; those of that gcc are not installed.",
    ),
    ("target", r"unsupported HIP gpu architecture|invalid target ID|unknown target CPU", "This compiler is older than the GPU."),
    ("parts", r"hip_runtime\.h|cannot find ROCm|cannot find HIP|amdhip64|bitcode|device-libs", "Parts of the HIP SDK are missing."),
    ("nvcc", r"\bnvcc\b", "hipcc builds for CUDA here: HIP_PLATFORM or a CUDA installation makes it call nvcc."),
)
"""The same for hipcc; `parts` is looked for first, since HIP's own headers are files that are not found as well."""


@check("rocm_install.compiles", title="hipcc compiles a program that runs", deep=True, after=[*OPENS, "rocm_install.present", "rocm_install.run-time", "ld_path.symbols"], docs=[remedies.ROCM_PREREQUISITES])
def compiles(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compiles a vector addition with the active ROCm's hipcc for the GPUs of this host, runs it and compares the sums. It happens in a
    private temporary folder that is removed afterwards. A host without a compiler is not judged."""
    run = facts.hip_run
    if run is None:
        raise NotApplicable("the active ROCm has no hipcc")
    if run.compiled:
        kind, meaning = sign(run.complaint, (COMPILER_SIGNS[2], *COMPILER_SIGNS))
        yield Finding(
            Status.FAIL,
            f"hipcc cannot compile a small program: {run.complaint[0]}" if run.complaint and run.compiled.how == "exit" else f"hipcc {how(run.compiled)}",
            meaning or meaning(run.compiled, "Programs that are already built are not touched by it."),
            evidence_of(f"{run.hipcc} --offload-arch={','.join(run.targets)}", run.complaint, run.compiled.lines if not run.complaint else ()),
            _compiler_fixes(facts, kind),
        )
        return
    if run.refused:
        yield Finding(
            Status.WARN,
            f"hipcc does not compile for {' and '.join(run.refused)}",
            "It does for the other GPU; leave this target out of build targets, or use a newer ROCm.",
            evidence_of(run.hipcc, run.complaint),
        )
    yield from _ran(run)


def _ran(run: HipRun) -> Iterator[Finding]:
    """What the compiled program did."""
    assert run.ran is not None
    source = "vector addition, compiled by " + run.hipcc
    fix = (kernel_log(*("rocm_install.compiles",)),)
    bad = [s for s in run.steps if s.state == "failed" or (s.stage == "compute" and s.state == "done" and not s.right)]
    gfx = {s.device: s.gfx.partition(":")[0] for s in run.steps if s.stage == "device" and s.gfx}
    bad = [s for s in bad if s.stage == "count" or gfx.get(s.device, run.targets[0]) in run.targets]
    if not run.finished:
        where = f" on GPU {run.steps[-1].device}" if run.steps and run.steps[-1].device is not None else ""
        _, meaning = sign(run.ran.lines)
        yield Finding(Status.FAIL, f"The program that hipcc compiled {how(run.ran)}{where}", meaning or meaning(run.ran, "Compiling works, running does not."), evidence_of(source, run.ran.lines), fix)
    elif any(s.stage == "count" and s.count == 0 for s in run.steps):
        yield Finding(Status.FAIL, "The program that hipcc compiled sees no GPU", "HIP counts none, although driver, node and permission are in order.", evidence_of(source, ("hipGetDeviceCount: 0",)), fix)
    for step in bad[:1]:
        wrong = f"{step.error:.0%} of the sums are wrong" if step.state == "done" and step.error is not None else f"{step.kind} in {step.text}"
        kind, meaning = sign((step.kind, step.text))
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        yield Finding(
            Status.WARN if kind == "memory" else Status.FAIL,
            f"The program that hipcc compiled fails on GPU {step.device}{more}: {wrong}" if step.stage != "count" else f"The program that hipcc compiled finds no GPU: {wrong}",
            meaning or "Compiling works, computing does not.",
            evidence_of(source, (wrong,), run.ran.lines),
            fix,
        )


def _compiler_fixes(facts: Facts, kind: str) -> tuple[Fix, ...]:
    again = ("rocmdoctor", "check", "--deep", "--only", "rocm_install.*")
    if kind == "headers":
        gccs = known(lambda: facts.toolchain.gccs, ())
        name = HEADER_PACKAGES.get(remedies.manager(facts) or "", "").format(major=gccs[0].version.partition(".")[0]) if gccs else ""
        return (Fix("Install the C++ headers of the newest gcc" + (f": {name}" if name else ""), remedies.install(facts, name) if name else (), needs=("root", "network"), verify=again),)
    if kind == "parts":
        names = ("rocm-device-libs", "hip-dev" if remedies.manager(facts) == "apt" else "hip-devel")
        return (Fix("Install the missing parts of the HIP SDK of the same release", remedies.install(facts, *names), needs=("root", "network"), verify=again),)
    if kind == "target":
        return (Fix("Use a ROCm release that knows this GPU (`rocmdoctor matrix query` names them)", needs=("root", "network"), verify=again),)
    if kind == "nvcc":
        return (Fix("Unset HIP_PLATFORM, or set it to amd", (("unset", "HIP_PLATFORM"),), verify=again),)
    return (Fix("Compile it by hand and read all of what hipcc says", (("hipcc", "--verbose", "program.cpp"),)),)
