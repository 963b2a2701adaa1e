"""The public captures beside the repository: each figure of their INDEX.md comes out (GPUs, gfx, VRAM, driver)."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.facts import dkms, kernel, kernel_log, kfd, lspci, modules, pci
from tests.facts.small_host import SHARED, command, small_host, tree

CAPTURES = SHARED / "captures"
CASES = SHARED / "cases"
GIB = 1 << 30

needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason=f"the captures are not at {CAPTURES}")
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"the replayable hosts are not at {CASES}")


# KFD topology ----------------------------------------------------------------------------------------------------

KFD_TREES: dict[str, dict[str, Any]] = {
    "k8s-device-plugin/mi210-8gpu-xgmi-pcie/topology": {
        "nodes": 10, "gfx": {"gfx90a": 8}, "device": {"740f": 8}, "vram": {None: 8}, "links": {1: 2, 11: 24, 2: 64}, "boards": 8,
    },
    "k8s-device-plugin/vega10-1gpu-copied/topology": {
        "nodes": 3, "gfx": {None: 2}, "device": {"6860": 2}, "vram": {16.0: 2}, "links": {2: 3}, "boards": 1,
    },
    "k8s-device-plugin/mi308x-cpx-32nodes.tar.gz": {
        "nodes": 34, "gfx": {"gfx942": 32}, "device": {"74a2": 32}, "vram": {48.0: 32},
        "links": {11: 992, 2: 128, 5: 2}, "boards": 8,
    },
    "lact/phoenix-780m-kfd/topology": {
        "nodes": 2, "gfx": {"gfx1103": 1}, "device": {"15bf": 1}, "vram": {29.3: 1}, "links": {2: 2}, "boards": 1,
    },
    "rocm-systems/workstation-gfx906-gfx1102-gfx1032/topology": {
        "nodes": 4, "gfx": {"gfx906": 1, "gfx1102": 1, "gfx1032": 1}, "device": {"66af": 1, "7489": 1, "73ef": 1},
        "vram": {16.0: 1, 8.0: 2}, "links": {}, "boards": 3,
    },
    "rocm-systems/mi350x-1node/topology": {
        "nodes": 2, "gfx": {"gfx950": 1}, "device": {"75a0": 1}, "vram": {288.0: 1}, "links": {}, "boards": 1,
    },
    "container-toolkit/synthetic-3nodes/topology": {
        "nodes": 3, "gfx": {}, "device": {}, "vram": {}, "links": {}, "boards": 0,
    },
}  # fmt: skip


def topology(path: Path) -> kfd.KfdTopology:
    if path.is_dir():
        return kfd.gather(small_host(tree(path, kfd.TOPOLOGY)))
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content:
                files[f"/sys/class/kfd/kfd/{member.name}"] = content.read()
    return kfd.gather(small_host(files))


@needs_captures
@pytest.mark.parametrize("name", KFD_TREES)
def test_kfd_tree(name: str) -> None:
    expected = KFD_TREES[name]
    found = topology(CAPTURES / name)
    gpus = found.gpus
    assert found.present and found.unreadable == () and len(found.nodes) == expected["nodes"]
    assert Counter(g.gfx for g in gpus) == expected["gfx"]
    assert Counter(g.device_id for g in gpus) == expected["device"]
    assert Counter(g.vram_bytes and round(g.vram_bytes / GIB, 1) for g in gpus) == expected["vram"]
    assert Counter(link.type for n in found.nodes for link in n.links) == expected["links"]
    assert len({g.pci_address for g in gpus}) == expected["boards"]


@needs_captures
def test_partitions_of_the_mi308x() -> None:
    gpus = topology(CAPTURES / "k8s-device-plugin/mi308x-cpx-32nodes.tar.gz").gpus
    assert Counter(g.partition for g in gpus) == {0: 8, 1: 8, 2: 8, 3: 8}
    assert len({g.unique_id for g in gpus}) == 8 and len({g.render_minor for g in gpus}) == 32
    assert {(g.pci_address or "")[:4] for g in gpus} == {"0000", "0001"}


@needs_captures
def test_every_kfd_tree_is_in_the_table() -> None:
    folders = {p.parent.relative_to(CAPTURES).as_posix() for p in CAPTURES.rglob("nodes") if p.is_dir()}
    archives = {p.relative_to(CAPTURES).as_posix() for p in CAPTURES.rglob("*.tar.gz")}
    assert folders | archives == set(KFD_TREES)


# DRM sysfs -------------------------------------------------------------------------------------------------------

DRM_TREES = {
    # folder: (device, driver, address, VRAM in bytes)
    "lact/drm-phoenix": ("15bf", "amdgpu", "0000:64:00.0", 4294967296),
    "lact/drm-rx580": ("67df", "amdgpu", "0000:09:00.0", 4294967296),
    "lact/drm-rx5700xt": ("731f", "amdgpu", "0000:28:00.0", None),
    "lact/drm-rx6900xt": ("73bf", "amdgpu", "0000:0c:00.0", 17163091968),
    "lact/drm-rx7900xtx": ("744c", "amdgpu", "0000:03:00.0", None),
    "lact/drm-rx7700s": ("7480", "amdgpu", "0000:03:00.0", None),
    "lact/drm-rx9070xt": ("7550", "amdgpu", "0000:0f:00.0", None),
    "lact/drm-hd7870": ("6818", "radeon", "0000:01:00.0", None),
}


@needs_captures
@pytest.mark.parametrize("name", DRM_TREES)
def test_drm_tree(name: str) -> None:
    device, driver, address, vram = DRM_TREES[name]
    (folder,) = (CAPTURES / name).glob("card*/device")
    (gpu,) = pci.gather(small_host(tree(folder, f"{pci.DEVICES}/{address}")))
    assert (gpu.device, gpu.driver, gpu.address, gpu.vram_total) == (device, driver, address, vram)
    assert gpu.is_amd_gpu and pci.parse_uevent((folder / "uevent").read_text())["PCI_SLOT_NAME"] == address


@needs_captures
def test_a_drm_tree_without_uevent() -> None:
    folder = CAPTURES / "glances/drm-card0/sys/class/drm/card0/device"
    address = f"{pci.DEVICES}/0000:c5:00.0"
    files = tree(folder, address) | {f"{address}/vendor": b"0x1002\n", f"{address}/class": b"0x038000\n"}
    (gpu,) = pci.gather(small_host(files))
    assert (gpu.device, gpu.revision, gpu.vram_total, gpu.gtt_total) == ("1586", "c1", 2147483648, 17179869184)


# lspci -----------------------------------------------------------------------------------------------------------

LSPCI = {
    # file: [(slot, device, driver in use)] of the AMD GPUs
    "delaunay-regression/lspci.txt": [(None, None)] * 8,
    "delaunay-regression/lspci-k.txt": [(None, "amdgpu")] * 8,
    "proxmox-5700u/lspci-nn.txt": [("164c", None)],
    "yoga-slim7-renoir/lspci.txt": [(None, "amdgpu")],
    "rocm-issue-1384/lspci-tv.txt": [(None, None)],
    "rocm-issue-1384/lspci-nn-grep-amd.txt": [("6981", None)],
    "gpu-operator/lspci-nnk-mi300x-vf.txt": [("74a1", "gim"), ("74b5", "vfio-pci")],
    "inference-snaps/lspci-intel-nvidia.txt": [],
}


@needs_captures
@pytest.mark.parametrize("name", LSPCI)
def test_lspci(name: str) -> None:
    assert [(g.device_id, g.driver) for g in lspci.amd_gpus((CAPTURES / name).read_text())] == LSPCI[name]


@needs_captures
def test_every_lspci_text_is_in_the_table() -> None:
    assert {p.relative_to(CAPTURES).as_posix() for p in CAPTURES.rglob("lspci*")} == set(LSPCI)


@needs_captures
def test_classes_of_lspci() -> None:
    (display,) = lspci.parse((CAPTURES / "rocm-issue-1384/lspci-nn-grep-amd.txt").read_text())
    assert (display.slot, display.class_name, display.class_id) == ("3a:00.0", "Display controller", "0380")
    functions = lspci.parse((CAPTURES / "gpu-operator/lspci-nnk-mi300x-vf.txt").read_text())
    assert {f.class_id for f in functions} == {"1200"}


# kernel log ------------------------------------------------------------------------------------------------------


def log(name: str) -> kernel_log.KernelLog:
    return kernel_log.gather(small_host(commands=[command("dmesg", stdout=(CAPTURES / name).read_text(errors="replace"))]))


DMESG = {
    # file: (complete, {pattern: lines})
    "earlvanze-rocm-miner/dmesg.txt": (
        True,
        {
            r"kfd kfd: skipped device 1002:67df, PCI rejects atomics": 5,
            r"VRAM: 8192M": 5,
            r"kfd.*added device": 0,
            "Linux version 4.16.3": 1,
        },
    ),
    "proxmox-5700u/dmesg.txt": (True, {"amdgpu": 0, r"vfio_pci: add \[1002:164c": 1}),
    "rocm-issue-6143/dmesg-amdgpu.txt": (
        True,
        {
            r"amdgpu version: 6\.16\.13": 1,
            r"98304M of VRAM memory ready": 1,
            r"kfd: amdgpu: added device 1002:1586": 1,
            r"gttsize via module parameter is deprecated": 1,
            r"gfxhub\] page fault": 1,
            r"libamdhip64\.so\.7\.2\.70201": 1,
        },
    ),
    "rocm-issue-1384/dmesg-grep-kfd.txt": (True, {"skipped device 1002:6981, PCI rejects atomics": 1}),
    "rocm-issue-1384/dmesg-grep-amdgpu.txt": (True, {r"Initialized amdgpu \S+ \d+ for 0000:3a:00\.0": 1, "4096M of VRAM": 1}),
    "picasso-kiq-fail/dmesg.txt": (False, {"Fatal error during GPU init": 1, r"kiq.*-110": 1}),
    "node-scraper/dmesg_sample.log": (True, {"Linux version 5.15.0-91-generic": 1, "NAVI21 0x1002:0x73BF": 1}),
}


@needs_captures
@pytest.mark.parametrize("name", DMESG)
def test_dmesg(name: str) -> None:
    complete, patterns = DMESG[name]
    found = log(name)
    assert found.complete is complete
    assert {p: len(found.matching(p)) for p in patterns} == patterns
    # No prefix is left: no message begins with a time, a facility or a host name.
    assert not found.matching(r"^(\[ *\d+\.\d|kern *:|\d{4}-\d\d-\d\dT)")


@needs_captures
def test_devices_named_in_dmesg() -> None:
    found = log("earlvanze-rocm-miner/dmesg.txt").matching("VRAM: 8192M")
    assert [line.device for line in found] == [f"0000:0{n}:00.0" for n in (2, 3, 4, 6, 7)]


# other host text -------------------------------------------------------------------------------------------------


@needs_captures
def test_modprobe_d_of_the_proxmox_host() -> None:
    found = modules.gather_modprobe(small_host(tree(CAPTURES / "proxmox-5700u/etc", "/etc")))
    assert {b.module for b in found.blacklisted} == {"radeon", "nouveau", "nvidia", "nvidiafb"}
    assert ("vfio_pci", "ids=1002:164c disable_vga=1", "/etc/modprobe.d/vfio.conf") in found.options


@needs_captures
def test_lsmod() -> None:
    assert {"amdgpu", "amd_iommu_v2"} <= modules.parse_proc_modules((CAPTURES / "rocm-issue-1384/lsmod-grep-amd.txt").read_text())
    assert "amdgpu" not in modules.parse_proc_modules((CAPTURES / "jc/lsmod-ubuntu-18.04.out").read_text())


@needs_captures
def test_command_line_of_the_strix_halo() -> None:
    found = kernel.parse_cmdline((CAPTURES / "rocm-issue-6143/proc-cmdline.txt").read_text())
    assert found.get("iommu") == "pt" and found.get("amdgpu.gttsize") == "98304" and found.get("ttm.pages_limit") == "25000000"


# replayable hosts ------------------------------------------------------------------------------------------------


def cases() -> list[str]:
    return sorted(p.parent.name for p in CASES.glob("*/snapshot.json"))


@needs_cases
@pytest.mark.parametrize("name", cases())
def test_kfd_dkms_and_modules_of_a_case_agree(name: str) -> None:
    from rocmdoctor.host.recorded import open_snapshot

    host = open_snapshot(CASES / name)
    addresses = {d.address for d in pci.gather(host) if d.is_amd_gpu and d.driver == "amdgpu"}
    assert {g.pci_address for g in kfd.gather(host).gpus} <= addresses
    loaded = modules.gather(host, "amdgpu")
    assert loaded.loaded == ("amdgpu" in modules.proc_modules(host))
    status = dkms.parse_status(host.run(("dkms", "status")).stdout)
    assert set(status) <= set(dkms.gather(host).builds)
