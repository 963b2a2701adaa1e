"""UEFI Secure Boot (the SecureBoot efivar; mokutil only where it cannot be read).

Sources: UEFI specification 3.3 (SecureBoot, vendor 8be4df61-...), Linux drivers/firmware/efi/libstub/secureboot.c
(MokSBStateRT of shim: validation switched off counts as no Secure Boot), Documentation/filesystems/efivarfs.rst (four bytes of
attributes come first), mokutil(1), dkms(8) (mok_certificate).
"""

from typing import NamedTuple

from rocmdoctor.host import Host, UnknownFact

EFIVARS = "/sys/firmware/efi/efivars"
SECURE_BOOT = f"{EFIVARS}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SHIM_STATE = f"{EFIVARS}/MokSBStateRT-605dab50-e046-4300-abb6-3dd810dd8b23"

MOK_KEYS = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub")
"""Certificates DKMS signs with: Ubuntu's, and dkms 3's own."""


class SecureBoot(NamedTuple):
    """`enabled` False also for a machine without UEFI. `source`: where that was read. `mok_enrolled`: whether DKMS's key
    `mok_key` (mokutil --test-key) is enrolled, None if not asked or not told. `mok_pending`: an import waits for the next boot's
    MOK manager."""

    enabled: bool
    source: str
    mok_enrolled: bool | None = None
    mok_key: str | None = None
    mok_pending: bool = False


def gather(host: Host) -> SecureBoot:
    """Raises UnknownFact where neither the efivar nor mokutil tells (a container whose /sys/firmware is masked)."""
    enabled, source = _state(host)
    if not enabled:
        return SecureBoot(False, source)
    if _variable(host, SHIM_STATE) == 1:
        return SecureBoot(False, SHIM_STATE)
    key = next((k for k in MOK_KEYS if _exists(host, k)), None)
    if key is None:
        return SecureBoot(True, source)
    enrolled, pending = _test_key(host, key)
    return SecureBoot(True, source, enrolled, key, pending)


def parse_sb_state(text: str) -> bool | None:
    """What `mokutil --sb-state` says, None when it does not say."""
    lower = text.lower()
    if "doesn't support secure boot" in lower or "efi variables are not supported" in lower:
        return False
    if "secureboot disabled" in lower or "validation is disabled in shim" in lower:
        return False
    return True if "secureboot enabled" in lower else None


def parse_test_key(text: str) -> tuple[bool | None, bool]:
    """(enrolled, pending) of `mokutil --test-key`: "KEY is already enrolled", "... is not enrolled", "... already in the
    enrollment request"."""
    lower = text.lower()
    if "enrollment request" in lower or "enrolment request" in lower:
        return False, True
    if "is not enrolled" in lower:
        return False, False
    return (True, False) if "already enrolled" in lower or "is enrolled" in lower else (None, False)


def _state(host: Host) -> tuple[bool, str]:
    value = _variable(host, SECURE_BOOT)
    if value is not None:
        return value == 1, SECURE_BOOT
    if host.node("/sys/firmware/efi") is None and (host.node("/sys/firmware") is None or host.names("/sys/firmware")):
        return False, "/sys/firmware/efi is absent: not booted by UEFI"
    try:
        variables = host.names(EFIVARS)
    except UnknownFact:
        variables = ()
    if variables and not any(name.startswith("SecureBoot-") for name in variables):
        return False, f"{EFIVARS} has no SecureBoot variable"
    command = host.run(("mokutil", "--sb-state"), timeout=5.0)
    said = parse_sb_state(command.stdout + command.stderr) if command.found and not command.timed_out else None
    if said is None:
        raise UnknownFact("the SecureBoot variable cannot be read here and mokutil does not tell")
    return said, "mokutil --sb-state"


def _variable(host: Host, path: str) -> int | None:
    """The one byte of a boolean efivar; None when it is absent or cannot be read."""
    try:
        data = host.read_bytes(path, 64)
    except UnknownFact:
        return None
    return data[4] if data and len(data) >= 5 else None


def _exists(host: Host, path: str) -> bool:
    try:
        return host.node(path) is not None
    except UnknownFact:
        return False


def _test_key(host: Host, key: str) -> tuple[bool | None, bool]:
    try:
        command = host.run(("mokutil", "--test-key", key), timeout=5.0)
    except UnknownFact:
        return None, False
    return parse_test_key(command.stdout + command.stderr) if command.found and not command.timed_out else (None, False)
