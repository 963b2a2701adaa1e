"""What a recording cannot tell is skipped when it is judged, never passed and never failed: emptied keyrings, another user."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.live import LiveHost
from rocmdoctor.host.recorded import open_snapshot
from rocmdoctor.host.recorder import Recorder
from rocmdoctor.matrix import load_matrix
from tests.hostbuilder import HostBuilder

MATRIX = load_matrix()
RING = "/etc/apt/keyrings/rocm.gpg"


def status(host: Host, id: str) -> str:
    return next(r.status.value for r in examine(host, MATRIX, only=[id], plugins=False).results if r.id == id)


def recorded(host: Host, path: Path) -> Host:
    recorder = Recorder(host)
    examine(recorder, MATRIX, plugins=False)
    recorder.write(path)
    return open_snapshot(path)


@pytest.mark.parametrize(
    ("content", "here", "replayed"),
    [
        (b"", "fail", "skip"),  # wget failed in `wget | gpg --dearmor`
        (b"<html>404</html>\n", "fail", "fail"),
        (None, "fail", "fail"),
    ],
    ids=["empty", "page", "absent"],
)
@pytest.mark.parametrize("form", ["folder", "archive.tar.gz"])
def test_a_broken_keyring(tmp_path: Path, content: bytes | None, here: str, replayed: str, form: str) -> None:
    HostBuilder().write(tmp_path / "host")
    ring = tmp_path / "host/files" / RING[1:]
    ring.unlink()
    if content is not None:
        ring.write_bytes(content)
    host = LiveHost(str(tmp_path / "host/files"))
    assert status(host, "repo.keys") == here
    assert status(recorded(host, tmp_path / form), "repo.keys") == replayed


def test_its_twin_keeps_its_key(tmp_path: Path) -> None:
    HostBuilder().keyring(expires="2099-01-01").write(tmp_path / "host")
    host = LiveHost(str(tmp_path / "host/files"))
    assert status(host, "repo.keys") == "pass" and status(recorded(host, tmp_path / "copy"), "repo.keys") == "pass"


def test_a_key_without_a_keyrings_name(tmp_path: Path) -> None:
    """Binary data at a place where none is expected are not recorded."""
    builder = HostBuilder().keyring("/etc/amd/rocm", expires="2099-01-01")
    line = "deb [arch=amd64 signed-by=/etc/amd/rocm] https://repo.radeon.com/rocm/apt/6.2 jammy main"
    builder.repo("rocm.list", line).repo("amdgpu.list", "").write(tmp_path / "host")
    host = LiveHost(str(tmp_path / "host/files"))
    assert status(host, "repo.keys") == "pass" and status(recorded(host, tmp_path / "copy"), "repo.keys") == "skip"


def test_the_runtime_of_another_user_is_unknown(tmp_path: Path) -> None:
    """rocminfo was run by user1: what it said is nothing to root, and what the kernel said is the same for both."""
    HostBuilder().fault_not_in_group().dmesg("[    1.0] amdgpu: ready").file(
        "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
    ).write(tmp_path / "host")
    own, root = open_snapshot(tmp_path / "host"), open_snapshot(tmp_path / "host", "root")
    assert own.run(["rocminfo"]).found and root.run(["dmesg"]).found
    with pytest.raises(UnknownFact, match="recorded for user1, not for root"):
        root.run(["rocminfo"])
    with pytest.raises(UnknownFact, match="recorded for user1, not for root"):
        root.read("/proc/self/limits")
    assert status(own, "permissions.kfd-access") == "fail" and status(root, "permissions.kfd-access") == "pass"
    assert status(root, "rocminfo.runs") == "skip"
    assert open_snapshot(tmp_path / "host", "user1").run(["rocminfo"]) == own.run(["rocminfo"])


def test_limits_of_this_process_are_not_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    host = LiveHost()
    assert "Max locked memory" in (host.read("/proc/self/limits") or "")
    other = LiveHost()
    monkeypatch.setattr(other, "_user", host.user._replace(name="ann", uid=host.user.uid + 1))
    with pytest.raises(UnknownFact, match="tells of this process, not of ann"):
        other.read("/proc/self/limits")
