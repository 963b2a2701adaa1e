"""Fixtures: the control node, made once, and stand-ins. Skipped with a reason where ansible-core is not installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ansible.control_node import ControlNode, program
from tests.ansible.stand_in import StandIn


@pytest.fixture(scope="session")
def control_node(tmp_path_factory: pytest.TempPathFactory) -> ControlNode:
    if program("ansible-playbook") is None:
        pytest.skip("ansible-core is not installed (pip install ansible-core, or ROCMDOCTOR_ANSIBLE=/path/to/its/bin)")
    made = ControlNode(tmp_path_factory.mktemp("control"))
    made.install_collection()
    return made


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[..., StandIn]:
    """Makes a stand-in for the rocmdoctor of the host `name`."""
    return lambda name="node", **more: StandIn(tmp_path / name, **more)
