"""The host in a few lines: distribution and kernel, GPUs, driver, ROCm, PyTorch. Says nothing of what is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rocmdoctor.reports.printable import printable

PLACES = {"vm": "virtual machine", "container": "container", "wsl": "WSL"}
DRIVERS = {"dkms": "DKMS", "inbox": "the kernel's own", "builtin": "built into the kernel"}
ORIGINS = {
    "amd-package": "AMD's packages",
    "amdrocm-package": "AMD's amdrocm packages",
    "distro-package": "the distribution's packages",
    "wheel": "a Python wheel",
    "tarball": "unpacked by hand",
}
SHOWN = 3
"""Rows of one kind before the rest is only counted."""


def host_rows(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, text) for each row; the texts are printable. `host` is the report's `host` object."""
    rows = [("Host", _system(host))]
    rows += _some("GPU", _gpus(host))
    if driver := _driver(host):
        rows.append(("Driver", driver))
    rows += _some("ROCm", [_rocm(i) for i in sorted(host.get("rocm") or [], key=lambda i: not i.get("active"))])
    rows += _some("PyTorch", [t for t in map(_torch, host.get("python") or []) if t])
    return rows


def _some(label: str, texts: list[str]) -> list[tuple[str, str]]:
    shown = [(label if i == 0 else "", text) for i, text in enumerate(texts[:SHOWN])]
    return [*shown, ("", f"and {len(texts) - SHOWN} more")] if len(texts) > SHOWN else shown


def _system(host: Mapping[str, Any]) -> str:
    os = host.get("os") or {}
    parts = [os.get("name") or os.get("id") or "unknown distribution"]
    if host.get("kernel"):
        parts.append(f"kernel {host['kernel']}")
    if host.get("machine") not in (None, "x86_64"):
        parts.append(str(host["machine"]))
    if place := PLACES.get(host.get("environment") or ""):
        parts.append(place)
    return ", ".join(printable(str(p), 120) for p in parts)


def _gpus(host: Mapping[str, Any]) -> list[str]:
    """Equal GPUs together: "8 x Instinct MI300X (gfx942, 192 GiB)"."""
    kinds = Counter(_gpu(g) for g in host.get("gpus") or [])
    return [text if n == 1 else f"{n} x {text}" for text, n in kinds.items()]


def _gpu(gpu: Mapping[str, Any]) -> str:
    name = gpu.get("product") or (f"AMD GPU {gpu['pci_id']}" if gpu.get("pci_id") else "AMD GPU")
    known = [gpu["gfx"] if gpu.get("gfx") else "gfx unknown"]
    if gpu.get("vram_bytes"):
        known.append(gibibytes(gpu["vram_bytes"]))
    if gpu.get("driver") and gpu["driver"] != "amdgpu":
        known.append(f"driver {gpu['driver']}")
    return f"{printable(str(name), 80)} ({printable(', '.join(map(str, known)), 80)})"


def gibibytes(size: int) -> str:
    """VRAM as it is sold: KFD leaves out what the firmware keeps, so half a GiB is rounded."""
    gib = size / 2**30
    return f"{gib:.0f} GiB" if gib >= 1.5 else f"{size / 2**20:.0f} MiB"


def _driver(host: Mapping[str, Any]) -> str | None:
    """None where no amdgpu is to be expected: no GPU, or WSL."""
    amdgpu = host.get("amdgpu") or {}
    if not host.get("gpus") or host.get("environment") == "wsl" or amdgpu.get("loaded") is None:
        return None
    if not amdgpu["loaded"]:
        return "amdgpu is not loaded"
    parts = [f"amdgpu {amdgpu['version']}" if amdgpu.get("version") else "amdgpu"]
    if kind := DRIVERS.get(amdgpu.get("kind") or ""):
        parts.append(kind)
    if amdgpu.get("release"):
        parts.append(f"release {amdgpu['release']}")
    return printable(", ".join(map(str, parts)), 160)


def _rocm(install: Mapping[str, Any]) -> str:
    parts = [f"{install.get('version') or 'version unknown'} in {install.get('root') or '?'}"]
    if origin := ORIGINS.get(install.get("origin") or ""):
        parts.append(origin)
    return printable(", ".join(parts), 160)


def _torch(python: Mapping[str, Any]) -> str | None:
    torch = python.get("torch")
    if not torch:
        return None
    version = str(torch.get("version") or "version unknown")
    build = torch.get("build")
    plain = f" ({build} build)" if build and build != "rocm" and f"+{build[:2]}" not in version else ""
    return printable(f"{version}{plain} in {python.get('executable') or '?'}", 200)
