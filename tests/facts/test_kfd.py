"""The KFD topology: what each property file means, old kernels, partitions, and nodes that a device cgroup hides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import kfd
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host

NODES = f"{kfd.TOPOLOGY}/nodes"

CPU = (
    "cpu_cores_count 16\nsimd_count 0\nio_links_count 1\ngfx_target_version 0\nvendor_id 0\ndevice_id 0\n"
    "location_id 0\ndomain 0\n"
)
GPU = (
    "cpu_cores_count 0\nsimd_count 192\nio_links_count 1\np2p_links_count 0\ngfx_target_version 110000\nvendor_id 4098\n"
    "device_id 29772\nlocation_id 768\ndomain 0\ndrm_render_minor 128\nunique_id 42\nnum_xcc 1\n"
)
BANK = "heap_type 1\nsize_in_bytes 25753026560\nflags 0\nwidth 384\n"
LINK = "type 2\nnode_from 1\nnode_to 0\nweight 20\n"


def workstation(gpu: str = GPU, **more: str) -> dict[str, str]:
    files = {
        f"{NODES}/0/properties": CPU,
        f"{NODES}/0/gpu_id": "0\n",
        f"{NODES}/0/name": "\n",
        f"{NODES}/1/properties": gpu,
        f"{NODES}/1/gpu_id": "51234\n",
        f"{NODES}/1/name": "ip discovery\n",
        f"{NODES}/1/mem_banks/0/properties": BANK,
        f"{NODES}/1/io_links/0/properties": LINK,
    }
    return files | {f"{NODES}/{path}": text for path, text in more.items()}


def test_a_workstation() -> None:
    topology = kfd.gather(small_host(workstation()))
    assert topology.present and topology.unreadable == ()
    cpu, gpu = topology.nodes
    assert not cpu.is_gpu and cpu.cpu_cores == 16 and cpu.gfx is None and cpu.pci_address is None and cpu.vram_bytes is None
    assert topology.gpus == (gpu,)
    assert (gpu.id, gpu.gpu_id, gpu.name, gpu.gfx) == (1, 51234, "ip discovery", "gfx1100")
    assert (gpu.vendor_id, gpu.device_id, gpu.pci_address, gpu.render_minor) == (0x1002, "744c", "0000:03:00.0", 128)
    assert (gpu.unique_id, gpu.num_xcc, gpu.vram_bytes, gpu.partition) == (42, 1, 25753026560, 0)
    assert gpu.links == (kfd.KfdLink(to=0, type=2, weight=20),)


@pytest.mark.parametrize(
    ("value", "gfx"),
    [
        (80003, "gfx803"),
        (90006, "gfx906"),
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (100302, "gfx1032"),
        (100306, "gfx1036"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
    ],
)
def test_decode_gfx(value: int, gfx: str) -> None:
    assert kfd.decode_gfx(value) == gfx


def test_nodes_are_in_numeric_order() -> None:
    files = {f"{NODES}/{n}/properties": GPU for n in (10, 9, 2, 1)} | {f"{NODES}/0/properties": CPU, f"{NODES}/x/properties": GPU}
    assert [n.id for n in kfd.gather(small_host(files)).nodes] == [0, 1, 2, 9, 10]


def test_absent_and_empty() -> None:
    assert kfd.gather(small_host()) == kfd.KfdTopology(present=False)
    assert kfd.gather(small_host({f"{kfd.TOPOLOGY}/generation_id": "1\n"})) == kfd.KfdTopology(present=True)


def test_a_hidden_node_is_unreadable_and_the_others_are_read() -> None:
    files = workstation(**{"2/properties": GPU.replace("location_id 768", "location_id 1024")})
    topology = kfd.gather(small_host(files, unknown=[f"{NODES}/1/properties"]))
    assert topology.unreadable == (1,)
    assert [n.pci_address for n in topology.gpus] == ["0000:04:00.0"]


def test_hidden_details_do_not_hide_a_node() -> None:
    host = small_host(workstation(), unknown=[f"{NODES}/1/mem_banks/**", f"{NODES}/1/io_links/**", f"{NODES}/1/gpu_id"])
    (gpu,) = kfd.gather(host).gpus
    assert gpu.gfx == "gfx1100" and gpu.vram_bytes is None and gpu.links == () and gpu.gpu_id is None


def test_an_unreadable_topology_is_unknown() -> None:
    with pytest.raises(UnknownFact):
        kfd.gather(small_host(workstation(), unknown=["/sys/class/kfd/**"]))


def test_an_old_kernel_has_neither_gfx_nor_domain() -> None:
    old = "".join(line + "\n" for line in GPU.splitlines() if not line.startswith(("gfx_target_version", "domain", "num_xcc")))
    (gpu,) = kfd.gather(small_host(workstation(old))).gpus
    assert gpu.gfx_target_version is None and gpu.gfx is None
    assert gpu.pci_address == "0000:03:00.0" and gpu.num_xcc == 1


@pytest.mark.parametrize(
    ("banks", "vram"),
    [
        ({}, None),
        ({"0": "heap_type 0\nsize_in_bytes 67108864\n"}, None),  # system memory of an APU of old
        ({"0": "heap_type 1\nsize_in_bytes 4096\n", "1": "heap_type 2\nsize_in_bytes 8192\n"}, 12288),
        ({"0": "heap_type 1\nsize_in_bytes 4096\n", "1": "heap_type 4\nsize_in_bytes 65536\n"}, 4096),
        ({"0": ""}, None),
    ],
)
def test_vram(banks: dict[str, str], vram: int | None) -> None:
    files = {f"{NODES}/1/properties": GPU} | {f"{NODES}/1/mem_banks/{n}/properties": text for n, text in banks.items()}
    (gpu,) = kfd.gather(small_host(files)).gpus
    assert gpu.vram_bytes == vram


def test_links_of_both_kinds() -> None:
    more = {
        "1/properties": GPU.replace("io_links_count 1", "io_links_count 2").replace("p2p_links_count 0", "p2p_links_count 1"),
        "1/io_links/1/properties": "type 11\nnode_to 2\nweight 15\n",
        "1/p2p_links/0/properties": "type 2\nnode_to 3\nweight 41\n",
    }
    (gpu,) = kfd.gather(small_host(workstation(**more))).gpus
    assert [(link.to, link.type, link.p2p) for link in gpu.links] == [(0, 2, False), (2, 11, False), (3, 2, True)]


def partition(number: int, location: int, unique_id: int = 7) -> str:
    return (
        f"simd_count 80\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nlocation_id {location}\ndomain 1\n"
        f"drm_render_minor {128 + number}\nunique_id {unique_id}\n"
    )


@pytest.mark.parametrize("newer", [False, True], ids=["function number", "location_id[31:28]"])
def test_partitions_have_the_address_of_their_board(newer: bool) -> None:
    locations = [0x0A00 | (n << 28 if newer else n) for n in range(4)]
    files = {f"{NODES}/{n}/properties": partition(n, location) for n, location in enumerate(locations)}
    gpus = kfd.gather(small_host(files)).gpus
    assert [(n.pci_address, n.partition) for n in gpus] == [("0001:0a:00.0", n) for n in range(4)]


def test_a_second_function_of_another_gpu_is_no_partition() -> None:
    files = {f"{NODES}/0/properties": partition(0, 0x0A00, 7), f"{NODES}/1/properties": partition(1, 0x0A01, 8)}
    assert [n.pci_address for n in kfd.gather(small_host(files)).gpus] == ["0001:0a:00.0", "0001:0a:00.1"]
    two_vfs = {f"{NODES}/{n}/properties": GPU.replace("location_id 768", f"location_id {768 + n}") for n in (0, 1)}
    assert [n.pci_address for n in kfd.gather(small_host(two_vfs)).gpus] == ["0000:03:00.0", "0000:03:00.1"]


def test_zero_stands_for_none() -> None:
    text = GPU.replace("drm_render_minor 128", "drm_render_minor 0").replace("unique_id 42", "unique_id 0")
    (gpu,) = kfd.gather(small_host(workstation(text))).gpus
    assert gpu.render_minor is None and gpu.unique_id is None


LINES = st.one_of(
    st.tuples(
        st.sampled_from(["simd_count", "location_id", "domain", "gfx_target_version", "device_id", "unique_id", "x"]),
        st.text(max_size=30),
    ).map(" ".join),
    st.text(max_size=60),
)


@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=4), st.binary(max_size=64))
def test_nonsense_never_raises(lines: list[str], bank: list[str], raw: bytes) -> None:
    files: dict[str, bytes | str] = {
        f"{NODES}/0/properties": "\n".join(lines),
        f"{NODES}/1/properties": raw,
        f"{NODES}/1/gpu_id": raw,
        f"{NODES}/0/mem_banks/0/properties": "\n".join(bank),
        f"{NODES}/0/io_links/0/properties": raw,
    }
    topology = kfd.gather(small_host(files))
    assert len(topology.nodes) + len(topology.unreadable) == 2
    for node in topology.gpus:
        assert node.gfx is None or node.gfx.startswith("gfx")


@given(st.integers(min_value=0, max_value=2**64))
def test_any_version_decodes(value: int) -> None:
    assert kfd.decode_gfx(value).startswith("gfx")
