"""The DKMS module of the driver: without headers DKMS skips the build and apt still ends with 0, so the module is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.facts import modules
from rocmdoctor.host import Host
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, Record, Run, Step


@dataclass(frozen=True, slots=True)
class DkmsModule(Step):
    """The packaged amdgpu is built for the running kernel, and lies where modprobe finds it first."""

    kind: ClassVar[str] = "dkms-module"

    kernel: str = ""

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("dkms", "autoinstall", "-k", self.kernel),)

    def is_done(self, host: Host) -> bool:
        return any(file.kind == "dkms" for file in modules.gather(host, "amdgpu").files)

    def prepare(self, run: Run) -> Record:
        return {"built": self.is_done(run.target.look())}

    def apply(self, run: Run, before: Record) -> Record:
        if not self.is_done(run.target.look()):
            run_or_fail(run, self.commands[0])
        if not self.is_done(run.target.look()):
            raise ChangeFailed(
                f"there is no amdgpu module for kernel {self.kernel}: DKMS skipped or failed the build "
                f"(see /var/lib/dkms/amdgpu; are the headers of {self.kernel} installed?)"
            )
        return {}
