"""Text for a terminal. What came from the host is untrusted: nothing of it may move the cursor, hide or imitate our own lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

LIMIT = 2000
"""Characters of one piece of host text that a report shows at most."""

LONGEST_WORD = 160

STYLES = {"fail": "1;31", "warn": "1;33", "error": "1;35", "pass": "32", "command": "36", "faint": "2", "strong": "1"}
"""SGR parameters (ECMA-48): a whole colour library costs more start-up time than the report."""

_MARKED_COMMAND = re.compile(r"##(?=\w{0,20}\[)")

SHELL_WORDS = frozenset({"cd", "export", "unset", "source", "sudo"})
"""Words that sudo cannot run (built into the shell), or that need no second sudo."""


def printable(text: str, limit: int = LIMIT) -> str:
    """One line of `text` that prints as it reads: controls, line ends, bidi marks and lone surrogates become escapes.

    `str.isprintable` is false for the Unicode groups Other (controls, formats such as U+202E, surrogates, unassigned) and
    Separator except the space: all that a terminal may act upon.
    """
    if len(text) > limit:
        text = text[:limit] + "..."
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " if c in "\t\xa0" else _escape(c) for c in text)
    return inert(text)


def inert(line: str) -> str:
    """One line in which no CI server finds a command: "::name::" at its beginning (GitHub), "##[", "##vso[", "##teamcity["
    anywhere in it (GitHub, Azure, TeamCity). The sign that makes it one becomes its escape."""
    if "##" in line:
        line = _MARKED_COMMAND.sub(r"#\\x23", line)
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}\\x3a{bare[1:]}" if bare.startswith("::") and bare[2:3].isalpha() else line


def inert_json(document: str) -> str:
    """A JSON text that means the same and holds no command of a CI server: "#" occurs in strings only, where \\u0023 is one."""
    return document.replace("##", "#\\u0023")


def _escape(char: str) -> str:
    """The visible escape of one character: \\n, \\x1b, \\u202e, and \\xff for a byte that was no UTF-8 (PEP 383)."""
    if char in "\n\r":
        return "\\n" if char == "\n" else "\\r"
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    elif code >= 0x80:
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return f"\\x{code:02x}"


def command_line(argv: Sequence[str], *, sudo: bool = False) -> str:
    """`argv` as one line to paste into a shell; with `sudo`, run by it unless it is a word of the shell itself."""
    return " ".join(_words(argv, sudo))


def command_lines(argv: Sequence[str], width: int, indent: str, *, sudo: bool = False) -> list[str]:
    """`command_line` within `width` columns where it can be: lines broken by a backslash, so that they still paste."""
    lines: list[str] = []
    for word in _words(argv, sudo):
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += " " + word
        else:
            lines.append(indent + ("  " if lines else "") + word)
    return [line + " \\" for line in lines[:-1]] + lines[-1:]


def _words(argv: Sequence[str], sudo: bool) -> list[str]:
    words = [_quote(a) for a in argv]
    return ["sudo", *words] if sudo and argv and argv[0] not in SHELL_WORDS else words


def _quote(word: str) -> str:
    """shlex.quote, and $'\\x1b' for what a terminal or a CI server would act upon: bash and zsh read it back."""
    word = word[:LIMIT]
    if word.isprintable() and inert(word) == word:
        return shlex.quote(word)
    quoted = "".join(f"\\{c}" if c in "\\'" else c if c.isprintable() else _escape(c) for c in word)
    return "$'" + quoted.replace("##", "#\\x23") + "'"


def wrap(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """Lines of at most `width` columns. `first`: what the first line begins with.

    Paths and addresses stay whole, even when they are wider, so that they can be copied; what is too long for one is broken.
    """
    import textwrap

    lines = textwrap.wrap(
        text,
        max(width, len(indent) + 20),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=max(map(len, text.split(" "))) > LONGEST_WORD,
    )
    return [inert(line) for line in lines] if "::" in text or "##" in text else lines


def style(text: str, name: str, color: bool) -> str:
    """`text` in one of STYLES, or as it is."""
    return f"\x1b[{STYLES[name]}m{text}\x1b[0m" if color and text else text
