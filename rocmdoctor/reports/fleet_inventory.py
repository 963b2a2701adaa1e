"""The fleet as an inventory for Ansible (YAML, `ansible-inventory -i FILE --list`): a group for each verdict, root cause, gfx
target, ROCm release, driver and distribution, and one for the nodes that differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from rocmdoctor.fleet import Fleet
from rocmdoctor.fleet.differences import Difference
from rocmdoctor.fleet.node_record import NodeRecord

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,252}")
"""Names that Ansible takes as they are: brackets and colons would be ranges and ports, a slash or a quote nothing good."""


def usable(name: str) -> bool:
    """Whether a node's name may stand in an inventory."""
    return _HOST.fullmatch(name) is not None


def render(fleet: Fleet) -> Iterator[str]:
    """Groups by name, hosts in the order of the inputs. Nodes whose name is no host name are left out."""
    groups: dict[str, list[str]] = {}
    for record, differences in fleet.nodes():
        if usable(record.name):
            for group in dict.fromkeys(_groups(record, differences)):
                groups.setdefault(group, []).append(record.name)
    yield "all:\n  children:\n" if groups else "all: {}\n"
    for group in sorted(groups):
        yield f"    {group}:\n      hosts:\n"
        yield from (f"        {json.dumps(name)}:\n" for name in groups[group])


def _groups(record: NodeRecord, differences: Sequence[Difference]) -> Iterator[str]:
    yield _group("verdict", record.verdict)
    for cause, _ in record.causes:
        yield _group("cause", cause)
    for _, gfx, _ in record.gpus:
        if gfx:
            yield _group("gfx", gfx)
    rocm = record.fields["rocm"]
    if rocm:
        yield _group("release", rocm)
    if record.driver_kind:
        yield _group("driver", record.driver_kind)
    if record.fields["os"]:
        yield _group("os", record.fields["os"])
    if differences:
        yield "rocm_differs"


def _group(kind: str, value: str) -> str:
    """Letters, digits and underscores, as Ansible wants group names: rocm_cause_permissions_kfd_access."""
    return f"rocm_{kind}_{re.sub(r'[^a-z0-9]+', '_', value.lower()[:100]).strip('_') or 'unknown'}"
