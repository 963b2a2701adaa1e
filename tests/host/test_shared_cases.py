"""The replayable hosts handed to developers: folder, archive and a recording of them answer alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.recorded import RecordedHost, open_snapshot
from rocmdoctor.host.recorder import Recorder
from rocmdoctor.host.snapshot_writer import document
from tests.host.recorded_hosts import archive_of

GLOBS = (
    "/sys/bus/pci/devices/*/vendor",
    "/sys/bus/pci/devices/*/driver",
    "/sys/class/kfd/kfd/topology/nodes/*/mem_banks/*/properties",
    "/opt/rocm*/.info/version*",
    "/opt/rocm/lib/*.so*",
    "/dev/dri/renderD*",
    "/etc/apt/*/*",
    "/*/*",
)


def cases(shared: Path) -> list[Path]:
    found = sorted(p.parent for p in (shared / "cases").glob("*/snapshot.json"))
    if not found:
        pytest.skip("no replayable hosts")
    return found


def everything(host: Host, paths: list[str], argvs: list[list[str]]) -> list[object]:
    """Every answer about what the snapshot holds; what is unknown counts by that alone."""
    answers: list[object] = []
    for path in paths:
        for question in (host.read, host.node, host.resolve, host.names, host.open_result):
            try:
                answers.append(question(path))
            except UnknownFact:
                answers.append("unknown")
    for pattern in GLOBS:
        answers.append(host.glob(pattern))
    for argv in [*argvs, ["no-such-program"], ["dmesg"], ["journalctl", "-k", "-b", "--no-pager"]]:
        try:
            answers.append(host.run(argv))
        except UnknownFact:
            answers.append("unknown")
    return [*answers, host.user, dict(host.groups), dict(host.env), host.uname]


def test_folder_archive_and_recording_answer_alike(shared: Path, tmp_path: Path) -> None:
    for number, case in enumerate(cases(shared)):
        files = {"/" + p.relative_to(case / "files").as_posix(): p for p in (case / "files").rglob("*") if p.is_file()}
        nodes = json.loads((case / "nodes.json").read_text())
        argvs = [c["argv"] for c in json.loads((case / "commands.json").read_text())]
        links = [p for p, n in nodes.items() if n["type"] == "link"]
        paths = [*files, *nodes, *(f"{link}/below" for link in links), "/", "/nope", "/opt/rocm/.info/version"]
        members = {p.relative_to(case).as_posix(): p.read_bytes() for p in case.rglob("*") if p.is_file()}
        wanted = everything(open_snapshot(case), paths, argvs)
        archive = archive_of(tmp_path / f"{number}.tar.gz", members, prefix="" if number % 2 else f"{case.name}/")
        assert everything(open_snapshot(archive), paths, argvs) == wanted, case.name
        archive.unlink()
        recorder = Recorder(open_snapshot(case))
        assert everything(recorder, paths, argvs) == wanted, case.name
        # What is in a binary is not recorded.
        paths = [p for p in paths if p not in files or not files[p].read_bytes().startswith(b"\x7fELF")]
        wanted = everything(open_snapshot(case), paths, argvs)
        written = document(recorder, redact=False)
        replay = RecordedHost(written.meta, written.files, written.nodes, written.commands)
        assert everything(replay, paths, argvs) == wanted, case.name
