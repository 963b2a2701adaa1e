from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.host import User
from rocmdoctor.host.accounts import account, group_database

GROUP = "root:x:0:\nrender:x:109:alice,bob\nvideo:x:44:bob\nrender:x:999:\n+::::\nshort\nodd:x:٣:\nbig:x:99999999999999:\n"
PASSWD = "root:x:0:0:root:/root:/bin/sh\nalice:x:1001:1001::/home/alice:/bin/sh\nbroken:x:a:b::\n+::::::\n"


def test_group_database() -> None:
    assert group_database(GROUP) == {"root": 0, "render": 109, "video": 44}


def test_account() -> None:
    groups = frozenset({1001, 109})
    assert account("alice", PASSWD, GROUP, {}) == User("alice", 1001, 1001, groups, groups)
    assert account("bob", PASSWD, GROUP, {}) is None and account("broken", PASSWD, GROUP, {}) is None
    root = account("root", "", "", {"root": 0})
    assert root is not None and root.uid == 0


@given(st.text(), st.text(), st.text(max_size=5))
def test_nonsense(passwd: str, group: str, name: str) -> None:
    group_database(group)
    account(name, passwd, group, {})
    account(name, f"{name}:x:1:1:{passwd}", f"g:x:{group}:{name}", {})
