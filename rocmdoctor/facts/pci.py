"""PCI devices from /sys/bus/pci/devices (Linux Documentation/ABI/testing/sysfs-bus-pci, drivers/pci/pci-sysfs.c).

`uevent` of a function holds class, ids and driver in one read; servers have hundreds of functions, so the other files
are read for AMD GPUs only (mem_info_*: drivers/gpu/drm/amd/amdgpu/amdgpu_vram_mgr.c, amdgpu_gtt_mgr.c).
"""

import re
from functools import lru_cache
from typing import NamedTuple

from rocmdoctor.facts.sysfs import attribute, hexadecimal, number
from rocmdoctor.host import Host, UnknownFact

DEVICES = "/sys/bus/pci/devices"

MAX_DEVICES = 8192
"""The biggest servers have some hundred functions, with SR-IOV a few thousand."""

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_WIDTH_UNKNOWN = 255
"""PCIE_LNK_WIDTH_UNKNOWN, which sysfs prints as a number."""


class PciLink(NamedTuple):
    """Negotiated and possible PCIe link; speeds in GT/s, widths in lanes; None where sysfs has no number."""

    speed: float | None
    width: int | None
    max_speed: float | None
    max_width: int | None


class PciDevice(NamedTuple):
    """One function. `vendor` and `device` are four lower-case hex digits; `class_code` is 0x030000 style."""

    address: str
    vendor: str
    device: str
    class_code: int
    revision: str
    """Two lower-case hex digits, "c8"; "" where it was not read (what is not an AMD GPU)."""
    subsystem: str | None
    """"1da2:471e"."""
    driver: str | None
    """Name behind the `driver` link (or DRIVER= of uevent), None when no driver is bound."""
    numa_node: int | None
    """None without affinity (-1 in sysfs)."""
    link: PciLink
    bars: tuple[tuple[int, int, int], ...]
    """(start, end, flags) of each line of `resource`; an unassigned one is (0, 0, 0)."""
    vram_total: int | None
    gtt_total: int | None
    """mem_info_vram_total and mem_info_gtt_total of amdgpu, in bytes."""
    is_vf: bool
    """A link `physfn` exists: an SR-IOV virtual function as its host sees it."""

    @property
    def is_display(self) -> bool:
        """Class group display (VGA 0x0300, 3D 0x0302, other 0x0380) or processing accelerator 0x1200 (rules.md 4)."""
        return self.class_code >> 16 == 0x03 or self.class_code >> 8 == 0x1200

    @property
    def is_amd_gpu(self) -> bool:
        return self.vendor == "1002" and self.is_display


_NO_LINK = PciLink(None, None, None, None)


def gather(host: Host) -> tuple[PciDevice, ...]:
    """Every PCI function of the host, by address. Raises UnknownFact where /sys cannot be read."""
    devices = []
    for name in host.names(DEVICES)[:MAX_DEVICES]:
        if _ADDRESS.fullmatch(name):
            device = _device(host, name)
            if device:
                devices.append(device)
    return tuple(sorted(devices, key=lambda d: (len(d.address), d.address)))


def parse_uevent(text: str) -> dict[str, str]:
    """KEY=value lines of a uevent file."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip("\0 ").partition("=")
        if equals:
            found[key] = value
    return found


def _device(host: Host, address: str) -> PciDevice | None:
    folder = f"{DEVICES}/{address}"
    uevent = parse_uevent(_known(host, f"{folder}/uevent") or "")
    ids = _pair(uevent.get("PCI_ID"))
    class_code = hexadecimal(uevent.get("PCI_CLASS"))
    if ids and class_code is not None:
        vendor, device = ids
        driver = uevent.get("DRIVER") or None
    else:
        vendor = _digits(attribute(host, f"{folder}/vendor"))
        device = _digits(attribute(host, f"{folder}/device"))
        class_code = hexadecimal(attribute(host, f"{folder}/class")) or 0
        driver = _driver(host, folder) or uevent.get("DRIVER") or None
    if not vendor or not device:
        return None
    plain = PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=class_code,
        revision="",
        subsystem=None,
        driver=driver,
        numa_node=None,
        link=_NO_LINK,
        bars=(),
        vram_total=None,
        gtt_total=None,
        is_vf=False,
    )
    return _gpu(host, folder, plain, uevent) if plain.is_amd_gpu else plain


def _gpu(host: Host, folder: str, plain: PciDevice, uevent: dict[str, str]) -> PciDevice:
    """The same function with everything that is only read for AMD GPUs; a file that cannot be read leaves its field empty."""
    subsystem = _pair(uevent.get("PCI_SUBSYS_ID")) or (
        _digits(_known(host, f"{folder}/subsystem_vendor")),
        _digits(_known(host, f"{folder}/subsystem_device")),
    )
    revision = hexadecimal(_known(host, f"{folder}/revision"))
    return PciDevice(
        address=plain.address,
        vendor=plain.vendor,
        device=plain.device,
        class_code=plain.class_code,
        revision="" if revision is None else f"{revision & 0xFF:02x}",
        subsystem=":".join(subsystem) if all(subsystem) else None,
        # The link is what the kernel acts on; a recorded uevent may lack DRIVER= or be older than it.
        driver=_driver(host, folder) or plain.driver,
        numa_node=number(_known(host, f"{folder}/numa_node")),
        link=PciLink(
            _speed(_known(host, f"{folder}/current_link_speed")),
            _width(_known(host, f"{folder}/current_link_width")),
            _speed(_known(host, f"{folder}/max_link_speed")),
            _width(_known(host, f"{folder}/max_link_width")),
        ),
        bars=parse_resource(_known(host, f"{folder}/resource") or ""),
        vram_total=number(_known(host, f"{folder}/mem_info_vram_total")),
        gtt_total=number(_known(host, f"{folder}/mem_info_gtt_total")),
        is_vf=_exists(host, f"{folder}/physfn"),
    )


@lru_cache(maxsize=256)  # at most a page each; like machines have them in common
def parse_resource(text: str) -> tuple[tuple[int, int, int], ...]:
    """`resource`: a line "0xSTART 0xEND 0xFLAGS" for each of six BARs, the ROM, SR-IOV BARs and bridge windows."""
    bars = []
    for line in text.splitlines()[:32]:
        words = line.split()
        values = [hexadecimal(w) for w in words]
        if len(values) == 3 and None not in values:
            start, end, flags = (v or 0 for v in values)
            bars.append((start, end, flags))
    return tuple(bars)


def _driver(host: Host, folder: str) -> str | None:
    try:
        node = host.node(f"{folder}/driver", follow=False)
    except UnknownFact:
        return None
    return (node.target or "").rstrip("/").rpartition("/")[2] or None if node else None


def _exists(host: Host, path: str) -> bool:
    try:
        return host.node(path, follow=False) is not None
    except UnknownFact:
        return False


def _known(host: Host, path: str) -> str | None:
    try:
        return attribute(host, path)
    except UnknownFact:
        return None


def _digits(text: str | None) -> str:
    value = hexadecimal(text)
    return "" if value is None or value > 0xFFFF else f"{value:04x}"


def _pair(text: str | None) -> tuple[str, str] | None:
    """The ids of uevent, "1002:744C", as ("1002", "744c")."""
    vendor, _, device = (text or "").partition(":")
    pair = (_digits(vendor), _digits(device))
    return pair if all(pair) else None


def _speed(text: str | None) -> float | None:
    """GT/s of "16.0 GT/s PCIe" or "5 GT/s"; None for "Unknown"."""
    match = re.match(r"(\d{1,3}(?:\.\d{1,3})?) GT/s", text or "")
    return float(match[1]) if match else None


def _width(text: str | None) -> int | None:
    value = number(text)
    return value if value and value != _WIDTH_UNKNOWN else None
