"""PyTorch: the build, its gfx targets, its companions, and whether the driver serves it. Read as text, never imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import nvidia_here
from rocmdoctor.checks.environment import acts_as, in_sight
from rocmdoctor.checks.installed import real_installs
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts
from rocmdoctor.host import UnknownFact
from rocmdoctor.matrix import Matrix, Verdict
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.facts.pythons import PythonEnv, Torch


def rocm_torch(facts: Facts) -> tuple[PythonEnv, Torch]:
    """The environment that is judged and its ROCm build of torch; NotApplicable when there is none."""
    env = facts.torch_env
    if env is None or env.torch is None:
        raise NotApplicable(
            "no PyTorch was found in --python, VIRTUAL_ENV, CONDA_PREFIX, the first python3 on PATH or the user site"
        )
    if env.torch.build != "rocm":
        raise NotApplicable("PyTorch is not a ROCm build: see torch_build.rocm")
    return env, env.torch


@check("torch_build.rocm", title="PyTorch is a ROCm build", after=["gpu_present.device"], docs=[remedies.PYTORCH], image=True)
def build(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Reads torch/version.py and the wheel's metadata as text. Three wrong builds look alike to the user: the CUDA build of
    the default index, the CPU build, and a ROCm build without this GPU's target (rules.md 32; the last has its own check).

    A machine that also has an NVIDIA GPU may use a CUDA build on purpose and is not flagged."""
    env = facts.torch_env
    if env is None or env.torch is None:
        raise NotApplicable(
            "no PyTorch was found in --python, VIRTUAL_ENV, CONDA_PREFIX, the first python3 on PATH or the user site"
        )
    torch = env.torch
    if torch.build == "rocm":
        return
    if nvidia_here(facts):
        raise NotApplicable("an NVIDIA GPU is here as well: another build of PyTorch may be meant for it")
    left = [
        d.name
        for d in (env.get(n) for n in ("torchvision", "torchaudio", "pytorch-triton-rocm", "triton-rocm"))
        if d and ("rocm" in d.version or "rocm" in d.name)
    ]
    from rocmdoctor.checks.torch_remedies import wheel_fix

    words = {"cuda": "CUDA", "cpu": "CPU", "xpu": "Intel XPU"}.get(torch.build, torch.build)
    silently = ", and silently computes on the CPU" if torch.build == "cpu" else ""
    detail = f"torch.version.hip is None: this build cannot use an AMD GPU{silently}."
    if left:
        detail += (
            f" {', '.join(left)} are still the ROCm ones: a later installation replaced torch (a dependency of another package, "
            "or the default index)."
        )
    else:
        detail += " The default index of pip gives this build; ROCm builds come from their own index."
    yield Finding(
        Status.FAIL,
        f"PyTorch in {env.prefix} is the {words} build ({torch.version})",
        detail,
        (Evidence(f"{torch.path}/version.py", f"__version__ {torch.version}, hip {torch.hip}, cuda {torch.cuda}"),),
        wheel_fix(facts, matrix, env, "Replace it with the ROCm build"),
    )


@check(
    "torch_arch.gpu",
    title="The PyTorch wheel has code for the GPU",
    after=["gpu_present.device", "torch_build.rocm"],
    docs=[remedies.PYTORCH],
)
def arch(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Intersects what libtorch was compiled for (from version and index, by the matrix) with the targets that the wheel's
    rocBLAS files name (from RECORD): either can lack a target that the other has (rules.md 34). An override that is right for
    this GPU counts."""
    env, torch = rocm_torch(facts)
    compiled = _compiled(matrix, torch)
    served: list[tuple[Gpu, str]] = []
    unserved: list[tuple[Gpu, str]] = []
    gpus = in_sight(facts)
    discrete = any(g.klass != "apu" for g in gpus)
    for gpu in gpus:
        if not gpu.gfx:
            continue
        lacks = _lacks(gpu.gfx, torch, compiled, gpu.klass == "apu")
        if lacks is None:
            continue
        other = acts_as(facts, matrix, gpu)
        if lacks and other and not _lacks(other, torch, compiled):
            lacks = ""
        (unserved if lacks else served).append((gpu, lacks))
    for gpu, lacks in unserved:
        if discrete and gpu.klass == "apu":
            continue  # the processor's own graphics beside a card
        targets = torch.library_gfx or compiled or frozenset()
        if gpu.gfx in targets and compiled:
            targets = compiled  # rocBLAS has it, and libtorch is what lacks it
        from rocmdoctor.checks.overrides import override_fix
        from rocmdoctor.checks.torch_remedies import wheel_fix

        yield Finding(
            Status.WARN if served else Status.FAIL,
            f"torch {torch.version} has no code for the {gpu.label} ({gpu.gfx})",
            f"{lacks} The first kernel ends with 'invalid device function' or a missing TensileLibrary, although "
            "torch.cuda.is_available() may be true.",
            (
                Evidence("GPU", f"{gpu.label}: {gpu.gfx} (from {gpu.gfx_source})"),
                Evidence(f"{torch.path}", "targets: " + ", ".join(sorted(targets, key=lambda t: (len(t), t)))),
            ),
            (
                *override_fix(facts, matrix, gpu, lambda target: not _lacks(target, torch, compiled)),
                *wheel_fix(facts, matrix, env, f"Install a wheel that has {gpu.gfx}"),
            ),
        )


def _compiled(matrix: Matrix, torch: Torch) -> frozenset[str] | None:
    """What libtorch was compiled for, None when unknown. A nightly has no row: its release has at least what the nightly had.

    The table is that of wheels with the tag +rocmX.Y. A distribution's own build, or one made from source for an image, has no
    such tag and its own list of targets."""
    if not torch.version.partition("+")[2].startswith("rocm"):
        return None
    exact = matrix.torch_gfx(torch.version, torch.rocm_release)
    nightly = re.match(r"(\d+\.\d+\.\d+)(?:\.dev|a|b|rc)\d", torch.version)
    if exact is not None or nightly is None:
        return exact
    return matrix.torch_gfx(f"{nightly.group(1)}+{torch.version.partition('+')[2]}", torch.rocm_release)


def _lacks(gfx: str, torch: Torch, compiled: frozenset[str] | None, apu: bool | None = None) -> str | None:
    """Why the wheel does not serve `gfx`: a sentence, "" when it does, None when nothing tells.

    Device packages (rocm-sdk-device-gfxNNNN, or the older per-family libraries) decide where there are any; else libtorch's
    list and the files of rocBLAS must both have the target."""
    device = torch.covers(gfx, apu=apu)
    if device is not None:
        return "" if device else f"Its device packages are for {', '.join(sorted(torch.gfx_device))}."
    if compiled is not None and gfx not in compiled:
        return "libtorch of this version and index was not compiled for it."
    files = torch.gfx.get("rocblas") or frozenset().union(*torch.gfx.values())
    if files and gfx not in files:
        return "Its library files name other targets."
    return "" if files or compiled is not None else None


@check(
    "torch_rocm_match.driver",
    title="The driver serves the ROCm that is used",
    after=["gpu_present.device"],
    places=("bare-metal", "vm"),
    docs=[remedies.USER_KERNEL_SPACE],
)
def driver_window(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A packaged driver is tested with a window of ROCm releases. What must fit is the driver and the user space in use: the
    installed ROCm's and, for PyTorch, the wheel's own (rules.md 31). The inbox driver has no such number and is not judged by
    it."""
    driver = facts.driver_release
    if not driver:
        raise NotApplicable("the kernel's own driver has no release number to compare")
    family = next((g.family for g in facts.gpus if g.family), None)
    used = {}
    env = facts.torch_env
    if env and env.torch and env.torch.build == "rocm" and env.torch.rocm_release:
        used[f"torch {env.torch.version}"] = env.torch.rocm_release
    if real_installs(facts) and facts.rocm_version:
        used[f"ROCm {facts.rocm_version}"] = facts.rocm_version
    answers = {what: matrix.driver(matrix.resolve(rocm) or rocm, driver, family=family) for what, rocm in used.items()}
    if answers and all(answer.verdict is Verdict.UNKNOWN for answer in answers.values()):
        raise UnknownFact(next(iter(answers.values())).reason)
    for what, rocm in used.items():
        version, answer = matrix.resolve(rocm) or rocm, answers[what]
        if answer.verdict is Verdict.UNSUPPORTED:
            newest = matrix.newest_userspace(driver)
            far = newest is not None and versions.components(rocm)[:1] > versions.components(newest)[:1]
            yield Finding(
                Status.FAIL if far else Status.WARN,
                f"{what} is outside the window of the driver {driver}",
                remedies.sentence(answer.reason)
                + " AMD does not test the pair; a user space much newer than the driver can crash at the first kernel "
                "although is_available() is true.",
                (
                    Evidence("amdgpu driver", f"{facts.amdgpu.version} (release {driver})"),
                    Evidence(f"compat_matrix.yaml {matrix.date}", answer.reason),
                ),
                (
                    Fix(
                        f"Install the driver of ROCm {version}{_driver_number(matrix, version)}, or a ROCm within the driver's "
                        "window" + (f" (up to {newest})" if newest else ""),
                        needs=("root", "network", "reboot"),
                    ),
                ),
            )


def _driver_number(matrix: Matrix, rocm: str) -> str:
    """The number of the driver where it is not that of ROCm (from 7.0 on)."""
    driver = matrix.driver_for(rocm)
    return f" ({driver})" if driver and driver != rocm else ""


@check(
    "triton.package",
    title="The triton package is the one that torch wants",
    after=["torch_build.rocm"],
    docs=[remedies.PYTORCH],
    image=True,
)
def triton(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """triton, pytorch-triton-rocm (to torch 2.9) and triton-rocm (from 2.10) own the same import folder: whichever came last
    overwrote the other. AMD's own builds want plain triton (rules.md 36). What the wheel requires in its metadata decides."""
    env, torch = rocm_torch(facts)
    wanted = _required_triton(env)
    if wanted is None:
        raise NotApplicable("this torch requires no triton package")
    name, version = wanted
    installed = [d for d in (env.get(n) for n in ("triton", "pytorch-triton-rocm", "triton-rocm")) if d]
    others = [d for d in installed if d.name != name]
    own = env.get(name)
    evidence = (
        Evidence(f"torch {torch.version}", f"requires {name}" + (f"=={version}" if version else "")),
        *(Evidence(d.path, f"{d.name} {d.version}") for d in installed),
    )
    index = matrix.index_url(torch.version, torch.rocm_release)
    spec = f"{name}=={version}" if version else name
    reinstall = Fix(
        f"Remove the other triton and install {spec} again from the wheel's own index",
        (
            (env.executable, "-m", "pip", "uninstall", "-y", *(d.name for d in installed)),
            (env.executable, "-m", "pip", "install", "--no-deps", *(("--index-url", index) if index else ()), spec),
        ),
        needs=("network",),
        verify=recheck("triton.*"),
    )
    if others:
        yield Finding(
            Status.FAIL,
            f"{others[0].name} {others[0].version} has overwritten {spec}",
            f"Both packages own the folder triton/. torch {torch.version} is built for {name}; another package pulled "
            f"{others[0].name} in (xgrammar, xformers and vLLM do).",
            evidence,
            (reinstall,),
        )
    elif own is None:
        yield Finding(
            Status.WARN,
            f"torch {torch.version} wants {spec}, which is not installed",
            "torch.compile and flash attention need it; the rest works.",
            evidence,
            (reinstall,),
        )
    elif version and own.version.partition("+")[0] != version.partition("+")[0]:
        yield Finding(
            Status.FAIL,
            f"{name} is {own.version}, torch {torch.version} wants {version}",
            "Compiled kernels of one do not load with the other.",
            evidence,
            (reinstall,),
        )
    elif (
        (links := matrix.faults.triton_hip_major(name, own.version))
        and torch.rocm_release
        and links != torch.rocm_release.partition(".")[0]
    ):
        yield Finding(
            Status.FAIL,
            f"{name} {own.version} is linked against HIP of ROCm {links}, this torch is of ROCm {torch.rocm_release}",
            f"It looks for libamdhip64.so.{links}, which neither this wheel nor an installed ROCm {torch.rocm_release} has.",
            evidence,
            (
                Fix(
                    f"Use a torch of ROCm {links} (index rocm{links}.0), for which this triton is built",
                    (),
                    needs=("network",),
                    verify=recheck("triton.*"),
                ),
            ),
        )


def _required_triton(env: PythonEnv) -> tuple[str, str | None] | None:
    """(name, version) of the triton package in torch's Requires-Dist; markers are ignored, Linux is all that is judged."""
    dist = env.get("torch")
    for line in dist.requires if dist else ():
        found = re.match(r"(pytorch-triton-rocm|triton-rocm|triton)(?![\w.-])\s*\(?\s*(?:[=~]=\s*([^\s;,)]+))?", line)
        if found:
            return found.group(1), found.group(2)
    return None
