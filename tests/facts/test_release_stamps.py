from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import release_stamps
from rocmdoctor.facts.packages import Package

AMD = "rocm-core Maintainer <rocm@amd.com>"
AMD_RPM = "Advanced Micro Devices, Inc."
UBUNTU = "Ubuntu Developers <ubuntu-devel-discuss@lists.ubuntu.com>"


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("5.7.50700-63~22.04", "5.7.0"),
        ("1.0.0.60200-66~22.04", "6.2.0"),
        ("6.3.60304", "6.3.4"),
        ("6.2.0.60200-66.el9", "6.2.0"),
        ("6.2.41133.60200-66~22.04", "6.2.0"),
        ("26.2.1.70200-43~24.04", "7.2.0"),
        ("16.0.0.23144.50600-67", "5.6.0"),
        ("3.10.20493.31000-27", "3.10.0"),
        ("2.0.100000-1", "10.0.0"),
        ("6.8.5.60200-2009582", "6.2.0"),
        ("5.16.9.22.20.50203-1462319~20.04", "5.2.3"),
        ("6.14.14.30100200-2222715.24.04", "30.10.2"),
        ("6.16.13.30300100-2303411", "30.30.1"),
        ("6.16.13.31400100-2400000", "31.40.1"),
        ("31.60.316000-1", "31.60.0"),
        ("6.4.60402-1", "6.4.2"),
        ("5.7.1-3build1", None),
        ("6.2.41133-1", None),  # HIP's build number is no release
        ("5.7.31921-1", None),
        ("20240318.git3b128b60-0ubuntu2.9", None),
        ("20250310-149.el9", None),
        ("5.14.21-150400.24.46", None),
        ("25.10-2125197.22.04", None),
        ("1.2.3", None),
        ("1.2.00000", None),
        ("1.2." + "9" * 5000, None),
        ("", None),
    ],
)
def test_stamps(version: str, release: str | None) -> None:
    assert release_stamps.stamp(version) == release


@pytest.mark.parametrize(
    ("name", "version", "origin", "release"),
    [
        ("rocm-core", "6.2.0.60200-66~22.04", AMD, "6.2.0"),
        ("rocm-core", "6.2.0.60200-66.el9", AMD_RPM, "6.2.0"),
        ("rocm-core", "6.2.0.60200-66.el9", "", "6.2.0"),  # rpms without a vendor
        ("rocm-core7.1.1", "7.1.1.70101-38~24.04", AMD, "7.1.1"),
        ("half", "1.12.0.70200-43~24.04", "half Maintainer <rocm@amd.com>", "7.2.0"),
        ("rocm-dev", "3.10.0-27", AMD, "3.10.0"),
        ("rocm-dkms", "1.7.60", AMD_RPM, "1.7.0"),
        ("rocm-dev", "2.0.89", AMD_RPM, "2.0.0"),
        ("rocminfo", "1.0.0", AMD_RPM, None),
        ("rocminfo", "5.7.1-3build1", UBUNTU, None),
        ("rocm-core", "7.1.1-1", "", None),  # Arch
        ("rocm-hip", "6.3.1-4.fc42", "Fedora Project", None),
        ("hsa-runtime-rocr4wsl-amdgpu", "25.10-2125197.22.04", "AMD <gpudriverdevsupport@amd.com>", None),
        # AMD's, but not of ROCm's user space
        ("amdgpu-dkms", "6.8.5.60200-2009582.22.04", AMD, None),
        ("amdgpu-install", "6.4.60402-1", AMD, None),
        ("libdrm2-amdgpu", "2.4.120.60200-2009582.22.04", AMD, None),
        ("mesa-amdgpu-va-drivers", "24.3.0.60200-2009582.22.04", AMD, None),
        ("amdrocm-repo", "10.0.0-1~ubuntu2404", "", None),
        # TheRock
        ("amdrocm10.0-gfx1151", "10.0.0-1", "", "10.0"),
        ("amdrocm7.14", "7.14.1-1", "", "7.14"),
        ("amdrocm-core10.0", "10.0.0-1", "", "10.0"),
        ("amdrocm-core-dev10.1-gfx942", "10.1.0-5", "", "10.1"),
        ("amdrocm-opencl10.1", "10.1.0-5", "", "10.1"),
        ("amdrocm", "10.1.0-5~ubuntu2404", "", "10.1.0"),
        ("amdrocm", "nonsense", "", None),
    ],
)
def test_rocm_release(name: str, version: str, origin: str, release: str | None) -> None:
    assert Package(name, version, "amd64", origin=origin).rocm_release == release


@pytest.mark.parametrize(
    ("name", "version", "release"),
    [
        ("amdgpu-dkms", "6.8.5.60200-2009582.22.04", "6.2.0"),
        ("amdgpu-dkms", "6.14.14.30100200-2222715.24.04", "30.10.2"),
        ("amdgpu-dkms-firmware", "6.16.13.30300100-2303411.24.04", "30.30.1"),
        ("amdgpu-dkms", "6.16.6.30200100-2255209.el9", "30.20.1"),
        ("rock-dkms", "4.2-21", "4.2.0"),
        ("rock-dkms", "1.7-137", "1.7.0"),
        ("rock-dkms", "2.9.0-6", "2.9.0"),
        ("rock-dkms-firmware", "4.0.1-26", "4.0.1"),
        ("amdgpu-dkms", "5.11.5.30-1290604", None),
        ("amdgpu", "6.10.5.60302-1.azl3", "6.3.2"),
        ("rocm-core", "6.2.0.60200-66", None),
        ("linux-firmware", "20240318.git3b128b60-0ubuntu2.9", None),
    ],
)
def test_driver_release(name: str, version: str, release: str | None) -> None:
    assert Package(name, version, "all", origin=AMD).driver_release == release


ROCM_NAMES = """
rocm rocm-core rocm-hip-sdk6.2.0 rocminfo hipcc hip-dev hip-runtime-amd hipblaslt libamdhip64-5 libamd-comgr2
comgr rocm-cmake libhsa-runtime64-1 libhsakmt1 hsa-rocr-dev librocblas0 librocm-smi64-1 rocm-smi rocblas-dev
rccl librccl1 miopen-hip amd-smi-lib python3-amdsmi migraphx libhiprtc-builtins5 amdrocm10.0-gfx1151
rocprofiler-register rocgdb hcc hip_hcc hsa-runtime-rocr4wsl-amdgpu llvm-amdgpu rocm-device-libs-17
rocprim-devel hipfft librocsparse1 opencl-amd
"""


@pytest.mark.parametrize("name", ROCM_NAMES.split())
def test_names_of_rocm(name: str) -> None:
    assert release_stamps.is_rocm_name(name)


OTHER_NAMES = """
rocs rocksdb librocksdb7.8 hipercontracer libhipercontracer-dev linux-firmware libdrm-amdgpu1 amdgpu-dkms
amdgpu-install libdrm-amdgpu-amdgpu1 hplip python3 libc6 rock-dkms rocket hsail-tools dkms amd64-microcode
libprocps8 rdcli halfling firmware-amd-graphics mesa-amdgpu-dri-drivers xserver-xorg-video-amdgpu proc-utils
amdrocm-repo
"""


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_names_of_other_things(name: str) -> None:
    assert not release_stamps.is_rocm_name(name)


@given(st.text(max_size=30), st.text(max_size=60), st.text(max_size=30))
def test_no_text_breaks_it(name: str, version: str, origin: str) -> None:
    package = Package(name, version, "all", origin=origin)
    for value in (package.rocm_release, package.driver_release, release_stamps.stamp(version)):
        assert value is None or all(part.isdigit() for part in value.split("."))


@given(st.integers(1, 14), st.integers(0, 60), st.integers(0, 15))
def test_every_stamp_is_read_back(major: int, minor: int, patch: int) -> None:
    assert release_stamps.stamp(f"1.0.0.{major}{minor:02}{patch:02}-1~22.04") == f"{major}.{minor}.{patch}"
