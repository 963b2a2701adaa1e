"""A small OpenPGP public key for keyring files: well formed (RFC 4880), with an expiry date, and signed by nobody."""

from __future__ import annotations

import base64
from calendar import timegm
from hashlib import sha1
from time import strptime


def _packet(tag: int, body: bytes) -> bytes:
    return bytes((0x99 if tag == 6 else 0x80 | tag << 2 | 1,)) + len(body).to_bytes(2, "big") + body


def _mpi(value: bytes) -> bytes:
    number = int.from_bytes(value, "big")
    return number.bit_length().to_bytes(2, "big") + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _subpacket(kind: int, body: bytes) -> bytes:
    return bytes((len(body) + 1, kind)) + body


def _seconds(date: str) -> int:
    return timegm(strptime(date, "%Y-%m-%d"))


def _key_body(created: str) -> bytes:
    modulus = b"\xc3" + bytes(range(1, 128))
    return b"\x04" + _seconds(created).to_bytes(4, "big") + b"\x01" + _mpi(modulus) + _mpi(b"\x01\x00\x01")


def fingerprint(created: str) -> str:
    """Of the key that `public_key` makes for that date: 40 upper-case hexadecimal digits."""
    body = _key_body(created)
    return sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()


def public_key(
    created: str = "2016-04-26", expires: str | None = None, owner: str = "ROCm packages <packages@example.org>"
) -> bytes:
    """Dates are YYYY-MM-DD; without `expires` the key never does."""
    body = _key_body(created)
    hashed = _subpacket(2, _seconds(created).to_bytes(4, "big")) + _subpacket(27, b"\x03")
    if expires is not None:
        hashed += _subpacket(9, (_seconds(expires) - _seconds(created)).to_bytes(4, "big"))
    issuer = _subpacket(16, bytes.fromhex(fingerprint(created)[-16:]))
    signature = b"\x04\x13\x01\x08" + len(hashed).to_bytes(2, "big") + hashed + len(issuer).to_bytes(2, "big") + issuer
    signature += b"\xab\xcd" + _mpi(b"\x7f" + bytes(range(60, 187)))
    return _packet(6, body) + _packet(13, owner.encode()) + _packet(2, signature)


def armored(key: bytes) -> bytes:
    """The same key as ASCII armour."""
    crc = 0xB704CE
    for octet in key:
        crc ^= octet << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    text = base64.b64encode(key)
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    check = b"=" + base64.b64encode((crc & 0xFFFFFF).to_bytes(3, "big"))
    return b"\n".join((b"-----BEGIN PGP PUBLIC KEY BLOCK-----", b"", *lines, check, b"-----END PGP PUBLIC KEY BLOCK-----", b""))
