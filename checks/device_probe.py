"""The driver's probe of the device: firmware, memory windows, a kernel that knows the GPU; then the symptom, and atomics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import GIVEN_AWAY, ON_A_KERNEL, without_driver
from rocmdoctor.checks.remedies import initramfs, log_evidence, recheck, said
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix


@check("firmware.loaded", title="The GPU's firmware was found", after=["amdgpu_module.loaded"], places=ON_A_KERNEL)
def firmware_loaded(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A firmware file that is missing is fatal when the initialisation failed; "failed to load optional firmware" on a GPU that
    works is noise (rules.md 16). So this is judged only for GPUs that have no driver bound."""
    broken = without_driver(facts)
    if not broken:
        return
    lines = log_evidence(
        facts,
        r"firmware load for amdgpu/\S+ failed|failed to load \S* ?firmware|Failed to load gpu_info firmware|load .*\.bin",
        6,
    )
    if not lines or not said(
        facts, r"Fatal error during GPU init|probe of \S+ failed|amdgpu_device_ip_(early_)?init failed|sw_init of IP block"
    ):
        return
    from rocmdoctor.checks import device_remedies

    package, new_kernel = device_remedies.firmware_package(facts, matrix)
    # A kernel that is too old for the GPU as well is part of this remedy: both come from a distribution older than the card.
    first = known(lambda: next((f for f in (_first_kernel(facts, matrix, g) for g in broken) if f), None), None)
    kernel = device_remedies.newer_kernel(facts, matrix, first) if first and facts.amdgpu.kind != "dkms" else None
    yield Finding(
        Status.FAIL,
        f"Firmware of the {broken[0].label} is missing, so the driver gave the GPU up",
        "The kernel log names the files that it could not load, and the initialisation ended because of that."
        + (f" The kernel {facts.kernel.release} is too old for it as well: Linux {first} or newer is needed." if kernel else ""),
        lines,
        (
            Fix(
                f"Install or update the firmware package ({package})"
                + (" and a newer kernel" if kernel and kernel.commands else "")
                + ", and rebuild the initramfs"
                + (". " + kernel.title if kernel and not kernel.commands else "")
                + (". AMD names an OEM or HWE kernel for this GPU: use that" if new_kernel and not kernel else ""),
                (
                    *remedies.install(facts, package),
                    *(kernel.commands if kernel else ()),
                    *((initramfs(facts),) if initramfs(facts) else ()),
                ),
                needs=("root", "network", "reboot"),
                verify=recheck("firmware.*", "amdgpu_module.*"),
            ),
        ),
    )


@check(
    "pci_bar.assigned", title="The GPU's memory window (BAR) has an address", after=["amdgpu_module.loaded"], places=ON_A_KERNEL
)
def bar_assigned(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A large-BAR GPU needs address space above 4 GiB. Where the firmware gives none, BAR 0 stays empty and the probe ends with
    -12 (out of memory). A GPU that works with a small BAR is not flagged: that costs speed only."""
    for gpu in without_driver(facts):
        if gpu.pci is None or not gpu.pci.bars or gpu.pci.bars[0][1] != 0:
            continue
        yield Finding(
            Status.FAIL,
            f"The {gpu.label} at {gpu.pci_address} got no address for its memory (BAR 0 is empty)",
            "The platform firmware has not enough address space for the card's BAR, so the driver cannot map it. This is a "
            "BIOS setting, not a driver fault.",
            (
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/resource", "BAR 0: 0x0-0x0"),
                *log_evidence(facts, r"BAR \d.*(no space|failed to assign|can't assign)|probe of \S+ failed with error -12", 3),
            ),
            (
                Fix(
                    "Enable 'Above 4G Decoding' (and Resizable BAR where offered) in the BIOS, disable CSM, update the BIOS",
                    needs=("reboot",),
                ),
            ),
        )


@check(
    "kernel.knows-gpu",
    title="The running kernel's driver knows the GPU",
    after=["amdgpu_module.loaded", "firmware.loaded"],
    places=ON_A_KERNEL,
)
def kernel_knows(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The inbox amdgpu of an older kernel does not know a newer GPU generation and gives it up. AMD's packaged driver brings
    it to older kernels, and distributions backport, so this is judged only when the driver is loaded and not bound."""
    module = facts.amdgpu
    if module.kind == "dkms":
        raise NotApplicable("AMD's packaged driver is loaded; it does not depend on the kernel's age")
    for gpu in without_driver(facts):
        first = _first_kernel(facts, matrix, gpu)
        if first is None:
            continue
        from rocmdoctor.checks import device_remedies

        other = device_remedies.oem_kernel(facts) if gpu.klass == "apu" else device_remedies.packaged_driver(facts, matrix, gpu)
        yield Finding(
            Status.FAIL,
            f"The kernel {facts.kernel.release} is too old for the {gpu.label} ({gpu.gfx})",
            f"The mainline driver serves {gpu.gfx} since Linux {first}; this kernel's own driver was loaded and gave the GPU up.",
            (
                Evidence("uname -r", facts.kernel.release),
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/driver", "absent"),
                *log_evidence(facts, r"Fatal error during GPU init|probe of \S+ failed|Unknown|unsupported", 3),
            ),
            (
                device_remedies.newer_kernel(facts, matrix, first),
                # AMD's packaged driver is not for the APUs of its Ryzen table (rules.md 10).
                *((other,) if other else ()),
            ),
        )


def _first_kernel(facts: Facts, matrix: Matrix, gpu: Gpu) -> str | None:
    """The first Linux (X.Y) that serves the GPU, when the running one is older."""
    since = matrix.kfd_since(gpu.gfx) if gpu.gfx and gpu.driver != "radeon" else None
    first = since[1] or since[0] if since else None
    return first if first and versions.components(facts.kernel.release)[:2] < versions.components(first)[:2] else None


@check(
    "amdgpu_module.bound",
    title="amdgpu is bound to every AMD GPU",
    after=["amdgpu_module.loaded", "dkms.running-kernel", "firmware.loaded", "pci_bar.assigned", "kernel.knows-gpu"],
    places=ON_A_KERNEL,
)
def bound(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The `driver` link of each GPU leads to amdgpu. Firmware, BARs and the kernel's age have checks of their own; what is left
    is a GPU kept for virtual machines (vfio-pci), one that the old radeon driver took, or a probe that failed otherwise."""
    given = [g for g in facts.gpus if g.driver in GIVEN_AWAY]
    if given and len(given) == len(facts.gpus):
        names = ", ".join(sorted({g.driver or "" for g in given}))
        yield Finding(
            Status.FAIL,
            f"Every AMD GPU is reserved for virtual machines (driver {names})",
            "The host keeps them out of reach of amdgpu on purpose; run ROCm in the guest that gets the GPU.",
            tuple(Evidence(f"/sys/bus/pci/devices/{g.pci_address}/driver", g.driver or "") for g in given[:4]),
            (
                Fix(
                    "Use ROCm inside the virtual machine that owns the GPU, or give the GPU back to amdgpu by taking its "
                    "id out of the vfio-pci configuration",
                    needs=("root", "reboot"),
                ),
            ),
        )
    if not facts.amdgpu.loaded:
        return
    broken = [g for g in facts.gpus if g.pci is not None and not g.kfd and g.driver not in ("amdgpu", *GIVEN_AWAY)]
    served = any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)
    for gpu in broken:
        old = gpu.driver == "radeon"
        if old and served:
            continue  # a display card of another age beside the compute GPU
        from rocmdoctor.checks import device_remedies

        yield Finding(
            Status.FAIL,
            f"The {gpu.label} at {gpu.pci_address} is "
            + (
                "held by the old radeon driver"
                if old
                else f"held by the driver {gpu.driver}"
                if gpu.driver
                else "not bound to amdgpu"
            ),
            "The radeon driver takes GCN 1 and 2 cards by default; ROCm has dropped them long ago."
            if old
            else "The driver is loaded and did not take this GPU; the kernel log says why.",
            (
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/driver", gpu.driver or "absent"),
                *log_evidence(facts, r"Fatal error during GPU init|probe of \S+ failed|amdgpu.*(ERROR|error|failed)", 4),
            ),
            (
                Fix(
                    "For display or OpenCL, hand the card to amdgpu with radeon.cik_support=0 amdgpu.cik_support=1 (GCN 2) "
                    "or si_support (GCN 1) on the kernel command line; no current ROCm serves it",
                    needs=("root", "reboot"),
                )
                if old
                else Fix(
                    "Read `dmesg | grep amdgpu` from the first error on; a reboot clears a card that was left in a bad state",
                ),
                *(() if old else device_remedies.by_what_the_log_says(facts, matrix)),
            ),
        )


@check("pcie_atomics.accepted", title="The PCIe path lets the GPU use atomics", after=["amdgpu_module.bound"], places=ON_A_KERNEL)
def atomics(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """KFD skips a GPU whose PCIe path routes no atomic operations ("skipped device ..., PCI rejects atomics"): gfx8 always needs
    them, gfx9 never, gfx10 and later by firmware version (rules.md 17). Display works all the same."""
    lines = log_evidence(facts, r"skipped device [0-9a-f]{4}:[0-9a-f]{4}.*PCI rejects atomics", 16, ("rejects atomics",))
    skipped = [g for g in facts.gpus if not g.kfd and any(f"1002:{g.device}" in e.value.lower() for e in lines)]
    if not skipped:
        return
    gpu = skipped[0]
    vm = facts.place.kind == "vm"
    fixes = (
        (
            Fix(
                "Let the hypervisor pass PCIe atomics to the guest's root port (KVM does for a q35 machine; VMware ESXi "
                "does not), or run ROCm on the host"
            ),
        )
        if vm
        else (
            Fix("Move the card to a slot wired directly to the CPU (the first x16 slot), not one behind the chipset"),
            Fix(
                "If that slot rejects atomics too, the board or CPU platform does not route them (PCIe 3.0 with AtomicOp "
                "support is needed): other hardware is the only remedy"
            ),
        )
    )
    yield Finding(
        Status.FAIL,
        f"KFD skips the {gpu.label}{f' and {len(skipped) - 1} more' if len(skipped) > 1 else ''}: the PCIe path rejects atomics",
        "The display works, compute does not: every bridge between this GPU and the CPU must route PCIe atomic operations, "
        "and one does not.",
        lines[:3],
        fixes,
        ("https://rocm.docs.amd.com/en/latest/conceptual/pcie-atomics.html",),
    )
