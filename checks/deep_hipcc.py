"""The deep check (`--deep`) of the compiler: hipcc compiles a vector addition, and the program runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.endings import OPENS, Sign, again, evidence_of, how, kernel_log, meaning, sign
from rocmdoctor.checks.toolchain import HEADER_PACKAGES
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Finding, Fix, Status

if TYPE_CHECKING:  # facts.deep is loaded only where something is run
    from rocmdoctor.facts.deep import HipRun
    from rocmdoctor.facts.toolchain import Gcc
    from rocmdoctor.matrix import Matrix

COMPILER_SIGNS: tuple[Sign, ...] = (
    (
        "headers",
        r"'c?[a-z_]{2,20}(\.h)?' file not found|library -lstdc\+\+|-lstdc\+\+: No such",
        "clang takes the C++ headers and libstdc++ of the newest gcc folder that it finds; those of that gcc are not installed.",
    ),
    ("target", r"unsupported HIP gpu architecture|invalid target ID|unknown target CPU", "This compiler is older than the GPU."),
    ("parts", r"hip_runtime\.h|cannot find (ROCm|HIP)|amdhip64|bitcode|device-libs", "Parts of the HIP SDK are missing."),
    ("nvcc", r"\bnvcc\b", "hipcc builds for CUDA here: HIP_PLATFORM or a CUDA installation makes it call nvcc."),
    ("disk", r"No space left on device", "The folder for temporary files is full."),
)
"""What hipcc's errors tell."""


@check(
    "rocm_install.compiles",
    title="hipcc compiles a program that runs",
    deep=True,
    after=[*OPENS, "rocm_install.present", "rocm_install.run-time", "ld_path.symbols"],
    docs=[remedies.ROCM_PREREQUISITES],
)
def compiles(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compiles a vector addition with the active ROCm's hipcc for the GPUs of this host, runs it and compares the sums. It
    happens in a private temporary folder that is removed afterwards. A host without a compiler is not judged.
    """
    run = facts.hip_run
    if run is None:
        raise NotApplicable("the active ROCm has no hipcc")
    if run.compiled:
        yield _cannot_compile(facts, run)
        return
    if run.refused:
        yield Finding(
            Status.WARN,
            f"hipcc does not compile for {' and '.join(run.refused)}",
            f"It does for {' and '.join(run.targets)}. Leave the others out of build targets, or use a newer ROCm.",
            evidence_of(run.hipcc, run.complaint),
        )
    yield from _runs(run)


def _cannot_compile(facts: Facts, run: HipRun) -> Finding:
    assert run.compiled is not None
    kind, means = sign(run.complaint, COMPILER_SIGNS)
    plain = run.compiled.how == "exit" and run.complaint
    return Finding(
        Status.FAIL,
        f"hipcc cannot compile a small program: {run.complaint[0]}" if plain else f"hipcc {how(run.compiled)}",
        means or meaning(run.compiled, "Programs that are already built are not touched by it."),
        evidence_of(f"{run.hipcc} --offload-arch={','.join(run.targets)}", run.complaint or run.compiled.lines),
        _fixes(facts, kind),
    )


def _runs(run: HipRun) -> Iterator[Finding]:
    """What the compiled program did."""
    assert run.ran is not None
    program = f"vector addition, compiled by {run.hipcc}"
    fix = (kernel_log("rocm_install.compiles"),)
    if not run.finished:
        where = f" on GPU {run.steps[-1].device}" if run.steps and run.steps[-1].device is not None else ""
        _, means = sign(run.ran.lines)
        yield Finding(
            Status.FAIL,
            f"The program that hipcc compiled {how(run.ran)}{where}",
            means or meaning(run.ran, "Compiling works, running does not."),
            evidence_of(program, run.ran.lines),
            fix,
        )
        return
    gfx = {s.device: s.gfx.partition(":")[0] for s in run.steps if s.gfx}
    for step in run.steps:
        if step.state == "begun" or (step.stage == "compute" and gfx.get(step.device, run.targets[0]) not in run.targets):
            continue
        if step.stage == "count" and (step.state == "failed" or not step.count):
            title, said = "The program that hipcc compiled finds no GPU", f"hipGetDeviceCount: {step.kind or step.count}"
        elif step.state == "failed":
            title, said = f"The program that hipcc compiled fails on GPU {step.device}", f"{step.text}: {step.kind}"
        elif step.stage == "compute" and not step.right:
            share = f"{step.error:.0%}" if step.error is not None else "an unknown share"
            title, said = f"The program that hipcc compiled adds wrong on GPU {step.device}", f"{share} of the sums are wrong"
        else:
            continue
        kind, means = sign((said,))
        yield Finding(
            Status.WARN if kind == "memory" else Status.FAIL,
            title,
            means or "Compiling works, computing does not.",
            evidence_of(program, (said,), run.ran.lines),
            fix,
        )
        return  # the others fail for the same reason, or because of this error


def _fixes(facts: Facts, kind: str) -> tuple[Fix, ...]:
    verify = again("rocm_install.*")
    root = ("root", "network")
    if kind == "headers":
        none: tuple[Gcc, ...] = ()
        gccs = known(lambda: facts.toolchain.gccs, none)
        pattern = HEADER_PACKAGES.get(remedies.manager(facts) or "", "") if gccs else ""
        name = pattern.format(major=gccs[0].version.partition(".")[0]) if pattern else ""
        title = f"Install the C++ headers of the newest gcc{f': {name}' if name else ''}"
        return (Fix(title, remedies.install(facts, name) if name else (), needs=root, verify=verify),)
    if kind == "parts":
        names = ("rocm-device-libs", "hip-dev" if remedies.manager(facts) == "apt" else "hip-devel")
        title = "Install the missing parts of the HIP SDK of the same release"
        return (Fix(title, remedies.install(facts, *names), needs=root, verify=verify),)
    if kind == "target":
        return (Fix("Use a ROCm release whose compiler knows this GPU", needs=root, verify=verify),)
    if kind == "nvcc":
        return (Fix("Unset HIP_PLATFORM, or set it to amd", (("unset", "HIP_PLATFORM"),), verify=verify),)
    if kind == "disk":
        return (Fix("Make room in /tmp, or let TMPDIR name a folder with room", verify=verify),)
    return (Fix("Compile a program by hand and read all of what hipcc says", (("hipcc", "--verbose", "program.cpp"),)),)
