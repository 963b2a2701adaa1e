"""The deep check of hipcc with stand-ins for the compiler: scripts, and this machine's C++ compiler with a HIP of its own."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.facts import deep
from rocmdoctor.matrix import load_matrix
from rocmdoctor.results import Result, Status
from tests.checks.live_programs import LivePrograms, script
from tests.hostbuilder import HostBuilder

HIPCC = "/opt/rocm-6.2.0/bin/hipcc"
ID = "rocm_install.compiles"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch folders are made: it must be empty afterwards."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def hipcc(folder: Path, program: str, first: str = "") -> Path:
    """A compiler that notes its arguments and makes `program`, a script."""
    return script(
        folder,
        "hipcc",
        f"""\
echo "$@" >> "{folder}/arguments"
[ -e vector_add.cpp ] || exit 9
{first}
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
cat > "$out" <<'END'
#!/bin/sh
{program}
END
chmod +x "$out\"""",
    )


def judged(compiler: Path, builder: HostBuilder | None = None) -> Result:
    host = LivePrograms((builder or HostBuilder()).build(), {HIPCC: compiler})
    (result,) = examine(host, load_matrix(), only=[ID], deep=True, plugins=False).results
    assert result.id == ID
    return result


def said(result: Result) -> str:
    return "\n".join(e.value for e in result.evidence)


def steps(*lines: str) -> str:
    return "cat <<'EOF'\n" + "\n".join(f"@rocmdoctor {line}" for line in lines) + "\nEOF"


COUNT = '{"stage": "count", "state": "done", "device": 0, "count": 1}'
DEVICE = '{"stage": "device", "state": "done", "device": 0, "gfx": "gfx1100"}'
RIGHT = '{"stage": "compute", "state": "done", "device": 0, "error": 0}'
END = '{"stage": "end", "state": "done", "device": 0}'


def test_a_compiler_that_works(tmp_path: Path, place: Path) -> None:
    assert judged(hipcc(tmp_path, steps(COUNT, DEVICE, RIGHT, END))).status is Status.PASS
    (arguments,) = (tmp_path / "arguments").read_text().splitlines()
    assert arguments.startswith(f"--offload-arch=gfx1100 -o {place}/rocmdoctor-")
    assert list(place.iterdir()) == []


CANNOT_COMPILE = [
    (
        "echo \"/opt/rocm/x/__clang_hip_runtime_wrapper.h:50:10: fatal error: 'cmath' file not found\" >&2; exit 1",
        "fatal error: 'cmath' file not found",
        "C++ headers",
    ),
    ("echo 'ld.lld: error: unable to find library -lstdc++' >&2; exit 1", "-lstdc++", "C++ headers"),
    ("echo \"vector_add.cpp:2:10: fatal error: 'hip/hip_runtime.h' file not found\" >&2; exit 1", "hip_runtime.h", "SDK"),
    ("echo 'clang: error: cannot find ROCm device library' >&2; exit 1", "device library", "SDK"),
    ("echo 'error: unsupported HIP gpu architecture: gfx1100' >&2; exit 1", "gfx1100", "older than the GPU"),
    ("echo 'sh: 1: /usr/local/cuda/bin/nvcc: not found' >&2; exit 127", "nvcc", "HIP_PLATFORM"),
    ("echo 'fatal error: error in backend: No space left on device' >&2; exit 1", "No space left", "full"),
    ("echo 'something else' >&2; exit 1", "something else", "already built"),
    ("exit 1", "no output", "already built"),
]


@pytest.mark.parametrize(("script_text", "told", "meaning"), CANNOT_COMPILE)
def test_a_compiler_that_fails(script_text: str, told: str, meaning: str, tmp_path: Path, place: Path) -> None:
    result = judged(hipcc(tmp_path, "", script_text))
    assert result.status is Status.FAIL and result.fixes
    assert told in said(result) and meaning in result.detail
    assert str(place) not in result.title + said(result)
    assert list(place.iterdir()) == []


def test_the_compilers_temporary_files_are_gone_after_a_time_out(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep, "COMPILE_LIMIT", 1.0)
    start = time.monotonic()
    result = judged(hipcc(tmp_path, "", 'mkdir "$TMPDIR/cc1"; : > "$TMPDIR/cc1/x.o"; echo compiling >&2; sleep 60 & wait'))
    assert (result.status, result.title) == (Status.FAIL, "hipcc hangs (stopped after 1 s)")
    assert "compiling" in said(result) and time.monotonic() - start < 10
    assert list(place.iterdir()) == []


def test_a_compiler_that_crashes(tmp_path: Path) -> None:
    assert judged(hipcc(tmp_path, "", "kill -SEGV $$")).title == "hipcc crashes (SIGSEGV)"


RUNS = [
    (
        "kill -SEGV $$",
        "The program that hipcc compiled crashes (SIGSEGV)",
        Status.FAIL,
    ),
    (
        steps(COUNT, DEVICE, '{"stage": "compute", "state": "begun", "device": 0}')
        + "\necho 'Memory access fault by GPU node-1' >&2; kill -ABRT $$",
        "The program that hipcc compiled crashes (SIGABRT) on GPU 0",
        Status.FAIL,
    ),
    (
        "echo 'error while loading shared libraries: libamdhip64.so.6: cannot open shared object file' >&2; exit 127",
        "The program that hipcc compiled does not start (exit status 127)",
        Status.FAIL,
    ),
    (
        steps('{"stage": "count", "state": "failed", "device": 0, "kind": "hipErrorNoDevice", "text": "hipGetDeviceCount"}', END),
        "The program that hipcc compiled finds no GPU",
        Status.FAIL,
    ),
    (
        steps('{"stage": "count", "state": "done", "device": 0, "count": 0}', END),
        "The program that hipcc compiled finds no GPU",
        Status.FAIL,
    ),
    (
        steps(
            COUNT,
            DEVICE,
            '{"stage": "compute", "state": "failed", "device": 0, "kind": "hipErrorOutOfMemory", "text": "hipMalloc"}',
            END,
        ),
        "The program that hipcc compiled fails on GPU 0",
        Status.WARN,
    ),
    (
        steps(COUNT, DEVICE, '{"stage": "compute", "state": "done", "device": 0, "error": 1}', END),
        "The program that hipcc compiled adds wrong on GPU 0",
        Status.FAIL,
    ),
    (
        steps(COUNT, DEVICE, RIGHT, '{"stage": "device", "state": "done", "device": 1, "gfx": "gfx1036"}')
        + "\n"
        + steps('{"stage": "compute", "state": "failed", "device": 1, "kind": "hipErrorNoBinaryForGpu", "text": "x"}', END),
        "hipcc compiles a program that runs",
        Status.PASS,
    ),
]


@pytest.mark.parametrize(("program", "title", "status"), RUNS)
def test_what_the_program_does(program: str, title: str, status: Status, tmp_path: Path, place: Path) -> None:
    result = judged(hipcc(tmp_path, program))
    assert (result.title, result.status) == (title, status)
    assert list(place.iterdir()) == []


def test_a_program_that_hangs(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "RUN_LIMIT", 1.0)
    result = judged(hipcc(tmp_path, "echo waiting >&2; sleep 60"))
    assert result.title == "The program that hipcc compiled hangs (stopped after 1 s)" and "waiting" in said(result)
    assert list(place.iterdir()) == []


def test_a_target_that_the_compiler_refuses(tmp_path: Path) -> None:
    """An old compiler and a newer integrated GPU: the discrete one is served, and that is what counts."""
    refuses = 'case "$*" in *gfx1150*) echo "error: unsupported HIP gpu architecture: gfx1150" >&2; exit 1;; esac'
    compiler = hipcc(tmp_path, steps(COUNT, DEVICE, RIGHT, END), refuses)
    builder = HostBuilder().gpus("gfx1150").add_gpus("gfx1100").torch("2.5.1+rocm6.2")
    result = judged(compiler, builder)
    assert (result.status, result.title) == (Status.WARN, "hipcc does not compile for gfx1150")
    assert [line.count("--offload-arch") for line in (tmp_path / "arguments").read_text().splitlines()] == [2, 1]


def test_a_host_without_a_compiler_is_not_judged() -> None:
    host = LivePrograms(HostBuilder().remove(HIPCC).build(), {})
    (result,) = examine(host, load_matrix(), only=[ID], deep=True, plugins=False).results
    assert (result.status, result.detail) == (Status.SKIP, "the active ROCm has no hipcc")


def test_a_recorded_host_is_unknown() -> None:
    (result,) = examine(HostBuilder().build(), load_matrix(), only=[ID], deep=True, plugins=False).results
    assert (result.status, result.detail) == (Status.SKIP, "unknown: programs are not run on a recorded host")


# the program itself, compiled ----------------------------------------------------------------------------------------

STUB = r"""
#pragma once
#include <cstdlib>
#include <cstring>
#define __global__
enum { hipSuccess = 0, hipErrorNoDevice = 100, hipErrorInvalidDeviceFunction = 98 };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
typedef int hipError_t;
struct dim3 { int x; explicit dim3(int v) : x(v) {} };
struct hipDeviceProp_t { char gcnArchName[256]; };
static struct { int x; } blockIdx, blockDim, threadIdx;
static int stub(const char* name, int otherwise) { const char* v = getenv(name); return v ? atoi(v) : otherwise; }
static hipError_t hipGetDeviceCount(int* n) { *n = stub("STUB_GPUS", 1); return *n ? hipSuccess : hipErrorNoDevice; }
static hipError_t hipGetDeviceProperties(hipDeviceProp_t* p, int) { strcpy(p->gcnArchName, "gfx1100"); return hipSuccess; }
static hipError_t hipSetDevice(int) { return hipSuccess; }
static hipError_t hipMalloc(void** p, size_t n) { *p = malloc(n); return hipSuccess; }
static hipError_t hipMemcpy(void* to, const void* from, size_t n, hipMemcpyKind) { memcpy(to, from, n); return hipSuccess; }
static hipError_t hipGetLastError() { return stub("STUB_LAUNCH", hipSuccess); }
static hipError_t hipDeviceSynchronize() { return hipSuccess; }
static const char* hipGetErrorName(hipError_t e) { return e == 100 ? "hipErrorNoDevice" : "hipErrorInvalidDeviceFunction"; }
#define hipLaunchKernelGGL(kernel, blocks, threads, shared, stream, ...)                   \
  for (blockIdx.x = 0, blockDim.x = threads.x; blockIdx.x < blocks.x - stub("STUB_LAZY", 0); ++blockIdx.x) \
    for (threadIdx.x = 0; threadIdx.x < threads.x; ++threadIdx.x) kernel(__VA_ARGS__)
"""


@pytest.mark.parametrize(
    ("environment", "status", "told"),
    [
        ("", Status.PASS, ""),
        ("STUB_GPUS=3", Status.PASS, ""),
        ("STUB_GPUS=0", Status.FAIL, "hipGetDeviceCount: hipErrorNoDevice"),
        ("STUB_LAUNCH=98", Status.FAIL, "the kernel's launch: hipErrorInvalidDeviceFunction"),
        ("STUB_LAZY=128", Status.FAIL, "50% of the sums are wrong"),
    ],
)
def test_the_program_compiled(
    environment: str, status: Status, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime.h").write_text(STUB)
    real = script(
        tmp_path,
        "hipcc",
        f"""\
for a; do case $a in --offload-arch=*) shift;; *) break;; esac; done
{compiler} -Wall -Wno-unused-function -Werror -I "{tmp_path}" "$@" || exit
mv "$2" "$2.real"
printf '#!/bin/sh\\n{environment} exec "$0.real"\\n' > "$2"
chmod +x "$2\"""",
    )
    result = judged(real)
    assert result.status is status, said(result)
    assert told in said(result)
