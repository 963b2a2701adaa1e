"""A private temporary folder for a test that has to write something: what a compiler makes, and leaves when it is killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

from rocmdoctor.host import Command, UnknownFact, User
from rocmdoctor.host.commands import Commands, unwinding


class ScratchFolder:
    """Implements `rocmdoctor.host.Scratch`; the folder exists within the block of its `with`."""

    def __init__(self, commands: Commands, files: Mapping[str, str], user: User | None = None) -> None:
        """`files`: base name to text. `user`: the asked user, when that is not this process's; then the folder is theirs.

        Raises UnknownFact when this process may not act as that user.
        """
        if user is not None and os.geteuid() != 0:
            raise UnknownFact(f"programs would run as another user than {user.name}")
        self._commands = commands
        self._files = dict(files)
        self._user = user
        self.folder = ""
        self._block = contextlib.ExitStack()

    def __enter__(self) -> ScratchFolder:
        with contextlib.ExitStack() as block:
            block.enter_context(unwinding())
            block.callback(self._remove)
            self._make()
            self._block = block.pop_all()
        return self

    def _make(self) -> None:
        for place in _places():
            try:
                self.folder = tempfile.mkdtemp(prefix="rocmdoctor-", dir=place)
            except OSError:
                continue
            try:
                self._fill()
            except OSError:
                self._remove()
                continue
            return
        raise UnknownFact("there is no temporary folder to which one can write and from which a program may run")

    def _fill(self) -> None:
        for name, text in self._files.items():
            with open(f"{self.folder}/{name}", "x", encoding="utf-8") as file:
                file.write(text)
        if self._user is not None:
            for path in (*(f"{self.folder}/{name}" for name in self._files), self.folder):
                os.chown(path, self._user.uid, self._user.gid, follow_symlinks=False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._block.__exit__(kind, error, trace)

    def _remove(self) -> None:
        """Whatever was killed is gone by now; a child that has left its session may still write, hence more than one try."""
        for _ in range(3 if self.folder else 0):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.lexists(self.folder):
                return

    def run(self, argv: Sequence[str], timeout: float = 10.0) -> Command:
        return self._commands.run_in(self.folder, argv, timeout, self._user)


def _places() -> Iterator[str]:
    """Folders for temporary files. Not a /tmp mounted noexec, as hardening guides ask for: nothing would run there."""
    named = (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm")
    for place in dict.fromkeys(named):
        if place.startswith("/"):
            with contextlib.suppress(OSError, ValueError):
                if not os.statvfs(place).f_flag & os.ST_NOEXEC:
                    yield place
