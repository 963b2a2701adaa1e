"""Cards at their places: PCI addresses, KFD node numbers and render minors, as the kernel hands them out."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tests.hostbuilder.spec import Card


@dataclass(frozen=True, slots=True)
class Unit:
    """A card at its place: `index` among the cards, `nodes` its KFD nodes, `minors` its render minors (both empty where it has
    none)."""

    card: Card
    index: int
    address: str
    nodes: tuple[int, ...]
    minors: tuple[int, ...]
    numa: int
    gpu_ids: tuple[int, ...]

    @property
    def location(self) -> int:
        """KFD's location_id: bus, device and function in one number."""
        bus, rest = self.address[5:7], self.address[8:]
        device, function = rest.split(".")
        return int(bus, 16) << 8 | int(device, 16) << 3 | int(function, 16)

    @property
    def domain(self) -> int:
        return int(self.address[:4], 16)

    @property
    def initialised(self) -> bool:
        return bool(self.minors)


def enumerate_cards(cards: Sequence[Card], numa_nodes: int, *, loaded: bool, kfd: bool, virtual: bool) -> tuple[Unit, ...]:
    """Number the cards. `loaded`: amdgpu is there; `kfd`: with its compute part; `virtual`: addresses as in a guest."""
    units = []
    node, minor = numa_nodes, 128
    discrete = apus = 0
    total = max(sum(not c.model.apu for c in cards), 1)
    for index, card in enumerate(cards):
        if card.model.apu:
            address, apus = f"0000:{0xC4 + apus:02x}:00.0", apus + 1
        elif virtual:
            address, discrete = f"0000:{6 + discrete:02x}:00.0", discrete + 1
        else:
            address, discrete = f"{discrete // 8:04x}:{3 + 32 * (discrete % 8):02x}:00.0", discrete + 1
        address = card.address or address
        works = loaded and card.bound == "amdgpu" and card.state in ("ok", "kfd-skipped")
        count = card.partitions if works else 0
        nodes = tuple(range(node, node + count)) if kfd and card.state == "ok" else ()
        minors = tuple(range(minor, minor + count))
        node, minor = node + len(nodes), minor + len(minors)
        ids = tuple(zlib.crc32(f"{address}/{card.model.device}/{i}".encode()) % 65535 + 1 for i in range(card.partitions))
        units.append(Unit(card, index, address, nodes, minors, index * numa_nodes // total % numa_nodes, ids))
    return tuple(units)
