"""Output that cannot be written, and names under which no snapshot is: one plain sentence, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from rocmdoctor import cli
from rocmdoctor.commands.snapshot import place_of_snapshot
from rocmdoctor.host import HostError
from rocmdoctor.host.recorded import open_snapshot
from tests.hostbuilder import HostBuilder

TREE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("hosts") / "host"
    HostBuilder().write(path)
    return str(path)


def run(shell: str, recording: str, cwd: Path = TREE) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(TREE), "ROCMDOCTOR": f"{sys.executable} -m rocmdoctor", "SNAPSHOT": recording}
    return subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=cwd, env=environment, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command",
    [
        "check --snapshot $SNAPSHOT",
        "check --snapshot $SNAPSHOT --format json",
        "stack --snapshot $SNAPSHOT",
        "list-checks",
        "matrix show",
        "--version",
        "check --help",
    ],
)
def test_a_full_disk(recording: str, command: str) -> None:
    done = run(f"$ROCMDOCTOR {command} >/dev/full", recording)
    assert done.returncode == 3 and done.stderr.endswith("output cannot be written: No space left on device\n")
    assert done.stderr.count("\n") == 1 and "internal" not in done.stderr


@pytest.mark.parametrize("command", ["check --snapshot $SNAPSHOT", "list-checks", "matrix show", "--version"])
def test_a_closed_output(recording: str, command: str) -> None:
    done = run(f"$ROCMDOCTOR {command} >&-", recording)
    assert (done.returncode, done.stderr) == (3, "rocmdoctor: standard output is closed\n")


def test_its_twin_is_written(recording: str) -> None:
    assert run("$ROCMDOCTOR check --snapshot $SNAPSHOT >/dev/null 2>&1", recording).returncode == 0


@pytest.mark.parametrize("name", ["w.zip", "a.tar", "-", "x.TAR.GZ", "x.gz", "y.tar.xz", "y.tar.gz/", ""])
def test_a_name_that_is_no_snapshots(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["snapshot", "-o", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["node7.tar.gz", "node7.tgz", "node7", "node7.example", "a/node7"])
def test_a_name_that_is_one(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of_snapshot(name) == str(tmp_path / name)


def test_a_folder_that_is_gone(recording: str, tmp_path: Path) -> None:
    gone = "mkdir gone && cd gone && rmdir ../gone && $ROCMDOCTOR"
    done = run(f"{gone} snapshot -o foo", recording, tmp_path)
    assert done.returncode == 2 and "the current folder does not exist any more" in done.stderr
    assert run(f"{gone} check --snapshot $SNAPSHOT", recording, tmp_path).returncode == 0


KILLED = """
import os, signal, sys
from rocmdoctor.host import snapshot_writer
from rocmdoctor.host.recorder import Recorder
from tests.hostbuilder import HostBuilder

def killed(*args, **options):
    os.kill(os.getpid(), signal.SIGTERM)

document = snapshot_writer.document(Recorder(HostBuilder().build()), True)
os.fsync = os.makedirs = killed
snapshot_writer.write(document, sys.argv[1], False)
"""


@pytest.mark.parametrize("name", ["folder", "archive.tar.gz"])
def test_sigterm_leaves_no_half_of_a_snapshot(tmp_path: Path, name: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], cwd=TREE, check=False)
    assert done.returncode == -signal.SIGTERM and os.listdir(tmp_path) == []


def archive(path: Path, parts: dict[str, object]) -> str:
    with tarfile.open(path, "w:gz") as tar:
        for name, value in parts.items():
            file = path.parent / name
            file.write_text(json.dumps(value))
            tar.add(file, name)
    return str(path)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"snapshot.json": {"format": "rocmdoctor-snapshot", "version": 2}}, "version 2 is newer than this program reads"),
        ({"snapshot.json": {"format": "other"}}, "not a snapshot: format"),
        ({"nodes.json": {}}, "no snapshot.json"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, parts: dict[str, object], said: str) -> None:
    path = archive(tmp_path / "node7.tar.gz", parts)
    with pytest.raises(HostError) as caught:
        open_snapshot(path)
    assert said in str(caught.value) and str(caught.value).count(path) == 1


@pytest.mark.parametrize("data", [b"", b"no gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00"])
def test_a_damaged_archive_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "node7.tar.gz"
    path.write_bytes(data)
    with pytest.raises(HostError, match=r"node7\.tar\.gz"):
        open_snapshot(path)
