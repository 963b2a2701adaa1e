"""A stand-in for the rocmdoctor of a host: a program that writes down how it was called, and answers from a table."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PROGRAM = """\
#!{python}
import json, os, pathlib, sys
here = pathlib.Path({folder!r})
with open(here / "asked", "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("SUDO_USER")]) + "\\n")
for words, rc, out, err in json.loads((here / "answers").read_text()):
    if all(word in sys.argv[1:] for word in words):
        sys.stdout.write(out)
        sys.stderr.write(err)
        sys.exit(rc)
sys.stderr.write("rocmdoctor: nothing is known of %s\\n" % " ".join(sys.argv[1:]))
sys.exit(2)
"""


@dataclass
class StandIn:
    """`path` is the program. An answer counts for a command line in which all of its words are; later ones come first."""

    folder: Path
    version: str = "0.1.0"
    answers: list[tuple[tuple[str, ...], int, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.path.write_text(_PROGRAM.format(python=sys.executable, folder=str(self.folder)))
        self.path.chmod(0o755)
        self.answer("--version", out=f"rocmdoctor {self.version}\n")

    @property
    def path(self) -> Path:
        return self.folder / "rocmdoctor"

    def answer(self, *words: str, out: str | dict[str, Any] = "", rc: int = 0, err: str = "") -> StandIn:
        text = out if isinstance(out, str) else json.dumps({"schema_version": 1, **out})
        self.answers.insert(0, (words, rc, text, err))
        (self.folder / "answers").write_text(json.dumps(self.answers))
        return self

    @property
    def asked(self) -> list[list[str]]:
        """Command lines in order, without those that ask for the version."""
        return [words for words, _ in self._calls() if words != ["--version"]]

    @property
    def sudo_users(self) -> set[str | None]:
        return {user for _, user in self._calls()}

    def _calls(self) -> list[tuple[list[str], str | None]]:
        file = self.folder / "asked"
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def report(verdict: str = "healthy", failing: tuple[str, ...] = (), **host: Any) -> dict[str, Any]:
    """A report with failures, given as ids."""
    results: list[dict[str, Any]] = [
        {"id": name, "status": "fail", "title": f"{name} is wrong", "detail": "why", "fixes": [], "because_of": None}
        for name in failing
    ]
    whole = {"gpus": [{"gfx": "gfx90a"}, {"gfx": "gfx90a"}], "rocm": [], **host}
    return {"host": whole, "results": results, "summary": {"verdict": verdict, "root_causes": list(failing)}}


def step(name: str, *, done: bool | None = False, kind: str = "write-file", **more: Any) -> dict[str, Any]:
    found = {
        "id": name,
        "kind": kind,
        "title": f"Do {name}",
        "reason": "",
        "needs": ["root"],
        "done": done,
        "commands": [],
        "files": [],
    }
    return found | more


def plan(*steps: dict[str, Any], refusals: tuple[tuple[str, str, str], ...] = (), **outcome: Any) -> dict[str, Any]:
    """A plan; with `outcome`, one that was applied."""
    open_ = [s for s in steps if s["done"] is not True]
    doing = any(s["kind"] != "reboot-notice" for s in open_)
    names = ("code", "reason", "help")
    return {
        "command": "install",
        "status": "refused" if refusals else "applicable" if doing else "nothing-to-do",
        "versions": {"rocm": "6.2.4", "driver": None, "torch": None},
        "needs": sorted({need for s in open_ for need in s["needs"]}),
        "steps": list(steps),
        "notices": [],
        "refusals": [dict(zip(names, refusal, strict=True)) for refusal in refusals],
        "outcome": {"run_id": "run-1", "log": "/var/log/run-1", "failed_step": None, "message": "", **outcome}
        if outcome
        else None,
    }
