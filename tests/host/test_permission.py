from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.host import User
from rocmdoctor.host.permission import AclEntry, allows, read_acl


def user(uid: int = 1000, *groups: int) -> User:
    return User("u", uid, uid, frozenset(groups), frozenset(groups))


@pytest.mark.parametrize(
    ("who", "mode", "uid", "gid", "yes"),
    [
        (user(1000, 109), 0o660, 0, 109, True),
        (user(1000, 44), 0o660, 0, 109, False),
        (user(1000), 0o666, 0, 109, True),
        (user(0), 0o000, 5, 5, True),
        (user(1000), 0o600, 1000, 0, True),
        # The first class that fits decides, however generous the next one is.
        (user(1000, 109), 0o066, 1000, 109, False),
        (user(1000, 109), 0o606, 0, 109, False),
        (user(1000), 0o640, 0, 1000, False),
        (user(1000), 0o660, 0, 1000, True),  # the primary group counts
    ],
)
def test_mode(who: User, mode: int, uid: int, gid: int, yes: bool) -> None:
    assert allows(who, mode, uid, gid, 6) is yes


LOGIND = (
    AclEntry("user_obj", 6),
    AclEntry("user", 6, 1000),
    AclEntry("group_obj", 6),
    AclEntry("group", 6, 50),
    AclEntry("mask", 6),
    AclEntry("other", 0),
)


def test_acl() -> None:
    assert allows(user(1000), 0o660, 0, 109, 6, LOGIND)
    assert allows(user(1001, 50), 0o660, 0, 109, 6, LOGIND) and allows(user(1001, 109), 0o660, 0, 109, 6, LOGIND)
    assert not allows(user(1001), 0o660, 0, 109, 6, LOGIND)
    masked = tuple(AclEntry("mask", 4) if e.tag == "mask" else e for e in LOGIND)
    assert not allows(user(1000), 0o640, 0, 109, 6, masked) and allows(user(1000), 0o640, 0, 109, 4, masked)
    # In a group that the ACL refuses, the rights of others do not count.
    refused = (AclEntry("user_obj", 6), AclEntry("group_obj", 0), AclEntry("mask", 7), AclEntry("other", 6))
    assert not allows(user(1000, 109), 0o606, 0, 109, 6, refused) and allows(user(1000), 0o606, 0, 109, 6, refused)


def test_read_acl() -> None:
    nobody = 0xFFFFFFFF
    rows = [(1, 6, nobody), (2, 6, 1000), (4, 6, nobody), (8, 6, 50), (16, 6, nobody), (32, 0, nobody)]
    raw = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)
    assert read_acl(raw) == LOGIND
    assert read_acl(b"") == () and read_acl(struct.pack("<I", 1) + raw[4:]) == ()


@given(st.binary(max_size=200))
def test_any_bytes_are_an_acl(raw: bytes) -> None:
    for data in (raw, b"\2\0\0\0" + raw):
        allows(user(1000, 5), 0o660, 0, 5, 6, read_acl(data))
