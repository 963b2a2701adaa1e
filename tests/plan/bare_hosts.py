"""Bare hosts by distribution, for plans: nothing of AMD's is installed, and no Python environment is active."""

from __future__ import annotations

from typing import Any

from rocmdoctor.facts import Facts
from rocmdoctor.host import Host
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import install
from rocmdoctor.plan.draft import Options
from rocmdoctor.plan.step import Plan
from tests.hostbuilder import HostBuilder


def bare(os_id: str = "ubuntu", version: str = "22.04", *gpus: str) -> HostBuilder:
    """Without `gpus`: one RX 7900 XTX."""
    made = HostBuilder().distro(os_id, version).no_rocm().no_torch().python(None)
    if gpus:
        made = made.gpus(*gpus)
    return made._with(driver=None) if not gpus else made


def relabelled(builder: HostBuilder, **fields: str) -> HostBuilder:
    """Another os-release: versions that the builder has no table row for."""
    text = "".join(f'{name.upper()}="{value}"\n' for name, value in fields.items())
    return builder.file("/etc/os-release", text)


def plan_for(host: Host, matrix: Matrix, **options: Any) -> Plan:
    return install.build(Facts(host, matrix), matrix, Options(**options))
