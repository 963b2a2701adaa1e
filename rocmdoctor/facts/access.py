"""Who may open the compute nodes: /dev/kfd and /dev/dri/renderD* (rules.md 19-22)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """`open` is the result of opening read-write as the asked user: "ok" or an errno name. `group`: name of gid, None when it
    has no name here (rules.md 21). `group_may`: the group has rw by mode."""

    path: str
    exists: bool
    type: str | None
    mode: int
    uid: int
    gid: int
    group: str | None
    major: int | None
    minor: int | None
    open: str | None

    @property
    def described(self) -> str:
        """`mode 0660 root:render, open: EACCES` for evidence."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Access:
    """`kfd` is always there (exists False when absent); render nodes by minor."""

    kfd: DeviceNode
    render: tuple[DeviceNode, ...]


def gather(host: Host) -> Access:
    raise NotImplementedError
