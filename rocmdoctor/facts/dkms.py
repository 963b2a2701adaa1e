"""DKMS: out-of-tree modules and the kernels they are built for (/var/lib/dkms, `dkms status`; dkms(8))."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class DkmsBuild:
    """`state`: added | built | installed (| "installed (original_module exists)" is given as installed).

    `kernel` is None for a module that is only added. `module` is "amdgpu" (or "rock-dkms"'s "amdgpu")."""

    module: str
    version: str
    kernel: str | None
    arch: str | None
    state: str


@dataclass(frozen=True, slots=True)
class DkmsLog:
    """A build log: /var/lib/dkms/MODULE/VERSION/{build,KERNEL/ARCH/log}/make.log. `errors`: its telling lines, bounded."""

    path: str
    kernel: str | None
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dkms:
    """`available`: a dkms tree or program exists."""

    available: bool
    builds: tuple[DkmsBuild, ...] = ()
    logs: tuple[DkmsLog, ...] = ()

    def amdgpu(self) -> tuple[DkmsBuild, ...]:
        return tuple(b for b in self.builds if b.module in ("amdgpu", "rock"))


def parse_status(text: str) -> tuple[DkmsBuild, ...]:
    """Both forms: "amdgpu, 6.8.5-x, 6.8.0-45-generic, x86_64: installed" (dkms 2) and "amdgpu/6.8.5-x, ...: installed" (3)."""
    raise NotImplementedError


def gather(host: Host) -> Dkms:
    raise NotImplementedError
