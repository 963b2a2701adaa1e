"""A connection of Ansible into an end-to-end root: programs are run in its namespaces, files go through them."""

from __future__ import annotations

import subprocess
from typing import Any

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: e2e_root
short_description: Runs programs in an end-to-end root
description: For tests.
options:
  enter:
    description: The words in front of a command that run it in the root.
    type: list
    elements: str
    required: true
    vars:
      - name: e2e_enter
"""


class Connection(ConnectionBase):  # type: ignore[misc]
    transport = "e2e_root"
    has_pipelining = True
    has_tty = False

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def _run(self, argv: list[str], data: bytes | None) -> tuple[int, bytes, bytes]:
        done = subprocess.run([*self.get_option("enter"), *argv], input=data if data is not None else b"", capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return self._run(["/bin/sh", "-c", cmd], in_data)

    def put_file(self, in_path: str, out_path: str) -> Any:
        super().put_file(in_path, out_path)
        with open(in_path, "rb") as file:
            rc, _, err = self._run(["/bin/sh", "-c", 'cat > "$1"', "sh", out_path], file.read())
        assert rc == 0, err

    def fetch_file(self, in_path: str, out_path: str) -> Any:
        super().fetch_file(in_path, out_path)
        rc, out, err = self._run(["/bin/cat", in_path], None)
        assert rc == 0, err
        with open(out_path, "wb") as file:
            file.write(out)

    def close(self) -> None:
        self._connected = False
