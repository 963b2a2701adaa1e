"""Nothing of a host may act upon the terminal, and what is printed as a command must be that command."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.reports.printable import LIMIT, command_line, command_lines, printable, style, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\u009b31m"),
        ("a\nFAIL  forged", "a\\nFAIL  forged"),
        ("a\rb", "a\\rb"),
        ("a\tb\xa0c", "a b c"),
        ("\u202ecod.exe", "\\u202ecod.exe"),
        ("zero\u200bwidth \u2028line", "zero\\u200bwidth \\u2028line"),
        ("\U000e0041", "\\U000e0041"),
        (os.fsdecode(b"/opt/\xff"), "/opt/\\xff"),
        ("Grafikkarte für Büro 显卡", "Grafikkarte für Büro 显卡"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_is_cut() -> None:
    assert len(printable("x" * 10_000_000)) == LIMIT + 3


@given(st.text())
def test_printable_is_printable(text: str) -> None:
    assert printable(text).isprintable()


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=5))
def test_a_printed_command_is_printable(argv: list[str]) -> None:
    assert command_line(argv).isprintable()


@pytest.mark.parametrize(
    "argv",
    [
        ("usermod", "-a", "-G", "render,video", "user1"),
        ("echo", "two words", "it's", '"', "$(id)", ";rm"),
        ("echo", "a\nb", "\x1b[31m'x\\", "\u202e", "\x85", os.fsdecode(b"\xff")),
        ("echo", ""),
        ("echo", *["a long word that needs quotes"] * 8),
    ],
)
def test_bash_reads_back_what_was_printed(argv: tuple[str, ...]) -> None:
    for text in (command_line(argv), "\n".join(command_lines(argv, 40, "    "))):
        program = f"set -- {text.strip()}; printf '%s\\0' \"$@\""
        done = subprocess.run(
            ["bash", "-c", program], stdout=subprocess.PIPE, check=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        )
        assert done.stdout == b"".join(os.fsencode(a) + b"\0" for a in argv)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("usermod", "-aG", "render", "u"), "sudo usermod -aG render u"),
        (("sudo", "dkms", "status"), "sudo dkms status"),
        (("unset", "HSA_OVERRIDE_GFX_VERSION"), "unset HSA_OVERRIDE_GFX_VERSION"),
    ],
)
def test_sudo(argv: tuple[str, ...], line: str) -> None:
    assert command_line(argv, sudo=True) == line


@given(st.text(st.characters(categories=["L", "N"]), max_size=300), st.integers(40, 100))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    lines = wrap(text + " " + text[:50], width, "      ", "FAIL  ")
    assert all(len(line) <= width or len(line.removeprefix("FAIL  ").split()) == 1 for line in lines)  # a path stays whole


def test_broken_commands_paste() -> None:
    argv = ("apt-get", "install", *[f"package-{n}" for n in range(12)])
    lines = command_lines(argv, 60, "    ", sudo=True)
    assert len(lines) > 1 and all(len(line) <= 60 for line in lines)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == ["sudo", *argv]


def test_style_is_only_for_colour() -> None:
    assert style("x", "fail", False) == "x"
    assert style("x", "fail", True) == "\x1b[1;31mx\x1b[0m"
