"""How GPUs are joined: facts, text, SVG and JSON."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor import cli
from rocmdoctor.facts import Facts
from rocmdoctor.host.recorded import RecordedHost
from rocmdoctor.matrix import load_matrix
from rocmdoctor.reports import topology_svg, topology_text
from rocmdoctor.topology import MAX_BOARDS, Board, Link, Socket, Topology, gather
from rocmdoctor.topology.drawing import Drawing, describe, draw
from tests.hostbuilder import HostBuilder, card

MATRIX = load_matrix()
KFD = "/sys/class/kfd/kfd/topology"


def topology(builder: HostBuilder) -> Topology:
    return gather(Facts(builder.build(), MATRIX))


def text(found: Topology) -> str:
    return topology_text.render(found)


def test_eight_boards_joined_by_xgmi() -> None:
    found = topology(HostBuilder().gpus("gfx942", count=8))
    assert (found.source, len(found.boards), len(found.sockets), len(found.links)) == ("kfd", 8, 2, 28)
    assert found.hives == (tuple(range(8)),) and {link.kind for link in found.links} == {"xgmi"}
    assert [b.socket for b in found.boards] == [0] * 4 + [1] * 4
    assert found.link(7, 0) == Link(0, 7, "xgmi", 15, 64000)
    assert describe(found) == "8 GPUs on 2 NUMA nodes; xGMI joins GPU 0-7 (all with all)."
    lines = text(found).splitlines()
    assert "GPU 3   xGMI   xGMI   xGMI   -      xGMI   xGMI   xGMI   xGMI" in lines
    assert max(map(len, lines)) <= 80


def test_two_cards_meet_at_their_cpu() -> None:
    found = topology(HostBuilder().two_cards())
    assert not found.links and not found.hives and found.path(0, 1) == "node"
    assert "GPU 1   node   -" in text(found)


def test_partitions_of_a_board_are_one_end() -> None:
    found = topology(HostBuilder().gpus("gfx942", count=2, partitions=8))
    assert [b.partitions for b in found.boards] == [8, 8] and len(found.links) == 1
    assert "8 partitions" in text(found)


def test_without_kfd_the_bus_tells_the_boards() -> None:
    found = topology(HostBuilder().gpus("gfx942", count=2).with_fault("fault_no_driver"))
    assert found.source == "pci" and "links between them are unknown" in found.note and not found.links


def test_no_gpu() -> None:
    found = topology(HostBuilder().no_gpus())
    assert (found.source, found.boards) == ("none", ()) and text(found).strip().endswith("No GPU.")
    assert ET.fromstring(topology_svg.render(draw(found))).tag.endswith("svg")


def test_a_host_that_hides_its_bus_says_so() -> None:
    found = topology(HostBuilder().unknown("/sys/**"))
    assert found.source == "none" and found.note.startswith("GPUs are unknown: ")


def test_the_nearest_cpu_wins_and_peers_are_pcie(shared: Path) -> None:
    """Eight MI210 in two hives; far CPUs and GPUs are in p2p_links."""
    base = shared / "captures" / "k8s-device-plugin" / "mi210-8gpu-xgmi-pcie" / "topology"
    if not base.is_dir():
        pytest.skip("no such capture")
    files = {f"{KFD}/{p.relative_to(base)}": p.read_bytes() for p in base.rglob("*") if p.is_file()}
    host = RecordedHost({"user": {"name": "root", "uid": 0, "gid": 0, "groups": [0]}}, files)
    found = gather(Facts(host, MATRIX))
    assert found.hives == ((0, 1, 2, 3), (4, 5, 6, 7)) and [b.socket for b in found.boards] == [0] * 4 + [1] * 4
    assert found.path(0, 7) == "pcie" and found.path(0, 3) == "xgmi"


def shapes(drawing: Drawing, kind: str, name: str) -> int:
    return sum((s.kind, s.name) == (kind, name) for s in drawing.shapes)


def test_the_drawing_has_every_board_and_link_inside_its_frame() -> None:
    drawing = draw(topology(HostBuilder().gpus("gfx942", count=8)))
    assert shapes(drawing, "rect", "gpu") == 8 and shapes(drawing, "rect", "frame") == 2
    assert shapes(drawing, "path", "xgmi") == 28 + 1 and shapes(drawing, "path", "bus") == 8 + 1  # and the legend
    for shape in drawing.shapes:
        if shape.kind == "rect":
            x, y, width, height = shape.place
            assert x >= 0 and x + width <= drawing.width and y >= 0 and y + height <= drawing.height


def test_svg_escapes_what_the_host_says() -> None:
    evil = "<script>alert(1)</script>&\"'\x00\x1b\ufffe\u202e"
    board = Board(evil, evil, evil, 1 << 34, 1, 0, "pcie", None, None, (1,))
    svg = topology_svg.render(draw(Topology("kfd", (Socket(0, 8),), (board,))))
    tree = ET.fromstring(svg)
    assert "script" not in {e.tag.rpartition("}")[2] for e in tree.iter()}
    assert any("<script>alert(1)" in (e.text or "") for e in tree.iter())


@pytest.mark.parametrize("form", ["text", "svg", "json"])
def test_the_command(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    HostBuilder().gpus("gfx90a", count=4).write(tmp_path / "host")
    assert cli.run(["topology", "--snapshot", str(tmp_path / "host"), "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "json":
        document = json.loads(out)
        assert document["xgmi_hives"] == [[0, 1, 2, 3]] and len(document["links"]) == 6
        assert document["gpus"][0]["numa_node"] == 0 and document["numa_nodes"][0]["cpu_cores"]
    elif form == "svg":
        assert ET.fromstring(out).get("role") == "img"
    else:
        assert "NUMA node 0" in out


NUMBERS = st.integers(0, 2**64 - 1) | st.integers(0, 12)
LINK = st.builds(lambda kind, to, weight: f"type {kind}\nnode_to {to}\nweight {weight}\n", NUMBERS, NUMBERS, NUMBERS)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(0, 6), st.sampled_from(("io_links", "p2p_links")), st.integers(0, 3)), LINK | st.text())
)
def test_links_of_any_kind_are_drawn(links: dict[tuple[int, str, int], str]) -> None:
    builder = HostBuilder().gpus(card("gfx942"), card("gfx1100"), card("gfx90a"))
    for (node, kind, number), content in links.items():
        builder = builder.file(f"{KFD}/nodes/{node}/{kind}/{number}/properties", content.encode("utf-8", "replace"))
    found = topology(builder)
    assert all(0 <= link.a < link.b < len(found.boards) for link in found.links)
    ET.fromstring(topology_svg.render(draw(found)))
    assert text(found)


def test_more_boards_than_any_machine_has() -> None:
    found = topology(HostBuilder().gpus("gfx1100", count=MAX_BOARDS + 2))
    assert len(found.boards) == MAX_BOARDS and found.note == "2 more GPUs are not shown"
