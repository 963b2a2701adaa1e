"""The core of the fluent builder: a frozen Spec, changes by path, command and package, and the ways out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tests.hostbuilder.package_db import Package
from tests.hostbuilder.render import render
from tests.hostbuilder.resolved import MIB, Resolved
from tests.hostbuilder.spec import Op, Rocm, Snapshot, Spec

if TYPE_CHECKING:
    from rocmdoctor.host.recorded import RecordedHost

B = TypeVar("B", bound="Core")


class Core:
    """Every method returns a new builder, so a fault and its healthy twin share a base."""

    __slots__ = ("spec",)

    def __init__(self, spec: Spec | None = None) -> None:
        self.spec = spec or Spec(rocm=(Rocm("6.2.0", "/opt/rocm-6.2.0", "amd-package"),))

    def _with(self: B, **changes: Any) -> B:
        return type(self)(replace(self.spec, **changes))

    def _op(self: B, kind: str, first: Any, second: Any = None) -> B:
        return self._with(ops=(*self.spec.ops, Op(kind, first, second)))

    # packages, files, commands ---------------------------------------------------------------------------------

    def package(
        self: B,
        name: str,
        version: str,
        *,
        state: str = "installed",
        arch: str = "",
        depends: str = "",
        vendor: str = "",
        **more: Any,
    ) -> B:
        """One package of the system's database; replaces one of that name. `state` is dpkg's third word (half-configured ...)."""
        return self._op("package", name, Package(name, version, arch, state, vendor, depends, **more))

    def no_package(self: B, name: str) -> B:
        return self._op("package", name, None)

    def repo(self: B, name: str, text: str) -> B:
        """A source file by its base name: .list and .sources for apt, .repo for yum and zypper."""
        family = self.spec.distro.family
        folder = "/etc/apt/sources.list.d" if family == "deb" else "/etc/zypp/repos.d" if family == "suse" else "/etc/yum.repos.d"
        return self.file(f"{folder}/{name}", text)

    def pin(self: B, present: bool = True) -> B:
        """Whether apt's pin for AMD's origin is there."""
        return self._with(pin=present)

    def file(self: B, path: str, text: str | bytes = "") -> B:
        return self._op("file", path, text)

    def remove(self: B, *paths: str) -> B:
        """Files, nodes, and folders with all below them."""
        made = self
        for path in paths:
            made = made._op("remove", path)
        return made

    def node(self: B, path: str, **values: Any) -> B:
        """Metadata as in nodes.json: type, mode ("0660"), uid, gid, open, target, bytes; joins what is there."""
        return self._op("node", path, values)

    def link(self: B, path: str, target: str) -> B:
        return self.node(path, type="link", target=target)

    def command(
        self: B,
        argv: Sequence[str],
        *,
        stdout: str = "",
        stderr: str = "",
        rc: int = 0,
        program: str | None = None,
        timed_out: bool = False,
    ) -> B:
        """What a command said; replaces an earlier answer to the same argv."""
        values = {
            "program": program or f"/usr/bin/{argv[0]}",
            "rc": rc,
            "stdout": stdout,
            "stderr": stderr,
            "timed_out": timed_out,
        }
        return self._op("command", tuple(argv), values)

    def no_command(self: B, name: str) -> B:
        """A program that is not installed."""
        return self._op("no-command", name)

    def rocminfo(self: B, stdout: str = "", *, stderr: str = "", rc: int = 0, timed_out: bool = False) -> B:
        """rocminfo says this, whatever the host is like."""
        return self._with(rocminfo=(stdout, stderr, rc, timed_out))

    def unknown(self: B, *patterns: str) -> B:
        """What could not be captured: path patterns, "cmd:dmesg"."""
        return self._with(unknown=(*self.spec.unknown, *patterns))

    def filesystem(self: B, path: str, size: int, free: int) -> B:
        """Size and free space in MiB."""
        return self._op("filesystem", path, {"size": size * MIB, "free": free * MIB})

    def meta(self: B, **values: Any) -> B:
        """Keys of snapshot.json as they are: captured=[...], redacted=False."""
        made = self
        for name, value in values.items():
            made = made._op("meta", name, value)
        return made

    # the end ---------------------------------------------------------------------------------------------------

    @property
    def resolved(self) -> Resolved:
        """What follows from the choices so far: addresses, node numbers, driver kind, torch ..."""
        return Resolved(self.spec)

    def snapshot(self) -> Snapshot:
        """The four parts (meta, files, nodes, commands), fresh at every call."""
        return render(self.spec)

    def build(self) -> RecordedHost:
        """The host, in memory."""
        from rocmdoctor.host.recorded import RecordedHost

        parts = self.snapshot()
        return RecordedHost(parts.meta, parts.files, parts.nodes, parts.commands)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """The same host as a snapshot folder (format 1)."""
        from tests.hostbuilder.snapshot_writer import write_folder

        write_folder(self.snapshot(), folder)

    def write_tar(self, path: str | os.PathLike[str]) -> None:
        """The same host as a .tar.gz."""
        from tests.hostbuilder.snapshot_writer import write_tar

        write_tar(self.snapshot(), path)
