"""Third-party checks by the entry-point group `rocmdoctor.checks`.

importlib.metadata costs tens of milliseconds to scan an environment, so a cheap look at the entry_points.txt files on sys.path
comes first, and the library is imported only when one of them names the group.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

GROUP = "rocmdoctor.checks"


def entry_points() -> tuple[tuple[str, Callable[[], object]], ...]:
    """(name, loader) of every plug-in, sorted by name; loading one imports its module, which registers its checks."""
    if not _any_declared(sys.path):
        return ()
    from importlib.metadata import entry_points as declared

    return tuple(sorted(((e.name, e.load) for e in declared(group=GROUP)), key=lambda pair: pair[0]))


def _any_declared(folders: list[str]) -> bool:
    for folder in folders:
        try:
            names = [n for n in os.listdir(folder or ".") if n.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
                    if GROUP in file.read(1 << 16):
                        return True
            except OSError:
                continue
    return False
