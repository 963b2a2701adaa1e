"""/dev/kfd and the KFD topology: the compute driver's own view. A node that exists and opens with anything but EACCES."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.binding import ON_A_KERNEL
from rocmdoctor.checks.remedies import log_evidence, recheck
from rocmdoctor.engine import check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.access import DeviceNode
    from rocmdoctor.matrix import Matrix

ROOM = ["amdgpu_module.bound", "pcie_atomics.accepted", "container.devices"]


@check("kfd_node.present", title="KFD serves the GPU", after=ROOM, places=ON_A_KERNEL)
def present(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A bound driver without a KFD node gives graphics and no compute: /dev/kfd is missing, or the topology has no GPU in it.

    Reasons: a kernel built without CONFIG_HSA_AMD, a GPU that KFD does not serve, or a driver that stopped half-way.
    """
    bound = [g for g in facts.gpus if g.driver == "amdgpu"]
    if not bound:
        return
    kfd = facts.access.kfd
    if not kfd.exists:
        yield Finding(
            Status.FAIL,
            "/dev/kfd does not exist although amdgpu drives the GPU",
            "Graphics work, compute does not: the kernel's compute driver (KFD) did not start. Either this kernel is built "
            "without "
            "CONFIG_HSA_AMD, or KFD refused this GPU with this kernel.",
            (
                Evidence("/dev/kfd", "absent"),
                Evidence("/sys/class/kfd/kfd/topology", "present" if facts.kfd.present else "absent"),
                *_refusals(facts),
            ),
            (
                Fix(
                    "Boot another kernel (the distribution's standard one, or the one that worked before) and look for kfd "
                    "lines in dmesg",
                    needs=("root", "reboot"),
                    verify=recheck("kfd_node.*"),
                ),
                Fix(
                    "See whether this kernel has KFD: the line CONFIG_HSA_AMD=y in its config",
                    (("grep", "HSA_AMD", f"/boot/config-{facts.kernel.release}"),),
                ),
            ),
        )
        return
    missing = [g for g in bound if not g.kfd]
    if not missing or len(facts.kfd.gpus) >= len(bound) or facts.kfd.unreadable:
        return
    for gpu in missing:
        target = matrix.gfx(gpu.gfx) if gpu.gfx else None
        if (target is None or gpu.klass == "apu") and any(g.kfd for g in bound):
            continue  # an old display card, or the processor's own graphics, beside a compute GPU
        yield Finding(
            Status.FAIL,
            f"KFD has no node for the {gpu.label} at {gpu.pci_address}",
            "amdgpu drives it for display, but the compute driver did not add it, so ROCm cannot see it.",
            (
                Evidence("/sys/class/kfd/kfd/topology/nodes", f"{len(facts.kfd.gpus)} GPU nodes for {len(bound)} GPUs"),
                *_refusals(facts),
            ),
            (
                Fix(
                    "Read the kfd lines of the kernel log (`dmesg | grep -i kfd`); a newer kernel or AMD's packaged driver "
                    "may know this GPU",
                    needs=("root", "reboot"),
                ),
            ),
        )


def _refusals(facts: Facts) -> tuple[Evidence, ...]:
    """What KFD said of a GPU that it did not take."""
    return log_evidence(facts, r"kfd.*not supported|kfd kfd: .*(skipped|error|failed)|GC IP .* not supported in kfd", 3, ("kfd",))


@check(
    "kfd_node.opens",
    title="/dev/kfd opens",
    after=["kfd_node.present", "dkms.running-kernel"],
    places=ON_A_KERNEL,
)
def opens(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Opens /dev/kfd and the render nodes as the asked user and looks at the errno. EACCES is a matter of permission and judged
    there; EPERM is a device policy; EINVAL, ENOMEM and ENXIO with good modes are the driver or the GPU (rules.md 22). Reading
    /dev/kfd gives EINVAL on healthy hosts, so it is never read (rules.md 24). In containers container.nodes-open judges."""
    nodes = refused_nodes(facts)
    if not nodes:
        return
    first = nodes[0]
    evidence = tuple(Evidence(n.path, n.described) for n in nodes[:3])
    if first.open == "EPERM":
        detail = (
            "The mode allows it and the kernel refuses it: a device policy (cgroup, systemd unit with DevicePolicy) or "
            "the driver's own state."
        )
        fix = Fix("Look at the unit's DevicePolicy and DeviceAllow; a reboot reloads the driver", needs=("root",))
    elif "noexec" in facts.dev_mount_options:
        evidence += (Evidence("/proc/mounts", f"/dev mounted with {facts.dev_mount_options}"),)
        detail = "/dev is mounted noexec, and the run time maps doorbells executable through this node."
        fix = Fix(
            "Mount /dev with exec again",
            (("mount", "-o", "remount,exec", "/dev"),),
            needs=("root",),
            verify=recheck("kfd_node.*"),
        )
    else:
        detail = "The driver itself refuses: an unsupported GPU, no memory for a KFD process, or a driver in a bad state."
        fix = Fix("Read the kfd and amdgpu lines of the kernel log; a reboot resets the driver")
    yield Finding(
        Status.FAIL,
        f"Opening {first.path} fails with {first.open}, which is not a matter of groups or modes",
        detail,
        evidence,
        (fix,),
    )


def refused_nodes(facts: Facts) -> list[DeviceNode]:
    """/dev/kfd and the AMD GPUs' render nodes that do not open, for a reason other than permission; /dev/kfd first."""
    minors = {n.render_minor for n in known(lambda: facts.kfd.gpus, ()) if n.render_minor}
    nodes = [facts.access.kfd, *(n for n in facts.access.render if not minors or n.minor in minors)]
    return [n for n in nodes if n.exists and n.open not in ("ok", "EACCES", "ENOENT", None)]
