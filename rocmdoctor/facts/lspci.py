"""lspci text (pciutils, lspci(8)), for support engineers who have nothing else of a host.

Forms: plain, -nn, -n, -k, -nnk, -v, -vmm (with n, nn, k and D) and -tv.

No check runs lspci: a host's own PCI facts come from sysfs (`pci`). Names come from pci.ids and differ by its age, so the
class words and AMD's vendor names are those that pci.ids had over the years.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_LINES = 200_000
_MAX_LINE = 1024


class LspciDevice(NamedTuple):
    """One function as far as the text tells. `slot` as printed ("03:00.0" or "0000:03:00.0"; in tree views the part that the
    last branch shows). Ids are four lower-case hex digits; `class_id` is "0300". None is what the text does not tell."""

    slot: str
    class_name: str | None
    class_id: str | None
    vendor_id: str | None
    device_id: str | None
    name: str
    """Vendor and device in words, "" where only numbers are printed."""
    driver: str | None = None
    """Kernel driver in use."""

    @property
    def is_display(self) -> bool:
        """Display controllers of any kind and processing accelerators (rules.md 4)."""
        if self.class_id:
            return self.class_id.startswith("03") or self.class_id == "1200"
        if self.class_name:
            return self.class_name.lower().startswith(_DISPLAY_CLASSES)
        # A tree view has no classes: what of an AMD/ATI board is not one of its other functions is the GPU.
        return not _OTHER_FUNCTION.search(self.name)

    @property
    def is_amd_gpu(self) -> bool:
        if self.vendor_id:
            return self.vendor_id == "1002" and self.is_display
        return _AMD.search(self.name) is not None and self.is_display


_DISPLAY_CLASSES = (
    "vga compatible controller",
    "xga compatible controller",
    "3d controller",
    "display controller",
    "processing accelerators",
)
_AMD = re.compile(r"\[AMD/ATI\]|\bATI Technologies|\[AMD\] nee ATI")
_OTHER_FUNCTION = re.compile(
    r"audio|\bUSB\b|switch|bridge|(?:up|down)stream port|serial bus|SMBus|I2C|root complex", re.IGNORECASE
)

_SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_LINE = re.compile(rf"({_SLOT}) (.*)")
_NUMERIC = re.compile(rf"({_SLOT}) ([0-9a-f]{{4}}): ([0-9a-f]{{4}}):([0-9a-f]{{4}})\b")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\](?: \(rev [0-9a-f]{2}\))?(?: \(prog-if .*\))?\s*$")
_TREE = re.compile(r"(?:^|[-+\\])([0-9a-f]{2}\.[0-7])  (\S.*)$")


def parse(text: str) -> tuple[LspciDevice, ...]:
    """Functions in order; text around them (prompts, other commands) is passed over."""
    lines = [line[:_MAX_LINE] for line in text.splitlines()[:MAX_LINES]]
    if any(line.startswith("Slot:") for line in lines):
        return tuple(_machine_readable(lines))
    return tuple(_human_readable(lines))


def amd_gpus(text: str) -> tuple[LspciDevice, ...]:
    """The AMD GPUs that a text shows."""
    return tuple(d for d in parse(text) if d.is_amd_gpu)


def _human_readable(lines: Iterable[str]) -> Iterator[LspciDevice]:
    device: LspciDevice | None = None
    for line in lines:
        begun = _begin(line)
        if begun:
            if device:
                yield device
            device = begun
        elif device and "Kernel driver in use:" in line:
            words = line.partition("Kernel driver in use:")[2].split()
            device = device._replace(driver=words[0] if words else None)
    if device:
        yield device


def _begin(line: str) -> LspciDevice | None:
    numeric = _NUMERIC.match(line)
    if numeric:  # lspci -n
        slot, class_id, vendor, product = numeric.groups()
        return LspciDevice(slot, None, class_id, vendor, product, "")
    match = _LINE.match(line)
    if match:
        slot, rest = match.groups()
        head, colon, name = rest.partition(": ")
        if not colon:
            return None
        class_match = re.fullmatch(r"(.*?)(?: \[([0-9a-f]{4})\])?", head)
        ids = _IDS.search(name)
        return LspciDevice(
            slot=slot,
            class_name=class_match[1] if class_match else head,
            class_id=class_match[2] if class_match else None,
            vendor_id=ids[1] if ids else None,
            device_id=ids[2] if ids else None,
            name=name.strip(),
        )
    tree = _TREE.search(line)
    return LspciDevice(tree[1], None, None, None, None, tree[2].strip()) if tree else None


def _machine_readable(lines: Iterable[str]) -> Iterator[LspciDevice]:
    """-vmm: blocks of "Key:<tab>value"; with -n the values are numbers, with -nn words and "[number]"."""
    block: dict[str, str] = {}
    for line in [*lines, ""]:
        if line.strip():
            key, colon, value = line.partition(":")
            if colon:
                block.setdefault(key, value.strip())
            continue
        if "Slot" in block:
            class_name, class_id = _word_and_id(block.get("Class", ""))
            vendor, vendor_id = _word_and_id(block.get("Vendor", ""))
            product, device_id = _word_and_id(block.get("Device", ""))
            name = " ".join(w for w in (vendor, product) if w)
            driver = block.get("Driver") or None
            yield LspciDevice(block["Slot"], class_name or None, class_id, vendor_id, device_id, name, driver)
        block = {}


def _word_and_id(value: str) -> tuple[str, str | None]:
    """Words and number of "Display controller [0380]", the number alone of "0380"; words alone have no number."""
    if re.fullmatch(r"[0-9a-f]{4}", value):
        return "", value
    match = re.fullmatch(r"(.*) \[([0-9a-f]{4})\]", value)
    return (match[1], match[2]) if match else (value, None)
