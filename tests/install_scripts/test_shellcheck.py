"""Every script in install_scripts is one that shellcheck and the smallest POSIX shell accept."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "install_scripts"


def shell_scripts() -> list[Path]:
    found = []
    for path in sorted(SCRIPTS.rglob("*")):
        if path.is_file() and "ansible" not in path.relative_to(SCRIPTS).parts:
            first = path.read_bytes().partition(b"\n")[0]
            if first.startswith(b"#!") and first.endswith(b"sh"):
                found.append(path)
    return found


def name(path: Path) -> str:
    return str(path.relative_to(SCRIPTS))


def test_there_are_scripts() -> None:
    assert {"bootstrap.sh", "rocm-verdict", "slurm/rocm-health-check"} <= {name(p) for p in shell_scripts()}


@pytest.mark.parametrize("script", [*shell_scripts(), SCRIPTS / "nhc/rocm.nhc"], ids=name)
def test_shellcheck(script: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("script", shell_scripts(), ids=name)
def test_is_executable_and_plain_sh(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/sh\n")
    assert script.stat().st_mode & 0o111 == 0o111
    shell = shutil.which("dash") or "sh"
    assert subprocess.run([shell, "-n", script], capture_output=True, text=True, timeout=20).stderr == ""
