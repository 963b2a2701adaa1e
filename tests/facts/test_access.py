"""Device nodes: the result of opening counts, a gid may have no name."""

from __future__ import annotations

import pytest

from rocmdoctor.facts import access
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host


def char(
    mode: str = "0660", uid: int = 0, gid: int = 109, minor: int = 0, result: str | None = "ok", kind: str = "char"
) -> dict[str, object]:
    node: dict[str, object] = {"type": kind, "mode": mode, "uid": uid, "gid": gid, "major": 235, "minor": minor}
    return node if result is None else node | {"open": result}


@pytest.mark.parametrize(
    ("node", "described"),
    [
        (char(), "mode 0660 root:render, open: ok"),
        (char(result="EACCES"), "mode 0660 root:render, open: EACCES"),
        (char(gid=992, result="EACCES"), "mode 0660 root:992, open: EACCES"),
        (char(uid=65534, gid=65534, result="EACCES"), "mode 0660 65534:65534, open: EACCES"),
        (char(mode="0666", gid=0, result="EINVAL"), "mode 0666 root:root, open: EINVAL"),
        (char(kind="file", mode="0644", result="EACCES"), "file, mode 0644 root:render, open: EACCES"),
    ],
)
def test_described(node: dict[str, object], described: str) -> None:
    assert access.gather(small_host(nodes={"/dev/kfd": node})).kfd.described == described


def test_absent() -> None:
    found = access.gather(small_host())
    assert not found.kfd.exists and found.kfd.described == "absent" and found.kfd.open == "ENOENT" and found.render == ()


def test_the_device_and_what_its_mode_allows() -> None:
    kfd = access.gather(small_host(nodes={"/dev/kfd": char(mode="0666", result="EPERM")})).kfd
    assert (kfd.exists, kfd.type, kfd.mode, kfd.major, kfd.minor, kfd.open) == (True, "char", 0o666, 235, 0, "EPERM")
    assert kfd.group_may and kfd.others_may
    narrow = access.gather(small_host(nodes={"/dev/kfd": char(mode="0640")})).kfd
    assert not narrow.group_may and not narrow.others_may


def test_render_nodes_by_minor() -> None:
    nodes = {f"/dev/dri/{n}": char(minor=128) for n in ("renderD130", "renderD1000", "renderD128", "renderDx", "card0")}
    found = [r.path for r in access.gather(small_host(nodes=nodes)).render]
    assert found == ["/dev/dri/renderD128", "/dev/dri/renderD130", "/dev/dri/renderD1000"]


def test_of_two_names_of_a_gid_the_first_counts() -> None:
    host = small_host(nodes={"/dev/kfd": char()}, groups={"zeta": 109, "render": 109})
    assert access.gather(host).kfd.group == "render"


def test_unknown() -> None:
    with pytest.raises(UnknownFact):
        access.gather(small_host(nodes={"/dev/kfd": char()}, unknown=["/dev/kfd"]))
    without_result = {"/dev/kfd": {"type": "char"}}
    assert access.gather(small_host(nodes=without_result)).kfd.described.endswith("open: unknown")
