"""Python environments and their torch builds, read as text and never imported (rules.md 33).

Environments: --python, VIRTUAL_ENV, CONDA_PREFIX, the first python3 on PATH, the user site. Layouts of wheels: up to rocm7.2 the
ROCm libraries lie in torch/lib; from rocm7.14 in _rocm_sdk_core and _rocm_sdk_libraries (rules.md 35).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Distribution:
    """One *.dist-info of an environment. `requires` are Requires-Dist lines as written."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    path: str
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Torch:
    """`build`: rocm | cuda | cpu | xpu. `version` is torch.__version__ of version.py, else the distribution's. `hip`, `rocm`, `cuda` as in
    version.py. `rocm_release`: the ROCm release of the wheel by rules.md 30 (version.rocm, then the +rocm tag, then hip up to 7.2), None for others.
    `layout`: bundled | rocm-sdk | system (a ROCm build with no ROCm libraries of its own) | None.
    `gfx`: targets that the wheel's library files name (RECORD), per library; empty frozenset values mean "no file names a target".
    `gfx_device`: targets of installed amd-torch-device-* / rocm-sdk-device-* distributions."""

    version: str
    build: str
    hip: str | None
    rocm: str | None
    cuda: str | None
    rocm_release: str | None
    layout: str | None
    gfx: dict[str, frozenset[str]]
    """Keys: rocblas, hipblaslt, miopen, aotriton ... as found."""
    gfx_device: frozenset[str]
    libraries: frozenset[str]
    """Base names in torch/lib from RECORD (or the folder): libamdhip64.so, libtorch_hip.so ..."""
    path: str
    """site-packages/torch"""

    @property
    def library_gfx(self) -> frozenset[str]:
        """Union of what the library files and device packages name."""
        return frozenset().union(*self.gfx.values(), self.gfx_device)


@dataclass(frozen=True, slots=True)
class PythonEnv:
    """`origin`: option | VIRTUAL_ENV | CONDA_PREFIX | path | user-site. `version` "3.10.12" or "3.10"."""

    executable: str
    version: str
    origin: str
    prefix: str
    site_packages: tuple[str, ...]
    distributions: tuple[Distribution, ...]
    torch: Torch | None
    externally_managed: bool = False

    def get(self, name: str) -> Distribution | None:
        """By normalised name."""
        raise NotImplementedError


def gather(host: Host, python: str | None = None) -> tuple[PythonEnv, ...]:
    """Environments in order of precedence, each once; `python` is --python (an executable or a prefix)."""
    raise NotImplementedError
