"""Installed Python distributions by the names of their *.dist-info folders.

Sources: PyPA "Recording installed projects" (PEP 376, PEP 627), "Core metadata", normalised names (PEP 503).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known

if TYPE_CHECKING:
    from rocmdoctor.host import Host

MAX_DISTRIBUTIONS = 5000

# Whose requirements tell what a torch needs, or who brought another one. Others' METADATA is not read.
_READ = frozenset((
    "torch", "torchvision", "torchaudio", "torchtext", "triton", "pytorch-triton-rocm", "triton-rocm", "pytorch-triton", "rocm",
    "vllm", "xgrammar", "bitsandbytes", "deepspeed", "xformers", "flash-attn", "flashinfer-python", "sglang", "accelerate",
    "unsloth", "numpy", "onnxruntime-rocm", "jax-rocm7-plugin", "jax-rocm60-plugin",
))  # fmt: skip
_SEPARATORS = r"[-_.]+"
_EGG_PYTHON = r"-py\d(\.\d+)?(-.*)?$"


class Distribution(NamedTuple):
    """One *.dist-info of an environment. `requires` are Requires-Dist lines as written."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    path: str
    requires: tuple[str, ...] = ()
    installer: str = ""
    """pip, uv, conda ... (INSTALLER); read for torch alone."""


def normalised(name: str) -> str:
    """PEP 503: "pytorch_triton_rocm" is "pytorch-triton-rocm"."""
    return re.sub(_SEPARATORS, "-", name).lower()


def from_folder(name: str) -> tuple[str, str] | None:
    """(normalised name, version) of a *.dist-info or *.egg-info name; None for anything else. The version may be ""."""
    if name.endswith(".dist-info"):
        stem = name[: -len(".dist-info")]
    elif name.endswith(".egg-info"):
        stem = re.sub(_EGG_PYTHON, "", name[: -len(".egg-info")])
    else:
        return None
    project, _, version = stem.partition("-")
    return (normalised(project), version) if project else None


def requirements(metadata: str) -> tuple[str, ...]:
    """Requires-Dist values of a METADATA text: header lines up to the first empty one."""
    found = []
    for line in metadata.split("\n"):
        if not line.strip():
            break
        if line.startswith("Requires-Dist:"):
            found.append(line[14:].strip())
    return tuple(found)


def _text(host: "Host", path: str) -> str:
    """A file that merely helps, at most 128 KiB: "" where it is absent or unknown."""
    return known(lambda: host.read(path, 128 << 10), None) or ""


def read_distributions(host: "Host", site: str, names: tuple[str, ...]) -> Iterator[Distribution]:
    """Distributions of one site-packages folder, given its names."""
    count = 0
    for folder in names:
        parsed = from_folder(folder)
        if parsed is None:
            continue
        count += 1
        if count > MAX_DISTRIBUTIONS:
            return
        name, version = parsed
        path = f"{site}/{folder}"
        requires: tuple[str, ...] = ()
        installer = ""
        if name in _READ and folder.endswith(".dist-info"):
            requires = requirements(_text(host, f"{path}/METADATA"))
        if name == "torch":
            installer = _text(host, f"{path}/INSTALLER").strip()[:40]
        yield Distribution(name, version, path, requires, installer)
