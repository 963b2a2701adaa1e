"""Advice for servers with several GPUs: IOMMU, NUMA balancing, memory limits. Advice, not failures (rules.md 47)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.remedies import log_evidence, recheck, write
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix

DOCS = "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/system-optimization/mi300x.html"


SYSCTL = "/etc/sysctl.d/60-rocm.conf"
NUMA = "kernel.numa_balancing"
LIMITS = "/etc/security/limits.d/60-rocm.conf"
SMALL_MEMLOCK = 64 << 20
"""Bytes. The defaults of old and current distributions are 64 KiB to 8 MiB; systemd's newer one is an eighth of the RAM."""


def _discrete(facts: Facts) -> int:
    return sum(g.klass != "apu" for g in facts.gpus)


@check(
    "iommu.passthrough",
    title="The IOMMU does not translate between several GPUs",
    after=["gpu_present.device"],
    places=("bare-metal", "container"),
    docs=[DOCS],
)
def iommu(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """With an IOMMU in translated mode, peer-to-peer between GPUs is slow and known to hang (RCCL, vLLM with two GPUs).
    iommu=pt on the command line passes DMA through. One GPU has no peer."""
    if _discrete(facts) < 2:
        raise NotApplicable("fewer than two discrete GPUs")
    cmdline = facts.cmdline
    if (
        cmdline.get("iommu") in ("pt", "off", "soft")
        or cmdline.get("amd_iommu") == "off"
        or cmdline.get("intel_iommu") == "off"
        or cmdline.has("iommu.passthrough")
    ):
        return
    groups = facts.host.glob("/sys/kernel/iommu_groups/*/type")
    modes = {(facts.host.read(g) or "").strip() for g in groups[:64]}
    translated = any(m.startswith("DMA") for m in modes) if modes else None
    if translated is None:
        if facts.place.kind == "container":
            translated = facts.limits.cpu_vendor == "AuthenticAMD"
        else:
            translated = bool(log_evidence(facts, r"iommu: Default domain type: Translated", 1))
    if not translated:
        return
    wanted = matrix.node_tuning.iommu
    yield Finding(
        Status.WARN,
        f"{_discrete(facts)} GPUs share an IOMMU in translated mode",
        "Peer-to-peer transfers between GPUs then go through address translation: slow, and a known cause of hangs with "
        f"several GPUs. AMD asks for {wanted}.",
        (Evidence("/proc/cmdline", f"no {wanted}"), *log_evidence(facts, r"iommu: Default domain type", 1)),
        (
            Fix(
                f"Add {wanted} to the kernel command line of the host (by the distribution's own tool)",
                needs=("root", "reboot"),
                verify=recheck("iommu.*"),
            ),
        ),
    )


@check(
    "numa.balancing",
    title="Automatic NUMA balancing is off on this Instinct server",
    after=["gpu_present.device"],
    places=("bare-metal",),
    docs=[DOCS],
)
def numa(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """AMD asks to switch automatic NUMA balancing off on Instinct servers; it costs speed only."""
    if not any(g.klass == "instinct" for g in facts.gpus):
        raise NotApplicable("no Instinct GPU: numa_balancing matters on servers of those")
    if facts.limits.numa_balancing != 1:
        return
    wanted = f"{NUMA}={matrix.node_tuning.sysctl['mi300x'][NUMA]}"
    yield Finding(
        Status.WARN,
        "Automatic NUMA balancing is on",
        "The kernel moves pages between CPU nodes while GPUs use them: slower and uneven kernels.",
        (Evidence("/proc/sys/kernel/numa_balancing", "1"),),
        (
            Fix(
                f"Switch it off, now and at every boot ({SYSCTL})",
                (write(SYSCTL, wanted), ("sysctl", "-w", wanted)),
                needs=("root",),
                verify=recheck("numa.*"),
            ),
        ),
    )


@check(
    "memlock_shm.shm",
    title="/dev/shm is large enough for collective communication",
    after=["gpu_present.device"],
    places=("container",),
    docs=[DOCS],
)
def shared_memory(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Containers get 64 MiB of /dev/shm by default; RCCL with several GPUs and PyTorch's data loaders need more (--shm-size or
    --ipc=host)."""
    if _discrete(facts) < 2:
        raise NotApplicable("fewer than two discrete GPUs")
    size = facts.limits.shm_bytes
    if size is None or size > 64 << 20:
        return
    yield Finding(
        Status.WARN,
        f"/dev/shm has only {size >> 20} MiB for {_discrete(facts)} GPUs",
        "RCCL and data loaders exchange buffers there and fail with bus errors when it is full.",
        (Evidence("/dev/shm", f"{size} bytes"),),
        (
            Fix(
                "Start the container with --ipc=host or a larger --shm-size",
                (("docker", "run", "--ipc=host", "--device=/dev/kfd", "--device=/dev/dri", "IMAGE"),),
                verify=recheck("memlock_shm.*"),
            ),
        ),
    )


@check(
    "memlock_shm.memlock",
    title="The locked-memory limit does not bound RDMA",
    after=["gpu_present.device"],
    places=("bare-metal",),
    docs=[DOCS],
)
def memlock(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """RDMA between Instinct nodes pins memory and needs a large memlock."""
    if _discrete(facts) < 2 or not any(g.klass == "instinct" for g in facts.gpus):
        raise NotApplicable("not a server with several Instinct GPUs")
    limit = facts.limits.memlock
    if limit is None or limit < 0 or limit > SMALL_MEMLOCK:
        return
    yield Finding(
        Status.WARN,
        f"The locked-memory limit is {limit >> 10} KiB",
        "Collectives over RDMA pin large buffers and fail with a low limit.",
        (Evidence("/proc/self/limits", f"Max locked memory {limit}"),),
        (
            Fix(
                f"Set memlock to unlimited for the users of the node, in {LIMITS} (a scheduler's daemon has a limit of its own)",
                (write(LIMITS, "* soft memlock unlimited", "* hard memlock unlimited"),),
                needs=("root", "relogin"),
                verify=recheck("memlock_shm.*"),
            ),
        ),
    )
