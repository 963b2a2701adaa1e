"""GPUs: PCI functions and KFD nodes of one board together, KFD's target before the PCI id, and each source alone."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.facts import Facts
from rocmdoctor.facts.gpus import Gpu
from rocmdoctor.host import UnknownFact
from rocmdoctor.matrix import load_matrix
from tests.facts.small_host import SHARED, command, small_host, tree

MATRIX = load_matrix()
PCI = "/sys/bus/pci/devices"
KFD = "/sys/class/kfd/kfd/topology/nodes"
CAPTURES = SHARED / "captures"


def function(
    address: str, device: str, revision: str = "00", *, driver: str | None = "amdgpu", pci_class: str = "0x030000"
) -> dict[str, str]:
    """The sysfs files of a PCI function of vendor 1002."""
    folder = f"{PCI}/{address}"
    files = {
        f"{folder}/vendor": "0x1002\n",
        f"{folder}/device": f"0x{device}\n",
        f"{folder}/class": f"{pci_class}\n",
        f"{folder}/revision": f"0x{revision}\n",
    }
    if driver:
        files[f"{folder}/uevent"] = f"DRIVER={driver}\nPCI_CLASS={pci_class[2:]}\nPCI_ID=1002:{device.upper()}\n"
    return files


def node(
    number: int,
    device: str,
    target: int | None,
    location: int,
    *,
    domain: int = 0,
    unique_id: int = 0,
    simd: int = 96,
    vram: int | None = None,
) -> dict[str, str]:
    """A KFD node; `location` is bus * 256 + slot * 8 + function."""
    lines = [
        f"simd_count {simd}",
        "vendor_id 4098",
        f"device_id {int(device, 16)}",
        f"location_id {location}",
        f"domain {domain}",
    ]
    if target is not None:
        lines.append(f"gfx_target_version {target}")
    if unique_id:
        lines.append(f"unique_id {unique_id}")
    if vram is not None:
        lines.append("mem_banks_count 1")
    files = {f"{KFD}/{number}/properties": "\n".join(lines) + "\n", f"{KFD}/{number}/gpu_id": "4242\n"}
    if vram is not None:
        files[f"{KFD}/{number}/mem_banks/0/properties"] = f"heap_type 1\nsize_in_bytes {vram}\n"
    return files


def gpus(files: dict[str, Any], **more: Any) -> tuple[Gpu, ...]:
    return Facts(small_host(files, **more), MATRIX).gpus


def test_a_board_of_both_sources() -> None:
    (gpu,) = gpus({**function("0000:03:00.0", "744c", "c8"), **node(1, "744c", 110000, 0x300, vram=24 << 30)})
    assert (gpu.pci_address, gpu.pci_id, gpu.revision) == ("0000:03:00.0", "1002:744c", "c8")
    assert (gpu.gfx, gpu.gfx_source, gpu.kfd_node) == ("gfx1100", "kfd", 1)
    assert (gpu.product, gpu.klass, gpu.family, gpu.driver) == ("AMD Radeon RX 7900 XTX", "radeon", "radeon", "amdgpu")
    assert gpu.vram_bytes == 24 << 30
    assert gpu.label == gpu.product


def test_kfd_wins_over_the_pci_id() -> None:
    """73ff rev df: the table says gfx1031, the card's own discovery gfx1032."""
    files = function("0000:03:00.0", "73ff", "df")
    (gpu,) = gpus(files)
    assert (gpu.gfx, gpu.gfx_source) == ("gfx1031", "pci-id")
    (gpu,) = gpus({**files, **node(1, "73ff", 100302, 0x300)})
    assert (gpu.gfx, gpu.gfx_source, gpu.product) == ("gfx1032", "kfd", "AMD Radeon RX 6750 GRE 10GB")


def test_without_a_driver_the_id_tells() -> None:
    (gpu,) = gpus(function("0000:05:00.0", "74a1", driver=None, pci_class="0x120000"))
    assert (gpu.gfx, gpu.gfx_source, gpu.driver, gpu.kfd, gpu.klass) == ("gfx942", "pci-id", None, (), "instinct")


def test_an_unknown_id() -> None:
    """No fault (rules.md 3): KFD's target gives the class, without KFD nothing is claimed."""
    files = function("0000:03:00.0", "7fff")
    (gpu,) = gpus(files)
    assert (gpu.gfx, gpu.gfx_source, gpu.product, gpu.klass, gpu.family) == (None,) * 5
    assert gpu.label == "1002:7fff"
    for target, klass, family in ((90402, "instinct", "instinct"), (110501, "apu", "ryzen"), (120001, "radeon", "radeon")):
        (gpu,) = gpus({**files, **node(1, "7fff", target, 0x300)})
        assert (gpu.klass, gpu.family, gpu.gfx_source) == (klass, family, "kfd")
    (gpu,) = gpus({**files, **node(1, "7fff", 130100, 0x300)})
    assert (gpu.gfx, gpu.klass) == ("gfx1310", "radeon")
    (gpu,) = gpus({**files, **node(1, "7fff", 990909, 0x300)})
    assert (gpu.gfx, gpu.klass) == ("gfx9999", None)


def test_an_old_kernel_has_no_target() -> None:
    (gpu,) = gpus({**function("0000:03:00.0", "6860"), **node(1, "6860", None, 0x300)})
    assert (gpu.gfx, gpu.gfx_source, gpu.kfd_node) == ("gfx900", "pci-id", 1)


def test_a_container_that_hides_the_bus() -> None:
    files = node(1, "744c", 110000, 0x300, vram=24 << 30)
    (gpu,) = gpus(files, unknown=[f"{PCI}/**", PCI])
    assert (gpu.pci_address, gpu.device, gpu.gfx, gpu.driver, gpu.pci) == ("0000:03:00.0", "744c", "gfx1100", "amdgpu", None)
    assert gpu.product == "AMD Navi 31", "the revision is not known"
    assert gpu.vram_bytes == 24 << 30
    with pytest.raises(UnknownFact):
        gpus({}, unknown=[f"{PCI}/**", PCI])


def test_an_unknown_kfd_leaves_the_bus() -> None:
    (gpu,) = gpus(function("0000:03:00.0", "744c", "c8"), unknown=["/sys/class/kfd/**"])
    assert (gpu.gfx, gpu.gfx_source) == ("gfx1100", "pci-id")


def test_what_is_no_amd_gpu() -> None:
    bridge = function("0000:01:00.0", "1478", pci_class="0x060400", driver="pcieport")
    nvidia = {
        k: v.replace("0x1002", "0x10de").replace("1002:", "10DE:")
        for k, v in function("0000:02:00.0", "2684", driver="nvidia").items()
    }
    assert gpus({**bridge, **nvidia}) == ()
    assert gpus({**node(0, "0000", 0, 0, simd=0)}) == ()


def test_order_is_by_address() -> None:
    files = {
        **function("10000:01:00.0", "744c", "c8"),
        **function("0000:c1:00.0", "744c", "cc"),
        **function("0000:03:00.0", "1586", "c1"),
    }
    assert [g.pci_address for g in gpus(files)] == ["0000:03:00.0", "0000:c1:00.0", "10000:01:00.0"]


def test_partitions_are_one_board() -> None:
    files = {**function("0001:05:00.0", "74a2", pci_class="0x120000")}
    for part in range(4):
        files |= node(part + 1, "74a2", 90402, 0x500 | part, domain=1, unique_id=77, vram=48 << 30)
    (gpu,) = gpus(files)
    assert [n.id for n in gpu.kfd] == [1, 2, 3, 4]
    assert (gpu.kfd_node, gpu.vram_bytes, gpu.product) == (1, 192 << 30, "AMD Instinct MI308X")


def test_two_boards_that_an_old_kernel_shows_at_one_address() -> None:
    """Without a domain two boards can share a location; another unique_id is another board."""
    files = {**node(1, "740f", 90010, 0x300, unique_id=1), **node(2, "740f", 90010, 0x300, unique_id=2)}
    assert [g.kfd_node for g in gpus(files)] == [1, 2]


def test_virtual_functions_of_a_host_are_for_its_guests() -> None:
    files = {**function("0000:03:00.0", "74a1"), **function("0000:03:02.0", "74b5", driver=None)}
    links = {f"{PCI}/0000:03:02.0/physfn": {"type": "link", "target": "../0000:03:00.0"}}
    assert [g.device for g in gpus(files, nodes=links)] == ["74a1"]
    (guest,) = gpus(function("0000:00:05.0", "74b5"))
    assert (guest.klass, guest.family, guest.product) == ("virtual", "instinct", "AMD Instinct MI300X VF")
    (guest,) = gpus(function("0000:00:05.0", "7461"))
    assert (guest.klass, guest.family) == ("virtual", "radeon")


ROCMINFO = """\
ROCk module is NOT loaded, possibly no GPU devices
WSL environment detected.
=====================
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD Ryzen 9
  Device Type:             CPU
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          AMD Radeon RX 7900 XTX
  Device Type:             GPU
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1100
"""


def test_wsl_asks_rocminfo() -> None:
    files = {"/proc/version": "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@builder)\n"}
    more = {
        "release": "5.15.167.4-microsoft-standard-WSL2",
        "nodes": {"/dev/dxg": {"type": "char", "mode": "0666", "uid": 0, "gid": 0, "major": 10, "minor": 125, "open": "ok"}},
    }
    (gpu,) = gpus(files, commands=[command("rocminfo", stdout=ROCMINFO)], **more)
    assert (gpu.gfx, gpu.gfx_source, gpu.klass, gpu.driver, gpu.kfd) == ("gfx1100", "rocminfo", "radeon", None, ())
    assert gpu.product and gpu.product.endswith("Radeon RX 7900 XTX")
    assert gpus(files, **more) == ()


needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="no folder with captures (set ROCMDOCTOR_SHARED)")


@needs_captures
@pytest.mark.parametrize(
    ("capture", "gfx", "nodes"),
    [
        ("k8s-device-plugin/mi210-8gpu-xgmi-pcie/topology", ["gfx90a"] * 8, 8),
        ("k8s-device-plugin/vega10-1gpu-copied/topology", ["gfx900"] * 2, 2),
        ("k8s-device-plugin/mi308x-cpx-32nodes.tar.gz", ["gfx942"] * 8, 32),
        ("lact/phoenix-780m-kfd/topology", ["gfx1103"], 1),
        ("rocm-systems/workstation-gfx906-gfx1102-gfx1032/topology", ["gfx906", "gfx1102", "gfx1032"], 3),
        ("rocm-systems/mi350x-1node/topology", ["gfx950"], 1),
    ],
)
def test_captured_topologies(tmp_path: Path, capture: str, gfx: list[str], nodes: int) -> None:
    """KFD trees without their PCI bus: boards, not nodes, are GPUs."""
    folder = CAPTURES / capture
    if folder.suffix == ".gz":
        with tarfile.open(folder) as archive:
            archive.extractall(tmp_path, filter="data")
        folder = tmp_path / "topology"
    found = gpus(tree(folder, KFD.removesuffix("/nodes")), unknown=[f"{PCI}/**", PCI])
    assert sorted(g.gfx or "" for g in found) == sorted(gfx)
    assert sum(len(g.kfd) for g in found) == nodes
    assert all(g.klass and g.product for g in found)


@needs_captures
def test_nodes_without_simds_are_no_gpus() -> None:
    """The synthetic tree has a target and no SIMDs: with the bus unknown nobody can tell whether there is a GPU."""
    files = tree(CAPTURES / "container-toolkit/synthetic-3nodes/topology", KFD.removesuffix("/nodes"))
    with pytest.raises(UnknownFact):
        gpus(files, unknown=[f"{PCI}/**", PCI])
    assert gpus(files) == ()
