"""The GPUs of a host: PCI devices and KFD nodes brought together, named by the matrix (rules.md 1-7)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.facts.kfd import KfdNode
from rocmdoctor.facts.pci import PciDevice


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU board or APU (a PCI function, a partitioned board once with all its nodes; in WSL an agent of rocminfo).

    `gfx_source`: kfd | pci-id | rocminfo, None when gfx is unknown. `klass`: instinct | radeon-pro | radeon | apu | virtual, None for unknown ids.
    `family`: instinct | radeon | ryzen, the name of AMD's support table."""

    pci_address: str | None
    device: str
    """"744c"; "" when unknown."""
    revision: str
    gfx: str | None
    gfx_source: str | None
    product: str | None
    klass: str | None
    driver: str | None
    kfd: tuple[KfdNode, ...]
    pci: PciDevice | None
    vram_bytes: int | None

    @property
    def pci_id(self) -> str | None:
        return f"1002:{self.device}" if self.device else None

    @property
    def kfd_node(self) -> int | None:
        return self.kfd[0].id if self.kfd else None

    @property
    def family(self) -> str | None:
        if self.klass in ("instinct", "virtual"):
            return "instinct"
        if self.klass == "apu":
            return "ryzen"
        return "radeon" if self.klass else None

    @property
    def label(self) -> str:
        """For sentences: product, gfx or id, whatever is known."""
        return self.product or self.gfx or (self.pci_id or "an AMD GPU")
