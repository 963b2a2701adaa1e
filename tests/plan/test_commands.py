"""install, uninstall, fix, undo and verify from the command line: exit statuses, streams, and what is never done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from rocmdoctor.cli import run
from rocmdoctor.commands import changing
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.step import Plan
from tests.hostbuilder import HostBuilder
from tests.plan.bare_hosts import bare
from tests.plan.fake_machine import FakeMachine, Killed, Quiet, bare_ubuntu

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "plan.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def snapshot(tmp_path: Path) -> Callable[[HostBuilder], str]:
    def write(builder: HostBuilder) -> str:
        path = str(tmp_path / f"host{len(os.listdir(tmp_path))}.tar.gz")
        builder.write_tar(path)
        return path

    return write


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """The machine that the commands change, as root."""
    made = bare_ubuntu()
    monkeypatch.setattr(changing, "this_machine", lambda: made)
    monkeypatch.setattr(changing, "host_of", lambda snapshot, user=None: made.look())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return made


def test_dry_run_of_a_recorded_host(snapshot: Callable[[HostBuilder], str], capsys: pytest.CaptureFixture[str]) -> None:
    path = snapshot(bare("ubuntu", "22.04", "gfx90a"))
    assert run(["install", "--rocm", "6.2", "--dry-run", "--snapshot", path]) == 0
    text = capsys.readouterr().out
    assert "Install ROCm 6.2.4" in text and "rocm/apt/6.2.4 jammy main" in text and "note: --rocm 6.2 is ROCm 6.2.4" in text
    assert run(["install", "--rocm", "6.2", "--dry-run", "--snapshot", path, "--format", "json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    jsonschema.validate(doc, SCHEMA)
    assert doc["status"] == "applicable" and doc["versions"]["rocm"] == "6.2.4" and doc["outcome"] is None
    assert run(["install", "--rocm", "6.2", "--snapshot", path, "--format", "script"]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/sh\n")


@pytest.mark.parametrize(
    ("data", "why"),
    [(None, "No such file"), (b"", "no certificate in PEM"), (b"-----BEGIN PRIVATE KEY-----\n", "no certificate")],
)
@pytest.mark.parametrize("more", [["--dry-run"], ["--yes"], ["--format", "script"]])
def test_certificates_that_cannot_be_read_are_wrong_usage(
    machine: FakeMachine, data: bytes | None, why: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, path = machine.picture(), tmp_path / "site.pem"
    if data is not None:
        path.write_bytes(data)
    assert run(["install", "--rocm", "6.2", "--mirror", "https://m.site/x", "--ca", str(path), *more]) == 2
    said = capsys.readouterr()
    assert f"--ca {path}: " in said.err and why in said.err and said.out == ""
    assert machine.picture() == before and machine.ran == []


def test_refused(snapshot: Callable[[HostBuilder], str], capsys: pytest.CaptureFixture[str]) -> None:
    path = snapshot(bare("ubuntu", "22.04", "gfx803"))
    for form in ("text", "json", "script"):
        assert run(["install", "--rocm", "6.2", "--dry-run", "--snapshot", path, "--format", form]) == 1
        out, err = capsys.readouterr()
        if form == "json":
            doc = json.loads(out)
            jsonschema.validate(doc, SCHEMA)
            assert doc["status"] == "refused" and doc["refusals"]
        else:
            assert "refused" in (out if form == "text" else err)
    assert run(["install", "--rocm", "6.2", "--dry-run", "--snapshot", path, "--allow-unsupported"]) == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["install", "--snapshot", "x"],
        ["uninstall", "--snapshot", "x"],
        ["fix", "--snapshot", "x"],
        ["install", "--driver", "best"],
        ["install", "--dry-run", "--snapshot", "/no/such"],
        ["install", "--dry-run", "--matrix", "/no/such"],
        ["fix", "--dry-run", "no.such-check"],
    ],
)
def test_wrong_usage(argv: list[str]) -> None:
    assert run(argv) == 2


def test_uninstall_and_fix_of_recorded_hosts(snapshot: Callable[[HostBuilder], str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["uninstall", "--dry-run", "--snapshot", snapshot(HostBuilder()), "--format", "json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    jsonschema.validate(doc, SCHEMA)
    assert doc["steps"][0]["kind"] == "remove-packages"
    path = snapshot(HostBuilder().fault_not_in_group())
    assert run(["fix", "--dry-run", "--snapshot", path, "--format", "json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    jsonschema.validate(doc, SCHEMA)
    assert doc["steps"][0]["kind"] == "add-user-to-groups" and doc["steps"][0]["data"]["user"] == "user1"
    assert run(["fix", "repo.*", "--dry-run", "--snapshot", path]) == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_nobody_but_root(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert run(["install", "--rocm", "6.2", "--yes"]) == 1
    assert "run it as root" in capsys.readouterr().err
    assert machine.operations == 0


def test_no_terminal_and_no_yes(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "--rocm", "6.2"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert machine.operations == 0


@pytest.mark.parametrize("place", ["none/lock", "folder", "null"])
def test_a_lock_that_cannot_be_written_is_told_first(
    place: str, machine: FakeMachine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    before = machine.picture()
    assert run(["install", "--pytorch", "none", "--yes", "--write-lock", str(tmp_path / place)]) == 2
    said = capsys.readouterr()
    assert "--write-lock" in said.err and said.out == "" and machine.ran == [] and machine.picture() == before
    assert Path("/dev/null").is_char_device()


def test_another_package_manager(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.lock_holder = lambda path: 4711 if path.endswith("lock-frontend") else None  # type: ignore[method-assign]
    machine.extra_files["/proc/4711/comm"] = b"unattended-upgr\n"
    assert run(["install", "--rocm", "6.2", "--yes"]) == 1
    assert "unattended-upgr (process 4711) holds /var/lib/dpkg/lock-frontend" in capsys.readouterr().err
    assert machine.operations == 0


def test_a_key_that_is_not_there_changes_nothing(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    before = machine.picture()
    assert run(["install", "--rocm", "6.2", "--yes", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    doc = json.loads(out)
    jsonschema.validate(doc, SCHEMA)
    assert doc["refusals"][0]["code"] == "rehearsal" and "404" in err
    assert machine.picture() == before


def test_a_package_that_cannot_be_configured_changes_nothing(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.packages["acme-agent"] = ("1.0", "half-configured")
    machine.fails = {"--configure": "dpkg: error processing package acme-agent (--configure):\n exit status 1\n"}
    before = machine.picture()
    assert run(["install", "--rocm", "6.2", "--yes", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    doc = json.loads(out)
    jsonschema.validate(doc, SCHEMA)
    (refusal,) = doc["refusals"]
    assert refusal["code"] == "unfinished" and refusal["reason"].startswith("acme-agent cannot be configured")
    assert "refused: acme-agent cannot be configured" in err and "apt-get remove acme-agent" in err
    assert machine.picture() == before


def test_undo_list_and_verify(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["undo"]) == 1 and run(["verify"]) == 1
    assert run(["undo", "--list"]) == 0
    assert "changed nothing" in capsys.readouterr().out
    plan = Plan("install", "Write a file", (WriteFile("a", "Write /opt/a", path="/opt/a", text="x\n"),))
    outcome = applying.apply(plan, machine, Quiet())
    assert run(["undo", "--list", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [(r["run_id"], r["state"]) for r in listed] == [(outcome.run_id, "done")]
    run(["verify", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["run"]["run_id"] == outcome.run_id and found["run"]["state"] == "done" and found["run"]["holds"]
    assert found["run"]["reboot_required"] is False and found["run"]["rebooted"] is False
    assert run(["undo", "--dry-run"]) == 0 and "/opt/a" in machine.files
    assert run(["undo"]) == 2, "no terminal, no --yes"
    capsys.readouterr()
    assert run(["undo", "--yes", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"]["status"] == "done"
    assert "/opt/a" not in machine.files


def test_a_run_that_was_cut_off(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    steps = tuple(WriteFile(name, f"Write {name}", path=f"/opt/{name}", text="x\n") for name in "abc")
    machine.kill_at = 12
    with pytest.raises(Killed):
        applying.apply(Plan("install", "x", steps), machine, Quiet())
    machine.restarted()
    assert run(["install", "--rocm", "6.2", "--yes"]) == 1
    assert "install --resume" in capsys.readouterr().err
    assert run(["install", "--resume"]) == 0
    assert {"/opt/a", "/opt/b", "/opt/c"} <= set(machine.files)
    capsys.readouterr()
    assert run(["install", "--resume"]) == 0, "whoever is told to resume may do it twice"
    said = capsys.readouterr().out
    assert "the newest run" in said and "is complete: x, 3 steps done" in said and "Reboot" not in said
    assert run(["undo", "--yes"]) == 0
    assert run(["install", "--resume"]) == 1
    assert "no run to resume: " in capsys.readouterr().err


@pytest.mark.parametrize(("value", "user"), [("", None), ("ada", "ada")])
def test_who_used_sudo(value: str, user: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible's modules set the variable to nothing, so that a node is judged for root."""
    monkeypatch.setenv("SUDO_USER", value)
    assert changing.who_called() == user


def test_sudo_that_names_nobody(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str | None] = []

    def host_of(snapshot: str | None, user: str | None = None) -> object:
        asked.append(user)
        return machine.look()

    monkeypatch.setattr(changing, "host_of", host_of)
    monkeypatch.setenv("SUDO_USER", "")
    assert run(["fix", "--dry-run"]) == 0 and run(["verify"]) == 1
    assert set(asked) <= {None} and "rocmdoctor has installed nothing here" in capsys.readouterr().err
