"""Deep checks (`--deep`) of PyTorch: it is imported and computes, in a child. A hang or a crash is a finding with the last lines.

Each comes after the checks that explain its failure without running anything, so that one root cause stays one failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.endings import OPENS, again, evidence_of, how, kernel_log, meaning, sign
from rocmdoctor.checks.torch import rocm_torch
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:  # facts.deep is loaded only where something is run
    from rocmdoctor.facts.access import DeviceNode
    from rocmdoctor.facts.deep import Step, TorchRun
    from rocmdoctor.facts.kfd import KfdNode
    from rocmdoctor.facts.pythons import PythonEnv
    from rocmdoctor.matrix import Matrix


@check(
    "torch_build.imports",
    title="import torch works",
    deep=True,
    after=[*OPENS, "torch_build.rocm", "rocm_install.libraries", "ld_path.symbols"],
    docs=[remedies.PYTORCH],
)
def imports(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Runs `import torch` in a child with the user's environment, for at most 90 s. Metadata can be in order while a library is
    missing, a symbol is of another release, or the import waits for a GPU that does not answer (rules.md 33). Nothing is left
    behind: no byte code in the environment, no core file.
    """
    env, torch = rocm_torch(facts)
    run = facts.torch_run
    step = run.end_of("import")
    if step is not None and step.state == "done":
        return
    if step is None and (run.finished or run.reached not in ("", "python", "import")):
        raise NotApplicable("the interpreter says nothing of the import")
    said = step.lines if step else run.ending.lines
    kind, means = sign(said)
    subject = "import torch" if run.steps else f"{run.executable}, given a small program,"
    yield Finding(
        Status.FAIL,
        f"import torch fails: {step.message}" if step else f"{subject} {how(run.ending)}",
        means or meaning(run.ending, f"torch {torch.version} is installed, and this interpreter cannot use it."),
        evidence_of(f"{run.executable} -c 'import torch'", said, run.ending.lines if step else run.frames),
        _fixes(facts, matrix, env, kind or ("" if run.ending.how == "time-out" else "broken"), step.text if step else ""),
    )


@check(
    "torch_build.sees-gpus",
    title="PyTorch sees the GPUs",
    deep=True,
    after=["torch_build.imports"],
    docs=[remedies.PYTORCH],
)
def sees_gpus(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Asks torch.cuda.is_available(), device_count() and the name of each device, and compares their number with the GPUs that
    the driver has, that this user may open, and that the visibility variables leave. An integrated GPU may be missing: HIP leaves
    out what it does not serve.
    """
    env, _ = rocm_torch(facts)
    run = facts.torch_run
    count = run.end_of("count")
    died = run.reached in ("count", "init", "device")
    if count is None and not died:
        raise NotApplicable("torch was not asked for its GPUs")
    failed = next((s for s in run.of("count", "device") if s.state == "failed"), None)
    if failed or died or (count is not None and not count.available):
        yield _sees_none(facts, matrix, env, run, failed, died)
        return
    expected, integrated = _expected(facts)
    seen = count.count if count and count.count is not None else expected
    if seen < expected - integrated or (seen < expected and integrated == expected):
        yield Finding(
            Status.WARN,
            f"torch sees {seen} of {expected} GPUs",
            "This user may open the others, and no visibility variable hides them: the run time takes them for unusable.",
            evidence_of(_ASKED, (f"device_count() is {seen}", *(_label(run, s.device) for s in run.of("device")))),
            (Fix("Compare with rocminfo, and read the kfd lines of the kernel log for the missing GPU", (("rocminfo",),)),),
        )


_ASKED = "torch.cuda"


def _sees_none(facts: Facts, matrix: Matrix, env: PythonEnv, run: TorchRun, failed: Step | None, died: bool) -> Finding:
    told = failed or run.end_of("init")
    lines = told.lines if told else ()
    kind, means = sign((*lines, *run.ending.lines))
    if failed:
        title = f"torch cannot {'count the GPUs' if failed.stage == 'count' else f'open GPU {failed.device}'}: {failed.message}"
    elif died:
        title = f"Looking for GPUs with torch {how(run.ending)}"
    else:
        title = "torch.cuda.is_available() is false: torch sees no GPU"
    otherwise = "Driver, node and permission are in order; the run time that torch loads does not take the GPU."
    program = "import torch; print(torch.cuda.is_available())"
    return Finding(
        Status.FAIL,
        title,
        means or (meaning(run.ending, otherwise) if died else otherwise),
        evidence_of(_ASKED, (told.message,) if told and told.message else (), lines[1:], run.ending.lines, run.frames),
        (
            Fix("Let HIP say what it finds", (("env", "AMD_LOG_LEVEL=3", run.executable, "-c", program),)),
            *_fixes(facts, matrix, env, kind),
        ),
    )


def _expected(facts: Facts) -> tuple[int, int]:
    """(GPUs that should be seen, how many of them are integrated). Partitions count as GPUs of their own."""
    no_nodes: tuple[KfdNode, ...] = ()
    no_devices: tuple[DeviceNode, ...] = ()
    opened = {n.minor for n in known(lambda: facts.access.render, no_devices) if n.open in ("ok", None)}
    apus = {n.id for g in facts.gpus if g.klass == "apu" for n in g.kfd}
    nodes = [n for n in known(lambda: facts.kfd.gpus, no_nodes) if n.render_minor is None or n.render_minor in opened]
    left = facts.environment.visibility.visible(len(nodes) or len(facts.gpus)).number
    return left, min(left, sum(n.id in apus for n in nodes))


@check(
    "torch_arch.computes",
    title="PyTorch computes right on every GPU",
    deep=True,
    after=["torch_build.sees-gpus", "torch_arch.gpu", "hsa_override.fits"],
    docs=[remedies.PYTORCH],
)
def computes(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Multiplies two matrices of 256 x 256 in single and in half precision on each GPU and compares with the CPU. is_available()
    is not health (rules.md 34): kernels can be missing for the target, the first one can hang or crash, and a wrong override
    computes nonsense.
    """
    env, _ = rocm_torch(facts)
    run = facts.torch_run
    done = run.of("compute")
    died = run.reached == "compute"
    if not done and not died:
        raise NotApplicable("torch did not compute")
    bad: dict[int | None, Step] = {}
    for step in done:
        if step.state in ("done", "failed") and not step.right:
            bad.setdefault(step.device, step)
    works = bool({s.device for s in done if s.right} - bad.keys())
    alike: dict[str, list[Step]] = {}
    for step in bad.values():
        alike.setdefault(step.message if step.state == "failed" else "", []).append(step)
    for steps in alike.values():
        yield _raises(facts, matrix, env, run, steps, works) if steps[0].state == "failed" else _wrong(facts, run, steps)
    if died:
        kind, means = sign(run.ending.lines)
        where = _label(run, run.steps[-1].device)
        yield Finding(
            Status.WARN if works and kind == "no-code" else Status.FAIL,
            f"A small matrix multiplication on {where} {how(run.ending)}",
            means or meaning(run.ending, "The first kernel brings the process down."),
            evidence_of(f"torch on {where}", run.ending.lines, run.frames),
            _fixes(facts, matrix, env, kind),
        )
    elif run.finished and run.ending.how != "exit":
        yield Finding(
            Status.WARN,
            f"Python {how(run.ending)} at its end, after all computations",
            "The clean-up of a library fails. Results are not touched, but schedulers take the exit status for a failure.",
            evidence_of(run.executable, run.ending.lines),
        )


def _label(run: TorchRun, index: int | None) -> str:
    """ "GPU 0 (AMD Radeon RX 7900 XTX)"."""
    step = next((s for s in run.of("device") if s.device == index), None)
    return f"GPU {index} ({step.device_name})" if step and step.device_name else f"GPU {index}"


def _several(run: TorchRun, steps: list[Step]) -> str:
    return _label(run, steps[0].device) + (f" and {len(steps) - 1} more" if len(steps) > 1 else "")


def _raises(facts: Facts, matrix: Matrix, env: PythonEnv, run: TorchRun, steps: list[Step], others_work: bool) -> Finding:
    """GPUs on which the multiplication ends with the same exception."""
    where, step = _several(run, steps), steps[0]
    kind, means = sign((step.message, *step.lines))
    return Finding(
        # What the build lacks for one GPU of several, torch_arch.gpu says; a GPU that is in use is not broken.
        Status.WARN if kind == "memory" or (others_work and kind == "no-code") else Status.FAIL,
        f"torch cannot multiply two matrices on {where}: {step.message}",
        means or "The first kernel does not run.",
        evidence_of(f"torch on {where}", (step.message,), step.lines[1:]),
        _fixes(facts, matrix, env, kind),
    )


def _wrong(facts: Facts, run: TorchRun, steps: list[Step]) -> Finding:
    where, step = _several(run, steps), steps[0]
    number = step.error is not None and math.isfinite(step.error)
    deviation = f"deviates by {step.error:.2%} of the largest value" if number else "is not a number"
    override = facts.environment.override
    return Finding(
        Status.FAIL,
        f"torch computes wrong numbers on {where}",
        "The product of two small matrices is not that of the CPU: kernels for another target (an override), faulty memory, or a "
        "broken build.",
        (
            Evidence(f"torch on {where}", f"{step.dtype} {deviation}; {step.allowed:.1%} is allowed"),
            *((Evidence("environment", f"{override.variable}={override.value}"),) if override else ()),
        ),
        (
            *((Fix(f"Unset {override.variable}", (("unset", override.variable),)),) if override else ()),
            kernel_log("torch_arch.*"),
        ),
    )


def _fixes(facts: Facts, matrix: Matrix, env: PythonEnv, kind: str, text: str = "") -> tuple[Fix, ...]:
    """Remedies for one kind of sign."""
    verify = again("torch_build.*", "torch_arch.*")
    python = env.executable
    if kind == "module":
        name = re.search(r"No module named '([A-Za-z_]\w{0,60})", text)
        if name and name.group(1) != "torch":
            command = (python, "-m", "pip", "install", name.group(1))
            return (Fix(f"Install {name.group(1)} in this environment", (command,), needs=("network",), verify=verify),)
    if kind == "memory":
        title = "See which programs hold the memory, and end them or choose another GPU"
        return (Fix(title, (("amd-smi", "process"),), verify=verify),)
    fixes: tuple[Fix, ...] = ()
    if kind in ("library", "symbol", "broken", "") and facts.env.get("LD_LIBRARY_PATH"):
        title = "Try it without LD_LIBRARY_PATH: the wheel finds its own libraries"
        fixes += (Fix(title, (("env", "-u", "LD_LIBRARY_PATH", python, "-c", "import torch"),), verify=verify),)
    if kind in ("no-code", "library", "symbol", "module", "broken"):
        from rocmdoctor.checks.torch_remedies import wheel_fix

        return fixes + wheel_fix(facts, matrix, env, "Install the wheel that fits this host")
    return (*fixes, kernel_log("torch_build.*", "torch_arch.*"))
