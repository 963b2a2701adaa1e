"""How the GPUs of one host are joined: to each other by xGMI or PCIe, and to the NUMA nodes of its CPUs.

Source: the KFD topology (Linux drivers/gpu/drm/amd/amdkfd/kfd_crat.h: CRAT_IOLINK_TYPE_PCIEXPRESS 2, _XGMI 11, io_links and
p2p_links of each node). Where the driver has no KFD, the PCI bus still tells boards and their NUMA nodes, but no links.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known
from rocmdoctor.host import UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.facts.kfd import KfdLink, KfdNode
    from rocmdoctor.facts.pci import PciDevice

XGMI, PCIE = "xgmi", "pcie"
_KINDS = {11: XGMI, 2: PCIE}

MAX_BOARDS = 64
"""Boards that are shown: no machine has more, and links grow with their square."""
MAX_SOCKETS = 64


class Socket(NamedTuple):
    """A NUMA node with its CPU cores, by the number of its KFD node (or sysfs' numa_node); `cores` 0: unknown."""

    number: int
    cores: int


class Board(NamedTuple):
    """One GPU. `socket`: index into Topology.sockets, None when unknown. `to_cpu`: xgmi | pcie, None when no link is told.
    `pcie`: the negotiated link in words. `vram_bytes` in bytes."""

    product: str
    gfx: str | None
    pci_address: str | None
    vram_bytes: int | None
    partitions: int
    socket: int | None
    to_cpu: str | None
    pcie: str | None
    hive: int | None
    kfd_nodes: tuple[int, ...]


class Link(NamedTuple):
    """Two boards, by index, lower first. `kind`: xgmi, or pcie where the kernel lists a peer-to-peer link. `weight` is the
    kernel's (15 for each xGMI hop); `bandwidth` in MB/s, 0 when unknown."""

    a: int
    b: int
    kind: str
    weight: int
    bandwidth: int


class Topology(NamedTuple):
    """`source`: kfd | pci | none. `hives`: boards that xGMI joins, by index, each with more than one."""

    source: str
    sockets: tuple[Socket, ...] = ()
    boards: tuple[Board, ...] = ()
    links: tuple[Link, ...] = ()
    note: str = ""

    @property
    def hives(self) -> tuple[tuple[int, ...], ...]:
        """Groups of boards that xGMI links connect, directly or by way of others."""
        group = {n: n for n in range(len(self.boards))}

        def top(n: int) -> int:
            while group[n] != n:
                group[n] = group[group[n]]
                n = group[n]
            return n

        for link in self.links:
            if link.kind == XGMI:
                group[top(link.b)] = top(link.a)
        members: dict[int, list[int]] = {}
        for n in group:
            members.setdefault(top(n), []).append(n)
        return tuple(tuple(m) for m in members.values() if len(m) > 1)

    def link(self, a: int, b: int) -> Link | None:
        """The direct link of two boards, None when there is none."""
        pair = (min(a, b), max(a, b))
        return next((link for link in self.links if (link.a, link.b) == pair), None)

    def path(self, a: int, b: int) -> str:
        """xgmi | pcie | node (through the CPU that both hang on) | cross (from CPU to CPU) | unknown."""
        link = self.link(a, b)
        if link:
            return link.kind
        one, other = self.boards[a].socket, self.boards[b].socket
        if one is None or other is None:
            return "unknown"
        return "node" if one == other else "cross"


def gather(facts: "Facts") -> Topology:
    """The joins of the host's GPUs. What cannot be told is left out, with a note; nothing is raised for what a host contains."""
    try:
        gpus = facts.gpus
    except UnknownFact as unknown:
        return Topology("none", note=f"GPUs are unknown: {unknown}")
    note = ""
    if len(gpus) > MAX_BOARDS:
        note = f"{len(gpus) - MAX_BOARDS} more GPUs are not shown"
        gpus = gpus[:MAX_BOARDS]
    nodes = {node.id: node for node in known(lambda: facts.kfd.nodes, ())}
    if not any(gpu.kfd for gpu in gpus):
        return _by_pci(gpus, note or ("" if not gpus else "KFD shows none of the GPUs: links between them are unknown"))
    cpus = [node for node in nodes.values() if node.cpu_cores and not node.is_gpu][:MAX_SOCKETS]
    sockets = tuple(Socket(number, node.cpu_cores) for number, node in enumerate(cpus))
    places = {node.id: index for index, node in enumerate(cpus)}
    boards = tuple(_board(gpu, places, nodes) for gpu in gpus)
    return Topology("kfd", sockets, boards, tuple(_links(gpus)), note)


def _board(gpu: "Gpu", places: dict[int, int], nodes: "dict[int, KfdNode]") -> Board:
    to_cpu = _nearest(gpu.kfd, places, nodes)
    socket = places[to_cpu.to] if to_cpu else None
    numa = gpu.pci.numa_node if gpu.pci else None
    if socket is None and numa is not None and numa < len(places):
        socket = numa
    if socket is None and len(places) == 1:
        socket = 0
    hive = next((n.properties.get("hive_id") for n in gpu.kfd if n.properties.get("hive_id")), None)
    return Board(
        product=gpu.label.removeprefix("AMD "),
        gfx=gpu.gfx,
        pci_address=gpu.pci_address,
        vram_bytes=gpu.vram_bytes,
        partitions=max(len(gpu.kfd), 1),
        socket=socket,
        to_cpu=_KINDS.get(to_cpu.type, PCIE) if to_cpu else None,
        pcie=_pcie(gpu.pci),
        hive=hive,
        kfd_nodes=tuple(n.id for n in gpu.kfd),
    )


def _nearest(own: "Iterable[KfdNode]", places: dict[int, int], nodes: "dict[int, KfdNode]") -> "KfdLink | None":
    """The link of least weight to a CPU: farther CPUs are listed too (p2p_links, weight 52). Old kernels tell it on the CPU's
    side alone."""
    own = tuple(own)
    links = [link for node in own for link in node.links if link.to in places]
    if not links:
        ids = {node.id for node in own}
        links = [link._replace(to=cpu) for cpu in places for link in nodes[cpu].links if link.to in ids]
    return min(links, key=lambda link: link.weight, default=None)


def _links(gpus: "Iterable[Gpu]") -> Iterator[Link]:
    """One link for each pair of boards: xGMI before PCIe, least weight first. Partitions of a board are one end."""
    board_of = {node.id: index for index, gpu in enumerate(gpus) for node in gpu.kfd}
    best: dict[tuple[int, int], Link] = {}
    for index, gpu in enumerate(gpus):
        for node in gpu.kfd:
            for link in node.links:
                other = board_of.get(link.to)
                kind = _KINDS.get(link.type)
                if other is None or other == index or kind is None:
                    continue
                pair = (min(index, other), max(index, other))
                found = Link(*pair, kind, link.weight, link.bandwidth)
                if pair not in best or _rank(found) < _rank(best[pair]):
                    best[pair] = found
    yield from (best[pair] for pair in sorted(best))


def _rank(link: Link) -> tuple[bool, int, int]:
    return (link.kind != XGMI, link.weight, -link.bandwidth)


def _by_pci(gpus: "Iterable[Gpu]", note: str) -> Topology:
    gpus = tuple(gpus)
    numbers = sorted({g.pci.numa_node for g in gpus if g.pci and g.pci.numa_node is not None})[:MAX_SOCKETS]
    places = {number: index for index, number in enumerate(numbers)}
    boards = tuple(
        Board(
            product=gpu.label.removeprefix("AMD "),
            gfx=gpu.gfx,
            pci_address=gpu.pci_address,
            vram_bytes=gpu.vram_bytes,
            partitions=1,
            socket=places.get(gpu.pci.numa_node) if gpu.pci and gpu.pci.numa_node is not None else None,
            to_cpu=PCIE if gpu.pci else None,
            pcie=_pcie(gpu.pci),
            hive=None,
            kfd_nodes=(),
        )
        for gpu in gpus
    )
    return Topology("pci" if gpus else "none", tuple(Socket(n, 0) for n in numbers), boards, (), note)


def _pcie(device: "PciDevice | None") -> str | None:
    """ "PCIe 32 GT/s x16"; with what it could be where the link is narrower or slower."""
    if device is None or not device.link.speed or not device.link.width:
        return None
    link = device.link
    words = f"PCIe {link.speed:g} GT/s x{link.width}"
    if link.max_width and link.max_speed and (link.width, link.speed) < (link.max_width, link.max_speed):
        words += f" of {link.max_speed:g} x{link.max_width}"
    return words
