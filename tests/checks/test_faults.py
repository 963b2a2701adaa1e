"""Every kind of fault, built by the host builder, with its healthy twin: the fault is found in its area, the twin is silent."""

from __future__ import annotations

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.matrix import Matrix, load_matrix
from rocmdoctor.results import Report, Status
from tests.hostbuilder import FAULTS, HostBuilder


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return load_matrix()


def judged(host: HostBuilder, matrix: Matrix) -> Report:
    return examine(host.build(), matrix, profile="node", plugins=False)


def flagged(report: Report) -> dict[str, Status]:
    """Area to the worst status said of it."""
    worst: dict[str, Status] = {}
    for result in report.results:
        if result.status in (Status.WARN, Status.FAIL, Status.ERROR) and worst.get(result.area) is not Status.FAIL:
            worst[result.area] = result.status
    return worst


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_fault_is_found_in_its_area(name: str, matrix: Matrix) -> None:
    fault = FAULTS[name]
    said = flagged(judged(HostBuilder().with_fault(name), matrix))
    wanted = (Status.FAIL,) if fault.status == "fail" else (Status.WARN, Status.FAIL)
    assert any(said.get(area) in wanted for area in fault.areas), f"expected {fault.status} in {fault.areas}, said {said}"
    assert Status.ERROR not in said.values()


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_one_fault_is_one_root_cause(name: str, matrix: Matrix) -> None:
    report = judged(HostBuilder().with_fault(name), matrix)
    if FAULTS[name].status == "fail":
        assert 1 <= len(report.root_causes) <= 2, report.root_causes


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_healthy_twin_is_silent(name: str, matrix: Matrix) -> None:
    assert flagged(judged(HostBuilder().twin(name), matrix)) == {}
