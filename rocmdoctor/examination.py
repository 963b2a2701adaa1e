"""One examination of a host: facts, checks and results brought together into a Report."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rocmdoctor import __version__, engine
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Report

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix

T = TypeVar("T")
MATRIX_MAX_AGE = 120
"""Days after which compat_matrix.yaml is called old."""


def examine(
    host: Host,
    matrix: Matrix,
    *,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    profile: str | None = None,
    python: str | None = None,
    rocm: str | None = None,
    expect_gpus: int | None = None,
    plugins: bool = True,
    deep: bool = False,
    today: datetime.date | None = None,
) -> Report:
    """Run the selected checks on `host`; with `deep` also those that start programs on the GPU.

    Raises engine.UnknownCheck for a pattern that matches nothing, and facts.WrongTarget where `python` or `rocm` names nothing.
    """
    only, skip = tuple(only), tuple(skip)
    broken: tuple[Any, ...] = ()
    if plugins:
        _, broken = engine.plugin_checks()
    checks = engine.all_checks(deep=deep or bool(only or skip))
    selected = engine.select(checks, only, skip, deep=deep)
    facts = Facts(host, matrix, python=python, rocm=rocm, expect_gpus=expect_gpus)
    facts.require_targets()
    results = engine.run(checks, selected, facts, matrix, profile=profile, unreported=skip)
    said = notices(facts, matrix, today)
    return Report(describe(facts), results + broken, matrix.date, __version__, said, _unseen(facts))


def _unseen(facts: Facts) -> str | None:
    try:
        facts.gpus  # noqa: B018  (asked for what it raises)
    except UnknownFact as unknown:
        return str(unknown)
    except Exception:
        return None  # the checks that ask it end as `error` and say where
    return None


def notices(facts: Facts, matrix: Matrix, today: datetime.date | None = None) -> tuple[str, ...]:
    """What a reader must know of the judgement itself: which release it is by when one was asked for, an old matrix, or a ROCm
    newer than it."""
    said: list[str] = []
    if facts.asked_rocm:
        active = known(lambda: facts.rocm.active, None)
        own = f", not the installed {active.version}" if active and active.version else ""
        said.append(f"Judged against ROCm {facts.asked_rocm}{own}.")
    age = matrix.age_days(today or datetime.date.today())
    if age > MATRIX_MAX_AGE:
        said.append(
            f"The compatibility matrix is of {matrix.date}, {age} days old: newer releases are unknown to it. "
            "Update rocmdoctor or give --matrix FILE."
        )
    version = known(lambda: facts.rocm_version, None)
    if version and matrix.is_newer_than_known(version):
        said.append(f"ROCm {version} is newer than the matrix knows (up to {matrix.newest}): its support is unknown, not denied.")
    return tuple(said)


def _told(question: Callable[[], T]) -> T | None:
    """The answer for the report's header. A bug in one fact costs that field, not the report: the checks that ask the same
    fact end as `error` and say where."""
    try:
        return question()
    except Exception:
        return None


def describe(facts: Facts) -> dict[str, Any]:
    """The report's `host` object; what is unknown is null or an empty list."""
    os = _told(lambda: facts.os)
    kernel = _told(lambda: facts.kernel)
    place = _told(lambda: facts.place)
    amdgpu = _told(lambda: facts.amdgpu)
    rocm = _told(lambda: facts.rocm)
    return {
        "os": {
            "id": os.id if os else None,
            "version_id": os.version_id if os else None,
            "name": os.name if os else None,
            "codename": (os.codename or os.ubuntu_codename) if os else None,
        },
        "kernel": kernel.release if kernel else None,
        "machine": kernel.machine if kernel else None,
        "environment": place.kind if place else "bare-metal",
        "gpus": [
            {
                "pci_address": g.pci_address,
                "pci_id": g.pci_id,
                "gfx": g.gfx,
                "gfx_source": g.gfx_source,
                "product": g.product,
                "class": g.klass,
                "driver": g.driver,
                "kfd_node": g.kfd_node,
                "vram_bytes": g.vram_bytes,
            }
            for g in _told(lambda: facts.gpus) or ()
        ],
        "rocm": [
            {"version": i.version, "root": i.root, "origin": i.origin, "active": i.active}
            for i in (rocm.installs if rocm else ())
            if i.has_hip or i.has_hsa or i.tools
        ],
        "amdgpu": {
            "loaded": amdgpu.loaded if amdgpu else None,
            "kind": amdgpu.kind if amdgpu else None,
            "version": amdgpu.version if amdgpu else None,
            "release": _told(lambda: facts.driver_release),
        },
        "python": [
            {
                "executable": e.executable,
                "version": e.version,
                "torch": {
                    "version": e.torch.version,
                    "build": e.torch.build,
                    "hip": e.torch.hip,
                    "rocm": e.torch.rocm,
                    "gfx": sorted(e.torch.library_gfx),
                }
                if e.torch
                else None,
            }
            for e in _told(lambda: facts.pythons) or ()
        ],
    }
