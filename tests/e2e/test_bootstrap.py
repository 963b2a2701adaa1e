"""bootstrap.sh on the dressed roots, offline: rocmdoctor runs there, a second run changes nothing, and nothing is left of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.base_root import python_version
from tests.e2e.conftest import Machine
from tests.e2e.install_case import InstallCase, Parts

pytestmark = pytest.mark.slow
SCRIPT = "/mnt/tree/install_scripts/bootstrap.sh"
PARTS = "pyproject.toml README.md LICENSE compat_matrix.yaml checks rocmdoctor install_scripts"
NEEDED = ("typer>=0.20,<0.29", "rich", "distro", "psutil", "packaging", "PyYAML", "setuptools>=77", "pip")


@pytest.fixture(scope="module")
def wheels(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the Python of the roots."""
    folder = tmp_path_factory.mktemp("wheels")
    version = python_version(parts.base)
    tag = version.replace(".", "")
    choice = ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}"]
    choice += [f"--abi={abi}" for abi in (f"cp{tag}", "abi3", "none")]
    choice += [f"--platform={name}" for name in ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "linux_x86_64")]
    words = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", str(folder), *choice, *NEEDED]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"no source of wheels: {done.stderr.strip().splitlines()[-1][:200]}")
    return folder


@pytest.fixture
def bare(machine: Machine, wheels: Path) -> Callable[..., InstallCase]:
    """A machine with the wheels in /mnt/wheels, and a copy of the tree, which may be edited meanwhile, in /mnt/tree."""

    def make(name: str) -> InstallCase:
        case = machine(name)
        case.shell(f"mkdir /mnt/tree && cd /.e2e/tree && cp -R -P {PARTS} /mnt/tree").ok()
        for wheel in wheels.glob("*.whl"):
            case.write(f"/mnt/wheels/{wheel.name}", wheel.read_bytes())
        return case

    return make


@pytest.mark.parametrize("name", ["ubuntu-24.04", "rhel-9.4", "sles-15.6"])
def test_from_bare_to_rocmdoctor_and_back(bare: Callable[..., InstallCase], name: str) -> None:
    case = bare(name)
    before = case.snapshot_of_files()
    said = case.run("sh", SCRIPT, "--wheels", "/mnt/wheels", "--yes", timeout=300).ok().out
    assert said.endswith("is installed: /usr/local/bin/rocmdoctor\n")
    report = json.loads(case.run("rocmdoctor", "check", "--format", "json").out)
    assert case.distro.pretty in json.dumps(report["host"])

    made = case.snapshot_of_files()
    again = case.run("sh", SCRIPT, "--wheels", "/mnt/wheels", "--yes", timeout=300).ok().out
    assert "is installed already" in again
    assert made.changes(case.snapshot_of_files()) == []

    case.run("sh", SCRIPT, "--uninstall", "--yes").ok()
    assert before.changes(case.snapshot_of_files()) == []


def test_a_full_disk(bare: Callable[..., InstallCase]) -> None:
    case = bare("ubuntu-24.04")
    case.run("mkdir", "-p", "/opt/rocmdoctor").ok()
    with case.small_disk("/opt/rocmdoctor", "4m"):
        done = case.run("sh", SCRIPT, "--wheels", "/mnt/wheels", "--yes", timeout=300)
        assert done.rc == 1 and done.err.count("\n") == 1
        assert "No space left on device" in done.err or "is the disk full?" in done.err
        assert not case.exists("/usr/local/bin/rocmdoctor")


def test_a_python_without_ensurepip(bare: Callable[..., InstallCase]) -> None:
    """Ubuntu and Debian without python3-venv: the wheel of pip in the folder serves; without it the package is named."""
    case = bare("ubuntu-24.04")
    case.shell("rm -rf /usr/lib/python3*/ensurepip").ok()
    case.run("sh", SCRIPT, "--wheels", "/mnt/wheels", "--yes", timeout=300).ok()
    case.run("rocmdoctor", "--version").ok()
    case.shell("rm /mnt/wheels/pip-*.whl").ok()
    done = case.run("sh", SCRIPT, "--wheels", "/mnt/wheels", "--yes", "--reinstall", timeout=300)
    assert done.rc == 1 and done.err.startswith("bootstrap: /usr/bin/python3 cannot make an environment: ")
    assert done.err.count("\n") == 1
    case.run("rocmdoctor", "--version").ok()
