"""The streams of the command line: data on standard output, one line at a time on standard error, text from standard input."""

from __future__ import annotations

import contextlib
import os
import sys

MAX_WIDTH = 100
"""Columns used of a wider terminal: longer lines of prose read badly."""


def colors(refused: bool) -> bool:
    """Colours only for a terminal that has them, and that nobody asked to be without (https://no-color.org)."""
    return not refused and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb" and sys.stdout.isatty()


def width() -> int:
    """Columns for prose: 80 where the output goes to a program."""
    if not sys.stdout.isatty():
        return 80
    import shutil

    return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def emit(text: str) -> None:
    """Write data to standard output. A reader that has gone (`| head`) is no error and changes no exit status."""
    stream = sys.stdout
    try:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def piped_text(limit: int) -> str:
    """What is piped into standard input, at most `limit` bytes; "" from a terminal, where nobody knows that text is awaited."""
    stream = sys.stdin
    try:
        if stream is None or stream.isatty():
            return ""
        return stream.buffer.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):  # closed
        return ""


def complain(text: str) -> None:
    """One line on standard error, whatever the text contains."""
    from rocmdoctor.reports.printable import printable

    with contextlib.suppress(OSError):
        print(f"rocmdoctor: {printable(text)}", file=sys.stderr)
