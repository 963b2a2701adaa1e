"""HSA_OVERRIDE_GFX_VERSION where it is set: what it does to each GPU, where it comes from; and where one is a remedy.

Loaded when an override is set, or none of the installed builds serves a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.environment import OVERRIDE, Override
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix


def where_set(facts: Facts, variable: str) -> tuple[str, tuple[Evidence, ...]]:
    """The start-up file lines that set a variable: for the sentence, and as evidence."""
    lines = facts.environment.set_in(variable)[:3]
    return (f" (set in {', '.join(s.place for s in lines)})" if lines else ""), tuple(Evidence(s.place, s.text) for s in lines)


def unset(facts: Facts, variable: str, title: str) -> Fix:
    return remedies.unset(facts, variable, title, "hsa_override.*", "rocminfo.*")


def right_value(facts: Facts, matrix: Matrix) -> str:
    for gpu in facts.gpus:
        for value, target in matrix.override_suggestions(gpu.gfx or ""):
            return f"For {gpu.gfx} it is {value} (runs as {target}), where a build lacks {gpu.gfx}."
    return ""


def judged(facts: Facts, matrix: Matrix, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """What the overrides in force do to each of these GPUs."""
    mixed = len({g.gfx for g in gpus if g.gfx}) > 1
    built = _built_gfx(facts)
    needed = any(_helps(facts, matrix, g, built) for g in gpus)
    for gpu in gpus:
        override = facts.environment.override_for(gpu.kfd_node)
        if override is not None and override.gfx and gpu.gfx:
            yield from _judged(facts, matrix, gpu, override, mixed, gpu.gfx in built, needed)


def _helps(facts: Facts, matrix: Matrix, gpu: Gpu, built: frozenset[str]) -> bool:
    """The global override is what this GPU needs: the build has no code for it, and it is right (or at least usual) there."""
    override = facts.environment.override_for(gpu.kfd_node)
    if override is None or override.node is not None or not override.gfx or not gpu.gfx or gpu.gfx in built:
        return False
    rule = matrix.override(gpu.gfx, override.value, rocm=known(lambda: facts.rocm_version, None))
    return rule.verdict == "ok"


def _judged(
    facts: Facts, matrix: Matrix, gpu: Gpu, override: Override, mixed: bool, native: bool, needed: bool
) -> Iterator[Finding]:
    setting = f"{override.variable}={override.value}"
    where, lines = where_set(facts, override.variable)
    rule = matrix.override(gpu.gfx or "", override.value, rocm=known(lambda: facts.rocm_version, None))
    evidence = (
        Evidence("environment", setting),
        Evidence("KFD" if gpu.gfx_source == "kfd" else "PCI id", f"{gpu.label}: {gpu.gfx}"),
        *lines,
    )
    one_for_all = mixed and override.node is None
    per_gpu = (
        (
            Fix(
                f"On a machine with different GPUs set it for one of them: {OVERRIDE}_<KFD node>, or hide the other with "
                "ROCR_VISIBLE_DEVICES"
            ),
        )
        if one_for_all
        else ()
    )
    if rule.verdict in ("harmful", "wrong"):
        without = unset(facts, override.variable, f"Unset {override.variable}{where}")
        # Another GPU lives by this value: then the one that it harms is to be left out of it, and the machine is not broken.
        kept = needed and one_for_all
        yield Finding(
            Status.WARN if kept else Status.FAIL,
            f"{setting} makes the {gpu.label} ({gpu.gfx}) look like {override.gfx}",
            remedies.sentence(rule.reason)
            + (" One global value hits every GPU of this machine." if one_for_all else "")
            + (" Another GPU here needs it." if kept else ""),
            evidence,
            per_gpu if kept else (without, *per_gpu),
        )
    elif rule.verdict == "noop":
        if not mixed:
            yield Finding(
                Status.WARN,
                f"{setting} is a left-over: the GPU is {gpu.gfx} anyway",
                "It changes nothing today and will mislead after the next GPU or ROCm.",
                evidence,
                (unset(facts, override.variable, f"Unset {override.variable}{where}"),),
            )
    elif native:
        yield Finding(
            Status.WARN,
            f"{setting} is not needed: the installed build has code for {gpu.gfx}",
            f"The {gpu.label} runs as {override.gfx} because of it. {remedies.sentence(rule.reason)}",
            evidence,
            (unset(facts, override.variable, f"Unset {override.variable}{where}: the native target is used then"), *per_gpu),
        )
    elif rule.verdict == "risky":
        yield Finding(
            Status.WARN,
            f"{setting} is a risk on the {gpu.label} ({gpu.gfx})",
            remedies.sentence(rule.reason),
            evidence,
            (
                unset(facts, override.variable, f"Unset {override.variable}{where}: a build that has {gpu.gfx} needs none"),
                *per_gpu,
            ),
        )


def _built_gfx(facts: Facts) -> frozenset[str]:
    """Targets of the build in use: the wheel's when there is a ROCm wheel, else the active ROCm's rocBLAS files."""
    env = known(lambda: facts.torch_env, None)
    if env and env.torch and env.torch.build == "rocm" and env.torch.library_gfx:
        return env.torch.library_gfx
    active = known(lambda: facts.rocm.active, None)
    return active.gfx if active and active.gfx else frozenset()


def override_fix(facts: Facts, matrix: Matrix, gpu: Gpu, has: Callable[[str], bool]) -> tuple[Fix, ...]:
    """An override, only where the matrix calls it right for this GPU and the build has (`has`) the other target (rules.md 26)."""
    for value, target in matrix.override_suggestions(gpu.gfx or ""):
        if has(target):
            mixed = len({g.gfx for g in facts.gpus if g.gfx}) > 1 and gpu.kfd_node is not None
            name = f"{OVERRIDE}_{gpu.kfd_node}" if mixed else OVERRIDE
            return (
                Fix(
                    f"Run programs with {name}={value}: {gpu.gfx} and {target} share one instruction set (unofficial, widely "
                    "used)",
                    (("env", f"{name}={value}", "python3", "your_program.py"),),
                    verify=recheck("torch_arch.*", "gpu_support.*"),
                ),
            )
    return ()
