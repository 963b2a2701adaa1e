"""Reports of torch.utils.collect_env as they are pasted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import collect_env

REPORT = """Collecting environment information...
PyTorch version: 2.9.1+rocm7.2.0.git7e1940d4
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 7.2.26015-fc0010cf6a

OS: Ubuntu 24.04.3 LTS (x86_64)
Libc version: glibc-2.39

Python version: 3.12.3 (main, Jan  8 2026, 11:30:50) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.17.0-1012-oem-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: AMD Radeon Graphics (gfx1150)
HIP runtime version: 7.2.26015

Versions of relevant libraries:
[pip3] numpy==2.4.1
[pip3] torch==2.9.1+rocm7.2.0.lw.git7e1940d4
[conda] torch                     2.0.0                    pypi_0    pypi
[conda] No relevant packages
ROCM Version: 9.9.9
vLLM Build Flags:
CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled
"""


def test_a_rocm_report() -> None:
    report = collect_env.parse(REPORT)
    assert (report.torch, report.build, report.hip, report.cuda) == (
        "2.9.1+rocm7.2.0.git7e1940d4",
        "rocm",
        "7.2.26015-fc0010cf6a",
        None,
    )
    assert (report.rocm_release, report.hip_runtime, report.os) == ("7.2.0", "7.2.26015", "Ubuntu 24.04.3 LTS (x86_64)")
    assert (report.kernel, report.python, report.gpu_usable, report.gfx) == ("6.17.0-1012-oem", "3.12.3", True, ("gfx1150",))
    assert report.packages == {"numpy": "2.4.1", "torch": "2.9.1+rocm7.2.0.lw.git7e1940d4"}
    assert not report.is_wsl


def test_a_cuda_report_from_wsl() -> None:
    text = (
        "PyTorch version: 2.9.1+cu128\nCUDA used to build PyTorch: 12.8\nROCM used to build PyTorch: N/A\n"
        "Python platform: Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.35\nIs CUDA available: False\n"
        "HIP runtime version: N/A\nGPU models and configuration: No CUDA\n"
    )
    report = collect_env.parse(text)
    assert (report.build, report.cuda, report.hip, report.rocm_release, report.hip_runtime) == ("cuda", "12.8", None, None, None)
    assert report.is_wsl
    assert (report.gpu_usable, report.gfx) == (False, ())


def test_a_text_without_a_report() -> None:
    report = collect_env.parse("hello: world\n")
    assert (report.torch, report.build, report.os, report.gpu_usable, report.packages) == (None, None, None, None, {})


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    collect_env.parse(text)
    collect_env.parse("PyTorch version: " + text + "\nROCM used to build PyTorch: " + text + "\n[pip3] " + text)
