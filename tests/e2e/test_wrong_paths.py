"""Options that name a path of this machine which cannot serve: told before anything is changed or fetched."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Machine

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
