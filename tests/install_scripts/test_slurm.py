"""Slurm's HealthCheckProgram and Prolog: with a stand-in for scontrol, and under Slurm itself where it can be had."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Environment = Callable[[str], dict[str, str]]
Run = Callable[..., subprocess.CompletedProcess[str]]

SHOWN = (
    "NodeName=n1 Arch=x86_64 Features=(null) Gres={gres} NodeAddr=n1 OS=Linux 6.8.0 #1 SMP State={state} ThreadsPerCore=2 "
    "Partitions=gpu ExtSensorsTemp=n/s {reason}"
)


@pytest.fixture
def scontrol(tmp_path: Path) -> Callable[..., list[str]]:
    """Makes a scontrol that shows a node like this, and writes its `update` words down. Without arguments: what it was told."""
    told = tmp_path / "told"

    def make(state: str = "", reason: str = "", gres: str = "gpu:gfx942:8(S:0-1)", fails: bool = False) -> list[str]:
        if not state:
            return told.read_text().splitlines() if told.exists() else []
        shown = SHOWN.format(state=state, gres=gres, reason=f"Reason={reason} [root@2026-11-30T10:44:37]" if reason else "")
        program = tmp_path / "stand-in/scontrol"
        program.write_text(
            f'#!/bin/sh\n[ -z "{"x" if fails else ""}" ] || exit 1\n'
            f'case $* in *"show node"*) echo {shlex.quote(shown)} ;; *) echo "$*" >>{told} ;; esac\n'
        )
        program.chmod(0o755)
        return []

    return make


@pytest.fixture
def health(scripts: Path, run: Run) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(env: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
        return run(scripts / "slurm/rocm-health-check", env={**env, "SLURMD_NODENAME": "n1", **more})

    return call


DRAIN = "update NodeName=n1 State=DRAIN Reason=rocmdoctor: No GPU"


@pytest.mark.parametrize("kind", ["healthy", "unsure", "broken", "slow", "missing"])
def test_nothing_drains_but_a_failure(stand_in: Environment, scontrol: Callable[..., list[str]], health: Run, kind: str) -> None:
    env = stand_in(kind)
    scontrol("IDLE")
    done = health(env)
    assert (done.returncode, scontrol()) == (0, [])
    assert done.stderr.startswith("rocm-health-check: unknown: ") == (kind != "healthy")


@pytest.mark.parametrize(
    ("state", "reason", "drained"),
    [
        ("IDLE", "", True),
        ("MIXED", "", True),
        ("IDLE", "kept from before", True),
        ("IDLE+DRAIN", "Prolog error", True),
        ("IDLE+DRAIN", "rocmdoctor: rocminfo hangs", True),
        ("IDLE+DRAIN", "rocmdoctor: No GPU", False),
        ("ALLOCATED+DRAIN", "fan replaced on Friday, ann", False),
        ("DOWN", "Not responding", False),
    ],
)
def test_a_failure_drains_but_takes_nobodys_reason(
    stand_in: Environment, scontrol: Callable[..., list[str]], health: Run, state: str, reason: str, drained: bool
) -> None:
    env = stand_in("failed")
    scontrol(state, reason)
    done = health(env)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.strip() for line in scontrol()] == ([DRAIN] if drained else [])


@pytest.mark.parametrize("text", ['"; touch {0}/pwned; "', "$(touch {0}/pwned)", "`touch {0}/pwned`", "State=RESUME", "a' b"])
def test_text_of_the_host_is_one_word(
    stand_in: Environment, scontrol: Callable[..., list[str]], health: Run, tmp_path: Path, text: str
) -> None:
    env = {**stand_in("failed"), "HOST_TEXT": text.format(tmp_path)}
    scontrol("IDLE")
    assert health(env).returncode == 0
    (said,) = scontrol()
    assert said == f"{DRAIN} {text.format(tmp_path)}".replace('"', "").replace("'", "")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("gres", ["(null)", "lustre:4", "nic:1"])
def test_a_node_without_gpus_is_no_failure(
    stand_in: Environment, scontrol: Callable[..., list[str]], health: Run, gres: str
) -> None:
    env = stand_in("failed")
    scontrol("IDLE", gres=gres)
    assert (health(env).returncode, scontrol()) == (0, [])
    scontrol("IDLE", gres="nic:1,gpu:2")
    assert (health(env).returncode, len(scontrol())) == (0, 1)


@pytest.mark.parametrize(
    ("gres", "setting", "expected"),
    [
        ("gpu:gfx942:8(S:0-1)", "", "8"),
        ("gpu:8(S:0,1),nic:2", "", "8"),
        ("nic:1,gpu:gfx942:6,gpu:gfx90a:2", "", "8"),
        ("gpu", "", "1"),
        ("gpu:gfx942", "", "1"),
        ("shard:16,gpu:4", "", "4"),
        ("(null)", "", ""),
        ("lustre:4", "", ""),
        ("gpu:8", "7", "7"),
        ("gpu:8", "0", ""),
    ],
)
def test_slurm_knows_the_number_of_gpus(
    stand_in: Environment, scontrol: Callable[..., list[str]], health: Run, tmp_path: Path, gres: str, setting: str, expected: str
) -> None:
    env = stand_in("healthy")
    scontrol("IDLE", gres=gres)
    assert health(env, ROCMDOCTOR_EXPECT_GPUS=setting).returncode == 0
    _, _, number = (tmp_path / "asked").read_text().strip().partition(" --expect-gpus ")
    assert number == expected


def test_options(stand_in: Environment, scontrol: Callable[..., list[str]], health: Run) -> None:
    env = stand_in("slow")
    scontrol("IDLE")
    health(env, ROCMDOCTOR_DRAIN_UNKNOWN="1")
    assert scontrol() == ["update NodeName=n1 State=DRAIN Reason=rocmdoctor: rocmdoctor gave no answer within 1 seconds"]
    env = stand_in("healthy")
    for reason in ("fan replaced", "rocmdoctor: No GPU"):
        scontrol("IDLE+DRAIN", reason)
        health(env, ROCMDOCTOR_RESUME="1")
    assert scontrol()[1:] == ["update NodeName=n1 State=RESUME"]


def test_slurm_that_does_not_answer(stand_in: Environment, scontrol: Callable[..., list[str]], health: Run) -> None:
    env = stand_in("failed")
    scontrol("IDLE", fails=True)
    done = health(env)
    assert done.returncode == 1 and done.stderr.startswith("rocm-health-check: scontrol cannot show node n1; not drained: No GPU")
    assert health({**env, "ROCM_VERDICT": "/nonexistent"}).returncode == 1


def test_it_ends_within_the_minute_that_slurm_gives(scripts: Path) -> None:
    """20 seconds and 4 for the verdict; two calls of scontrol with 8 and 2."""
    text = (scripts / "slurm/rocm-health-check").read_text()
    assert "timeout -k 2 8" in text and text.count("slurm -o show") == 1
    assert 20 + 4 + 2 * (8 + 2) < 60


@pytest.mark.parametrize(
    ("kind", "gpus", "code"),
    [("healthy", "0,1", 0), ("failed", "0,1", 1), ("failed", "", 0), ("slow", "0", 0), ("missing", "0", 0), ("broken", "0", 0)],
)
def test_prolog(scripts: Path, stand_in: Environment, run: Run, tmp_path: Path, kind: str, gpus: str, code: int) -> None:
    env = {**stand_in(kind), "SLURM_JOB_GPUS": gpus, "SLURM_JOB_ID": "7", "ROCMDOCTOR_PROLOG_LIMIT": "1"}
    begun = time.monotonic()
    done = run(scripts / "slurm/rocm-prolog", env=env)
    assert done.returncode == code
    assert done.stderr.startswith("rocm-prolog: job 7: ") == (bool(gpus) and kind != "healthy")
    assert (tmp_path / "asked").exists() == (bool(gpus) and kind != "missing")
    assert time.monotonic() - begun < 8


def test_the_areas_exist(scripts: Path) -> None:
    from rocmdoctor import engine

    known = {c.id for c in engine.all_checks()} | {c.area for c in engine.all_checks()}
    for script in ("rocm-health-check", "rocm-prolog"):
        (line,) = (line for line in (scripts / "slurm" / script).read_text().splitlines() if line.startswith("checks="))
        assert set(line.split(":-")[1].rstrip("}").split(",")) <= known


# Slurm itself ----------------------------------------------------------------------------------------------------

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmdLogFile={work}/slurmd.log
PluginDir={plugins}
HealthCheckProgram={work}/health
HealthCheckInterval={interval}
Prolog={work}/prolog
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=1
PartitionName=test Nodes=n1 Default=YES
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(
    debian: Callable[..., Path], scripts: Path, stand_in: Environment, tmp_path: Path
) -> Iterator[Callable[[int], Callable[..., str]]]:
    """Starts Slurm with one node on loopback addresses; gives a function that runs a command of Slurm."""
    if os.geteuid() != 0:
        pytest.skip("slurmd runs as root only")
    slurm = debian("slurmd", "slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15")
    libraries = slurm / f"usr/lib/{os.uname().machine}-linux-gnu"
    work = tmp_path / "slurm"
    for folder in ("state", "spool"):
        (work / folder).mkdir(parents=True)
    env = {
        **stand_in("healthy"),
        "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm",
        "SLURM_CONF": str(work / "slurm.conf"),
    }
    daemons: list[subprocess.Popen[bytes]] = []

    def start(interval: int) -> Callable[..., str]:
        # slurmd gives its programs no environment; this Slurm counts no GPUs, so its answer is given some
        wrapper = work / "scontrol"
        wrapper.write_text(
            f"#!/bin/sh\nexport LD_LIBRARY_PATH={env['LD_LIBRARY_PATH']} SLURM_CONF={env['SLURM_CONF']}\n"
            f"{slurm}/usr/bin/scontrol \"$@\" | sed 's/Gres=(null)/Gres=gpu:2/'\n"
        )
        settings = f"PATH={env['PATH']} ROCM_VERDICT={env['ROCM_VERDICT']} ROCMDOCTOR_PROLOG_ALWAYS=1 SCONTROL={wrapper}"
        for name, script in (("health", "rocm-health-check"), ("prolog", "rocm-prolog")):
            (work / name).write_text(f'#!/bin/sh\nexport {settings}\nexec {scripts}/slurm/{script} "$@"\n')
        for program in (wrapper, work / "health", work / "prolog"):
            program.chmod(0o755)
        (work / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                ports=(free_port(), free_port()),
                work=work,
                plugins=libraries / "slurm-wlm",
                interval=interval,
            )
        )
        for words in (["slurmctld-wlm", "-D"], ["slurmd-wlm", "-D", "-N", "n1", "-d", f"{slurm}/usr/sbin/slurmstepd-wlm"]):
            path = f"{slurm}/usr/sbin/{words[0]}"
            with (work / f"{words[0]}.out").open("wb") as out:
                daemons.append(subprocess.Popen([path, *words[1:]], env=env, stdout=out, stderr=out))

        def command(name: str, *argv: str) -> str:
            done = subprocess.run([f"{slurm}/usr/bin/{name}", *argv], env=env, capture_output=True, text=True, timeout=60)
            return done.stdout + done.stderr

        deadline = time.monotonic() + 40
        while "State=IDLE " not in command("scontrol", "-o", "show", "node", "n1"):
            if time.monotonic() > deadline:
                pytest.skip(f"Slurm does not start here: {(work / 'slurmd-wlm.out').read_text()[-300:]}")
            time.sleep(0.5)
        return command

    yield start
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        daemon.wait(20)


def until(command: Callable[..., str], words: str) -> str:
    """The node as Slurm shows it, once it says so; after 40 seconds as it is."""
    deadline = time.monotonic() + 40
    while words not in (shown := command("scontrol", "-o", "show", "node", "n1")) and time.monotonic() < deadline:
        time.sleep(0.5)
    return shown


@pytest.mark.slow
def test_slurmd_drains_the_node(cluster: Callable[[int], Callable[..., str]], stand_in: Environment) -> None:
    command = cluster(2)
    stand_in("failed")
    shown = until(command, "DRAIN")
    assert "State=IDLE+DRAIN " in shown and " Reason=rocmdoctor: No GPU" in shown


@pytest.mark.slow
def test_a_job_does_not_start_on_broken_gpus(
    cluster: Callable[[int], Callable[..., str]], stand_in: Environment, tmp_path: Path
) -> None:
    command = cluster(0)
    assert "hello" in command("srun", "--chdir=/", "echo", "hello")
    until(command, "State=IDLE ")
    stand_in("failed")
    assert "Job prolog failed" in command("srun", "--chdir=/", "--immediate=30", "echo", "hello")
    shown = until(command, "DRAIN")
    assert "Reason=Prolog error " in shown
    assert "output:rocm-prolog: job " in (tmp_path / "slurm/slurmd.log").read_text()
    subprocess.run([shutil.which("sh") or "sh", tmp_path / "slurm/health"], env={"SLURMD_NODENAME": "n1"}, timeout=60)
    assert "Reason=rocmdoctor: No GPU" in until(command, "rocmdoctor")
