"""Hosts for tests, built in memory: healthy by default, broken one fault at a time.

    host = HostBuilder().distro("rhel", "9.4").gpus("gfx90a", count=8).rocm("7.0.2").build()
    broken = HostBuilder().fault_not_in_group().build()

Everything that a machine of that kind would show (sysfs, kernel log, packages, rocminfo, loader cache ...) follows from the same
choices, so a built host never contradicts itself unless a test asks for it.
"""

from __future__ import annotations

from typing import TypeVar, cast

from tests.hostbuilder.distros import DISTROS, distro_of
from tests.hostbuilder.faults import FAULTS, Fault
from tests.hostbuilder.gpu_models import GFX, MODELS, encode_gfx, isa_names, model_of
from tests.hostbuilder.kernel_faults import KernelFaults
from tests.hostbuilder.releases import RELEASES, WHEELS, driver_of, release_of
from tests.hostbuilder.software_faults import SoftwareFaults
from tests.hostbuilder.spec import Card, Snapshot, Spec, card

B = TypeVar("B", bound="HostBuilder")


class HostBuilder(KernelFaults, SoftwareFaults):
    """See builder.Builder for the parts, kernel_faults and software_faults for what can be broken."""

    __slots__ = ()

    def twin(self: B, fault: str) -> B:
        """The healthy host on which the fault of that name makes sense, made from this one."""
        base = FAULTS[fault].base
        return cast("B", getattr(self, base)()) if base else self

    def with_fault(self: B, fault: str) -> B:
        """The fault of that name (see FAULTS) with its defaults, applied to its healthy twin."""
        return cast("B", getattr(self.twin(fault), fault)())


__all__ = [
    "DISTROS",
    "FAULTS",
    "GFX",
    "MODELS",
    "RELEASES",
    "WHEELS",
    "Card",
    "Fault",
    "HostBuilder",
    "Snapshot",
    "Spec",
    "card",
    "distro_of",
    "driver_of",
    "encode_gfx",
    "isa_names",
    "model_of",
    "release_of",
]
