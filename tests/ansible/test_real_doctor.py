"""The modules against the real rocmdoctor, over recorded hosts: what it really prints is what they read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.control_node import TREE, ControlNode
from tests.hostbuilder import HostBuilder

BARE = HostBuilder().distro("ubuntu", "22.04").no_rocm().no_torch().python(None)
_PROGRAM = """\
#!/bin/sh
export PYTHONPATH={tree}
[ "$1" = --version ] && exec {python} -m rocmdoctor --version
command=$1
shift
exec {python} -m rocmdoctor "$command" --snapshot {folder} "$@"
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Any:
    """A program that is rocmdoctor on a recorded host."""

    def make(name: str, builder: HostBuilder) -> dict[str, str]:
        folder = tmp_path / name
        builder.write(folder)
        program = tmp_path / f"{name}.sh"
        program.write_text(_PROGRAM.format(python=sys.executable, tree=TREE, folder=folder))
        program.chmod(0o755)
        return {"doctor": str(program)}

    return make


def task(module: str, **arguments: Any) -> dict[str, Any]:
    return {"name": module, f"rocmdoctor.rocm.{module}": {"executable": "{{ doctor }}", **arguments}}


def test_plans_of_several_nodes(control_node: ControlNode, recorded: Any) -> None:
    hosts = {
        "bare": recorded("bare", BARE.gpus("gfx1100")),
        "old": recorded("old", BARE.gpus("gfx803")),
        "sles": recorded("sles", HostBuilder().distro("sles", "15.6").no_rocm().no_torch().python(None).gpus("gfx90a")),
        "there": recorded("there", HostBuilder()),
    }
    played = control_node.play(hosts, tasks=[task("rocm_install", pytorch="none")], options=["--check", "--diff"])
    found = played.of("bare").result
    assert found["changed"] is True and found["rocm"] == found["plan"]["versions"]["rocm"]
    assert any(row["after_header"].startswith("/etc/apt/") and row["before"] == "" and row["after"] for row in found["diff"])
    assert "+++ after: /etc/apt/" in played.out
    said = played.failed("old")
    assert said.startswith("rocmdoctor refuses: ") and "gfx803" in said and played.of("old").result["changed"] is False
    assert any(argv[0] == "zypper" for argv in played.of("sles").result["commands"])
    there = played.of("there").result
    assert there["rocm"] == there["plan"]["choices"]["rocm"]["asked"], "present keeps the release that is there"


def test_judging(control_node: ControlNode, recorded: Any) -> None:
    builders = {"good": HostBuilder(), "bad": HostBuilder().driver(None), "none": BARE.no_gpus()}
    hosts = {name: recorded(name, builder) for name, builder in builders.items()}
    played = control_node.play(hosts, tasks=[task("rocm_check_info", facts=True)], options=["--check"]).ok()
    good, bad, none = (played.of(name).result for name in hosts)
    assert (good["verdict"], good["root_causes"]) == ("healthy", []) and good["gfx"] == good["facts"]["gfx"] != []
    assert good["rocm"] == good["facts"]["rocm_version"] is not None
    assert (
        bad["verdict"] == "broken" and bad["root_causes"] and bad["facts"]["root_causes"] == [c["id"] for c in bad["root_causes"]]
    )
    assert (none["verdict"], none["gfx"], none["rocm"]) == ("no-amd-gpu", [], None)


def test_fixes_are_planned(control_node: ControlNode, recorded: Any) -> None:
    """Nothing fails: nothing is to be done. No automatic remedy: check mode says that it would fail."""
    hosts = {"good": recorded("good", HostBuilder()), "bad": recorded("bad", HostBuilder().driver(None))}
    played = control_node.play(hosts, tasks=[task("rocm_fix", checks=["gpu_present", "amdgpu_module"])], options=["--check"])
    assert played.of("good").result["changed"] is False and played.of("good").status == "ok"
    bad = played.of("bad")
    assert bad.result["plan"]["command"] == "fix" and (bad.status == "ok") == (bad.result["failing"] == [])
