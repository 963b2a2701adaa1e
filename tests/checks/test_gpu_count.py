"""--expect-gpus: a GPU that is gone while the others work. Each host with its healthy twin."""

from __future__ import annotations

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.host.recorded import RecordedHost
from rocmdoctor.matrix import load_matrix
from rocmdoctor.results import Report, Result, Status
from tests.hostbuilder import HostBuilder, card

MATRIX = load_matrix()
ID = "gpu_present.expected"


def report(host: HostBuilder, wanted: int | None) -> Report:
    return examine(host.build(), MATRIX, profile="node", plugins=False, expect_gpus=wanted)


def judged(host: HostBuilder, wanted: int | None) -> Result:
    (found,) = (r for r in report(host, wanted).results if r.id == ID)
    return found


def mi300(count: int = 8, **more: object) -> HostBuilder:
    return HostBuilder().gpus("gfx942", count=count, **more)


@pytest.mark.parametrize(
    ("host", "wanted", "status"),
    [
        (mi300(8), 8, "pass"),
        (mi300(7), 8, "fail"),
        (mi300(7), 7, "pass"),
        (mi300(7), None, "skip"),
        (mi300(8), 7, "warn"),
        (HostBuilder(), 1, "pass"),
        (HostBuilder(), 2, "fail"),
        # partitions: either number is right, and a board less is neither
        (mi300(8, partitions=8), 8, "pass"),
        (mi300(8, partitions=8), 64, "pass"),
        (mi300(7, partitions=8), 8, "fail"),
        (mi300(7, partitions=8), 64, "fail"),
        # the processor's own graphics may be counted or not
        (HostBuilder().gpus(card("gfx1100"), card("gfx1036", vram=512)), 1, "pass"),
        (HostBuilder().gpus(card("gfx1100"), card("gfx1036", vram=512)), 2, "pass"),
        (HostBuilder().gpus(card("gfx1100"), card("gfx1036", vram=512)), 3, "fail"),
        (HostBuilder().gpus("gfx1151"), 1, "pass"),
        # elsewhere
        (mi300(2).vm(), 2, "pass"),
        (mi300(2).vm(), 3, "fail"),
        (mi300(2).container(), 2, "pass"),
        (mi300(2).container(), 3, "fail"),
        (HostBuilder().wsl(), 1, "pass"),
        (HostBuilder().wsl(), 2, "fail"),
    ],
)
def test_the_number(host: HostBuilder, wanted: int | None, status: str) -> None:
    found = judged(host, wanted)
    assert found.status.value == status, (found.title, found.detail)


def test_without_an_expectation_nothing_is_said() -> None:
    assert report(mi300(7), None).verdict == report(mi300(8), None).verdict == "healthy"


def test_one_that_is_gone_from_the_bus() -> None:
    host = mi300(7).dmesg(
        "pcieport 0000:60:01.1: pciehp: Slot(12): Link Down", "pcieport 0000:60:01.1: pciehp: Slot(12): Card not present"
    )
    found = report(host, 8)
    assert found.root_causes == (ID,) and found.verdict == "broken"
    (said,) = (r for r in found.results if r.id == ID)
    assert said.title == "Only 7 AMD GPUs can be used, 8 expected" and "not even the PCI bus shows it" in said.detail
    values = [e.value for e in said.evidence]
    assert values[0] == "8" and values[1].startswith("7 GPUs: 0000:") and sum("Slot(12)" in v for v in values) == 2
    assert "Power-cycle" in said.fixes[0].title and not any(fix.automatic for fix in said.fixes)
    assert said.fixes[0].verify[-2:] == ("--expect-gpus", "8")


def test_one_that_is_kept_for_a_guest() -> None:
    """It is on the bus, no other check minds it, and it is why the number is wrong."""
    host = HostBuilder().gpus("gfx1100", count=2).fault_other_driver(index=1)
    assert report(host, None).root_causes == () and judged(host, 1).status is Status.PASS
    found = report(host, 2)
    assert found.root_causes == (ID,)
    (said,) = (r for r in found.results if r.id == ID)
    assert any("driver vfio-pci" in e.value for e in said.evidence) and "vfio-pci" in said.fixes[0].title
    assert "Power-cycle" not in said.fixes[0].title


@pytest.mark.parametrize(
    ("host", "cause"),
    [
        (HostBuilder().gpus("gfx1100", count=2).fault_other_driver(), "amdgpu_module.bound"),
        (HostBuilder().gpus("gfx1100", count=2).fault_blacklisted(), "amdgpu_module.not-blacklisted"),
        (
            mi300(7).dmesg(
                "amdgpu 0000:05:00.0: amdgpu: GPU reset(1) failed", "amdgpu 0000:05:00.0: amdgpu: device lost from bus!"
            ),
            "",
        ),
        (mi300(7).dmesg("amdgpu 0000:05:00.0: amdgpu: GPU has fallen off the bus."), "gpu_health.hardware"),
        (HostBuilder().no_gpus(), "gpu_present.device"),
    ],
)
def test_what_has_a_failure_of_its_own_is_not_counted_twice(host: HostBuilder, cause: str) -> None:
    found = report(host, 8)
    (said,) = (r for r in found.results if r.id == ID)
    assert said.status is Status.SKIP and said.because_of in found.root_causes
    assert ID not in found.root_causes and len(found.root_causes) == 1
    assert said.because_of == cause or not cause


def test_unknown_is_no_failure() -> None:
    """A snapshot without /sys: whether there are GPUs is unknown."""
    snapshot = mi300(7).snapshot()
    meta = {**snapshot.meta, "unknown": [*snapshot.meta.get("unknown", ()), "/sys/**"]}
    host = RecordedHost(meta, snapshot.files, snapshot.nodes, snapshot.commands)
    found = examine(host, MATRIX, plugins=False, expect_gpus=8)
    (said,) = (r for r in found.results if r.id == ID)
    assert said.status is Status.SKIP and said.because_of is None
