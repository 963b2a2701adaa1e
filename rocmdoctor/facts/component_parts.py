"""The parts of a ROCm user space, by the file that each one is and the packages that bring it.

Package names: AMD's classic repository, the table "Linux packages available" of the ROCm 10.0 release notes (amdrocm-*), Debian,
Fedora and Arch. None of them depends on a release.
"""

from typing import NamedTuple


class Part(NamedTuple):
    """`group`: runtime | compiler | libraries | tools. `library` is a base name without .so, `program` a name in bin/.

    `packages` are AMD's classic names, `amdrocm` the name in the amdrocm world, `distro` the distributions' (globs)."""

    name: str
    group: str
    library: str | None
    program: str | None
    packages: tuple[str, ...]
    amdrocm: str
    distro: tuple[str, ...] = ()


def _library(name: str, library: str, package: str, amdrocm: str, *more: str, distro: tuple[str, ...] = ()) -> Part:
    debian = f"{library.lower()}[0-9]*"
    return Part(name, "libraries", library, None, (package, *more), amdrocm, (debian, package, *distro))


def _tool(program: str, amdrocm: str, *packages: str, library: str | None = None, distro: tuple[str, ...] = ()) -> Part:
    return Part(program, "tools", library, program, packages, amdrocm, distro)


PARTS = (
    Part("HSA run time", "runtime", "libhsa-runtime64", None, ("hsa-rocr", "hsa-rocr-dev", "hsa-ext-rocr-dev"), "amdrocm-runtime",
         ("libhsa-runtime64-1", "hsa-rocr", "rocm-runtime")),
    Part("HIP", "runtime", "libamdhip64", None, ("hip-runtime-amd", "hip-rocclr", "hip_hcc", "hip-hcc"), "amdrocm-runtime",
         ("libamdhip64-[0-9]*", "hip-runtime-amd", "rocm-hip", "rocclr")),
    Part("hipcc", "compiler", None, "hipcc", ("hipcc", "hip-dev", "hip-devel", "hip-base"), "amdrocm-llvm",
         ("hipcc", "rocm-hip-devel")),
    Part("LLVM", "compiler", None, None, ("rocm-llvm", "llvm-amdgpu"), "amdrocm-llvm",
         ("rocm-llvm", "rocm-clang", "rocm-device-libs-*")),
    _library("rocBLAS", "librocblas", "rocblas", "amdrocm-blas"),
    _library("hipBLASLt", "libhipblaslt", "hipblaslt", "amdrocm-blas"),
    _library("MIOpen", "libMIOpen", "miopen-hip", "amdrocm-dnn", "miopen-opencl", distro=("miopen",)),
    _library("RCCL", "librccl", "rccl", "amdrocm-rccl"),
    _library("rocFFT", "librocfft", "rocfft", "amdrocm-fft"),
    _library("rocRAND", "librocrand", "rocrand", "amdrocm-rand"),
    _library("rocSOLVER", "librocsolver", "rocsolver", "amdrocm-solver"),
    _library("hipSPARSELt", "libhipsparselt", "hipsparselt", "amdrocm-blas"),
    _tool("rocminfo", "amdrocm-base", "rocminfo", distro=("rocminfo",)),
    _tool("amd-smi", "amdrocm-amdsmi", "amd-smi-lib", library="libamd_smi", distro=("amd-smi", "amdsmi", "python3-amdsmi")),
    _tool("rocm-smi", "amdrocm-amdsmi", "rocm-smi-lib", "rocm-smi-lib64", "rocm-smi", library="librocm_smi64",
          distro=("rocm-smi", "rocm-smi-lib")),
    _tool("rocprof", "amdrocm-profiler", "rocprofiler", "rocprofiler-dev", distro=("rocprofiler",)),
    _tool("rocprofv3", "amdrocm-profiler", "rocprofiler-sdk", library="librocprofiler-sdk", distro=("rocprofiler-sdk",)),
    _tool("rocgdb", "amdrocm-debugger", "rocm-gdb", distro=("rocm-gdb", "rocgdb")),
    _tool("hipify-perl", "amdrocm-hipify", "hipify-clang", "hip-dev", "hip-devel", "hip-base",
          distro=("hipify", "hipify-perl", "hipify-clang")),
    _tool("hipify-clang", "amdrocm-hipify", "hipify-clang", distro=("hipify", "hipify-clang")),
)  # fmt: skip
"""From the run time up."""
