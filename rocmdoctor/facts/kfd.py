"""The KFD topology: what the kernel's compute driver says of CPUs and GPUs (/sys/class/kfd/kfd/topology).

Source: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c. `gfx_target_version` is the truth about a GPU's gfx
target (rules.md 1): HSA_OVERRIDE_GFX_VERSION does not touch it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host

TOPOLOGY = "/sys/class/kfd/kfd/topology"


@dataclass(frozen=True, slots=True)
class KfdLink:
    """A directed link to node `to`; `type` 2 is PCIe, 11 is xGMI; `weight` as the kernel gives it."""

    to: int
    type: int
    weight: int
    p2p: bool = False


@dataclass(frozen=True, slots=True)
class KfdNode:
    """One topology node. simd_count 0 is a CPU (rules.md 7). `vram_bytes` is None where no mem_banks were read."""

    id: int
    gpu_id: int | None
    name: str
    simd_count: int
    cpu_cores: int
    gfx_target_version: int | None
    vendor_id: int
    device_id: str
    """Four hex digits in lower case, "744c"."""
    pci_address: str | None
    """From domain and location_id: "0000:03:00.0"."""
    render_minor: int | None
    unique_id: int | None
    num_xcc: int
    vram_bytes: int | None
    properties: dict[str, int]
    links: tuple[KfdLink, ...] = ()

    @property
    def is_gpu(self) -> bool:
        return self.simd_count > 0

    @property
    def gfx(self) -> str | None:
        return decode_gfx(self.gfx_target_version) if self.gfx_target_version else None


@dataclass(frozen=True, slots=True)
class KfdTopology:
    """`present`: the topology folder exists. `unreadable`: ids of nodes whose properties a device cgroup hides (EPERM)."""

    present: bool
    nodes: tuple[KfdNode, ...] = ()
    unreadable: tuple[int, ...] = ()

    @property
    def gpus(self) -> tuple[KfdNode, ...]:
        return tuple(n for n in self.nodes if n.is_gpu)


def decode_gfx(value: int) -> str:
    """110501 is "gfx1151", 90010 is "gfx90a": major in decimal, minor and stepping in hexadecimal (rules.md 2)."""
    return f"gfx{value // 10000}{value // 100 % 100:x}{value % 100:x}"


def gather(host: Host) -> KfdTopology:
    raise NotImplementedError
