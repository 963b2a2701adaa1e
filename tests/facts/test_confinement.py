"""What confines a process, from /proc/self/attr/current."""

from __future__ import annotations

import pytest

from rocmdoctor.facts import confinement
from tests.facts.small_host import small_host


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("system_u:system_r:container_t:s0:c361,c898\0", "SELinux"),
        ("unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\0", None),
        ("system_u:system_r:spc_t:s0\0", None),
        ("unconfined\n", None),
        ("docker-default (enforce)\n", "AppArmor"),
        ("snap.ollama.ollama (enforce)\n", "AppArmor"),
        ("", None),
        ("\0", None),
    ],
)
def test_the_module(text: str, module: str | None) -> None:
    assert confinement.gather(small_host({confinement.CONTEXT: text})).module == module


def test_unknown_and_absent_confine_nothing() -> None:
    assert confinement.gather(small_host({})).context is None
    assert confinement.gather(small_host({}, unknown=[confinement.CONTEXT])).context is None
