"""The streams of the command line: data on standard output, one line at a time on standard error, text from standard input."""

from __future__ import annotations

import contextlib
import os
import sys

MAX_WIDTH = 100
"""Columns used of a wider terminal: longer lines of prose read badly."""


class OutputError(Exception):
    """Standard output does not take what was to be said: the run has failed, and it is no bug."""


def colors(refused: bool) -> bool:
    """Colours only for a terminal that has them, and that nobody asked to be without (https://no-color.org)."""
    return not refused and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb" and to_terminal()


def to_terminal() -> bool:
    """Whether standard output is a terminal. It may be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """Columns for prose: 80 where the output goes to a program."""
    if not to_terminal():
        return 80
    import shutil

    return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def emit(text: str) -> None:
    """Write data to standard output. A reader that has gone (`| head`) is no error and changes no exit status.

    Raises OutputError where it is closed or cannot take the data.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("standard output is closed")
    try:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError) as error:  # the disk is full; ValueError: the stream was closed
        reason = error.strerror if isinstance(error, OSError) else None
        raise OutputError(f"standard output cannot be written: {reason or error}") from None


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
