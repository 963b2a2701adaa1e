"""gfx targets as file names carry them: rocBLAS, hipBLASLt and MIOpen ship one set of files for each target.

Forms: TensileLibrary_lazy_gfx90a.dat, Kernels.so-000-gfx906-xnack-.hsaco, TensileLibrary_Type_HH_gfx942.co, gfx1030_36.kdb,
gfx90a68.HIP.fdb.txt (MIOpen appends compute units in hexadecimal), blas_lib_gfx1151.kpack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Up to gfx9 a target has three digits, from gfx10 on four; so a generic name ("gfx11-generic") or a group ("gfx110X") is none.
_TARGET = r"gfx(?:1[0-9a-f]{3}|[6-9][0-9a-f]{2})"


def target_in(name: str) -> str | None:
    """The first target that a file name carries, None for none or a generic one."""
    found = re.search(_TARGET, name)
    return found.group() if found else None


def targets_in(names: Iterable[str]) -> frozenset[str]:
    """The targets that file names carry."""
    return frozenset(found.group() for name in names if (found := re.search(_TARGET, name)))
