"""Real outputs of rocminfo, amd-smi, rocm-smi and collect_env, and the replayable hosts; the figures are those of INDEX.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from rocmdoctor.facts import collect_env, pythons, rocm, rocminfo, smi
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.recorded import open_snapshot
from tests.facts.small_host import SHARED

CAPTURES = SHARED / "captures"
CASES = SHARED / "cases"

pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not there")


def text(name: str) -> str:
    return (CAPTURES / name).read_text(encoding="utf-8", errors="replace")


# file: GPU agents by target, CPU agents, module version, runtime version
LISTINGS: dict[str, tuple[dict[str, int], int, str | None, str | None]] = {
    "delaunay-regression/rocminfo.txt": ({"gfx906": 8}, 4, None, "1.1"),
    "gunrock/rocminfo.txt": ({"gfx942": 8}, 2, "6.9.4", "1.18"),
    "shashankparsi-hip-programming/rocminfo.txt": ({"gfx942": 4}, 4, "6.7.6", "1.13"),
    "kamali-llama-gfx906/rocminfo.txt": ({"gfx906": 1, "gfx1030": 1}, 1, "6.16.6", "1.18"),
    "lamikr-rocm-sdk-builder/g4ad-v520-gfx1011-mixed.txt": ({"gfx1011": 1}, 1, None, "1.13"),
    "mm2-gb/rocminfo.txt": ({"gfx908": 4}, 2, None, "1.1"),
    "rocm-blogs/rocminfo.txt": ({"gfx90a": 8}, 2, None, "1.1"),
    "spatter/rocminfo.txt": ({"gfx90a": 1}, 8, "6.10.5", "1.14"),
    "nam20485-amd-jax/rocminfo.txt": ({"gfx1030": 1}, 1, None, "1.18"),
    "tsm2x-imp/rocminfo.txt": ({"gfx908": 4}, 2, None, "1.1"),
    "stas00-ml-engineering/rocminfo-first-agents.txt": ({"gfx942": 1}, 1, None, "1.1"),
    "rocm-systems/rocminfo-doc-gfx941.txt": ({"gfx941": 1}, 1, None, "1.1"),
    "rocm-issue-5817/rocminfo.txt": ({"gfx1151": 1}, 1, "6.16.6", "1.18"),
    "rocm-issue-1384/rocminfo-other-host-gfx803.txt": ({"gfx803": 1}, 1, None, "1.1"),
}


@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_rocminfo_listings(name: str) -> None:
    info = rocminfo.parse(text(name))
    gpus, cpus, module, runtime = LISTINGS[name]
    assert info.error is None
    assert Counter(a.gfx for a in info.gpus) == gpus
    assert sum(a.device_type == "CPU" for a in info.agents) == cpus
    assert info.module_version == module
    if name != "lamikr-rocm-sdk-builder/g4ad-v520-gfx1011-mixed.txt":
        assert info.runtime_version == runtime
    assert all(a.node is not None and a.chip_id and a.pool_bytes for a in info.gpus)


def test_every_rocminfo_capture_is_in_the_table() -> None:
    errors = {"rocm-issue-1384/rocminfo-not-loaded.txt", "errors-render-group/rocminfo-wrapped.txt"}
    found = {str(p.relative_to(CAPTURES)) for p in CAPTURES.glob("*/rocminfo*.txt")}
    assert found - errors <= LISTINGS.keys()


def test_the_gpu_after_eight_numa_nodes_is_agent_nine() -> None:
    (gpu,) = rocminfo.parse(text("spatter/rocminfo.txt")).gpus
    assert (gpu.number, gpu.node) == (9, 8)


def test_the_apu_with_two_isas() -> None:
    (gpu,) = rocminfo.parse(text("rocm-issue-5817/rocminfo.txt")).gpus
    assert gpu.isa == ("amdgcn-amd-amdhsa--gfx1151", "amdgcn-amd-amdhsa--gfx11-generic")
    assert gpu.apu
    assert gpu.pool_bytes == 65507932 * 1024


@pytest.mark.parametrize(
    ("name", "error"),
    [("rocm-issue-1384/rocminfo-not-loaded.txt", "not-loaded"), ("errors-render-group/rocminfo-wrapped.txt", "permission")],
)
def test_rocminfo_error_texts(name: str, error: str) -> None:
    info = rocminfo.parse(text(name), "", 1)
    assert (info.error, info.agents) == (error, ())


@pytest.mark.parametrize(
    ("name", "count", "driver"),
    [
        ("telegraf/mi100_rocm571.json", 6, "6.2.4"),
        ("telegraf/rx6700xt_rocm430.json", 1, "6.3.6"),
        ("telegraf/rx6700xt_rocm612.json", 1, "6.3.6"),
        ("telegraf/vega-20-WKS-GL-XE.json", 1, "5.9.17"),
        ("rocm-systems/rocm-smi-mi300a-4.txt", 4, None),
        ("stas00-ml-engineering/rocm-smi-mi300x-8.txt", 8, None),
        ("dstack-benchmarks/rocm-smi-topo-mi300x-8.txt", 8, None),
        ("dstack-benchmarks/rocm-smi-mi300x-8.txt", 8, None),
        ("amdsmi/amd-smi-static-mi300a-4.txt", 4, "6.9.0-rc5+"),
    ],
)
def test_management_tools(name: str, count: int, driver: str | None) -> None:
    answer = smi.parse("x", text(name))
    assert (answer.ok, answer.gpus, answer.driver_version) == (True, count, driver)


@pytest.mark.parametrize(
    ("name", "torch", "hip", "release", "usable", "wsl"),
    [
        ("dstack-benchmarks/collect_env-mi300x-rocm61.txt", "2.4.1+rocm6.1", "6.1.40091-a8dbc0c19", "6.1", True, False),
        (
            "dstack-benchmarks/collect_env-mi300x-rocm62-nightly.txt",
            "2.6.0.dev20240918+rocm6.2",
            "6.2.41133-dd7f95766",
            "6.2",
            True,
            False,
        ),
        ("rocm-issue-4864/collect_env.txt", "2.8.0.dev20250529+rocm6.4", "6.4.43482-0f2d60242", "6.4", False, True),
        ("therock-nightly-gfx1151/collect_env.txt", "2.11.0a0+rocm7.11.0a20260106", "7.2.53150", "7.11.0", True, False),
        ("gfx1150-rocm72/collect_env.txt", "2.9.1+rocm7.2.0.git7e1940d4", "7.2.26015-fc0010cf6a", "7.2.0", True, False),
        ("wsl-7900xtx/collect_env.txt", "2.4.0+rocm6.3.4.git7cecbf6d", "6.3.42134-a9a80e791", "6.3.4", True, True),
    ],
)
def test_collect_env_reports(name: str, torch: str, hip: str, release: str, usable: bool, wsl: bool) -> None:
    report = collect_env.parse(text(name))
    assert (report.torch, report.build, report.hip, report.rocm_release) == (torch, "rocm", hip, release)
    assert (report.gpu_usable, report.is_wsl) == (usable, wsl)
    assert report.os and report.os.startswith("Ubuntu")


def cases() -> list[Path]:
    return sorted(p.parent for p in CASES.glob("*/snapshot.json"))


@pytest.mark.parametrize("case", cases(), ids=lambda p: p.name.partition("-")[0])
def test_every_host_is_read(case: Path) -> None:
    """Nothing but UnknownFact comes out, and the tools' recorded outputs are all understood."""
    host = open_snapshot(case)
    for gather in (rocminfo.gather, smi.gather_amd_smi, smi.gather_rocm_smi):
        try:
            answer = gather(host)
        except UnknownFact:
            continue
        assert answer.error not in ("other", "crash")
    found = rocm.gather(host)
    assert sum(i.active for i in found.installs) == bool(found.installs)
    assert all(i.version and not i.hollow for i in found.installs)
    for env in pythons.gather(host):
        assert env.version
        assert env.torch is None or env.torch.build == "cpu" or env.torch.hip or env.torch.cuda


@pytest.mark.parametrize("case", cases(), ids=lambda p: p.name.partition("-")[0])
def test_every_recorded_torch_is_found(case: Path) -> None:
    recorded = {str(p.parent)[len(str(case / "files")) :] for p in case.glob("files/**/torch/version.py")}
    assert {env.torch.path for env in pythons.gather(open_snapshot(case)) if env.torch} == recorded


def test_rocminfo_of_every_host_by_error() -> None:
    """The sum over all hosts: a change of the parser shows here."""
    seen: Counter[str | None] = Counter()
    for case in cases():
        entries = json.loads((case / "commands.json").read_text())
        for entry in entries:
            if entry["argv"] == ["rocminfo"] and entry["program"] and not entry.get("timed_out"):
                seen[rocminfo.parse(entry["stdout"], entry["stderr"], entry["rc"]).error] += 1
    assert seen.pop(None) > 30
    assert set(seen) == {
        "not-loaded", "kfd-missing", "permission", "kfd-open", "out-of-resources", "hsa-error", "no-gpu-agent", "symbol-missing",
    }  # fmt: skip
