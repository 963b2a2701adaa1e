"""lspci text in each of its forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import lspci

VENDOR = "Advanced Micro Devices, Inc. [AMD/ATI]"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (f"03:00.0 VGA compatible controller: {VENDOR} Navi 31 [Radeon RX 7900 XT/7900 XTX] (rev c8)\n", (None, None)),
        (f"03:00.0 VGA compatible controller [0300]: {VENDOR} Navi 31 [Radeon RX 7900] [1002:744c] (rev c8)\n", ("1002", "744c")),
        (
            f"03:00.0 Display controller [0380]: {VENDOR} Aldebaran/MI200 [Instinct MI210] [1002:740f] (rev 02)\n",
            ("1002", "740f"),
        ),
        (f"03:00.0 Processing accelerators [1200]: {VENDOR} Aqua Vanjaram [Instinct MI300X] [1002:74a1]\n", ("1002", "74a1")),
        (
            f"03:00.0 VGA compatible controller [0300]: {VENDOR} Raven [1002:15d8] (rev c1) (prog-if 00 [VGA controller])\n",
            ("1002", "15d8"),
        ),
        ("03:00.0 0300: 1002:744c (rev c8)\n", ("1002", "744c")),
        ("03:00.0 VGA compatible controller: ATI Technologies Inc RV370 [Radeon X300]\n", (None, None)),
        ("Slot:\t0000:03:00.0\nClass:\t0380\nVendor:\t1002\nDevice:\t740f\nDriver:\tamdgpu\n", ("1002", "740f")),
        (
            f"Slot:\t03:00.0\nClass:\tDisplay controller [0380]\nVendor:\t{VENDOR} [1002]\nDevice:\tMI210 [740f]\n\n",
            ("1002", "740f"),
        ),
        (f"Slot:\t03:00.0\nClass:\tDisplay controller\nVendor:\t{VENDOR}\nDevice:\tMI210\n\n", (None, None)),
        (f"           +-1d.0-[03]----00.0  {VENDOR} Navi 31 [Radeon RX 7900 XTX]\n", (None, None)),
    ],
)
def test_an_amd_gpu(text: str, ids: tuple[str | None, str | None]) -> None:
    (gpu,) = lspci.amd_gpus(text)
    assert (gpu.vendor_id, gpu.device_id) == ids


@pytest.mark.parametrize(
    "text",
    [
        "00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics 620 [8086:3ea0]\n",
        "01:00.0 3D controller: NVIDIA Corporation GA102GL [A10] (rev a1)\n",
        f"03:00.1 Audio device [0403]: {VENDOR} Navi 31 HDMI/DP Audio [1002:ab30]\n",
        f"02:00.0 PCI bridge: {VENDOR} Navi 10 XL Downstream Port of PCI Express Switch\n",
        "00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Family 17h (Models 00h-0fh) Root Complex\n",
        f"           |                 \\-00.1  {VENDOR} Navi 31 HDMI/DP Audio\n",
        f"-[0000:00]-+-00.0  {VENDOR} Navi 10 XL Upstream Port of PCI Express Switch\n",
        "Slot:\t01:00.0\nClass:\t0300\nVendor:\t10de\nDevice:\t1b06\n\n",
        "$ lspci | grep -i vga\nnothing here: at all\n",
        "03:00.0\n03:00.0 no colon follows\n",
        "",
    ],
)
def test_no_amd_gpu(text: str) -> None:
    assert lspci.amd_gpus(text) == ()


def test_driver_in_use() -> None:
    text = (
        "$ lspci -nnk\n"
        f"85:00.0 Processing accelerators [1200]: {VENDOR} MI300X [1002:74a1]\n"
        f"\tSubsystem: {VENDOR} MI300X [1002:74a1]\n\tKernel driver in use: gim # PF\n\tKernel modules: amdgpu\n"
        f"85:02.0 Processing accelerators [1200]: {VENDOR} MI300X VF [1002:74b5]\n"
        "        Kernel driver in use: vfio-pci\n"
        f"86:00.0 Processing accelerators [1200]: {VENDOR} MI300X [1002:74a1]\n"
        "\tKernel modules: amdgpu\n\tKernel driver in use:\n"
    )
    assert [(d.slot, d.device_id, d.driver) for d in lspci.parse(text)] == [
        ("85:00.0", "74a1", "gim"),
        ("85:02.0", "74b5", "vfio-pci"),
        ("86:00.0", "74a1", None),
    ]


@given(st.text(max_size=300) | st.text(alphabet="0123456789abcdef:. []\nSlot\t+-\\", max_size=300))
def test_any_text(text: str) -> None:
    assert len(lspci.amd_gpus(text)) <= len(lspci.parse(text))
