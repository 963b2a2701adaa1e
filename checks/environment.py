"""Environment variables that change what ROCm sees: overrides, visibility, library paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import nvidia_here
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix


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
    wrong = [o for o in facts.environment.overrides if not o.valid]
    if not wrong:
        return
    from rocmdoctor.checks.overrides import right_value, unset, where_set

    for override in wrong:
        name = override.variable
        where, lines = where_set(facts, name)
        if override.empty:
            yield Finding(
                Status.FAIL,
                f"{name} is set to the empty string, which hides every GPU",
                "Many releases read the empty value as gfx000. An unset variable is fine, an empty one is not.",
                (Evidence("environment", f'{name}=""'), *lines),
                (unset(facts, name, f"Unset {name}{where}, do not leave it empty"),),
            )
        else:
            hint = right_value(facts, matrix)
            yield Finding(
                Status.FAIL,
                f"{name}={override.value} is not a version: it must read major.minor.stepping",
                "The run time does not understand it and starts with no GPU at all." + (f" {hint}" if hint else ""),
                (Evidence("environment", f"{name}={override.value}"), *lines),
                (unset(facts, name, f"Unset {name}{where}, or write it in the form that it must have"),),
            )


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
    from rocmdoctor.checks import overrides

    yield from overrides.judged(facts, matrix, in_sight(facts))


def in_sight(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that the visibility variables leave to programs; all of them where they leave none, or KFD's order is unknown."""
    nodes = known(lambda: facts.kfd.gpus, ())
    masks = facts.environment.visibility
    if not nodes or not masks.masks:
        return facts.gpus
    left = {nodes[i].id for i in masks.left(len(nodes)) if i < len(nodes)}
    seen = tuple(g for g in facts.gpus if not g.kfd or any(n.id in left for n in g.kfd))
    return seen if any(g.kfd for g in seen) else facts.gpus


def acts_as(facts: Facts, matrix: Matrix, gpu: Gpu) -> str | None:
    """The target that an override in force turns this GPU into, when the matrix calls that right for it."""
    override = facts.environment.override_for(gpu.kfd_node)
    if override is None or not override.gfx or not gpu.gfx:
        return None
    rule = matrix.override(gpu.gfx, override.value, rocm=known(lambda: facts.rocm_version, None))
    return override.gfx if rule.verdict in ("ok", "noop") else None


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
        from rocmdoctor.checks.overrides import where_set

        yield Finding(
            Status.WARN,
            f"LD_LIBRARY_PATH puts ROCm {owner.version} ahead of the libraries of torch {torch.version}",
            f"The wheel carries ROCm {torch.rocm_release}. With the variable the loader picks {folder} first, and torch "
            "runs on a mix of the two.",
            (
                Evidence("environment", f"LD_LIBRARY_PATH={facts.env.get('LD_LIBRARY_PATH', '')}"),
                Evidence(owner.root, f"ROCm {owner.version}"),
                *where_set(facts, "LD_LIBRARY_PATH")[1],
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
    from rocmdoctor.checks.loader_errors import amd_libdrm, cause_and_remedy

    line = info.error_text.strip().splitlines()[-1] if info.error_text.strip() else ""
    drm = "amdgpu_" in line and info.error == "symbol-missing"
    distribution = known(lambda: facts.packages.get("libdrm-amdgpu1"), None)
    evidence = [Evidence("rocminfo", line)]
    cause, remedy = cause_and_remedy(facts, matrix, line)
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
        (amd_libdrm(facts, matrix) if drm else remedy,),
    )
