"""Python environments and the wheels in them. An environment of its own by default: PEP 668 is respected, the system's Python is
left alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.facts import pythons
from rocmdoctor.facts.pythons import PythonEnv
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import kept
from rocmdoctor.plan.files import run_or_fail
from rocmdoctor.plan.step import Argv, Record, Run, Step


@dataclass(frozen=True, slots=True)
class PythonVenv(Step):
    """A virtual environment at `path`. `uv`: its program, where uv makes it."""

    kind: ClassVar[str] = "python-venv"

    path: str = ""
    python: str = ""
    uv: str = ""

    @property
    def commands(self) -> tuple[Argv, ...]:
        if self.uv:
            return ((self.uv, "venv", "--python", self.python, self.path),)
        return ((self.python, "-m", "venv", self.path),)

    def is_done(self, host: Host) -> bool:
        return host.node(f"{self.path}/pyvenv.cfg") is not None and host.resolve(f"{self.path}/bin/python") is not None

    def prepare(self, run: Run) -> Record:
        there = run.target.state(self.path)
        if there is not None and (there.type != "dir" or run.target.names(self.path)) and not self.is_done(run.target.look()):
            raise ChangeFailed(f"{self.path} exists and is no virtual environment")
        return {"there": there is not None, "folders": kept.missing_folders(run.target, self.path.rpartition("/")[0])}

    def apply(self, run: Run, before: Record) -> Record:
        if not before["there"] and run.target.state(self.path) is not None:
            run.target.remove_tree(self.path)  # of a run that was killed
        kept.make_folders(run.target, self.path.rpartition("/")[0])
        run_or_fail(run, self.commands[0])
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        if not before["there"]:
            run.target.remove_tree(self.path)
        for folder in before["folders"]:
            run.target.remove_folder(str(folder))


@dataclass(frozen=True, slots=True)
class PipInstall(Step):
    """Wheels from one index into one environment. `gfx`: targets that the torch must have afterwards."""

    kind: ClassVar[str] = "pip-install"

    python: str = ""
    requirements: tuple[str, ...] = ()
    index: str = ""
    gfx: tuple[str, ...] = ()
    uv: str = ""
    ca: str = ""
    hashes: tuple[str, ...] = ()
    """Lines of a requirements file with --hash, from a lock; then `requirements` only say what is meant."""
    owner: str = ""
    """uid:gid of an environment that is not root's. Its interpreter is its owner's to change, so root does not start it, and what
    it installs is the owner's again."""

    @property
    def _as_owner(self) -> Argv:
        if not self.owner:
            return ()
        uid, _, gid = self.owner.partition(":")
        return ("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "env", "PIP_NO_CACHE_DIR=1", "UV_NO_CACHE=1")

    @property
    def commands(self) -> tuple[Argv, ...]:
        where = ("--index-url", self.index) if self.index else ()
        what = ("--require-hashes", "--no-deps", "-r", "REQUIREMENTS") if self.hashes else self.requirements
        if self.uv:
            return ((*self._as_owner, *uv_program(self.uv, self.ca), "pip", "install", "--python", self.python, *where, *what),)
        certificate = ("--cert", self.ca) if self.ca else ()
        return ((*self._as_owner, self.python, "-m", "pip", "install", *where, *certificate, *what),)

    def is_done(self, host: Host) -> bool:
        if host.resolve(self.python) is None:
            return False
        env = self._environment(host)
        if env.torch is not None and env.torch.build != "rocm":
            return False
        return not missing(env, self.requirements)

    def _environment(self, host: Host) -> PythonEnv:
        return pythons.gather(host, self.python)[0]

    def prepare(self, run: Run) -> Record:
        host = run.target.look()
        if host.resolve(self.python) is None:
            return {"distributions": {}}
        return {"distributions": self._versions(host)}

    def _versions(self, host: Host) -> dict[str, str]:
        try:
            return {d.name: d.version for d in reversed(self._environment(host).distributions)}
        except UnknownFact as unknown:
            raise ChangeFailed(f"the packages of {self.python} cannot be told: {unknown}") from None

    def apply(self, run: Run, before: Record) -> Record:
        argv = self.commands[0]
        place = f"/run/rocmdoctor-{self.id}-requirements.txt" if self.owner else f"{run.kept}/{self.id}-requirements.txt"
        if self.hashes:
            kept.make_folders(run.target, run.kept, 0o700)
            run.target.write(place, "\n".join((*self.hashes, "")).encode(), 0o644 if self.owner else 0o600)
        run_or_fail(run, tuple(place if word == "REQUIREMENTS" else word for word in argv))
        host = run.target.look()
        env = self._environment(host)
        torch = env.torch
        if torch is not None:
            if torch.build != "rocm":
                raise ChangeFailed(f"torch {torch.version} in {self.python} is a {torch.build} build, not one for ROCm")
            named = torch.library_gfx
            lacking = [gfx for gfx in self.gfx if named and gfx not in named and torch.covers(gfx) is not True]
            if lacking:
                run.say(f"torch {torch.version} names no {', '.join(lacking)} in its libraries; `check --deep` tries it")
        after = self._versions(host)
        old: dict[str, str] = dict(before["distributions"])
        return _changes(old, after)

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        host = run.target.look()
        if host.resolve(self.python) is None:
            return
        current, old = self._versions(host), dict(before["distributions"])
        if after is None:
            after = _changes(old, current)
        names = [name for name in after["installed"] if name in current]
        if names:
            uv = (self.uv, "pip", "uninstall", "--python", self.python)
            run_or_fail(run, (*self._as_owner, *(uv if self.uv else (self.python, "-m", "pip", "uninstall", "-y")), *names))
        if after["replaced"]:
            wanted = [f"{name}=={version}" for name, version in sorted(after["replaced"].items())]
            pip = (*uv_program(self.uv, ""), "pip", "install", "--python", self.python) if self.uv else ()
            install = (*self._as_owner, *(pip or (self.python, "-m", "pip", "install")), "--no-deps", *wanted)
            answer = run.target.run(install, run.log)
            if answer.rc != 0:
                run.say(f"these came from another index and must be put back by hand: {' '.join(wanted)}")


def uv_program(uv: str, ca: str) -> Argv:
    """uv as it trusts what everything else here trusts: the certificate authority that was named, else the system's. By itself it
    has a list of its own, and no option for a file."""
    return ("env", f"SSL_CERT_FILE={ca}" if ca else "UV_NATIVE_TLS=true", uv)


def _changes(old: dict[str, str], new: dict[str, str]) -> Record:
    return {
        "installed": sorted(set(new) - set(old)),
        "replaced": {name: version for name, version in old.items() if new.get(name, version) != version},
    }


def missing(env: PythonEnv, requirements: Iterable[str]) -> list[str]:
    """The requirements that an environment does not fulfil. A local version counts only where the requirement has one."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion, Version

    lacking = []
    for text in requirements:
        try:
            wanted = Requirement(text)
            found = env.get(wanted.name)
            if found is None or not wanted.specifier.contains(Version(found.version), prereleases=True):
                lacking.append(text)
        except (InvalidRequirement, InvalidVersion):
            lacking.append(text)
    return lacking
