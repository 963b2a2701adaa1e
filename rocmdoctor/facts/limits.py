"""Limits and memory: /proc/self/limits, /proc/meminfo, /dev/shm, NUMA balancing, TTM pages (all sizes in bytes).

Sources: proc_pid_limits(5), proc_meminfo(5), tmpfs(5), Linux Documentation/admin-guide/sysctl/kernel.rst (numa_balancing) and
drivers/gpu/drm/ttm/ttm_tt.c (pages_limit). All of it is advice (rules.md 47, 48): what cannot be read is None here.
"""

import re
from typing import NamedTuple

from rocmdoctor.facts import cpu, known
from rocmdoctor.facts.sysfs import number
from rocmdoctor.host import Host, UnknownFact

UNLIMITED = -1


class Limits(NamedTuple):
    """None where the file is absent, unreadable or says nothing. `memlock` (bytes) and `nofile` are soft limits, -1 is
    unlimited. `ttm_pages_limit` in 4 KiB pages. `numa_nodes` is 0 where sysfs does not tell."""

    memlock: int | None
    nofile: int | None
    shm_bytes: int | None
    mem_total: int | None
    numa_balancing: int | None
    numa_nodes: int
    ttm_module: str | None
    """"ttm" (inbox) or "amdttm" (DKMS), the one whose parameters exist (rules.md 48)."""
    ttm_pages_limit: int | None
    cpu_model: str | None
    cpu_vendor: str | None
    hypervisor: bool
    """The hypervisor flag of /proc/cpuinfo."""


def gather(host: Host) -> Limits:
    """Everything above; never raises, because each value stands alone."""
    limits = _text(host, "/proc/self/limits")
    processor = cpu.gather(host)
    module, pages = _ttm(host)
    return Limits(
        memlock=parse_limit(limits, "Max locked memory"),
        nofile=parse_limit(limits, "Max open files"),
        shm_bytes=_shm(host),
        mem_total=parse_mem_total(_text(host, "/proc/meminfo")),
        numa_balancing=number(_text(host, "/proc/sys/kernel/numa_balancing")),
        numa_nodes=sum(1 for n in _names(host, "/sys/devices/system/node") if re.fullmatch(r"node[0-9]{1,5}", n)),
        ttm_module=module,
        ttm_pages_limit=pages,
        cpu_model=processor.model,
        cpu_vendor=processor.vendor,
        hypervisor=bool(processor.hypervisor),
    )


def parse_limit(text: str, name: str) -> int | None:
    """The soft limit of a row of /proc/PID/limits, -1 for "unlimited", None when the row is missing."""
    for line in text.splitlines():
        if line.startswith(name):
            words = line[len(name) :].split()
            if words:
                return UNLIMITED if words[0] == "unlimited" else number(words[0])
    return None


def parse_mem_total(text: str) -> int | None:
    """MemTotal of /proc/meminfo (given there in units of 1024 bytes) in bytes."""
    for line in text.splitlines()[:8]:
        if line.startswith("MemTotal:"):
            words = line.split()
            value = number(words[1]) if len(words) > 1 else None
            return None if value is None else value * 1024
    return None


def _shm(host: Host) -> int | None:
    """Size of the tmpfs at /dev/shm; a folder that is no mount of its own has no size."""
    filesystem = known(lambda: host.filesystem("/dev/shm"), None)
    if filesystem:
        return filesystem.size
    node = known(lambda: host.node("/dev/shm"), None)
    return node.size if node and node.type == "dir" and node.size else None


def _ttm(host: Host) -> tuple[str | None, int | None]:
    # amdttm first: where DKMS's TTM is loaded, the kernel's own may be loaded for another driver.
    for module in ("amdttm", "ttm"):
        pages = _text(host, f"/sys/module/{module}/parameters/pages_limit")
        if pages:
            return module, number(pages)
    return None, None


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path, 64 << 10) or ""
    except UnknownFact:
        return ""


def _names(host: Host, path: str) -> tuple[str, ...]:
    try:
        return host.names(path)
    except UnknownFact:
        return ()
