"""Snapshots and reports merged: verdicts, causes, differences, what cannot be read, and every form of output."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor import cli
from rocmdoctor.fleet import FleetError, merge, pool
from rocmdoctor.fleet.differences import ABSENT, Tally
from rocmdoctor.fleet.node_record import FIELDS, NodeRecord, from_report
from rocmdoctor.host import HostError
from rocmdoctor.reports import fleet_inventory, fleet_json, fleet_text
from tests.hostbuilder import HostBuilder

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\x1b[31m\u202e{{data}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four like nodes, one with a fault, one with another kernel, one of another kind, and a broken one."""
    top = tmp_path_factory.mktemp("fleet")
    for name in ("node1", "node2", "node3", "node4"):
        HostBuilder().write_tar(top / f"{name}.tar.gz")
    HostBuilder().fault_not_in_group().write(top / "node5")
    HostBuilder().kernel("6.8.0-48-generic").no_torch().write_tar(top / "node6.tar.gz")
    HostBuilder().instinct().write_tar(top / "node7.tar.gz")
    data = (top / "node1.tar.gz").read_bytes()
    (top / "node8.tar.gz").write_bytes(data[: len(data) // 2])
    return top


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in document["nodes"]}


def as_json(*paths: Path, **options: Any) -> dict[str, Any]:
    with merge([str(p) for p in paths], **options) as found:
        document: dict[str, Any] = json.loads("".join(fleet_json.render(found)))
        return document


def report(**changes: Any) -> dict[str, Any]:
    """A small report as `check --format json` writes it."""
    host = {
        "os": {"id": "ubuntu", "version_id": "22.04"}, "kernel": "6.8.0-40-generic", "environment": "bare-metal",
        "gpus": [{"product": "AMD Instinct MI210", "gfx": "gfx90a"}] * 2,
        "rocm": [{"version": "6.2.0", "root": "/opt/rocm-6.2.0", "active": True}],
        "amdgpu": {"loaded": True, "kind": "dkms", "version": "6.8.5", "release": "6.2.0"},
        "python": [{"executable": "/usr/bin/python3", "torch": {"version": "2.5.1+cpu", "build": "cpu"}}],
    }  # fmt: skip
    result = {"id": "torch_build.rocm", "status": "fail", "title": "PyTorch is the CPU build"}
    summary = {"verdict": "broken", "root_causes": ["torch_build.rocm"]}
    return {"schema_version": 1, "host": host, "results": [result], "summary": summary, **changes}


def test_verdicts_causes_and_what_cannot_be_read(folder: Path) -> None:
    found = as_json(folder)
    assert found["summary"] == {"nodes": 7, "broken": 1, "degraded": 0, "no-amd-gpu": 0, "healthy": 6, "unreadable": 1}
    assert found["root_causes"] == [
        {"id": "permissions.kfd-access", "title": "user1 cannot open /dev/kfd", "findings": 1, "count": 1, "nodes": ["node5"]}
    ]
    assert [(u["name"], u["reason"]) for u in found["unreadable"]] == [("node8", "the snapshot archive is truncated")]


def test_differences_from_the_majority(folder: Path) -> None:
    nodes = by_name(as_json(folder))
    assert not nodes["node1"]["differences"] and not nodes["node5"]["differences"]
    told = {d["what"]: (d["found"], d["expected"]) for d in nodes["node6"]["differences"]}
    assert told["kernel"] == ("6.8.0-48-generic", "6.8.0-40-generic") and told["torch"] == ("none", "2.5.1+rocm6.2")
    assert [d["what"] for d in nodes["node7"]["differences"]][:1] == ["gpu"]


def test_differences_from_the_golden_node(folder: Path) -> None:
    found = as_json(folder, golden="node6")
    assert found["golden"] == "node6" and not by_name(found)["node6"]["differences"]
    assert {d["what"] for d in by_name(found)["node1"]["differences"]} == {"kernel", "torch"}


def test_golden_must_be_there(folder: Path) -> None:
    with pytest.raises(FleetError, match="no node of that name"):
        merge([str(folder)], golden="node99")


def test_processes_give_what_one_gives(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = as_json(folder, jobs=1)
    monkeypatch.setattr(pool, "FEW", 1)
    assert as_json(folder, jobs=2) == alone


def test_the_same_name_twice(folder: Path) -> None:
    assert list(by_name(as_json(folder / "node1.tar.gz", folder / "node1.tar.gz"))) == ["node1", "node1~2"]


def test_a_stream_of_reports(tmp_path: Path) -> None:
    lines = [report(), {"node": "n2", "report": report()}, report(hostname="n3"), {"x": 1}, [1]]
    file = tmp_path / "all.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    found = as_json(file)
    nodes = by_name(found)
    assert list(nodes) == [f"{file}:1", "n2", "n3"] and len(found["unreadable"]) == 3
    node = nodes["n2"]
    assert (node["gpu"], node["driver"], node["rocm"], node["torch"], node["firmware"]) == (
        "2 x Instinct MI210", "dkms 6.2.0 (6.8.5)", "6.2.0", "2.5.1+cpu", None
    )  # fmt: skip


def test_a_report_counts_as_its_snapshot(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["check", "--snapshot", str(folder / "node5"), "--format", "json"])
    (tmp_path / "node5.json").write_text(capsys.readouterr().out)
    told, made = as_json(tmp_path)["nodes"][0], as_json(folder / "node5")["nodes"][0]
    for key in ("verdict", "root_causes", "warnings", "os", "gpu", "kernel", "driver", "rocm", "torch"):
        assert told[key] == made[key], key


def record(name: str, packages: dict[str, str] | None = None, **fields: str | None) -> NodeRecord:
    values = {**dict.fromkeys(FIELDS), "os": "ubuntu 22.04", **fields}
    return NodeRecord(
        name, name, "snapshot", "healthy", (), (), (), "", (), values, None, tuple(sorted((packages or {}).items())) or None
    )


def test_unknown_is_no_difference_and_none_is_one() -> None:
    tally = Tally()
    nodes = [record("a", rocm="6.2"), record("b", rocm="6.2"), record("c", rocm=None), record("d", rocm="none")]
    for node in nodes:
        tally.add(node)
    reference = tally.majority()
    assert [[tuple(d) for d in reference.differences(n)] for n in nodes] == [[], [], [], [("rocm", "none", "6.2")]]


def test_packages_are_compared_within_a_distribution() -> None:
    tally = Tally()
    nodes = [
        record("a", {"hip": "6.2-1", "rccl": "2"}), record("b", {"hip": "6.2-1", "rccl": "2"}), record("c", {"hip": "6.1-1"}),
        record("d", {"hip": "6.2-el9"}, os="rhel 9.4"), record("e", {"hip": "6.2-el9", "odd": "1"}, os="rhel 9.4"),
        record("f", {"hip": "6.2-el9"}, os="rhel 9.4"),
    ]  # fmt: skip
    for node in nodes:
        tally.add(node)
    told = {n.name: [tuple(d) for d in tally.majority().differences(n) if d.what != "os"] for n in nodes}
    assert told["c"] == [("package hip", "6.1-1", "6.2-1"), ("package rccl", ABSENT, "2")]
    assert told["e"] == [("package odd", "1", ABSENT)]
    assert not told["a"] and not told["d"] and not told["f"]


def test_different_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocmdoctor.fleet.differences.MAX_VALUES", 10)
    tally = Tally()
    for n in range(100):
        tally.add(record(str(n), {f"p{n}": "1"}))
    assert len(tally.majority().fields) <= 10 and tally.cut and sum(map(len, tally._values.values())) <= 10


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
KEYS = ("host", "results", "summary", "schema_version")


@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON_VALUES)), st.sampled_from((*KEYS, "host.gpus", "host.os")))
def test_a_report_of_any_shape_is_a_record_or_one_error(odd: dict[str, Any], place: str) -> None:
    document = report()
    if "." in place:
        document["host"][place.partition(".")[2]] = odd
    else:
        document[place] = odd.get(place, odd)
    try:
        found = from_report("n", "n", document)
    except HostError:
        return
    assert all(isinstance(v, str | None) for v in found.fields.values())


# outputs ---------------------------------------------------------------------------------------------------------


def test_text(folder: Path) -> None:
    with merge([str(folder)]) as found:
        text = "".join(fleet_text.render(found))
    assert text.startswith("7 nodes: 1 broken, 6 healthy; 1 input could not be read.\n")
    assert "  broken        node5\n  healthy       node1, node2, node3, node4, node6, node7\n" in text
    assert "  permissions.kfd-access on 1 node: user1 cannot open /dev/kfd\n    node5\n" in text
    assert "  kernel on ubuntu 22.04: 6.8.0-40-generic (6 of 7)\n    6.8.0-48-generic, 1 node: node6\n" in text
    assert text.endswith(f"Not read\n  {folder}/node8.tar.gz: the snapshot archive is truncated\n")
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line)


def test_text_shortens_what_is_long_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(report(node=f"n{n:03}")) + "\n" for n in range(60)))
    with merge([str(tmp_path)]) as found:
        assert "and 36 more" in "".join(fleet_text.render(found))
        assert "n059" in "".join(fleet_text.render(found, verbose=True))


def test_a_cause_has_its_most_frequent_title(tmp_path: Path) -> None:
    titles = ("build A", "build B", "build B", "build C")
    reports = (report(results=[{"id": "torch_build.rocm", "status": "fail", "title": t}]) for t in titles)
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in reports))
    with merge([str(tmp_path)]) as found:
        assert [c.words for c in found.causes] == ["build B (and 2 other findings)"]


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    broken = {"id": HOSTILE, "status": "fail", "title": HOSTILE}
    document = report(node=HOSTILE, results=[broken])
    document["host"]["kernel"] = document["host"]["gpus"][0]["product"] = HOSTILE
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(document)}\n{json.dumps(report())}\n")
    with merge([str(tmp_path)]) as found:
        text = "".join(fleet_text.render(found, verbose=True))
        assert "onerror" in text and all(c.isprintable() or c == "\n" for c in text)
        assert "onerror" not in "".join(fleet_inventory.render(found))


def test_inventory(folder: Path) -> None:
    with merge([str(folder)]) as found:
        groups = yaml.safe_load("".join(fleet_inventory.render(found)))["all"]["children"]
    assert set(groups["rocm_verdict_healthy"]["hosts"]) == {"node1", "node2", "node3", "node4", "node6", "node7"}
    assert list(groups["rocm_cause_permissions_kfd_access"]["hosts"]) == ["node5"]
    assert {"rocm_gfx_gfx1100", "rocm_release_6_2_0", "rocm_driver_dkms", "rocm_os_ubuntu_22_04"} <= set(groups)
    assert set(groups["rocm_differs"]["hosts"]) == {"node6", "node7"}


@pytest.mark.parametrize("name", ["", "a b", "node[1:3]", "a:22", "-x", "a/b", "a\n", HOSTILE])
def test_what_is_no_host_name_stays_out_of_the_inventory(name: str) -> None:
    assert not fleet_inventory.usable(name)


# the command -----------------------------------------------------------------------------------------------------


def test_exit_status(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def status(*argv: str | Path) -> int:
        return cli.run(["fleet", *map(str, argv)])

    assert status(folder / "node1.tar.gz", folder / "node6.tar.gz") == 0
    assert status(folder / "node1.tar.gz", folder / "node5") == 1
    assert status(tmp_path) == status(folder / "node8.tar.gz") == status(folder, "--golden", "x") == status() == 2
    assert status(folder) == status(folder, "--inventory") == 3
    said = capsys.readouterr()
    assert f"rocmdoctor: {folder}/node8.tar.gz: the snapshot archive is truncated\n" in said.err
    assert "no snapshot and no report could be read" in said.err and "--golden x: no node of that name was read" in said.err


def test_nothing_is_left_when_interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "FEW", 1)
    monkeypatch.setattr("rocmdoctor.fleet.spool.Spool.add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        merge([str(folder)], jobs=2)
    assert not multiprocessing.active_children()
