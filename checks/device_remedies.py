"""Remedies for a device that the driver's probe gave up: firmware, another kernel, AMD's packaged driver. Loaded when one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import fitting, remedies
from rocmdoctor.checks.binding import without_driver
from rocmdoctor.checks.remedies import initramfs, recheck, said
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Fix

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix


def firmware_package(facts: Facts, matrix: Matrix) -> tuple[str, bool]:
    """The package that ships amdgpu's firmware here, and whether a newer kernel belongs to the remedy (APUs with the inbox
    driver)."""
    apu = any(g.klass == "apu" for g in without_driver(facts))
    packages = known(lambda: facts.packages, None)
    if packages and packages.has("amdgpu-dkms"):
        return "amdgpu-dkms-firmware", False
    if packages and packages.has("rock-dkms"):
        return "rock-dkms-firmware", False
    return matrix.distribution_packages.firmware(facts.os.ids), apu


def newer_kernel(facts: Facts, matrix: Matrix, first: str) -> Fix:
    os = facts.os
    last = matrix.faults.last_hwe_kernel(os.version_id or "") if os.id == "ubuntu" else None
    if last and versions.key(last) < versions.key(first):
        return Fix(
            f"Upgrade to a newer Ubuntu LTS: the last HWE kernel of {os.version_id} is {last}, and the GPU needs Linux "
            f"{first} or newer",
            needs=("root", "network", "reboot"),
            verify=recheck("kernel.*", "amdgpu_module.*"),
        )
    if os.id == "ubuntu" and os.version_id:
        return Fix(
            f"Install the HWE kernel of Ubuntu {os.version_id} (Linux {first} or newer is needed)",
            remedies.install(facts, f"linux-generic-hwe-{os.version_id}"),
            needs=("root", "network", "reboot"),
            verify=recheck("kernel.*", "amdgpu_module.*"),
        )
    return Fix(
        f"Boot a kernel of at least Linux {first}",
        needs=("root", "network", "reboot"),
        verify=recheck("kernel.*", "amdgpu_module.*"),
    )


def oem_kernel(facts: Facts) -> Fix:
    lts = facts.os.version_id if facts.os.id == "ubuntu" else None
    return Fix(
        f"Or install Ubuntu's OEM kernel (linux-oem-{lts}), which AMD names for Ryzen APUs, with a current linux-firmware; not "
        "AMD's packaged driver, which is not meant for this APU"
        if lts
        else "AMD's packaged driver is no way round it: for this APU AMD wants the kernel's own driver, with a current "
        "linux-firmware",
        remedies.install(facts, f"linux-oem-{lts}", "linux-firmware") if lts else (),
        needs=("root", "network", "reboot"),
    )


def packaged_driver(facts: Facts, matrix: Matrix, gpu: Gpu) -> Fix | None:
    """AMD's packaged driver brings the GPU to an older kernel, where a release lists all of them; not for APUs (rules.md 10)."""
    base = fitting.base_of(facts, matrix)
    if gpu.klass == "apu" or base is None:
        return None
    family, release = gpu.family, facts.kernel.release
    for rocm in fitting.candidates(facts, matrix):
        if fitting.fits(facts, matrix, rocm, base) and matrix.kernel(rocm, base.id, base.version, release, family=family).ok:
            argvs = fitting.commands(facts, matrix, rocm, "--driver", "dkms")
            return Fix(
                f"Install AMD's packaged driver (amdgpu-dkms) with ROCm {rocm}, whose list names this kernel and GPU"
                + fitting.removed_first(argvs),
                argvs,
                needs=("root", "network", "reboot"),
                verify=recheck("kernel.*", "amdgpu_module.*"),
            )
    return None


def by_what_the_log_says(facts: Facts, matrix: Matrix) -> Iterator[Fix]:
    """Remedies for the usual reasons of a probe that failed, where the kernel log names one."""
    vm = facts.place.kind == "vm"
    if said(facts, r"unable to locate a bios rom|invalid pci rom|no vbios|vbios.*not found"):
        yield Fix(
            "The card's video BIOS could not be read: give the guest the card's ROM in the hypervisor (romfile=), and boot it by "
            "UEFI"
            if vm
            else "The card's video BIOS could not be read: make another card the primary one, or boot by UEFI without CSM"
        )
    elif said(facts, r"ip discovery binary|amdgpu_discovery_init failed"):
        # ROCm#3856, #4454, #5008: after a crash or another guest, or with board firmware that the driver is too old for
        yield Fix(
            "The driver cannot read the card's own description (IP discovery): "
            + (
                "have the host of this guest reset the GPU; if it stays so, its driver and this guest's do not go together"
                if vm
                else "switch the machine off completely once; if it stays so, the card's firmware (IFWI, VBIOS) and this driver "
                "do not go together: take the firmware that the vendor names for this ROCm release, or a newer driver"
            )
        )
    elif said(facts, r"amdgpu.*(psp|smu).*(fail|error|not respond)|firmware loading failed"):
        package, _ = firmware_package(facts, matrix)
        yield Fix(
            f"If the lines name PSP, SMU or firmware: update the firmware package ({package}), rebuild the initramfs"
            + (
                ", and power-cycle the host of this guest: some cards are not reset between guests"
                if vm
                else ", and switch the machine off completely once"
            ),
            (*remedies.install(facts, package), *((initramfs(facts),) if initramfs(facts) else ())),
            needs=("root", "network", "reboot"),
        )
