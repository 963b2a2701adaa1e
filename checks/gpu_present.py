"""Is there an AMD GPU at all? The first of the five reasons for "no GPU" (rules.md 5); the other four have areas of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.remedies import CONTAINERS, count
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


@check("gpu_present.device", title="An AMD GPU is on the PCI bus", needs_gpu=False, docs=[CONTAINERS])
def device(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks for devices of vendor 1002 with a display or processing-accelerator class on the PCI bus, and for GPU nodes of KFD.

    Instinct cards are not of the VGA class, so a search for "VGA" misses them. Without a device nothing else about ROCm can be
    judged; a device that has no driver, no KFD node or no permission is another matter and has its own check.
    """
    if facts.place.kind == "wsl":
        raise NotApplicable("WSL shows no AMD device on the PCI bus by design; the checks of the area wsl judge it")
    if facts.gpus:
        return
    others = [d for d in facts.pci if d.is_display]
    evidence = (
        Evidence("/sys/bus/pci/devices", f"{len(facts.pci)} devices, none of them an AMD GPU"),
        *tuple(
            Evidence(f"/sys/bus/pci/devices/{d.address}", f"vendor {d.vendor} device {d.device} class 0x{d.class_code:06x}")
            for d in others[:4]
        ),
    )
    place = facts.place
    if place.vm == "docker-desktop":
        yield Finding(
            Status.FAIL,
            "No AMD GPU in here: this container runs in Docker Desktop's own virtual machine",
            "Docker Desktop starts its engine in a virtual machine that owns no GPU, so there is nothing to pass in.",
            evidence,
            (
                Fix(
                    "Run the container on the host's own Docker engine instead of Docker Desktop, with the devices passed in",
                    (
                        ("docker", "context", "use", "default"),
                        (
                            "docker",
                            "run",
                            "--device=/dev/kfd",
                            "--device=/dev/dri",
                            "--security-opt",
                            "seccomp=unconfined",
                            "IMAGE",
                        ),
                    ),
                ),
            ),
        )
    elif place.kind == "container":
        yield Finding(
            Status.FAIL,
            "No AMD GPU on the PCI bus that this container sees",
            "A container sees the PCI bus of its host. The host (or the virtual machine that it is) has no AMD GPU.",
            evidence,
        )
    elif place.kind == "vm":
        yield Finding(
            Status.FAIL,
            "No AMD GPU on the PCI bus of this virtual machine",
            "The guest sees no AMD device: none was passed through, or the instance type has none.",
            evidence,
            (
                Fix(
                    "Attach the GPU (or a virtual function of it) to this guest in the hypervisor, or choose an instance "
                    "type that has one"
                ),
            ),
        )
    else:
        yield Finding(
            Status.FAIL,
            "No AMD GPU on the PCI bus",
            "No device of vendor 1002 with a display or accelerator class is on the PCI bus"
            + (f" ({count(len(others), 'graphics device')} of other vendors)." if others else "."),
            evidence,
        )


@check(
    "gpu_present.every-node",
    title="Every GPU that KFD lists is on the PCI bus",
    after=["gpu_present.device"],
    places=["bare-metal", "vm"],
)
def fallen_off(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares KFD's nodes with the PCI bus. A GPU that KFD still lists and the bus no longer shows has fallen off the bus
    (link or power)."""
    addresses = {d.address for d in facts.pci}
    if not addresses:
        raise NotApplicable("the PCI bus shows nothing to compare with")
    for node in known(lambda: facts.kfd.gpus, ()):
        slot = (node.pci_address or "").rpartition(".")[0]
        if slot and not any(a.startswith(slot) for a in addresses):
            yield Finding(
                Status.FAIL,
                f"The GPU at {node.pci_address} has fallen off the PCI bus",
                "KFD still lists it, the PCI bus does not: the link was lost. Only a power cycle or reseating brings such "
                "a card back.",
                (Evidence(f"/sys/class/kfd/kfd/topology/nodes/{node.id}", f"location {node.pci_address}"),),
                (
                    Fix(
                        "Power-cycle the machine; if it happens again, reseat the card and check its power supply",
                    ),
                ),
            )
