"""gres-conf on built hosts: whole GPUs, partitions, GPUs that no job can use."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostbuilder import HostBuilder

Done = subprocess.CompletedProcess[str]
LINE = re.compile(r"Name=gpu Type=(gfx[0-9a-f]+) File=/dev/dri/renderD(\d+) Flags=amd_gpu_env")


@pytest.fixture
def gres(scripts: Path, doctor: Callable[[HostBuilder], Path], run: Callable[..., Done], tmp_path: Path) -> Callable[..., Done]:
    def call(host: HostBuilder, *argv: str) -> Done:
        env = {"PATH": os.environ["PATH"], "ROCMDOCTOR": str(doctor(host))}
        return run(scripts / "slurm/gres-conf", "--root", tmp_path / "snapshot/files", *argv, env=env)

    return call


def test_one_line_for_each_gpu(gres: Callable[..., Done]) -> None:
    done = gres(HostBuilder().gpus("gfx90a", count=4))
    assert (done.returncode, done.stderr) == (0, "")
    *lines, last, setting = done.stdout.splitlines()
    assert setting.endswith(" ROCMDOCTOR_EXPECT_GPUS=4")
    found = [match.groups() for line in lines if (match := LINE.fullmatch(line))]
    assert len(found) == len(lines) == 4
    assert {gfx for gfx, _ in found} == {"gfx90a"} and len({minor for _, minor in found}) == 4
    assert last == "# in slurm.conf: GresTypes=gpu and NodeName=... Gres=gpu:gfx90a:4"


def test_for_a_file_of_many_nodes(gres: Callable[..., Done]) -> None:
    done = gres(HostBuilder().gpus("gfx1100"), "--node", "gpu[01-08]", "--no-flags")
    first, last, _ = done.stdout.splitlines()
    assert re.fullmatch(r"NodeName=gpu\[01-08\] Name=gpu Type=gfx1100 File=/dev/dri/renderD\d+", first)
    assert last.endswith("NodeName=gpu[01-08] Gres=gpu:gfx1100:1")
    assert gres(HostBuilder().gpus("gfx1100"), "--node", "a b=c").returncode == 2


def topology(folder: Path, *nodes: dict[str, int]) -> Path:
    for number, values in enumerate(nodes):
        node = folder / f"sys/class/kfd/kfd/topology/nodes/{number}"
        node.mkdir(parents=True)
        (node / "properties").write_text("".join(f"{key} {value}\n" for key, value in values.items()))
    return folder


def gpu(location: int, minor: int, version: int = 90402, domain: int = 0) -> dict[str, int]:
    return {
        "simd_count": 304,
        "gfx_target_version": version,
        "location_id": location,
        "domain": domain,
        "drm_render_minor": minor,
    }


CPU = {"cpu_cores_count": 64, "simd_count": 0}
REPORT = {"host": {"gpus": [{"pci_address": "0000:05:00.0", "gfx": "gfx942", "product": "AMD Instinct MI300X"}]}}


@pytest.mark.parametrize("layout", ["bits", "functions"])
def test_a_line_for_each_partition(scripts: Path, run: Callable[..., Done], tmp_path: Path, layout: str) -> None:
    """CPX: one board, several KFD nodes with render nodes of their own. Old kernels number them as PCI functions."""
    shift = 28 if layout == "bits" else 0
    root = topology(tmp_path, CPU, *(gpu(0x500 | n << shift, 128 + 8 * n) for n in range(8)))
    report = tmp_path / "report.json"
    report.write_text(json.dumps(REPORT))
    done = run(scripts / "slurm/gres-conf", "--root", root, "--report", report)
    *lines, last, _ = done.stdout.splitlines()
    assert [LINE.fullmatch(line)[2] for line in lines] == [str(128 + 8 * n) for n in range(8)]  # type: ignore[index]
    assert last.endswith("Gres=gpu:gfx942:8")


def test_what_no_job_can_use_is_a_comment(scripts: Path, run: Callable[..., Done], tmp_path: Path) -> None:
    root = topology(tmp_path, CPU, gpu(0x500, 128), gpu(0x600, 0, 90010))
    report = tmp_path / "report.json"
    lost = {"pci_address": "0001:07:00.0", "gfx": None, "product": "AMD\x1b[31m\nName=gpu"}
    report.write_text(json.dumps({"host": {"gpus": [*REPORT["host"]["gpus"], lost]}}))
    done = run(scripts / "slurm/gres-conf", "--root", root, "--report", report)
    assert done.stdout.splitlines() == [
        "Name=gpu Type=gfx942 File=/dev/dri/renderD128 Flags=amd_gpu_env",
        "# the KFD node at 0000:06:00.0 has no render node",
        "# AMD?[31m?Name=gpu at 0001:07:00.0 is not served by KFD: no job can use it",
        "# in slurm.conf: GresTypes=gpu and NodeName=... Gres=gpu:gfx942:1",
        "# in /etc/default/rocmdoctor, for other monitors: ROCMDOCTOR_EXPECT_GPUS=1",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"host": {"gpus": [1]}}', "Traceback", '{"host": null}'])
def test_what_is_no_report(scripts: Path, run: Callable[..., Done], tmp_path: Path, text: str) -> None:
    report = tmp_path / "report.json"
    report.write_text(text)
    done = run(scripts / "slurm/gres-conf", "--root", topology(tmp_path, CPU, gpu(0x500, 128)), "--report", report)
    assert (done.returncode, done.stderr) == (1, "gres-conf: this is not a report of rocmdoctor\n")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "cannot run "),
        ("slow", "rocmdoctor gave no answer within 1 seconds"),
        ("broken", "Traceback"),
        ("silent", "rocmdoctor ended with status 1"),
    ],
)
def test_a_rocmdoctor_that_gives_none(
    scripts: Path, stand_in: Callable[[str], dict[str, str]], run: Callable[..., Done], tmp_path: Path, kind: str, message: str
) -> None:
    done = run(
        scripts / "slurm/gres-conf", "--root", topology(tmp_path, CPU, gpu(0x500, 128)), "--limit", "1", env=stand_in(kind)
    )
    assert done.returncode == 1 and done.stderr.startswith(f"gres-conf: {message}") and done.stderr.count("\n") == 1


def test_a_host_without_kfd_or_gpus(scripts: Path, run: Callable[..., Done], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(REPORT))
    done = run(scripts / "slurm/gres-conf", "--root", tmp_path, "--report", report)
    assert done.returncode == 1 and done.stderr.startswith("gres-conf: no KFD topology: ")
    done = run(scripts / "slurm/gres-conf", "--root", topology(tmp_path, CPU), "--report", report)
    assert done.returncode == 1 and "no GPU that a job could use" in done.stderr


@pytest.mark.slow
def test_slurmd_reads_the_lines(gres: Callable[..., Done], debian: Callable[..., Path], tmp_path: Path) -> None:
    """`slurmd -G` prints what it took from gres.conf. Files of this folder stand for the render nodes, which it looks for."""
    slurm = debian("slurmd", "slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15")
    libraries = slurm / f"usr/lib/{os.uname().machine}-linux-gnu"
    lines = gres(HostBuilder().gpus("gfx90a", count=2)).stdout
    for minor in re.findall(r"renderD(\d+)", lines):
        (tmp_path / f"renderD{minor}").touch()
    (tmp_path / "gres.conf").write_text(lines.replace("/dev/dri/", f"{tmp_path}/"))
    host = os.uname().nodename.partition(".")[0]
    (tmp_path / "slurm.conf").write_text(
        f"ClusterName=test\nSlurmctldHost={host}\nAuthType=auth/none\nCredType=cred/none\nSlurmdSpoolDir={tmp_path}\n"
        f"SelectType=select/cons_tres\nPluginDir={libraries}/slurm-wlm\nGresTypes=gpu\nNodeName={host} CPUs=1 Gres=gpu:gfx90a:2\n"
    )
    env = {"LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm", "SLURM_CONF": str(tmp_path / "slurm.conf")}
    done = subprocess.run([slurm / "usr/sbin/slurmd-wlm", "-G"], env=env, capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "error" not in said.lower(), said
    assert said.count("gpu:gfx90a") == 2 or said.count("Type=gfx90a") == 2, said
