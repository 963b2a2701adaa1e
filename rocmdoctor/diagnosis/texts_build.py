"""What the compiler and missing tools say."""

from __future__ import annotations

from rocmdoctor.diagnosis.recognition import error_text

BUILD_TEXTS = (
    error_text(
        "target-id",
        "invalid target ID 'gfx...'",
        """
        invalid target id
        unknown target cpu 'gfx
        unsupported hip gpu architecture
        error: cannot find target 'gfx
        is not a recognized processor for this target
        invalid hip architecture
        """,
        "The compiler does not know the target it was asked for: its ROCm is older than the GPU, or a variable names "
        "something else.",
        "gpu_support.release rocm_install.build-targets rocm_side_by_side.* os_support.* packages.* hsa_override.*",
        "Name targets as rocminfo does (gfx1100, gfx90a:xnack-).",
    ),
    error_text(
        "cxx-headers",
        "'cmath' file not found",
        """
        'cmath' file not found
        'cstdlib' file not found
        'new' file not found
        'limits' file not found
        'cstddef' file not found
        'iostream' file not found
        'type_traits' file not found
        'algorithm' file not found
        cmath: no such file
        """,
        "ROCm's clang takes the C++ headers of the newest gcc that it finds, and those are not installed.",
        "rocm_install.cxx-headers rocm_install.compiler",
        "Ask clang which gcc it takes: amdclang++ -v -x c++ /dev/null.",
    ),
    error_text(
        "device-library",
        "cannot find ROCm device library",
        """
        cannot find rocm device library
        cannot find hip runtime; provide its path
        device library...not found
        """,
        "clang does not find amdgcn/bitcode: not installed, or ROCM_PATH, HIP_PATH or DEVICE_LIB_PATH leads elsewhere.",
        "rocm_install.compiler rocm_install.build-variables rocm_side_by_side.* packages.*",
        "Give clang the place: --rocm-path=/opt/rocm.",
    ),
    error_text(
        "hip-headers",
        "hip/hip_runtime.h not found",
        """
        hip/hip_runtime.h' file not found
        hip/hip_runtime.h: no such file
        hip/hip_runtime_api.h' file not found
        could not find...hip-config.cmake
        by "hip" with any of the following names
        """,
        "HIP's headers or CMake files are not where the build looks: the development package is missing, or a variable "
        "leads elsewhere.",
        "rocm_install.compiler rocm_install.build-variables rocm_side_by_side.* rocm_install.*",
        "CMAKE_PREFIX_PATH=/opt/rocm helps CMake.",
    ),
    error_text(
        "tool-missing",
        "A ROCm tool is not found",
        """
        rocminfo: command not found
        rocm-smi: command not found
        amd-smi: command not found
        hipcc: command not found
        hipconfig: command not found
        rocm_agent_enumerator: command not found
        command 'rocminfo' not found
        no such file or directory: 'rocminfo'
        no such file or directory: 'rocm_agent_enumerator'
        no such file or directory: 'rocm-smi'
        no such file or directory: '/opt/rocm
        """,
        "It is not installed, or /opt/rocm/bin is not on PATH. Wheels bring their own libraries and need none of the tools.",
        "rocm_install.* rocm_side_by_side.* packages.*",
        "Where ROCm is installed: export PATH=$PATH:/opt/rocm/bin.",
    ),
)
