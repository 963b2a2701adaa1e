"""torch builds told from text: version.py, tags, RECORD, layouts, device packages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import torch_build
from rocmdoctor.facts.distributions import from_folder, normalised, requirements
from rocmdoctor.facts.gfx_names import target_in, targets_in
from rocmdoctor.matrix import load_matrix

MATRIX = load_matrix()

ANNOTATED = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+rocm7.2'
debug = False
cuda: Optional[str] = None
git_version = '1c57644d0000000000000000000000000000abcd'
hip: Optional[str] = '7.2.26015'
rocm: Optional[str] = '7.2'
xpu: Optional[str] = None
"""
PLAIN = "__version__ = \"1.13.0+rocm5.2\"\ndebug = True\ncuda = None\nhip = '5.2.21151-afdc89f8'\n"


def test_version_py_with_annotations() -> None:
    values = torch_build.parse_version_py(ANNOTATED)
    assert (values["__version__"], values["hip"], values["rocm"]) == ("2.11.0+rocm7.2", "7.2.26015", "7.2")
    assert values["cuda"] is None and "cuda" in values
    assert "__all__" not in values


def test_version_py_without_annotations() -> None:
    values = torch_build.parse_version_py(PLAIN)
    assert values == {"__version__": "1.13.0+rocm5.2", "debug": "True", "cuda": None, "hip": "5.2.21151-afdc89f8"}


@pytest.mark.parametrize(
    ("version", "hip", "rocm", "release"),
    [
        ("2.5.1+rocm6.2", "6.2.41133-dd7f95766", None, "6.2"),
        ("2.6.0+rocm6.2.4", "6.2.41134-65d174c3e", None, "6.2.4"),
        ("2.9.1+rocm7.2.0.lw.git7e1940d4", "7.2.26015-fc0010cf6a", None, "7.2.0"),
        ("2.11.0a0+rocm7.11.0a20260106", "7.2.53150", None, "7.11.0"),
        ("2.11.0a0+rocm7.11.0a20260106", "7.2.53150", "7.11.0a20260106", "7.11.0"),
        ("2.13.0+rocm10.0.0", "7.15.26333", "10.0.0", "10.0.0"),
        ("2.13.0+rocm10.0.0", "7.15.26333", None, "10.0.0"),
        ("2.9.0+devrocm7.10.0.dev0-abcdef", None, None, "7.10.0"),
        ("2.9.1+rocmsdk20260116", "7.2.26024-f6f897bd3d", None, "7.2"),
        ("2.4.0a0+git1346b59", "6.3.42131-fa1d09cbd", None, "6.3"),
        ("2.13.0a0+gitabc", "7.15.26333", None, "10.0"),
        ("2.9.1", None, None, None),
        ("2.9.1", "nonsense", "nonsense", None),
        ("2.9.1", "7", None, None),
    ],
)
def test_the_release_of_a_wheel(version: str, hip: str | None, rocm: str | None, release: str | None) -> None:
    """torch.version.rocm, then the tag, then what the matrix makes of HIP's number: another one from ROCm 10.0 on."""
    assert (torch_build.rocm_release(version, rocm) or (MATRIX.rocm_of_hip(hip) if hip else None)) == release


@pytest.mark.parametrize(
    ("version", "values", "requires", "libraries", "build"),
    [
        ("2.5.1+rocm6.2", {"hip": "6.2.41133", "cuda": None}, [], [], "rocm"),
        ("2.4.0a0+git1", {"hip": "6.3.42131", "cuda": None}, [], [], "rocm"),
        ("2.13.0+rocm10.0.0", {"hip": None, "cuda": None, "rocm": "10.0.0"}, [], [], "rocm"),
        ("2.4.1+cu121", {"hip": None, "cuda": "12.1"}, [], [], "cuda"),
        ("2.9.1", {"hip": None, "cuda": None, "xpu": "20250101"}, [], [], "xpu"),
        ("2.9.1+cpu", {"hip": None, "cuda": None}, [], [], "cpu"),
        ("2.9.1", {"hip": None, "cuda": None}, ["nvidia-cublas-cu12==1"], [], "cpu"),
        ("2.5.1+rocm6.2", {}, [], [], "rocm"),
        ("2.12.0+cu130", {}, [], [], "cuda"),
        ("2.7.1+xpu", {}, [], [], "xpu"),
        ("2.7.1+cpu", {}, [], [], "cpu"),
        ("2.9.1", {}, ["filelock", "nvidia-cublas-cu12==12.8; x"], [], "cuda"),
        ("2.9.1", {}, ["cuda-toolkit[cublas]==13"], [], "cuda"),
        ("2.9.1", {}, ["pytorch-triton-rocm==3.5.1"], [], "rocm"),
        ("2.14.0", {}, ["rocm[libraries,device-all]==7.14.*"], [], "rocm"),
        ("2.9.1", {}, [], ["libtorch_cuda.so"], "cuda"),
        ("2.9.1", {}, [], ["libtorch_hip.so"], "rocm"),
        ("2.9.1", {}, ["filelock"], ["libtorch_cpu.so"], "cpu"),
    ],
)
def test_builds_are_told_apart(
    version: str, values: dict[str, str | None], requires: list[str], libraries: list[str], build: str
) -> None:
    assert torch_build.build_of(version, values, requires, libraries) == build


RECORD = """torch/version.py,sha256=a,1
torch/lib/libtorch.so,sha256=a,1
torch/lib/libamdhip64.so,sha256=a,1
torch/lib/libgomp.so.1,,
torch/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat,sha256=a,1
torch/lib/rocblas/library/Kernels.so-000-gfx906-xnack-.hsaco,sha256=a,1
torch/lib/rocblas/library/TensileLibrary_Type_HH_Contraction_fallback_gfx1100.co,sha256=a,1
torch/lib/rocblas/library/TensileManifest.txt,sha256=a,1
torch/lib/hipblaslt/library/hipblasltTransform.hsaco,sha256=a,1
torch/lib/aotriton.images/amd-gfx942/flash/x.aks2,sha256=a,1
torch/share/miopen/db/gfx90a68.HIP.fdb.txt,sha256=a,1
torch/share/miopen/db/gfx1030_36.kdb,sha256=a,1
torch/include/gfx1201.h,sha256=a,1
torch/lib/cmake/gfx1200.cmake,sha256=a,1
"""


@pytest.mark.parametrize("text", [RECORD, RECORD.replace("\n", "\r\n"), RECORD.rstrip("\n")])
def test_a_record_gives_libraries_and_targets(text: str) -> None:
    libraries, gfx = torch_build.parse_record(text)
    assert libraries == {"libtorch.so", "libamdhip64.so", "libgomp.so"}
    assert gfx == {
        "rocblas": {"gfx90a", "gfx906", "gfx1100"},
        "hipblaslt": frozenset(),
        "aotriton": {"gfx942"},
        "miopen": {"gfx90a", "gfx1030"},
    }


def test_a_record_of_rocm_5_2_keeps_rocblas_in_lib_library() -> None:
    assert torch_build.parse_record("torch/lib/library/TensileLibrary_gfx803.co,,\n")[1] == {"rocblas": {"gfx803"}}


@given(st.text())
def test_any_record_is_read(text: str) -> None:
    torch_build.parse_record(text)
    torch_build.parse_record("torch/lib/" + text + "\ntorch/lib/rocblas/library/" + text)


@given(st.text())
def test_any_version_py_is_read(text: str) -> None:
    torch_build.parse_version_py(text)
    torch_build.parse_version_py("__version__ = '" + text)
    torch_build.rocm_release(text, text)


@pytest.mark.parametrize(
    ("group", "gfx", "apu", "covered"),
    [
        ("gfx1100", "gfx1100", None, True),
        ("gfx1100", "gfx1101", None, False),
        ("gfx90a", "gfx90a", None, True),
        ("gfx90a", "gfx908", None, False),
        ("gfx110x", "gfx1103", None, True),
        ("gfx110x-all", "gfx1103", None, True),
        ("gfx110x-dgpu", "gfx1100", False, True),
        ("gfx110x-dgpu", "gfx1103", True, False),
        ("gfx110x-dgpu", "gfx1103", None, None),
        ("gfx115x-igpu", "gfx1151", True, True),
        ("gfx120x-all", "gfx1101", None, False),
        ("gfx94x-dcgpu", "gfx942", None, True),
        ("gfx950-dcgpu", "gfx950", None, True),
        ("gfx950-dcgpu", "gfx942", None, False),
        ("gfx906-dgpu", "gfx906", None, True),
        ("gfx12-0", "gfx1201", None, True),
        ("gfx12-0", "gfx1250", None, False),
        ("gfx11", "gfx1151", None, True),
        ("gfx11", "gfx1201", None, False),
        ("gfx9-4", "gfx942", None, True),
        ("gfx9-4", "gfx950", None, False),
        ("all", "gfx1201", None, True),
        ("nonsense", "gfx1201", None, False),
        ("gfx1250-strict", "gfx1250", None, True),
    ],
)
def test_groups_of_device_packages(group: str, gfx: str, apu: bool | None, covered: bool | None) -> None:
    assert torch_build.in_group(group, gfx, apu) is covered


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("TensileLibrary_lazy_gfx90a.dat", "gfx90a"),
        ("Kernels.so-000-gfx906-xnack-.hsaco", "gfx906"),
        ("gfx90878.kdb", "gfx908"),
        ("gfx942130.HIP.fdb.txt", "gfx942"),
        ("gfx1030_36.kdb", "gfx1030"),
        ("blas_lib_gfx1151.kpack", "gfx1151"),
        ("TensileLibrary_gfx11-generic.dat", None),
        ("gfx110X", None),
        ("readme", None),
    ],
)
def test_targets_in_file_names(name: str, gfx: str | None) -> None:
    assert target_in(name) == gfx
    assert targets_in([name]) == ({gfx} if gfx else frozenset())


@pytest.mark.parametrize(
    ("folder", "parsed"),
    [
        ("torch-2.5.1+rocm6.2.dist-info", ("torch", "2.5.1+rocm6.2")),
        ("pytorch_triton_rocm-3.1.0.dist-info", ("pytorch-triton-rocm", "3.1.0")),
        ("rocm_sdk_libraries_gfx110X_dgpu-7.0.0rc20250803.dist-info", ("rocm-sdk-libraries-gfx110x-dgpu", "7.0.0rc20250803")),
        ("PyYAML-6.0.1.egg-info", ("pyyaml", "6.0.1")),
        ("distro-1.7.0-py3.10.egg-info", ("distro", "1.7.0")),
        ("foo.egg-info", ("foo", "")),
        ("-1.0.dist-info", None),
        ("torch", None),
        ("~orch-2.4.1.dist-info", ("~orch", "2.4.1")),
    ],
)
def test_distribution_folders(folder: str, parsed: tuple[str, str] | None) -> None:
    assert from_folder(folder) == parsed


def test_requirements_end_with_the_headers() -> None:
    text = "Name: torch\nRequires-Dist: filelock\nRequires-Dist: triton==3.5.1; x\n\nRequires-Dist: not-this\n"
    assert requirements(text) == ("filelock", "triton==3.5.1; x")
    assert requirements("") == ()


def test_names_are_normalised() -> None:
    assert normalised("PyTorch_Triton.ROCm") == "pytorch-triton-rocm"
