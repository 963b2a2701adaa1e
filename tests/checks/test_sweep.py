"""A sweep: every gfx target x every ROCm release x every distribution of the matrix, as a healthy built host.

A pair that the matrix supports gives no warning and no failure. One that it does not support gives the finding of support, and
nothing else. For the APUs whose pairs of kernel and ROCm AMD names, the finding of support can be that pair (kernel.apu-pair).

The whole sweep takes minutes; ROCMDOCTOR_SWEEP=1 runs it. By default each release meets each GPU
once, on a distribution that goes round.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.matrix import Matrix, Verdict, load_matrix
from rocmdoctor.results import Status
from tests.hostbuilder import GFX, HostBuilder

MATRIX = load_matrix()
FINE = (Verdict.SUPPORTED, Verdict.DEPRECATED)
SPEAKS = (Status.WARN, Status.FAIL, Status.ERROR)


def systems(release: str) -> list[tuple[str, str]]:
    """Distributions of a release, each id and version once."""
    row = MATRIX.release(release)
    assert row is not None
    rows = row.os_rows or (MATRIX.release("6.2.0") or row).os_rows or ()  # the Radeon-only point releases name no system
    return sorted({(r.id, r.version) for r in rows if r.status == "supported"})


def said(gfx: str, release: str, os_id: str, version: str, matrix: Matrix) -> set[str]:
    host = HostBuilder().distro(os_id, version).gpus(gfx).rocm(release).no_torch().build()
    return {r.id for r in examine(host, matrix, plugins=False).results if r.status in SPEAKS}


def allowed(gfx: str, release: str, os_id: str, version: str) -> set[str]:
    """The findings of support that this host may get; empty for a supported one."""
    ids = set()
    if MATRIX.gpu(release, gfx).verdict not in FINE:
        ids |= {"gpu_support.release", "os_support.release"}  # a system can be listed for other GPUs only
    if MATRIX.os(release, os_id, version, gfx=gfx).verdict not in FINE:
        ids.add("os_support.release")
    suite = MATRIX.apt_suite(os_id, version)
    classic = MATRIX.versions.index(release) < MATRIX.versions.index("7.9.0")
    if suite and classic and not MATRIX.faults.has_apt_suite(suite, release):
        ids.add("repo.suite")  # the system of another release, which this one has no repository for
    if MATRIX.faults.apu_pair(gfx):
        ids.add("kernel.apu-pair")
    return ids


def hosts(release: str, *, everything: bool) -> Iterator[tuple[str, str, str]]:
    if everything:
        yield from ((gfx, *system) for system in systems(release) for gfx in GFX)
    else:
        yield from ((gfx, *system) for gfx, system in zip(GFX, cycle(systems(release)), strict=False))


@pytest.mark.parametrize("release", MATRIX.versions)
def test_only_support_is_ever_said(release: str) -> None:
    wrong = []
    for host in hosts(release, everything="ROCMDOCTOR_SWEEP" in os.environ):
        gfx, os_id, version = host
        extra = said(gfx, release, os_id, version, MATRIX) - allowed(gfx, release, os_id, version)
        if extra:
            wrong.append((host, extra))
    assert not wrong, f"{len(wrong)} hosts: {wrong[:6]}"


@pytest.mark.parametrize(
    ("gfx", "release", "os_id", "version", "finding"),
    [
        ("gfx90a", "6.2.0", "ubuntu", "22.04", set()),
        ("gfx942", "6.2.0", "ubuntu", "22.04", set()),
        ("gfx1201", "6.2.0", "ubuntu", "22.04", {"gpu_support.release"}),
        ("gfx1100", "6.2.0", "ubuntu", "22.04", set()),
    ],
)
def test_what_is_said(gfx: str, release: str, os_id: str, version: str, finding: set[str]) -> None:
    assert said(gfx, release, os_id, version, MATRIX) == finding
