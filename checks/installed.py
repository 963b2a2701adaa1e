"""What is installed here, as checks of several areas ask it. It registers no check, so importing it leaves their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmdoctor.checks.binding import nvidia_here
from rocmdoctor.facts import Facts, known

if TYPE_CHECKING:
    from rocmdoctor.facts.rocm import RocmInstall


def real_installs(facts: Facts) -> list[RocmInstall]:
    """Folders that hold a run time, not leftovers of a removed one."""
    return [i for i in facts.rocm.installs if i.has_hip or i.has_hsa]


def computes_elsewhere(facts: Facts) -> bool:
    """The AMD GPUs are the processor's own graphics beside an NVIDIA GPU, and no trace of ROCm is here: a machine for CUDA, whose
    AMD side only drives the display."""
    if any(g.klass != "apu" for g in facts.gpus) or not (facts.gpus or facts.place.kind == "wsl") or not nvidia_here(facts):
        return False
    packages = known(lambda: facts.packages, None)
    wheels = known(lambda: facts.pythons, ())
    return not (
        real_installs(facts)
        or any(e.torch and e.torch.build == "rocm" for e in wheels)
        or (packages and (packages.rocm or packages.distro_rocm))
    )
