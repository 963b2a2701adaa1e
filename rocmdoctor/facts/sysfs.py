"""Attribute files of sysfs and procfs: one short value, or lines of "name value".

Source: Linux Documentation/filesystems/sysfs.rst. What is no number there (nonsense, a truncated or hostile snapshot) is
None, never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocmdoctor.host import Host

ATTRIBUTE_LIMIT = 4096
"""A sysfs attribute is at most one page."""

_MAX_DIGITS = 20
"""2**64 has 20 decimal digits; longer "numbers" are nonsense and would only cost time."""


def attribute(host: Host, path: str) -> str | None:
    """The value of an attribute without surrounding white space and NULs; None when absent. Raises UnknownFact."""
    text = host.read(path, ATTRIBUTE_LIMIT)
    return None if text is None else text.strip(" \t\r\n\0")


def number(text: str | None) -> int | None:
    """An unsigned decimal number, else None."""
    if text is None:
        return None
    text = text.strip(" \t\r\n\0")
    return int(text) if len(text) <= _MAX_DIGITS and text.isascii() and text.isdigit() else None


def hexadecimal(text: str | None) -> int | None:
    """A hexadecimal number with or without 0x, else None."""
    if text is None:
        return None
    text = text.strip(" \t\r\n\0").lower()
    text = text[2:] if text.startswith("0x") else text
    if not text or len(text) > 16 or not text.isascii() or not text.isalnum():
        return None
    try:
        return int(text, 16)
    except ValueError:
        return None


def properties(text: str) -> dict[str, int]:
    """Lines of "name value" with unsigned decimal values (KFD's property files); other lines are left out."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        # isdecimal() first: thousands of these lines are read on a partitioned machine.
        if value.isdecimal() and len(value) <= _MAX_DIGITS and name:
            found[name] = int(value)
    return found
