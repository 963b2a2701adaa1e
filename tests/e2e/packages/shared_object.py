"""The smallest ELF file that ldconfig lists: a shared object with a SONAME and nothing in it (elf(5))."""

from __future__ import annotations

import struct
from functools import cache

_HEADERS = 64 + 2 * 56


@cache
def shared_object(soname: str) -> bytes:
    """An x86_64 shared object. It can be listed and looked at, not loaded."""
    strings = b"\0" + soname.encode() + b"\0"
    dynamic_at = _HEADERS
    strings_at = dynamic_at + 5 * 16
    # DT_SONAME, DT_STRTAB, DT_STRSZ, DT_SYMENT, DT_NULL
    entries = ((14, 1), (5, strings_at), (10, len(strings)), (11, 24), (0, 0))
    dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in entries)
    size = strings_at + len(strings)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    # ET_DYN, EM_X86_64; program headers follow at once, there are no sections
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 0x1000)
    pointer = struct.pack("<IIQQQQQQ", 2, 4, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    return header + load + pointer + dynamic + strings
