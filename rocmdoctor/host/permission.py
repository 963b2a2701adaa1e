"""What the kernel's permission check says for a user, from mode, owner and POSIX ACL (inode_permission(9), acl(5))."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rocmdoctor.host import User

READ_WRITE = 6


class AclEntry(NamedTuple):
    """One entry of a POSIX ACL: `tag` as in acl(5), `id` a uid or gid where the tag has one, `perm` a bit mask rwx."""

    tag: str
    perm: int
    id: int | None = None


def allows(user: "User", mode: int, uid: int, gid: int, wanted: int, acl: Sequence[AclEntry] = ()) -> bool:
    """Whether `user` in this session gets all bits of `wanted` (4 read, 2 write, 1 execute). Root gets everything."""
    if user.uid == 0:
        return True
    if user.uid == uid:
        return (mode >> 6) & wanted == wanted
    groups = user.groups | {user.gid}
    if not acl:
        return (mode >> 3 if gid in groups else mode) & wanted == wanted
    mask = next((e.perm for e in acl if e.tag == "mask"), 7)
    for entry in acl:
        if entry.tag == "user" and entry.id == user.uid:
            return entry.perm & mask & wanted == wanted
    matched = False
    for entry in acl:
        if (entry.tag == "group_obj" and gid in groups) or (entry.tag == "group" and entry.id in groups):
            matched = True
            if entry.perm & mask & wanted == wanted:
                return True
    return not matched and mode & wanted == wanted


_TAGS = {0x01: "user_obj", 0x02: "user", 0x04: "group_obj", 0x08: "group", 0x10: "mask", 0x20: "other"}
"""Tags of struct posix_acl_xattr_entry, include/uapi/linux/posix_acl.h."""


def read_acl(raw: bytes) -> tuple[AclEntry, ...]:
    """The entries of a system.posix_acl_access attribute (include/uapi/linux/posix_acl_xattr.h); () when it is none."""
    if len(raw) < 4 or int.from_bytes(raw[:4], "little") != 2:
        return ()
    entries: list[AclEntry] = []
    for start in range(4, len(raw) - 7, 8):
        tag, perm = (int.from_bytes(raw[start + i : start + i + 2], "little") for i in (0, 2))
        if tag in _TAGS:
            named = tag in (0x02, 0x08)
            entries.append(
                AclEntry(_TAGS[tag], perm & 7, int.from_bytes(raw[start + 4 : start + 8], "little") if named else None)
            )
    return tuple(entries)
