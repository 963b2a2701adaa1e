"""What a security module of the kernel lets this process be: an SELinux domain or an AppArmor profile.

Sources: proc(5) for /proc/self/attr/current; Linux Documentation/admin-guide/LSM/index.rst; container-selinux (container_t,
container_use_devices).
"""

from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known

if TYPE_CHECKING:
    from rocmdoctor.host import Host

CONTEXT = "/proc/self/attr/current"


class Confinement(NamedTuple):
    """`context`: an SELinux context ("system_u:system_r:container_t:s0:c1,c2") or an AppArmor profile ("snap.x.y (enforce)"),
    None where there is none or it is unknown."""

    context: str | None

    @property
    def module(self) -> str | None:
        """SELinux | AppArmor, None where nothing confines."""
        if not self.context or self.context == "unconfined":
            return None
        if self.context.count(":") >= 3:
            return None if ":unconfined_t:" in self.context or ":spc_t:" in self.context else "SELinux"
        return "AppArmor"


def gather(host: "Host") -> Confinement:
    """Of this process, and so of the programs that are started beside it in the same container or service."""
    text = known(lambda: host.read(CONTEXT, 4096), None)
    return Confinement((text or "").strip(" \t\n\0") or None)
