"""Versions of ROCm's parts: from file names, package versions, small text files and wheels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import Facts
from rocmdoctor.facts.components import Component, clang_version, file_version, on_path, upstream
from rocmdoctor.matrix import load_matrix
from tests.facts.small_host import small_host
from tests.hostbuilder import HostBuilder

MATRIX = load_matrix()


def parts(builder: HostBuilder) -> dict[str, Component]:
    """The parts of the first place, by name."""
    found: dict[str, Component] = {}
    for component in Facts(builder.build(), MATRIX).components:
        found.setdefault(component.name, component)
    return found


@pytest.mark.parametrize(
    ("version", "own"),
    [
        ("4.2.0.60200-66~22.04", "4.2.0"),
        ("6.2.41133.60200-66~22.04", "6.2.41133"),
        ("18.0.0.24292.60200-66", "18.0.0.24292"),
        ("5.7.1-3build1", "5.7.1"),
        ("6.3.1-2.fc42", "6.3.1"),
        ("10.0.0-4", "10.0.0"),
        ("7.14.0~pre1", "7.14.0"),
        ("", ""),
    ],
)
def test_upstream_version(version: str, own: str) -> None:
    assert upstream(version) == own


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("librocblas.so", "librocblas.so.4", "librocblas.so.4.2.60200"), ("4.2", "6.2.0", "4")),
        (("librocblas.so.4",), (None, None, "4")),
        (("librocblas.so.5.1", "librocblas.so.5"), ("5.1", None, "5")),
        (("librocblas.so.4.2.60200.debug",), (None, None, None)),
        (("librocblaslt.so.1",), (None, None, None)),
        ((), (None, None, None)),
    ],
)
def test_file_names_tell_version_and_release(names: tuple[str, ...], told: tuple[str | None, ...]) -> None:
    assert file_version(names, "librocblas") == told


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=20))
def test_any_text_is_a_version_or_a_name(version: str, names: list[str]) -> None:
    upstream(version)
    file_version(tuple(names), "librocblas")


def test_parts_of_amds_packages() -> None:
    found = parts(HostBuilder())
    assert found["rocBLAS"].version == "4.2.0" and found["rocBLAS"].release == "6.2.0"
    assert found["rocBLAS"].package == "rocblas 4.2.0.60200-66~22.04" and found["rocBLAS"].soname == "4"
    assert found["HIP"].version == "6.2.41133" and found["hipcc"].path == "/opt/rocm-6.2.0/bin/hipcc"
    assert found["rocgdb"].package is None and found["rocgdb"].path == "/opt/rocm-6.2.0/bin/rocgdb"
    assert "hipSPARSELt" not in found


def test_versioned_packages_belong_to_their_own_folder() -> None:
    every = Facts(HostBuilder().also_rocm("6.1.0").build(), MATRIX).components
    of = {(c.root, c.name): c for c in every}
    assert of["/opt/rocm-6.1.0", "rocBLAS"].release == "6.1.0"
    assert of["/opt/rocm-6.2.0", "rocBLAS"].release == "6.2.0"
    assert every[0].root == "/opt/rocm-6.2.0", "the active install comes first"


def test_a_part_of_another_release_is_shown_with_it() -> None:
    assert parts(HostBuilder().fault_mixed_releases("6.1.0"))["rocBLAS"].release == "6.1.0"


def test_hip_tells_its_own_version() -> None:
    text = "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=41134\nHIP_VERSION_GITHASH=abc\n"
    host = HostBuilder().no_package("hip-runtime-amd").file("/opt/rocm-6.2.0/share/hip/version", text)
    assert parts(host)["HIP"].version == "6.2.41134"
    assert parts(host.file("/opt/rocm-6.2.0/share/hip/version", "\0nonsense=\n"))["HIP"].version is None


@pytest.mark.parametrize(("ident", "version"), [("fedora", "42"), ("arch", ""), ("ubuntu", "24.04")])
def test_a_distributions_own_rocm(ident: str, version: str) -> None:
    host = HostBuilder().distro(ident, version)
    found = parts(host.rocm("6.2.0", origin="distro-package") if ident == "ubuntu" else host)
    assert found["rocBLAS"].package and "rocblas" in found["rocBLAS"].package and found["rocBLAS"].release is None


def test_amdrocm_packages() -> None:
    found = parts(HostBuilder().distro("ubuntu", "24.04").gpus("gfx942").rocm("10.0.0"))
    assert found["rocBLAS"].package and found["rocBLAS"].package.startswith("amdrocm-blas10.0 ")
    assert found["rocBLAS"].release == "10.0" and found["rocBLAS"].version == "10.0.0"


@pytest.mark.parametrize(
    ("wheel", "package"), [("2.5.1+rocm6.2", "torch 2.5.1+rocm6.2"), ("2.14.0+rocm7.14", "rocm-sdk-core 7.14.0")]
)
def test_a_wheel_brings_its_own(wheel: str, package: str) -> None:
    host = HostBuilder().distro("ubuntu", "24.04").no_rocm().torch(wheel)
    found = parts(host)
    assert found["rocBLAS"].wheel and found["rocBLAS"].package == package
    assert found["HIP"].release and wheel.endswith(found["HIP"].release.removesuffix(".0"))
    assert "rocminfo" not in found


def test_no_rocm_at_all() -> None:
    assert parts(HostBuilder().no_rocm().no_torch()) == {}


def test_clang_is_told_by_its_resource_folder() -> None:
    clang = "/opt/rocm/llvm/bin/clang"
    host = small_host({f"/opt/rocm/llvm/lib/clang/{n}/include/a.h": "" for n in ("17", "18.1", "latest")})
    assert clang_version(host, clang) == "18.1"
    assert clang_version(small_host(), clang) is None
    assert clang_version(small_host(unknown=["/opt/**"]), clang) is None


def test_path_finds_the_first() -> None:
    files = {"/a/rocminfo": "x", "/b/rocminfo": "x"}
    assert on_path(small_host(files, env={"PATH": "rel:/none:/b:/a"}), "rocminfo") == "/b/rocminfo"
    assert on_path(small_host(env={"PATH": "/a"}), "rocminfo") is None
    assert on_path(small_host(unknown=["/a/**"], env={"PATH": "/a"}), "rocminfo") is None
