"""/sys/class/kfd/kfd/topology: CPU nodes first, then one node per GPU (or per partition)."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from tests.hostbuilder.gpu_models import encode_gfx
from tests.hostbuilder.out import Out
from tests.hostbuilder.pci_sysfs import gtt_bytes
from tests.hostbuilder.resolved import MIB, Resolved
from tests.hostbuilder.units import Unit

TOPOLOGY = "/sys/class/kfd/kfd/topology"

_CPU = """cpu_cores_count %d
simd_count 0
mem_banks_count 1
caches_count 0
io_links_count %d
p2p_links_count 0
cpu_core_id_base %d
simd_id_base 0
max_waves_per_simd 0
lds_size_in_kb 0
gds_size_in_kb 0
num_gws 0
wave_front_size 0
array_count 0
simd_arrays_per_engine 0
cu_per_simd_array 0
simd_per_cu 0
max_slots_scratch_cu 0
gfx_target_version 0
vendor_id 0
device_id 0
location_id 0
domain 0
drm_render_minor 0
hive_id 0
num_sdma_engines 0
num_sdma_xgmi_engines 0
num_sdma_queues_per_engine 0
num_cp_queues 0
max_engine_clk_ccompute 3800
"""

_GPU = """cpu_cores_count 0
simd_count %(simds)d
mem_banks_count 1
caches_count 0
io_links_count %(links)d
p2p_links_count 0
cpu_core_id_base 0
simd_id_base 2147487744
max_waves_per_simd %(waves)d
lds_size_in_kb %(lds)d
gds_size_in_kb 0
num_gws 64
wave_front_size %(wave)d
array_count %(arrays)d
simd_arrays_per_engine %(per_engine)d
cu_per_simd_array %(cu_per_array)d
simd_per_cu %(simd_per_cu)d
max_slots_scratch_cu 32
gfx_target_version %(gfx)d
vendor_id 4098
device_id %(device)d
location_id %(location)d
domain %(domain)d
drm_render_minor %(minor)d
hive_id %(hive)d
num_sdma_engines 2
num_sdma_xgmi_engines %(xgmi)d
num_sdma_queues_per_engine 8
num_cp_queues %(queues)d
max_engine_clk_fcompute %(clock)d
local_mem_size 0
fw_version 149
capability %(capability)d
debug_prop 1495
sdma_fw_version 23
unique_id %(unique)d
num_xcc %(xcc)d
max_engine_clk_ccompute 3800
"""

_LINK = """type %d
version_major 0
version_minor 0
node_from %d
node_to %d
weight %d
min_latency 0
max_latency 0
min_bandwidth %d
max_bandwidth %d
recommended_transfer_size 0
flags 1
"""

# CPU socket to socket, PCIe, xGMI: type, weight, bandwidth (kfd_crat.h)
_HT, _PCIE, _XGMI = (1, 32, 0, 0), (2, 20, 312, 64000), (11, 15, 50000, 64000)


@lru_cache(maxsize=256)
def _links(cpus: int, gpus: tuple[tuple[int, int, int], ...]) -> tuple[dict[str, bytes], dict[int, int]]:
    """Link files and their number by node. `gpus`: (node, NUMA node, hive or 0); xGMI joins nodes of one hive."""
    edges: dict[int, list[tuple[int, tuple[int, int, int, int]]]] = {n: [] for n in range(cpus)}
    for node, numa, hive in gpus:
        edges[node] = [(numa, _PCIE)] + [(other, _XGMI) for other, _, same in gpus if hive and same == hive and other != node]
        edges[numa].append((node, _PCIE))
    for node in range(cpus):
        edges[node][:0] = [(other, _HT) for other in range(cpus) if other != node]
    files = {}
    for node, targets in edges.items():
        for number, (other, (kind, weight, low, high)) in enumerate(targets):
            path = f"{TOPOLOGY}/nodes/{node}/io_links/{number}/properties"
            files[path] = (_LINK % (kind, node, other, weight, low, high)).encode()
    return files, {node: len(targets) for node, targets in edges.items()}


def _hive(host: Resolved) -> int:
    return 0x6B00_0000_0000_0000 | crc32(host.kernel.encode()) if sum(u.card.hive for u in host.units) > 1 else 0


def bank_bytes(host: Resolved, unit: Unit) -> int:
    """What KFD calls the node's memory: its share of VRAM; for an APU from kernel 6.10 on, the GTT domain where that is
    larger."""
    card = unit.card
    if card.pool is not None:
        return card.pool * MIB
    if card.model.apu:
        return max(card.vram_mib * MIB, gtt_bytes(host, unit))
    return card.vram_mib * MIB // max(card.memory_partitions, 1)


def unique_id(unit: Unit) -> int:
    """Boards have one that their partitions share; APUs and many Radeon cards show 0."""
    return 0x1A2B_0000_0000_0000 + crc32(unit.address.encode()) if unit.card.model.klass in ("instinct", "radeon-pro") else 0


def _gpu_node(out: Out, host: Resolved, unit: Unit, part: int, links: int, hive: int) -> None:
    model, node = unit.card.model, unit.nodes[part]
    share = max(model.xcc // unit.card.partitions, 1)
    cu = model.cu * share // model.xcc
    engines = max(model.engines * share // model.xcc, 1)
    per_engine = 1 if model.wave == 64 else 2
    folder = f"{TOPOLOGY}/nodes/{node}"
    out.files[f"{folder}/properties"] = (
        _GPU
        % {
            "simds": cu * model.simd_per_cu, "links": links, "waves": 16 if model.wave == 32 else 8, "wave": model.wave,
            "lds": 160 if model.gfx == "gfx950" else 64, "arrays": engines * per_engine, "per_engine": per_engine,
            "cu_per_array": max(cu // (engines * per_engine), 1), "simd_per_cu": model.simd_per_cu, "gfx": encode_gfx(model.gfx),
            "device": int(model.device, 16), "location": unit.location + part, "domain": unit.domain, "minor": unit.minors[part],
            "hive": hive if unit.card.hive else 0, "xgmi": 6 if unit.card.hive else 0, "queues": 24 if model.wave == 64 else 8,
            "clock": model.clock, "capability": 746037888 if model.wave == 64 else 709075584, "unique": unique_id(unit),
            "xcc": share,
        }
    ).encode()  # fmt: skip
    out.files[f"{folder}/gpu_id"] = b"%d\n" % unit.gpu_ids[part]
    out.files[f"{folder}/name"] = model.asic.lower().encode() + b"\n"
    small = unit.card.bar is not None and unit.card.bar < unit.card.vram_mib
    out.files[f"{folder}/mem_banks/0/properties"] = (
        b"heap_type %d\nsize_in_bytes %d\nflags 0\nwidth 256\nmem_clk_max 1250\n" % (2 if small else 1, bank_bytes(host, unit))
    )  # fmt: skip


def render_kfd(out: Out, host: Resolved) -> None:
    """The topology tree; nothing where the driver has no KFD."""
    if not host.has_kfd:
        return
    hive = _hive(host)
    layout = tuple((node, u.numa, hive if u.card.hive else 0) for u in host.kfd_units for node in u.nodes)
    files, counts = _links(host.numa_nodes, layout)
    out.files.update(files)
    out.tree(TOPOLOGY, {"generation_id": 2})
    out.files[f"{TOPOLOGY}/system_properties"] = b"platform_oem 35498446626881\nplatform_id 71791775140929\nplatform_rev 2\n"
    for node in range(host.numa_nodes):
        folder = f"{TOPOLOGY}/nodes/{node}"
        out.files[f"{folder}/properties"] = (_CPU % (host.cores, counts[node], node * host.cores)).encode()
        out.files[f"{folder}/gpu_id"] = b"0\n"
        out.files[f"{folder}/name"] = b"\n"
        size = host.memory // host.numa_nodes
        out.files[f"{folder}/mem_banks/0/properties"] = (
            b"heap_type 0\nsize_in_bytes %d\nflags 0\nwidth 64\nmem_clk_max 3200\n" % size
        )
    for unit in host.kfd_units:
        for part in range(len(unit.nodes)):
            _gpu_node(out, host, unit, part, counts[unit.nodes[part]], hive)
