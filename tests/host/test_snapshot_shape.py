"""Every field of a snapshot's JSON is type-checked; whatever is wrong is one HostError."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor.host import HostError, UnknownFact
from rocmdoctor.host import snapshot_shape as shape
from rocmdoctor.host.recorded import RecordedHost
from tests.host.recorded_hosts import meta

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NODE = {"type": "char", "mode": "0660", "uid": 0, "gid": 109, "major": 235, "minor": 0, "open": "ok", "bytes": 5}
COMMAND = {"argv": ["rocminfo"], "program": "/usr/bin/rocminfo", "rc": 0, "stdout": "", "stderr": "", "timed_out": False}
WRONG: list[Any] = ["", 1, -1, 1.5, True, [], {}, [1], {"a": 1}, [None], {"a": None}, "x", 1 << 70]


def test_a_whole_snapshot_is_read() -> None:
    host = RecordedHost(meta(), None, {"/dev/kfd": NODE}, [COMMAND])
    assert host.open_result("/dev/kfd") == "ok" and host.run(["rocminfo"]).found


@pytest.mark.parametrize("key", ["uname", "user", "groups", "env", "captured", "unknown", "filesystems", "reasons"])
@pytest.mark.parametrize("value", WRONG)
def test_wrong_top_fields(key: str, value: Any) -> None:
    data = {**meta(), key: value}
    try:
        RecordedHost(shape.check_header(data))
    except HostError as exc:
        assert str(exc) and "\n" not in str(exc)
    else:
        right = list if key in ("captured", "unknown") else dict
        assert isinstance(value, right) and (not value or (key == "groups" and value == {"a": 1})), value


OTHERS: list[Any] = [1, [], {}]
NO_NUMBERS: list[Any] = [1.5, {}, True]
INNER: list[tuple[tuple[str, ...], Any]] = [
    *((("uname", k), v) for k in ("sysname", "release", "version", "machine") for v in OTHERS),
    *((("user", k), v) for k in ("name", "uid", "gid", "groups", "database_groups", "sudo_user") for v in NO_NUMBERS),
]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *INNER,
        (("user", "uid"), -1),
        (("user", "uid"), 1 << 32),
        (("user", "groups"), ["27"]),
        (("groups", "video"), "44"),
        (("env", "PATH"), None),
        (("unknown",), ["/a", 1]),
        (("filesystems",), {"/": {"size": 1}}),
        (("filesystems",), {"/": 5}),
    ],
)
def test_wrong_inner_fields(path: tuple[str, ...], value: Any) -> None:
    data = copy.deepcopy(meta())
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(HostError):
        RecordedHost(data)


@pytest.mark.parametrize(
    "change",
    [
        {"type": None},
        {"type": "fifo"},
        {"type": ["file"]},
        {"mode": 432},
        {"mode": "rw-"},
        {"mode": ""},
        {"mode": "07777777"},
        {"mode": "٠٦"},
        {"uid": -1},
        {"uid": "0"},
        {"gid": 1.0},
        {"major": "x"},
        {"bytes": -1},
        {"open": 3},
        {"open": "EACCES; rm"},
        {"open": ""},
        {"type": "link"},
        {"type": "link", "target": ""},
        {"type": "link", "target": "a\0b"},
        {"type": "link", "target": "a" * 5000},
    ],
)
def test_wrong_nodes(change: dict[str, Any]) -> None:
    with pytest.raises(HostError):
        RecordedHost(meta(), None, {"/dev/kfd": {**NODE, **change}})


@pytest.mark.parametrize("path", ["", "dev", "/dev/../x", "/dev//x", "/dev/", "/./x", "/a\0"])
def test_wrong_paths(path: str) -> None:
    with pytest.raises(HostError):
        RecordedHost(meta(), None, {path: NODE})


@pytest.mark.parametrize(
    "commands",
    [
        {},
        "x",
        [None],
        [{}],
        [{**COMMAND, "argv": []}],
        [{**COMMAND, "argv": "rocminfo"}],
        [{**COMMAND, "argv": [""]}],
        [{**COMMAND, "argv": ["a", 1]}],
        [{**COMMAND, "program": 1}],
        [{**COMMAND, "rc": "0"}],
        [{**COMMAND, "rc": True}],
        [{**COMMAND, "stdout": None}],
        [{**COMMAND, "stderr": []}],
        [{**COMMAND, "timed_out": "no"}],
        [COMMAND, COMMAND],
    ],
)
def test_wrong_commands(commands: Any) -> None:
    with pytest.raises(HostError):
        RecordedHost(meta(), None, None, commands)


@pytest.mark.parametrize("nodes", [[], "x", 1, {"/a": None}, {"/a": []}])
def test_wrong_nodes_file(nodes: Any) -> None:
    if nodes:
        with pytest.raises(HostError):
            shape.read_nodes(nodes)


@pytest.mark.parametrize(
    "value",
    [[], "x", None, {}, meta(format="x"), meta(version=2), meta(version="1"), meta(version=True), meta(user={"name": "x"})]
    + [meta(**{key: None}) for key in ("uname", "user", "groups", "env", "version", "format")],
)
def test_wrong_header(value: Any) -> None:
    with pytest.raises(HostError):
        shape.check_header(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"\x80abc",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"1" * 10_000,
        b"NaN",
        b"[Infinity]",
        b"[" + b"[]," * 1_500_000 + b"0]",
        b"[" + b'{"a":0},' * 600_000 + b"0]",
    ],
    ids=range(11),
)
def test_wrong_json(data: bytes) -> None:
    with pytest.raises(HostError):
        shape.load("nodes.json", data)


def test_brackets_within_texts_do_not_count() -> None:
    log = '[{"a": "' + '[    1.0], {\\"x\\\\' * 200_000 + '"}]'
    assert len(log) > 1 << 20 and shape.load("commands.json", log.encode())
    assert shape._tokens(b'["a,b","c\\",[",{"d":[1,2]}]') == 6


def test_too_many_entries() -> None:
    with pytest.raises(HostError):
        shape.read_nodes({f"/{i}": NODE for i in range(shape.MAX_NODES + 1)})


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from([*meta(), "captured", "filesystems", "reasons"]), ANY), ANY, ANY)
def test_nonsense_is_a_host_error_or_a_host(changes: dict[str, Any], nodes: Any, commands: Any) -> None:
    try:
        value = shape.check_header(json.loads(json.dumps({**meta(), **changes})))
        host = RecordedHost(value, None, nodes, commands)
    except HostError as exc:
        assert "\n" not in str(exc)
        return
    questions: tuple[Callable[[], object], ...] = (
        *(lambda: host.read("/a"), lambda: host.names("/")),
        *(lambda: host.glob("/*/x"), lambda: host.run(["x"])),
    )
    for question in questions:
        try:
            question()
        except UnknownFact:
            continue
