"""Order of ROCm, driver and kernel version strings: by numeric component, never by string.

7.2 < 7.14 < 10.0 (rules.md 37). Python package versions are not handled here: `packaging` knows PEP 440.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"\d+")


@lru_cache(maxsize=1024)  # the rows of the matrix are compared again for every host of a fleet
def components(version: str) -> tuple[int, ...]:
    """The leading dotted number of a version as integers: "6.8.0-45-generic" is (6, 8, 0), "" is ()."""
    parts: list[int] = []
    for piece in version.split("."):
        found = _NUMBER.match(piece)
        if not found:
            break
        parts.append(int(found.group()))
        if found.end() != len(piece):
            break
    return tuple(parts)


def key(version: str) -> tuple[int, ...]:
    """Sort key: every number in the string, with trailing zeros dropped so that 6.2 and 6.2.0 are equal."""
    numbers = [int(n) for n in _NUMBER.findall(version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def is_prefix(prefix: str, version: str) -> bool:
    """True when `version` lies under `prefix` by whole components: 6.8 covers 6.8.0-45 but not 6.80.

    Dots and hyphens both separate components, so that AMD's "5.14.0-427" covers "5.14.0-427.13.1.el9_4".
    """
    wanted = re.split(r"[.-]", prefix)
    return re.split(r"[.-]", version)[: len(wanted)] == wanted


def major_minor(version: str) -> str:
    """The X.Y line of a release: "6.2.4" is "6.2"; a version without a minor part comes back as it is."""
    return ".".join(version.split(".")[:2])
