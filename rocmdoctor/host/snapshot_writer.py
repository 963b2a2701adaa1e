"""Writes a snapshot: a folder or a .tar.gz, complete or not at all."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rocmdoctor.host import HostError, Node, UnknownFact
from rocmdoctor.host.accounts import group_database
from rocmdoctor.host.binaries import is_binary_place
from rocmdoctor.host.capture_patterns import Patterns, glob_escape, is_wild
from rocmdoctor.host.commands import unwinding
from rocmdoctor.host.snapshot_shape import DEFAULT_MODES, FORMAT, VERSION, circles
from rocmdoctor.host.snapshot_tree import reason

if TYPE_CHECKING:
    from rocmdoctor.host.recorder import Recorder
    from rocmdoctor.host.redaction import Redactor


class Document(NamedTuple):
    """The four parts of a snapshot."""

    meta: Mapping[str, Any]
    files: Mapping[str, bytes]
    nodes: Mapping[str, Mapping[str, Any]]
    commands: Sequence[Mapping[str, Any]]

    def parts(self) -> dict[str, bytes]:
        """The JSON files by name."""
        return {
            "snapshot.json": _json(self.meta),
            "nodes.json": _json(dict(sorted(self.nodes.items()))),
            "commands.json": _json(self.commands),
        }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode("ascii")


def document(recorder: "Recorder", redact: bool) -> Document:
    """What the recorder kept, as a snapshot."""
    from datetime import datetime, timezone

    import rocmdoctor

    redactor = _redactor(recorder) if redact else None

    def path(text: str) -> str:
        return redactor.path(text) if redactor else text

    files = {path(p): redactor.content(p, d) if redactor else d for p, d in _files(recorder).items()}
    for looped in circles({p: n.target for p, n in recorder.nodes.items() if n.target is not None}):
        # Written down, it would make the snapshot unsound; it is unknown there as it is on the host.
        del recorder.nodes[looped]
        recorder.unknown[glob_escape(looped)] = None
    nodes = {path(p): _node(recorder, p, n, path) for p, n in _nodes(recorder).items()}
    commands = []
    for command in recorder.commands.values():
        if not command.found:
            continue
        kept = redactor.command(command) if redactor else command
        commands.append(
            {
                "argv": list(kept.argv),
                "program": kept.program,
                "rc": kept.rc,
                "stdout": kept.stdout,
                "stderr": kept.stderr,
                "timed_out": kept.timed_out,
            }
        )
    user = recorder.user
    now = datetime.now(timezone.utc)
    # The day is the host's own, as checks saw it.
    created = now.strftime("%Y-%m-%dT%H:%M:%SZ") if now.date().isoformat() == recorder.date else f"{recorder.date}T12:00:00Z"
    try:
        name = recorder.uname
        uname = {"sysname": name.sysname, "release": name.release, "version": name.version, "machine": name.machine}
    except UnknownFact as exc:
        uname = None
        recorder.reasons["uname"] = str(exc)
    named = {c.argv[0] for c in recorder.commands.values()}
    unknown = [p for p in recorder.unknown if not (p.startswith("cmd:") and p[4:] in named)]
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": created,
        "tool": f"rocmdoctor {getattr(rocmdoctor, '__version__', '0')}",
        "redacted": redact,
        "uname": uname,
        "user": {
            "name": redactor.user_name(user.name) if redactor else user.name,
            "uid": user.uid,
            "gid": user.gid,
            "groups": sorted(user.groups),
            "database_groups": sorted(user.database_groups),
            "sudo_user": redactor.user_name(user.sudo_user) if redactor and user.sudo_user else user.sudo_user,
        },
        "groups": {redactor.group_name(g) if redactor else g: gid for g, gid in sorted(recorder.groups.items())},
        "env": redactor.environment(recorder.env) if redactor else dict(recorder.env),
        "captured": sorted(path(p) for p in _captured(recorder)),
        "unknown": sorted(path(p) for p in unknown),
    }
    if recorder.filesystems:
        meta["filesystems"] = {path(p): {"size": f.size, "free": f.free} for p, f in sorted(recorder.filesystems.items())}
    if recorder.reasons:
        meta["reasons"] = {path(q): redactor.text(r) if redactor else r for q, r in sorted(recorder.reasons.items())}
    return Document(meta, files, nodes, commands)


def _captured(recorder: "Recorder") -> list[str]:
    """The patterns asked, without those that another one covers."""
    wild = Patterns([p for p in recorder.captured if is_wild(p) and not p.startswith(("cmd:", "statvfs:"))], below=False)
    return [p for p in recorder.captured if is_wild(p) or p.startswith(("cmd:", "statvfs:")) or not wild.path(p)]


def _files(recorder: "Recorder") -> dict[str, bytes]:
    files = dict(recorder.files)
    for path, node in recorder.nodes.items():
        if node.type == "file" and path not in files and is_binary_place(path):
            files[path] = b""
    return files


def _nodes(recorder: "Recorder") -> dict[str, Node]:
    """Entries for what is no plain regular file, or whose mode or owner matters."""
    full = {path.rpartition("/")[0] for path in [*recorder.nodes, *recorder.files]}
    nodes: dict[str, Node] = {}
    for path, node in recorder.nodes.items():
        plain = node.mode == DEFAULT_MODES[node.type] and node.uid == 0 and node.gid == 0 and node.size is None
        if node.type == "dir" and plain and path.rstrip("/") in full:
            continue
        if node.type == "file" and path not in recorder.denied:
            content = path in recorder.files or is_binary_place(path)
            # Attributes of the kernel are read-only for a reason that no check asks, unless one did.
            kernel = path.startswith(("/proc/", "/sys/")) and path not in recorder.asked
            if content and (plain or kernel) and path not in recorder.opened:
                continue
        nodes[path] = node
    return nodes


def _node(recorder: "Recorder", path: str, node: Node, redacted: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": node.type}
    if node.type == "link":
        entry["target"] = redacted(node.target or "")
        if (node.mode, node.uid, node.gid) == (0o777, 0, 0):
            return entry
    if node.type != "dir" or (node.mode, node.uid, node.gid) != (0o755, 0, 0):
        entry |= {"mode": f"{node.mode:04o}", "uid": node.uid, "gid": node.gid}
    if node.major is not None and node.minor is not None:
        entry |= {"major": node.major, "minor": node.minor}
    if node.size is not None:
        entry["bytes"] = node.size
    if path in recorder.opened:
        entry["open"] = recorder.opened[path]
    return entry


def _redactor(recorder: "Recorder") -> "Redactor":
    """A redactor that knows the machine's names and its people."""
    from rocmdoctor.host.redaction import Redactor

    def text(path: str) -> str:
        try:
            return recorder.host.read(path) or ""
        except UnknownFact:
            return ""

    hosts = [text("/proc/sys/kernel/hostname"), text("/etc/hostname")]
    people = []
    for line in text("/etc/passwd").splitlines():
        fields = line.split(":")
        if len(fields) == 7 and fields[2].isdecimal() and 1000 <= int(fields[2]) < 65000:
            people.append(fields[0])
    for name in group_database(text("/etc/group")):
        if f"/home/{name}" in recorder.nodes:
            people.append(name)
    user = recorder.user
    if user.sudo_user:
        people.insert(0, user.sudo_user)
    short = [h.strip().partition(".")[0] for h in hosts]
    return Redactor(user, people[:1000], [*hosts, *short])


def write(snapshot: Document, path: str, force: bool) -> None:
    """Write under a temporary name beside `path`, readable by the owner only, then rename.

    Raises HostError when `path` exists and `force` is not given, when it is something that no snapshot replaces, and when
    the disk refuses.
    """
    path = os.path.abspath(path)
    archive = path.endswith((".tar.gz", ".tgz"))
    if os.path.lexists(path):
        if not force:
            raise HostError(f"{path} exists already")
        if not (os.path.isfile(path) if archive else os.path.isfile(f"{path}/snapshot.json")):
            raise HostError(f"{path} exists and is no snapshot")
    try:
        with unwinding():  # a SIGTERM leaves no half of it behind
            if archive:
                _write_archive(snapshot, path, force)
            else:
                _write_folder(snapshot, path, force)
    except OSError as exc:
        raise HostError(f"{path} cannot be written: {reason(exc)}") from None


def _write_archive(snapshot: Document, path: str, force: bool) -> None:
    import io
    import tarfile
    import tempfile
    import time

    top = os.path.basename(path).removesuffix(".tar.gz").removesuffix(".tgz") or "snapshot"
    fd, temporary = tempfile.mkstemp(prefix=".rocmdoctor-", dir=os.path.dirname(path))  # mode 0600
    try:
        with os.fdopen(fd, "wb") as out:
            with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
                now = int(time.time())
                members = {**snapshot.parts(), **{f"files{p}": d for p, d in sorted(snapshot.files.items())}}
                for name, data in members.items():
                    info = tarfile.TarInfo(f"{top}/{name}")
                    info.size, info.mtime, info.mode = len(data), now, 0o600
                    tar.addfile(info, io.BytesIO(data))
            out.flush()
            os.fsync(out.fileno())
        if force:
            os.replace(temporary, path)
        else:
            # link(2) fails when the name has been taken meanwhile; rename(2) would replace it.
            os.link(temporary, path)
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _write_folder(snapshot: Document, path: str, force: bool) -> None:
    import shutil
    import tempfile

    temporary = tempfile.mkdtemp(prefix=".rocmdoctor-", dir=os.path.dirname(path))  # mode 0700
    try:
        members = {**snapshot.parts(), **{f"files{p}": d for p, d in snapshot.files.items()}}
        os.mkdir(f"{temporary}/files", 0o700)
        for name, data in members.items():
            target = f"{temporary}/{name}"
            os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as out:
                out.write(data)
        if force and os.path.lexists(path):
            old = tempfile.mkdtemp(prefix=".rocmdoctor-", dir=os.path.dirname(path))
            os.rename(path, f"{old}/old")
            os.rename(temporary, path)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(temporary, path)
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary, ignore_errors=True)
