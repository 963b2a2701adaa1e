"""The development set-up: each fault beside its healthy twin."""

from __future__ import annotations

import pytest

from tests.checks.judged import fixes, judge, status, warning
from tests.hostbuilder import HostBuilder, card

GCC = "/usr/lib/gcc/x86_64-linux-gnu"
ROOT = "/opt/rocm-6.2.0"
HEADERS, COMPILER = "rocm_install.cxx-headers", "rocm_install.compiler"
VARIABLES, TARGETS = "rocm_install.build-variables", "rocm_install.build-targets"


def with_gcc(*versions: str, headers: str = "", base: HostBuilder | None = None) -> HostBuilder:
    host = base or HostBuilder()
    for version in versions:
        host = host.file(f"{GCC}/{version}/crtbegin.o").file(f"{GCC}/{version}/libgcc.a")
    return host.file(f"/usr/include/c++/{headers}/cmath", "// cmath") if headers else host


# headers ---------------------------------------------------------------------------------------------------------


def test_the_newest_gcc_has_no_headers() -> None:
    found = warning(with_gcc("11", "12", headers="11"), HEADERS)
    assert "gcc 12" in found.title and "cmath" in found.detail
    assert "libstdc++-12-dev" in fixes(found) and "cp " not in fixes(found)
    assert found.fixes[0].commands == (("apt-get", "install", "-y", "libstdc++-12-dev"),)


@pytest.mark.parametrize("versions", [("11",), ("10", "11"), ("9", "11")])
def test_the_newest_gcc_has_its_headers(versions: tuple[str, ...]) -> None:
    assert status(with_gcc(*versions, headers="11"), HEADERS) == "pass"


def test_a_folder_without_crtbegin_does_not_count() -> None:
    assert status(with_gcc("11", headers="11").file(f"{GCC}/12/cc1"), HEADERS) == "pass"


def test_gcc_without_any_headers() -> None:
    assert "g++ is not installed" in warning(with_gcc("11"), HEADERS).detail


@pytest.mark.parametrize(
    ("ident", "version", "package"), [("rhel", "9.4", "gcc-c++"), ("sles", "15.6", "gcc12-c++"), ("fedora", "42", "gcc-c++")]
)
def test_the_remedy_is_of_the_distribution(ident: str, version: str, package: str) -> None:
    base = HostBuilder().distro(ident, version)
    host = base if base.spec.rocm[0].root != "/usr" else base.rocm("6.2.0", origin="tarball", root="/opt/rocm-6.2.0")
    triple = "/usr/lib64/gcc/x86_64-suse-linux" if ident == "sles" else "/usr/lib/gcc/x86_64-redhat-linux"
    assert package in fixes(warning(host.file(f"{triple}/12/crtbegin.o"), HEADERS))


def test_a_newer_clang_prefers_a_gcc_with_headers() -> None:
    host = with_gcc("11", "12", headers="11")
    assert status(host.file(f"{ROOT}/llvm/lib/clang/22/include/stddef.h", "x"), HEADERS) == "skip"
    assert status(host.file(f"{ROOT}/llvm/lib/clang/18/include/stddef.h", "x"), HEADERS) == "warn"


@pytest.mark.parametrize(
    "host",
    [
        HostBuilder(),
        with_gcc("12", base=HostBuilder().no_rocm()),
        with_gcc("12").remove(f"{ROOT}/llvm/bin/clang"),
        with_gcc("12").unknown("/usr/lib/gcc/**"),
    ],
    ids=["no gcc", "no ROCm", "no clang", "unknown"],
)
def test_nothing_to_judge(host: HostBuilder) -> None:
    assert status(host, HEADERS) == "skip"


def test_a_build_host_needs_no_gpu() -> None:
    assert status(with_gcc("11", "12", headers="11", base=HostBuilder().no_gpus()), HEADERS) == "warn"


# compiler --------------------------------------------------------------------------------------------------------


def whole(host: HostBuilder | None = None) -> HostBuilder:
    """A host that shows all of its compiler, as a real one does."""
    host = (host or HostBuilder()).file(f"{ROOT}/llvm/lib/clang/18/include/stddef.h", "x")
    return host.file(f"{ROOT}/amdgcn/bitcode/ocml.bc").file(f"{ROOT}/include/hip/hip_runtime.h", "x")


def test_a_whole_compiler() -> None:
    assert status(whole(), COMPILER) == "pass"
    assert status(HostBuilder(), COMPILER) == "pass", "a recording of little shows no fault"


@pytest.mark.parametrize(
    ("gone", "missing", "package"),
    [
        (f"{ROOT}/bin/hipcc", "bin/hipcc", "hipcc"),
        (f"{ROOT}/llvm/bin/clang", "clang", "rocm-llvm"),
        (f"{ROOT}/amdgcn/bitcode/ocml.bc", "device libraries", "rocm-device-libs"),
    ],
)
def test_a_part_of_the_compiler_is_gone(gone: str, missing: str, package: str) -> None:
    found = warning(whole().remove(gone), COMPILER)
    assert missing in found.title
    assert found.fixes[0].commands == (("apt-get", "install", "--reinstall", "-y", package),)


def test_hip_headers_are_gone() -> None:
    host = whole().remove(f"{ROOT}/include/hip/hip_runtime.h").file(f"{ROOT}/include/rocblas/rocblas.h", "x")
    assert "hip/hip_runtime.h" in warning(host, COMPILER).title
    assert status(host.no_package("hip-dev"), COMPILER) == "pass", "a host that only runs programs needs none"


def test_a_host_without_the_packages_needs_no_compiler() -> None:
    host = HostBuilder().remove(f"{ROOT}/bin/hipcc", f"{ROOT}/llvm/bin/clang").no_package("hipcc").no_package("rocm-llvm")
    assert status(host, COMPILER) == "pass"


@pytest.mark.parametrize(
    "host",
    [HostBuilder().no_rocm(), HostBuilder().distro("fedora", "42"), HostBuilder().no_rocm().no_torch()],
    ids=("no-rocm", "fedora", "nothing"),
)
def test_no_compiler_of_amd_to_judge(host: HostBuilder) -> None:
    assert status(host, COMPILER) == "skip"


# variables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["nvidia", "nvcc", "NVIDIA"])
def test_hip_platform_of_the_other_maker(value: str) -> None:
    found = warning(HostBuilder().env(HIP_PLATFORM=value), VARIABLES)
    assert f"HIP_PLATFORM={value}" in found.title and "unset" in fixes(found)


@pytest.mark.parametrize("value", ["amd", "", None])
def test_hip_platform_is_right(value: str | None) -> None:
    assert status(HostBuilder().env(HIP_PLATFORM=value), VARIABLES) == "pass"


def test_an_nvidia_gpu_may_be_meant() -> None:
    device = "/sys/bus/pci/devices/0000:41:00.0"
    host = HostBuilder().env(HIP_PLATFORM="nvidia").file(f"{device}/vendor", "0x10de\n").file(f"{device}/device", "0x2684\n")
    assert status(host.file(f"{device}/class", "0x030000\n"), VARIABLES) == "pass"


@pytest.mark.parametrize("name", ["ROCM_PATH", "HIP_PATH", "HIP_CLANG_PATH", "DEVICE_LIB_PATH"])
def test_a_variable_leads_to_nothing(name: str) -> None:
    found = warning(HostBuilder().env(**{name: "/opt/rocm-5.7.0/hip"}), VARIABLES)
    assert found.title == f"{name} leads to nothing" and ("unset", name) in found.fixes[0].commands


@pytest.mark.parametrize("value", ["/opt/rocm", ROOT, "", "relative/path"])
def test_a_variable_leads_somewhere(value: str) -> None:
    assert status(HostBuilder().env(ROCM_PATH=value, HIP_PATH=value), VARIABLES) == "pass"


def test_what_is_unknown_is_not_gone() -> None:
    assert status(HostBuilder().env(HIP_PATH="/srv/hip").unknown("/srv/**"), VARIABLES) == "pass"


def test_variables_without_a_compiler() -> None:
    assert status(HostBuilder().no_rocm().env(ROCM_PATH="/opt/rocm"), VARIABLES) == "skip"


# targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["PYTORCH_ROCM_ARCH", "AMDGPU_TARGETS", "GPU_TARGETS", "HCC_AMDGPU_TARGET"])
@pytest.mark.parametrize("value", ["gfx90a", "gfx90a;gfx942", "gfx1030,gfx1101"])
def test_targets_without_this_gpu(variable: str, value: str) -> None:
    found = warning(HostBuilder().env(**{variable: value}), TARGETS)
    assert variable in found.title and "gfx1100" in found.title
    assert f"{variable}=gfx1100" in fixes(found)


@pytest.mark.parametrize(
    "value",
    [
        "gfx1100",
        "gfx900;gfx906;gfx908;gfx90a;gfx942;gfx1030;gfx1100;gfx1101;gfx1102",
        "gfx11-generic",
        "native",
        "gfx90a;native",
        "gfx110X-all",
    ],
)
def test_targets_with_this_gpu(value: str) -> None:
    assert status(HostBuilder().env(PYTORCH_ROCM_ARCH=value), TARGETS) == "pass"


def test_no_list_is_nothing_to_judge() -> None:
    assert status(HostBuilder(), TARGETS) == "skip"
    assert status(HostBuilder().env(AMDGPU_TARGETS=""), TARGETS) == "skip"


def test_one_of_several_gpus_is_enough() -> None:
    host = HostBuilder().gpus(card("gfx1100"), card("gfx1036", vram=512))
    assert status(host.env(AMDGPU_TARGETS="gfx1100"), TARGETS) == "pass"
    assert status(host.env(AMDGPU_TARGETS="gfx942"), TARGETS) == "warn"


def test_an_override_makes_another_target_right() -> None:
    host = HostBuilder().gpus("gfx1032").env(PYTORCH_ROCM_ARCH="gfx1030")
    assert status(host, TARGETS) == "warn"
    assert status(host.env(HSA_OVERRIDE_GFX_VERSION="10.3.0"), TARGETS) == "pass"


def test_the_mode_of_the_gpu_counts() -> None:
    host = HostBuilder().gpus("gfx90a")
    assert status(host.env(AMDGPU_TARGETS="gfx90a:xnack-"), TARGETS) == "pass"
    assert status(host.env(AMDGPU_TARGETS="gfx90a:xnack+"), TARGETS) == "warn"
    assert status(host.env(AMDGPU_TARGETS="gfx90a:xnack+").no_command("rocminfo"), TARGETS) == "pass"


def test_without_a_gpu_the_cause_is_another() -> None:
    results = judge(HostBuilder().no_gpus().env(AMDGPU_TARGETS="gfx90a"), TARGETS)
    assert [r.because_of for r in results if r.id == TARGETS] == ["gpu_present.device"]
