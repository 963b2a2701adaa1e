"""Snapshot folders: links on disk stay inside, and nothing but regular files is opened."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocmdoctor.host import HostError, UnknownFact
from rocmdoctor.host import snapshot_tree as tree
from rocmdoctor.host.recorded import open_snapshot
from tests.host.recorded_hosts import folder_of, meta, parts


def test_a_folder_is_read_like_a_host(tmp_path: Path) -> None:
    nodes = {"/opt/rocm": {"type": "link", "target": "rocm-6.2"}, "/etc/empty.d": {"type": "dir"}}
    snapshot = folder_of(tmp_path / "s", parts(nodes, files={"/opt/rocm-6.2/.info/version": b"6.2\n", "/etc/x": b"y"}))
    (snapshot / "files/srv").mkdir()
    host = open_snapshot(str(snapshot))
    assert host.read("/opt/rocm/.info/version") == "6.2\n" and host.names("/") == ("etc", "opt", "srv")
    assert host.names("/etc") == ("empty.d", "x") and host.names("/srv") == ()
    assert host.glob("/opt/*/.info/*") == ("/opt/rocm-6.2/.info/version", "/opt/rocm/.info/version")
    assert host.read("/etc/x", 0) == "" and host.read("/etc/x/y") is None


def test_links_on_disk_are_resolved_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("outside")
    snapshot = folder_of(tmp_path / "s", parts(files={"/etc/os-release": b"ID=x"}))
    files = snapshot / "files"
    for name, target in {
        "absolute": str(tmp_path / "secret"),
        "dots": "../../secret",
        "good": "/etc/os-release",
        "folder": "..",
        "loop": "loop",
        "host": "/etc/passwd",
    }.items():
        (files / name).symlink_to(target)
    host = open_snapshot(snapshot)
    assert host.read("/absolute") is None and host.read("/dots") is None and host.read("/host") is None
    assert host.read("/good") == "ID=x" and host.names("/folder") == host.names("/")
    assert host.read("/folder/folder/good") == "ID=x"
    node = host.node("/dots", follow=False)
    assert node is not None and node.target == "../../secret"
    with pytest.raises(UnknownFact):
        host.read("/loop")


def test_fifos_and_sockets_are_not_opened(tmp_path: Path) -> None:
    snapshot = folder_of(tmp_path / "s", parts())
    os.mkfifo(snapshot / "files/etc/fifo")
    host = open_snapshot(snapshot)
    for question in (host.read, host.node, host.read_bytes, host.open_result):
        with pytest.raises(UnknownFact):
            question("/etc/fifo")
    assert host.names("/etc") == ("fifo", "os-release")


@pytest.mark.parametrize("name", ["snapshot.json", "nodes.json", "commands.json", "files"])
def test_parts_that_are_links_are_refused(tmp_path: Path, name: str) -> None:
    snapshot = folder_of(tmp_path / "s", parts())
    (snapshot / name).rename(tmp_path / "elsewhere")
    (snapshot / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError):
        open_snapshot(snapshot)


@pytest.mark.parametrize("name", ["snapshot.json", "nodes.json", "commands.json"])
def test_parts_that_are_missing_or_fifos(tmp_path: Path, name: str) -> None:
    snapshot = folder_of(tmp_path / "s", parts())
    (snapshot / name).unlink()
    with pytest.raises(HostError, match=f"no {name}"):
        open_snapshot(snapshot)
    os.mkfifo(snapshot / name)
    with pytest.raises(HostError):
        open_snapshot(snapshot)


def test_no_files_at_all_is_an_empty_host(tmp_path: Path) -> None:
    snapshot = folder_of(tmp_path / "s", {n: d for n, d in parts().items() if not n.startswith("files")})
    host = open_snapshot(snapshot)
    assert host.names("/") == () and host.read("/etc/os-release") is None


def test_an_empty_folder_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"no snapshot\.json"):
        open_snapshot(tmp_path)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    snapshot = folder_of(tmp_path / "s", parts())
    with (snapshot / "files/big").open("wb") as big:
        big.truncate(10 << 30)
    assert open_snapshot(snapshot).read("/big", 100) == "\0" * 100
    with (snapshot / "nodes.json").open("wb") as big:
        big.truncate(10 << 30)
    with pytest.raises(HostError, match="larger than"):
        open_snapshot(snapshot)


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = folder_of(tmp_path / "s", parts(files={f"/d/{i}": b"" for i in range(30)}))
    monkeypatch.setattr(tree, "MAX_ENTRIES", 20)
    with pytest.raises(UnknownFact, match="more than 20"):
        open_snapshot(snapshot).names("/d")


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    snapshot = folder_of(tmp_path / "s", parts())
    with open(os.fsencode(str(snapshot)) + b"/files/\xff", "wb") as file:
        file.write(b"x")
    host = open_snapshot(snapshot)
    assert [host.read(f"/{n}") for n in host.names("/") if n != "etc"] == ["x"]


def test_null_uname_is_unknown(tmp_path: Path) -> None:
    snapshot = folder_of(tmp_path / "s", {**parts(), "snapshot.json": json.dumps({**meta(), "uname": None}).encode()})
    with pytest.raises(UnknownFact):
        _ = open_snapshot(snapshot).uname
