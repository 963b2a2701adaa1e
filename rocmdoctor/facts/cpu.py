"""The processor, from the first entry of /proc/cpuinfo (proc_cpuinfo(5); flags: Linux arch/x86/include/asm/cpufeatures.h)."""

from typing import NamedTuple

from rocmdoctor.host import Host, UnknownFact

_FIRST_PROCESSORS = 32 << 10
"""Bytes to read: the first processor is enough, and the kernel writes the file processor by processor."""


class Cpu(NamedTuple):
    """None where the file says nothing. `hypervisor`: the flag that a hypervisor sets (x86 only, else None)."""

    vendor: str | None
    model: str | None
    hypervisor: bool | None


def parse(text: str) -> Cpu:
    """The first processor of a /proc/cpuinfo text."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
        elif fields:
            break
    flags = fields.get("flags")
    return Cpu(
        vendor=fields.get("vendor_id") or None,
        model=fields.get("model name") or None,
        hypervisor=None if flags is None else "hypervisor" in flags.split(),
    )


def gather(host: Host) -> Cpu:
    """The first processor; nothing known where /proc/cpuinfo cannot be read."""
    try:
        return parse(host.read("/proc/cpuinfo", _FIRST_PROCESSORS) or "")
    except UnknownFact:
        return Cpu(None, None, None)
