"""The same finding has the same fingerprint on every host of a kind; another finding has another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.fingerprint import LENGTH, fingerprint, general_title
from rocmdoctor.results import Result, Status


def found(title: str, id: str = "a.b") -> Result:
    return Result(id, "a", Status.FAIL, title)


@pytest.mark.parametrize(
    ("title", "general"),
    [
        ("ann cannot open /dev/kfd", "<user> cannot open /dev/kfd"),
        ("DOM\\user.name@site cannot open /dev/dri/renderD129", "<user> cannot open /dev/dri/renderD<n>"),
        (
            "ann is in the group render, but this session has not got it yet",
            "<user> is in the group render, but this session has not got it yet",
        ),
        ("The GPU at 0000:c3:00.0 has fallen off the PCI bus", "The GPU at <pci> has fallen off the PCI bus"),
        ("KFD has no node for the card at 03:00.1", "KFD has no node for the card at <pci>"),
        ("/boot is full: 12 MiB of 512 MiB are free", "/boot is full: <n> MiB of <n> MiB are free"),
        ("ROCm sees 15.5 GiB of the 96 GiB", "ROCm sees <n> GiB of the <n> GiB"),
        ("8 AMD GPUs share an IOMMU; and 3 more", "<n> AMD GPUs share an IOMMU; and <n> more"),
        ("PyTorch in /home/ann/venv is the CPU build (2.5.1+cpu)", "PyTorch in ~/venv is the CPU build (2.5.1+cpu)"),
        ("PyTorch in /root/venv is the CPU build", "PyTorch in ~/venv is the CPU build"),
    ],
)
def test_what_differs_between_hosts_is_left_out(title: str, general: str) -> None:
    assert general_title(title) == general
    assert general_title(general) == general


@pytest.mark.parametrize(
    "title",
    [
        "The Radeon RX 7900 XTX (gfx1100) is not on AMD's list for ROCm 6.2.4",
        "The kernel 6.8.0-45-generic is not on AMD's list for ROCm 6.2 on ubuntu 22.04",
        "torch 2.5.1+rocm6.2 has no code for the Radeon 780M (gfx1103)",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 is not needed",
        "ROCm packages of 2 releases are mixed: 6.2.0, 6.2.4",
        "libamdhip64.so.6 of /opt/rocm-6.2.0/lib is not found",
    ],
)
def test_what_is_wrong_stays(title: str) -> None:
    assert general_title(title) == title


def test_id_and_title_both_count() -> None:
    prints = {fingerprint(found("x")), fingerprint(found("y")), fingerprint(found("x", "a.c"))}
    assert len(prints) == 3
    assert fingerprint(found("ROCm 6.2 y")) != fingerprint(found("ROCm 6.3 y"))


def test_fingerprints_never_change() -> None:
    """Baselines that people wrote hold them."""
    assert fingerprint(found("ann cannot open /dev/kfd", "permissions.kfd-access")) == "2ef41cdd1002b248"


@given(st.text(st.characters()) | st.sampled_from(["0" * 50_000, "a:" * 20_000, "/home/" * 10_000, "x" * 100_000]))
def test_every_title_has_one(title: str) -> None:
    print_ = fingerprint(found(title))
    assert len(print_) == LENGTH and set(print_) <= set("0123456789abcdef")
