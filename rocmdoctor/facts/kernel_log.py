"""The kernel log of this boot (`dmesg`, else `journalctl -k -b`): what amdgpu and KFD said.

Sources: dmesg(1) for its prefixes (-x, -T, --time-format, CONFIG_PRINTK_CALLER), journalctl(1), syslog lines of RFC 3164; Linux
Documentation/admin-guide/sysctl/kernel.rst (dmesg_restrict: EPERM for ordinary users).
"""

import re
from functools import cached_property
from typing import NamedTuple

from rocmdoctor.host import Command, Host, UnknownFact

DMESG = ("dmesg",)
JOURNAL = ("journalctl", "-k", "-b", "--no-pager")

MAX_LINES = 200_000
_MAX_LINE = 4096
_BOOT_SECONDS = 5.0
"""A log whose first message is older than this has not lost the boot."""


class LogLine(NamedTuple):
    """One message without its prefix. `seconds` since boot where the prefix tells; `device` is a PCI address named in it."""

    text: str
    seconds: float | None = None
    device: str | None = None


class KernelLog:
    """Lines in order. `source` is the command that gave them. `complete`: the ring buffer still holds the boot."""

    def __init__(self, lines: tuple[LogLine, ...], source: str, complete: bool) -> None:
        self.lines, self.source, self.complete = lines, source, complete
        self._answers: dict[str, tuple[LogLine, ...]] = {}

    @cached_property
    def _lowered(self) -> list[str]:
        return [line.text.lower() for line in self.lines]

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self._lowered)

    def mentions(self, words: tuple[str, ...]) -> bool:
        """Whether any of the words (lower case) stands in the log: cheap, for searches that mostly find nothing."""
        return any(word in self._joined for word in words)

    def matching(self, pattern: str) -> tuple[LogLine, ...]:
        """Lines whose text matches the regular expression (re.search, case-insensitive). An answer is kept.

        A pattern without classes that lower() would turn round (\\S, \\B) is searched in lower case, which is three times faster
        than IGNORECASE: a long log is asked for dozens of patterns.
        """
        answer = self._answers.get(pattern)
        if answer is None:
            if re.search(r"\\[A-Z]|\(\?[PLa-z]", pattern):
                search = re.compile(pattern, re.IGNORECASE).search
                answer = tuple(line for line in self.lines if search(line.text))
            else:
                search = re.compile(pattern.lower()).search
                answer = tuple(line for line, text in zip(self.lines, self._lowered, strict=True) if search(text))
            self._answers[pattern] = answer
        return answer


def parse(text: str, source: str) -> KernelLog:
    """Prefixes: "[    1.234567] ", "[Tue Nov 5 ...] ", "kern  :err   : [ 1.2] ", ISO times, syslog/journal lines."""
    lines = []
    for raw in text.splitlines()[:MAX_LINES]:
        line = _line(raw[:_MAX_LINE])
        if line.text:
            lines.append(line)
    first = lines[0].seconds if lines else None
    begun = first is not None and first < _BOOT_SECONDS
    complete = begun or any("Linux version" in ln.text or "Command line:" in ln.text for ln in lines[:20])
    return KernelLog(tuple(lines), source, complete)


_PREFIX = r"""(?:<\d{1,4}>)?                                                          # dmesg -r
        (?:[a-z0-9]+\s*:[a-z]+\s*:\s)?                                         # dmesg -x: facility and level
        (?:
          (?:\d{4}-\d\d-\d\dT[0-9:.,+Z-]+\s+                                   # ISO time, of dmesg alone or with a host name
            |[A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d(?:\.\d+)?\s+)              # syslog and journal: "Nov  5 10:11:12 "
          (?:\S+\s+kernel:\s?)?
        )?
        (?:\[\s*(?P<seconds>\d{1,12}\.\d{1,9})\](?:\[\s*[TC]\d+\])?\s?          # [    1.234567] or [    1.234567][    T0]
          |\[[A-Z][a-z]{2}\s+[A-Z]?[a-z]{0,2}\s*\d{1,2}\s[0-9:.\s]{5,25}\]\s?    # [Tue Nov  5 10:11:12 2024]
          |\[\s*[+<]?\s*\+?\d+\.\d+>?\]\s?                                       # [  +0.000123] of dmesg -d
        )?"""
"""Verbose; compiled by the first line that needs it, for a plain dmesg has none."""

_PLAIN = re.compile(r"\[\s*(?P<seconds>\d{1,12}\.\d{1,9})\] ")
"""What dmesg prints of itself, and so nearly every line."""

_DEVICE = re.compile(r"\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")


def _line(raw: str) -> LogLine:
    match = _PLAIN.match(raw) or re.compile(_PREFIX, re.VERBOSE).match(raw)
    text = raw[match.end() :] if match else raw
    told = match["seconds"] if match else None
    device = _DEVICE.search(text)
    return LogLine(text.rstrip(), float(told) if told else None, device[1] if device else None)


def gather(host: Host) -> KernelLog:
    """Raises UnknownFact when neither dmesg nor the journal may be read (dmesg_restrict)."""
    why = []
    for argv in (DMESG, JOURNAL):
        try:
            command = host.run(argv)
            log = parse(_messages(command), " ".join(argv))
        except UnknownFact as exc:
            why.append(str(exc))
            continue
        if log.lines:
            return log
        why.append(f"{argv[0]} shows no messages")
    raise UnknownFact("the kernel log cannot be read: " + "; ".join(why))


def _messages(command: Command) -> str:
    """The messages a command printed, without journalctl's own lines. Raises UnknownFact where it was refused."""
    name = command.argv[0]
    if not command.found:
        raise UnknownFact(f"{name} was not found")
    if command.timed_out:
        raise UnknownFact(f"{name} did not answer in time")
    if command.rc != 0 or "Operation not permitted" in command.stderr:
        raise UnknownFact(f"{name} was refused: {command.stderr.strip()[:200] or f'exit status {command.rc}'}")
    if name != JOURNAL[0]:
        return command.stdout
    return "\n".join(line for line in command.stdout.splitlines() if not line.startswith(("-- ", "Hint: ")))
