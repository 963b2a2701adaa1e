"""Steps that write and remove files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rocmdoctor.host import Host
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import kept
from rocmdoctor.plan.step import Argv, FileChange, Record, Run, Step

LIMIT = 1 << 20
ZYPPER_DONE = (0, 100, 101, 102, 103)
"""103: zypper itself was updated; 102: a reboot is due; 100, 101: there are updates."""


@dataclass(frozen=True, slots=True)
class WriteFile(Step):
    """A text file. An existing one is replaced whole, keeps its mode and owner, and is kept. `then`: a program that makes the new
    content count (ldconfig), run after writing and after undoing."""

    kind: ClassVar[str] = "write-file"

    path: str = ""
    text: str = ""
    mode: int = 0o644
    then: Argv = ()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (self.then,) if self.then else ()

    def files(self, host: Host) -> tuple[FileChange, ...]:
        return (file_change(host, self.path, self.text),)

    def is_done(self, host: Host) -> bool:
        return host.read(self.path, LIMIT) == self.text

    def prepare(self, run: Run) -> Record:
        return kept.keep(run, self.id, self.path)

    def apply(self, run: Run, before: Record) -> Record:
        kept.make_folders(run.target, self.path.rpartition("/")[0])
        was_file = before["type"] == "file"
        mode, owner = (int(before["mode"]), (int(before["uid"]), int(before["gid"]))) if was_file else (self.mode, None)
        run.target.write(self.path, self.text.encode(), mode, owner)
        if self.then:
            run_or_fail(run, self.then)
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        kept.put_back(run, before, self.text.encode(), self.id)
        if self.then:
            run.target.run(self.then, run.log)


@dataclass(frozen=True, slots=True)
class RemoveFile(Step):
    """A file that is in the way; it is kept."""

    kind: ClassVar[str] = "remove-file"

    path: str = ""
    then: Argv = ()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("rm", "-f", self.path), *((self.then,) if self.then else ()))

    def files(self, host: Host) -> tuple[FileChange, ...]:
        return (file_change(host, self.path, None),)

    def is_done(self, host: Host) -> bool:
        return host.node(self.path, follow=False) is None

    def prepare(self, run: Run) -> Record:
        return kept.keep(run, self.id, self.path)

    def apply(self, run: Run, before: Record) -> Record:
        run.target.remove(self.path)
        if self.then:
            run_or_fail(run, self.then)
        return {}

    def undo(self, run: Run, before: Record, after: Record | None) -> None:
        kept.put_back(run, before, None, self.id)
        if self.then:
            run.target.run(self.then, run.log)


def file_change(host: Host, path: str, after: str | None) -> FileChange:
    """What a diff shows; of a file that is no text only that it is one."""
    data = host.read_bytes(path, LIMIT)
    if data is None:
        return FileChange(path, None, after)
    try:
        before = data.decode()
    except UnicodeDecodeError:
        before = "\0"
    return FileChange(path, "", after, "a binary file") if "\0" in before else FileChange(path, before, after)


def run_or_fail(run: Run, argv: Argv, timeout: float | None = None) -> str:
    """Run a program; its output. Raises ChangeFailed with its last telling line when it fails. zypper's statuses from 100 on say
    that it has done it, and what is due now (zypper(8))."""
    answer = run.target.run(argv, run.log, timeout=timeout, heard=run.heard)
    if not answer.found:
        raise ChangeFailed(f"{argv[0]} is not installed")
    if answer.timed_out:
        raise ChangeFailed(f"{name_of(argv)} took too long and was stopped")
    if answer.rc != 0 and not (argv[0] == "zypper" and answer.rc in ZYPPER_DONE):
        raise ChangeFailed(f"{name_of(argv)} ended with status {answer.rc}: {last_words(answer.stdout, answer.stderr)}")
    return answer.stdout


_VERBS = frozenset({"install", "remove", "purge", "update", "refresh", "makecache", "downgrade", "autoinstall", "pip", "venv"})
_TELLING = ("E:", "Error", "error:", "ERROR", "Problem:", "dpkg: error", "No provider of", "nothing provides")
_TELLING_INSIDE = ("Signature verification failed", "is not signed", "GPG check FAILED", "[error]", "No space left")


def name_of(argv: Argv) -> str:
    """A program with what it was to do: "dnf install", "python -m pip"."""
    words = argv
    while len(words) > 1 and (words[0] == "env" or "=" in words[0]):
        words = words[1:]
    verb = next((word for word in words[1:] if word in _VERBS), "")
    return f"{words[0]} {verb}".strip()


def last_words(*streams: str) -> str:
    """The line of a program's output that says most: an error's, else the last one."""
    lines = [line.strip() for stream in streams for line in stream.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith(_TELLING) or any(words in line for words in _TELLING_INSIDE):
            # dpkg names the package, and says in the next line what is the matter with it
            return " ".join(lines[number : number + 2] if line.endswith(":") else [line])[:300]
    return (lines or ["it said nothing"])[-1][:300]
