"""The PyTorch step through real pip, from an index on loopback with small wheels of the real names; and its lock."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmdoctor.host.machine import Machine
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import kept, locking
from rocmdoctor.plan.environments import PipInstall, PythonVenv
from rocmdoctor.plan.locking import Lock, Locked, LockError
from rocmdoctor.plan.step import Run

pytestmark = pytest.mark.slow

ROCM = "__version__ = '{v}'\nhip = '6.2.41133'\ncuda = None\n"
CUDA = "__version__ = '{v}'\nhip = None\ncuda = '12.4'\n"


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> Path:
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    content = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in content.items():
            archive.writestr(place, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{place},sha256={digest},{len(text)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two indexes: /whl/rocm6.2 with ROCm builds, /pypi with the CUDA build that the default index has."""
    root = tmp_path_factory.mktemp("index")
    for place, version, text in (("whl/rocm6.2", "2.5.1+rocm6.2", ROCM), ("pypi", "2.5.1", CUDA)):
        for name, files, requires in (
            ("torch", {"torch/__init__.py": "", "torch/version.py": text.format(v=version)}, ("filelock",)),
            ("filelock", {"filelock.py": ""}, ()),
        ):
            folder = root / place / name
            folder.mkdir(parents=True)
            path = wheel(folder, name, version if name == "torch" else "3.16.0", files, requires)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            (folder / "index.html").write_text(f'<a href="{path.name.replace("+", "%2B")}#sha256={digest}">{path.name}</a>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    handler.func.log_message = lambda *args: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(kept, "STATE", str(tmp_path / "state"))
    return Run(Machine(), str(tmp_path / "log"), str(tmp_path / "kept"), lambda text: None)


def made(run: Run, tmp_path: Path) -> str:
    path = str(tmp_path / "venv")
    step = PythonVenv("venv", "venv", path=path, python=sys.executable)
    assert not step.is_done(run.target.look())
    step.apply(run, step.prepare(run))
    assert step.is_done(run.target.look())
    return f"{path}/bin/python"


def test_install_twice_lock_reproduce_and_undo(run: Run, tmp_path: Path, index: str) -> None:
    python = made(run, tmp_path)
    step = PipInstall("torch", "torch", python=python, requirements=("torch==2.5.1+rocm6.2",), index=f"{index}/whl/rocm6.2")
    assert not step.is_done(run.target.look())
    before = step.prepare(run)
    after = step.apply(run, before)
    assert after["installed"] == ["filelock", "torch"] and step.is_done(run.target.look())
    rows = locking._wheel_rows(step, {"torch": "2.5.1+rocm6.2", "filelock": "3.16.0"}, run.target, run.log)
    assert [(row["name"], row["version"], len(row["sha256"][0])) for row in rows] == [
        ("filelock", "3.16.0", 64),
        ("torch", "2.5.1+rocm6.2", 64),
    ]
    step.undo(run, before, after)
    assert not step.is_done(run.target.look())
    wheels = tuple(Locked(row["name"], row["version"], tuple(row["sha256"])) for row in rows)
    lock = Lock("ubuntu 22.04", "6.2.4", None, "apt", (), "3.11", step.index, (), wheels)
    exact = locking._locked_wheels(step, lock)
    exact.apply(run, exact.prepare(run))
    assert exact.is_done(run.target.look())
    wrong = locking._locked_wheels(
        step, Lock("x", "6.2.4", None, "apt", (), None, None, (), (wheels[1]._replace(sha256=("0" * 64,)),))
    )
    exact.undo(run, before, None)
    with pytest.raises(ChangeFailed, match=r"HASHES|hash"):
        wrong.apply(run, wrong.prepare(run))


def test_a_cuda_build_is_no_success(run: Run, tmp_path: Path, index: str) -> None:
    python = made(run, tmp_path)
    step = PipInstall("torch", "torch", python=python, requirements=("torch==2.5.1",), index=f"{index}/pypi")
    with pytest.raises(ChangeFailed, match="is a cuda build"):
        step.apply(run, step.prepare(run))
    assert not step.is_done(run.target.look())


def test_a_version_that_is_not_there(run: Run, tmp_path: Path, index: str) -> None:
    python = made(run, tmp_path)
    step = PipInstall("torch", "torch", python=python, requirements=("torch==9.9",), index=f"{index}/whl/rocm6.2")
    with pytest.raises(ChangeFailed, match=r"torch==9\.9"):
        step.apply(run, step.prepare(run))


GOOD = {
    "format": "rocmdoctor-lock",
    "version": 1,
    "system": "ubuntu 22.04",
    "rocm": "6.2.4",
    "driver": None,
    "manager": "apt",
    "packages": [{"name": "rocm", "version": "6.2.4.60204-139~22.04", "sha256": "0" * 64}],
}


def test_lock_files_are_read_strictly() -> None:
    lock = locking.read(json.dumps(GOOD))
    assert lock.packages[0].name == "rocm" and lock.wheels == ()
    for change in (
        {"format": "x"},
        {"version": 2},
        {"rocm": "-rf"},
        {"packages": [{"name": "--yes", "version": "1", "sha256": "0" * 64}]},
        {"packages": [{"name": "rocm", "version": "1; id", "sha256": "0" * 64}]},
        {"packages": [{"name": "rocm", "version": "1", "sha256": "abc"}]},
        {"packages": [{"name": "rocm", "version": "1"}]},
        {"packages": 7},
        {"system": None, "wheels": 3},
    ):
        with pytest.raises(LockError):
            locking.read(json.dumps({**GOOD, **change}))
    for text in ("", "[]", "null", "{", '"x"'):
        with pytest.raises(LockError):
            locking.read(text)
