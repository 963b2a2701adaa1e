"""Frameworks beside PyTorch: JAX, TensorFlow, ONNX Runtime, vLLM, bitsandbytes, flash-attn. Told by names; nothing is imported.

Sources: PyPA dist-info; jaxlib/plugin_support.py (a plug-in must have jaxlib's version); bitsandbytes cextension.py (which
library is loaded); vLLM setup.py (its version ends with rocmNNN, its extension is _rocm_C); flash-attention setup.py.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known

if TYPE_CHECKING:
    from rocmdoctor.facts.pythons import Distribution, PythonEnv
    from rocmdoctor.host import Host

ONNXRUNTIME = (
    "onnxruntime", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx", "onnxruntime-openvino", "onnxruntime-directml",
    "onnxruntime-training", "onnxruntime-training-rocm", "ort-nightly", "ort-nightly-gpu", "ort-migraphx-nightly",
)  # fmt: skip
"""Distributions that own the import package onnxruntime."""
TENSORFLOW = (
    "tensorflow", "tensorflow-rocm", "tensorflow-cpu", "tensorflow-cpu-aws", "rocm-tensorflow", "tf-nightly", "tf-nightly-rocm",
)  # fmt: skip
"""Distributions that own the import package tensorflow."""

_JAX = r"jax-(rocm|cuda)(\d{1,3})-(plugin|pjrt)"
_BITSANDBYTES = r"libbitsandbytes_(?:(rocm|cuda)(\d{2,4})|(hip|rocm|cpu))[\w-]*\.so"
_VLLM_TAG = r"rocm(\d{2,4})(?!\d)"
_TENSORFLOW_STAMP = r"\d+\.\d+\.\d+\.(\d)(\d)(\d)"
_FLASH = r"flash_attn_2_cuda[\w.-]*\.so"
_PROBE = 4 << 20
"""Bytes of an extension in which its needed libraries are looked for: .dynstr lies near the start."""


class JaxPart(NamedTuple):
    """One of JAX's GPU packages: `accelerator` rocm | cuda, `major` "7" of jax-rocm7-plugin (60 is 6), `kind` plugin | pjrt."""

    distribution: "Distribution"
    accelerator: str
    major: str
    kind: str


class Frameworks(NamedTuple):
    """What one environment holds beside torch.

    `bitsandbytes`: ("rocm", "72"), ("cuda", "124"), ("hip", "") for each library in its folder; `vllm`: names of its extensions;
    both None where the folder shows none (or is unknown). `flash_attn`: cuda | rocm, by what its extension links, None when
    unknown.
    """

    env: "PythonEnv"
    jax_parts: tuple[JaxPart, ...] = ()
    onnxruntimes: "tuple[Distribution, ...]" = ()
    tensorflows: "tuple[Distribution, ...]" = ()
    bitsandbytes: frozenset[tuple[str, str]] | None = None
    vllm: frozenset[str] | None = None
    flash_attn: str | None = None

    @property
    def rocm_sdk(self) -> str | None:
        """The release of the rocm-sdk wheels in this environment ("7.14.0")."""
        sdk = self.env.get("rocm-sdk-core") or self.env.get("rocm")
        found = re.match(r"\d{1,3}\.\d{1,3}(?:\.\d{1,4})?", sdk.version) if sdk else None
        return found.group() if found else None


def gather(host: "Host", envs: "tuple[PythonEnv, ...]") -> tuple[Frameworks, ...]:
    """One entry for each environment, in order of precedence."""
    return tuple(_read(host, env) for env in envs)


def _read(host: "Host", env: "PythonEnv") -> Frameworks:
    jax = []
    for dist in env.distributions:
        match = re.fullmatch(_JAX, dist.name)
        if match:
            jax.append(JaxPart(dist, match[1], _jax_major(match[1], match[2]), match[3]))
    return Frameworks(
        env,
        tuple(jax),
        tuple(d for name in ONNXRUNTIME if (d := env.get(name))),
        tuple(d for name in TENSORFLOW if (d := env.get(name))),
        _bitsandbytes(host, env) if env.get("bitsandbytes") else None,
        _vllm(host, env) if env.get("vllm") else None,
        _flash_attn(host, env) if env.get("flash-attn") else None,
    )


def _jax_major(accelerator: str, digits: str) -> str:
    """jax-rocm60 was named after ROCm 6.0, later ones after the major alone: rocm7, rocm10."""
    return digits[0] if accelerator == "rocm" and len(digits) == 2 and digits[0] in "56" else digits


def _names(host: "Host", env: "PythonEnv", folder: str) -> Iterator[tuple[str, str]]:
    """(folder, name) of what lies in a package's folder, or in site-packages itself for "."."""
    nothing: tuple[str, ...] = ()
    for site in env.site_packages:
        path = site if folder == "." else f"{site}/{folder}"
        for name in known(partial(host.names, path), nothing):
            yield path, name


def _bitsandbytes(host: "Host", env: "PythonEnv") -> frozenset[tuple[str, str]] | None:
    found = [re.fullmatch(_BITSANDBYTES, name) for _, name in _names(host, env, "bitsandbytes")]
    return frozenset((m[1] or m[3], m[2] or "") for m in found if m) or None


def _vllm(host: "Host", env: "PythonEnv") -> frozenset[str] | None:
    return frozenset(name.partition(".")[0] for _, name in _names(host, env, "vllm") if name.endswith(".so")) or None


def _flash_attn(host: "Host", env: "PythonEnv") -> str | None:
    """By the version's tag ("+cu12torch2.6"), else by the libraries whose names its extension holds."""
    dist = env.get("flash-attn")
    tag = dist.version.partition("+")[2] if dist else ""
    if tag.startswith(("cu", "rocm")):
        return "cuda" if tag.startswith("cu") else "rocm"
    for folder, name in _names(host, env, "."):
        if re.fullmatch(_FLASH, name):
            data = known(partial(host.read_bytes, f"{folder}/{name}", _PROBE), None) or b""
            if b"libamdhip64.so" in data:
                return "rocm"
            if b"libcudart.so" in data:
                return "cuda"
    return None


def vllm_rocm(version: str) -> str | None:
    """The ROCm major in vLLM's version: "0.8.5+rocm640" is of 6, "0.20.0+rocm721" of 7, "+rocm100" of 10. None without a tag.

    setup.py cuts the release to three characters, so what follows the major is ambiguous (714 is 7.14 or 7.1.4).
    """
    found = re.search(_VLLM_TAG, version.partition("+")[2])
    if not found:
        return None
    return found[1][:2] if found[1].startswith("1") and len(found[1]) > 2 else found[1][0]


def tensorflow_rocm(version: str) -> str | None:
    """The ROCm release in tensorflow-rocm's fourth number: "2.14.0.600" is of 6.0.0; None for later wheels, which have none."""
    found = re.match(_TENSORFLOW_STAMP, version)
    return f"{found[1]}.{found[2]}.{found[3]}" if found else None


def bitsandbytes_names(hip: str) -> tuple[str, ...]:
    """Numbers in the library name that bitsandbytes looks for with this HIP: "7.14" is 714, up to 0.49 it was 84 (major * 10 +
    minor)."""
    found = re.match(r"(\d{1,3})\.(\d{1,3})", hip)
    if not found:
        return ()
    major, minor = int(found[1]), int(found[2])
    return tuple(dict.fromkeys((f"{major}{minor}", str(major * 10 + minor))))
