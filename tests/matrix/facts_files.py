"""The collected facts beside the repository, for tests that compare every row of them with the matrix' answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

SHARED = Path(os.environ.get("ROCMDOCTOR_SHARED") or Path(__file__).parents[2].parent / "shared")
FACTS = SHARED / "facts"

needs_facts = pytest.mark.skipif(not FACTS.is_dir(), reason="no folder with the collected facts (set ROCMDOCTOR_SHARED)")


def facts(name: str) -> Any:
    """A YAML file of the facts, every scalar as it stands; {} without the folder (its tests are skipped then)."""
    file = FACTS / name
    if not file.is_file():
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
