"""What makes a finding the same finding on another day and on another host of the same kind.

The title of a finding names what is wrong (releases, gfx targets, packages) and, beside it, what differs from host to host and
means nothing: the user, PCI addresses, numbers of device nodes, sizes and counts. A fingerprint is of the id and the first kind.
"""

from __future__ import annotations

import re
from functools import cache

from rocmdoctor.results import Result

LENGTH = 16
"""Hexadecimal digits of a fingerprint: 64 bits, plenty for the findings of one check."""

_PARTS = (
    # A sentence about an account begins with its name (checks/access.py).
    (r"\A\S{1,256}(?= (?:cannot open|is in the group|is not in the group|has no access to) )", "<user>"),
    (r"(?<![\w/])/(?:var/)?home/[^/\s:]+|(?<![\w/.-])/root(?=/)", "~"),
    (r"(?<![\w:.])(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7](?![\w:])", "<pci>"),
    (r"\b(renderD|card)\d+\b", r"\1<n>"),
    (r"(?<![\w.-])\d+(?:\.\d+)?(?= ?[KMGT]i?B\b)", "<n>"),
    (r"(?<![\w.-])\d{1,4}(?= of \d| more\b| (?:AMD )?GPU| (?:ROCm )?(?:packages?|installs?|render nodes?)\b)", "<n>"),
    (r"(?<= of )\d{1,4}(?= (?:AMD )?GPU)", "<n>"),
)
"""(pattern, what is written instead), in this order. Version numbers stay: another release is another finding."""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), instead) for pattern, instead in _PARTS)


def general_title(title: str) -> str:
    """`title` without what differs between hosts of one kind: "<user> cannot open /dev/kfd"."""
    for pattern, instead in _patterns():
        title = pattern.sub(instead, title)
    return title


def fingerprint(result: Result) -> str:
    """16 hexadecimal digits of the SHA-256 of id and general title. Any title has one, lone surrogates included."""
    from hashlib import sha256

    text = f"{result.id}\0{general_title(result.title)}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]
