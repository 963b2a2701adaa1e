"""Limits and memory: /proc/self/limits, /proc/meminfo, /dev/shm, NUMA balancing, TTM pages (all sizes in bytes)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Limits:
    """None where the file is absent or says nothing. memlock -1 is unlimited. `ttm_pages_limit` in 4 KiB pages."""

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
    raise NotImplementedError
