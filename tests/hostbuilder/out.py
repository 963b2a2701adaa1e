"""Where renderers write to: files, nodes and commands of the snapshot being built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.hostbuilder.spec import CommandDict, NodeDict

EXECUTABLE: NodeDict = {"type": "file", "mode": "0755", "uid": 0, "gid": 0}


class Out:
    """Collects the parts. Later entries replace earlier ones."""

    __slots__ = ("commands", "files", "nodes")

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.nodes: dict[str, NodeDict] = {}
        self.commands: dict[tuple[str, ...], CommandDict] = {}

    def file(self, path: str, text: str | bytes = b"") -> None:
        self.files[path] = text.encode() if isinstance(text, str) else text

    def tree(self, folder: str, values: Mapping[str, object]) -> None:
        """Small one-line files, as in sysfs."""
        files = self.files
        for name, value in values.items():
            files[f"{folder}/{name}"] = b"%s\n" % str(value).encode()

    def binary(self, path: str) -> None:
        """A placeholder: that the binary exists counts, its content is not kept (snapshot format)."""
        self.files[path] = b""

    def binaries(self, folder: str, names: Iterable[str]) -> None:
        for name in names:
            self.files[f"{folder}/{name}"] = b""

    def program(self, path: str) -> None:
        self.files[path] = b""
        self.nodes[path] = EXECUTABLE

    def link(self, path: str, target: str) -> None:
        self.nodes[path] = {"type": "link", "target": target}

    def dir(self, path: str) -> None:
        self.nodes[path] = {"type": "dir"}

    def command(
        self,
        argv: Iterable[str],
        program: str | None,
        stdout: str = "",
        *,
        rc: int = 0,
        stderr: str = "",
        timed_out: bool = False,
    ) -> None:
        key = tuple(argv)
        entry: dict[str, Any] = {
            "argv": list(key), "program": program, "rc": rc, "stdout": stdout, "stderr": stderr, "timed_out": timed_out,
        }  # fmt: skip
        self.commands[key] = entry
