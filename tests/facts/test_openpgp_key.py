"""Keys are built here as bytes: the reader does not verify, so the signatures need no mathematics. gpg, where it is installed,
is asked whether it reads the real thing in the same way."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.openpgp_key import is_armored, parse

DAY = 86400
CREATED = 1470009600  # 2016-08-01


def be(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def new_packet(tag: int, body: bytes) -> bytes:
    n = len(body)
    length = be(n, 1) if n < 192 else be((n - 192) + (192 << 8), 2) if n < 8384 else b"\xff" + be(n, 4)
    return be(0xC0 | tag, 1) + length + body


def old_packet(tag: int, body: bytes) -> bytes:
    n = len(body)
    kind, size = (0, 1) if n < 256 else (1, 2) if n < 1 << 16 else (2, 4)
    return be(0x80 | tag << 2 | kind, 1) + be(n, size) + body


def key_body(created: int = CREATED, material: bytes = b"\x01\x00\x11" + b"m" * 40, version: int = 4) -> bytes:
    length = be(len(material), 4) if version in (5, 6) else b""
    return be(version, 1) + be(created, 4) + b"\x01" + length + material


def fingerprint(body: bytes) -> str:
    if body[0] == 4:
        return hashlib.sha1(b"\x99" + be(len(body), 2) + body).hexdigest().upper()
    return hashlib.sha256((b"\x9a" if body[0] == 5 else b"\x9b") + be(len(body), 4) + body).hexdigest().upper()


def sub(kind: int, body: bytes) -> bytes:
    return be(len(body) + 1, 1) + be(kind, 1) + body


def signature(
    issuer: str | None,
    *,
    made: int = CREATED,
    lifetime: int | None = None,
    kind: int = 0x13,
    version: int = 4,
    hashed: bytes = b"",
) -> bytes:
    hashed += sub(2, be(made, 4))
    if lifetime is not None:
        hashed += sub(9 | 0x80, be(lifetime, 4))
    unhashed = sub(16, bytes.fromhex(issuer[-16:])) if issuer else b""
    wide = 4 if version == 6 else 2
    return (
        be(version, 1) + be(kind, 1) + b"\x01\x0a" + be(len(hashed), wide) + hashed + be(len(unhashed), wide) + unhashed + b"xx"
    )


BODY = key_body()
PRINT = fingerprint(BODY)
USER = new_packet(13, b"Somebody <a@example.org>")


def ring(*signatures: bytes, packet=new_packet) -> bytes:  # type: ignore[no-untyped-def]
    return b"".join([packet(6, BODY), USER, *(packet(2, s) for s in signatures)])


def expiry(*signatures: bytes) -> str | None:
    (key,) = parse(ring(*signatures))
    return key.expires


@pytest.mark.parametrize("packet", [new_packet, old_packet])
def test_a_key(packet) -> None:  # type: ignore[no-untyped-def]
    (key,) = parse(ring(signature(PRINT, lifetime=1826 * DAY), packet=packet))
    assert (key.fingerprint, key.key_ids, key.created, key.expires, key.revoked) == (
        PRINT,
        (PRINT[-16:],),
        "2016-08-01",
        "2021-08-01",
        False,
    )


def test_no_expiry() -> None:
    assert expiry() is None
    assert expiry(signature(PRINT)) is None
    assert expiry(signature(PRINT, lifetime=0)) is None


def test_the_newest_self_signature_counts() -> None:
    old, new = signature(PRINT, lifetime=DAY), signature(PRINT, made=CREATED + 5, lifetime=2 * DAY)
    assert expiry(old, new) == expiry(new, old) == "2016-08-03"
    assert expiry(old, signature(PRINT, made=CREATED + 5)) is None


def test_other_peoples_signatures_do_not_count() -> None:
    own, other = signature(PRINT, lifetime=DAY), signature("00" * 8 + "AB" * 8, made=CREATED + 9, lifetime=9 * DAY)
    assert expiry(own, other) == "2016-08-02"
    assert expiry(own, signature(PRINT, made=CREATED + 9, lifetime=9 * DAY, kind=0x18)) == "2016-08-02"  # a subkey binding
    by_print = sub(33, b"\x04" + bytes.fromhex("CD" * 20))
    assert expiry(own, signature(None, made=CREATED + 9, hashed=by_print)) == "2016-08-02"


def test_a_direct_signature_goes_first_where_it_has_an_expiry() -> None:
    own = signature(PRINT, lifetime=DAY, made=CREATED + 9)
    assert expiry(own, signature(PRINT, kind=0x1F, lifetime=3 * DAY)) == "2016-08-04"
    assert expiry(own, signature(PRINT, kind=0x1F, made=CREATED + 99)) == "2016-08-02"  # it names a revoker only


def test_revocation() -> None:
    (key,) = parse(ring(signature(PRINT, kind=0x20), signature(PRINT)))
    assert key.revoked


def test_subkeys_and_several_keys() -> None:
    other, subkey = key_body(CREATED + 1), key_body(CREATED + 2)
    first, second = parse(
        ring() + new_packet(14, subkey) + new_packet(2, signature(PRINT, kind=0x18, lifetime=DAY)) + new_packet(6, other)
    )
    assert first.key_ids == (PRINT[-16:], fingerprint(subkey)[-16:])
    assert first.expires is None
    assert second.fingerprint == fingerprint(other)


@pytest.mark.parametrize("version", [5, 6])
def test_newer_versions(version: int) -> None:
    body = key_body(version=version)
    (key,) = parse(new_packet(6, body) + USER + new_packet(2, signature(None, version=version, lifetime=DAY)))
    assert key.fingerprint == fingerprint(body)
    assert key.key_ids == (fingerprint(body)[:16],)
    assert key.expires == "2016-08-02"


def test_the_key_of_rfc_9580() -> None:
    """Appendix A.3, the version 6 certificate."""
    text = """-----BEGIN PGP PUBLIC KEY BLOCK-----

xioGY4d/4xsAAAAg+U2nu0jWCmHlZ3BqZYfQMxmZu52JGggkLq2EVD34laPCsQYf
GwoAAABCBYJjh3/jAwsJBwUVCg4IDAIWAAKbAwIeCSIhBssYbE8GCaaX5NUt+mxy
KwwfHifBilZwj2Ul7Ce62azJBScJAgcCAAAAAK0oIBA+LX0ifsDm185Ecds2v8lw
gyU2kCcUmKfvBXbAf6rhRYWzuQOwEn7E/aLwIwRaLsdry0+VcallHhSu4RN6HWaE
QsiPlR4zxP/TP7mhfVEe7XWPxtnMUMtf15OyA51YBM4qBmOHf+MZAAAAIIaTJINn
+eUBXbki+PSAld2nhJh/LVmFsS+60WyvXkQ1wpsGGBsKAAAALAWCY4d/4wKbDCIh
BssYbE8GCaaX5NUt+mxyKwwfHifBilZwj2Ul7Ce62azJAAAAAAQBIKbpGG2dWTX8
j+VjFM21J0hqWlEg+bdiojWnKfA5AQpWUWtnNwDEM0g12vYxoWM8Y81W+bHBw805
I8kWVkXU6vFOi+HWvv/ira7ofJu16NnoUkhclkUrk0mXubZvyl4GBg==
-----END PGP PUBLIC KEY BLOCK-----"""
    (key,) = parse(text.encode())
    assert key.fingerprint == "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9"
    assert key.created == "2022-11-30"
    assert len(key.key_ids) == 2


def armor(data: bytes, headers: str = "Comment: x\n") -> bytes:
    body = base64.encodebytes(data).decode()
    return f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n{headers}\n{body}=AAAA\n-----END PGP PUBLIC KEY BLOCK-----\n".encode()


@pytest.mark.parametrize("headers", ["", "Version: GnuPG v1\nComment: a: b\n"])
def test_armor(headers: str) -> None:
    data = armor(ring(signature(PRINT, lifetime=DAY)), headers)
    assert is_armored(data) and not is_armored(ring())
    assert parse(data) == parse(ring(signature(PRINT, lifetime=DAY)))
    assert parse(data.replace(b"\n", b"\r\n")) == parse(data)
    assert len(parse(data + data)) == 2


def test_what_holds_no_key() -> None:
    for data in (
        b"",
        b"<html>404 Not Found</html>",
        armor(b""),
        armor(new_packet(13, b"x")),
        b"-----BEGIN PGP ",
        b"\x00" * 32 + b"KBXf",
    ):
        assert parse(data) == ()


def test_truncated_rings_end_where_they_end() -> None:
    data = ring(signature(PRINT, lifetime=DAY))
    for length in range(len(data)):
        assert len(parse(data[:length])) <= 1


@given(st.binary(max_size=300) | st.binary(max_size=120).map(lambda tail: ring() + tail) | st.binary(max_size=120).map(armor))
def test_no_bytes_break_it(data: bytes) -> None:
    for key in parse(data):
        assert len(key.fingerprint) in (40, 64)
        assert key.key_ids


@given(st.binary(max_size=80), st.integers(0, 255))
def test_no_signature_breaks_it(body: bytes, kind: int) -> None:
    assert len(parse(ring(b"\x04" + bytes([kind]) + body))) == 1


def test_many_packets_are_bounded() -> None:
    assert len(parse(new_packet(6, BODY) * 20_000)) == 1000


def test_gpg_says_the_same(tmp_path: Path) -> None:
    gpg = shutil.which("gpg")
    if not gpg:
        pytest.skip("gpg is not installed")
    home = tmp_path / "g"
    home.mkdir(mode=0o700)

    def run(*args: str) -> bytes:
        argv = [gpg, "--homedir", str(home), "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback", *args]
        return subprocess.run(argv, check=True, capture_output=True, timeout=60).stdout

    try:
        run("--quick-gen-key", "Ever <a@example.org>", "ed25519", "sign", "never")
        run("--quick-gen-key", "Soon <b@example.org>", "default", "default", "2y")
    except (subprocess.SubprocessError, OSError) as exc:
        pytest.skip(f"gpg cannot make keys here: {exc}")
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True)
    listed = run("--list-keys", "--with-colons", "--with-subkey-fingerprint").decode().splitlines()
    expected: list[tuple[str, str | None]] = []
    for fields in (line.split(":") for line in listed):
        if fields[0] == "pub":
            until = datetime.fromtimestamp(int(fields[6]), timezone.utc).date().isoformat() if fields[6] else None
            expected.append(("", until))
        elif fields[0] == "fpr" and not expected[-1][0]:
            expected[-1] = (fields[9], expected[-1][1])
    for exported in (run("--export"), run("--armor", "--export")):
        assert [(k.fingerprint, k.expires) for k in parse(exported)] == expected
