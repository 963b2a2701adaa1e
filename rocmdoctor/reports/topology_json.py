"""The links of a host's GPUs as JSON: one object, ASCII. The same topology always gives the same bytes."""

from __future__ import annotations

import json

from rocmdoctor.reports.printable import inert_json
from rocmdoctor.topology import Topology

SCHEMA_VERSION = 1


def render(topology: Topology) -> str:
    """GPUs and NUMA nodes by index; `links` are undirected, lower index first; bandwidth in MB/s, null when unknown."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "source": topology.source,
        "numa_nodes": [{"number": s.number, "cpu_cores": s.cores or None} for s in topology.sockets],
        "gpus": [
            {
                "product": b.product,
                "gfx": b.gfx,
                "pci_address": b.pci_address,
                "vram_bytes": b.vram_bytes,
                "partitions": b.partitions,
                "numa_node": b.socket,
                "to_cpu": b.to_cpu,
                "pcie": b.pcie,
                "hive_id": str(b.hive) if b.hive else None,
                "kfd_nodes": list(b.kfd_nodes),
            }
            for b in topology.boards
        ],
        "links": [
            {"gpus": [link.a, link.b], "kind": link.kind, "weight": link.weight, "bandwidth": link.bandwidth or None}
            for link in topology.links
        ],
        "xgmi_hives": [list(hive) for hive in topology.hives],
        "note": topology.note or None,
    }
    return inert_json(json.dumps(document, indent=2)) + "\n"
