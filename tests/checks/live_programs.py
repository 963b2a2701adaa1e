"""A built host whose programs really run: paths of the recorded host lead to stand-ins on this machine."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocmdoctor.host import Command, Scratch
from rocmdoctor.host.commands import Commands
from rocmdoctor.host.recorded import RecordedHost
from rocmdoctor.host.scratch import ScratchFolder


class LivePrograms:
    """A recorded host in all but `programs` (path there to stand-in here), which `run` and `scratch` start for real."""

    def __init__(self, recorded: RecordedHost, programs: Mapping[str, Path]) -> None:
        self.recorded = recorded
        self.programs = programs
        self._commands = Commands({"PATH": os.environ["PATH"]})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recorded, name)

    def _here(self, argv: Sequence[str]) -> list[str]:
        return [str(self.programs.get(argv[0], argv[0])), *argv[1:]]

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        if argv[0] not in self.programs:
            return self.recorded.run(argv, timeout)
        done = self._commands.run(self._here(argv), timeout)
        return Command(tuple(argv), done.program, done.rc, done.stdout, done.stderr, done.timed_out)

    @contextmanager
    def scratch(self, files: Mapping[str, str]) -> Iterator[Scratch]:
        with ScratchFolder(self._commands, files) as folder:
            yield _Scratch(self, folder)


class _Scratch:
    def __init__(self, host: LivePrograms, scratch: Scratch) -> None:
        self.host, self.scratch = host, scratch

    @property
    def folder(self) -> str:
        return self.scratch.folder

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        return self.scratch.run(self.host._here(argv), timeout)


def script(folder: Path, name: str, text: str) -> Path:
    """A program for /bin/sh, unless the text brings its own first line."""
    path = folder / name
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{textwrap.dedent(text)}\n")
    path.chmod(0o755)
    return path


_TORCH = """
import builtins, os, signal, sys, time
BEHAVIOUR = {behaviour}

def behave(where):
    what = BEHAVIOUR.get(where)
    if what in ("hang", "segfault", "leave", "kill"):
        with open({pids!r}, "a") as file:
            file.write(str(os.getpid()) + "\\n")
    if what == "hang":
        print("waiting for the GPU", file=sys.stderr, flush=True)
        time.sleep(60)
    elif what == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "leave":
        os._exit(3)
    elif what == "flood":
        for _ in range(1 << 10):
            os.write(1, b"x" * (1 << 20))
    elif isinstance(what, str) and what.startswith("abort "):
        os.write(2, what[6:].encode() + b"\\n")
        os.abort()
    elif isinstance(what, str):
        kind, _, text = what.partition(": ")
        raise getattr(builtins, kind)(text)

behave("import")
__version__ = "2.5.1+rocm6.2"
class version:
    hip = "6.2.41133"
float32, float16 = "float32", "float16"

class Generator:
    def manual_seed(self, seed):
        return self

class Tensor:
    def __init__(self, value, device="cpu", dtype="float32"):
        self.value, self.device, self.dtype = value, device, dtype
    def to(self, where):
        if where.startswith("cuda:"):
            behave("compute " + where[5:])
            return Tensor(self.value, where, self.dtype)
        return Tensor(self.value, self.device, where)
    def __matmul__(self, other):
        wrong = BEHAVIOUR.get("wrong " + self.device[5:] + " " + self.dtype)
        return Tensor(self.value * other.value * (1.0 if wrong is None else wrong), self.device)
    def cpu(self):
        return Tensor(self.value)
    def double(self):
        return self
    def abs(self):
        return Tensor(abs(self.value))
    def max(self):
        return self
    def item(self):
        return self.value
    def __sub__(self, other):
        return Tensor(self.value - other.value)
    def __truediv__(self, other):
        return Tensor(self.value / other.value)

def randn(*shape, generator):
    return Tensor(2.0)

class cuda:
    @staticmethod
    def is_available():
        behave("available")
        return BEHAVIOUR.get("gpus", 1) > 0
    @staticmethod
    def device_count():
        return BEHAVIOUR.get("gpus", 1)
    @staticmethod
    def init():
        raise RuntimeError("No HIP GPUs are available")
    @staticmethod
    def get_device_properties(index):
        behave("device %d" % index)
        class found:
            name = "Radeon \\x1b[31mRX 7900 XTX"
            gcnArchName = "gfx1100"
        return found

import atexit
atexit.register(behave, "end")
"""


def python_with_torch(folder: Path, **behaviour: object) -> Path:
    """An interpreter of which the torch behaves as told: {place: what}, with _ for the blank in a place ("compute_0").

    Places: import, available, device N, compute N, end. What: hang, segfault, kill, leave, flood, "abort TEXT", or an exception
    ("RuntimeError: text"). Further: gpus (number), wrong_N_DTYPE (factor of the right result).
    """
    package = folder / "lib" / "torch"
    package.mkdir(parents=True)
    places = {name.replace("_", " "): what for name, what in behaviour.items()}
    (package / "__init__.py").write_text(
        _TORCH.format(behaviour=repr(places).replace("nan", "float('nan')"), pids=str(folder / "pids"))
    )
    return script(folder, "python", f'PYTHONPATH="{folder}/lib" exec "{sys.executable}" "$@"')


def survivors(folder: Path) -> list[int]:
    """Processes of a stand-in that still live."""
    found = []
    for pid in (folder / "pids").read_text().split():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(int(pid))
    return found
