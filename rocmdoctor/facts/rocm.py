"""ROCm installations: /opt/rocm*, /opt/rocm/core-X.Y (TheRock), the distribution's own; versions from .info/version."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class RocmInstall:
    """`root` is the real folder. `origin`: amd-package | distro-package | amdrocm-package | wheel | tarball | unknown.
    `active`: the one that /opt/rocm, ROCM_PATH or PATH (first rocminfo/hipcc) leads to. `gfx`: targets in rocblas/library
    file names (None when there is no rocBLAS)."""

    root: str
    version: str | None
    origin: str
    active: bool
    gfx: frozenset[str] | None
    has_hip: bool
    """libamdhip64.so* lies in its lib."""
    has_hsa: bool
    """libhsa-runtime64.so* lies in its lib."""
    hip_soname: str | None
    """"6" of libamdhip64.so.6."""
    tools: frozenset[str]
    """Of bin/: rocminfo, hipcc, hipconfig, rocm-smi, amd-smi, rocprof, rocprofv3, rocgdb, hipify-perl, hipify-clang ..."""
    libraries: frozenset[str]
    """Library base names without version: librocblas.so, libMIOpen.so ..."""
    clang: str | None
    """Path of llvm/bin/clang or lib/llvm/bin/clang."""


@dataclass(frozen=True, slots=True)
class Rocm:
    """Installs by root; at most one is active. `link`: where /opt/rocm leads, None when absent or a real folder."""

    installs: tuple[RocmInstall, ...]
    link: str | None

    @property
    def active(self) -> RocmInstall | None:
        return next((i for i in self.installs if i.active), None)


def gather(host: Host) -> Rocm:
    raise NotImplementedError
