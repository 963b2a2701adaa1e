"""Hosts for tests, built in memory: healthy by default, broken one fault at a time.

    host = HostBuilder().distro("rhel", "9.4").gpus("gfx90a", count=8).rocm("7.0.2").build()
    broken = HostBuilder().fault_not_in_group().build()

Everything that a machine of that kind would show (sysfs, kernel log, packages, rocminfo, loader cache ...) follows from the same
choices, so a built host never contradicts itself unless a test asks for it.
"""

from tests.hostbuilder.builder import Builder
from tests.hostbuilder.distros import DISTROS, distro_of
from tests.hostbuilder.gpu_models import GFX, MODELS, encode_gfx, isa_names, model_of
from tests.hostbuilder.releases import RELEASES, WHEELS, driver_of, release_of
from tests.hostbuilder.spec import Card, Snapshot, Spec, card


class HostBuilder(Builder): ...


__all__ = ["DISTROS", "GFX", "MODELS", "RELEASES", "WHEELS", "Card", "HostBuilder", "Snapshot", "Spec", "card", "distro_of",
"driver_of",
           "encode_gfx", "isa_names", "model_of", "release_of"]  # fmt: skip
