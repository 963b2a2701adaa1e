"""Secure Boot: the efivar first, mokutil second, unknown third."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import secure_boot
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

ON = bytes([6, 0, 0, 0, 1])
OFF = bytes([6, 0, 0, 0, 0])
EFI = {"/sys/firmware/efi/fw_platform_size": b"64\n"}
OTHER = {f"{secure_boot.EFIVARS}/BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c": b"\7\0\0\0\1\0"}


def test_on_and_off() -> None:
    on = secure_boot.gather(small_host(EFI | {secure_boot.SECURE_BOOT: ON}))
    assert on.enabled and on.source == secure_boot.SECURE_BOOT and on.mok_enrolled is None
    assert not secure_boot.gather(small_host(EFI | {secure_boot.SECURE_BOOT: OFF})).enabled


def test_shim_may_switch_validation_off() -> None:
    found = secure_boot.gather(small_host(EFI | {secure_boot.SECURE_BOOT: ON, secure_boot.SHIM_STATE: ON}))
    assert not found.enabled and found.source == secure_boot.SHIM_STATE


def test_no_uefi_and_no_variable() -> None:
    assert not secure_boot.gather(small_host()).enabled
    assert not secure_boot.gather(small_host({"/sys/firmware/dmi/tables/DMI": b""})).enabled
    found = secure_boot.gather(small_host(EFI | OTHER))
    assert not found.enabled and "no SecureBoot variable" in found.source


@pytest.mark.parametrize(
    ("stdout", "enabled"),
    [
        ("SecureBoot enabled\n", True),
        ("SecureBoot disabled\n", False),
        ("SecureBoot enabled\nSecureBoot validation is disabled in shim\n", False),
        ("This system doesn't support Secure Boot\n", False),
        ("EFI variables are not supported on this system\n", False),
    ],
)
def test_mokutil_where_the_variable_cannot_be_read(stdout: str, enabled: bool) -> None:
    host = small_host(EFI, commands=[command("mokutil", "--sb-state", stdout=stdout)], unknown=["/sys/firmware/efi/efivars/**"])
    assert secure_boot.gather(host).enabled is enabled


@pytest.mark.parametrize(
    "commands", [[], [command("mokutil", "--sb-state", stdout="?")], [command("mokutil", "--sb-state", timed_out=True, rc=124)]]
)
def test_a_masked_folder_is_unknown(commands: list[dict[str, object]]) -> None:
    with pytest.raises(UnknownFact):
        secure_boot.gather(small_host(nodes={secure_boot.EFIVARS: {"type": "dir"}}, commands=commands))
    with pytest.raises(UnknownFact):
        secure_boot.gather(small_host(nodes={"/sys/firmware": {"type": "dir"}}, commands=commands))


@pytest.mark.parametrize(
    ("stdout", "enrolled", "pending"),
    [
        ("{} is already enrolled\n", True, False),
        ("{} is not enrolled\n", False, False),
        ("{} is already in the enrollment request\n", False, True),
        ("", None, False),
    ],
)
@pytest.mark.parametrize("key", secure_boot.MOK_KEYS)
def test_the_key_of_dkms(key: str, stdout: str, enrolled: bool | None, pending: bool) -> None:
    files = EFI | {secure_boot.SECURE_BOOT: ON, key: b""}
    host = small_host(files, commands=[command("mokutil", "--test-key", key, stdout=stdout.format(key))])
    found = secure_boot.gather(host)
    assert (found.mok_key, found.mok_enrolled, found.mok_pending) == (key, enrolled, pending)


def test_a_key_nobody_could_ask_about() -> None:
    files = EFI | {secure_boot.SECURE_BOOT: ON, secure_boot.MOK_KEYS[0]: b""}
    assert secure_boot.gather(small_host(files)).mok_enrolled is None
    assert secure_boot.gather(small_host(files, unknown=["cmd:mokutil"])).mok_enrolled is None


@given(st.binary(max_size=16), st.text(max_size=100))
def test_nonsense(data: bytes, text: str) -> None:
    secure_boot.parse_sb_state(text)
    secure_boot.parse_test_key(text)
    try:
        found = secure_boot.gather(small_host(EFI | {secure_boot.SECURE_BOOT: data}))
    except UnknownFact:
        assert len(data) < 5
    else:
        assert found.enabled == (len(data) >= 5 and data[4] == 1)
