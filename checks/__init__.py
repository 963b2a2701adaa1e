"""The built-in checks, one module per area. Each check is a small function: it asks facts, yields findings, and returns.

A check never reads a file, runs a command or formats for a terminal.
"""

from __future__ import annotations

import importlib

MODULES = (
    "gpu_present",
    "module_loading",
    "dkms",
    "secure_boot",
    "device_probe",
    "kfd_node",
    "places",
    "access",
    "rocm_install",
    "toolchain",
    "rocminfo",
    "gpu_support",
    "environment",
    "torch",
    "python_env",
    "frameworks",
    "torch_extensions",
    "apu",
    "repos",
    "packages",
    "health",
    "gpu_count",
    "tuning",
)
"""In order of layer: what stands lower in the stack is judged and reported first."""

DEEP = ("deep", "deep_hipcc")
"""What runs programs on the GPU. Nothing in MODULES comes after one of these."""


def load(*, deep: bool = True) -> None:
    """Import the modules, which registers their checks; those of DEEP only with `deep`."""
    for name in (*MODULES, *DEEP) if deep else MODULES:
        importlib.import_module(f"{__name__}.{name}")
