"""PCI functions: identity from uevent or single files, details for AMD GPUs only, odd link speeds and BARs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import pci
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host

GPU = f"{pci.DEVICES}/0000:03:00.0"
UEVENT = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SUBSYS_ID=1DA2:E471\nPCI_SLOT_NAME=0000:03:00.0\n"
RESOURCE = (
    "0x0000043000000000 0x00000437ffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000043800000000 0x00000438001fffff 0x000000000014220c\n"
)
DETAILS = {
    f"{GPU}/revision": "0xc8\n",
    f"{GPU}/numa_node": "-1\n",
    f"{GPU}/current_link_speed": "8.0 GT/s PCIe\n",
    f"{GPU}/current_link_width": "4\n",
    f"{GPU}/max_link_speed": "16.0 GT/s PCIe\n",
    f"{GPU}/max_link_width": "16\n",
    f"{GPU}/resource": RESOURCE,
    f"{GPU}/mem_info_vram_total": "25753026560\n",
    f"{GPU}/mem_info_gtt_total": "33285996544\n",
}
FILES = {f"{GPU}/vendor": "0x1002\n", f"{GPU}/device": "0x744c\n", f"{GPU}/class": "0x030000\n"}
DRIVER = {f"{GPU}/driver": {"type": "link", "target": "../../../../bus/pci/drivers/amdgpu"}}


def test_an_amd_gpu_in_full() -> None:
    (gpu,) = pci.gather(small_host({f"{GPU}/uevent": UEVENT} | DETAILS, DRIVER))
    assert (gpu.address, gpu.vendor, gpu.device, gpu.class_code, gpu.revision) == ("0000:03:00.0", "1002", "744c", 0x030000, "c8")
    assert (gpu.subsystem, gpu.driver, gpu.numa_node, gpu.is_vf) == ("1da2:e471", "amdgpu", None, False)
    assert gpu.link == pci.PciLink(speed=8.0, width=4, max_speed=16.0, max_width=16)
    assert gpu.bars[0] == (0x43000000000, 0x437FFFFFFFF, 0x14220C) and gpu.bars[1] == (0, 0, 0) and len(gpu.bars) == 3
    assert (gpu.vram_total, gpu.gtt_total) == (25753026560, 33285996544)
    assert gpu.is_display and gpu.is_amd_gpu


def test_single_files_say_the_same_as_uevent() -> None:
    subsystem = {f"{GPU}/subsystem_vendor": "0x1da2\n", f"{GPU}/subsystem_device": "0xe471\n"}
    (by_files,) = pci.gather(small_host(FILES | subsystem | DETAILS, DRIVER))
    (by_uevent,) = pci.gather(small_host({f"{GPU}/uevent": UEVENT} | DETAILS))
    assert by_files == by_uevent


@pytest.mark.parametrize(
    ("uevent", "nodes", "driver"),
    [
        (UEVENT, {}, "amdgpu"),
        (UEVENT.replace("DRIVER=amdgpu\n", ""), {}, None),
        (UEVENT.replace("DRIVER=amdgpu\n", ""), DRIVER, "amdgpu"),
        (UEVENT.replace("amdgpu", "vfio-pci"), {}, "vfio-pci"),
        ("", DRIVER, "amdgpu"),
        ("DRIVER=radeon\n", {}, "radeon"),
        ("", {}, None),
    ],
)
def test_driver(uevent: str, nodes: dict[str, object], driver: str | None) -> None:
    (gpu,) = pci.gather(small_host(FILES | {f"{GPU}/uevent": uevent}, nodes))
    assert gpu.driver == driver


@pytest.mark.parametrize(
    ("class_text", "is_gpu"),
    [
        ("0x030000", True),
        ("0x030200", True),
        ("0x038000", True),
        ("0x120000", True),
        ("0x040300", False),
        ("0x060400", False),
        ("", False),
    ],
)
def test_instinct_cards_are_no_vga(class_text: str, is_gpu: bool) -> None:
    (device,) = pci.gather(small_host(FILES | {f"{GPU}/class": class_text}))
    assert device.is_amd_gpu is is_gpu


def test_others_are_identified_but_not_read_in_detail() -> None:
    nvidia = f"{pci.DEVICES}/0000:01:00.0"
    files = {f"{nvidia}/uevent": "DRIVER=nvidia\nPCI_CLASS=30000\nPCI_ID=10DE:2684\n", f"{nvidia}/revision": "0xa1\n"}
    (device,) = pci.gather(small_host(files, unknown=[f"{nvidia}/revision"]))
    assert (device.vendor, device.device, device.driver, device.revision) == ("10de", "2684", "nvidia", "")
    assert device.is_display and not device.is_amd_gpu


@pytest.mark.parametrize(
    ("speed", "width", "link"),
    [
        ("2.5 GT/s", "1", (2.5, 1)),
        ("5 GT/s", "8", (5.0, 8)),
        ("32.0 GT/s PCIe", "16", (32.0, 16)),
        ("Unknown", "0", (None, None)),
        ("Unknown speed", "255", (None, None)),
        ("", "", (None, None)),
    ],
)
def test_link(speed: str, width: str, link: tuple[float | None, int | None]) -> None:
    files = FILES | {f"{GPU}/current_link_speed": speed, f"{GPU}/current_link_width": width}
    (gpu,) = pci.gather(small_host(files))
    assert (gpu.link.speed, gpu.link.width) == link


def test_a_virtual_function() -> None:
    nodes = {f"{GPU}/physfn": {"type": "link", "target": "../0000:02:00.0"}}
    (gpu,) = pci.gather(small_host(FILES, nodes))
    assert gpu.is_vf


def test_order_and_names_that_are_no_address() -> None:
    names = ["10000:e1:00.0", "0000:c3:00.0", "0000:03:00.1", "0001:00:00.0", "junk", "0000:03:00.9"]
    files = {f"{pci.DEVICES}/{n}/uevent": "PCI_CLASS=60400\nPCI_ID=1022:14DB\n" for n in names}
    found = [d.address for d in pci.gather(small_host(files))]
    assert found == ["0000:03:00.1", "0000:c3:00.0", "0001:00:00.0", "10000:e1:00.0"]


def test_unknown_detail_and_unknown_bus() -> None:
    (gpu,) = pci.gather(small_host(FILES | DETAILS, unknown=[f"{GPU}/resource", f"{GPU}/mem_info_vram_total"]))
    assert gpu.bars == () and gpu.vram_total is None and gpu.gtt_total
    with pytest.raises(UnknownFact):
        pci.gather(small_host(FILES, unknown=["/sys/bus/pci/**"]))
    with pytest.raises(UnknownFact):
        pci.gather(small_host(FILES, unknown=[f"{GPU}/vendor"]))
    assert pci.gather(small_host()) == ()


@given(
    st.dictionaries(
        st.sampled_from(["uevent", "vendor", "device", "class", "revision", "resource", "numa_node"]), st.binary(max_size=80)
    )
)
def test_nonsense_never_raises(files: dict[str, bytes]) -> None:
    for device in pci.gather(small_host({f"{GPU}/{name}": data for name, data in files.items()} | {f"{GPU}/x": ""})):
        assert len(device.vendor) == len(device.device) == 4


@given(st.text(max_size=300))
def test_any_resource_text(text: str) -> None:
    assert all(len(bar) == 3 for bar in pci.parse_resource(text))
    pci.parse_uevent(text)
