"""The links of a host's GPUs as text: NUMA nodes with their boards, then every pair in a table."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.reports.host_lines import gibibytes
from rocmdoctor.reports.printable import printable, style, wrap
from rocmdoctor.topology import Board, Topology
from rocmdoctor.topology.drawing import describe

CELLS = {"xgmi": "xGMI", "pcie": "PCIe", "node": "node", "cross": "cross", "unknown": "?"}
LEGEND = {
    "xgmi": "xGMI: direct, from GPU to GPU",
    "pcie": "PCIe: peer to peer, as the kernel lists it",
    "node": "node: through the CPU of their NUMA node",
    "cross": "cross: from one NUMA node to another",
    "unknown": "?: unknown",
}


def render(topology: Topology, *, color: bool = False, width: int = 80) -> str:
    """`topology` for a terminal of `width` columns (60 at least). Host text is escaped."""
    return "".join(f"{line}\n" for line in _lines(topology, color, max(width, 60)))


def _lines(topology: Topology, color: bool, width: int) -> Iterator[str]:
    groups: list[tuple[str, list[int]]] = []
    for index, socket in enumerate(topology.sockets):
        cores = f", {socket.cores} CPU cores" if socket.cores else ""
        groups.append((f"NUMA node {socket.number}{cores}", [n for n, b in enumerate(topology.boards) if b.socket == index]))
    lost = [n for n, board in enumerate(topology.boards) if board.socket is None]
    if lost:
        groups.append(("NUMA node unknown", lost))
    for heading, members in groups:
        yield style(heading, "strong", color)
        if not members:
            yield "  no GPU"
        for n in members:
            stem = "`-- " if n == members[-1] else "|-- "
            below = "    " if n == members[-1] else "|   "
            yield from wrap(_board(n, topology.boards[n]), width, f"  {below}      ", f"  {stem}")
    if len(topology.boards) > 1:
        yield ""
        yield from _table(topology, color)
    if groups:
        yield ""
    yield from wrap(describe(topology), width)
    if topology.note:
        yield from wrap(f"{printable(topology.note, 300)}.", width)


def _board(number: int, board: Board) -> str:
    parts = [board.gfx or "gfx unknown"]
    if board.vram_bytes:
        parts.append(gibibytes(board.vram_bytes))
    if board.partitions > 1:
        parts.append(f"{board.partitions} partitions")
    parts += [p for p in (board.pci_address, board.pcie or ("xGMI to the CPU" if board.to_cpu == "xgmi" else None)) if p]
    return printable(f"GPU {number}  {board.product}: {', '.join(parts)}", 300)


def _table(topology: Topology, color: bool) -> Iterator[str]:
    """A column of seven characters for each board: eight fit into 64, and more lines are longer than the terminal."""
    numbers = range(len(topology.boards))
    yield style(f"{'':<8}" + "".join(f"{f'GPU {n}':<7}" for n in numbers).rstrip(), "faint", color)
    used: set[str] = set()
    joins = {(link.a, link.b): link.kind for link in topology.links}
    for a in numbers:
        cells = []
        for b in numbers:
            path = "" if a == b else joins.get((min(a, b), max(a, b))) or topology.path(a, b)
            used.add(path)
            cells.append(f"{CELLS.get(path, '-'):<7}")
        yield f"{f'GPU {a}':<8}" + "".join(cells).rstrip()
    yield ""
    yield from (words for path, words in LEGEND.items() if path in used)
