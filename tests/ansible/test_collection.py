"""The collection as it is built: complete, documented, of the version of rocmdoctor, and fine with Ansible's own judges."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import rocmdoctor
from tests.ansible.control_node import COLLECTION, TREE, ControlNode, program

MODULES = ("rocm_check_info", "rocm_fix", "rocm_install")


def test_versions_agree() -> None:
    assert yaml.safe_load((COLLECTION / "galaxy.yml").read_text())["version"] == rocmdoctor.__version__


def test_the_archive_is_complete(control_node: ControlNode) -> None:
    (archive,) = control_node.folder.glob("rocmdoctor-rocm-*.tar.gz")
    with tarfile.open(archive) as tar:
        members = {member.name: member for member in tar.getmembers()}
        assert all(member.isfile() or member.isdir() for member in members.values()), "links lead nowhere on another machine"
        script = tar.extractfile("roles/node/files/bootstrap.sh")
        licence = tar.extractfile("LICENSE")
        assert script is not None and script.read() == (TREE / "install_scripts/bootstrap.sh").read_bytes()
        assert licence is not None and licence.read() == (TREE / "LICENSE").read_bytes()
    assert {f"plugins/modules/{name}.py" for name in MODULES} <= set(members)
    assert not [name for name in members if "cache" in name or name.endswith(".pyc")]


@pytest.mark.parametrize("name", MODULES)
def test_documentation(control_node: ControlNode, name: str) -> None:
    done = control_node.run("ansible-doc", "-t", "module", "-j", f"rocmdoctor.rocm.{name}")
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)[f"rocmdoctor.rocm.{name}"]
    doc = page["doc"]
    assert {"executable", "matrix"} <= set(doc["options"])
    assert all(option["description"] and option["type"] for option in doc["options"].values())
    assert doc["attributes"]["check_mode"]["support"] == "full"
    assert all(value["description"] and value["returned"] and value["type"] for value in page["return"].values())
    examples = yaml.safe_load(page["examples"])
    own = [task[f"rocmdoctor.rocm.{name}"] or {} for task in examples if f"rocmdoctor.rocm.{name}" in task]
    assert own and {option for given in own for option in given} <= set(doc["options"])


def test_install_has_every_option_of_the_command(control_node: ControlNode) -> None:
    """Those of `install` but for what is no state: how it prints, whether it asks, and recorded hosts."""
    import inspect

    from rocmdoctor.commands.install import install
    from rocmdoctor.commands.uninstall import uninstall

    page = json.loads(control_node.run("ansible-doc", "-t", "module", "-j", "rocmdoctor.rocm.rocm_install").stdout)
    options = set(page["rocmdoctor.rocm.rocm_install"]["doc"]["options"])
    given = {name for command in (install, uninstall) for name in inspect.signature(command).parameters}
    others = {"yes", "dry_run", "snapshot", "format", "verbose", "no_color", "user"}
    assert given - others <= options and "users" in options


def test_the_roles_variables_are_documented() -> None:
    defaults: dict[str, Any] = yaml.safe_load((COLLECTION / "roles/node/defaults/main.yml").read_text())
    specs = yaml.safe_load((COLLECTION / "roles/node/meta/argument_specs.yml").read_text())
    options = specs["argument_specs"]["main"]["options"]
    assert set(defaults) == set(options)
    assert {name: value for name, value in defaults.items() if value != ""} == {
        name: option["default"] for name, option in options.items() if "default" in option
    }


def test_ansible_lint(control_node: ControlNode, tmp_path: Path) -> None:
    """The profile "production", over the sources and over what is built of them."""
    if program("ansible-lint") is None:
        pytest.skip("ansible-lint is not installed")
    for folder in (COLLECTION, control_node.installed):
        done = control_node.run("ansible-lint", "--offline", "--nocolor", "--profile", "production", cwd=folder)
        assert done.returncode == 0 and "it passed" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.fixture
def pythons(tmp_path: Path) -> str:
    """A PATH with the versions of Python that are here; shims of pyenv look like Pythons and run none."""
    folder = tmp_path / "pythons"
    folder.mkdir()
    found = [
        *Path("/usr/bin").glob("python3.*[0-9]"),
        *Path.home().glob(".pyenv/versions/*/bin/python3.*[0-9]"),
        Path(sys.executable),
    ]
    for path in found:
        said = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        link = folder / f"python{said.stdout.strip()}"
        if said.returncode == 0 and not link.exists():
            link.symlink_to(path)
    rest = [place for place in os.environ["PATH"].split(":") if "shims" not in place]
    return ":".join([str(folder), *rest])


@pytest.mark.slow
@pytest.mark.skipif("ROCMDOCTOR_LONG" not in os.environ, reason="takes minutes and many packages: ROCMDOCTOR_LONG=1 runs it")
def test_sanity(control_node: ControlNode, pythons: str) -> None:
    """`ansible-test sanity`: all that needs no container. Its environments are kept for the next run."""
    judge = program("ansible-test")
    if judge is None:
        pytest.skip("ansible-test is not installed")
    home = Path(os.environ.get("ROCMDOCTOR_ANSIBLE_TEST_HOME") or Path.home() / ".cache/rocmdoctor-ansible-test")
    home.mkdir(parents=True, exist_ok=True)
    environment = {"HOME": str(home), "PATH": f"{judge.parent}:{pythons}"}
    words = ("ansible-test", "sanity", "--color", "no")
    done = control_node.run(*words, cwd=control_node.installed, env=environment)
    missing = re.search(r"manually downloaded and saved to: (\S+get_pip_\w+\.py)", done.stdout + done.stderr)
    if missing:  # its host is not reached everywhere, and Python has the same within
        script = Path(missing[1])
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text("import ensurepip\n\nensurepip.bootstrap()\n")
        done = control_node.run(*words, cwd=control_node.installed, env=environment)
    said = done.stdout + done.stderr
    if "Could not find a version" in said or "No matching distribution" in said:
        pytest.skip("ansible-test cannot install what its tests need: no package index here")
    assert done.returncode == 0, said[-6000:]
    for name in ("validate-modules", "pep8", "import", "compile", "yamllint", "runtime-metadata"):
        assert f'Running sanity test "{name}"' in said
