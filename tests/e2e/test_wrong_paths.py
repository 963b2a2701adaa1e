"""Options that name a path of this machine: what cannot serve is told before anything is changed, what is a user's stays so."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Machine
from tests.e2e.dress import USER

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (("--python", "/nope/python3"), 1, "no such interpreter"),
        (("--venv", "/etc/passwd"), 1, "/etc/passwd: that is no folder"),
        (("--venv", "/etc/passwd/venv"), 1, "/etc/passwd is no folder"),
        (("--venv", "/etc"), 1, "is no virtual environment"),
        (("--ca", "/none.pem"), 2, "No such file"),
        (("--ca", "/etc/passwd"), 2, "no certificate in PEM"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_path_that_cannot_serve_is_told_before_anything(
    machine: Machine, words: tuple[str, ...], status: int, why: str
) -> None:
    case = machine("ubuntu-22.04")
    files = case.snapshot_of_files()
    for how in ("--dry-run", "--yes"):
        done = case.rocmdoctor("install", "--rocm", "6.2", *words, how)
        assert done.rc == status and why in done.said and "Traceback" not in done.said, done.said
    assert files.changes(case.snapshot_of_files()) == [] and case.mirror.requests == []


def test_an_environment_of_a_user_stays_the_user_s(machine: Machine) -> None:
    """Root does not start an interpreter that somebody else can change, and what pip puts there is the owner's."""
    case = machine("ubuntu-22.04", "gfx1100")
    folder = f"/home/{USER}/project"
    case.shell(f"python3 -m venv {folder} && chown -R {USER} {folder}").ok()
    case.rocmdoctor("install", "--rocm", "6.2", "--venv", folder, "--yes").ok()
    assert case.run("find", folder, "-user", "root").ok().out == ""
    assert "torch" in case.shell(f"ls {folder}/lib/python3*/site-packages").ok().out
    case.rocmdoctor("undo", "--yes").ok()
    assert case.shell(f"ls {folder}/lib/python3*/site-packages | grep -c '^torch' || :").ok().out.strip() == "0"
    assert case.run("find", folder, "-user", "root").ok().out == ""
