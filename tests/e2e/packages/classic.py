"""ROCm 5.7 to 7.2 as AMD packages it: rocm-* meta-packages over libraries in /opt/rocm-X.Y.Z, each version stamped with the
release, and everything a second time under versioned names (rocblas6.2.4) for side-by-side installation."""

from __future__ import annotations

from typing import NamedTuple

from tests.e2e.packages.package import Content, Link, Package, Program
from tests.e2e.packages.shared_object import shared_object
from tests.e2e.packages.targets import Target
from tests.hostbuilder.releases import Release, key, release_of


class _Row(NamedTuple):
    """`version` is in front of the stamp; {v} the release, {hip} and {hsa} the versions of HIP and ROCr. `files` are below the
    prefix."""

    name: str
    version: str
    depends: str
    files: str = ""


# Names, relations and layout after AMD's repositories; versions are those of 6.2 unless _OTHER says otherwise.
_LIBRARIES = (
    _Row("rocm-core", "{v}", ""),
    _Row("rocprofiler-register", "0.4.0", "rocm-core", "lib/librocprofiler-register.so.0"),
    _Row("hsa-rocr", "{hsa}.0", "rocm-core rocprofiler-register", "lib/libhsa-runtime64.so.1"),
    _Row("hsa-rocr-dev", "{hsa}.0", "hsa-rocr rocm-core", "include/hsa/hsa.h"),
    _Row("comgr", "2.8.0", "rocm-core", "lib/libamd_comgr.so.{comgr}"),
    _Row("rocm-llvm", "18.0.0.24392", "rocm-core", "{llvm}/bin/clang {llvm}/bin/clang++ bin/amdclang bin/amdclang++"),
    _Row("rocm-device-libs", "1.0.0", "rocm-core", "amdgcn/bitcode/ocml.bc"),
    _Row("openmp-extras-runtime", "18.62.0", "rocm-core hsa-rocr", "{llvm}/lib/libomp.so"),
    _Row("openmp-extras-dev", "18.62.0", "openmp-extras-runtime rocm-llvm rocm-device-libs rocm-core"),
    _Row("rocminfo", "1.0.0", "hsa-rocr rocm-core", "bin/rocminfo bin/rocm_agent_enumerator"),
    _Row("rocm-cmake", "0.13.0", "rocm-core", "share/rocm/cmake/ROCMConfig.cmake"),
    _Row("hip-runtime-amd", "{hip}", "hsa-rocr comgr rocminfo rocprofiler-register rocm-core",
         "lib/libamdhip64.so.{hipmajor} lib/libhiprtc.so.{hipmajor}"),
    _Row("hipcc", "1.1.1", "rocm-core rocm-llvm", "bin/hipcc bin/hipconfig"),
    _Row("hip-dev", "{hip}", "hip-runtime-amd hsa-rocr-dev rocm-core hipcc rocm-llvm rocm-device-libs",
         "include/hip/hip_runtime.h"),
    _Row("hip-doc", "{hip}", "rocm-core hip-dev"),
    _Row("hip-samples", "{hip}", "rocm-core hip-dev", "share/hip/samples/README.md"),
    _Row("hipify-clang", "18.0.0", "rocm-core", "bin/hipify-clang bin/hipify-perl"),
    _Row("rocm-smi-lib", "7.3.0", "rocm-core", "bin/rocm-smi lib/librocm_smi64.so.7"),
    _Row("amd-smi-lib", "24.6.3", "rocm-core", "bin/amd-smi lib/libamd_smi.so.{amdsmi}"),
    _Row("rocblas", "4.2.4", "hip-runtime-amd rocm-core", "lib/librocblas.so.{rocblas} {kernels}"),
    _Row("rocblas-dev", "4.2.4", "rocblas hip-dev rocm-core", "include/rocblas/rocblas.h"),
    _Row("rocsolver", "3.26.2", "rocblas rocm-core", "lib/librocsolver.so.0"),
    _Row("hipblas", "2.2.0", "rocblas rocsolver rocm-core", "lib/libhipblas.so.{hipblas}"),
    _Row("hipblaslt", "0.8.0", "hipblas hip-runtime-amd rocm-core", "lib/libhipblaslt.so.{hipblaslt}"),
    _Row("rocsparse", "3.2.1", "hip-runtime-amd rocm-core", "lib/librocsparse.so.1"),
    _Row("hipsparse", "3.1.1", "rocsparse rocm-core", "lib/libhipsparse.so.1"),
    _Row("rocfft", "1.0.31", "hip-runtime-amd rocm-core", "lib/librocfft.so.0"),
    _Row("hipfft", "1.0.16", "rocfft rocm-core", "lib/libhipfft.so.0"),
    _Row("rocrand", "3.1.1", "hip-runtime-amd rocm-core", "lib/librocrand.so.1"),
    _Row("hiprand", "2.11.1", "rocrand rocm-core", "lib/libhiprand.so.1"),
    _Row("hipsolver", "2.2.0", "rocsolver rocblas rocsparse rocm-core", "lib/libhipsolver.so.0"),
    _Row("rccl", "2.20.5", "hip-runtime-amd rocm-smi-lib rocm-core", "lib/librccl.so.1"),
    _Row("miopen-hip", "3.2.0", "rocblas hipblaslt rocrand comgr hip-runtime-amd rocm-core", "lib/libMIOpen.so.1"),
    _Row("migraphx", "2.10.0", "miopen-hip rocblas rocm-core", "bin/migraphx-driver"),
    _Row("rpp", "1.8.0", "rocm-core", "lib/librpp.so.1"),
    _Row("rocdecode", "0.6.0", "hip-runtime-amd rocm-core", "lib/librocdecode.so.0"),
    _Row("rocm-opencl", "2.0.0", "comgr hsa-rocr rocm-core", "lib/libOpenCL.so.1 lib/libamdocl64.so bin/clinfo"),
    _Row("rocm-dbgapi", "0.76.0", "comgr rocm-core"),
    _Row("rocm-gdb", "14.2", "rocm-dbgapi rocm-core", "bin/rocgdb"),
    _Row("rocprofiler", "2.0.60204", "hsa-rocr rocminfo rocm-core", "bin/rocprof bin/rocprofv3"),
    _Row("roctracer", "4.1.60204", "hsa-rocr rocm-core", "lib/libroctracer64.so.4"),
)  # fmt: skip
_META = (
    _Row("rocm-language-runtime", "{v}", "comgr hsa-rocr openmp-extras-runtime rocm-core"),
    _Row("rocm-hip-runtime", "{v}", "hip-runtime-amd rocm-language-runtime rocminfo rocm-core"),
    _Row("rocm-hip-runtime-dev", "{v}",
         "hip-dev hip-doc hip-samples hipcc hipify-clang rocm-cmake rocm-device-libs rocm-hip-runtime rocm-llvm rocm-core"),
    _Row("rocm-hip-libraries", "{v}",
         "hipblas hipblaslt hipfft hipsolver hipsparse rccl rocblas rocfft rocrand rocsolver rocsparse rocm-hip-runtime "
         "rocm-core"),
    _Row("rocm-hip-sdk", "{v}", "rocm-hip-libraries rocm-hip-runtime-dev rocblas-dev hiprand rocm-core"),
    _Row("rocm-opencl-runtime", "{v}", "rocm-language-runtime rocm-opencl rocm-core"),
    _Row("rocm-openmp-sdk", "{v}", "openmp-extras-dev rocm-device-libs rocm-language-runtime rocm-llvm rocm-core"),
    _Row("rocm-ml-libraries", "{v}", "miopen-hip rocm-hip-libraries rocm-core"),
    _Row("rocm-ml-sdk", "{v}", "rocm-hip-sdk rocm-ml-libraries rocm-core"),
    _Row("rocm-utils", "{v}", "rocm-cmake rocminfo rocm-core"),
    _Row("rocm-developer-tools", "{v}",
         "amd-smi-lib rocm-dbgapi rocm-gdb rocm-smi-lib rocprofiler rocprofiler-register roctracer rocm-core"),
    _Row("rocm-dev", "{v}", "rocm-developer-tools rocm-hip-runtime-dev rocm-utils rocm-core"),
    _Row("rocm", "{v}",
         "rocm-utils rocm-developer-tools rocm-openmp-sdk rocm-opencl-runtime rocm-ml-sdk rocm-hip-sdk migraphx rpp rocdecode "
         "rocm-core"),
)  # fmt: skip
# Versions of other releases that are known; the rest is the same on purpose: upgrades then differ by the stamp alone.
_OTHER = {
    "6.2.0": {"rocblas": "4.2.0", "rocblas-dev": "4.2.0", "rocsolver": "3.26.0", "amd-smi-lib": "24.6.2"},
    "7.2.4": {"rocm-cmake": "0.14.0", "comgr": "3.0.0", "rocblas": "5.2.0", "rocblas-dev": "5.2.0", "amd-smi-lib": "26.2.2",
              "hipblas": "3.2.0", "hipblaslt": "1.2.1", "miopen-hip": "3.5.1", "rccl": "2.27.7", "rocm-llvm": "22.0.0.26014"},
}  # fmt: skip
_SYSTEM = {  # what comes from the distribution: Debian family, EL, SUSE
    "hsa-rocr": ("libelf1, libnuma1, libdrm-amdgpu1", "numactl-libs, libdrm", "libnuma1, libdrm_amdgpu1"),
    "amd-smi-lib": ("python3, python3-setuptools, python3-wheel", "python3, python3-setuptools, python3-wheel", "python3"),
    "hip-dev": ("perl-base", "perl-File-BaseDir, perl-URI-Encode", "perl-File-BaseDir, perl-URI-Encode"),
    "rocdecode": ("mesa-amdgpu-va-drivers", "mesa-amdgpu-va-drivers", "mesa-amdgpu-va-drivers"),
}
_ROCMINFO = """\
#!/bin/sh
# Says what the test's host has; without the device it says what the real one says.
if [ ! -r /dev/kfd ]; then
    echo "ROCk module is NOT loaded, possibly no GPU devices"
    exit 1
fi
cat /.e2e/state/rocminfo
"""
_ENUMERATOR = "#!/bin/sh\n/opt/rocm/bin/rocminfo | sed -n 's/^ *Name: *\\(gfx[0-9a-f]*\\) *$/\\1/p'\n"


def soname_numbers(row: Release) -> dict[str, object]:
    """Numbers behind .so that changed between the release series."""
    seven = row.hip_major >= 7
    return {
        "hipmajor": row.hip_major, "comgr": 3 if seven else 2, "rocblas": 5 if seven else row.hip_major - 2,
        "hipblas": 3 if seven else 2, "hipblaslt": 1 if seven else 0, "amdsmi": 26 if seven else 24,
    }  # fmt: skip


def tool(name: str) -> Program:
    """A program in bin/."""
    if name == "rocminfo":
        return Program(_ROCMINFO)
    if name == "rocm_agent_enumerator":
        return Program(_ENUMERATOR)
    return Program(f'#!/bin/sh\necho "{name}: a small body"\n')


def tree_files(prefix: str, names: list[str]) -> dict[str, Content]:
    """Files below `prefix` by their names: shared objects with their links, programs, and empty rest."""
    files: dict[str, Content] = {}
    for name in names:
        path, base = f"{prefix}/{name}", name.rpartition("/")[2]
        if ".so" in base and "/library/" not in name:
            files[path] = shared_object(base)
            plain = path.partition(".so")[0] + ".so"
            if plain != path:
                files[plain] = Link(base)
        elif "/bin/" in f"/{name}":
            files[path] = tool(base)
        else:
            files[path] = b""
    return files


def alternatives(prefix: str, priority: str) -> tuple[str, str]:
    """rocm-core's scripts: /opt/rocm leads to the newest tree by update-alternatives."""
    return (
        f"update-alternatives --install /opt/rocm rocm {prefix} {priority}",
        f"update-alternatives --remove rocm {prefix}",
    )


def packages(version: str, target: Target, *, versioned: bool = False) -> tuple[Package, ...]:
    """Everything in rocm/apt/X.Y or its like for one target. `versioned`: the side-by-side names."""
    row = release_of(version)
    prefix = f"/opt/rocm-{version}"
    tail = version if versioned else ""
    own = {r.name: _OTHER.get(version, {}).get(r.name, r.version) for r in (*_LIBRARIES, *_META)}
    full = {
        name: f"{text.format(v=version, hip=row.hip, hsa=row.hsa)}.{row.stamp}-{target.release(row.build)}"
        for name, text in own.items()
    }
    llvm = "llvm" if key(version) < (7,) else "lib/llvm"
    kernels = " ".join(f"lib/rocblas/library/TensileLibrary_lazy_{gfx}.dat" for gfx in row.gfx)
    made = []
    for r in (*_LIBRARIES, *_META):
        depends = [f"{target.name(name)}{tail} (= {full[name]})" for name in r.depends.split()]
        system = _SYSTEM.get(r.name)
        if system:
            depends += system[{"deb": 0, "el": 1, "suse": 2}[target.family]].split(", ")
        names = r.files.format(**soname_numbers(row), llvm=llvm, kernels=kernels).split()
        files = tree_files(prefix, names)
        files[f"{prefix}/share/doc/{r.name}/copyright"] = "MIT\n"
        on_install = on_remove = ""
        if r.name == "rocm-core":
            files[f"{prefix}/.info/version"] = f"{version}-{row.build}\n"
            on_install, on_remove = alternatives(prefix, row.stamp)
        elif r.name == "rocm-opencl" and not versioned:  # side by side the file would be in both
            files["/etc/ld.so.conf.d/10-rocm-opencl.conf"] = f"{prefix}/lib\n"
            on_install = "ldconfig"
        conffiles = () if target.deb else tuple(path for path in files if path.startswith("/etc/"))
        made.append(
            Package(
                target.name(r.name) + tail, full[r.name], tuple(depends), files, on_install=on_install, on_remove=on_remove,
                conffiles=conffiles,
            )
        )  # fmt: skip
    return tuple(made)
