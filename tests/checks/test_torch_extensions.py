"""vLLM, bitsandbytes and flash-attn: wrong builds beside right ones. The default host has torch 2.5.1+rocm6.2 and Python 3.10."""

from __future__ import annotations

import pytest

from tests.checks.judged import fixes, judge, status, warning
from tests.hostbuilder import HostBuilder

SITE = "/home/user1/venv/lib/python3.10/site-packages"
VLLM, BITSANDBYTES, FLASH = "python.vllm", "python.bitsandbytes", "python.flash-attn"


def nvidia(builder: HostBuilder) -> HostBuilder:
    device = "/sys/bus/pci/devices/0000:41:00.0"
    made = builder.file(f"{device}/vendor", "0x10de\n").file(f"{device}/device", "0x2684\n")
    return made.file(f"{device}/class", "0x030000\n")


# vLLM ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.8.5+rocm640", "0.8.4+rocm624", "0.9.1.dev7+g12ab.rocm620"])
def test_vllm_of_torchs_rocm(version: str) -> None:
    assert status(HostBuilder().distribution("vllm", version), VLLM) == "pass"


def test_vllm_of_another_rocm() -> None:
    found = warning(HostBuilder().distribution("vllm", "0.18.0+rocm721"), VLLM)
    assert "built for ROCm 7" in found.title and "of ROCm 6.2" in found.title


def test_vllm_for_cuda() -> None:
    cuda = HostBuilder().distribution("vllm", "0.8.5").file(f"{SITE}/vllm/_C.abi3.so")
    found = warning(cuda, VLLM)
    assert "CUDA build" in found.title and "Python 3.12" in found.detail and "3.10" in found.detail
    assert status(nvidia(cuda), VLLM) == "pass"
    assert status(cuda.file(f"{SITE}/vllm/_rocm_C.abi3.so"), VLLM) == "pass", "built from source without a tag"


def test_vllm_that_tells_nothing() -> None:
    assert status(HostBuilder().distribution("vllm", "0.8.5"), VLLM) == "pass"


def test_vllm_without_kernels_for_the_gpu() -> None:
    base = HostBuilder().distro("ubuntu", "24.04").rocm("7.2.0").torch("2.11.0+rocm7.2")
    assert "no kernels for gfx1030" in warning(base.gpus("gfx1030").distribution("vllm", "0.18.0+rocm721"), VLLM).title
    assert status(base.gpus("gfx1100").distribution("vllm", "0.18.0+rocm721"), VLLM) == "pass"
    assert status(base.gpus("gfx1030").distribution("vllm", "0.8.5+rocm720"), VLLM) == "pass", "older builds are one's own"


# bitsandbytes ----------------------------------------------------------------------------------------------------


def bitsandbytes(*libraries: str, base: HostBuilder | None = None) -> HostBuilder:
    made = (base or HostBuilder()).distribution("bitsandbytes", "0.50.2")
    for name in libraries:
        made = made.file(f"{SITE}/bitsandbytes/libbitsandbytes_{name}.so")
    return made


def test_bitsandbytes_without_a_library_for_this_hip() -> None:
    found = warning(bitsandbytes("rocm64", "rocm70", "cuda124", "cpu"), BITSANDBYTES)
    assert found.title == "bitsandbytes 0.50.2 has no library for HIP 6.2"
    assert "libbitsandbytes_rocm62.so" in found.detail and "rocm64, rocm70 only" in found.detail


def test_bitsandbytes_for_cuda() -> None:
    assert "CUDA's only" in warning(bitsandbytes("cuda124", "cpu"), BITSANDBYTES).detail


@pytest.mark.parametrize("library", ["rocm62", "hip", "rocm"])
def test_bitsandbytes_with_its_library(library: str) -> None:
    assert status(bitsandbytes("cuda124", library), BITSANDBYTES) == "pass"


@pytest.mark.parametrize("library", ["rocm714", "rocm84"])
def test_both_numbers_of_a_two_digit_minor(library: str) -> None:
    base = HostBuilder().change_torch(hip="7.14.60850")
    assert status(bitsandbytes(library, base=base), BITSANDBYTES) == "pass"
    assert status(bitsandbytes("rocm72", base=base), BITSANDBYTES) == "warn"


def test_the_variable_chooses_another() -> None:
    chosen = HostBuilder().env(BNB_ROCM_VERSION="64")
    assert status(bitsandbytes("rocm64", base=chosen), BITSANDBYTES) == "pass"
    assert "BNB_ROCM_VERSION=64" in warning(bitsandbytes("rocm62", base=chosen), BITSANDBYTES).detail


@pytest.mark.parametrize("base", [HostBuilder(), HostBuilder().no_torch()])
def test_a_folder_that_shows_nothing_is_unknown(base: HostBuilder) -> None:
    assert status(bitsandbytes(base=base), BITSANDBYTES) == "skip"


def test_torch_of_another_kind_is_the_first_fault() -> None:
    results = judge(bitsandbytes("cuda124", base=HostBuilder().torch("2.5.1+cu124")), BITSANDBYTES)
    assert results[-1].because_of == "torch_build.rocm"


# flash-attn ------------------------------------------------------------------------------------------------------


def test_flash_attn_for_cuda() -> None:
    cuda = HostBuilder().distribution("flash-attn", "2.8.3+cu12torch2.8cxx11abiTRUE")
    assert "uninstall" in fixes(warning(cuda, FLASH))
    assert status(nvidia(cuda), FLASH) == "pass"
    assert status(cuda.env(FLASH_ATTENTION_TRITON_AMD_ENABLE="TRUE"), FLASH) == "pass"


@pytest.mark.parametrize("data", [b"\x7fELF libamdhip64.so.6", b""])
def test_flash_attn_for_rocm_or_unknown(data: bytes) -> None:
    host = HostBuilder().distribution("flash-attn", "2.8.3")
    assert status(host.file(f"{SITE}/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so", data), FLASH) == "pass"


@pytest.mark.parametrize("id", [VLLM, BITSANDBYTES, FLASH])
def test_nothing_installed_is_nothing_to_judge(id: str) -> None:
    assert status(HostBuilder(), id) == "skip"
