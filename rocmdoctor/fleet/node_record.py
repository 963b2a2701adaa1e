"""What the fleet keeps of one node, made from its snapshot or its report. All of it is the host's word: bounded, not escaped."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rocmdoctor.facts import known
from rocmdoctor.host import HostError

if TYPE_CHECKING:
    from rocmdoctor.engine import Course
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.packages import PackageDb
    from rocmdoctor.host import Host
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.topology import Topology

VERDICTS = ("broken", "degraded", "no-amd-gpu", "healthy")
"""Worst first: the order of every list of nodes by verdict."""

NONE = "none"
"""A field's value where the host is known to have none of it; None is unknown and never a difference."""

MAX_TEXT = 200
MAX_CAUSES = 50
MAX_PACKAGES = 1500
"""Packages that are compared: those of ROCm, of the driver and of the firmware. The fullest release has some 200."""
MAX_LAYERS = 150

FIRMWARE_PACKAGES = frozenset(
    ("linux-firmware", "firmware-amd-graphics", "amd-gpu-firmware", "kernel-firmware-amdgpu", "linux-firmware-amdgpu")
)

Packages = tuple[tuple[str, str], ...]
"""Name and version of each."""
Row = tuple[str, str, str, str, str, str, str]
"""A layer of the stack: group, name, version, source, fit, why, check."""


class NodeRecord(NamedTuple):
    """`kind`: snapshot | report. `causes`: (id, title) of what failed, `warnings` the same. `errors`: ids of checks that broke.
    `fields`: see FIELDS, None for unknown. `gpus`: equal ones together, ("Instinct MI300X", "gfx942", 8). `packages`: sorted by
    name, None where they are unknown. `layers` and `drawing` only when details were asked for."""

    name: str
    source: str
    kind: str
    verdict: str
    causes: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...]
    errors: tuple[str, ...]
    environment: str
    gpus: tuple[tuple[str, str, int], ...]
    fields: Mapping[str, str | None]
    driver_kind: str | None
    packages: Packages | None = None
    layers: tuple[Row, ...] = ()
    drawing: Any = None
    """A topology.drawing.Drawing as JSON."""


FIELDS = ("os", "gpu", "kernel", "driver", "rocm", "firmware", "torch")
"""What is compared from node to node, and shown in this order."""
BY_SYSTEM = ("kernel", "firmware")
"""Fields that every distribution numbers in its own way: the majority is that of the nodes with the same one."""


def from_snapshot(name: str, source: str, host: "Host", matrix: "Matrix", way: "Course", *, details: bool) -> NodeRecord:
    """Judge a recorded host. `way`: through the checks, made once for all hosts. `details`: with stack and drawing."""
    from rocmdoctor import engine
    from rocmdoctor.examination import describe
    from rocmdoctor.facts import Facts
    from rocmdoctor.results import Report, Status

    facts = Facts(host, matrix)
    results = engine.follow(way, facts, matrix)
    report = Report(describe(facts), results, matrix.date, "")
    told = {status: [(r.id, r.title) for r in results if r.status is status] for status in Status}
    packages = known(lambda: facts.packages, None)
    record = _record(
        name, source, "snapshot", report.verdict, told[Status.FAIL], told[Status.WARN],
        [id for id, _ in told[Status.ERROR]], report.host,
    )  # fmt: skip
    fields = {**record.fields, "firmware": _firmware(facts)}
    record = record._replace(fields=fields, packages=_compared(packages) if packages and packages.kind else None)
    return _with_details(record, facts, matrix, results) if details else record


def _with_details(record: NodeRecord, facts: "Facts", matrix: "Matrix", results: Any) -> NodeRecord:
    from rocmdoctor import topology
    from rocmdoctor.stack.rows import Rows
    from rocmdoctor.stack.verdicts import with_checks

    layers = tuple(
        (row.group, row.name, _text(row.version), _text(row.source), row.fit, _text(row.why), row.check or "")
        for row in with_checks(Rows(facts, matrix).all(), results)
    )
    joined = topology.gather(facts)
    return record._replace(layers=layers[:MAX_LAYERS], drawing=_drawing(joined) if joined.boards else None)


@lru_cache(maxsize=64)  # like nodes are joined alike
def _drawing(joined: "Topology") -> str:
    from rocmdoctor.topology.drawing import draw

    return json.dumps(draw(joined))


def from_report(name: str, source: str, document: Any) -> NodeRecord:
    """A report of `check --format json`, schema version 1, by whoever wrote it. Raises HostError for anything else."""
    if not isinstance(document, dict) or not isinstance(document.get("summary"), dict):
        raise HostError("not a report: it has no summary")
    if document.get("schema_version") != 1:
        raise HostError("not a report of schema version 1")
    verdict = document["summary"].get("verdict")
    if verdict not in VERDICTS:
        raise HostError("not a report: its verdict is none of the four")
    results = [r for r in _list(document.get("results")) if isinstance(r, dict)]

    def told(status: str) -> list[tuple[str, str]]:
        return [(_text(r.get("id")), _text(r.get("title"))) for r in results if r.get("status") == status]

    causes = told("fail") or [(_text(c), "") for c in _list(document["summary"].get("root_causes"))]
    host = document.get("host")
    host = host if isinstance(host, dict) else {}
    return _record(name, source, "report", verdict, causes, told("warn"), [id for id, _ in told("error")], host)


def _record(
    name: str,
    source: str,
    kind: str,
    verdict: str,
    causes: Iterable[tuple[str, str]],
    warnings: Iterable[tuple[str, str]],
    errors: Iterable[str],
    host: Mapping[str, Any],
) -> NodeRecord:
    """From a report's `host` object, which need not have the shape of one."""
    gpus = _gpus(host)
    amdgpu = _object(host.get("amdgpu"))
    os = _object(host.get("os"))
    return NodeRecord(
        name=_text(name),
        source=_text(source),
        kind=kind,
        verdict=verdict,
        causes=tuple((_text(id), _text(title)) for id, title in causes)[:MAX_CAUSES],
        warnings=tuple((_text(id), _text(title)) for id, title in warnings)[:MAX_CAUSES],
        errors=tuple(map(_text, errors))[:MAX_CAUSES],
        environment=_text(host.get("environment")),
        gpus=gpus,
        fields={
            "os": " ".join(_text(os.get(key)) for key in ("id", "version_id") if os.get(key)) or None,
            "gpu": ", ".join(f"{n} x {product}" if n > 1 else product for product, _, n in gpus) or NONE,
            "kernel": _text(host.get("kernel")) or None,
            "driver": _driver(amdgpu),
            "rocm": _rocm(host),
            "firmware": None,
            "torch": _torch(host),
        },
        driver_kind=_text(amdgpu.get("kind")) or None if amdgpu.get("loaded") else None,
    )


def _gpus(host: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    found = Counter(
        (_text(g.get("product") or g.get("pci_id")).removeprefix("AMD ") or "AMD GPU", _text(g.get("gfx")))
        for g in map(_object, _list(host.get("gpus")))
    )
    return tuple((product, gfx, n) for (product, gfx), n in list(found.items())[:32])


def _driver(amdgpu: Mapping[str, Any]) -> str | None:
    """ "dkms 6.2.0 (6.8.5)", "inbox", "not loaded"; None: unknown."""
    if not isinstance(amdgpu.get("loaded"), bool):
        return None
    if not amdgpu["loaded"]:
        return "not loaded"
    kind = _text(amdgpu.get("kind")) or "amdgpu"
    release, version = _text(amdgpu.get("release")), _text(amdgpu.get("version"))
    if kind == "dkms":
        return " ".join(p for p in (kind, release, f"({version})" if release and version else version) if p)
    return kind


def _rocm(host: Mapping[str, Any]) -> str | None:
    installs = [_object(i) for i in _list(host.get("rocm"))]
    if not isinstance(host.get("rocm"), list):
        return None
    best = next((i for i in installs if i.get("active")), installs[0] if installs else None)
    return NONE if best is None else _text(best.get("version")) or None


def _torch(host: Mapping[str, Any]) -> str | None:
    if not isinstance(host.get("python"), list):
        return None
    torch = next((t for p in map(_object, host["python"]) if (t := _object(p.get("torch")))), None)
    if torch is None:
        return NONE
    version, build = _text(torch.get("version")), _text(torch.get("build"))
    return version if build in ("rocm", "") or f"+{build[:2]}" in version else f"{version} ({build})"


def _firmware(facts: "Facts") -> str | None:
    """The packages that bring it; None when packages or folders are unknown."""
    firmware = known(lambda: facts.firmware, None)
    if firmware is None or known(lambda: facts.packages.kind, None) is None:
        return None
    parts = [f"{firmware.package} {firmware.package_version}"] if firmware.package else []
    parts += [f"amdgpu-dkms-firmware {firmware.dkms_version}"] if firmware.dkms_version else []
    return _text(", ".join(parts)) or NONE


def _compared(db: "PackageDb") -> Packages:
    from rocmdoctor.facts.release_stamps import is_driver

    chosen = {p.name: p for p in (*db.rocm, *db.distro_rocm)}
    for package in db.packages:
        if package.installed and (package.name in FIRMWARE_PACKAGES or is_driver(package.name)):
            chosen[package.name] = package
    names = sorted(chosen)[:MAX_PACKAGES]
    return tuple((_text(name), _text(chosen[name].full_version)) for name in names)


def _text(value: Any) -> str:
    """Short text, "" for anything else. Lone surrogates, which JSON can hold and UTF-8 cannot, become question marks."""
    if not isinstance(value, str):
        return ""
    short: str = value[:MAX_TEXT]
    return short if short.isascii() else short.encode("utf-8", "replace").decode("utf-8")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value[:4096] if isinstance(value, list) else []
