"""The JSON of a snapshot, every field type-checked: strangers wrote it. Any deviation is one HostError."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rocmdoctor.host import Command, Filesystem, HostError, Node, Uname, User
from rocmdoctor.host.capture_patterns import is_wild

FORMAT = "rocmdoctor-snapshot"
VERSION = 1
MAX_NODES = 100_000
MAX_COMMANDS = 10_000
MAX_CAPTURED = 100_000
MAX_UNKNOWN = 10_000
MAX_WILD = 2_000
_MAX_TOKENS = 1_000_000
_STRUCTURE = b'"[{,'
_REST = bytes(set(range(256)) - set(_STRUCTURE))
_MAX_ID = (1 << 32) - 1
_TYPES = ("file", "dir", "link", "char", "block")
DEFAULT_MODES = {"file": 0o644, "dir": 0o755, "link": 0o777, "char": 0o600, "block": 0o600}


class RecordedNode(NamedTuple):
    """An entry of nodes.json: the metadata, the result of opening it, and whether a mode was recorded at all."""

    node: Node
    open: str | None
    has_mode: bool


class Meta(NamedTuple):
    """snapshot.json."""

    uname: Uname | None
    user: User
    groups: Mapping[str, int]
    env: Mapping[str, str]
    captured: tuple[str, ...] | None
    unknown: tuple[str, ...]
    filesystems: Mapping[str, Filesystem]
    reasons: Mapping[str, str]
    """Why a question was unknown on the host itself: by path, or by "cmd:" and the words of the command. Optional."""
    date: str | None = None
    """Day of `created`, ISO form; None when it is not given."""


def load(name: str, data: bytes) -> Any:
    """Parse one JSON file of a snapshot. Bounded in memory: a small text can make millions of objects."""
    if len(data) > 1 << 20 and _tokens(data) > _MAX_TOKENS:
        raise HostError(f"{name} of the snapshot has too many entries")
    try:
        return json.loads(data, parse_int=_integer, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        why = f"line {exc.lineno}" if isinstance(exc, json.JSONDecodeError) else type(exc).__name__
        raise HostError(f"{name} of the snapshot is not valid JSON ({why})") from None


def _tokens(data: bytes) -> int:
    """Brackets and commas outside strings."""
    kept = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _REST)
    count, inside = 0, 0
    for start in range(0, len(kept), 1 << 16):
        parts = kept[start : start + (1 << 16)].split(b'"')
        count += sum(map(len, parts[inside::2]))
        inside ^= (len(parts) - 1) & 1
    return count


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError("integer out of range")
    return int(text)


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _wrong(where: str, wanted: str) -> HostError:
    return HostError(f"{where} must be {wanted}")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object")
    for key in value:
        if not isinstance(key, str):
            raise _wrong(where, "an object with text keys")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "text")
    return value


def _texts(value: Any, where: str, most: int) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise _wrong(where, "a list of texts")
    if len(value) > most:
        raise HostError(f"{where} has more than {most} entries")
    return tuple(value)


def _patterns(value: Any, where: str, most: int) -> tuple[str, ...]:
    """Bounded in what matching them costs: their length, and the number of those with wildcards."""
    patterns = _texts(value, where, most)
    if any(len(p) > 4200 for p in patterns) or sum(is_wild(p) for p in patterns) > MAX_WILD:
        raise HostError(f"{where} has patterns that are too long or too many")
    return patterns


def _number(value: Any, where: str, most: int = _MAX_ID, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(where, "a whole number in range")
    return value


def _numbers(value: Any, where: str) -> frozenset[int]:
    # A Linux process has at most 65536 groups (NGROUPS_MAX).
    if not isinstance(value, (list, tuple, set, frozenset)) or len(value) > 65536:
        raise _wrong(where, "a list of numbers")
    return frozenset(_number(v, where) for v in value)


def check_header(value: Any) -> Mapping[str, Any]:
    """snapshot.json is one of ours, of a version that can be read here, and has its main parts."""
    meta = _mapping(value, "snapshot.json")
    if meta.get("format") != FORMAT:
        raise HostError(f"not a snapshot: format in snapshot.json is not {FORMAT!r}")
    version = meta.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _wrong("version in snapshot.json", "a whole number")
    if version != VERSION:
        raise HostError(f"snapshot version {version} is newer than this program reads ({VERSION})")
    for key in ("uname", "user", "groups", "env"):
        if key not in meta:  # uname may be null: a foreign root whose kernel does not run
            raise HostError(f"snapshot.json has no {key!r}")
    for key in ("name", "uid", "gid", "groups"):
        if key not in _mapping(meta["user"], "user in snapshot.json"):
            raise HostError(f"snapshot.json has no user.{key}")
    return meta


def read_meta(meta: Mapping[str, Any]) -> Meta:
    """Check and type snapshot.json. What is missing gets a neutral value; what is of the wrong type is a HostError."""
    _mapping(meta, "snapshot.json")
    uname = None
    if meta.get("uname") is not None:
        raw = _mapping(meta["uname"], "uname in snapshot.json")
        uname = Uname(*(_text(raw.get(k), f"uname.{k} in snapshot.json") for k in ("sysname", "release", "version", "machine")))
    captured = meta.get("captured")
    filesystems: dict[str, Filesystem] = {}
    for path, value in _mapping(meta.get("filesystems", {}), "filesystems in snapshot.json").items():
        raw = _mapping(value, f"filesystems[{path!r}]")
        size, free = (_number(raw.get(k), f"filesystems[{path!r}].{k}", 1 << 63) for k in ("size", "free"))
        filesystems[path] = Filesystem(size, free)
    return Meta(
        uname,
        _user(_mapping(meta.get("user", {}), "user in snapshot.json")),
        {k: _number(v, f"groups[{k!r}] in snapshot.json") for k, v in _mapping(meta.get("groups", {}), "groups").items()},
        {k: _text(v, f"env[{k!r}] in snapshot.json") for k, v in _mapping(meta.get("env", {}), "env").items()},
        None if captured is None else _patterns(captured, "captured in snapshot.json", MAX_CAPTURED),
        _patterns(meta.get("unknown", ()), "unknown in snapshot.json", MAX_UNKNOWN),
        filesystems,
        {k: _text(v, f"reasons[{k!r}]") for k, v in _mapping(meta.get("reasons", {}), "reasons in snapshot.json").items()},
        _day(meta.get("created")),
    )


def _day(created: Any) -> str | None:
    """The day of an ISO time; what is no such time tells nothing."""
    from datetime import date

    if not isinstance(created, str):
        return None
    try:
        return date.fromisoformat(created[:10]).isoformat()
    except ValueError:
        return None


def _user(raw: Mapping[str, Any]) -> User:
    sudo_user = raw.get("sudo_user")
    gid = _number(raw.get("gid", 1000), "user.gid in snapshot.json")
    groups = _numbers(raw.get("groups", [gid]), "user.groups in snapshot.json")
    return User(
        _text(raw.get("name", "user1"), "user.name in snapshot.json"),
        _number(raw.get("uid", 1000), "user.uid in snapshot.json"),
        gid,
        groups,
        _numbers(raw["database_groups"], "user.database_groups in snapshot.json") if "database_groups" in raw else groups,
        None if sudo_user is None else _text(sudo_user, "user.sudo_user in snapshot.json"),
    )


def plain_path(path: str, where: str) -> str:
    """`path` when it is absolute and normal (no `.`, `..` or empty component)."""
    if not path.startswith("/") or "\0" in path or len(path) > 4096:
        raise _wrong(f"{where}: {path[:80]!r}", "an absolute path")
    if "//" not in path and "/." not in path and path[-1] != "/":
        return path
    if path != "/" and any(part in ("", ".", "..") for part in path[1:].split("/")):
        raise _wrong(f"{where}: {path[:80]!r}", "a path without '.', '..' and '//'")
    return path


def read_nodes(value: Any) -> dict[str, RecordedNode]:
    """Check and type nodes.json. Raises HostError also for a link that points at itself, directly or round a circle."""
    raw = _mapping(value, "nodes.json")
    if len(raw) > MAX_NODES:
        raise HostError(f"nodes.json has more than {MAX_NODES} entries")
    nodes: dict[str, RecordedNode] = {}
    for path, entry in raw.items():
        plain_path(path, "path in nodes.json")
        nodes["" if path == "/" else path] = _node(_mapping(entry, f"nodes.json: {path}"), f"nodes.json: {path}")
    if found := circles({p: n.node.target for p, n in nodes.items() if n.node.target is not None}):
        raise HostError(f"nodes.json: the link {min(found)} leads to itself")
    return nodes


def _node(raw: Mapping[str, Any], where: str) -> RecordedNode:
    kind = raw.get("type")
    if kind not in _TYPES:
        raise _wrong(f"{where}: type", "file, dir, link, char or block")
    mode = DEFAULT_MODES[kind]
    if "mode" in raw:
        text = _text(raw["mode"], f"{where}: mode")
        if not 0 < len(text) <= 6 or text.strip("01234567"):
            raise _wrong(f"{where}: mode", "octal text such as 0660")
        mode = int(text, 8) & 0o7777
    target = None
    if kind == "link":
        target = _text(raw.get("target"), f"{where}: target")
        if not target or "\0" in target or len(target) > 4096:
            raise _wrong(f"{where}: target", "a path")
    get = raw.get
    major, minor, size, uid, gid = get("major"), get("minor"), get("bytes"), get("uid", 0), get("gid", 0)
    for key, value, most in (("major", major, _MAX_ID), ("minor", minor, _MAX_ID), ("bytes", size, 1 << 63)):
        if value is not None:
            _number(value, f"{where}: {key}", most)
    _number(uid, f"{where}: uid")
    _number(gid, f"{where}: gid")
    opened = get("open")
    if opened is not None:
        opened = _text(opened, f"{where}: open")
        if not (opened == "ok" or (opened.isascii() and opened.isalnum() and opened[0] == "E" and len(opened) < 20)):
            raise _wrong(f"{where}: open", '"ok" or an errno name')
    return RecordedNode(Node(kind, mode, uid, gid, major, minor, target, size), opened, "mode" in raw)


def circles(links: Mapping[str, str]) -> set[str]:
    """Links that lead to themselves, directly or by way of other links. `links`: path to target."""
    done: set[str] = set()
    found: set[str] = set()
    for start in links:
        chain: dict[str, None] = {}
        path = start
        while path in links and path not in done and path not in chain:
            chain[path] = None
            inner = path + "/"
            path = _joined(path.rpartition("/")[0], links[path])
            if path.startswith(inner):
                found.add(inner[:-1])
        if path in chain:
            found.update(list(chain)[list(chain).index(path) :])
        done.update(chain)
    return found


def _joined(folder: str, target: str) -> str:
    parts = [] if target.startswith("/") else folder.split("/")[1:]
    for part in target.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def read_commands(value: Any) -> dict[tuple[str, ...], Command]:
    """Check and type commands.json. The first entry of an argv that is listed twice is an error, not a guess."""
    if not isinstance(value, (list, tuple)):
        raise _wrong("commands.json", "a list")
    if len(value) > MAX_COMMANDS:
        raise HostError(f"commands.json has more than {MAX_COMMANDS} entries")
    commands: dict[tuple[str, ...], Command] = {}
    for number, entry in enumerate(value):
        where = f"commands.json: entry {number + 1}"
        raw = _mapping(entry, where)
        argv = _texts(raw.get("argv"), f"{where}: argv", 1000)
        if not argv or not argv[0]:
            raise _wrong(f"{where}: argv", "a list that starts with a command")
        if argv in commands:
            raise HostError(f"commands.json lists {' '.join(argv)[:80]!r} twice")
        commands[argv] = _command(raw, argv, where)
    return commands


def _command(raw: Mapping[str, Any], argv: Sequence[str], where: str) -> Command:
    timed_out = raw.get("timed_out", False)
    if not isinstance(timed_out, bool):
        raise _wrong(f"{where}: timed_out", "true or false")
    program = raw.get("program")
    if "program" not in raw:
        program = f"/usr/bin/{argv[0].rpartition('/')[2]}"
    return Command(
        tuple(argv),
        None if program is None else _text(program, f"{where}: program"),
        _number(raw.get("rc", 0), f"{where}: rc", least=-_MAX_ID),
        _text(raw.get("stdout", ""), f"{where}: stdout"),
        _text(raw.get("stderr", ""), f"{where}: stderr"),
        timed_out,
    )
