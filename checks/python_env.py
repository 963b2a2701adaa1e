"""The Python environment around PyTorch: packages that break it though its build is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.checks.torch import rocm_torch
from rocmdoctor.engine import check
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.pythons import Torch
    from rocmdoctor.matrix import Matrix


@check(
    "python.amdsmi",
    title="No second amdsmi or pynvml disturbs PyTorch",
    after=["torch_build.rocm"],
    docs=[remedies.PYTORCH],
    image=True,
)
def amdsmi(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """torch counts GPUs through amdsmi. An amdsmi package beside a TheRock torch loads a second libamd_smi into the process,
    which aborts at exit or counts zero GPUs (pytorch #186516); pynvml without amdsmi makes torch 2.4 to 2.6 take the one for
    the other (NameError; later ones do not import pynvml on AMD)."""
    env, torch = rocm_torch(facts)
    own, nvml = env.get("amdsmi"), env.get("pynvml") or env.get("nvidia-ml-py")
    if own and torch.layout == "rocm-sdk":
        yield Finding(
            Status.WARN,
            f"The amdsmi package {own.version} sits beside a PyTorch that brings its own SMI library",
            "Two SMI libraries end up in one process: device_count() can return 0, and Python aborts at exit. GPU work "
            "itself is fine.",
            (Evidence(own.path, f"amdsmi {own.version}"), Evidence(torch.path, f"torch {torch.version}, ROCm SDK wheels")),
            (
                Fix(
                    "Remove the amdsmi package from this environment",
                    ((env.executable, "-m", "pip", "uninstall", "-y", "amdsmi"),),
                    verify=recheck("python.*"),
                ),
            ),
        )
    elif nvml and not own and matrix.faults.pynvml_confuses(torch.version):
        yield Finding(
            Status.WARN,
            f"{nvml.name} is installed and amdsmi is not: torch {torch.version} takes the one for the other",
            "torch of this age tries to import amdsmi when it finds pynvml, and torch.cuda.device_count() ends with a NameError.",
            (Evidence(nvml.path, f"{nvml.name} {nvml.version}"), Evidence(torch.path, f"torch {torch.version}")),
            (
                Fix(
                    "Remove pynvml and nvidia-ml-py from this environment (no AMD GPU needs them)",
                    ((env.executable, "-m", "pip", "uninstall", "-y", "pynvml", "nvidia-ml-py"),),
                    verify=recheck("python.*"),
                ),
                Fix(
                    "Install ROCm's own amdsmi package into it",
                    ((env.executable, "-m", "pip", "install", "/opt/rocm/share/amd_smi"),),
                ),
            ),
        )


@check("python.numpy", title="numpy fits this torch", after=["torch_build.rocm"], docs=[remedies.PYTORCH], image=True)
def numpy(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Wheels built against numpy 1 (torch before 2.3, AMD's own wheels up to ROCm 6.4) fail with numpy 2 ("_ARRAY_API not
    found")."""
    env, torch = rocm_torch(facts)
    dist = env.get("numpy")
    limit = matrix.faults.numpy_too_new(torch.version, _amd_built(torch)) if dist else None
    if dist is None or limit is None or versions.key(dist.version) < versions.key(limit):
        return
    yield Finding(
        Status.WARN,
        f"numpy {dist.version} is installed, torch {torch.version} was built against numpy 1",
        "Conversions between tensors and arrays fail with '_ARRAY_API not found'.",
        (Evidence(dist.path, f"numpy {dist.version}"), Evidence(torch.path, f"torch {torch.version}")),
        (
            Fix(
                "Install numpy 1",
                ((env.executable, "-m", "pip", "install", f"numpy<{limit}"),),
                needs=("network",),
                verify=recheck("python.*"),
            ),
        ),
    )


def _amd_built(torch: Torch) -> str | None:
    """The ROCm release of a wheel that AMD built itself (its local version has a git hash), None for PyTorch's own."""
    return torch.rocm_release if "git" in torch.version.partition("+")[2] else None


@check(
    "torch_build.companions",
    title="torchvision and torchaudio are of the same release as torch",
    after=["torch_build.rocm"],
    docs=[remedies.PYTORCH],
    image=True,
)
def companions(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """torchvision pins its torch; one of another release or a CUDA or CPU build beside a ROCm torch fails with "operator
    torchvision::nms does not exist". torchaudio stopped following torch at 2.11 (rules.md 36). The table decides."""
    env, torch = rocm_torch(facts)
    release = matrix.torch_release(torch.version.partition("+")[0])
    for name, wanted in (
        ("torchvision", release.torchvision if release else None),
        ("torchaudio", release.torchaudio if release else None),
    ):
        dist = env.get(name)
        if dist is None:
            continue
        local = dist.version.partition("+")[2]
        other_build = local.startswith(("cu", "cpu"))
        base = dist.version.partition("+")[0]
        wrong = wanted is not None and name == "torchvision" and versions.components(base)[:2] != versions.components(wanted)[:2]
        if other_build or wrong:
            yield Finding(
                Status.WARN,
                f"{name} {dist.version} does not belong to torch {torch.version}",
                (
                    "It is a build for another kind of GPU. "
                    if other_build
                    else f"torch {torch.version} goes with {name} {wanted}. "
                )
                + "Its operators do not load.",
                (Evidence(dist.path, f"{name} {dist.version}"), Evidence(torch.path, f"torch {torch.version}")),
                (
                    Fix(
                        f"Install torch, torchvision and torchaudio in one command from one index ({name} "
                        f"{wanted or 'of the same index'})",
                        needs=("network",),
                        verify=recheck("torch_build.*"),
                    ),
                ),
            )
