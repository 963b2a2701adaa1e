"""Release flavours and the kernel command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import kernel
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host


@pytest.mark.parametrize(
    ("release", "flavour"),
    [
        ("6.8.0-45-generic", "generic"),
        ("4.19.0-041900-generic", "generic"),
        ("6.6.10-76060610-generic", "generic"),
        ("6.8.0-1018-generic-64k", "generic-64k"),
        ("6.17.0-1012-oem", "oem"),
        ("5.4.0-1061-aws", "aws"),
        ("6.8.0-1018-azure", "azure"),
        ("6.5.0-27-lowlatency", "lowlatency"),
        ("6.1.0-28-cloud-amd64", "cloud-amd64"),
        ("6.12.73+deb13-amd64", "amd64"),
        ("6.12.9-amd64", "amd64"),
        ("5.14.21-150500.55.59-default", "default"),
        ("5.14.21-150400.24.46_12.0.83-cray_shasta_c", "cray_shasta_c"),
        ("5.14.0-427.13.1.el9_4.x86_64", "el9_4"),
        ("4.18.0-305.el8.x86_64", "el8"),
        ("5.14.0-427.el9.x86_64+debug", "el9"),
        ("5.15.0-200.131.27.el9uek.x86_64", "uek"),
        ("6.15.10-200.fc42.x86_64", "fc42"),
        ("6.12.0-0.rc3.20241014git1234abcd.30.fc42.x86_64", "fc42"),
        ("6.1.112-122.189.amzn2023.x86_64", "amzn2023"),
        ("6.2.11-arch1-1", "arch"),
        ("6.12.1-zen1-1-zen", "zen"),
        ("6.6.63-1-lts", "lts"),
        ("6.17.9-2-cachyos", "cachyos"),
        ("6.14.11-2-pve", "pve"),
        ("6.12.54-linuxkit", "linuxkit"),
        ("6.6.87.2-microsoft-standard-WSL2", "microsoft-standard-WSL2"),
        ("4.16.3+", None),
        ("6.12.0", None),
        ("6.12.0-rc3", None),
        ("", None),
    ],
)
def test_flavour(release: str, flavour: str | None) -> None:
    assert kernel.gather(small_host(release=release)).flavour == flavour


def test_kernel() -> None:
    found = kernel.gather(small_host(release="5.15.167.4-microsoft-standard-WSL2"))
    assert found.machine == "x86_64" and found.build == "#1 SMP" and found.is_wsl


def cmdline(text: str) -> kernel.Cmdline:
    return kernel.gather_cmdline(small_host({"/proc/cmdline": text}))


def test_parameters() -> None:
    found = cmdline(
        'BOOT_IMAGE=/boot/vmlinuz ro quiet dyndbg="file drm* +p" "a b=c d" iommu=pt iommu=soft x= -- init_arg amdgpu.modeset=0\n'
    )
    assert found.params == (
        ("BOOT_IMAGE", "/boot/vmlinuz"),
        ("ro", None),
        ("quiet", None),
        ("dyndbg", "file drm* +p"),
        ("a b", "c d"),
        ("iommu", "pt"),
        ("iommu", "soft"),
        ("x", ""),
    )
    assert found.get("iommu") == "soft" and found.all("iommu") == ("pt", "soft")
    assert found.has("ro") and found.get("ro") is None and not found.has("amdgpu.modeset")
    assert found.get("x") == "" and found.get("absent") is None


def test_dash_and_underscore_are_equal() -> None:
    found = cmdline("amdgpu.gpu-recovery=1 module_blacklist=amdgpu,nouveau")
    assert found.get("amdgpu.gpu_recovery") == "1" and found.has("module-blacklist")


@pytest.mark.parametrize(
    ("text", "blacklist"),
    [
        ("quiet", ()),
        ("modprobe.blacklist=amdgpu", ("amdgpu",)),
        ("modprobe.blacklist=nouveau,amd-sched module_blacklist=amdgpu,,nouveau", ("nouveau", "amd_sched", "amdgpu")),
        ("rd.driver.blacklist=amdgpu", ()),
    ],
)
def test_blacklist(text: str, blacklist: tuple[str, ...]) -> None:
    assert cmdline(text).blacklist == blacklist


def test_missing_and_unknown() -> None:
    assert kernel.gather_cmdline(small_host()).params == ()
    with pytest.raises(UnknownFact):
        kernel.gather_cmdline(small_host(unknown=["/proc/cmdline"]))


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    found = kernel.parse_cmdline(text)
    assert all(found.has(name) for name, _ in found.params)
    assert isinstance(found.blacklist, tuple)
    kernel.Kernel(text, "x86_64", "").flavour  # noqa: B018


def test_an_endless_quote_is_read_in_linear_time() -> None:
    assert len(kernel.parse_cmdline('"' + "a " * 30000).params) == 1
    assert kernel.Kernel("-" * 100_000, "", "").flavour is None
