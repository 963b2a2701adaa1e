"""Frameworks beside PyTorch: what names and versions tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import Facts
from rocmdoctor.facts.frameworks import Frameworks, bitsandbytes_names, tensorflow_rocm, vllm_rocm
from rocmdoctor.matrix import load_matrix
from tests.hostbuilder import HostBuilder

MATRIX = load_matrix()
SITE = "/home/user1/venv/lib/python3.10/site-packages"


def read(builder: HostBuilder) -> Frameworks:
    return Facts(builder.build(), MATRIX).frameworks[0]


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("0.8.5+rocm640", "6"),
        ("0.18.0+rocm721", "7"),
        ("0.20.0+rocm72", "7"),
        ("0.25.0+rocm100", "10"),
        ("0.9.1.dev12+g1234abc.rocm641", "6"),
        ("0.8.5", None),
        ("0.8.5+cu118", None),
    ],
)
def test_vllm(version: str, major: str | None) -> None:
    assert vllm_rocm(version) == major


@pytest.mark.parametrize(
    ("version", "release"), [("2.14.0.600", "6.0.0"), ("2.13.0.570", "5.7.0"), ("2.18.1", None), ("x", None)]
)
def test_tensorflow(version: str, release: str | None) -> None:
    assert tensorflow_rocm(version) == release


@pytest.mark.parametrize(
    ("hip", "names"), [("6.2.41133-dd7f95766", ("62",)), ("7.14.60850", ("714", "84")), ("7.2", ("72",)), ("", ()), ("x.y", ())]
)
def test_bitsandbytes_names(hip: str, names: tuple[str, ...]) -> None:
    assert bitsandbytes_names(hip) == names


def test_jax_parts() -> None:
    host = HostBuilder().distribution("jax-rocm60-plugin", "0.5.0").distribution("jax-rocm10-pjrt", "0.12.0")
    found = {(p.major, p.kind, p.accelerator) for p in read(host.distribution("jax-cuda12-plugin", "0.5.0")).jax_parts}
    assert found == {("6", "plugin", "rocm"), ("10", "pjrt", "rocm"), ("12", "plugin", "cuda")}


def test_libraries_of_bitsandbytes() -> None:
    host = HostBuilder().distribution("bitsandbytes", "0.49.2")
    assert read(host).bitsandbytes is None, "no folder tells nothing"
    for name in ("libbitsandbytes_rocm72.so", "libbitsandbytes_cuda124.so", "libbitsandbytes_cpu.so", "__init__.py"):
        host = host.file(f"{SITE}/bitsandbytes/{name}")
    assert read(host).bitsandbytes == frozenset({("rocm", "72"), ("cuda", "124"), ("cpu", "")})


def test_extensions_of_vllm() -> None:
    host = HostBuilder().distribution("vllm", "0.8.5").file(f"{SITE}/vllm/_C.abi3.so").file(f"{SITE}/vllm/config.py", "x")
    assert read(host).vllm == frozenset({"_C"})
    assert read(HostBuilder()).vllm is None


@pytest.mark.parametrize(
    ("version", "extension", "told"),
    [
        ("2.8.3+cu12torch2.8cxx11abiTRUE", b"", "cuda"),
        ("2.8.3", b"\x7fELF....libcudart.so.12", "cuda"),
        ("2.8.3", b"\x7fELF....libamdhip64.so.6 libcudart.so", "rocm"),
        ("2.8.3", b"", None),
        ("2.8.3", b"\x7fELF nothing", None),
    ],
)
def test_flash_attn(version: str, extension: bytes, told: str | None) -> None:
    host = HostBuilder().distribution("flash-attn", version)
    assert read(host.file(f"{SITE}/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so", extension)).flash_attn == told


def test_release_of_the_sdk_wheels() -> None:
    assert read(HostBuilder().distribution("rocm-sdk-core", "7.9.0rc1")).rocm_sdk == "7.9.0"
    assert read(HostBuilder()).rocm_sdk is None


@given(st.text(max_size=60))
def test_any_version_is_read(text: str) -> None:
    vllm_rocm(text)
    tensorflow_rocm(text)
    bitsandbytes_names(text)
