"""The kernel log of this boot (`dmesg`, else `journalctl -k -b`): what amdgpu and KFD said."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class LogLine:
    """One message without its prefix. `seconds` since boot where the prefix tells; `device` is a PCI address named in it."""

    text: str
    seconds: float | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Lines in order. `source` is the command that gave them. `complete`: the ring buffer still holds the boot."""

    lines: tuple[LogLine, ...]
    source: str
    complete: bool

    def matching(self, pattern: str) -> tuple[LogLine, ...]:
        """Lines whose text matches the regular expression (re.search, case-insensitive)."""
        raise NotImplementedError


def parse(text: str, source: str) -> KernelLog:
    """Prefixes: "[    1.234567] ", "[Tue Nov 5 ...] ", "kern  :err   : [ 1.2] ", ISO times, syslog/journal lines."""
    raise NotImplementedError


def gather(host: Host) -> KernelLog:
    """Raises UnknownFact when neither dmesg nor the journal may be read (dmesg_restrict)."""
    raise NotImplementedError
