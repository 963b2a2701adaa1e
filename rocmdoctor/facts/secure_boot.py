"""UEFI Secure Boot (the SecureBoot efivar; mokutil only where it cannot be read)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class SecureBoot:
    """`enabled` False also for a machine without UEFI. `mok_enrolled`: whether DKMS's key (mokutil --test-key) is enrolled, None if not asked or not told."""

    enabled: bool
    source: str
    mok_enrolled: bool | None = None


def gather(host: Host) -> SecureBoot:
    raise NotImplementedError
