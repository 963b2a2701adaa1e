"""`python -m torch.utils.collect_env` as people paste it into reports (pytorch torch/utils/collect_env.py).

It is read where a host is known by such a text alone. Tools that copy the script append lines of their own ("ROCM Version:",
"vLLM Build Flags: ... ROCm: Disabled"), which say nothing about torch's build.
"""

import re
from typing import NamedTuple

from rocmdoctor.facts import torch_build
from rocmdoctor.facts.distributions import normalised

_PACKAGE = re.compile(r"\[(?:pip3?|conda)\]\s+([A-Za-z0-9][\w.-]*?)(?:==|\s+)([\w.+!-]+)")
_GFX = re.compile(r"\((gfx[0-9a-f]{3,5})[:)]")
_KERNEL = re.compile(r"Linux-(.+?)-(?:x86_64|aarch64|ppc64le)\b")
_ABSENT = ("N/A", "Could not collect", "No CUDA", "None", "")


class CollectEnv(NamedTuple):
    """Fields are None where the text has no such line or says "N/A" or "Could not collect". `hip` is the HIP that torch was
    built with, `hip_runtime` the one that it found. `gfx`: targets in "GPU models and configuration". `packages`: normalised
    name to version, pip's before conda's."""

    torch: str | None
    build: str | None
    hip: str | None
    cuda: str | None
    rocm_release: str | None
    hip_runtime: str | None
    os: str | None
    kernel: str | None
    python: str | None
    gpu_usable: bool | None
    gfx: tuple[str, ...]
    packages: dict[str, str]

    @property
    def is_wsl(self) -> bool:
        return "microsoft" in (self.kernel or "").lower()


def parse(text: str) -> CollectEnv:
    """The first report in a text; other tools' output before and after it does not matter."""
    fields: dict[str, str] = {}
    packages: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            found = _PACKAGE.match(stripped)
            if found and found.group(2).lower() not in ("relevant", "not"):
                packages.setdefault(normalised(found.group(1)), found.group(2))
            continue
        label, colon, value = stripped.partition(":")
        if colon and len(label) < 60:
            fields.setdefault(label, value.strip())

    def told(label: str) -> str | None:
        value = fields.get(label, "")
        return None if value in _ABSENT else value

    torch, hip, cuda = told("PyTorch version"), told("ROCM used to build PyTorch"), told("CUDA used to build PyTorch")
    build = None
    if torch:
        requires = [name for name in packages if name.startswith(("pytorch-triton-rocm", "triton-rocm"))]
        build = torch_build.build_of(torch, {"hip": hip, "cuda": cuda}, requires, ())
    kernel = _KERNEL.search(fields.get("Python platform", ""))
    usable = fields.get("Is CUDA available")
    return CollectEnv(
        torch,
        build,
        hip,
        cuda,
        torch_build.rocm_release(torch or "", None) if build == "rocm" else None,
        told("HIP runtime version"),
        told("OS"),
        kernel.group(1) if kernel else None,
        (told("Python version") or "").split(" ")[0] or None,
        {"True": True, "False": False}.get(usable or ""),
        tuple(dict.fromkeys(_GFX.findall(fields.get("GPU models and configuration", "")))),
        packages,
    )
