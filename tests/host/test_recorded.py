"""The three states of a recorded host, and its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rocmdoctor.host import HostError, Node, UnknownFact, User
from rocmdoctor.host.recorded import RecordedHost
from tests.host.recorded_hosts import meta, recorded

LINKS = {
    "/opt/rocm": {"type": "link", "target": "/etc/alternatives/rocm"},
    "/etc/alternatives/rocm": {"type": "link", "target": "../../opt/rocm-6.2.0"},
    "/dangling": {"type": "link", "target": "/nowhere"},
    "/out": {"type": "link", "target": "../../../../etc/os-release"},
    "/deep": {"type": "link", "target": "deeper/x"},
    "/deeper/x": {"type": "link", "target": "../opt"},
}
FILES: dict[str, bytes | str] = {
    "/etc/os-release": "ID=ubuntu\n",
    "/opt/rocm-6.2.0/.info/version": "6.2.0-66\n",
    "/opt/rocm-6.2.0/lib/libamdhip64.so.6": b"",
    "/opt/rocm-6.2.0/lib/librocblas.so.4": b"",
    "/opt/rocm-6.2.0/lib/notes.txt": b"",
}


def host(**changes: Any) -> RecordedHost:
    return recorded(FILES, LINKS, **changes)


def unknown(question: Callable[[], object]) -> str:
    with pytest.raises(UnknownFact) as caught:
        question()
    assert str(caught.value)
    return str(caught.value)


def test_absent_is_none() -> None:
    h = host()
    assert h.read("/nope") is None and h.node("/nope") is None and h.resolve("/nope") is None
    assert h.names("/nope") == () and h.glob("/nope/*") == () and h.open_result("/nope") == "ENOENT"
    assert h.read("/etc") is None and h.read("/etc/os-release/x") is None
    assert not h.run(["rocminfo"]).found and h.run(["rocminfo"]).rc == 127


def test_values() -> None:
    h = host()
    assert h.read("/etc/os-release") == "ID=ubuntu\n" and h.read("/etc/os-release", 2) == "ID"
    assert h.read("//etc/./os-release") == "ID=ubuntu\n"
    assert h.node("/etc/os-release") == Node("file", 0o644)
    assert h.node("/etc") == Node("dir", 0o755) and h.node("/") == Node("dir", 0o755)
    assert h.names("/") == ("dangling", "deep", "deeper", "etc", "opt", "out")
    assert h.env["HSA_OVERRIDE_GFX_VERSION"] == "" and h.uname.release == "6.8.0-45-generic"
    assert h.date == "2026-11-30"


def test_links_are_resolved_inside() -> None:
    h = host()
    assert h.resolve("/opt/rocm") == "/opt/rocm-6.2.0"
    assert h.read("/opt/rocm/.info/version") == "6.2.0-66\n"
    assert h.names("/opt/rocm/lib") == ("libamdhip64.so.6", "librocblas.so.4", "notes.txt")
    assert h.glob("/opt/rocm/lib/*.so*") == ("/opt/rocm/lib/libamdhip64.so.6", "/opt/rocm/lib/librocblas.so.4")
    assert h.glob("/opt/rocm*/.info/version") == ("/opt/rocm-6.2.0/.info/version", "/opt/rocm/.info/version")
    assert h.node("/opt/rocm", follow=False) == Node("link", 0o777, target="/etc/alternatives/rocm")
    assert h.node("/dangling") is None and h.resolve("/dangling") is None
    assert h.node("/dangling", follow=False) is not None and h.glob("/dang*") == ("/dangling",)
    assert h.read("/out") == "ID=ubuntu\n"
    assert h.resolve("/deep/rocm/lib/../..") == "/opt"
    assert h.resolve("/../../etc") == "/etc"


def test_a_glob_does_not_show_hidden_names_unless_asked() -> None:
    h = host()
    assert h.glob("/opt/rocm/*") == ("/opt/rocm/lib",) and h.glob("/opt/rocm/.i*") == ("/opt/rocm/.info",)
    assert h.glob("/opt/rocm/.info/version") == ("/opt/rocm/.info/version",) and h.glob("/opt/rocm/nope") == ()


def test_a_loop_through_folders_is_unknown() -> None:
    nodes = {"/a/b": {"type": "link", "target": "../c/d"}, "/c/d": {"type": "link", "target": "/a/b/e"}}
    h = recorded(None, nodes)
    assert "too many levels" in unknown(lambda: h.read("/a/b/x"))
    assert h.glob("/a/b/x") == ("/a/b/x",)


@pytest.mark.parametrize(
    "nodes",
    [
        {"/a": {"type": "link", "target": "a"}},
        {"/a": {"type": "link", "target": "/b"}, "/b": {"type": "link", "target": "./a"}},
        {"/x/a": {"type": "link", "target": "a/b"}},
    ],
)
def test_a_circle_of_links_is_refused(nodes: dict[str, Any]) -> None:
    with pytest.raises(HostError, match="leads to itself"):
        recorded(None, nodes)


def test_placeholders_and_files_without_content_are_unknown() -> None:
    h = recorded(FILES, {"/etc/secret": {"type": "file", "mode": "0600"}})
    unknown(lambda: h.read_bytes("/opt/rocm-6.2.0/lib/librocblas.so.4"))
    unknown(lambda: h.read("/etc/secret"))
    assert h.node("/etc/secret") == Node("file", 0o600)
    assert h.read("/opt/rocm-6.2.0/lib/notes.txt") == ""
    key = recorded({"/etc/apt/keyrings/rocm.gpg": b"", "/proc/modules": b""})
    unknown(lambda: key.read_bytes("/etc/apt/keyrings/rocm.gpg"))
    assert key.read("/proc/modules") == ""


def test_what_is_under_unknown_is_unknown() -> None:
    h = host(unknown=["/opt/**", "/etc/os-release", "cmd:dmesg", "/proc/*/status", "/var/list/*.d"])
    for question in (
        lambda: h.read("/opt/rocm-6.2.0/.info/version"),
        lambda: h.node("/opt/x"),
        lambda: h.names("/opt"),
        lambda: h.names("/opt/rocm"),
        lambda: h.glob("/opt/rocm*/.info/version"),
        lambda: h.glob("/opt/*/x"),
        lambda: h.read("/out"),  # a link that leads to an unknown file
        lambda: h.open_result("/etc/os-release"),
        lambda: h.run(["dmesg"]),
        lambda: h.run(["/usr/bin/dmesg"]),
        lambda: h.read("/proc/1/status"),
        lambda: h.names("/var/list"),
        lambda: h.glob("/var/list/*"),
    ):
        unknown(question)
    assert h.names("/proc/1") == ("status",)  # may or may not be there: asking for it tells
    assert h.glob("/var/list/*.conf") == ()
    assert h.names("/etc") == ("alternatives", "os-release")
    assert not h.run(["rocminfo"]).found


def test_what_is_outside_captured_is_unknown() -> None:
    h = host(captured=["/etc/os-release", "/opt/rocm*/.info/version", "/etc/alternatives/*", "cmd:rocminfo", "/run/**"])
    assert h.read("/etc/os-release") == "ID=ubuntu\n" and h.read("/out") == "ID=ubuntu\n"
    assert h.glob("/opt/rocm*/.info/version") == ("/opt/rocm-6.2.0/.info/version", "/opt/rocm/.info/version")
    assert h.read("/opt/rocm/.info/version") == "6.2.0-66\n"
    assert h.names("/etc/alternatives") == ("rocm",) and h.names("/run/x") == () and h.node("/run") is None
    assert not h.run(["rocminfo"]).found
    for question in (
        lambda: h.read("/etc/passwd"),
        lambda: h.names("/etc"),
        lambda: h.glob("/opt/rocm*/lib/*"),
        lambda: h.glob("/etc/*"),
        lambda: h.run(["dmesg"]),
        lambda: h.node("/opt"),
    ):
        unknown(question)


def test_another_argv_of_a_recorded_program_is_unknown() -> None:
    entry = {"argv": ["mokutil", "--sb-state"], "program": "/usr/bin/mokutil", "rc": 0, "stdout": "", "stderr": ""}
    h = recorded(commands=[entry, {**entry, "argv": ["rpm", "-qa"], "program": None, "rc": 127}])
    assert h.run(("mokutil", "--sb-state")).found
    unknown(lambda: h.run(["mokutil", "--test-key", "x"]))
    assert not h.run(["rpm", "-qa"]).found and not h.run(["rpm", "-q", "x"]).found


def test_a_relative_path_is_unknown_and_odd_ones_are_absent() -> None:
    h = host()
    unknown(lambda: h.read("etc/os-release"))
    unknown(lambda: h.read(""))
    assert h.read("/a\0b") is None and h.read("/\ud800") is None


def test_reasons_of_the_recorder_are_told() -> None:
    h = host(unknown=["/etc/os-release"], captured=["/**"], reasons={"/etc/os-release": "/etc/os-release: Permission denied"})
    assert unknown(lambda: h.read("/etc/os-release")) == "/etc/os-release: Permission denied"


def test_a_denied_file_keeps_its_metadata() -> None:
    h = recorded(None, {"/etc/key": {"type": "file", "mode": "0600"}}, unknown=["/etc/key"])
    assert h.node("/etc/key") == Node("file", 0o600) and h.glob("/etc/*") == ("/etc/key",)
    unknown(lambda: h.read("/etc/key"))
    device = recorded(None, {"/dev/kfd": {"type": "char", "mode": "0666", "open": "EACCES"}}, unknown=["/dev/kfd"])
    unknown(lambda: device.open_result("/dev/kfd"))


KFD = {"type": "char", "mode": "0660", "uid": 0, "gid": 109, "major": 235, "minor": 0}
PASSWD = "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001:A:/home/alice:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n"
GROUP = "render:x:109:alice\nvideo:x:44:\nbad\nworse:x:y:alice\n"


def test_open_result_is_the_recorded_one_or_follows_the_mode() -> None:
    assert recorded(None, {"/dev/kfd": {**KFD, "open": "EINVAL"}}).open_result("/dev/kfd") == "EINVAL"
    assert recorded(None, {"/dev/kfd": KFD}).open_result("/dev/kfd") == "EACCES"
    member = {"name": "u", "uid": 5, "gid": 5, "groups": [109]}
    assert recorded(None, {"/dev/kfd": KFD}).user.name == "user1"
    assert RecordedHost(meta(user=member), None, {"/dev/kfd": KFD}).open_result("/dev/kfd") == "ok"
    assert RecordedHost(meta(user={**member, "uid": 0}), None, {"/dev/kfd": {**KFD, "mode": "0"}}).open_result("/dev/kfd") == "ok"
    closed = {"/dev/kfd": KFD, "/dev": {"type": "dir", "mode": "0700"}}
    assert RecordedHost(meta(user=member), None, closed).open_result("/dev/kfd") == "EACCES"
    assert recorded({"/f": b"x"}).open_result("/f") == "EACCES" and recorded({"/d/f": b"x"}).open_result("/d") == "EISDIR"
    with pytest.raises(UnknownFact):
        recorded(None, {"/dev/kfd": {"type": "char"}}).open_result("/dev/kfd")


def test_another_user_is_judged_by_mode_and_recorded_accounts() -> None:
    files: dict[str, bytes | str] = {"/etc/passwd": PASSWD, "/etc/group": GROUP}
    nodes = {"/dev/kfd": {**KFD, "open": "EINVAL"}}
    alice = recorded(files, nodes, user="alice")
    assert alice.user == User("alice", 1001, 1001, frozenset({1001, 109}), frozenset({1001, 109}))
    assert alice.open_result("/dev/kfd") == "ok"
    assert recorded(files, nodes, user="bob").open_result("/dev/kfd") == "EACCES"
    assert recorded(None, nodes, user="root").open_result("/dev/kfd") == "ok"
    assert recorded(None, nodes, user="user1").open_result("/dev/kfd") == "EINVAL"
    for known, name in ((files, "carol"), (None, "alice"), ({"/etc/passwd": PASSWD}, "alice")):
        with pytest.raises(HostError):
            recorded(known, nodes, user=name)


def test_filesystems() -> None:
    h = host(filesystems={"/boot": {"size": 10, "free": 4}}, captured=["/**", "statvfs:/opt"])
    found = h.filesystem("/boot")
    assert found is not None and (found.size, found.free) == (10, 4)
    assert h.filesystem("/opt") is None
    unknown(lambda: h.filesystem("/"))


def test_size_of_shared_memory() -> None:
    node = recorded(None, {"/dev/shm": {"type": "dir", "mode": "1777", "bytes": 64 << 20}}).node("/dev/shm")
    assert node is not None and node.size == 64 << 20 and node.mode == 0o1777


@pytest.mark.parametrize(
    "files",
    [{"/a": b"", "/a/b": b""}, {"/a/b": b"", "/a": b""}, {"relative": b""}, {"/a/../b": b""}, {"/a//b": b""}],
)
def test_files_that_contradict_themselves_are_refused(files: dict[str, bytes | str]) -> None:
    with pytest.raises(HostError):
        recorded(files)
