"""Who may open the compute nodes: /dev/kfd and /dev/dri/renderD* (rules.md 19-22).

Sources: open(2) for the errno names; Linux drivers/gpu/drm/amd/amdkfd/kfd_chardev.c (kfd_open) and drivers/gpu/drm/drm_drv.c
for the nodes; systemd rules.d/50-udev-default.rules for group render and mode.
"""

from typing import NamedTuple

from rocmdoctor.host import Host, UnknownFact

KFD = "/dev/kfd"
RENDER = "/dev/dri/renderD*"

MAX_RENDER_NODES = 1024


class DeviceNode(NamedTuple):
    """`open` is the result of opening read-write as the asked user: "ok" or an errno name (ENOENT when absent), None when it
    could not be told. `group`: name of gid, None when it has no name here (rules.md 21)."""

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
    def group_may(self) -> bool:
        """The owning group may read and write, by mode."""
        return self.mode & 0o060 == 0o060

    @property
    def others_may(self) -> bool:
        """Everybody may read and write, by mode (udev rules of some distributions and of Docker guides)."""
        return self.mode & 0o006 == 0o006

    @property
    def described(self) -> str:
        """`mode 0660 root:render, open: EACCES` for evidence; a gid without a name stays a number."""
        if not self.exists:
            return "absent"
        owner = "root" if self.uid == 0 else str(self.uid)
        kind = "" if self.type == "char" else f"{self.type}, "
        return f"{kind}mode {self.mode & 0o7777:04o} {owner}:{self.group or self.gid}, open: {self.open or 'unknown'}"


class Access(NamedTuple):
    """`kfd` is always there (exists False when absent); render nodes by minor."""

    kfd: DeviceNode
    render: tuple[DeviceNode, ...]


def gather(host: Host) -> Access:
    """/dev/kfd and the render nodes. Raises UnknownFact when /dev cannot be looked at."""
    names = _group_names(host)
    paths = [p for p in host.glob(RENDER) if p[len(RENDER) - 1 :].isdecimal() and len(p) < 32]
    paths.sort(key=lambda p: int(p[len(RENDER) - 1 :]))
    return Access(_node(host, KFD, names), tuple(_node(host, p, names) for p in paths[:MAX_RENDER_NODES]))


def _group_names(host: Host) -> dict[int, str]:
    """Names by gid; of several names the first by alphabet. A name merely helps, so an unknown database is an empty one."""
    try:
        return {gid: name for name, gid in sorted(host.groups.items(), reverse=True)}
    except UnknownFact:
        return {}


def _node(host: Host, path: str, names: dict[int, str]) -> DeviceNode:
    node = host.node(path)
    if node is None:
        return DeviceNode(path, False, None, 0, 0, 0, None, None, None, "ENOENT")
    try:
        result: str | None = host.open_result(path)
    except UnknownFact:
        result = None
    return DeviceNode(
        path=path,
        exists=True,
        type=node.type,
        mode=node.mode,
        uid=node.uid,
        gid=node.gid,
        group=names.get(node.gid),
        major=node.major,
        minor=node.minor,
        open=result,
    )
