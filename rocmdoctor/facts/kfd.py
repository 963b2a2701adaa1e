"""The KFD topology: what the kernel's compute driver says of CPUs and GPUs (/sys/class/kfd/kfd/topology).

Source: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c (node_show, mem_show, iolink_show, kfd_topology_add_device) and
kfd_crat.h (heap and link types). `gfx_target_version` is the truth about a GPU's gfx target (rules.md 1):
HSA_OVERRIDE_GFX_VERSION does not touch it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from rocmdoctor.facts.sysfs import attribute, number, properties
from rocmdoctor.host import Host, UnknownFact

TOPOLOGY = "/sys/class/kfd/kfd/topology"

MAX_NODES = 1024
"""More nodes, links or banks than any machine has (8 boards of 8 partitions make 66 nodes) are not read."""

_FRAME_BUFFER_HEAPS = (1, 2)
"""HSA_MEM_HEAP_TYPE_FB_PUBLIC and _FB_PRIVATE; 0 is system memory, 3 and above are on-chip memories."""


class KfdLink(NamedTuple):
    """A directed link to node `to`; `type` 2 is PCIe, 11 is xGMI; `weight` as the kernel gives it. `bandwidth`: max_bandwidth in
    MB/s, 0 where the kernel does not tell."""

    to: int
    type: int
    weight: int
    p2p: bool = False
    bandwidth: int = 0


class KfdNode(NamedTuple):
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
    partition: int = 0
    """Number of the compute partition on its board (CPX, DPX, ...): all partitions have the `pci_address` of the board."""

    @property
    def is_gpu(self) -> bool:
        return self.simd_count > 0

    @property
    def gfx(self) -> str | None:
        return decode_gfx(self.gfx_target_version) if self.gfx_target_version else None


class KfdTopology(NamedTuple):
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
    """The topology, nodes by number. A node whose properties cannot be read is only named in `unreadable`.

    Raises UnknownFact when the topology folder itself cannot be read.
    """
    ids = sorted({int(n) for n in host.names(f"{TOPOLOGY}/nodes") if len(n) < 7 and n.isascii() and n.isdigit()})[:MAX_NODES]
    if not ids:
        return KfdTopology(present=host.node(TOPOLOGY) is not None)
    nodes: list[KfdNode] = []
    unreadable: list[int] = []
    for node_id in ids:
        try:
            text = host.read(f"{TOPOLOGY}/nodes/{node_id}/properties", 64 << 10)
        except UnknownFact:  # EPERM: a device cgroup keeps this GPU from us (kfd_devcgroup_check_permission)
            text = None
        values = properties(text) if text else {}
        if values:
            nodes.append(_node(host, node_id, values))
        else:
            unreadable.append(node_id)
    return KfdTopology(present=True, nodes=_with_partitions(nodes), unreadable=tuple(unreadable))


def _node(host: Host, node_id: int, values: dict[str, int]) -> KfdNode:
    folder = f"{TOPOLOGY}/nodes/{node_id}"
    location = values.get("location_id", 0)
    is_device = location > 0 or values.get("vendor_id") == 0x1002
    return KfdNode(
        id=node_id,
        gpu_id=number(_attribute(host, f"{folder}/gpu_id")),
        name=_attribute(host, f"{folder}/name") or "",
        simd_count=values.get("simd_count", 0),
        cpu_cores=values.get("cpu_cores_count", 0),
        gfx_target_version=values.get("gfx_target_version"),
        vendor_id=values.get("vendor_id", 0),
        device_id=f"{values.get('device_id', 0) & 0xFFFF:04x}",
        # Older kernels have no `domain`: one domain was all they knew.
        pci_address=_address(values.get("domain", 0), location) if is_device else None,
        render_minor=values.get("drm_render_minor") or None,
        unique_id=values.get("unique_id") or None,
        num_xcc=values.get("num_xcc", 1),
        vram_bytes=_vram(host, folder),
        properties=values,
        links=_links(host, folder, values),
        partition=location >> 28 & 0xF,  # bits 31:28 since 2024; see _with_partitions for before
    )


def _address(domain: int, location: int) -> str:
    return f"{domain & 0xFFFFFFFF:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _with_partitions(nodes: list[KfdNode]) -> tuple[KfdNode, ...]:
    """Before location_id[31:28] told it, partition n of a gfx94x board was shown as PCI function n, which is not on the bus.

    Such a node gets the address of its board: function 0 of the same slot, of the same device and unique_id.
    """
    boards = {n.pci_address: n for n in nodes if n.pci_address and n.pci_address.endswith(".0")}
    result = []
    for node in nodes:
        if node.pci_address and not node.pci_address.endswith(".0") and 90400 <= (node.gfx_target_version or 0) < 100000:
            board = boards.get(node.pci_address[:-1] + "0")
            if board and (board.device_id, board.unique_id) == (node.device_id, node.unique_id):
                node = node._replace(pci_address=board.pci_address, partition=int(node.pci_address[-1]))
        result.append(node)
    return tuple(result)


def _vram(host: Host, folder: str) -> int | None:
    """Sum of the frame buffer banks in bytes; None when no such bank was read. On an APU with a `heap_type 1` bank this is what
    KFD lends of system memory, not the BIOS carve-out (mem_info_vram_total)."""
    total = 0
    for bank in _numbered(host, f"{folder}/mem_banks"):
        values = _properties(host, bank)
        if values.get("heap_type") in _FRAME_BUFFER_HEAPS:
            total += values.get("size_in_bytes", 0)
    return total or None


def _links(host: Host, folder: str, values: dict[str, int]) -> tuple[KfdLink, ...]:
    links = []
    # p2p_links came with Linux 6.0. Empty kinds are not looked for: a partitioned machine has thousands of link files.
    for kind in ("io_links", "p2p_links"):
        if values.get(f"{kind}_count", 1) == 0:
            continue
        for link in _numbered(host, f"{folder}/{kind}"):
            found = _properties(host, link)
            if "node_to" in found:
                width = found.get("max_bandwidth", 0)
                links.append(KfdLink(found["node_to"], found.get("type", 0), found.get("weight", 0), kind == "p2p_links", width))
    return tuple(links)


def _numbered(host: Host, folder: str) -> list[str]:
    try:
        names = host.names(folder)
    except UnknownFact:
        return []
    numbers = sorted(int(n) for n in names if len(n) < 7 and n.isascii() and n.isdigit())
    return [f"{folder}/{n}/properties" for n in numbers[:MAX_NODES]]


def _properties(host: Host, path: str) -> Mapping[str, int]:
    try:
        text = host.read(path, 64 << 10) or ""
        return _remembered(text) if len(text) <= 1024 else properties(text)
    except UnknownFact:
        return {}


@lru_cache(maxsize=512)  # links of like machines are alike, and a machine of eight GPUs has eighty
def _remembered(text: str) -> Mapping[str, int]:
    return properties(text)


def _attribute(host: Host, path: str) -> str | None:
    try:
        return attribute(host, path)
    except UnknownFact:
        return None
