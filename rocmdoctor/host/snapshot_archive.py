"""Reads a snapshot from a .tar.gz into memory, within bounds. Nothing is ever unpacked to disk.

The reader knows just the tar that a snapshot needs: regular files and folders, in ustar, GNU and pax form (tar(5)). It exists
because a general reader takes the sizes that a stranger wrote at their word, for a pax header of 10 GB as well.
"""

import os
import stat
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from rocmdoctor.host import HostError
from rocmdoctor.host.snapshot_tree import MAX_ENTRIES, MAX_FILE, reason

MAX_TOTAL = 512 << 20
MAX_HEADER = 1 << 20
"""A pax header or GNU long name; a path is at most 4096 bytes."""
_BLOCK = 512
_CHUNK = 64 << 10
_BUFFER = 1 << 20
"""Decompressed at once: most snapshots fit in."""
_ADLER = 65521
_REGULAR = ord("0")
_PARTS = ("snapshot.json", "nodes.json", "commands.json")


class Archive(NamedTuple):
    """The parts of a snapshot: the JSON files by name, files by host path, and folders by host path."""

    parts: Mapping[str, bytes]
    files: Mapping[str, bytes]
    folders: tuple[str, ...]


class _Gzip:
    """Decompressed bytes of a gzip file, never more than asked for and never more than MAX_TOTAL."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._inflate = zlib.decompressobj(wbits=31)
        self._pending = b""
        self._total = 0
        self._ahead = b""
        self._at = 0
        """Decompressed and not yet handed out: `_ahead` from `_at` on. Most members are smaller than a call of zlib is worth."""

    def _more(self, limit: int) -> bytes:
        """Some bytes, at most `limit` (not 0), or b"" at the end of the archive."""
        if self._at == len(self._ahead):
            self._ahead, self._at = self._decompressed(), 0
        data = self._ahead[self._at : self._at + limit]
        self._at += len(data)
        return data

    def _decompressed(self) -> bytes:
        while True:
            if self._inflate.eof:
                # A second gzip member may follow; zero padding and the end of the file may not be told apart from it.
                self._pending = self._inflate.unused_data.lstrip(b"\0") or self._read().lstrip(b"\0")
                if not self._pending:
                    return b""
                self._inflate = zlib.decompressobj(wbits=31)
            if not self._pending:
                self._pending = self._read()
                if not self._pending:
                    raise HostError("the snapshot archive is truncated")
            try:
                data = self._inflate.decompress(self._pending, _BUFFER)
            except zlib.error:
                raise HostError("the snapshot archive is damaged, or not a gzip file") from None
            self._pending = self._inflate.unconsumed_tail
            if data:
                self._total += len(data)
                if self._total > MAX_TOTAL:
                    raise HostError(f"the snapshot archive holds more than {MAX_TOTAL >> 20} MiB")
                return data

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError as exc:
            raise HostError(f"the snapshot archive cannot be read: {reason(exc)}") from None

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        data = self._ahead[self._at : self._at + size]
        if len(data) == size:
            self._at += size
            return data
        parts: list[bytes] = []
        while size > 0:
            data = self._more(min(size, _CHUNK))
            if not data:
                raise HostError("the snapshot archive is truncated")
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def padded(self, size: int) -> bytes:
        """`size` bytes, without the rest of their last block, which is skipped."""
        at = self._at
        whole = size + -size % _BLOCK
        if len(self._ahead) - at >= whole:
            self._at = at + whole
            return self._ahead[at : at + size]
        return self.read(whole)[:size]

    def block(self) -> bytes:
        """The next block; b"" at the end."""
        at = self._at
        if len(self._ahead) - at >= _BLOCK:
            self._at = at + _BLOCK
            return self._ahead[at : at + _BLOCK]
        first = self._more(_BLOCK)
        return first + self.read(_BLOCK - len(first)) if first else b""

    def take_plain(self, members: dict[str, bytes | None]) -> None:
        """Regular files that lie in the buffer as a whole, header and content, as nearly all do. It stops before whatever else
        comes; that is read, or refused, block by block."""
        ahead, at = self._ahead, self._at
        end = len(ahead)
        while at + _BLOCK <= end:
            block = ahead[at : at + _BLOCK]
            if block[156] != _REGULAR or block[124] == 0x80 or zlib.adler32(block) & 0xFFFF != _lower_adler(block[148:156]):
                break
            size = _octal(block[124:136])
            start = at + _BLOCK
            after = start + size + -size % _BLOCK
            if after > end or size > MAX_FILE or len(members) >= MAX_ENTRIES:
                break
            name = _member_name(_header_name(block))
            if name in members:
                break
            members[name] = ahead[start : start + size]
            at = after
        self._at = at

    def skip(self, size: int) -> None:
        while size > 0:
            data = self._more(min(size, _CHUNK))
            if not data:
                raise HostError("the snapshot archive is truncated")
            size -= len(data)

    def finish(self) -> None:
        """Read the padding to the end of the file, so that its checksum is verified."""
        left = 1 << 20
        while data := self._more(_CHUNK):
            left -= len(data)
            if left < 0 or data.count(0) != len(data):
                raise HostError("the snapshot archive has data after its end")


def read_archive(path: str) -> Archive:
    """Read the .tar.gz at `path`. Raises HostError for whatever is not a plain archive of a snapshot."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as exc:
        raise HostError(f"snapshot {path} cannot be read: {reason(exc)}") from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise HostError(f"snapshot {path} is neither a folder nor a regular file")
        if info.st_size == 0:
            raise HostError(f"snapshot {path} is empty")
        if info.st_size > MAX_TOTAL:
            raise HostError(f"snapshot {path} is larger than {MAX_TOTAL >> 20} MiB")
        members = _members(_Gzip(fd))
    finally:
        os.close(fd)
    return _sorted_out(members)


def _members(stream: _Gzip) -> dict[str, bytes | None]:
    """Every member by name; None for a folder."""
    members: dict[str, bytes | None] = {}
    long_name: str | None = None
    size: int | None = None
    while True:
        if long_name is None and size is None:
            stream.take_plain(members)
        block = stream.block()
        if not block or (not block[0] and block.count(0) == _BLOCK):
            break
        kind, name, stored = _header(block)
        if kind in "xgLK":
            if stored > MAX_HEADER:
                raise HostError("the snapshot archive has a header that is too large")
            data = stream.read(stored)
            stream.skip(-stored % _BLOCK)
            if kind == "L":
                long_name = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
            elif kind == "x":
                long_name, size = _pax(data, long_name)
            continue
        name = long_name if long_name is not None else name
        if kind == "\0" and name.endswith("/"):
            kind = "5"  # as tar wrote folders before POSIX
        name = _member_name(name)
        stored = stored if size is None else size
        long_name = size = None
        if kind == "5":
            if members.get(name, b"") is not None and name in members:
                raise HostError(f"the snapshot archive has {name!r} twice")
            members[name] = None
            stream.skip(stored + -stored % _BLOCK)
        elif kind in "07\0":
            if stored > MAX_FILE:
                raise HostError(f"{name!r} in the snapshot archive is larger than {MAX_FILE >> 20} MiB")
            if name in members:
                raise HostError(f"the snapshot archive has {name!r} twice")
            members[name] = stream.padded(stored)
        else:
            what = "a link" if kind in "12" else "a device or FIFO" if kind in "346" else "of an unknown type"
            raise HostError(f"{name!r} in the snapshot archive is {what}; a snapshot holds regular files only")
        if len(members) > MAX_ENTRIES:
            raise HostError(f"the snapshot archive has more than {MAX_ENTRIES} entries")
    stream.finish()
    return members


def _header(block: bytes) -> tuple[str, str, int]:
    """Type, name and size of one header block (struct posix_header)."""
    if zlib.adler32(block) & 0xFFFF != _lower_adler(block[148:156]):
        raise HostError("the snapshot archive is not a tar archive, or damaged")
    size = int.from_bytes(block[125:136], "big") if block[124] == 0x80 else _octal(block[124:136])
    return chr(block[156]), _header_name(block), size


def _header_name(block: bytes) -> str:
    name = block[:100].partition(b"\0")[0]
    # The prefix of ustar; GNU tar ("ustar  ") keeps times in its place.
    if block[345] and block[257:263] == b"ustar\0":
        name = block[345:500].partition(b"\0")[0] + b"/" + name
    return name.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=8192)
def _lower_adler(stored: bytes) -> int:
    """The lower half of a block's Adler-32 by the sum that stands in it: one more than the sum of its bytes, modulo a prime
    (RFC 1950), and far quicker than sum(). In the sum that stands there, its own eight bytes count as spaces."""
    return (_octal(stored) - 8 * 32 + sum(stored) + 1) % _ADLER


@lru_cache(maxsize=8192)  # sizes and sums come again and again
def _octal(raw: bytes) -> int:
    text = raw.strip(b"\0 ") or b"0"
    try:
        if text.isdigit():  # int() alone takes signs and underscores
            return int(text, 8)
    except ValueError:
        pass
    raise HostError("the snapshot archive has a damaged header")


def _pax(data: bytes, name: str | None) -> tuple[str | None, int | None]:
    """Name and size from a pax header: records `LENGTH KEY=VALUE\\n`."""
    size: int | None = None
    start = 0
    while start < len(data) and data[start] != 0:
        digits, _, _ = data[start : start + 12].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = data[start + len(digits) + 1 : start + length].partition(b"=")
        if length <= len(digits) + 1 or start + length > len(data) or not equals or not value.endswith(b"\n"):
            raise HostError("the snapshot archive has a damaged pax header")
        value = value[:-1]
        if key == b"path":
            name = value.decode("utf-8", "surrogateescape")
        elif key == b"size":
            if not value.isdigit() or len(value) > 20:
                raise HostError("the snapshot archive has a damaged pax header")
            size = int(value)
        elif key.startswith(b"GNU.sparse"):
            raise HostError("the snapshot archive has a sparse file")
        start += length
    return name, size


def _member_name(name: str) -> str:
    """The member's path without `./`; "" for the archive's own top folder."""
    if name.startswith("/"):
        raise HostError(f"{name[:80]!r} in the snapshot archive is an absolute name")
    if len(name) > 5000 or "\0" in name:
        raise HostError("the snapshot archive has a name that is too long or holds a NUL")
    if "/." not in name and "//" not in name and name[:1] != "." and name[-1:] != "/":
        return name
    parts = [p for p in name.split("/") if p not in ("", ".")]
    if ".." in parts:
        raise HostError(f"{name[:80]!r} in the snapshot archive leads out of it")
    return "/".join(parts)


def _sorted_out(members: dict[str, bytes | None]) -> Archive:
    top = ""
    if members.get("snapshot.json") is None:
        tops = {name.split("/", 1)[0] for name in members if name}
        top = tops.pop() + "/" if len(tops) == 1 else ""
        if not top or members.get(f"{top}snapshot.json") is None:
            raise HostError("not a snapshot: the archive has no snapshot.json")
    parts: dict[str, bytes] = {}
    files: dict[str, bytes] = {}
    folders: list[str] = []
    below, start = f"{top}files/", len(top) + 5
    for name, data in members.items():
        if name.startswith(below):
            if data is None:
                folders.append(name[start:])
            else:
                files[name[start:]] = data
        elif data is not None and name[len(top) :] in _PARTS:
            parts[name[len(top) :]] = data
    return Archive(parts, files, tuple(folders))
