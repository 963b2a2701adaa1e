"""Whether the GPUs that this host should have are all there. Only somebody who knows the machine can say how many those are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.binding import GIVEN_AWAY
from rocmdoctor.checks.remedies import count, log_evidence, recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix

LOST = r"(amdgpu|kfd|pciehp|pcieport).*(fell off|fallen off|lost from bus|link down|card not present|inaccessible|surprise)"
LOST_WORDS = ("fell off", "fallen off", "lost from bus", "link down", "card not present", "inaccessible", "surprise")
"""Of a device that left the bus: amdgpu ("device lost from bus!"), PCI hot plug ("Slot(3): Link Down"), the port above it."""
MOST_NAMED = 8


@check(
    "gpu_present.expected",
    title="As many GPUs as expected can be used",
    after=["gpu_present.every-node", "kfd_node.present", "container.devices", "gpu_health.hardware", "gpu_health.responding"],
)
def expected(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares the GPUs that ROCm can see with the number that `--expect-gpus` gives. A GPU that is gone leaves no trace of its
    own: the others work, and every other check passes.

    GPUs are counted as boards, or as compute partitions where that is the number expected (gres.conf has a line for each). The
    processor's own graphics beside a card may be counted or not. What keeps GPUs from ROCm and has a failure of its own
    (blacklist, vfio, a reset that failed) is not counted a second time.
    """
    wanted = facts.expected_gpus
    if wanted is None:
        raise NotApplicable("no number of GPUs is expected (--expect-gpus)")
    seen = _usable(facts)
    cards = [gpu for gpu in seen if gpu.klass != "apu"] or seen
    partitions = sum(len(gpu.kfd) or 1 for gpu in seen)
    if len(cards) <= wanted <= len(seen) or wanted == partitions:
        return
    found = _counted(seen, partitions)
    if len(cards) > wanted:
        yield Finding(
            Status.WARN,
            f"{found} here, {wanted} expected",
            "More GPUs can be used than were expected. The number that is expected may be an old one.",
            _evidence(facts, seen, wanted),
            (_other_number(len(seen)),),
        )
        return
    idle = [gpu for gpu in facts.gpus if gpu not in seen]
    given = [gpu for gpu in idle if gpu.driver in GIVEN_AWAY]
    gone = max(wanted - len(seen) - len(idle), 0)
    missing = []
    if gone:
        missing.append(f"{count(gone, 'GPU')} missing: not even the PCI bus shows {'it' if gone == 1 else 'them'}.")
    if idle:
        missing.append(f"{count(len(idle), 'GPU')} on the PCI bus cannot be used by ROCm.")
    if seen:
        missing.append("What is left works, so nothing else tells of it.")
    fixes = []
    if given:
        fixes.append(
            Fix(
                "Give the GPU back to amdgpu by taking its id out of the vfio-pci configuration, or expect it no longer",
                needs=("root", "reboot"),
                verify=_verify(wanted),
            )
        )
    if gone and facts.place.kind == "vm":
        fixes.append(
            Fix("Attach the missing GPU to this guest in the hypervisor, then restart the guest", verify=_verify(wanted))
        )
    elif gone:
        fixes.append(
            Fix(
                "Power-cycle the machine: a warm reboot does not always bring such a card back. If it stays away, reseat it, "
                "and look at its power supply and at the slot in the BIOS",
                needs=("root", "reboot"),
                verify=_verify(wanted),
            )
        )
    elif not given:
        fixes.append(Fix("Read the amdgpu and kfd lines of the kernel log for the GPU that is not used", verify=_verify(wanted)))
    yield Finding(
        Status.FAIL,
        f"Only {found} can be used, {wanted} expected",
        " ".join(missing),
        (*_evidence(facts, seen, wanted), *map(_why_idle, idle[:MOST_NAMED]), *log_evidence(facts, LOST, 4, LOST_WORDS)),
        (*fixes, _other_number(len(seen))),
    )


def _usable(facts: Facts) -> list[Gpu]:
    """GPUs that KFD serves. In WSL those of rocminfo; where KFD is unknown, those that amdgpu drives."""
    gpus = facts.gpus
    if facts.place.kind == "wsl":
        if not gpus:
            raise UnknownFact("in WSL rocminfo tells the GPUs, and it lists none")
        return list(gpus)
    kfd = known(lambda: facts.kfd, None)
    if kfd is None:
        return [gpu for gpu in gpus if gpu.driver == "amdgpu"]
    return [gpu for gpu in gpus if gpu.kfd]


def _counted(seen: list[Gpu], partitions: int) -> str:
    boards = count(len(seen), "AMD GPU")
    return boards if partitions == len(seen) else f"{boards} in {partitions} partitions"


def _evidence(facts: Facts, seen: list[Gpu], wanted: int) -> tuple[Evidence, ...]:
    places = ", ".join(gpu.pci_address or gpu.label for gpu in seen[:16])
    hidden = known(lambda: facts.kfd.unreadable, ())
    said = [Evidence("--expect-gpus", str(wanted)), Evidence("/sys/class/kfd/kfd/topology/nodes", f"{len(seen)} GPUs: {places}")]
    if hidden:
        said.append(Evidence("/sys/class/kfd/kfd/topology/nodes", f"{len(hidden)} more that a device policy (cgroup) hides"))
    return tuple(said)


def _why_idle(gpu: Gpu) -> Evidence:
    driver = f"driver {gpu.driver}" if gpu.driver else "no driver"
    return Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}", f"{gpu.label}: {driver}, no KFD node")


def _other_number(found: int) -> Fix:
    return Fix(f"If this host is meant to have {count(found, 'GPU')} now, expect that number (--expect-gpus {found})")


def _verify(wanted: int) -> tuple[str, ...]:
    return (*recheck("gpu_present.expected"), "--expect-gpus", str(wanted))
