"""The kernel log: prefixes of dmesg and the journal, refusals, and searching."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import kernel_log
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

MESSAGE = "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init"


@pytest.mark.parametrize(
    ("prefix", "seconds"),
    [
        ("[    3.525117] ", 3.525117),
        ("[12345.000001] ", 12345.000001),
        ("[    0.000000][    T0] ", 0.0),
        ("[    1.250000][ C11] ", 1.25),
        ("<6>[    1.250000] ", 1.25),
        ("kern  :err   : [    1.234567] ", 1.234567),
        ("kern  :err   : 2026-01-07T10:00:30,345678-06:00 ", None),
        ("2026-01-07T10:00:30,345678-06:00 ", None),
        ("[Tue Nov  5 10:11:12 2024] ", None),
        ("[  +0.000123] ", None),
        ("Nov 05 10:11:12 node7 kernel: ", None),
        ("Nov  5 10:11:12 node7 kernel: [   12.345678] ", 12.345678),
        ("2024-11-05T10:11:12+0000 node7 kernel: ", None),
        ("2024-11-05T10:11:12.123456+00:00 node7 kernel: [    3.500000] ", 3.5),
        ("", None),
    ],
)
def test_prefixes(prefix: str, seconds: float | None) -> None:
    (line,) = kernel_log.parse(prefix + MESSAGE + "\n", "dmesg").lines
    assert line == kernel_log.LogLine(MESSAGE, seconds, "0000:03:00.0")


def test_a_tag_of_the_message_is_no_prefix() -> None:
    lines = kernel_log.parse("[    1.0] [drm] amdgpu version: 6.8.5\n[drm] *ERROR* x\n  continued\n", "dmesg").lines
    assert [line.text for line in lines] == ["[drm] amdgpu version: 6.8.5", "[drm] *ERROR* x", "  continued"]
    assert lines[0].device is None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("[    0.000000] x\n", True),
        ("[    4.9] kfd kfd: added device\n", True),
        ("[  812.5] x\n", False),
        ("Nov 05 10:11:12 h kernel: Linux version 6.8.0\n", True),
        ("Nov 05 10:11:12 h kernel: Command line: ro\n", True),
        ("Nov 05 10:11:12 h kernel: usb 1-1: x\n", False),
        ("", False),
    ],
)
def test_complete(text: str, complete: bool) -> None:
    assert kernel_log.parse(text, "dmesg").complete is complete


def test_dmesg_first() -> None:
    log = kernel_log.gather(small_host(commands=[command("dmesg", stdout="[    0.1] " + MESSAGE + "\n")]))
    assert log.source == "dmesg" and len(log.lines) == 1


JOURNAL = command(
    "journalctl",
    "-k",
    "-b",
    "--no-pager",
    stdout="-- Logs begin at Mon 2024-11-04 --\nNov 05 10:11:12 h kernel: Linux version 6.8\n",
)
REFUSED = command("dmesg", rc=1, stderr="dmesg: read kernel buffer failed: Operation not permitted\n")


@pytest.mark.parametrize(
    "dmesg",
    [
        REFUSED,
        command("dmesg", stderr="dmesg: read kernel buffer failed: Operation not permitted\n"),
        command("dmesg", timed_out=True, rc=124),
        command("dmesg", stdout="\n"),
        None,
    ],
)
def test_the_journal_where_dmesg_does_not_tell(dmesg: dict[str, object] | None) -> None:
    log = kernel_log.gather(small_host(commands=[JOURNAL] + ([dmesg] if dmesg else [])))
    assert log.source == "journalctl -k -b --no-pager" and log.complete
    assert [line.text for line in log.lines] == ["Linux version 6.8"]


@pytest.mark.parametrize(
    "journal",
    [
        command("journalctl", "-k", "-b", "--no-pager", stdout="-- No entries --\n"),
        command(
            "journalctl",
            "-k",
            "-b",
            "--no-pager",
            rc=1,
            stderr="Hint: You are currently not seeing messages from other users and the system.\n",
        ),
        command("journalctl", "-k", "-b", "--no-pager", stdout="Hint: You are currently not seeing messages\n-- No entries --\n"),
        None,
    ],
)
def test_neither(journal: dict[str, object] | None) -> None:
    with pytest.raises(UnknownFact, match="Operation not permitted"):
        kernel_log.gather(small_host(commands=[REFUSED] + ([journal] if journal else [])))


def test_unknown_commands() -> None:
    with pytest.raises(UnknownFact):
        kernel_log.gather(small_host(unknown=["cmd:dmesg", "cmd:journalctl"]))
    assert kernel_log.gather(small_host(commands=[JOURNAL], unknown=["cmd:dmesg"])).lines


PATTERNS = [
    "pci REJECTS atomics",
    r"kfd\s+kfd: \S+ device",
    r"BAR \d+: no space|Fatal error",
    r"^amdgpu.*0000:03:00\.0",
    r"(?P<device>1002:[0-9A-F]{4})",
    r"[^A-Z]init$",
    r"\Bgpu\b",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matching_is_search_without_case(pattern: str) -> None:
    texts = [
        MESSAGE,
        "kfd kfd: skipped device 1002:67df, PCI rejects atomics",
        "pci 0000:03:00.0: BAR 0: no space for [mem]",
        "x" * 50,
    ]
    log = kernel_log.parse("".join(f"[    1.0] {t}\n" for t in texts), "dmesg")
    wanted = [t for t in texts if re.search(pattern, t, re.IGNORECASE)]
    assert wanted and [line.text for line in log.matching(pattern)] == wanted
    assert log.matching(pattern) is log.matching(pattern)


@given(st.text(max_size=300) | st.text(alphabet="[]: 0123456789.+T-kernel\n", max_size=300))
def test_any_text(text: str) -> None:
    log = kernel_log.parse(text, "dmesg")
    assert all(line.text for line in log.lines)
    log.matching("amdgpu")


def test_bounded() -> None:
    log = kernel_log.parse("x" * 10_000_000 + "\n" + "[    1.0] y\n" * (kernel_log.MAX_LINES + 5), "dmesg")
    assert len(log.lines) == kernel_log.MAX_LINES and len(log.lines[0].text) == 4096
