"""The drawing of a topology as plain shapes: boards in a column, grouped by NUMA node; the bus to the CPU on the left; the links
between boards as arcs on the right. One layout serves the SVG file and the page of the fleet.

A column reads at the width of a telephone, and arcs show at a glance which boards are joined with all others and which are not.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rocmdoctor.topology import PCIE, XGMI, Board, Link, Topology

WIDTH = 360
"""Units of the drawing, about a pixel each."""
LEFT, BOX, HIGH, GAP = 34, 216, 52, 10
"""Edge and width of a board's box, its height, and the space below it."""
FRAME = 30
"""Height of a NUMA node's heading."""
ARC = WIDTH - LEFT - BOX - 18
"""How far the widest arc reaches out."""
LONGEST = 33
"""Characters that fit into a box."""

WORDS = {
    XGMI: "xGMI between GPUs",
    PCIE: "PCIe, peer to peer",
    "bus": "PCIe to the CPU",
    "coherent": "xGMI to the CPU",
    "cpu": "between NUMA nodes",
}
"""Kinds of lines in the order of the legend."""


class Shape(NamedTuple):
    """`kind`: rect | text | path. `name`: frame, gpu, strong, faint, label, or a key of WORDS. `place`: x, y, width, height of a
    rect; x, y of a text; nothing of a path, whose `text` is its course (SVG 2, path data). `title`: what pointing at it tells."""

    kind: str
    name: str
    place: tuple[float, ...]
    text: str = ""
    title: str = ""


class Drawing(NamedTuple):
    """`title` says in words what is drawn."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def draw(topology: Topology) -> Drawing:
    """Shapes for every board, NUMA node and link. Texts are those of the host, clipped and not escaped."""
    boxes: list[Shape] = []
    middles: dict[int, float] = {}
    frames: list[tuple[float, float]] = []
    buses: list[Shape] = []
    y = 6.0
    for socket, members in _groups(topology):
        top = y
        heading = _heading(topology, socket)
        boxes.append(Shape("text", "label", (LEFT, y + 19), heading))
        y += FRAME
        for index in members:
            board = topology.boards[index]
            boxes += _box(index, board, y)
            middles[index] = y + HIGH / 2
            if socket is not None:
                name = "coherent" if board.to_cpu == XGMI else "bus"
                title = f"GPU {index} to NUMA node {topology.sockets[socket].number}: {_to_cpu(board)}"
                buses.append(Shape("path", name, (), f"M18 {top + 20:g}V{middles[index]:g}H{LEFT}", title))
            y += HIGH + GAP
        frames.append((top, y))
        boxes.insert(0, Shape("rect", "frame", (6, top, LEFT + BOX + 2, y - top)))
        y += 8
    links = [_arc(link, middles, len(topology.boards)) for link in topology.links]
    between = [
        Shape("path", "cpu", (), f"M18 {end:g}V{start:g}", "NUMA nodes are joined")
        for (_, end), (start, _) in pairwise(frames)
        if len(topology.sockets) > 1
    ]
    shapes = [*boxes, *buses, *between, *links]
    legend = [name for name in WORDS if any(s.kind == "path" and s.name == name for s in shapes)]
    for name in legend:
        y += 16
        shapes.append(Shape("path", name, (), f"M8 {y - 4:g}H30"))
        shapes.append(Shape("text", "faint", (38, y), WORDS[name]))
    title = describe(topology) + (f" {topology.note}." if topology.note else "")
    return Drawing(WIDTH, round(y + 10), title, tuple(shapes))


def describe(topology: Topology) -> str:
    """One sentence: how many GPUs, and what joins them."""
    count = len(topology.boards)
    if not count:
        return "No GPU."
    nodes = len(topology.sockets)
    parts = [_many(count, "GPU") + (f" on {_many(nodes, 'NUMA node')}" if nodes else "")]
    for hive in topology.hives:
        pairs = sum(link.kind == XGMI and link.a in hive for link in topology.links)
        everyone = "all with all" if pairs == len(hive) * (len(hive) - 1) // 2 else f"{pairs} links"
        parts.append(f"xGMI joins GPU {_ranges(hive)} ({everyone})")
    peers = sum(link.kind == PCIE for link in topology.links)
    if peers:
        parts.append(f"{_many(peers, 'pair')} by PCIe, peer to peer")
    return "; ".join(parts) + "."


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _ranges(numbers: tuple[int, ...]) -> str:
    """ "0-3, 6" for (0, 1, 2, 3, 6)."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and parts[-1][-1] == n - 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _groups(topology: Topology) -> Iterator[tuple[int | None, list[int]]]:
    """NUMA nodes with their boards, those without one too; at last the boards whose node is unknown."""
    for socket in range(len(topology.sockets)):
        yield socket, [n for n, board in enumerate(topology.boards) if board.socket == socket]
    lost = [n for n, board in enumerate(topology.boards) if board.socket is None]
    if lost:
        yield None, lost


def _heading(topology: Topology, socket: int | None) -> str:
    if socket is None:
        return "NUMA node unknown"
    found = topology.sockets[socket]
    return f"NUMA node {found.number}" + (f", {found.cores} CPU cores" if found.cores else "")


def _box(index: int, board: Board, y: float) -> list[Shape]:
    parts = f", {board.partitions} partitions" if board.partitions > 1 else ""
    memory = f", {board.vram_bytes / 2**30:.0f} GiB" if board.vram_bytes else ""
    second = f"{board.gfx or 'gfx unknown'}{memory}{parts}"
    third = ", ".join(p for p in (board.pci_address, board.pcie) if p)
    lines = (("strong", f"GPU {index}  {board.product}"), ("label", second), ("faint", third))
    whole = "; ".join(text for _, text in lines)
    texts = [Shape("text", name, (LEFT + 8, y + 16 + 15 * n), _clip(text)) for n, (name, text) in enumerate(lines) if text]
    return [Shape("rect", "gpu", (LEFT, y, BOX, HIGH), title=whole[:200]), *texts]


def _to_cpu(board: Board) -> str:
    return board.pcie or ("xGMI" if board.to_cpu == XGMI else "PCIe" if board.to_cpu else "no link told")


def _arc(link: Link, middles: dict[int, float], count: int) -> Shape:
    """From box to box on the right; the farther apart, the wider. Ends lie a little apart, so that a fan stays readable."""
    right = LEFT + BOX
    step = min(3.0, (HIGH - 12) / max(count, 1))
    start = middles[link.a] + step * (link.b - link.a) / 2
    end = middles[link.b] - step * (link.b - link.a) / 2
    reach = right + 14 + (ARC - 14) * (link.b - link.a) / max(count - 1, 1)
    bend = right + (reach - right) * 4 / 3  # a cubic reaches three quarters of the way to its control points
    title = f"GPU {link.a} to GPU {link.b}: {WORDS[link.kind].partition(',')[0].partition(' ')[0]}"
    title += f", weight {link.weight}" + (f", up to {link.bandwidth / 1000:g} GB/s" if link.bandwidth else "")
    return Shape(
        "path", link.kind, (), f"M{right} {start:.1f}C{bend:.1f} {start:.1f} {bend:.1f} {end:.1f} {right} {end:.1f}", title
    )


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
