"""Frameworks beside PyTorch: does the installed build belong to this ROCm? Read from names and versions; nothing is imported.

A wrong build mostly falls back to the CPU without a word, so all of it warns, and only what is known speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks.installed import real_installs
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.frameworks import Frameworks, tensorflow_rocm
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.distributions import Distribution
    from rocmdoctor.matrix import Matrix

NVIDIA = "10de"
JAX_DOCS = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/jax-install.html"
ONNX_DOCS = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/onnx-install.html"
TENSORFLOW_DOCS = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/tensorflow-install.html"


def pip(found: Frameworks, *words: str) -> tuple[str, ...]:
    return (found.env.executable, "-m", "pip", *words)


def seen(*distributions: Distribution | None) -> tuple[Evidence, ...]:
    return tuple(Evidence(d.path, f"{d.name} {d.version}") for d in distributions if d)


def rocm_here(facts: Facts, found: Frameworks) -> tuple[tuple[str, str], ...]:
    """(release, where) of every ROCm that a program of this environment could load: the wheels beside it, then the system's."""
    there = [(found.rocm_sdk, "the rocm-sdk wheels")] if found.rocm_sdk else []
    there += [(i.version, i.root) for i in known(lambda: real_installs(facts), []) if i.version]
    return tuple((release, where) for release, where in there if release)


def other_major(facts: Facts, found: Frameworks, major: str) -> tuple[tuple[str, str], ...]:
    """The ROCm releases here when none of them is of that major version; nothing when one is, or when none is known."""
    there = rocm_here(facts, found)
    return () if any(release.partition(".")[0] == major for release, _ in there) else there


def nvidia_here(facts: Facts) -> bool:
    """An NVIDIA GPU is here as well, so that a CUDA build may be meant; also when that is unknown."""
    devices = known(lambda: facts.pci, None)
    return devices is None or any(d.vendor == NVIDIA and d.is_display for d in devices)


def plain(version: str) -> tuple[int, ...]:
    """Release numbers alone: 0.9.1.post3 and 0.9.1+rocm7.2.0 are (0, 9, 1)."""
    return versions.key(".".join(re.findall(r"\d+", version.partition("+")[0])[:3]))


# JAX -------------------------------------------------------------------------------------------------------------


@check("python.jax", title="JAX and its ROCm plug-in belong together", after=["gpu_present.device"], docs=[JAX_DOCS])
def jax(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """JAX reaches the GPU through two packages, jax-rocmN-plugin and jax-rocmN-pjrt. All three must be of one version, N must be
    the major version of the ROCm that is there, and jaxlib must know the plug-in's name; else JAX computes on the CPU.
    """
    found = next((f for f in facts.frameworks if f.env.get("jax") or f.jax_parts), None)
    if found is None:
        raise NotApplicable("JAX is not installed")
    from rocmdoctor.checks import jax_parts

    yield from jax_parts.judged(facts, matrix, found)


# TensorFlow, ONNX Runtime ----------------------------------------------------------------------------------------


@check(
    "python.tensorflow", title="TensorFlow is one build, and of this ROCm", after=["gpu_present.device"], docs=[TENSORFLOW_DOCS]
)
def tensorflow(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """tensorflow and tensorflow-rocm own the same import folder: whichever came last has overwritten the other. The fourth number
    of tensorflow-rocm (2.14.0.600) is the ROCm that it links; the library names of another major version differ.
    """
    found = next((f for f in facts.frameworks if any("rocm" in d.name for d in f.tensorflows)), None)
    if found is None:
        raise NotApplicable("tensorflow-rocm is not installed")
    own = next(d for d in found.tensorflows if "rocm" in d.name)
    others = [d for d in found.tensorflows if d is not own]
    if others:
        yield Finding(
            Status.WARN,
            f"{own.name} {own.version} and {others[0].name} {others[0].version} own the same folder tensorflow/",
            "Whichever was installed last has overwritten the other; a mix of both neither finds the GPU nor says why.",
            seen(own, *others),
            (
                Fix(
                    f"Remove both, then install {own.name} alone again",
                    (
                        pip(found, "uninstall", "-y", own.name, *(d.name for d in others)),
                        pip(found, "install", f"{own.name}=={own.version}"),
                    ),
                    needs=("network",),
                    verify=recheck("python.tensorflow"),
                ),
            ),
        )
        return
    release = tensorflow_rocm(own.version)
    other = other_major(facts, found, release.partition(".")[0]) if release else ()
    if release and other:
        yield Finding(
            Status.WARN,
            f"{own.name} {own.version} is built for ROCm {release}, and ROCm {other[0][0]} is installed",
            "Its libraries carry the numbers of that ROCm; it finds none of them and computes on the CPU.",
            (*seen(own), Evidence(other[0][1], f"ROCm {other[0][0]}")),
            (
                Fix(
                    f"Install the TensorFlow wheel that AMD names for ROCm {other[0][0]}",
                    (),
                    needs=("network",),
                    verify=recheck("python.tensorflow"),
                ),
            ),
        )


@check(
    "python.onnxruntime", title="ONNX Runtime is one build, and for an AMD GPU", after=["gpu_present.device"], docs=[ONNX_DOCS]
)
def onnxruntime(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """onnxruntime, onnxruntime-gpu (CUDA), onnxruntime-rocm and onnxruntime-migraphx own one import folder: two of them overwrite
    each other, and the ROCm provider is gone though its package is listed. From ROCm 7.1 on the provider for AMD GPUs is
    MIGraphX.
    """
    found = next((f for f in facts.frameworks if f.onnxruntimes), None)
    if found is None:
        raise NotApplicable("ONNX Runtime is not installed")
    all_of_them = found.onnxruntimes
    mine = next((d for d in all_of_them if "rocm" in d.name or "migraphx" in d.name), None)
    if len(all_of_them) > 1:
        keep = mine or all_of_them[0]
        yield Finding(
            Status.WARN,
            f"{len(all_of_them)} packages own the folder onnxruntime/: {', '.join(d.name for d in all_of_them)}",
            "Whichever was installed last has overwritten the others"
            + (f": {keep.name} may list no GPU provider." if mine else "."),
            seen(*all_of_them),
            (
                Fix(
                    f"Remove them all, then install {keep.name} alone again",
                    (
                        pip(found, "uninstall", "-y", *(d.name for d in all_of_them)),
                        pip(found, "install", f"{keep.name}=={keep.version}"),
                    ),
                    needs=("network",),
                    verify=recheck("python.onnxruntime"),
                ),
            ),
        )
        return
    only = all_of_them[0]
    if mine is None:
        if only.name.endswith("-gpu") and not nvidia_here(facts):
            yield Finding(
                Status.WARN,
                f"{only.name} {only.version} is the CUDA build of ONNX Runtime",
                "It cannot use an AMD GPU, and computes on the CPU with a warning about CUDAExecutionProvider.",
                seen(only),
                (
                    Fix(
                        "Install the build for AMD GPUs in its place (onnxruntime-migraphx; onnxruntime-rocm for older releases)",
                        (),
                        needs=("network",),
                        verify=recheck("python.onnxruntime"),
                    ),
                ),
            )
        return
    yield from _onnxruntime_release(facts, matrix, found, mine)


def _onnxruntime_release(facts: Facts, matrix: Matrix, found: Frameworks, own: Distribution) -> Iterator[Finding]:
    row = matrix.python_packages.get(own.name)
    majors = {r.partition(".")[0] for r in row.rocm} if row else set()
    there = rocm_here(facts, found)
    if not majors or not there or any(release.partition(".")[0] in majors for release, _ in there):
        return
    yield Finding(
        Status.WARN,
        f"{own.name} {own.version} is for ROCm {' and '.join(sorted(majors, key=versions.key))}, not for the {there[0][0]} here",
        "It takes ROCm's libraries from the system, by the numbers of its own release.",
        (*seen(own), Evidence(there[0][1], f"ROCm {there[0][0]}")),
        (
            Fix(
                f"Install the ONNX Runtime wheel that AMD names for ROCm {there[0][0]}",
                (),
                needs=("network",),
                verify=recheck("python.onnxruntime"),
            ),
        ),
    )
