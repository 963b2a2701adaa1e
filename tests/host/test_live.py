"""The live host on this machine. Nothing here is assumed about the machine but that it runs Linux."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.host import HostError, UnknownFact, User, machine_files
from rocmdoctor.host.live import LiveHost


@pytest.fixture
def host() -> LiveHost:
    return LiveHost()


def test_identity(host: LiveHost) -> None:
    assert host.uname.release == os.uname().release and host.uname.sysname == "Linux"
    assert host.user.uid == os.geteuid() and set(os.getgroups()) <= host.user.groups
    assert host.groups.get("root", 0) == 0


def test_kernel_files(host: LiveHost) -> None:
    assert (host.read("/proc/version") or "").startswith("Linux")
    assert host.read("/proc/version", 5) == "Linux"
    null = host.node("/dev/null")
    assert null is not None and (null.type, null.major, null.minor) == ("char", 1, 3)
    assert "version" in host.names("/proc") and host.glob("/proc/vers*n") == ("/proc/version",)


def test_three_states(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for path in (tmp_path / "nope", file / "below", tmp_path / ("n" * 300)):
        assert host.read(str(path)) is None and host.node(str(path)) is None and host.resolve(str(path)) is None
        assert host.names(str(path)) == () and host.open_result(str(path)) == "ENOENT"
    assert host.read(str(tmp_path)) is None and host.names(str(file)) == ()
    assert host.read("/a\0b") is None and host.read("/\ud800") is None and host.glob("/a\0*") == ()
    with pytest.raises(UnknownFact):
        host.read("relative")

    def denied(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    for name, question in (
        ("open", host.read),
        ("stat", host.node),
        ("scandir", host.names),
        ("readlink", host.node),
        ("stat", host.open_result),
    ):
        with monkeypatch.context() as patch:
            link = tmp_path / "link"
            if not link.is_symlink():
                link.symlink_to(file)
            patch.setattr(os, name, denied)
            with pytest.raises(UnknownFact, match="Permission denied"):
                if name == "readlink":
                    host.node(str(link), follow=False)
                else:
                    question(str(tmp_path if name == "scandir" else file))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(host: LiveHost, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    file.chmod(0)
    with pytest.raises(UnknownFact):
        host.read(str(file))
    assert host.node(str(file)) is not None


def test_nothing_but_regular_files_is_read(host: LiveHost, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "/dev/zero", "/dev/null"):
        with pytest.raises(UnknownFact, match="not a regular file"):
            host.read(path)
    node = host.node(str(tmp_path / "fifo"))
    assert node is not None and node.type == "file"


def test_an_attribute_that_fails_is_unknown(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fd: int, size: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "x").write_text("1")
    monkeypatch.setattr(os, "read", broken)
    with pytest.raises(UnknownFact, match="Input/output error"):
        host.read(str(tmp_path / "x"))


def test_reading_leaves_no_descriptor(host: LiveHost, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        host.read("/proc/version", 3)
        host.names("/proc")
        LiveHost(str(tmp_path)).read("/x")
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_links(host: LiveHost, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/f").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    top = str(tmp_path.resolve())
    assert host.resolve(f"{top}/link/f") == f"{top}/real/f" and host.read(f"{top}/link/f") == "x"
    assert host.glob(f"{top}/l*k/f") == (f"{top}/link/f",)
    link = host.node(f"{top}/link", follow=False)
    assert link is not None and (link.type, link.target) == ("link", "real")
    assert host.node(f"{top}/gone") is None and host.glob(f"{top}/go*") == (f"{top}/gone",)
    for question in (host.read, host.resolve, host.node):
        with pytest.raises(UnknownFact):
            question(f"{top}/loop")


def test_hidden_names(host: LiveHost, tmp_path: Path) -> None:
    for name in (".info", "lib", "a[b"):
        (tmp_path / name).mkdir()
    assert host.names(str(tmp_path)) == (".info", "a[b", "lib")
    assert host.glob(f"{tmp_path}/*") == (f"{tmp_path}/a[b", f"{tmp_path}/lib") and len(host.glob(f"{tmp_path}/.*")) == 1


def test_a_folder_without_end_is_unknown(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_files, "MAX_NAMES", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    for machine, path in ((host, str(tmp_path)), (LiveHost(str(tmp_path)), "/")):
        with pytest.raises(UnknownFact, match="more than 3"):
            machine.names(path)


def test_filesystems(host: LiveHost, tmp_path: Path) -> None:
    root = host.filesystem("/")
    assert root is not None and root.size >= root.free >= 0
    (tmp_path / "d").mkdir()
    assert host.filesystem(str(tmp_path / "d")) is None and host.filesystem("/nope") is None


def test_shared_memory_has_a_size(host: LiveHost) -> None:
    node = host.node("/dev/shm")
    if node is None:
        pytest.skip("no /dev/shm here")
    assert node.type == "dir" and (node.size or 0) > 0


def test_device_nodes_are_opened(host: LiveHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With /dev/null in the place of the GPU's node: whether it is opened is what matters."""
    opened: list[str] = []
    real_open = os.open

    def fake(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        opened.append(str(path))
        assert flags & os.O_RDWR and flags & os.O_CLOEXEC and flags & os.O_NONBLOCK
        if len(opened) > 1:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_open("/dev/null", flags)

    info = os.stat("/dev/null")
    monkeypatch.setattr(host._files, "stat", lambda path, follow: info)
    monkeypatch.setattr(host._files, "resolve", lambda path: path)
    monkeypatch.setattr(os, "open", fake)
    assert host.open_result("/dev/kfd") == "ok"
    assert host.open_result("/dev/dri/renderD128") == "EINVAL"
    assert opened == ["/dev/kfd", "/dev/dri/renderD128"]
    monkeypatch.setattr(
        host._files, "stat", lambda path, follow: os.stat_result((stat.S_IFREG | 0o600, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    )
    host.open_result("/dev/kfd")
    host.open_result(str(tmp_path))
    monkeypatch.setattr(host._files, "stat", lambda path, follow: info)
    assert host.open_result("/dev/dri/card0") == "ok", "by its mode, which is that of /dev/null"
    assert len(opened) == 2, "what is no device is never opened"


def test_another_user_is_judged_by_mode_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    account = pwd.struct_passwd(("alice", "x", 4321, 4321, "", "/home/alice", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", lambda name: account)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 109])
    host = LiveHost(user="alice")
    assert host.user == User("alice", 4321, 4321, frozenset({4321, 109}), frozenset({4321, 109}))

    def stat_of(mode: int, gid: int) -> Any:
        device = os.stat_result((stat.S_IFCHR | mode, 0, 0, 0, 0, gid, 0, 0, 0, 0))
        folder = os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        return lambda path, follow: device if path == "/dev/kfd" else folder

    monkeypatch.setattr(host._files, "resolve", lambda path: path)
    monkeypatch.setattr(host._files, "acl", lambda path: b"")
    for mode, gid, answer in ((0o660, 109, "ok"), (0o660, 44, "EACCES"), (0o666, 44, "ok")):
        monkeypatch.setattr(host._files, "stat", stat_of(mode, gid))
        assert host.open_result("/dev/kfd") == answer


def test_users(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HostError):
        LiveHost(user="no-such-user-here")
    name = pwd.getpwuid(os.geteuid()).pw_name
    assert LiveHost(user=name).user == LiveHost().user

    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    user = LiveHost().user
    assert user.name == str(os.geteuid()) and user.database_groups == user.groups


def test_groups_of_a_directory_service(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveHost, "_database", lambda self, name: "root:x:0:\n")
    monkeypatch.setattr(grp, "getgrnam", lambda name: grp.struct_group((name, "x", {"render": 992, "video": 44}[name], [])))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((f"g{gid}", "x", gid, [])))
    monkeypatch.setattr(LiveHost, "user", User("u", 1, 7, frozenset({7}), frozenset({8})))
    assert {"root": 0, "render": 992, "video": 44, "g7": 7, "g8": 8}.items() <= host.groups.items()


def test_a_missing_root() -> None:
    for root in ("/no/such/root", "/dev/null", "a\0b"):
        with pytest.raises(HostError):
            LiveHost(root)


def test_commands(host: LiveHost) -> None:
    assert host.run(["sh", "-c", "echo x"]).stdout == "x\n"
    assert not host.run(["no-such-program-here"]).found
