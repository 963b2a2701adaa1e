"""The program for real, on this machine and on bad input: exit status, one line for an error, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

TREE = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((TREE / "docs/report.schema.json").read_text())


def doctor(*argv: str | Path, cwd: Path | None = None) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of one run."""
    environment = {k: v for k, v in os.environ.items() if k != "ROCMDOCTOR_DEBUG"} | {"PYTHONPATH": str(TREE)}
    done = subprocess.run(
        [sys.executable, "-m", "rocmdoctor", *map(str, argv)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def test_this_machine_in_json() -> None:
    code, out, err = doctor("check", "--format", "json")
    report = json.loads(out)
    jsonschema.validate(report, SCHEMA)
    assert report["summary"]["error"] == 0, [r for r in report["results"] if r["status"] == "error"]
    assert code == int(report["summary"]["fail"] > 0)
    assert "Traceback" not in err


def test_this_machine_in_text() -> None:
    code, out, err = doctor("check")
    assert code in (0, 1) and "Traceback" not in err
    assert out.startswith("Host     ") and all(line.isprintable() and len(line) <= 80 for line in out.splitlines())


def test_a_snapshot_replays_what_the_live_run_said(tmp_path: Path) -> None:
    live = json.loads(doctor("check", "--format", "json")[1])
    for name, options in {"redacted.tar.gz": [], "whole.tar.gz": ["--no-redact"], "folder": []}.items():
        code, out, err = doctor("snapshot", "-o", tmp_path / name, *options)
        assert (code, out) == (0, "") and err.startswith("rocmdoctor: wrote ")
        replayed = json.loads(doctor("check", "--format", "json", "--snapshot", tmp_path / name)[1])
        assert json.dumps(replayed["results"]) == json.dumps(live["results"])
        assert replayed["summary"] == live["summary"]
    assert doctor("snapshot", "-o", tmp_path / "folder")[0] == 2
    assert doctor("snapshot", "-o", tmp_path / "folder", "--force")[0] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "redacted.tar.gz", "whole.tar.gz"]


def test_a_root_with_little_in_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    code, out, _ = doctor("check", "--root", tmp_path, "--format", "json")
    assert code in (0, 1)
    jsonschema.validate(json.loads(out), SCHEMA)
    assert [p.name for p in tmp_path.iterdir()] == ["etc"] and not list((tmp_path / "etc").iterdir())


BAD_INPUTS: dict[str, list[str]] = {
    "missing snapshot": ["--snapshot", "none"],
    "empty folder": ["--snapshot", "empty"],
    "empty archive": ["--snapshot", "empty.tar.gz"],
    "no archive": ["--snapshot", "text.tar.gz"],
    "truncated archive": ["--snapshot", "cut.tar.gz"],
    "no snapshot": ["--snapshot", "array"],
    "device": ["--snapshot", "/dev/null"],
    "missing root": ["--root", "none"],
    "root is a file": ["--root", "types.yaml"],
    "root without a name": ["--root", ""],
    "empty root": ["--root", "empty"],
    "unknown user": ["--user", "no-such-user-here"],
    "missing matrix": ["--matrix", "none.yaml"],
    "matrix of wrong types": ["--matrix", "types.yaml"],
    "broken matrix": ["--matrix", "broken.yaml"],
    "binary matrix": ["--matrix", "binary.yaml"],
    "matrix is a folder": ["--matrix", "empty"],
    "unknown check": ["--only", "no.such-check"],
    "unknown area to skip": ["--skip", "gpu_present,nonsense*"],
}


@pytest.fixture
def bad_files(tmp_path: Path) -> Path:
    """A folder with the files that BAD_INPUTS names."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.tar.gz").write_bytes(b"")
    (tmp_path / "text.tar.gz").write_text("not an archive")
    (tmp_path / "array").mkdir()
    (tmp_path / "array/snapshot.json").write_text("[]")
    with tarfile.open(tmp_path / "whole.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "array/snapshot.json", "snapshot.json")
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "whole.tar.gz").read_bytes()[:60])
    (tmp_path / "types.yaml").write_text("date: [2026]\nreleases: 7\n")
    (tmp_path / "broken.yaml").write_text("date: '2026-11-30\n: {")
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)))
    return tmp_path


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_input_is_one_line(bad_files: Path, name: str) -> None:
    before = sorted(bad_files.rglob("*"))
    code, out, err = doctor("check", *BAD_INPUTS[name], cwd=bad_files)
    assert (code, out) == (2, ""), err
    assert err.startswith("rocmdoctor: ") and err.count("\n") == 1 and "Traceback" not in err
    assert sorted(bad_files.rglob("*")) == before
