"""A control node for tests: real ansible-core with the collection as it is built and installed, and hosts that are made up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parents[2]
COLLECTION = TREE / "install_scripts/ansible"
PLUGINS = Path(__file__).with_name("plugins")
Done = subprocess.CompletedProcess[str]


def program(name: str) -> Path | None:
    """A program of Ansible: from ROCMDOCTOR_ANSIBLE (a folder of programs), the environment of these tests, or PATH."""
    places = (os.environ.get("ROCMDOCTOR_ANSIBLE"), sysconfig.get_path("scripts"), os.environ.get("PATH"))
    found = next((path for place in places if place and (path := shutil.which(name, path=place))), None)
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class Event:
    """A task that ended on a host. `status`: ok | failed | skipped | unreachable."""

    host: str
    task: str
    status: str
    result: dict[str, Any]
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a playbook."""

    rc: int
    out: str
    events: tuple[Event, ...]

    def of(self, host: str, task: str = "") -> Event:
        """The last result on a host, or that of the task with these words in its name."""
        found = [event for event in self.events if event.host == host and task in event.task]
        assert found, f"no task {task!r} on {host}:\n{self.out[-4000:]}"
        return found[-1]

    def failed(self, host: str) -> str:
        """The message of the task that has failed on a host; "" when none has."""
        return next(
            (e.result.get("msg", "") for e in self.events if e.host == host and e.status == "failed" and not e.ignored), ""
        )

    def changed(self, host: str) -> list[str]:
        return [event.task for event in self.events if event.host == host and event.result.get("changed")]

    def ok(self) -> Played:
        said = [
            f"{e.host}: {e.task}: {e.result.get('msg')}"
            for e in self.events
            if e.status in ("failed", "unreachable") and not e.ignored
        ]
        assert self.rc == 0, "\n".join([*said, self.out[-3000:]])
        return self


class ControlNode:
    """`folder`: its own, for the collection and what Ansible writes. `connections`: a folder of connection plugins."""

    def __init__(self, folder: Path, connections: Path | None = None) -> None:
        self.folder = folder
        self.connections = connections or folder
        self.collections = folder / "collections"

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "ROCMDOCTOR_TEST", "SUDO_"))}
        return kept | {
            "HOME": str(self.folder),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            "ANSIBLE_CALLBACK_PLUGINS": str(PLUGINS),
            "ANSIBLE_CONNECTION_PLUGINS": str(self.connections),
            "ANSIBLE_CALLBACKS_ENABLED": "record",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_RETRY_FILES_ENABLED": "false",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, name: str, *argv: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Done:
        """A program of Ansible, by name."""
        found = program(name)
        assert found is not None, name
        own = self.environment()
        own["PATH"] = f"{found.parent}:{own['PATH']}"
        return subprocess.run(
            [str(found), *map(str, argv)],
            env=own | dict(env or {}),
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=1200,
        )

    def install_collection(self) -> None:
        """Built and installed as users do it."""
        built = self.run("ansible-galaxy", "collection", "build", COLLECTION, "--output-path", self.folder)
        assert built.returncode == 0, built.stderr
        (archive,) = self.folder.glob("rocmdoctor-rocm-*.tar.gz")
        done = self.run("ansible-galaxy", "collection", "install", archive, "-p", self.collections, "--offline")
        assert done.returncode == 0, done.stderr

    @property
    def installed(self) -> Path:
        return self.collections / "ansible_collections/rocmdoctor/rocm"

    def play(
        self,
        hosts: Mapping[str, Mapping[str, Any]],
        *,
        tasks: Sequence[Mapping[str, Any]] = (),
        roles: Sequence[Any] = (),
        options: Sequence[str] = (),
        facts: bool = False,
        **more: Any,
    ) -> Played:
        """Run a playbook over hosts, given as their variables; they are local unless these say otherwise."""
        here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"all": {"hosts": {name: here | dict(variables) for name, variables in hosts.items()}}}
        book = [{"name": "Play", "hosts": "all", "gather_facts": facts, "tasks": list(tasks), "roles": list(roles), **more}]
        for name, content in (("hosts.yml", inventory), ("play.yml", book)):
            (self.folder / name).write_text(json.dumps(content))  # JSON is YAML
        record = self.folder / "record"
        record.write_text("")
        argv: list[str | Path] = ["-i", self.folder / "hosts.yml", self.folder / "play.yml", *options]
        done = self.run("ansible-playbook", *argv, env={"ROCMDOCTOR_TEST_RECORD": str(record)})
        events = tuple(Event(**json.loads(line)) for line in record.read_text().splitlines())
        return Played(done.returncode, done.stdout + done.stderr, events)
