"""A foreign root is never left, whatever its links say, and its kernel facts are unknown unless a kernel filled them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmdoctor.host import HostError, UnknownFact
from rocmdoctor.host.live import LiveHost


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("outside")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("outer:x:7:7::/:/bin/sh\n")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\nalice:x:{os.geteuid() or 1001}:1001::/home/alice:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nrender:x:109:alice\n")
    (root / "etc/os-release").write_text("ID=debian\n")
    (root / "usr/lib").mkdir(parents=True)
    (root / "opt/rocm-6.2/.info").mkdir(parents=True)
    (root / "opt/rocm-6.2/.info/version").write_text("6.2.0\n")
    for name, target in {
        "lib": "usr/lib",
        "opt/rocm": "/opt/rocm-6.2",
        "absolute": str(tmp_path / "outside"),
        "dots": "../outside",
        "deep": "usr/../../outside",
        "host": "/etc/passwd",
        "up": "..",
        "loop": "loop",
        "gone": "nowhere",
    }.items():
        (root / name).symlink_to(target)
    for name in ("proc", "sys", "dev", "run"):
        (root / name).mkdir()
    return root


def test_links_stay_inside(root: Path) -> None:
    host = LiveHost(str(root))
    assert host.read("/etc/os-release") == "ID=debian\n" and host.read("/opt/rocm/.info/version") == "6.2.0\n"
    for path in ("/absolute", "/dots", "/deep", "/../outside", "/up/outside", "/gone", "/etc/os-release/x", "/lib/nope"):
        assert host.read(path) is None and host.node(path) is None and host.resolve(path) is None, path
    assert "alice" in (host.read("/host") or "")
    assert host.resolve("/up/up/opt/rocm/../rocm/.info") == "/opt/rocm-6.2/.info" and host.resolve("/up") == "/"
    assert host.names("/up") == host.names("/") == tuple(sorted(os.listdir(root)))
    assert host.glob("/opt/*/.info/version") == ("/opt/rocm-6.2/.info/version", "/opt/rocm/.info/version")
    assert host.glob("/opt/rocm") == ("/opt/rocm",) and host.glob("/nope/*") == ()
    link = host.node("/dots", follow=False)
    assert link is not None and link.target == "../outside"
    with pytest.raises(UnknownFact, match="levels of"):
        host.read("/loop")
    with pytest.raises(UnknownFact):
        host.read("etc/os-release")


def test_only_regular_files_are_opened(root: Path) -> None:
    os.mkfifo(root / "etc/fifo")
    host = LiveHost(str(root))
    with pytest.raises(UnknownFact, match="not a regular file"):
        host.read("/etc/fifo")
    assert host.read("/etc") is None


def test_kernel_facts_of_a_plain_disk_are_unknown(root: Path) -> None:
    host = LiveHost(str(root))
    for path in ("/proc/cmdline", "/sys/class/kfd", "/dev/kfd", "/run/.containerenv", "/proc"):
        with pytest.raises(UnknownFact, match="not populated"):
            host.node(path)
    with pytest.raises(UnknownFact):
        host.open_result("/dev/kfd")
    with pytest.raises(UnknownFact):
        host.glob("/sys/bus/pci/devices/*/vendor")
    with pytest.raises(UnknownFact):
        _ = host.uname
    assert host.env == {} and host.groups == {"root": 0, "render": 109}


def test_a_populated_root(root: Path) -> None:
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/version").write_text("Linux version 6.1.0\n")
    (root / "proc/sys/kernel/osrelease").write_text("6.1.0-28-amd64\n")
    (root / "proc/sys/kernel/arch").write_text("aarch64\n")
    (root / "sys/class/kfd").mkdir(parents=True)
    host = LiveHost(str(root))
    assert (host.uname.release, host.uname.machine) == ("6.1.0-28-amd64", "aarch64")
    assert host.names("/sys/class") == ("kfd",) and host.node("/sys/class/drm") is None


def test_commands_are_not_run(root: Path) -> None:
    with pytest.raises(UnknownFact, match="not run in a foreign root"):
        LiveHost(str(root)).run(["true"])


def test_users_come_from_the_root(root: Path) -> None:
    alice = LiveHost(str(root), user="alice").user
    assert (alice.gid, alice.groups) == (1001, frozenset({1001, 109}))
    with pytest.raises(HostError):
        LiveHost(str(root), user="outer")
    expected = "alice" if os.geteuid() else "root"
    assert LiveHost(str(root)).user.name == expected
    (root / "etc/passwd").unlink()
    assert LiveHost(str(root)).user.uid == 0


def test_access_by_mode(root: Path) -> None:
    (root / "etc/key").write_text("x")
    (root / "etc/key").chmod(0o660)
    os.chown(root / "etc/key", -1, os.getgid())
    host = LiveHost(str(root), user="alice")
    mine = host.user.uid == os.geteuid() or os.getgid() in host.user.groups
    assert host.open_result("/etc/key") == ("ok" if mine else "EACCES")
    assert host.open_result("/etc") == "EISDIR" and host.open_result("/nope") == "ENOENT"


def test_no_file_system_of_its_own(root: Path) -> None:
    host = LiveHost(str(root))
    assert host.filesystem("/opt") is None and host.filesystem("/nope") is None
    whole = host.filesystem("/")
    assert whole is not None and whole.size > 0


def test_the_root_of_this_machine_is_no_foreign_root(tmp_path: Path) -> None:
    (tmp_path / "slash").symlink_to("/")
    assert LiveHost(str(tmp_path / "slash")).uname.release == os.uname().release
