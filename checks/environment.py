"""Environment variables that change what ROCm sees: overrides, visibility, library paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import nvidia_here
from rocmdoctor.checks.loader_errors import cause_and_remedy
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.environment import OVERRIDE, Override
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix


def _where_set(facts: Facts, variable: str) -> tuple[str, tuple[Evidence, ...]]:
    """The start-up file lines that set a variable: for the sentence, and as evidence."""
    lines = facts.environment.set_in(variable)[:3]
    return (f" (set in {', '.join(s.place for s in lines)})" if lines else ""), tuple(Evidence(s.place, s.text) for s in lines)


def _unset(facts: Facts, variable: str, title: str) -> Fix:
    return remedies.unset(facts, variable, title, "hsa_override.*", "rocminfo.*")


@check(
    "hsa_override.valid",
    title="HSA_OVERRIDE_GFX_VERSION is unset or well-formed",
    after=["gpu_present.device"],
    docs=[remedies.ENVIRONMENT],
)
def override_valid(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The variable must read major.minor.stepping in decimal (10.3.0). Set to the empty string it hides every GPU on many
    releases, which happens in compose files and Kubernetes manifests (ROCR-Runtime #354); in any other form nothing
    starts."""
    for override in facts.environment.overrides:
        name = override.variable
        where, lines = _where_set(facts, name)
        if override.empty:
            yield Finding(
                Status.FAIL,
                f"{name} is set to the empty string, which hides every GPU",
                "Many releases read the empty value as gfx000. An unset variable is fine, an empty one is not.",
                (Evidence("environment", f'{name}=""'), *lines),
                (_unset(facts, name, f"Unset {name}{where}, do not leave it empty"),),
            )
        elif not override.valid:
            hint = _right_value(facts, matrix)
            yield Finding(
                Status.FAIL,
                f"{name}={override.value} is not a version: it must read major.minor.stepping",
                "The run time does not understand it and starts with no GPU at all." + (f" {hint}" if hint else ""),
                (Evidence("environment", f"{name}={override.value}"), *lines),
                (_unset(facts, name, f"Unset {name}{where}, or write it in the form that it must have"),),
            )


def _right_value(facts: Facts, matrix: Matrix) -> str:
    for gpu in facts.gpus:
        for value, target in matrix.override_suggestions(gpu.gfx or ""):
            return f"For {gpu.gfx} it is {value} (runs as {target}), where a build lacks {gpu.gfx}."
    return ""


@check(
    "hsa_override.fits",
    title="No override changes a GPU for the worse",
    after=["hsa_override.valid", "gpu_present.device"],
    docs=[remedies.ENVIRONMENT],
)
def override_fits(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares the override with the real target of each GPU that the visibility variables leave. Inside gfx103x, 10.3.0 is
    right where the build lacks the target; small RDNA3 parts with 11.0.0 can hang; gfx12 with anything and any change of the
    major number is harmful; one global value hits every GPU of a mixed machine; a value equal to the real target is a
    left-over (rules.md 25, 26)."""
    if not facts.environment.overrides:
        return
    gpus = in_sight(facts)
    mixed = len({g.gfx for g in gpus if g.gfx}) > 1
    built = _built_gfx(facts)
    needed = any(_helps(facts, matrix, g, built) for g in gpus)
    for gpu in gpus:
        override = facts.environment.override_for(gpu.kfd_node)
        if override is not None and override.gfx and gpu.gfx:
            yield from _judge_override(facts, matrix, gpu, override, mixed, gpu.gfx in built, needed)


def in_sight(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that the visibility variables leave to programs; all of them where they leave none, or KFD's order is unknown."""
    nodes = known(lambda: facts.kfd.gpus, ())
    masks = facts.environment.visibility
    if not nodes or not masks.masks:
        return facts.gpus
    left = {nodes[i].id for i in masks.left(len(nodes)) if i < len(nodes)}
    seen = tuple(g for g in facts.gpus if not g.kfd or any(n.id in left for n in g.kfd))
    return seen if any(g.kfd for g in seen) else facts.gpus


def _helps(facts: Facts, matrix: Matrix, gpu: Gpu, built: frozenset[str]) -> bool:
    """The global override is what this GPU needs: the build has no code for it, and it is right (or at least usual) there."""
    override = facts.environment.override_for(gpu.kfd_node)
    if override is None or override.node is not None or not override.gfx or not gpu.gfx or gpu.gfx in built:
        return False
    rule = matrix.override(gpu.gfx, override.value, rocm=known(lambda: facts.rocm_version, None))
    return rule.verdict == "ok"


def _judge_override(
    facts: Facts, matrix: Matrix, gpu: Gpu, override: Override, mixed: bool, native: bool, needed: bool
) -> Iterator[Finding]:
    setting = f"{override.variable}={override.value}"
    where, lines = _where_set(facts, override.variable)
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
        unset = _unset(facts, override.variable, f"Unset {override.variable}{where}")
        # Another GPU lives by this value: then the one that it harms is to be left out of it, and the machine is not broken.
        kept = needed and one_for_all
        yield Finding(
            Status.WARN if kept else Status.FAIL,
            f"{setting} makes the {gpu.label} ({gpu.gfx}) look like {override.gfx}",
            remedies.sentence(rule.reason)
            + (" One global value hits every GPU of this machine." if one_for_all else "")
            + (" Another GPU here needs it." if kept else ""),
            evidence,
            per_gpu if kept else (unset, *per_gpu),
        )
    elif rule.verdict == "noop":
        if not mixed:
            yield Finding(
                Status.WARN,
                f"{setting} is a left-over: the GPU is {gpu.gfx} anyway",
                "It changes nothing today and will mislead after the next GPU or ROCm.",
                evidence,
                (_unset(facts, override.variable, f"Unset {override.variable}{where}"),),
            )
    elif native:
        yield Finding(
            Status.WARN,
            f"{setting} is not needed: the installed build has code for {gpu.gfx}",
            f"The {gpu.label} runs as {override.gfx} because of it. {remedies.sentence(rule.reason)}",
            evidence,
            (_unset(facts, override.variable, f"Unset {override.variable}{where}: the native target is used then"), *per_gpu),
        )
    elif rule.verdict == "risky":
        yield Finding(
            Status.WARN,
            f"{setting} is a risk on the {gpu.label} ({gpu.gfx})",
            remedies.sentence(rule.reason),
            evidence,
            (
                _unset(facts, override.variable, f"Unset {override.variable}{where}: a build that has {gpu.gfx} needs none"),
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


def acts_as(facts: Facts, matrix: Matrix, gpu: Gpu) -> str | None:
    """The target that an override in force turns this GPU into, when the matrix calls that right for it."""
    override = facts.environment.override_for(gpu.kfd_node)
    if override is None or not override.gfx or not gpu.gfx:
        return None
    rule = matrix.override(gpu.gfx, override.value, rocm=known(lambda: facts.rocm_version, None))
    return override.gfx if rule.verdict in ("ok", "noop") else None


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


@check(
    "visibility_env.gpus-left",
    title="The visibility variables leave GPUs",
    after=["gpu_present.device"],
    docs=[remedies.ENVIRONMENT],
)
def gpus_left(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """ROCR_VISIBLE_DEVICES acts first, HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES count what it left, GPU_DEVICE_ORDINAL
    what those left. The empty string hides all, an index out of range hides from there on (rules.md 27). Schedulers set
    several on purpose."""
    visibility = facts.environment.visibility
    if not visibility.masks:
        return
    total = len(known(lambda: facts.kfd.gpus, ())) or len(facts.gpus)
    left = visibility.visible(total)
    evidence = tuple(Evidence("environment", f'{m.variable}="{m.value}"') for m in visibility.masks)
    # CUDA_VISIBLE_DEVICES speaks of the NVIDIA GPUs where there are any. HIP listens to it all the same, unless it has its own.
    foreign = nvidia_here(facts)
    if left.number == 0 and left.hidden_by == "CUDA_VISIBLE_DEVICES" and foreign:
        yield Finding(
            Status.WARN,
            f"CUDA_VISIBLE_DEVICES, meant for the NVIDIA GPU, hides {remedies.count(total, 'AMD GPU')} from HIP as well",
            "HIP reads CUDA_VISIBLE_DEVICES where HIP_VISIBLE_DEVICES is not set, and counts AMD GPUs by it.",
            evidence,
            (Fix("Set HIP_VISIBLE_DEVICES for programs that use the AMD GPU: it goes before CUDA_VISIBLE_DEVICES"),),
        )
    elif left.number == 0 and left.hidden_by:
        yield Finding(
            Status.FAIL,
            f"{left.hidden_by} leaves no GPU visible of {total}",
            "Driver and run time are fine; the variable hides every GPU from the programs of this session.",
            evidence,
            (
                remedies.unset(
                    facts,
                    left.hidden_by,
                    f"Unset {left.hidden_by}, or give it an index from 0 on, counted in what the earlier variables leave",
                    "visibility_env.*",
                ),
            ),
        )
    elif left.cut and left.number < total and not (foreign and left.cut[0][0] == "CUDA_VISIBLE_DEVICES"):
        variable, token = left.cut[0]
        yield Finding(
            Status.WARN,
            f"{variable} names {token!r}, which is no GPU here: {left.number} of {remedies.count(total, 'GPU')} visible",
            "From the first entry that does not exist on, the rest of the list is ignored.",
            evidence,
            (Fix(f"Correct {variable}: indexes start at 0 and count what the earlier variables leave"),),
        )


@check("ld_path.wheel", title="LD_LIBRARY_PATH does not mix ROCm releases into PyTorch", after=["torch_build.rocm"])
def wheel_libraries(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm wheel brings its own libraries. A folder of another ROCm release in LD_LIBRARY_PATH beats the RUNPATH of older
    wheels and is found first by libraries that are opened by name in newer ones. Judged by what would be loaded, not by
    presence (rules.md 28)."""
    env = facts.torch_env
    torch = env.torch if env else None
    if torch is None or torch.build != "rocm" or torch.layout not in ("bundled", "rocm-sdk") or not torch.rocm_release:
        raise NotApplicable("no ROCm wheel with libraries of its own")
    for folder in facts.loader.library_path:
        real = facts.host.resolve(folder) or folder
        owner = next((i for i in facts.rocm.installs if i.version and (real == i.root or real.startswith(i.root + "/"))), None)
        if owner is None or not owner.has_hip or not owner.version:
            continue
        if owner.version.split(".")[:2] == torch.rocm_release.split(".")[:2]:
            continue
        yield Finding(
            Status.WARN,
            f"LD_LIBRARY_PATH puts ROCm {owner.version} ahead of the libraries of torch {torch.version}",
            f"The wheel carries ROCm {torch.rocm_release}. With the variable the loader picks {folder} first, and torch "
            "runs on a mix of the two.",
            (
                Evidence("environment", f"LD_LIBRARY_PATH={facts.env.get('LD_LIBRARY_PATH', '')}"),
                Evidence(owner.root, f"ROCm {owner.version}"),
                *_where_set(facts, "LD_LIBRARY_PATH")[1],
            ),
            (
                Fix(
                    "Unset LD_LIBRARY_PATH for PyTorch (the wheel needs none), or take the ROCm folder out of it",
                    (("env", "-u", "LD_LIBRARY_PATH", "python3", "your_program.py"),),
                    verify=recheck("ld_path.*"),
                ),
            ),
        )
        return


@check("ld_path.symbols", title="The loader finds libraries that fit each other", needs_gpu=False)
def symbols(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A "symbol lookup error" of rocminfo names the library that is too old. The usual one is the distribution's
    libdrm_amdgpu where ROCm wants AMD's newer package of it (legacy-rocm-build issues on amdgpu_va_get_start_addr)."""
    info = facts.rocminfo
    if info.error not in ("symbol-missing", "library-missing"):
        return
    line = info.error_text.strip().splitlines()[-1] if info.error_text.strip() else ""
    drm = "amdgpu_" in line and info.error == "symbol-missing"
    distribution = known(lambda: facts.packages.get("libdrm-amdgpu1"), None)
    evidence = [Evidence("rocminfo", line)]
    cause, remedy = cause_and_remedy(facts, line)
    if drm and distribution:
        evidence.append(Evidence("package libdrm-amdgpu1", distribution.version))
    yield Finding(
        Status.FAIL,
        "ROCm's run time and libdrm_amdgpu do not fit each other" if drm else "ROCm's run time cannot be loaded",
        "The run time wants a function that the distribution's libdrm does not have; AMD's own libdrm-amdgpu packages "
        "carry it (amdgpu-install --no-dkms leaves them out)."
        if drm
        else cause,
        tuple(evidence),
        (_amd_libdrm(facts, matrix) if drm else remedy,),
    )


def _amd_libdrm(facts: Facts, matrix: Matrix) -> Fix:
    """AMD's libdrm packages lie in the driver's repository, which a host with the kernel's own driver often has not."""
    there = any(s.product == "amdgpu" for s in known(lambda: facts.repos.amd, ()))
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    recipe = matrix.recipe(facts.rocm_version or "", base.id, base.version) if base and facts.rocm_version else None
    source = recipe.driver_repo if recipe and not there else None
    update = (("apt-get", "update"),) if remedies.manager(facts) == "apt" else ()
    return Fix(
        "Install AMD's libdrm packages from the amdgpu repository of the same release"
        + (f", which is added as {source.path} (no driver comes with it)" if source else "")
        + ("" if there or source else "; add that repository first, as AMD's pages of the release say"),
        (
            *((remedies.write(source.path, *source.text.splitlines()), *update) if source else ()),
            *(remedies.install(facts, "libdrm-amdgpu-amdgpu1", "libdrm2-amdgpu") if there or source else ()),
        ),
        needs=("root", "network"),
        verify=recheck("ld_path.*", "rocminfo.*"),
    )
