"""APUs: memory that is bounded by GTT and carve-out, the driver that AMD wants there, pairs of kernel and firmware that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import ON_A_KERNEL
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix

GIB = 1 << 30
DOCS = "https://rocm.docs.amd.com/en/latest/how-to/system-optimization/strixhalo.html"


def _apus(facts: Facts) -> list[Gpu]:
    apus = [g for g in facts.gpus if g.klass == "apu"]
    if not apus:
        raise NotApplicable("no APU")
    return apus


@check(
    "vram_gtt.pool",
    title="ROCm sees the memory that the APU was given",
    after=["kfd_node.present"],
    places=("bare-metal", "container"),
    docs=[DOCS],
)
def pool(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """On an APU ROCm's pool is GTT (system memory up to the TTM limit) or the firmware's carve-out, by kernel. Flagged when
    the pool is far smaller than the carve-out, or when limits were raised on the command line and the pool did not follow
    (rules.md 48). GTT and carve-out must not be added up: GTT is the RAM that the kernel counts anyway."""
    for gpu in _apus(facts):
        pci, size = gpu.pci, gpu.kfd[0].vram_bytes if gpu.kfd else None
        if pci is None or not size:
            continue
        carve_out, gtt = pci.vram_total or 0, pci.gtt_total or 0
        raised = (
            facts.cmdline.get("amdgpu.gttsize") or facts.cmdline.get("ttm.pages_limit") or facts.cmdline.get("amdttm.pages_limit")
        )
        evidence = (
            Evidence(f"/sys/class/kfd/kfd/topology/nodes/{gpu.kfd_node}/mem_banks", f"{size / GIB:.1f} GiB"),
            Evidence("mem_info_vram_total", f"{carve_out / GIB:.1f} GiB"),
            Evidence("mem_info_gtt_total", f"{gtt / GIB:.1f} GiB"),
        )
        if size < carve_out * 0.6:
            fixed = matrix.faults.apu_pool_kernel
            yield Finding(
                Status.WARN,
                f"ROCm sees {size / GIB:.1f} GiB of the {carve_out / GIB:.0f} GiB that the firmware gave the {gpu.label}",
                f"Kernels before {fixed} hand ROCm only the GTT share of this APU's memory.",
                evidence,
                (
                    Fix(
                        f"Boot a kernel of at least {fixed}, or make the carve-out (UMA frame buffer) small in the BIOS "
                        "and raise ttm.pages_limit instead",
                        needs=("root", "reboot"),
                        verify=recheck("vram_gtt.*"),
                    ),
                ),
            )
        elif raised and size <= carve_out * 1.05 and gtt > size * 2:
            yield Finding(
                Status.WARN,
                f"ROCm sees only the {size / GIB:.1f} GiB carve-out of the {gpu.label}, although {gtt / GIB:.0f} GiB of "
                "GTT are allowed",
                "The raised limit has no effect on ROCm's pool with this kernel and run time.",
                (*evidence, Evidence("/proc/cmdline", f"limit {raised}")),
                (
                    Fix(
                        "Give the GPU a larger carve-out (UMA frame buffer) in the BIOS, or use a newer kernel and ROCm, "
                        "which take the pool from GTT",
                        needs=("root", "reboot"),
                        verify=recheck("vram_gtt.*"),
                    ),
                ),
            )


@check(
    "dkms.apu",
    title="The APU runs the kernel's own driver, as AMD asks",
    after=["gpu_present.device"],
    places=ON_A_KERNEL,
    docs=[remedies.SYSTEM_REQUIREMENTS],
)
def inbox_for_apu(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """AMD's table for Ryzen AI has the inbox (Ubuntu: OEM or HWE) driver only; amdgpu-dkms is wrong there (rules.md 10).
    Judged for the targets of that table, and only where no discrete GPU needs the packaged driver."""
    apus = [g for g in _apus(facts) if g.gfx in matrix.inbox_only_gfx]
    if not apus or len(apus) < len(facts.gpus):
        return
    package = known(lambda: facts.packages.get("amdgpu-dkms"), None)
    if facts.amdgpu.kind != "dkms" and not (package and not package.broken):
        return
    yield Finding(
        Status.WARN,
        f"amdgpu-dkms is installed for the {apus[0].label}, where AMD wants the kernel's own driver",
        "AMD supports Ryzen APUs with the inbox driver only; the packaged one causes page faults and hangs on some of them.",
        (
            Evidence("/sys/module/amdgpu/version", facts.amdgpu.version or "absent"),
            *((Evidence("package amdgpu-dkms", package.version),) if package else ()),
        ),
        (remedies.inbox_driver(facts),),
    )


@check(
    "kernel.apu-pair",
    title="Kernel and ROCm are a pair that works on this APU",
    after=["amdgpu_module.bound", "gpu_support.release"],
    places=ON_A_KERNEL,
    docs=[DOCS],
)
def apu_kernel(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """AMD names, for some APUs, the first kernels and the first ROCm that work together (register file size and queue faults
    before)."""
    for gpu in _apus(facts):
        pair = matrix.faults.apu_pair(gpu.gfx or "")
        rocm = facts.rocm_version
        if pair is None or not rocm or facts.amdgpu.kind == "dkms":
            continue
        old_rocm = versions.key(rocm) < versions.key(pair.rocm_from)
        old_kernel = not pair.kernel_fits(facts.kernel.release, facts.kernel.flavour, facts.os.id)
        if not (old_rocm and old_kernel):
            continue
        yield Finding(
            Status.WARN,
            f"ROCm {rocm} on kernel {facts.kernel.release} is not a pair that AMD names for the {gpu.label} ({gpu.gfx})",
            remedies.sentence(pair.reason),
            (
                Evidence("uname -r", facts.kernel.release),
                Evidence("ROCm", rocm),
                Evidence(f"compat_matrix.yaml {matrix.date}", f"ROCm {pair.rocm_from} or later, {pair.kernels_text}"),
            ),
            (
                Fix(
                    f"Use ROCm {pair.rocm_from} or later with {pair.kernels_text}",
                    needs=("root", "network", "reboot"),
                    verify=recheck("kernel.*"),
                ),
            ),
        )


@check(
    "firmware.known-bad",
    title="The firmware is not a release known to break this GPU",
    after=["amdgpu_module.bound"],
    places=ON_A_KERNEL,
)
def bad_firmware(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Some linux-firmware snapshots broke a GPU family and were replaced; the matrix names them."""
    date = facts.firmware.date
    for gfx in {g.gfx for g in facts.gpus if g.gfx}:
        bad = matrix.faults.bad_firmware(gfx, str(date)) if date else None
        if bad is None:
            continue
        yield Finding(
            Status.WARN,
            f"The linux-firmware of {date} is known to break {gfx}",
            remedies.sentence(bad),
            (Evidence(f"package {facts.firmware.package}", facts.firmware.package_version or ""),),
            (
                Fix(
                    "Update linux-firmware (or go back to the snapshot before), and rebuild the initramfs",
                    (
                        *(remedies.install(facts, facts.firmware.package) if facts.firmware.package else ()),
                        *((remedies.initramfs(facts),) if remedies.initramfs(facts) else ()),
                    ),
                    needs=("root", "network", "reboot"),
                    verify=recheck("firmware.*"),
                ),
            ),
        )
