"""Stand-ins for rocmdoctor, and the real programs that read what install_scripts writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.hostbuilder import HostBuilder

TREE = Path(__file__).parents[2]
SCRIPTS = TREE / "install_scripts"
Done = subprocess.CompletedProcess[str]

STAND_INS = {
    "healthy": 'echo "ROCm works"',
    "failed": 'echo "No GPU $HOST_TEXT"; exit 1',
    "unsure": 'echo "it is unknown whether there is an AMD GPU"; exit 2',
    "silent": "exit 1",
    "broken": "echo Traceback >&2; exit 70",
    "slow": "sleep 60",
    "stubborn": "trap '' TERM; sleep 60",
}
"""What a rocmdoctor can do to those who wait for it."""


@pytest.fixture
def scripts() -> Path:
    return SCRIPTS


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment in which `rocmdoctor` does what STAND_INS says, or is missing; tmp_path/asked has its arguments."""

    def make(kind: str) -> dict[str, str]:
        folder = tmp_path / "stand-in"
        folder.mkdir(exist_ok=True)
        program = folder / "rocmdoctor"
        program.unlink(missing_ok=True)
        if kind != "missing":
            program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n{STAND_INS[kind]}\n')
            program.chmod(0o755)
        environment = {"PATH": f"{folder}:/usr/bin:/bin", "ROCMDOCTOR_LIMIT": "1", "ROCM_VERDICT": str(SCRIPTS / "rocm-verdict")}
        if kind == "missing":
            environment["ROCMDOCTOR"] = str(program)  # one may be installed on the machine that runs the tests
        return environment

    return make


@pytest.fixture
def run() -> Callable[..., Done]:
    """Runs a program with nothing but the given environment, within 30 seconds."""

    def call(*argv: str | Path, env: Mapping[str, str] | None = None) -> Done:
        whole = {"PATH": "/usr/bin:/bin"} if env is None else dict(env)
        return subprocess.run(
            [str(a) for a in argv], env=whole, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL
        )

    return call


@pytest.fixture
def doctor(tmp_path: Path) -> Callable[[HostBuilder], Path]:
    """A program that is the rocmdoctor of this tree on a built host."""

    def make(host: HostBuilder) -> Path:
        host.write(tmp_path / "snapshot")
        program = tmp_path / "rocmdoctor-of-tree"
        program.write_text(
            f'#!/bin/sh\ncommand=$1; shift\nPYTHONPATH={TREE} exec {sys.executable} -m rocmdoctor "$command" '
            f'--snapshot {tmp_path}/snapshot "$@"\n'
        )
        program.chmod(0o755)
        return program

    return make


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder with the unpacked packages of Debian or Ubuntu, which are not installed; skipped where there are none."""
    root = tmp_path_factory.mktemp("debian")

    def unpack(*packages: str) -> Path:
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            pytest.skip(f"{packages[0]}: neither installed nor is there apt-get to fetch it")
        folder = root / packages[0]
        if not folder.exists():
            downloads = root / f"{packages[0]}-downloads"
            downloads.mkdir(exist_ok=True)
            words = ["apt-get", "download", "-q", *packages]
            try:
                subprocess.run(words, cwd=downloads, check=True, capture_output=True, text=True, timeout=120)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                pytest.skip(f"{packages[0]} is not installed, and apt-get cannot fetch it: {str(error.stderr).strip()[-150:]}")
            for package in downloads.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, folder], check=True, timeout=60)
        return folder

    return unpack


@pytest.fixture
def reader(debian: Callable[..., Path]) -> Callable[..., tuple[Path, dict[str, str]]]:
    """A program and the environment to run it in: the installed one, or else from packages of Debian."""

    def find(program: str, *packages: str) -> tuple[Path, dict[str, str]]:
        if installed := shutil.which(program):
            return Path(installed), dict(os.environ)
        folder = debian(*packages)
        for place in ("usr/bin", "usr/sbin", f"usr/lib/{os.uname().machine}-linux-gnu/{program}/sbin"):
            if (folder / place / program).exists():
                path = folder / place / program
        libraries = folder / f"usr/lib/{os.uname().machine}-linux-gnu"
        return path, dict(os.environ, LD_LIBRARY_PATH=str(libraries))

    return find
