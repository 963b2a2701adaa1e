"""Accounts from the text of /etc/passwd and /etc/group (passwd(5), group(5)), for hosts that are not this machine."""

from __future__ import annotations

from collections.abc import Mapping

from rocmdoctor.host import User


def group_database(group: str) -> dict[str, int]:
    """Group names to gids; damaged lines are left out."""
    groups: dict[str, int] = {}
    for line in group.splitlines():
        fields = line.split(":")
        if len(fields) >= 3 and fields[0] and fields[2].isascii() and fields[2].isdigit() and len(fields[2]) <= 10:
            groups.setdefault(fields[0], int(fields[2]))
    return groups


def account(name: str, passwd: str, group: str, groups: Mapping[str, int]) -> User | None:
    """The account `name` as a new session of it would be; None when it is not in `passwd`. Root needs no entry.

    `groups` names gids where `group` is not to be had.
    """
    uid = gid = None
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) >= 4 and fields[0] == name and fields[2].isdecimal() and fields[3].isdecimal():
            uid, gid = int(fields[2]), int(fields[3])
            break
    if uid is None or gid is None:
        if name != "root":
            return None
        uid, gid = 0, groups.get("root", 0)
    gids = {gid}
    for line in group.splitlines():
        fields = line.split(":")
        if len(fields) >= 4 and name in fields[3].split(",") and fields[2].isascii() and fields[2].isdigit():
            gids.add(int(fields[2]))
    return User(name, uid, gid, frozenset(gids), frozenset(gids))
