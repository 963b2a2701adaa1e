"""node_exporter's textfile: whole or not at all, read by prometheus_client and promtool; the units by systemd."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.hostbuilder import HostBuilder

Environment = Callable[[str], dict[str, str]]
Run = Callable[..., subprocess.CompletedProcess[str]]
Reader = Callable[..., tuple[Path, dict[str, str]]]

UNITS = ("rocmdoctor-textfile.service", "rocmdoctor-textfile.timer")
PROMETHEUS_SAYS = {
    "cut": "echo '# HELP rocmdoctor_verdict x'; exit 1",
    "killed": "echo 'rocmdoctor_verdict 1'; kill -9 $$",
}


@pytest.fixture
def collector(tmp_path: Path) -> Path:
    folder = tmp_path / "collector"
    folder.mkdir()
    return folder


def test_the_report_of_a_broken_host(scripts: Path, run: Run, doctor: Callable[[HostBuilder], Path], collector: Path) -> None:
    """Exit status 1 of check is a report too."""
    env = {"ROCMDOCTOR": str(doctor(HostBuilder().with_fault("fault_not_in_group")))}
    old = os.umask(0o077)
    try:
        done = run(scripts / "node_exporter/rocmdoctor-textfile", collector, "--profile", "node", env=env)
    finally:
        os.umask(old)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(collector) == ["rocmdoctor.prom"]
    assert (collector / "rocmdoctor.prom").stat().st_mode & 0o777 == 0o644
    families = {f.name: f for f in text_string_to_metric_families((collector / "rocmdoctor.prom").read_text())}
    verdicts = {s.labels["verdict"]: s.value for s in families["rocmdoctor_verdict"].samples}
    assert verdicts["broken"] == 1 and verdicts["healthy"] == 0


@pytest.mark.parametrize("kind", ["silent", "broken", "slow", "missing", "healthy", *PROMETHEUS_SAYS])
def test_without_a_whole_report_the_old_file_stays(
    scripts: Path, run: Run, stand_in: Environment, collector: Path, kind: str
) -> None:
    """What the stand-in called healthy says is no metrics."""
    env = stand_in(kind if kind not in PROMETHEUS_SAYS else "healthy")
    if kind in PROMETHEUS_SAYS:
        (collector.parent / "stand-in/rocmdoctor").write_text(f"#!/bin/sh\n{PROMETHEUS_SAYS[kind]}\n")
    (collector / "rocmdoctor.prom").write_text("old\n")
    done = run(scripts / "node_exporter/rocmdoctor-textfile", collector, env=env)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("rocmdoctor-textfile: ")
    assert os.listdir(collector) == ["rocmdoctor.prom"]
    assert (collector / "rocmdoctor.prom").read_text() == "old\n"


def test_no_folder(scripts: Path, run: Run, stand_in: Environment) -> None:
    script = scripts / "node_exporter/rocmdoctor-textfile"
    assert "which folder?" in run(script, env=stand_in("healthy")).stderr
    assert "no such folder" in run(script, "/nonexistent", env=stand_in("healthy")).stderr


def test_units(scripts: Path, tmp_path: Path) -> None:
    """systemd-analyze looks for the program, so it is shown one in its place."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for unit in UNITS:
        text = (scripts / "node_exporter" / unit).read_text()
        (tmp_path / unit).write_text(text.replace("/usr/local/libexec/rocmdoctor", str(scripts / "node_exporter")))

    def verify() -> subprocess.CompletedProcess[str]:
        words = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / unit) for unit in UNITS)]
        return subprocess.run(words, capture_output=True, text=True, timeout=60)

    done = verify()
    ours = [line for line in done.stderr.splitlines() if "rocmdoctor" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
    (tmp_path / UNITS[0]).write_text("[Service]\nExecStart=/nonexistent/program\nNoSuchSetting=1\n")
    assert "NoSuchSetting" in verify().stderr, "this systemd-analyze does not read the service"


@pytest.mark.slow
def test_promtool(scripts: Path, run: Run, doctor: Callable[[HostBuilder], Path], collector: Path, reader: Reader) -> None:
    promtool, env = reader("promtool", "prometheus")
    done = subprocess.run(
        [promtool, "check", "rules", scripts / "node_exporter/rocmdoctor.rules.yml"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "2 rules found" in done.stdout, done.stderr
    own = {"ROCMDOCTOR": str(doctor(HostBuilder()))}
    assert run(scripts / "node_exporter/rocmdoctor-textfile", collector, env=own).returncode == 0
    text = (collector / "rocmdoctor.prom").read_text()
    done = subprocess.run([promtool, "check", "metrics"], env=env, input=text, capture_output=True, text=True, timeout=60)
    assert "error while linting" not in done.stderr, done.stderr  # it also has opinions on names: status 3


@pytest.mark.slow
def test_alerts_fire(scripts: Path, reader: Reader, tmp_path: Path) -> None:
    promtool, env = reader("promtool", "prometheus")
    shutil.copy(scripts / "node_exporter/rocmdoctor.rules.yml", tmp_path)
    (tmp_path / "test.yml").write_text(
        """rule_files: [rocmdoctor.rules.yml]
evaluation_interval: 5m
tests:
  - interval: 5m
    input_series:
      - {series: 'rocmdoctor_verdict{instance="n1", verdict="broken"}', values: '0 1x30'}
      - {series: 'rocmdoctor_last_run_timestamp_seconds{instance="n1"}', values: '0x30'}
    alert_rule_test:
      - {eval_time: 10m, alertname: ROCmBroken, exp_alerts: []}
      - eval_time: 30m
        alertname: ROCmBroken
        exp_alerts:
          - exp_labels: {instance: n1, severity: critical, verdict: broken}
            exp_annotations:
              summary: ROCm is broken on n1
              description: "rocmdoctor_root_cause names the checks that failed; `rocmdoctor check` there says what to run."
      - {eval_time: 60m, alertname: ROCmCheckStale, exp_alerts: []}
      - eval_time: 65m
        alertname: ROCmCheckStale
        exp_alerts:
          - exp_labels: {instance: n1, severity: warning}
            exp_annotations:
              summary: rocmdoctor has not reported on n1 for an hour
              description: "See `systemctl status rocmdoctor-textfile.service`; a node whose driver is wedged gives no answer."
"""
    )
    done = subprocess.run([promtool, "test", "rules", tmp_path / "test.yml"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
