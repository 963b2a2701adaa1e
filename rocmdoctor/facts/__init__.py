"""Facts of one host: lazy, cached, and three-stated. Checks ask here and nowhere else.

A property returns a frozen dataclass, or raises `UnknownFact` when the host could not tell; nobody pays for what no
selected check asks, so each subject's module is imported by its first question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from rocmdoctor.host import Host, UnknownFact, User

if TYPE_CHECKING:
    from rocmdoctor.facts.access import Access
    from rocmdoctor.facts.components import Component
    from rocmdoctor.facts.confinement import Confinement
    from rocmdoctor.facts.deep import HipRun, TorchRun
    from rocmdoctor.facts.dkms import Dkms
    from rocmdoctor.facts.environment import Environment
    from rocmdoctor.facts.firmware import Firmware
    from rocmdoctor.facts.frameworks import Frameworks
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.facts.kernel import Cmdline, Kernel
    from rocmdoctor.facts.kernel_log import KernelLog
    from rocmdoctor.facts.kfd import KfdTopology
    from rocmdoctor.facts.limits import Limits
    from rocmdoctor.facts.loader import Loader
    from rocmdoctor.facts.modules import Modinfo, ModprobeConfig, Module
    from rocmdoctor.facts.os_release import OsRelease
    from rocmdoctor.facts.packages import PackageDb
    from rocmdoctor.facts.pci import PciDevice
    from rocmdoctor.facts.place import Place
    from rocmdoctor.facts.pythons import PythonEnv
    from rocmdoctor.facts.repos import Repositories
    from rocmdoctor.facts.rocm import Rocm
    from rocmdoctor.facts.rocminfo import RocmInfo
    from rocmdoctor.facts.secure_boot import SecureBoot
    from rocmdoctor.facts.smi import Smi
    from rocmdoctor.facts.toolchain import Toolchain
    from rocmdoctor.matrix import Matrix

T = TypeVar("T")
D = TypeVar("D")


class WrongTarget(Exception):
    """An option asks for an interpreter or a release that there is not: wrong usage. `str()` of it names the option."""


def known(question: Callable[[], T], default: D) -> T | D:
    """The answer, or `default` when it is unknown: for evidence that helps but does not decide."""
    try:
        return question()
    except UnknownFact:
        return default


class Facts:
    """Everything checks may ask of `host`. The matrix only gives names to numbers: of GPUs, drivers, wheels."""

    def __init__(
        self, host: Host, matrix: Matrix, *, python: str | None = None, rocm: str | None = None, expect_gpus: int | None = None
    ) -> None:
        self.host = host
        self.python = python
        """--python: the interpreter or environment to judge."""
        self.asked_rocm = rocm
        """--rocm: judge against this release instead of the installed one."""
        self.expected_gpus = expect_gpus
        """--expect-gpus: how many GPUs this host should have; None: nobody said."""
        self._matrix = matrix

    def require_targets(self) -> None:
        """Raises WrongTarget where --python or --rocm names nothing. A release newer than the matrix is let through: its support
        is unknown, and a notice says so."""
        if self.python is not None:
            from rocmdoctor.facts import pythons

            pythons.require(self.host, self.python)
        rocm = self.asked_rocm
        if rocm is not None and self._matrix.release(rocm) is None and not self._matrix.is_newer_than_known(rocm):
            near = self._matrix.near(rocm)
            raise WrongTarget(f"--rocm {rocm}: the matrix has no such release (near it: {', '.join(near)})")

    # identity ------------------------------------------------------------------------------------------------

    @property
    def user(self) -> User:
        return self.host.user

    @property
    def groups(self) -> Mapping[str, int]:
        return self.host.groups

    @property
    def env(self) -> Mapping[str, str]:
        return self.host.env

    @cached_property
    def environment(self) -> Environment:
        """Parsed views of the variables that steer ROCm: overrides and visibility."""
        from rocmdoctor.facts import environment

        return environment.gather(self.host)

    @cached_property
    def os(self) -> OsRelease:
        from rocmdoctor.facts import os_release

        return os_release.gather(self.host)

    @cached_property
    def place(self) -> Place:
        from rocmdoctor.facts import place

        return place.gather(self.host)

    @property
    def today(self) -> str:
        """ISO date of the observation, by which keys have expired or not."""
        return self.host.date

    @cached_property
    def dev_mount_options(self) -> str:
        """Mount options of /dev (proc(5), /proc/mounts), "" when it is no mount point or unknown."""
        for line in (known(lambda: self.host.read("/proc/mounts"), None) or "").splitlines():
            fields = line.split(" ")
            if len(fields) > 3 and fields[1] == "/dev":
                return fields[3]
        return ""

    # hardware and kernel -------------------------------------------------------------------------------------

    @cached_property
    def pci(self) -> tuple[PciDevice, ...]:
        from rocmdoctor.facts import pci

        return pci.gather(self.host)

    @cached_property
    def kfd(self) -> KfdTopology:
        from rocmdoctor.facts import kfd

        return kfd.gather(self.host)

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """AMD GPUs by PCI bus, KFD and (in WSL) rocminfo."""
        from rocmdoctor.facts import gpus

        return gpus.identify(self, self._matrix)

    @cached_property
    def kernel(self) -> Kernel:
        from rocmdoctor.facts import kernel

        return kernel.gather(self.host)

    @cached_property
    def cmdline(self) -> Cmdline:
        from rocmdoctor.facts import kernel

        return kernel.gather_cmdline(self.host)

    @cached_property
    def amdgpu(self) -> Module:
        from rocmdoctor.facts import modules

        return modules.gather(self.host, "amdgpu")

    @cached_property
    def modinfo(self) -> Modinfo | None:
        """`modinfo amdgpu`."""
        from rocmdoctor.facts import modules

        return modules.gather_modinfo(self.host, "amdgpu")

    @cached_property
    def modprobe(self) -> ModprobeConfig:
        from rocmdoctor.facts import modules

        return modules.gather_modprobe(self.host)

    @cached_property
    def dkms(self) -> Dkms:
        from rocmdoctor.facts import dkms

        return dkms.gather(self.host)

    @cached_property
    def firmware(self) -> Firmware:
        from rocmdoctor.facts import firmware

        return firmware.gather(self.host, known(lambda: self.packages, None))

    @cached_property
    def secure_boot(self) -> SecureBoot:
        from rocmdoctor.facts import secure_boot

        return secure_boot.gather(self.host)

    @cached_property
    def kernel_log(self) -> KernelLog:
        from rocmdoctor.facts import kernel_log

        return kernel_log.gather(self.host)

    @cached_property
    def access(self) -> Access:
        from rocmdoctor.facts import access

        return access.gather(self.host)

    @cached_property
    def confinement(self) -> Confinement:
        """The SELinux domain or AppArmor profile of this process."""
        from rocmdoctor.facts import confinement

        return confinement.gather(self.host)

    @cached_property
    def limits(self) -> Limits:
        from rocmdoctor.facts import limits

        return limits.gather(self.host)

    # software ------------------------------------------------------------------------------------------------

    @cached_property
    def packages(self) -> PackageDb:
        from rocmdoctor.facts import packages

        return packages.gather(self.host)

    @cached_property
    def repos(self) -> Repositories:
        from rocmdoctor.facts import repos

        return repos.gather(self.host)

    @cached_property
    def rocm(self) -> Rocm:
        from rocmdoctor.facts import rocm

        return rocm.gather(self.host, known(lambda: self.packages, None))

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """Every part of ROCm with its version: the active install's first, then others', then the wheel's of `torch_env`."""
        from rocmdoctor.facts import components

        return components.gather(
            self.host, self.rocm.installs, known(lambda: self.packages, None), known(lambda: self.torch_env, None)
        )

    @cached_property
    def toolchain(self) -> Toolchain:
        """gcc, headers and compiler of the active ROCm."""
        from rocmdoctor.facts import toolchain

        return toolchain.gather(self.host, self.rocm.active)

    @cached_property
    def loader(self) -> Loader:
        from rocmdoctor.facts import loader

        return loader.gather(self.host)

    @cached_property
    def rocminfo(self) -> RocmInfo:
        from rocmdoctor.facts import rocminfo

        return rocminfo.gather(self.host)

    @cached_property
    def amd_smi(self) -> Smi:
        from rocmdoctor.facts import smi

        return smi.gather_amd_smi(self.host)

    @cached_property
    def rocm_smi(self) -> Smi:
        from rocmdoctor.facts import smi

        return smi.gather_rocm_smi(self.host)

    @cached_property
    def pythons(self) -> tuple[PythonEnv, ...]:
        from rocmdoctor.facts import pythons

        found = pythons.gather(self.host, self.python)
        return tuple(pythons.with_release(env, self._matrix.rocm_of_hip) for env in found)

    @cached_property
    def frameworks(self) -> tuple[Frameworks, ...]:
        """JAX, TensorFlow, ONNX Runtime, vLLM and others: one entry for each of `pythons`."""
        from rocmdoctor.facts import frameworks

        return frameworks.gather(self.host, self.pythons)

    # deep checks only: programs are run -----------------------------------------------------------------------

    @cached_property
    def torch_run(self) -> TorchRun:
        """What the interpreter of `torch_env` does with its torch. Raises UnknownFact when there is none, or it was not run."""
        from rocmdoctor.facts import deep

        env = self.torch_env
        if env is None:
            raise UnknownFact("no PyTorch was found")
        return deep.run_torch(self.host, env.executable)

    @cached_property
    def hip_run(self) -> HipRun | None:
        """What the active ROCm's hipcc and its program do; None when it has no hipcc."""
        from rocmdoctor.facts import deep

        active = self.rocm.active
        if active is None or "hipcc" not in active.tools:
            return None
        return deep.run_hip(self.host, f"{active.root}/bin/hipcc", deep.hip_targets(self))

    # what follows from several ---------------------------------------------------------------------------------

    @cached_property
    def driver_release(self) -> str | None:
        """Release of the packaged driver that is loaded ("6.2.0", "30.10.2"): from the module's version by the matrix, else
        from the amdgpu-dkms package; None for the kernel's own driver (rules.md 8, 9)."""
        module = self.amdgpu
        if module.kind != "dkms":
            return None
        package = known(lambda: self.packages.get("amdgpu-dkms"), None)
        if package and package.driver_release and module.version and package.version.startswith(module.version):
            return package.driver_release  # the package that the loaded module is of: it names the release exactly
        return self._matrix.driver_release_of_module(module.version) if module.version else None

    @property
    def torch_env(self) -> PythonEnv | None:
        """The environment whose torch is judged: the first with torch, in order of precedence."""
        return next((e for e in self.pythons if e.torch), None)

    @property
    def rocm_version(self) -> str | None:
        """The release to judge by: --rocm, else the active install's, None when there is no ROCm (or it does not tell)."""
        if self.asked_rocm:
            return self.asked_rocm
        active = self.rocm.active
        return active.version if active else None
