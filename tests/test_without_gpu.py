"""Judging where no GPU is, or none can be seen: builders of images, roots without /sys, hosts of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocmdoctor import cli
from tests.hostbuilder import HostBuilder

Run = Callable[..., tuple[int, str]]
CUDA, ROCM = "2.5.1+cu124", "2.5.1+rocm6.2"
VENV = "/home/user1/venv"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: str) -> tuple[int, str]:
        return cli.run(["check", *argv]), capsys.readouterr().out

    return call


@pytest.fixture
def image(tmp_path: Path) -> Callable[[str], str]:
    """A root as an image is unpacked: without /sys, /proc and /dev."""

    def make(torch: str) -> str:
        import shutil

        HostBuilder().rocm("6.2.0").torch(torch).write(tmp_path / "host")
        for folder in ("sys", "proc", "dev"):
            shutil.rmtree(tmp_path / "host/files" / folder, ignore_errors=True)
        return str(tmp_path / "host/files")

    return make


@pytest.fixture
def builder(tmp_path: Path) -> Callable[[str], str]:
    def make(torch: str) -> str:
        HostBuilder().no_gpus().torch(torch).write(tmp_path / "host")
        return str(tmp_path / "host")

    return make


def test_an_image_with_the_wrong_wheel_fails_in_ci(image: Callable[[str], str], run: Run) -> None:
    code, out = run("--root", image(CUDA), "--python", VENV, "--profile", "ci", "--only", "torch_build.*")
    assert code == 1 and "FAIL  PyTorch in /home/user1/venv is the CUDA build" in out and "Fix: " in out


def test_its_twin_passes(image: Callable[[str], str], run: Run) -> None:
    root = image(ROCM)
    code, out = run("--root", root, "--python", VENV, "--profile", "ci", "--only", "torch_build.*", "--fail-on", "unknown")
    assert code == 0 and "it is unknown whether there is an AMD GPU" in out and "2 checks passed." in out
    assert "No AMD GPU was found" not in out


def test_elsewhere_an_image_is_not_judged(image: Callable[[str], str], run: Run) -> None:
    asked = ("--root", image(CUDA), "--python", VENV, "--only", "torch_build.rocm")
    code, out = run(*asked)
    assert code == 0 and "Nothing could be judged: it is unknown whether there is an AMD GPU" in out
    assert run(*asked, "--fail-on", "unknown")[0] == run(*asked, "--fail-on", "warn,unknown")[0] == 1
    assert run(*asked, "--fail-on", "warn")[0] == 0


def test_a_skipped_check_is_not_reported(builder: Callable[[str], str], run: Run) -> None:
    asked = ("--snapshot", builder(ROCM), "--profile", "ci", "--only", "torch_build.*")
    code, out = run(*asked, "--skip", "gpu_present")
    assert code == 0 and "No AMD GPU was found: 2 checks passed." in out and "FAIL" not in out
    code, out = run("--snapshot", asked[1], "--only", "torch_build.*")
    assert code == 1 and "[gpu_present.device]" in out


def test_a_builder_without_a_gpu_judges_the_wheel(builder: Callable[[str], str], run: Run) -> None:
    code, out = run("--snapshot", builder(CUDA), "--profile", "ci", "--skip", "gpu_present", "--only", "torch_build.*")
    assert code == 1 and "[torch_build.rocm]" in out and "gpu_present" not in out


@pytest.mark.parametrize("option", ["fail", "warn"])
def test_nothing_known_is_said(tmp_path: Path, run: Run, option: str) -> None:
    """The contract has no exit status for it: without --fail-on unknown it is 0, and the text is plain."""
    HostBuilder().unknown("/**", "cmd:*").write(tmp_path / "host")
    code, out = run("--snapshot", str(tmp_path / "host"), "--fail-on", option)
    assert code == 0 and "Nothing could be judged: it is unknown whether there is an AMD GPU" in out and "Healthy" not in out
    assert run("--snapshot", str(tmp_path / "host"), "--fail-on", f"{option},unknown")[0] == 1


def test_a_known_host_is_not_unknown(tmp_path: Path, run: Run) -> None:
    HostBuilder().write(tmp_path / "host")
    assert run("--snapshot", str(tmp_path / "host"), "--fail-on", "unknown")[0] == 0


@pytest.mark.parametrize("value", ["", "never", "fail,never"])
def test_a_wrong_word(run: Run, value: str, tmp_path: Path) -> None:
    assert run("--fail-on", value) == (2, "")
