"""The role rocmdoctor.rocm.node over machines of three package managers, with real ansible-core: rocmdoctor is brought there from
a folder of wheels and installs, and one node that cannot be helped does not stop the others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.control_node import ControlNode, Played, program
from tests.e2e.base_root import TREE, python_version
from tests.e2e.cache import cache_of, digest
from tests.e2e.conftest import Machine
from tests.e2e.install_case import InstallCase, Parts

PLUGINS = Path(__file__).with_name("ansible_plugins")
DISK = "8g"
"""More than ROCm needs in life: rocmdoctor refuses below that. Nothing takes it here."""
Hosts = dict[str, InstallCase]
pytestmark = pytest.mark.slow
long = pytest.mark.skipif("ROCMDOCTOR_LONG" not in os.environ, reason="takes minutes: ROCMDOCTOR_LONG=1 runs it")
OWN = (
    "/opt/rocmdoctor/*",
    "/opt/rocmdoctor",
    "/usr/local/bin/rocmdoctor",
    "/root/.ansible*",
    "/var/log/*",
    "/var/lib/rocmdoctor/*",
)


@pytest.fixture(scope="module")
def wheels(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an offline site: rocmdoctor as it is now, and what it needs for the Python of the roots."""
    version = python_version(parts.base)
    block = re.search(r"^dependencies = \[(.*?)^\]", (TREE / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    needs = [*re.findall(r'"([^"]+)"', block[1]), "pip"]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    machine = ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}"]
    machine += [f"--platform={name}" for name in ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "linux_x86_64")]

    def build(folder: Path) -> None:
        subprocess.run([*pip, "download", f"--dest={folder}", *machine, *needs], check=True)

    kept = cache_of(parts.cache, "wheels", digest(version, *needs), build)
    made = tmp_path_factory.mktemp("wheels")
    for file in kept.glob("*.whl"):
        shutil.copy(file, made)  # as a folder of a site: files, no links
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "compat_matrix.yaml", "checks", "rocmdoctor"):
        subprocess.run(["cp", "-R", "-P", str(TREE / name), str(source)], check=True)
    subprocess.run([*pip, "wheel", "--no-deps", f"--wheel-dir={made}", str(source)], check=True)
    return made


@pytest.fixture(scope="module")
def control_node(tmp_path_factory: pytest.TempPathFactory) -> ControlNode:
    if program("ansible-playbook") is None:
        pytest.skip("ansible-core is not installed (pip install ansible-core, or ROCMDOCTOR_ANSIBLE=/path/to/its/bin)")
    made = ControlNode(tmp_path_factory.mktemp("control"), connections=PLUGINS)
    made.install_collection()
    return made


def three(machine: Machine) -> Hosts:
    """apt, dnf and zypper."""
    return {
        "apt": machine("ubuntu-24.04", "gfx1100", disk=DISK),
        "dnf": machine("rhel-9.6", "gfx90a", disk=DISK),
        "zypper": machine("sles-15.7", "gfx90a", disk=DISK),
    }


def run(control_node: ControlNode, hosts: Hosts, wheels: Path | None, *options: str, **variables: Any) -> Played:
    """The role over the hosts."""
    here = {
        name: {
            "ansible_connection": "e2e_root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "e2e_enter": case.root.enter,
        }
        for name, case in hosts.items()
    }
    given = {
        "node_matrix": "/.e2e/state/matrix.yaml",
        "node_rocm": "7.2",
        "node_pytorch": "none",
        "node_busy_delay": 1,
    } | variables
    if wheels is not None:
        given["node_wheels"] = str(wheels)
    after = [{"name": "Result", "ansible.builtin.debug": {"var": "node_result"}}]
    return control_node.play(here, roles=[{"role": "rocmdoctor.rocm.node", **given}], tasks=after, options=options)


def result(played: Played, host: str) -> dict[str, Any]:
    found: dict[str, Any] = played.of(host, "Result").result["node_result"]
    return found


def test_check_mode_then_a_run_then_nothing_to_do(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    """On three nodes, while a fourth that AMD no longer supports is refused each time and does not stop the others."""
    good = three(machine)
    old = machine("ubuntu-22.04", "gfx803", disk=DISK)
    hosts = {**good, "old": old}
    packages = {name: case.package_set() for name, case in hosts.items()}
    files = {name: case.snapshot_of_files() for name, case in hosts.items()}

    def refused(played: Played) -> None:
        said = played.failed("old")
        assert played.rc != 0 and said.startswith("rocmdoctor refuses: ") and "gfx803" in said
        assert old.package_set() == packages["old"]
        assert files["old"].changes(old.snapshot_of_files(), ignore=OWN) == []
        assert {name: played.failed(name) for name in good} == dict.fromkeys(good, "")

    # rocmdoctor is brought there, and nothing else
    played = run(control_node, hosts, wheels, node_state="skip", node_verify=False).ok()
    for name in hosts:
        assert played.of(name, "Install rocmdoctor").result["changed"] is True

    # check mode has the plan, and changes nothing
    played = run(control_node, hosts, wheels, "--check", "--diff")
    refused(played)
    for name, case in good.items():
        found = played.of(name, "Install ROCm").result
        assert found["changed"] is True and found["rocm"] == "7.2.4" and found["plan"]["status"] == "applicable"
        assert found["diff"] and all(row["before"] == "" and row["after"] for row in found["diff"])
        assert case.package_set() == packages[name]
        assert files[name].changes(case.snapshot_of_files(), ignore=OWN) == []

    # the run
    played = run(control_node, hosts, wheels, "--diff", node_users=["user1"])
    refused(played)
    for name, case in good.items():
        found = played.of(name, "Install ROCm").result
        assert found["changed"] is True and "rocm" in found["changed_steps"] and found["run_id"]
        assert case.read("/opt/rocm/.info/version").startswith("7.2.4")
        assert "render" in case.run("id", "-nG", "user1").ok().out
        seen = result(played, name)
        assert seen["verdict"] in ("healthy", "degraded") and seen["rocm"] == "7.2.4" and seen["root_causes"] == []
        assert seen["changed"] is True and seen["reboot_required"] is False
    after = {name: (case.package_set(), case.snapshot_of_files()) for name, case in good.items()}

    # the second run: nothing
    played = run(control_node, hosts, wheels, "--diff", node_users=["user1"])
    refused(played)
    for name, case in good.items():
        assert played.changed(name) == []
        assert result(played, name)["changed"] is False and result(played, name)["not_holding"] == []
        assert played.of(name, "Ask whether the installation holds").result["rc"] == 0
        assert case.package_set() == after[name][0]
        assert after[name][1].changes(case.snapshot_of_files(), ignore=OWN) == []

    # what no longer holds fails the node
    good["apt"].run("gpasswd", "-d", "user1", "render").ok()
    played = run(control_node, {"apt": good["apt"]}, wheels, node_state="skip")
    assert "Does not hold: " in played.failed("apt") and "user1" in played.failed("apt")

    # and is fixed by name; for root, whom the module judges by itself, nothing was wrong
    here = {
        "apt": {
            "ansible_connection": "e2e_root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "e2e_enter": good["apt"].root.enter,
        }
    }
    what = {"checks": ["permissions.*"], "matrix": "/.e2e/state/matrix.yaml"}
    tasks = [
        {"name": "Root", "rocmdoctor.rocm.rocm_fix": what},
        {"name": "User", "rocmdoctor.rocm.rocm_fix": what | {"user": "user1"}},
    ]
    played = control_node.play(here, tasks=tasks).ok()
    assert played.changed("apt") == ["User"] and "render" in good["apt"].run("id", "-nG", "user1").ok().out


@long
def test_check_mode_on_a_bare_node(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    """It says what it cannot know."""
    hosts = three(machine)
    files = {name: case.snapshot_of_files() for name, case in hosts.items()}
    played = run(control_node, hosts, wheels, "--check").ok()
    for name, case in hosts.items():
        assert "rocmdoctor is not on this node" in played.of(name, "check mode cannot tell").result["msg"]
        assert files[name].changes(case.snapshot_of_files(), ignore=OWN) == []


@long
def test_absent(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    hosts = three(machine)
    run(control_node, hosts, wheels, node_verify=False).ok()
    played = run(control_node, hosts, None, node_state="absent", node_rocm="", node_verify=True).ok()
    for name, case in hosts.items():
        assert played.of(name, "Install ROCm").result["changed"] is True
        assert not case.exists("/opt/rocm/.info/version") and "rocm" not in case.package_set()


@long
def test_wheels_are_copied_once(control_node: ControlNode, machine: Machine, wheels: Path, tmp_path: Path) -> None:
    """A wheel of the same name with other content is, one that was changed on the node as well, and an old one goes."""
    hosts = {"node": machine("debian-13")}
    for file in wheels.glob("*.whl"):
        (tmp_path / file.name).symlink_to(file)  # a site may have links
    shutil.copy(next(wheels.glob("distro-*.whl")), tmp_path / "old-1-py3-none-any.whl")
    there = hosts["node"]

    def play() -> list[str]:
        played = run(control_node, hosts, tmp_path, node_state="skip", node_verify=False).ok()
        return played.changed("node")

    assert play()
    assert play() == []
    (tmp_path / "old-1-py3-none-any.whl").unlink()
    folder = "/opt/rocmdoctor/bootstrap/wheels"
    rich = next(wheels.glob("rich-*.whl"))
    there.write(f"{folder}/{rich.name}", b"damaged")
    assert set(play()) >= {"Copy the wheels", "Remove wheels of earlier versions"}
    assert there.root.path(f"{folder}/{rich.name}").read_bytes() == rich.read_bytes()
    assert not there.exists(f"{folder}/old-1-py3-none-any.whl")


def test_what_still_fails_is_in_the_message(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    """No driver is loaded, and none is to be installed."""
    played = run(control_node, {"node": machine("ubuntu-24.04", "gfx1100", driver=None, disk=DISK)}, wheels, node_driver="none")
    said = played.failed("node")
    assert said.startswith("This node is broken.") and "[amdgpu_module." in said


@contextmanager
def reboots(case: InstallCase) -> Iterator[None]:
    """Whoever writes /.e2e/state/reboot in the machine gets a reboot."""
    stop = threading.Event()

    def wait() -> None:
        while not stop.wait(0.3):
            if case.exists("/.e2e/state/reboot"):
                case.root.path("/.e2e/state/reboot").unlink()
                case.reboot()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@long
def test_a_new_driver_wants_a_reboot(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    """Not allowed: the role says so, and does not fail. Allowed: it reboots, and judges the node with the new driver."""
    case = machine("ubuntu-24.04", "gfx1100", disk=DISK)
    played = run(control_node, {"node": case}, wheels, node_driver="dkms").ok()
    assert result(played, "node")["reboot_required"] is True
    assert "must be rebooted" in played.of("node", "a reboot is needed").result["msg"]
    assert not case.exists("/sys/module/amdgpu/version")
    with reboots(case):
        played = run(
            control_node, {"node": case}, wheels, node_driver="dkms", node_reboot=True,
            node_reboot_command="/usr/bin/touch /.e2e/state/reboot",
        ).ok()  # fmt: skip
    assert played.of("node", "Reboot").result["rebooted"] is True
    assert case.exists("/sys/module/amdgpu/version")
    found = result(played, "node")
    assert found["reboot_required"] is False and found["verdict"] in ("healthy", "degraded"), json.dumps(found)
    played = run(control_node, {"node": case}, wheels, node_driver="dkms", node_reboot=True).ok()
    assert played.changed("node") == []


def test_facts_of_the_node(control_node: ControlNode, machine: Machine, wheels: Path) -> None:
    case = machine("rhel-9.6", "gfx90a")
    run(control_node, {"node": case}, wheels, node_state="skip", node_verify=False, node_local_facts=True).ok()
    facts = json.loads(case.run("/etc/ansible/facts.d/rocm.fact").ok().out)
    assert facts["gfx"] == ["gfx90a"] and facts["rocm_version"] is None


@long
def test_a_rocmdoctor_that_cannot_be_installed(control_node: ControlNode, machine: Machine, tmp_path: Path, wheels: Path) -> None:
    """Each reason in one line: nothing given, an empty folder, a folder that lacks a dependency."""
    hosts = {"node": machine("debian-13")}
    assert "neither node_wheels nor node_wheel" in run(control_node, hosts, None).failed("node")
    assert "holds no wheels" in run(control_node, hosts, tmp_path).failed("node")
    for file in wheels.glob("*.whl"):
        if not file.name.startswith("rich-"):
            (tmp_path / file.name).symlink_to(file.resolve())
    said = run(control_node, hosts, tmp_path).failed("node")
    assert said.startswith("rocmdoctor could not be installed: ") and "rich" in said and "\n" not in said
    assert not hosts["node"].exists("/usr/local/bin/rocmdoctor")
