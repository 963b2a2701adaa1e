"""PCI devices from /sys/bus/pci/devices (Linux Documentation/ABI/testing/sysfs-bus-pci)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class PciLink:
    """Negotiated and possible PCIe link; speeds in GT/s, widths in lanes; None where sysfs has no number."""

    speed: float | None
    width: int | None
    max_speed: float | None
    max_width: int | None


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One function. `vendor` and `device` are four lower-case hex digits; `class_code` is 0x030000 style."""

    address: str
    vendor: str
    device: str
    class_code: int
    revision: str
    """Two lower-case hex digits, "c8"."""
    subsystem: str | None
    driver: str | None
    """Name behind the `driver` link (or DRIVER= of uevent), None when no driver is bound."""
    numa_node: int | None
    link: PciLink
    bars: tuple[tuple[int, int, int], ...]
    """(start, end, flags) of each line of `resource`; an unassigned one is (0, 0, 0)."""
    vram_total: int | None
    gtt_total: int | None
    """mem_info_vram_total and mem_info_gtt_total of amdgpu, in bytes."""
    is_vf: bool
    """A link `physfn` exists: an SR-IOV virtual function as its host sees it."""

    @property
    def is_display(self) -> bool:
        """Class group display (VGA 0x0300, 3D 0x0302, other 0x0380) or processing accelerator 0x1200 (rules.md 4)."""
        return self.class_code >> 16 == 0x03 or self.class_code >> 8 == 0x1200

    @property
    def is_amd_gpu(self) -> bool:
        return self.vendor == "1002" and self.is_display


def gather(host: Host) -> tuple[PciDevice, ...]:
    """Every PCI function of the host, by address. Raises UnknownFact where /sys cannot be read."""
    raise NotImplementedError
