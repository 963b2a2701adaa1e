"""The matrix' questions about GPUs: PCI ids, gfx targets, overrides, known faults."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmdoctor.matrix.document import Document
    from rocmdoctor.matrix.gpu_ids import GfxTarget, PciGpu
    from rocmdoctor.matrix.known_faults import KnownFaults
    from rocmdoctor.matrix.overrides import OverrideNotes, OverrideRule, Overrides
    from rocmdoctor.matrix.running import VfGuests


class HardwareQuestions:
    """Part of Matrix; each module behind it is imported by its first question."""

    _doc: Document

    def pci_gpu(self, device: str, revision: str = "") -> PciGpu | None:
        """The GPU with this PCI device id ("744c") and revision ("c8"); None for an id the table does not know."""
        from rocmdoctor.matrix.gpu_ids import read_pci_gpu

        return read_pci_gpu(self._doc, device, revision)

    @property
    def pci_ids(self) -> tuple[str, ...]:
        """Every device id of the table."""
        return self._doc.entry_keys("pci_ids")

    def gfx(self, name: str) -> GfxTarget | None:
        """What is known of a gfx target ("gfx90a"); None for a name the table does not know."""
        from rocmdoctor.matrix.gpu_ids import read_gfx

        return read_gfx(self._doc, name)

    @property
    def gfx_names(self) -> tuple[str, ...]:
        from rocmdoctor.matrix.gpu_ids import gfx_names

        return gfx_names(self._doc)

    def kfd_since(self, gfx: str) -> tuple[str | None, str | None] | None:
        """(a kernel in which KFD lacks the target, a kernel in which it has it); mainline, X.Y. None when nothing is known."""
        target = self.gfx(gfx)
        if target is None or target.kfd_since is None:
            return None
        absent, dots, present = target.kfd_since.partition("..")
        return (absent, present) if dots else (None, absent.removeprefix("<="))

    @cached_property
    def therock_families(self) -> Mapping[str, frozenset[str]]:
        """TheRock family ("gfx110X-all") to its targets."""
        from rocmdoctor.matrix.gpu_ids import read_therock_families

        return read_therock_families(self._doc)

    @cached_property
    def vf_guests(self) -> VfGuests:
        """Targets whose virtual functions KFD takes in a guest."""
        from rocmdoctor.matrix.running import read_vf_guests

        return read_vf_guests(self._doc)

    # HSA_OVERRIDE_GFX_VERSION --------------------------------------------------------------------------------

    def override(self, gfx: str, value: str, *, rocm: str | None = None) -> OverrideRule:
        """What HSA_OVERRIDE_GFX_VERSION=`value` does on `gfx` hardware: ok | risky | harmful | wrong | noop | unknown."""
        return self._overrides.judge(gfx, self.gfx(gfx), value, rocm)

    def override_suggestions(self, gfx: str, *, rocm: str | None = None) -> tuple[tuple[str, str], ...]:
        """(value, target) pairs that run on `gfx` where a build lacks it: (("10.3.0", "gfx1030"),) for gfx1032."""
        return self._overrides.right_values(gfx, rocm)

    @property
    def override_notes(self) -> OverrideNotes:
        """What holds for any target: empty value, mixed machines, other major versions, the variable per KFD node."""
        return self._overrides.notes

    @cached_property
    def _overrides(self) -> Overrides:
        from rocmdoctor.matrix.overrides import read_overrides

        return read_overrides(self._doc)

    @cached_property
    def faults(self) -> KnownFaults:
        """Combinations that are known to be broken although no support row says so."""
        from rocmdoctor.matrix.known_faults import KnownFaults

        return KnownFaults(self._doc)
