"""The GPUs of a host: PCI devices and KFD nodes brought together, named by the matrix (rules.md 1-7)."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.host import UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.kfd import KfdNode
    from rocmdoctor.facts.pci import PciDevice
    from rocmdoctor.facts.rocminfo import Agent
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.gpu_ids import PciGpu

MAX_NAMES = 3
"""An id of which the revision is unknown can be a dozen products; then the chip's code name says more."""


class Gpu(NamedTuple):
    """One GPU board or APU (a PCI function, a partitioned board once with all its nodes; in WSL an agent of rocminfo).

    `gfx_source`: kfd | pci-id | rocminfo, None when gfx is unknown. `klass`: instinct | radeon-pro | radeon | apu | virtual, None
    for unknown ids of which KFD does not tell the target. `family`: instinct | radeon | ryzen, the name of AMD's support table.
    `vram_bytes` is the board's memory as amdgpu has it, else the sum of its KFD nodes."""

    pci_address: str | None
    device: str
    """"744c"; "" when unknown."""
    revision: str
    gfx: str | None
    gfx_source: str | None
    product: str | None
    klass: str | None
    driver: str | None
    kfd: "tuple[KfdNode, ...]"
    pci: "PciDevice | None"
    vram_bytes: int | None

    @property
    def pci_id(self) -> str | None:
        return f"1002:{self.device}" if self.device else None

    @property
    def kfd_node(self) -> int | None:
        return self.kfd[0].id if self.kfd else None

    @property
    def family(self) -> str | None:
        if self.klass == "virtual":  # boards that are shared: Instinct (gfx9, gfx125x), or Radeon PRO V520, V620, V710
            return "instinct" if (self.gfx or "gfx9").startswith(("gfx9", "gfx125")) else "radeon"
        if self.klass == "instinct":
            return "instinct"
        if self.klass == "apu":
            return "ryzen"
        return "radeon" if self.klass else None

    @property
    def label(self) -> str:
        """For sentences: product, gfx or id, whatever is known."""
        return self.product or self.gfx or (self.pci_id or "an AMD GPU")


def identify(facts: "Facts", matrix: "Matrix") -> tuple[Gpu, ...]:
    """Every AMD GPU, by PCI address.

    The PCI bus tells which boards there are, KFD their targets (rules.md 1). A container that does not show the bus still has
    KFD; WSL has neither, there rocminfo's agents count. Raises UnknownFact when no source could tell.
    """
    try:
        bus: tuple[PciDevice, ...] | None = tuple(d for d in facts.pci if d.is_amd_gpu and not d.is_vf)
        hidden = None
    except UnknownFact as unknown:
        bus, hidden = None, unknown
    boards = _boards(_kfd_gpus(facts))
    if not bus and not boards and _is_wsl(facts):
        return tuple(_from_agent(agent, matrix) for agent in facts.rocminfo.gpus)
    if bus is None and not boards and hidden:
        raise hidden
    return tuple(_merged(bus or (), boards, matrix))


def deciding(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """Those that a release must serve: of a known target, and without the processor's own graphics where there is a card, which
    are for the screen. In WSL a program says the target, and it goes into package names: only what is shaped like one counts."""
    found = tuple(gpu for gpu in gpus if gpu.gfx and re.fullmatch(r"gfx[0-9a-f]{3,6}", gpu.gfx))
    return tuple(gpu for gpu in found if gpu.klass != "apu") or found


def _kfd_gpus(facts: "Facts") -> "tuple[KfdNode, ...]":
    try:
        return facts.kfd.gpus
    except UnknownFact:
        return ()


def _is_wsl(facts: "Facts") -> bool:
    try:
        return facts.place.kind == "wsl"
    except UnknownFact:
        return False


def _boards(nodes: "Iterable[KfdNode]") -> "list[tuple[KfdNode, ...]]":
    """Nodes of one board together. Partitions share the board's address and have numbers of their own; the same number
    twice, or another unique_id, is another board (old kernels give no domain)."""
    boards: list[list[KfdNode]] = []
    by_address: dict[str, list[list[KfdNode]]] = {}
    for node in nodes:
        same = by_address.setdefault(node.pci_address, []) if node.pci_address else []
        for board in same:
            if all(n.partition != node.partition for n in board) and _same_id(board[0], node):
                board.append(node)
                break
        else:
            board = [node]
            same.append(board)
            boards.append(board)
    return [tuple(board) for board in boards]


def _same_id(left: "KfdNode", right: "KfdNode") -> bool:
    return not left.unique_id or not right.unique_id or left.unique_id == right.unique_id


def _merged(bus: "tuple[PciDevice, ...]", boards: "list[tuple[KfdNode, ...]]", matrix: "Matrix") -> Iterator[Gpu]:
    found: list[tuple[tuple[bool, int, str, int], Gpu]] = []
    free = list(boards)
    for device in bus:
        nodes = next((board for board in free if board[0].pci_address == device.address), ())
        if nodes:
            free.remove(nodes)
        found.append((_place(device.address, 0), _from_board(device, nodes, matrix)))
    for nodes in free:
        found.append((_place(nodes[0].pci_address, nodes[0].id), _from_board(None, nodes, matrix)))
    for _, gpu in sorted(found, key=lambda entry: entry[0]):
        yield gpu


def _place(address: str | None, node: int) -> tuple[bool, int, str, int]:
    """Sort key: by domain, bus and slot, boards without an address last. Domains beyond ffff make longer addresses."""
    return (address is None, len(address or ""), address or "", node)


def _from_board(device: "PciDevice | None", nodes: "tuple[KfdNode, ...]", matrix: "Matrix") -> Gpu:
    pci_id = device.device if device else nodes[0].device_id
    known = matrix.pci_gpu(pci_id, device.revision if device else "") if pci_id else None
    own = next((node.gfx for node in nodes if node.gfx), None)
    gfx = own or (known.gfx if known else None)
    target = matrix.gfx(gfx) if gfx and known is None else None
    sizes = [node.vram_bytes for node in nodes if node.vram_bytes is not None]
    return Gpu(
        pci_address=device.address if device else nodes[0].pci_address,
        device=pci_id,
        revision=device.revision if device else "",
        gfx=gfx,
        gfx_source="kfd" if own else "pci-id" if gfx else None,
        product=_product(known) if known else None,
        klass=known.klass if known else (target.klass if target else None),
        driver=device.driver if device else "amdgpu",
        kfd=nodes,
        pci=device,
        vram_bytes=(device.vram_total if device else None) or (sum(sizes) if sizes else None),
    )


def _product(known: "PciGpu") -> str | None:
    if len(known.names) > MAX_NAMES:
        return f"AMD {known.codename}"
    return " / ".join(known.names) or f"AMD {known.codename}"


def _from_agent(agent: "Agent", matrix: "Matrix") -> Gpu:
    """WSL: the run time's own view is all there is. Windows' driver names the board."""
    target = matrix.gfx(agent.gfx) if agent.gfx else None
    klass = "apu" if agent.apu else target.klass if target else None
    return Gpu(
        pci_address=agent.bdf,
        device="",
        revision="",
        gfx=agent.gfx,
        gfx_source="rocminfo" if agent.gfx else None,
        product=agent.marketing_name or None,
        klass=klass,
        driver=None,
        kfd=(),
        pci=None,
        vram_bytes=agent.pool_bytes,
    )
