"""A reboot that somebody else must do: the step notes the boot in which it was needed, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.plan.step import Record, Run, Step

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""A number that every boot draws anew (random(4))."""


@dataclass(frozen=True, slots=True)
class RebootNotice(Step):
    """`driver`: the release of the packaged driver that must be the loaded one. rocmdoctor never reboots."""

    kind: ClassVar[str] = "reboot-notice"

    driver: str = ""

    def is_done(self, host: Host) -> bool:
        """The amdgpu that is loaded is the one that is installed: by srcversion, which every build has of its own. Another
        version is another module; the same version is no proof (ROCm 6.2.0 and 6.2.4 both have 6.8.5). Only the packaged driver
        has a version file (rules.md 8). Raises UnknownFact when they cannot be told apart."""
        from rocmdoctor.facts import known, modules
        from rocmdoctor.facts.sysfs import attribute

        version = attribute(host, "/sys/module/amdgpu/version")
        if version is None:
            return False
        loaded = known(lambda: attribute(host, "/sys/module/amdgpu/srcversion"), None)
        installed = modules.gather_modinfo(host, "amdgpu")
        if installed and installed.version and version != installed.version:
            return False
        if not (loaded and installed and installed.srcversion):
            raise UnknownFact("whether the loaded amdgpu is the installed one cannot be told: there is no srcversion")
        return loaded == installed.srcversion

    def took(self, host: Host) -> bool:
        return True

    def prepare(self, run: Run) -> Record:
        return {"boot_id": boot_id(run.target.look())}

    def apply(self, run: Run, before: Record) -> Record:
        run.say("Reboot to load the new driver; `rocmdoctor verify` says afterwards what still fails")
        return {"boot_id": before.get("boot_id")}


def since(steps: Iterable[Step], before: Mapping[str, Record], host: Host) -> str | None:
    """needed: the boot in which a run asked for a reboot is still this one | done | None: it asked for none, or the boots cannot
    be told apart. `before`: what the run's journal says of its steps."""
    notice = next((step for step in steps if isinstance(step, RebootNotice) and step.id in before), None)
    if notice is None:
        return None
    then, now = before[notice.id].get("boot_id"), boot_id(host)
    if not then or not now:
        return None
    return "needed" if then == now else "done"


def boot_id(host: Host) -> str | None:
    """The id of this boot; None where the kernel does not tell."""
    from rocmdoctor.facts import known

    return (known(lambda: host.read(BOOT_ID, 256), None) or "").strip() or None
