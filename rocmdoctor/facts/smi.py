"""amd-smi and rocm-smi: the management tools' view. They read sysfs: that they work proves nothing of compute access (rules.md 23)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Smi:
    """One tool's answer. `error_text`: its telling last lines when it failed. `count`: GPUs listed, None when not told."""

    tool: str
    found: bool
    program: str | None
    ok: bool
    count: int | None
    driver_version: str | None
    error_text: str


def gather_amd_smi(host: Host) -> Smi:
    raise NotImplementedError


def gather_rocm_smi(host: Host) -> Smi:
    raise NotImplementedError
