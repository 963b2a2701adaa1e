"""Plans as shell scripts: shellcheck passes them, and hostile words stay words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.facts import Facts
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import uninstall
from rocmdoctor.plan.accounts import AddUserToGroups
from rocmdoctor.plan.environments import PipInstall
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.step import Plan, Refusal
from rocmdoctor.reports import plan_script
from tests.hostbuilder import HostBuilder
from tests.plan.bare_hosts import bare, plan_for

CASES: list[tuple[HostBuilder, dict[str, Any]]] = [
    (bare("ubuntu", "22.04", "gfx90a")._with(driver=None), {"rocm": "6.2", "users": ("user1",)}),
    (bare("ubuntu", "24.04", "gfx942"), {"rocm": "7.2"}),
    (bare("ubuntu", "24.04", "gfx942"), {"rocm": "10.1", "driver": "dkms"}),
    (bare("debian", "12", "gfx90a"), {"rocm": "7.2", "mirror": "https://m.example/a b'".replace(" b'", ""), "ca": "/etc/ca.pem"}),
    (bare("rhel", "9.4", "gfx90a").remove("/etc/yum.repos.d"), {"rocm": "6.2", "driver": "dkms"}),
    (bare("rhel", "9.4", "gfx90a"), {"rocm": "7.0", "ca": "/etc/ca.pem"}),
    (bare("sles", "15.6", "gfx90a").file("/usr/bin/SUSEConnect"), {"rocm": "6.2", "driver": "dkms"}),
]


def checked(script: str, tmp_path: Path) -> None:
    file = tmp_path / "script.sh"
    file.write_text(script)
    subprocess.run(["sh", "-n", str(file)], check=True)
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed; sh -n passed")
    done = subprocess.run([shellcheck, "--shell=sh", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("builder", "options"), CASES)
def test_install_scripts(matrix: Matrix, tmp_path: Path, builder: HostBuilder, options: dict[str, Any]) -> None:
    plan = plan_for(builder.build(), matrix, allow_unsupported=True, **options)
    assert not plan.refusals
    script = plan_script.render(plan, matrix.date)
    assert script.startswith("#!/bin/sh\n") and "\nset -eu\n" in script
    checked(script, tmp_path)


def test_uninstall_script(matrix: Matrix, tmp_path: Path) -> None:
    host = HostBuilder().build()
    checked(plan_script.render(uninstall.build(Facts(host, matrix), matrix), matrix.date), tmp_path)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    """The parts that a script writes are run in an empty folder: nothing of what they hold is executed."""
    evil = "$(touch pwned) `touch pwned` ; touch pwned\nEOF\ntouch pwned\n'\n"
    steps = (
        WriteFile("a", "title\ntouch pwned", "reason\ntouch pwned", path=f"{tmp_path}/out $(touch pwned)/file", text=evil),
        RunCommand("b", "run", argv=("echo", "$(touch pwned)", "'; touch pwned; '"), path="/no/$(touch pwned)"),
        AddUserToGroups("c", "user", user="$(touch pwned)", groups=("a;touch pwned",)),
        PipInstall("d", "pip", python="/no/such/python", requirements=("x; touch pwned",), index="https://x/$(touch pwned)"),
    )
    script = plan_script.render(Plan("install", "x\ntouch pwned", steps, ("note\ntouch pwned",)), "2026-11-30")
    script = script.replace('[ "$(id -u)" -eq 0 ]', "true").replace("set -eu", "set -u").replace("usermod", "true")
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=False, capture_output=True)
    assert not list(tmp_path.rglob("pwned"))
    assert (tmp_path / "out $(touch pwned)" / "file").read_text() == evil


def test_a_refused_plan_has_no_script() -> None:
    with pytest.raises(ValueError, match="refused"):
        plan_script.render(Plan("install", "x", (), refusals=(Refusal("a", "b"),)), "2026-11-30")
