"""Deep checks (`--deep`): programs are run, and what they do is judged. A hang or a crash is a finding with the last lines.

Each comes after the checks that explain its failure without running anything, so that one root cause stays one failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.checks.toolchain import HEADER_PACKAGES
from rocmdoctor.checks.torch import rocm_torch, wheel_fix
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.deep import TOLERANCE, Ending, HipRun, Step, TorchRun, printable_lines
from rocmdoctor.facts.pythons import PythonEnv
from rocmdoctor.matrix import Matrix
from rocmdoctor.results import Evidence, Finding, Fix, Status

def _torch_fixes(facts: Facts, matrix: Matrix, env: PythonEnv, kind: str, text: str = "") -> tuple[Fix, ...]:
    again = ("rocmdoctor", "check", "--deep", "--only", "torch_build.*,torch_arch.*")
    if kind == "module":
        name = re.search(r"No module named '([A-Za-z_][\w-]{0,60})", text)
        package = name.group(1) if name else ""
        if package and package != "torch":
            return (Fix(f"Install {package} in this environment", ((env.executable, "-m", "pip", "install", package),), ("network",), verify=again),)
    if kind == "memory":
        return (Fix("See which programs hold the memory, and end them or choose another GPU", (("amd-smi", "process"),), verify=again),)
    fixes: tuple[Fix, ...] = ()
    if kind in ("library", "symbol", "") and facts.env.get("LD_LIBRARY_PATH"):
        fixes += (Fix("Try it without LD_LIBRARY_PATH: the wheel finds its own libraries", (("env", "-u", "LD_LIBRARY_PATH", env.executable, "-c", "import torch"),), verify=again),)
    if kind in ("no-code", "library", "symbol", "module"):
        return fixes + wheel_fix(facts, matrix, env, "Install the wheel that fits this host")
    return (*fixes, kernel_log(*("torch_build.*", "torch_arch.*")))


@check("torch_build.imports", title="import torch works", deep=True, after=[*OPENS, "torch_build.rocm", "rocm_install.libraries", "ld_path.symbols"], docs=[remedies.PYTORCH])
def imports(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Runs `import torch` in a child, in the environment of the user, within 90 s: metadata can be in order while a library is missing,
    a symbol is of another release, or the import waits for a GPU that does not answer (rules.md 33). Nothing is written: neither
    byte code nor a core file."""
    env, torch = rocm_torch(facts)
    run = facts.torch_run
    step = run.end_of("import")
    if step is None and run.reached not in ("import", "python", ""):
        raise NotApplicable("the interpreter says nothing of the import")
    if step is not None and step.state == "done":
        return
    if step is None and run.finished:
        raise NotApplicable("the interpreter says nothing of the import")
    text = printable_lines(step.text) if step else run.ending.lines
    kind, meaning = sign(text)
    subject = "import torch" if run.steps else f"{run.executable} given a small program"
    yield Finding(
        Status.FAIL,
        f"import torch fails: {step.message}" if step else f"{subject} {how(run.ending)}",
        meaning or meaning(run.ending, f"torch {torch.version} is installed, and this interpreter cannot use it."),
        evidence_of(f"{run.executable} -c 'import torch'", text, run.ending.lines if step and len(text) < 2 else ()),
        _torch_fixes(facts, matrix, env, kind, step.text if step else ""),
    )


@check("torch_build.sees-gpus", title="PyTorch sees the GPUs", deep=True, after=["torch_build.imports"], docs=[remedies.PYTORCH])
def sees_gpus(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Asks torch.cuda.is_available(), device_count() and the name of each device, and compares their number with the GPUs that the driver
    has, that this user may open, and that the visibility variables leave. An integrated GPU may be missing: HIP leaves out what it
    does not serve."""
    env, _ = rocm_torch(facts)
    run = facts.torch_run
    source = f"{run.executable} -c 'torch.cuda...'"
    count, init = run.end_of("count"), run.end_of("init")
    failed = next((s for s in run.of("count", "device") if s.state == "failed"), None)
    died = run.reached in ("count", "init", "device")
    if count is None and not died:
        raise NotApplicable("torch was not asked for its GPUs")
    if failed or died or (count is not None and not count.available):
        text = failed.text if failed else init.text if init else ""
        lines = printable_lines(text)
        kind, meaning = sign((*lines, *run.ending.lines))
        if failed:
            title = f"torch cannot {'count the GPUs' if failed.stage == 'count' else f'use GPU {failed.device}'}: {failed.message}"
        elif died:
            title = f"Looking for GPUs with torch {how(run.ending)}"
        else:
            title = "torch.cuda.is_available() is false: torch sees no GPU"
        detail = meaning or (meaning(run.ending) if died else "") or "Driver, node and permission are in order; the run time that torch brings does not take the GPU."
        loud = Fix("Let HIP say what it finds", (("env", "AMD_LOG_LEVEL=3", run.executable, "-c", "import torch; print(torch.cuda.is_available())"),))
        yield Finding(Status.FAIL, title, detail, evidence_of(source, (init.message,) if init and init.text else (), lines, run.ending.lines), (loud, *_torch_fixes(facts, matrix, env, kind)))
        return
    expected, integrated = _expected(facts)
    seen = count.count if count and count.count is not None else expected
    if seen < expected - integrated or (seen < expected and integrated == expected):
        names = tuple(f"{s.device}: {s.name} {s.gfx}" for s in run.of("device"))
        yield Finding(
            Status.WARN,
            f"torch sees {seen} of {expected} GPUs",
            "The driver has more GPUs that this user may open and that no visibility variable hides; the run time takes the others for unusable.",
            evidence_of(source, (f"device_count() {seen}", *names)),
            (Fix("Compare with rocminfo, and read the kfd lines of the kernel log for the GPU that is missing", (("rocminfo",),)),),
        )


def _expected(facts: Facts) -> tuple[int, int]:
    """(GPUs that should be seen, how many of them are integrated). Partitions count as GPUs of their own."""
    opened = {n.minor for n in known(lambda: facts.access.render, ()) if n.open in ("ok", None)}
    apus = {n.id for g in facts.gpus if g.klass == "apu" for n in g.kfd}
    nodes = [n for n in known(lambda: facts.kfd.gpus, ()) if n.render_minor is None or n.render_minor in opened]
    total = len(nodes) or len(facts.gpus)
    left = facts.environment.visibility.visible(total).count
    return left, min(left, sum(n.id in apus for n in nodes))


@check("torch_arch.computes", title="PyTorch computes right on every GPU", deep=True, after=["torch_build.sees-gpus", "torch_arch.gpu", "hsa_override.fits"], docs=[remedies.PYTORCH])
def computes(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Multiplies two matrices of 256 x 256 in single and half precision on each GPU and compares with the CPU. is_available() is not health
    (rules.md 34): kernels can be missing for the target, the first one can hang or crash, and a wrong override computes nonsense."""
    env, _ = rocm_torch(facts)
    run = facts.torch_run
    done = run.of("compute")
    died = run.reached == "compute"
    if not done and not died:
        raise NotApplicable("torch did not compute")
    first_bad: dict[int | None, Step] = {}
    for step in done:
        if step.state in ("done", "failed") and not step.right:
            first_bad.setdefault(step.device, step)
    works = {s.device for s in done if s.right} - first_bad.keys()
    by_message: dict[str, list[Step]] = {}
    for step in first_bad.values():
        by_message.setdefault(step.message if step.state == "failed" else "", []).append(step)
    for message, steps in by_message.items():
        yield _computes_badly(facts, matrix, env, run, message, steps, bool(works))
    if died:
        kind, meaning = sign(run.ending.lines)
        where = _label(run, run.steps[-1].device)
        yield Finding(
            Status.WARN if works and kind == "no-code" else Status.FAIL,
            f"A small matrix multiplication on {where} {how(run.ending)}",
            meaning or meaning(run.ending, "The first kernel brings the process down."),
            evidence_of(f"torch on {where}", run.ending.lines),
            _torch_fixes(facts, matrix, env, kind),
        )
    elif run.finished and run.ending.how != "exit":
        yield Finding(
            Status.WARN,
            f"Python {how(run.ending)} when it ends, after right results" if not first_bad else f"Python {how(run.ending)} when it ends",
            "The clean-up of a library fails. Results are not touched, but the exit status tells schedulers of a failure.",
            evidence_of(run.executable, run.ending.lines),
        )


def _label(run: TorchRun, index: int | None) -> str:
    step = next((s for s in run.of("device") if s.device == index), None)
    name = (step.name or step.gfx) if step else ""
    return f"GPU {index}" + (f" ({printable_lines(name)[0]})" if printable_lines(name) else "")


def _computes_badly(facts: Facts, matrix: Matrix, env: PythonEnv, run: TorchRun, message: str, steps: list[Step], others_work: bool) -> Finding:
    """One finding for all GPUs that fail in the same way."""
    step = steps[0]
    where = _label(run, step.device) + (f" and {len(steps) - 1} more" if len(steps) > 1 else "")
    if step.state == "failed":
        lines = printable_lines(step.text)
        kind, meaning = sign((message, *lines))
        status = Status.WARN if kind == "memory" or (others_work and kind == "no-code") else Status.FAIL
        return Finding(
            status,
            f"torch cannot multiply two matrices on {where}: {message}",
            meaning or "The first kernel does not run.",
            evidence_of(f"torch on {where}", (message,), lines),
            _torch_fixes(facts, matrix, env, kind),
        )
    deviation = "is not a number" if step.error is None or step.error != step.error else f"deviates by {step.error:.2%} of the largest value"
    override = facts.environment.override
    return Finding(
        Status.FAIL,
        f"torch computes wrong numbers on {where}",
        "The product of two small matrices is not that of the CPU: kernels for another target (an override), memory errors, or a broken build.",
        (
            Evidence(f"torch on {where}", f"{step.dtype or 'product'} {deviation}; {TOLERANCE.get(step.dtype, 0):.1%} is allowed"),
            *((Evidence("environment", f"{override.variable}={override.value}"),) if override else ()),
        ),
        (*((Fix(f"Unset {override.variable}", (("unset", override.variable),)),) if override else ()), kernel_log(*("torch_arch.*",))),
    )


