"""rocm-verdict: one line and a code of the protocol in a bounded time, whatever rocmdoctor does. Also through NHC's function."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostbuilder import HostBuilder

Environment = Callable[[str], dict[str, str]]
Run = Callable[..., subprocess.CompletedProcess[str]]

NPD = {"healthy": 0, "failed": 1, "unsure": 2, "silent": 2, "broken": 2, "slow": 2, "stubborn": 2, "missing": 2}
LINES = {
    "healthy": "ROCm works",
    "silent": "rocmdoctor ended with status 1",
    "broken": "rocmdoctor ended with status 70",
    "slow": "rocmdoctor gave no answer within 1 seconds",
    "stubborn": "rocmdoctor was killed, at the latest after 1 seconds",
    "missing": "rocmdoctor is not installed",
}


@pytest.mark.parametrize("kind", NPD)
def test_npd(scripts: Path, stand_in: Environment, run: Run, kind: str) -> None:
    begun = time.monotonic()
    done = run(scripts / "rocm-verdict", env=stand_in(kind))
    assert done.returncode == NPD[kind], done.stderr
    assert done.stdout.count("\n") == 1 and len(done.stdout) <= 80
    assert done.stdout.strip() == LINES.get(kind, done.stdout.strip())
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize(("kind", "code"), [("slow", 3), ("missing", 3), ("broken", 3), ("silent", 3)])
def test_nagios_says_unknown_where_there_is_no_answer(
    scripts: Path, stand_in: Environment, run: Run, kind: str, code: int
) -> None:
    done = run(scripts / "rocm-verdict", "nagios", env=stand_in(kind))
    assert (done.returncode, done.stdout) == (code, f"ROCM UNKNOWN - {LINES[kind]}\n")


def test_arguments_go_to_check(scripts: Path, stand_in: Environment, run: Run, tmp_path: Path) -> None:
    run(scripts / "rocm-verdict", "nagios", "--profile", "node", "--skip", "repo,disk", env=stand_in("healthy"))
    assert (tmp_path / "asked").read_text() == "check --format nagios --profile node --skip repo,disk\n"
    run(scripts / "rocm-verdict", "--profile", "node", env=stand_in("healthy"))
    assert (tmp_path / "asked").read_text() == "check --format npd --profile node\n"


@pytest.mark.parametrize(
    ("setting", "argv", "asked"),
    [
        ("8", [], "check --format npd --expect-gpus 8"),
        ("8", ["--expect-gpus", "4"], "check --format npd --expect-gpus 4"),
        ("0", [], "check --format npd"),
        ("", [], "check --format npd"),
    ],
)
def test_the_number_of_gpus(
    scripts: Path, stand_in: Environment, run: Run, tmp_path: Path, setting: str, argv: list[str], asked: str
) -> None:
    run(scripts / "rocm-verdict", *argv, env={**stand_in("healthy"), "ROCMDOCTOR_EXPECT_GPUS": setting})
    assert (tmp_path / "asked").read_text() == f"{asked}\n"


def test_a_number_of_gpus_that_is_none(scripts: Path, stand_in: Environment, run: Run) -> None:
    done = run(scripts / "rocm-verdict", env={**stand_in("healthy"), "ROCMDOCTOR_EXPECT_GPUS": "all"})
    assert (done.returncode, done.stdout) == (2, "ROCMDOCTOR_EXPECT_GPUS is not a number of GPUs\n")


def test_a_gpu_that_is_gone(scripts: Path, run: Run, doctor: Callable[[HostBuilder], Path]) -> None:
    env = {"PATH": os.environ["PATH"], "ROCMDOCTOR": str(doctor(HostBuilder().gpus("gfx942", count=7)))}
    assert run(scripts / "rocm-verdict", "npd", "--profile", "node", env=env).returncode == 0
    done = run(scripts / "rocm-verdict", "npd", "--profile", "node", env={**env, "ROCMDOCTOR_EXPECT_GPUS": "8"})
    assert (done.returncode, done.stdout) == (1, "Only 7 AMD GPUs can be used, 8 expected\n")


def test_a_program_that_cannot_be_killed_is_left_alone(scripts: Path, stand_in: Environment, run: Run, tmp_path: Path) -> None:
    """In an uninterruptible wait neither the program nor `timeout`, which waits for it, ever ends: here timeout does not."""
    environment = stand_in("healthy")
    hung = tmp_path / "stand-in/timeout"
    hung.write_text("#!/bin/sh\nexec sleep 20\n")
    hung.chmod(0o755)
    begun = time.monotonic()
    done = run(scripts / "rocm-verdict", env=environment)
    assert (done.returncode, done.stdout) == (2, f"{LINES['slow']}\n")
    assert time.monotonic() - begun < 10


def test_nothing_is_left_behind(scripts: Path, stand_in: Environment, run: Run, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    for kind in ("healthy", "slow"):
        run(scripts / "rocm-verdict", env={**stand_in(kind), "TMPDIR": str(tmp_path / "tmp")})
    assert os.listdir(tmp_path / "tmp") == []
    done = run(scripts / "rocm-verdict", env={**stand_in("healthy"), "TMPDIR": str(tmp_path / "gone")})
    assert (done.returncode, done.stdout) == (2, f"cannot write to {tmp_path}/gone\n")


@pytest.mark.parametrize("limit", ["0x5", "ten", "-1", "1; id"])
def test_a_limit_that_is_none(scripts: Path, stand_in: Environment, run: Run, limit: str) -> None:
    done = run(scripts / "rocm-verdict", env={**stand_in("healthy"), "ROCMDOCTOR_LIMIT": limit})
    assert (done.returncode, done.stdout) == (2, "ROCMDOCTOR_LIMIT is not a number of seconds\n")


def test_real_rocmdoctor(scripts: Path, run: Run, doctor: Callable[[HostBuilder], Path]) -> None:
    fault = "fault_not_in_group"
    for host, npd, nagios in ((HostBuilder().twin(fault), 0, 0), (HostBuilder().with_fault(fault), 1, 2)):
        env = {"ROCMDOCTOR": str(doctor(host))}
        done = run(scripts / "rocm-verdict", "npd", "--profile", "node", env=env)
        assert done.returncode == npd, done.stdout
        assert ("cannot open /dev/kfd" in done.stdout) == bool(npd)
        done = run(scripts / "rocm-verdict", "nagios", env=env)
        assert done.returncode == nagios and done.stdout.startswith("ROCM ") and "|" in done.stdout


# NHC -------------------------------------------------------------------------------------------------------------

NHC = 'die() { shift; echo "DIED $*"; }; log() { echo "LOG $*"; }'


@pytest.mark.parametrize("kind", NPD)
@pytest.mark.parametrize("unknown_ok", ["1", "0"])
def test_nhc(scripts: Path, stand_in: Environment, run: Run, kind: str, unknown_ok: str) -> None:
    """NHC's own functions `die` and `log` are stand-ins: no distribution at hand packages NHC."""
    program = f"{NHC}; . {scripts}/nhc/rocm.nhc; check_rocm --only gpu_present"
    done = run(shutil.which("bash") or "bash", "-c", program, env={**stand_in(kind), "ROCM_UNKNOWN_OK": unknown_ok})
    fails = NPD[kind] == 1 or (NPD[kind] == 2 and unknown_ok == "0")
    assert done.returncode == fails
    assert done.stdout.startswith("DIED check_rocm:  " if fails else "LOG check_rocm:  unknown: " if NPD[kind] else "")
    assert done.stdout.count("\n") == bool(NPD[kind])


def test_nhc_without_rocm_verdict(scripts: Path, run: Run) -> None:
    program = f"{NHC}; . {scripts}/nhc/rocm.nhc; check_rocm"
    done = run("bash", "-c", program, env={"PATH": "/usr/bin:/bin", "ROCM_VERDICT": "/nonexistent/rocm-verdict"})
    assert (done.returncode, done.stdout) == (0, "LOG check_rocm:  unknown: /nonexistent/rocm-verdict does not run\n")


def test_nhc_lines(scripts: Path) -> None:
    """Each line is `HOSTS || COMMAND`, and the check asks for areas and ids that exist."""
    from rocmdoctor import engine

    lines = [line for line in (scripts / "nhc/rocm.conf").read_text().splitlines() if not line.startswith("#")]
    assert all(line.startswith("* || ") for line in lines)
    patterns = lines[-1].split("'")[1].split(",")
    known = {c.id for c in engine.all_checks()} | {c.area for c in engine.all_checks()}
    assert set(patterns) <= known
