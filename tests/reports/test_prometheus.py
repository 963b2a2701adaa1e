"""Metrics as Prometheus' own client library reads them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from rocmdoctor.reports import prometheus
from rocmdoctor.reports.printable import inert
from rocmdoctor.results import Report, Status
from tests.reports.hostile_reports import NASTY, REPORTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, gpu, report

NOW = 1796040000.25


def samples(one: Report) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Name -> (labels, value) of every sample."""
    text = prometheus.render(one, NOW)
    assert text.isascii() and text.endswith("\n")
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        assert (family.type, bool(family.documentation)) == ("gauge", True)
        found[family.name] = [(s.labels, s.value) for s in family.samples]
    series = Counter(line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#"))
    assert not [s for s, n in series.items() if n > 1], "a series is there twice: the collector refuses the whole file"
    return found


def test_a_broken_host() -> None:
    found = samples(BROKEN)
    assert list(found) == [
        f"rocmdoctor_{name}"
        for name in (
            "check_status",
            "checks_total",
            "verdict",
            "root_cause",
            "gpu_info",
            "info",
            "last_run_timestamp_seconds",
        )
    ]
    assert ({"id": "permissions.kfd-access", "area": "permissions", "status": "fail"}, 1) in found["rocmdoctor_check_status"]
    assert {labels["status"]: value for labels, value in found["rocmdoctor_checks_total"]} == {
        "pass": 1,
        "warn": 1,
        "fail": 1,
        "skip": 4,
        "error": 0,
    }
    assert [labels["verdict"] for labels, value in found["rocmdoctor_verdict"] if value] == ["broken"]
    assert found["rocmdoctor_root_cause"] == [({"id": "permissions.kfd-access"}, 1)]
    assert found["rocmdoctor_info"] == [({"version": "0.1.0", "matrix_date": "2026-11-30"}, 1)]
    assert found["rocmdoctor_last_run_timestamp_seconds"] == [({}, NOW)]
    (only,) = found["rocmdoctor_gpu_info"]
    assert only == (
        {
            "gpu": "0",
            "pci_address": "0000:03:00.0",
            "pci_id": "1002:744c",
            "gfx": "gfx1100",
            "product": "Radeon RX 7900 XTX",
            "class": "radeon",
            "driver": "amdgpu",
        },
        1,
    )


@pytest.mark.parametrize("one", [HEALTHY, NO_GPU, report()], ids=["healthy", "no-gpu", "empty"])
def test_one_verdict_holds(one: Report) -> None:
    found = samples(one)["rocmdoctor_verdict"]
    assert len(found) == 4 and [labels["verdict"] for labels, value in found if value] == [one.verdict]


def test_findings_of_one_check_are_one_series() -> None:
    warning = KFD_ACCESS._replace(status=Status.WARN, title="a warning beside it")
    found = samples(report(warning, KFD_ACCESS, KFD_ACCESS))
    assert [labels["status"] for labels, _ in found["rocmdoctor_check_status"]] == ["fail"]
    assert ({"status": "fail"}, 1) in found["rocmdoctor_checks_total"]


def test_equal_gpus_without_an_address_are_two_series() -> None:
    found = samples(report(gpus=[gpu(pci_address=None)] * 2))["rocmdoctor_gpu_info"]
    assert [(labels["gpu"], labels["pci_address"]) for labels, _ in found] == [("0", ""), ("1", "")]


@pytest.mark.parametrize("evil", NASTY)
def test_a_label_is_read_back(evil: str) -> None:
    """As its printable form, and cut to what a label may burden the server with."""
    found: Any = samples(report(gpus=[gpu(product=evil)]))
    assert set(found) == {f for f in found if f.startswith("rocmdoctor_")}
    (labels, _) = found["rocmdoctor_gpu_info"][0]
    assert labels["product"].isprintable() and len(labels["product"]) <= 10 * (prometheus.LONGEST + 3)
    if evil.isprintable() and evil.isascii() and len(evil) < prometheus.LONGEST:
        assert labels["product"] == inert(evil)


@given(REPORTS)
def test_any_report_is_read(one: Report) -> None:
    found = samples(one)
    assert len(found["rocmdoctor_check_status"]) == len({r.id for r in one.results})
    assert all(re.fullmatch(r"rocmdoctor_[a-z_]+", name) for name in found)
