"""Primary keys of an OpenPGP keyring: fingerprint, key ids, expiry (RFC 4880, RFC 9580).

A bounded reader of packets, and no verification: it tells which keys a file holds and when they end, as `gpg --show-keys` does.
It never raises, whatever the bytes are; what does not parse ends the block that it is in.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from rocmdoctor.facts.repos import Key

_ARMOR = re.compile(rb"-----BEGIN PGP PUBLIC KEY BLOCK-----(.*?)-----END PGP PUBLIC KEY BLOCK-----", re.S)
_BEGIN = b"-----BEGIN PGP "

_SIGNATURE, _PUBLIC_KEY, _PUBLIC_SUBKEY = 2, 6, 14
_USER_ID_SIGNATURES = frozenset((0x10, 0x11, 0x12, 0x13))
_DIRECT_SIGNATURE = 0x1F
_KEY_REVOCATION = 0x20
_CREATED, _KEY_EXPIRES, _ISSUER, _ISSUER_FINGERPRINT = 2, 9, 16, 33

_MAX_KEYS = 1000


@dataclass(slots=True)
class _Primary:
    """A primary key while its packets are read; times are seconds since 1970."""

    fingerprint: str
    created: int
    key_ids: list[str]
    direct: tuple[int, int] = (-1, 0)
    """(creation, lifetime or 0) of the newest self-signature directly on the key."""
    on_user_id: tuple[int, int] = (-1, 0)
    revoked: bool = False

    @property
    def lifetime(self) -> int:
        """Seconds, 0 for ever. As GnuPG decides: the direct signature's where it has one (often it only names a revoker)."""
        return self.direct[1] or self.on_user_id[1]


def is_armored(data: bytes) -> bool:
    """ASCII armour, which apt reads from files named .asc only."""
    return data.lstrip().startswith(_BEGIN)


def dearmored(data: bytes) -> bytes:
    """The binary form of a keyring, as `gpg --dearmor` writes it; binary data come back as they are."""
    return b"".join(_blocks(data))


def parse(data: bytes) -> tuple[Key, ...]:
    """The primary keys of a keyring, binary or armoured, in order; empty when there is none in it."""
    keys: list[_Primary] = []
    for block in _blocks(data):
        current: _Primary | None = None
        for tag, body in _packets(block):
            if tag == _PUBLIC_KEY:
                current = _primary(body)
                if current:
                    keys.append(current)
                    if len(keys) >= _MAX_KEYS:
                        break
            elif current and tag == _PUBLIC_SUBKEY:
                if subkey := _primary(body):
                    current.key_ids += subkey.key_ids
            elif current and tag == _SIGNATURE:
                _judge(current, body)
    return tuple(map(_key, keys))


def _key(key: _Primary) -> Key:
    expires = _date(key.created + key.lifetime) if key.lifetime else None
    return Key(key.fingerprint, tuple(key.key_ids), _date(key.created), expires, key.revoked)


def _date(seconds: int) -> str:
    """ISO date in UTC; both parts of the sum have 32 bits, so the year has four digits."""
    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).date().isoformat()


def _blocks(data: bytes) -> Iterator[bytes]:
    """The binary packets of the data; armour is taken off, and its checksum is not looked at (RFC 9580, 6.1)."""
    if not is_armored(data):
        yield data
        return
    for block in _ARMOR.finditer(data):
        lines = [line.strip() for line in block[1].splitlines()]
        body = lines[lines.index(b"", 1) + 1 :] if b"" in lines[1:] else lines
        text = b"".join(line for line in body if not line.startswith(b"="))
        try:
            yield binascii.a2b_base64(text)
        except binascii.Error:
            continue


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, body) of each packet, in both header formats; stops at the first thing that is no whole packet."""
    position = 0
    while position < len(data):
        header = data[position]
        if not header & 0x80:
            return
        if header & 0x40:
            tag, measured = header & 0x3F, _new_length(data, position + 1)
        else:
            tag, measured = header >> 2 & 0x0F, _old_length(data, position + 1, header & 0x03)
        if measured is None:
            return
        start, length = measured
        if start + length > len(data):
            return
        yield tag, data[start : start + length]
        position = start + length


def _new_length(data: bytes, position: int) -> tuple[int, int] | None:
    """(start of body, length). Partial lengths are for data packets, never for keys: None."""
    first = data[position : position + 1]
    if not first:
        return None
    if first[0] < 192:
        return position + 1, first[0]
    if first[0] < 224:
        second = data[position + 1 : position + 2]
        return (position + 2, (first[0] - 192 << 8) + second[0] + 192) if second else None
    if first[0] == 255:
        octets = data[position + 1 : position + 5]
        return (position + 5, int.from_bytes(octets, "big")) if len(octets) == 4 else None
    return None


def _old_length(data: bytes, position: int, kind: int) -> tuple[int, int] | None:
    if kind == 3:
        return position, len(data) - position
    size = 1 << kind
    octets = data[position : position + size]
    return (position + size, int.from_bytes(octets, "big")) if len(octets) == size else None


def _primary(body: bytes) -> _Primary | None:
    """Fingerprint and key id of a key or subkey packet, by version (RFC 9580, 5.5.4). Version 3 and older are not told."""
    if len(body) < 6:
        return None
    version, created = body[0], int.from_bytes(body[1:5], "big")
    if version == 4:
        framed = b"\x99" + len(body).to_bytes(2, "big") if len(body) < 1 << 16 else b""
        if not framed:
            return None
        from hashlib import sha1  # OpenSSL comes with it, for which hosts without readable keys need not wait

        fingerprint = sha1(framed + body, usedforsecurity=False).hexdigest().upper()
        return _Primary(fingerprint, created, [fingerprint[-16:]])
    if version in (5, 6):
        from hashlib import sha256

        prefix = b"\x9a" if version == 5 else b"\x9b"
        fingerprint = sha256(prefix + len(body).to_bytes(4, "big") + body).hexdigest().upper()
        return _Primary(fingerprint, created, [fingerprint[:16]])
    return None


def _judge(key: _Primary, body: bytes) -> None:
    """Take the lifetime from a self-signature that is newer than those of its kind before it; a newer one without means never."""
    if len(body) < 6 or body[0] not in (4, 5, 6):
        return
    kind = body[1]
    if kind not in _USER_ID_SIGNATURES and kind not in (_DIRECT_SIGNATURE, _KEY_REVOCATION):
        return
    wide = 4 if body[0] == 6 else 2
    hashed_end = 4 + wide + int.from_bytes(body[4 : 4 + wide], "big")
    hashed = dict(_subpackets(body[4 + wide : hashed_end]))
    unhashed_end = hashed_end + wide + int.from_bytes(body[hashed_end : hashed_end + wide], "big")
    if unhashed_end > len(body):
        return
    unhashed = dict(_subpackets(body[hashed_end + wide : unhashed_end]))
    if not _issued_by(key, {**unhashed, **hashed}):
        return
    if kind == _KEY_REVOCATION:
        key.revoked = True
        return
    judged = (int.from_bytes(hashed.get(_CREATED, b"")[:4], "big"), int.from_bytes(hashed.get(_KEY_EXPIRES, b"")[:4], "big"))
    if kind == _DIRECT_SIGNATURE and judged[0] >= key.direct[0]:
        key.direct = judged
    elif kind != _DIRECT_SIGNATURE and judged[0] >= key.on_user_id[0]:
        key.on_user_id = judged


def _issued_by(key: _Primary, subpackets: dict[int, bytes]) -> bool:
    """By the key itself, or by nobody named."""
    fingerprint, key_id = subpackets.get(_ISSUER_FINGERPRINT, b""), subpackets.get(_ISSUER, b"")
    if len(fingerprint) > 1:
        return fingerprint[1:].hex().upper() == key.fingerprint
    return not key_id or key_id.hex().upper() == key.key_ids[0]


def _subpackets(area: bytes) -> Iterator[tuple[int, bytes]]:
    """(type without the critical bit, body); a type that comes twice counts as its last."""
    position = 0
    while position < len(area):
        first = area[position]
        if first < 192:
            start, length = position + 1, first
        elif first < 255:
            if position + 1 >= len(area):
                return
            start, length = position + 2, (first - 192 << 8) + area[position + 1] + 192
        else:
            start, length = position + 5, int.from_bytes(area[position + 1 : position + 5], "big")
        if not length or start + length > len(area):
            return
        yield area[start] & 0x7F, area[start + 1 : start + length]
        position = start + length
