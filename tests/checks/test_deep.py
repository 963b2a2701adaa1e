"""Deep checks of PyTorch with interpreters that work, hang, crash, lie and compute nonsense; a stand-in is imported as torch."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from rocmdoctor import engine
from rocmdoctor.examination import examine
from rocmdoctor.facts import deep
from rocmdoctor.host import Host
from rocmdoctor.matrix import load_matrix
from rocmdoctor.results import Report, Result, Status
from tests.checks.live_programs import LivePrograms, python_with_torch, script, survivors
from tests.hostbuilder import HostBuilder

PYTHON = "/home/user1/venv/bin/python"
IDS = ("torch_build.imports", "torch_build.sees-gpus", "torch_arch.computes")


def report(host: Host, *only: str) -> Report:
    return examine(host, load_matrix(), only=only or IDS, deep=True, plugins=False)


def judged(python: Path, builder: HostBuilder | None = None) -> dict[str, Result]:
    """The results by id; a result of another check would be a second root cause."""
    found = report(LivePrograms((builder or HostBuilder()).build(), {PYTHON: python})).results
    assert {r.id for r in found} <= set(IDS)
    return {r.id: r for r in found}


def text(result: Result) -> str:
    return "\n".join([result.title, result.detail, *(e.value for e in result.evidence)])


def test_a_torch_that_works(tmp_path: Path) -> None:
    results = judged(python_with_torch(tmp_path, gpus=2), HostBuilder().gpus(count=2))
    assert {r.status for r in results.values()} == {Status.PASS}
    assert list((tmp_path / "lib" / "torch").iterdir()) == [tmp_path / "lib" / "torch" / "__init__.py"], "no byte code"


BROKEN: dict[str, tuple[str, dict[str, object], str, str]] = {
    # the failed check, the behaviour, the title, and what must be told besides
    "library": (
        "torch_build.imports",
        {"import": "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory"},
        "import torch fails: ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory",
        "does not find a library",
    ),
    "symbol": (
        "torch_build.imports",
        {"import": "ImportError: /x/libtorch_hip.so: undefined symbol: hipFoo, version hip_6.0"},
        "import torch fails: ImportError: /x/libtorch_hip.so: undefined symbol: hipFoo, version hip_6.0",
        "of another release",
    ),
    "dependency": (
        "torch_build.imports",
        {"import": "ModuleNotFoundError: No module named 'typing_extensions'"},
        "import torch fails: ModuleNotFoundError: No module named 'typing_extensions'",
        "not installed",
    ),
    "exit in the import": ("torch_build.imports", {"import": "SystemExit: 0"}, "import torch fails: SystemExit: 0", ""),
    "crash in the import": ("torch_build.imports", {"import": "segfault"}, "import torch crashes (SIGSEGV)", "in behave"),
    "out of host memory": ("torch_build.imports", {"import": "kill"}, "import torch crashes (SIGKILL)", "out-of-memory killer"),
    "quiet end": ("torch_build.imports", {"import": "leave"}, "import torch ends early (exit status 3)", ""),
    "abort": (
        "torch_build.imports",
        {"import": "abort hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"},
        "import torch crashes (SIGABRT)",
        "no code for this GPU's target",
    ),
    "no GPU": (
        "torch_build.sees-gpus",
        {"gpus": 0},
        "torch.cuda.is_available() is false: torch sees no GPU",
        "No HIP GPUs are available",
    ),
    "count raises": (
        "torch_build.sees-gpus",
        {"available": "RuntimeError: HIP driver error"},
        "torch cannot count the GPUs: RuntimeError: HIP driver error",
        "does not take the GPU",
    ),
    "crash while counting": (
        "torch_build.sees-gpus",
        {"available": "segfault"},
        "Looking for GPUs with torch crashes (SIGSEGV)",
        "in is_available",
    ),
    "device cannot be opened": (
        "torch_build.sees-gpus",
        {"device_0": "RuntimeError: hipErrorInvalidDevice"},
        "torch cannot open GPU 0: RuntimeError: hipErrorInvalidDevice",
        "",
    ),
    "no code": (
        "torch_arch.computes",
        {"compute_0": "RuntimeError: HIP error: invalid device function\nHIP kernel errors might be asynchronously reported"},
        "torch cannot multiply two matrices on GPU 0 (Radeon RX 7900 XTX): RuntimeError: HIP error: invalid device function",
        "no code for this GPU's target",
    ),
    "memory fault": (
        "torch_arch.computes",
        {"compute_0": "abort Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present"},
        "A small matrix multiplication on GPU 0 (Radeon RX 7900 XTX) crashes (SIGABRT)",
        "memory that is not mapped",
    ),
    "wrong in single precision": (
        "torch_arch.computes",
        {"wrong_0_float32": 0.0},
        "torch computes wrong numbers on GPU 0 (Radeon RX 7900 XTX)",
        "float32 deviates by 100.00% of the largest value; 0.5% is allowed",
    ),
    "wrong in half precision": (
        "torch_arch.computes",
        {"wrong_0_float16": 1.05},
        "torch computes wrong numbers on GPU 0 (Radeon RX 7900 XTX)",
        "float16 deviates by 5.00% of the largest value; 3.0% is allowed",
    ),
    "not a number": (
        "torch_arch.computes",
        {"wrong_0_float32": math.nan},
        "torch computes wrong numbers on GPU 0 (Radeon RX 7900 XTX)",
        "float32 is not a number",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_failure_with_its_reason(name: str, tmp_path: Path) -> None:
    failed, behaviour, title, told = BROKEN[name]
    results = judged(python_with_torch(tmp_path, **behaviour))
    assert [r.id for r in results.values() if r.status is Status.FAIL] == [failed]
    assert results[failed].title == title
    assert told in text(results[failed]) and results[failed].fixes
    for later in IDS[IDS.index(failed) + 1 :]:
        assert (results[later].status, results[later].because_of) == (Status.SKIP, failed)
    for earlier in IDS[: IDS.index(failed)]:
        assert results[earlier].status is Status.PASS


def test_a_dependency_that_is_missing_is_named_in_the_fix(tmp_path: Path) -> None:
    results = judged(python_with_torch(tmp_path, **{"import": "ModuleNotFoundError: No module named 'sympy.core'"}))
    assert results[IDS[0]].fixes[0].commands == ((PYTHON, "-m", "pip", "install", "sympy"),)


HANGS = {
    "import": ("torch_build.imports", "import torch hangs (stopped after 2 s)"),
    "available": ("torch_build.sees-gpus", "Looking for GPUs with torch hangs (stopped after 2 s)"),
    "compute_0": (
        "torch_arch.computes",
        "A small matrix multiplication on GPU 0 (Radeon RX 7900 XTX) hangs (stopped after 2 s)",
    ),
}


@pytest.mark.parametrize("where", HANGS)
def test_a_hang_is_a_finding_and_leaves_no_process(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, title = HANGS[where]
    monkeypatch.setattr(deep, "TORCH_LIMIT", 2.0)
    start = time.monotonic()
    results = judged(python_with_torch(tmp_path, **{where: "hang"}))
    assert time.monotonic() - start < 15, "three checks share one run"
    assert [r.id for r in results.values() if r.status is Status.FAIL] == [failed]
    assert results[failed].title == title
    assert "waiting for the GPU" in text(results[failed])
    assert survivors(tmp_path) == []


def test_a_crash_at_the_end_is_a_warning(tmp_path: Path) -> None:
    results = judged(python_with_torch(tmp_path, end="segfault"))
    assert [r.status for r in results.values()] == [Status.PASS, Status.PASS, Status.WARN]
    assert results["torch_arch.computes"].title == "Python crashes (SIGSEGV) at its end, after all computations"


def test_a_flood_of_output_hides_nothing(tmp_path: Path) -> None:
    """1 GiB on standard output: the steps have a stream of their own."""
    results = judged(python_with_torch(tmp_path, **{"import": "flood"}))
    assert {r.status for r in results.values()} == {Status.PASS}


NO_PYTHON = {
    "nothing": ("exit 0", "ends early (exit status 0)"),
    "a signal of the shell's child": (f'sh -c "kill -SEGV $$"; exit 139', "crashes (SIGSEGV)"),  # noqa: F541
    "garbage": (
        "head -c 1000000 /dev/urandom; printf '\\n@rocmdoctor {{{\\n@rocmdoctor []\\n'; exit 1",
        "ends early (exit status 1)",
    ),
    "no loader": (
        "echo 'error while loading shared libraries: libpython3.10.so' >&2; exit 127",
        "does not start (exit status 127)",
    ),
    "unknown format": ("#!/no/such/interpreter\n", "does not start (exit status 126)"),
}


@pytest.mark.parametrize("name", NO_PYTHON)
def test_what_is_no_interpreter(name: str, tmp_path: Path) -> None:
    program, ending = NO_PYTHON[name]
    results = judged(script(tmp_path, "python", program))
    assert results[IDS[0]].status is Status.FAIL
    assert results[IDS[0]].title == f"{PYTHON}, given a small program, {ending}"
    assert all(e.value.isprintable() and len(e.value) < 400 for e in results[IDS[0]].evidence)
    assert [r.status for r in results.values()].count(Status.SKIP) == 2


def test_endless_output_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "TORCH_LIMIT", 1.0)
    result = judged(script(tmp_path, "python", 'yes \'@rocmdoctor {"stage": "import", "state": "begun"}\''))[IDS[0]]
    assert (result.status, result.title) == (Status.FAIL, "import torch hangs (stopped after 1 s)")


def test_a_liar_breaks_nothing(tmp_path: Path) -> None:
    lines = [
        {"stage": "import", "state": "done", "version": 5, "hip": ["x"]},
        {"stage": "count", "state": "done", "available": "yes", "count": 10**30},
        {"stage": "device", "state": "failed", "device": -5, "kind": "\x1b[2J" * 100, "text": "\u202e" * 3000},
        {"stage": "end", "state": "done"},
    ]
    import json

    text_of = "\n".join(f"@rocmdoctor {json.dumps(line)}" for line in lines)
    results = judged(script(tmp_path, "python", f"cat <<'END'\n{text_of}\nEND"))
    assert Status.ERROR not in {r.status for r in results.values()}
    assert all(r.title.isprintable() for r in results.values())


# several GPUs ----------------------------------------------------------------------------------------------------


def test_gpus_that_fail_alike_are_one_finding(tmp_path: Path) -> None:
    oops = "RuntimeError: HIP error: unspecified launch failure"
    python = python_with_torch(tmp_path, gpus=3, compute_0=oops, compute_1=oops, compute_2=oops)
    found = report(LivePrograms(HostBuilder().gpus(count=3).build(), {PYTHON: python}), "torch_arch.computes").results
    assert [r.title for r in found] == [f"torch cannot multiply two matrices on GPU 0 (Radeon RX 7900 XTX) and 2 more: {oops}"]


def test_one_gpu_without_code_beside_one_that_works_is_a_warning(tmp_path: Path) -> None:
    python = python_with_torch(tmp_path, gpus=2, compute_1="RuntimeError: HIP error: no kernel image is available")
    assert judged(python, HostBuilder().gpus(count=2))["torch_arch.computes"].status is Status.WARN


def test_a_full_gpu_is_a_warning(tmp_path: Path) -> None:
    python = python_with_torch(tmp_path, compute_0="RuntimeError: HIP out of memory. Tried to allocate 2.00 MiB")
    result = judged(python)["torch_arch.computes"]
    assert result.status is Status.WARN and "hold the GPU's memory" in result.detail


COUNTS = [
    (HostBuilder().gpus(count=2), 2, Status.PASS),
    (HostBuilder().gpus(count=2), 1, Status.WARN),
    (HostBuilder().gpus(count=2).env(HIP_VISIBLE_DEVICES="1"), 1, Status.PASS),
    (HostBuilder().gpus("gfx1100").add_gpus("gfx1036").torch("2.5.1+rocm6.2"), 1, Status.PASS),
    (HostBuilder().gpus("gfx1100").add_gpus("gfx1036").torch("2.5.1+rocm6.2"), 2, Status.PASS),
]


@pytest.mark.parametrize(("builder", "seen", "status"), COUNTS)
def test_the_number_of_gpus(builder: HostBuilder, seen: int, status: Status, tmp_path: Path) -> None:
    assert judged(python_with_torch(tmp_path, gpus=seen), builder)["torch_build.sees-gpus"].status is status


# where nothing is run ----------------------------------------------------------------------------------------------


def test_an_earlier_failure_explains_it(tmp_path: Path) -> None:
    """Nothing is run on a host whose user may not open the GPU: one root cause, one failure."""
    host = LivePrograms(HostBuilder().with_fault("fault_not_in_group").build(), {PYTHON: script(tmp_path, "python", "touch ran")})
    found = report(host)
    assert found.root_causes == ("permissions.kfd-access",)
    assert {r.because_of for r in found.results if r.id in IDS} == {"permissions.kfd-access"}
    assert not (tmp_path / "ran").exists()


def test_a_build_for_another_gpu_is_not_run(tmp_path: Path) -> None:
    host = LivePrograms(HostBuilder().torch("2.5.1+cu124").build(), {PYTHON: script(tmp_path, "python", "exit 1")})
    assert report(host).root_causes == ("torch_build.rocm",)


@pytest.mark.parametrize("builder", [HostBuilder(), HostBuilder().no_torch(), HostBuilder().no_gpus()])
def test_recorded_hosts_and_hosts_without_a_gpu_skip(builder: HostBuilder) -> None:
    results = [r for r in report(builder.build()).results if r.id in IDS]
    assert {r.status for r in results} == {Status.SKIP} and len(results) == 3
    assert all(len(r.detail) < 300 for r in results)


def test_a_recorded_interpreter_without_this_answer_is_unknown() -> None:
    host = HostBuilder().command([PYTHON, "--version"], stdout="Python 3.10.12\n").meta(captured=["/*", f"cmd:{PYTHON}"]).build()
    results = [r for r in report(host, "torch_build.imports").results if r.id == "torch_build.imports"]
    assert all(r.status is Status.SKIP and "import faulthandler" not in r.detail for r in results)


def test_without_deep_they_are_no_part_of_the_run() -> None:
    host = HostBuilder().build()
    assert not {r.id for r in examine(host, load_matrix(), plugins=False).results} & set(IDS)
    assert not {r.id for r in examine(host, load_matrix(), only=["torch_build"], plugins=False).results} & set(IDS)
    for wrong in ("torch_build.imports", "torch_build.sees*"):
        with pytest.raises(engine.UnknownCheck, match="--deep"):
            examine(host, load_matrix(), only=[wrong], plugins=False)
    examine(host, load_matrix(), only=["kernel"], skip=IDS, plugins=False)
