"""Which GPUs a kernel driver is bound to: what the checks of the driver ask in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmdoctor.facts import Facts, known

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu

NVIDIA = "10de"
ON_A_KERNEL = ("bare-metal", "vm")
"""Places whose kernel is the host's own to judge; a container's kernel is not (rules.md 46)."""
GIVEN_AWAY = ("vfio-pci", "pci-stub", "gim", "xen-pciback")
"""Drivers that keep a GPU for virtual machines on purpose."""


def without_driver(facts: Facts) -> tuple[Gpu, ...]:
    """GPUs of the PCI bus that no driver is bound to (or only the pre-GCN `radeon` one)."""
    return tuple(g for g in facts.gpus if g.pci is not None and not g.kfd and g.driver in (None, "radeon"))


def driverless(facts: Facts) -> bool:
    """No AMD GPU has a driver: the state that the checks here explain."""
    bound = any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)
    return bool(without_driver(facts)) and not bound


def any_bound(facts: Facts) -> bool:
    return any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)


def nvidia_here(facts: Facts) -> bool:
    """An NVIDIA GPU is here as well: on the PCI bus, or in WSL by the libraries that its Windows driver brings."""
    if any(name.startswith(("libcuda.so", "libnvidia-ml.so")) for name in facts.place.wsl_libraries):
        return True
    return any(d.vendor == NVIDIA and d.is_display for d in known(lambda: facts.pci, ()))
