"""The running kernel and its command line (/proc/cmdline; Linux Documentation/admin-guide/kernel-parameters)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Kernel:
    """`release` as uname gives it ("6.8.0-45-generic"); `flavour` is its last part ("generic", "oem", "azure", "el9_4", "default")."""

    release: str
    machine: str
    build: str
    """uname -v, e.g. "#45~22.04.1-Ubuntu SMP ..."."""

    @property
    def flavour(self) -> str | None:
        raise NotImplementedError

    @property
    def is_wsl(self) -> bool:
        return "microsoft" in self.release.lower()


@dataclass(frozen=True, slots=True)
class Cmdline:
    """Parameters in order, values unquoted; a parameter without "=" has the value None."""

    params: tuple[tuple[str, str | None], ...]

    def has(self, name: str) -> bool:
        """`-` and `_` are the same in parameter names, as for the kernel."""
        raise NotImplementedError

    def get(self, name: str) -> str | None:
        """The last value given, or None."""
        raise NotImplementedError

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter that may be given several times (modprobe.blacklist=)."""
        raise NotImplementedError

    @property
    def blacklist(self) -> tuple[str, ...]:
        """Module names named by modprobe.blacklist=, module_blacklist= (rules.md 15), `-` written `_`."""
        raise NotImplementedError


def parse_cmdline(text: str) -> Cmdline:
    raise NotImplementedError


def gather(host: Host) -> Kernel:
    raise NotImplementedError


def gather_cmdline(host: Host) -> Cmdline:
    raise NotImplementedError
