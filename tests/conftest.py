"""Fixtures for every room of the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with captures and replayable hosts, beside the repository or at ROCMDOCTOR_SHARED; the test is skipped
    without it."""
    named = os.environ.get("ROCMDOCTOR_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no folder with captures (set ROCMDOCTOR_SHARED)")
    return folder
