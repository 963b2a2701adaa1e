"""What sits on PyTorch and has kernels of its own: vLLM, bitsandbytes, flash-attn. Is the installed build for this ROCm and GPU?

Nothing is imported: versions, and the names of the libraries beside them, tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks.frameworks import nvidia_here, pip, plain, seen
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts.frameworks import bitsandbytes_names, vllm_rocm
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix

VLLM_DOCS = "https://docs.vllm.ai/en/latest/getting_started/installation/gpu.html"
BITSANDBYTES_DOCS = "https://huggingface.co/docs/bitsandbytes/main/en/installation"


@check(
    "python.vllm",
    title="vLLM is a ROCm build that belongs to this torch",
    after=["gpu_present.device", "torch_build.rocm"],
    docs=[VLLM_DOCS],
)
def vllm(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """vLLM's ROCm builds say so in their version (0.18.0+rocm721). Its wheels exist for one Python; with any other, pip takes the
    CUDA wheel without a word. A build for another major version of ROCm than torch's loads libraries of other numbers.
    """
    found = next((f for f in facts.frameworks if f.env.get("vllm")), None)
    own = found.env.get("vllm") if found else None
    if found is None or own is None:
        raise NotApplicable("vLLM is not installed")
    torch = found.env.torch
    row = matrix.python_packages.get("vllm")
    major = vllm_rocm(own.version)
    wanted = " or ".join(row.python) if row else ""
    if major is None:
        if found.vllm and "_C" in found.vllm and "_rocm_C" not in found.vllm and not nvidia_here(facts):
            yield Finding(
                Status.WARN,
                f"vLLM {own.version} is the CUDA build",
                "It stops at libcudart.so or finds no platform. "
                + (f"vLLM's ROCm wheels are for Python {wanted} only (this is {found.env.version})." if wanted else ""),
                (*seen(own), Evidence(own.path.rpartition("/")[0] + "/vllm", "_C without _rocm_C")),
                (
                    Fix(
                        "Install vLLM's ROCm wheel, from its own index, in an environment of its own"
                        + (f" with Python {wanted}" if wanted else ""),
                        (),
                        needs=("network",),
                        verify=recheck("python.vllm"),
                    ),
                ),
            )
        return
    if torch and torch.rocm_release and torch.rocm_release.partition(".")[0] != major:
        yield Finding(
            Status.WARN,
            f"vLLM {own.version} is built for ROCm {major}, torch {torch.version} is of ROCm {torch.rocm_release}",
            "Its kernels load libraries of another ROCm than the one that torch has loaded.",
            (*seen(own), Evidence(torch.path, f"torch {torch.version}")),
            (
                Fix(
                    "Install vLLM together with the torch that its ROCm wheel names (it brings its own)",
                    (),
                    needs=("network",),
                    verify=recheck("python.vllm"),
                ),
            ),
        )
        return
    here = {g.gfx for g in facts.gpus if g.gfx}
    official = row is not None and plain(own.version) >= min(map(plain, row.versions))
    if row and row.gfx and here and official and not here & set(row.gfx):
        yield Finding(
            Status.WARN,
            f"vLLM {own.version} has no kernels for {' and '.join(sorted(here))}",
            f"Its ROCm wheels are built for {', '.join(row.gfx)}.",
            seen(own),
            (Fix("Build vLLM from source for this GPU, or use another engine (llama.cpp)", (), verify=recheck("python.vllm")),),
        )


@check(
    "python.bitsandbytes",
    title="bitsandbytes has a library for this ROCm",
    after=["gpu_present.device", "torch_build.rocm"],
    docs=[BITSANDBYTES_DOCS],
)
def bitsandbytes(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """bitsandbytes loads libbitsandbytes_rocmXY.so, where XY is the HIP version of torch (or BNB_ROCM_VERSION). Its wheel has one
    for each ROCm that it was built for, older wheels have only CUDA's; without it, 4-bit and 8-bit layers fail at first use.
    """
    found = next((f for f in facts.frameworks if f.env.get("bitsandbytes")), None)
    own = found.env.get("bitsandbytes") if found else None
    if found is None or own is None:
        raise NotApplicable("bitsandbytes is not installed")
    torch = found.env.torch
    there = found.bitsandbytes
    if there is None or torch is None or torch.build != "rocm" or not torch.hip:
        raise NotApplicable("which libraries bitsandbytes has, or torch's HIP version, is not known")
    asked = facts.env.get("BNB_ROCM_VERSION", "").replace(".", "")
    wanted = (asked,) if asked else bitsandbytes_names(torch.hip)
    if not wanted or any((kind == "rocm" and (number in wanted or not number)) or kind == "hip" for kind, number in there):
        return
    has = sorted(number for kind, number in there if kind == "rocm")
    row = matrix.python_packages.get("bitsandbytes")
    yield Finding(
        Status.WARN,
        f"bitsandbytes {own.version} has no library for HIP {versions.major_minor(torch.hip)}",
        f"It looks for libbitsandbytes_rocm{wanted[0]}.so"
        + (f" (BNB_ROCM_VERSION={facts.env['BNB_ROCM_VERSION']})" if asked else "")
        + (f" and has {', '.join('rocm' + n for n in has)} only." if has else " and has CUDA's only."),
        (*seen(own), Evidence(torch.path, f"torch {torch.version}, hip {torch.hip}")),
        (
            Fix(
                "Use a torch of a ROCm that bitsandbytes is built for"
                + (f" (its {row.versions[-1]}: {', '.join(row.rocm)})" if row and row.versions else "")
                + ", or build it from source with -DCOMPUTE_BACKEND=hip",
                (),
                needs=("network",),
                verify=recheck("python.bitsandbytes"),
            ),
        ),
    )


@check("python.flash-attn", title="flash-attn is a ROCm build", after=["gpu_present.device", "torch_build.rocm"])
def flash_attn(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """flash-attn's ready-made wheels are for CUDA. On AMD GPUs it is built from source (the CK back end, Instinct), or runs its
    Triton back end with FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE. Told by the version's tag or what its extension links.
    """
    found = next((f for f in facts.frameworks if f.env.get("flash-attn")), None)
    own = found.env.get("flash-attn") if found else None
    if found is None or own is None:
        raise NotApplicable("flash-attn is not installed")
    if (
        found.flash_attn != "cuda"
        or facts.env.get("FLASH_ATTENTION_TRITON_AMD_ENABLE", "").upper() == "TRUE"
        or nvidia_here(facts)
    ):
        return
    yield Finding(
        Status.WARN,
        f"flash-attn {own.version} is a CUDA build",
        "Importing it ends with 'libcudart.so: cannot open shared object file', and takes what imports it down too.",
        seen(own),
        (
            Fix(
                "Remove it; PyTorch's own attention (scaled_dot_product_attention) uses ROCm's kernels",
                (pip(found, "uninstall", "-y", "flash-attn"),),
                verify=recheck("python.flash-attn"),
            ),
            Fix(
                "Build it here for ROCm, or use its Triton back end",
                (
                    (
                        "env",
                        "FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE",
                        *pip(found, "install", "--no-build-isolation", "flash-attn"),
                    ),
                ),
                needs=("network",),
            ),
        ),
    )
