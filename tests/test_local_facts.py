"""Local facts for Ansible."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor import cli
from tests.hostbuilder import HostBuilder


def facts(builder: HostBuilder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    builder.write(tmp_path / "host")
    assert cli.run(["facts", "--snapshot", str(tmp_path / "host")]) == 0  # Ansible drops the facts of a script that fails
    said = capsys.readouterr()
    assert not said.err
    document: dict[str, Any] = json.loads(said.out)
    return document


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_a_healthy_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(HostBuilder().gpus("gfx942", count=2), tmp_path, capsys)
    assert (found["verdict"], found["root_cause"], found["root_causes"]) == ("healthy", None, [])
    assert (found["gfx"], found["gpu_count"], found["rocm_version"]) == (["gfx942"], 2, "6.2.0")
    assert found["driver"] == {"loaded": True, "kind": "dkms", "version": "6.8.5", "release": "6.2.0"}
    assert found["torch"]["build"] == "rocm" and found["kernel"] == "6.8.0-40-generic"
    assert found["places"] == {"rocm": "/opt/rocm-6.2.0", "python": "/home/user1/venv/bin/python"}
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", key) for key in keys(found)), "each key stands after a dot in Jinja"


def test_a_broken_host_is_no_failure_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(HostBuilder().fault_not_in_group(), tmp_path, capsys)
    assert (found["verdict"], found["root_cause"]) == ("broken", "user1 cannot open /dev/kfd")
    assert found["root_causes"] == ["permissions.kfd-access"]


def test_a_host_without_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(HostBuilder().no_gpus().no_rocm().no_torch(), tmp_path, capsys)
    assert (found["verdict"], found["gfx"], found["rocm_version"]) == ("no-amd-gpu", [], None)
    assert found["torch"]["version"] is None and found["places"] == {"rocm": None, "python": None}
