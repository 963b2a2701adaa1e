"""The fleet as JSON: one object, written node by node. The same inputs always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rocmdoctor.fleet import Fleet
from rocmdoctor.fleet.differences import Difference
from rocmdoctor.fleet.node_record import VERDICTS, NodeRecord
from rocmdoctor.reports.printable import inert_json

SCHEMA_VERSION = 1


def render(fleet: Fleet) -> Iterator[str]:
    """ASCII. Root causes come with their nodes, worst first; `nodes` in the order of the inputs."""
    nodes_of: dict[str, list[str]] = {}
    for record in fleet.spool.records():
        for cause in dict.fromkeys(id for id, _ in record.causes):
            nodes_of.setdefault(cause, []).append(record.name)
    head = {
        "schema_version": SCHEMA_VERSION,
        "summary": {"nodes": fleet.count, **{v: fleet.verdicts[v] for v in VERDICTS}, "unreadable": fleet.unreadable_count},
        "root_causes": [
            {"id": c.id, "title": c.title, "findings": c.findings, "count": c.nodes, "nodes": nodes_of.get(c.id, [])}
            for c in fleet.causes
        ],
        "golden": fleet.reference.golden,
        "expected": [e._asdict() for e in fleet.reference.fields],
        "unreadable": [u._asdict() for u in fleet.unreadable],
    }
    yield inert_json(json.dumps(head, indent=1))[:-2] + ',\n "nodes": ['
    comma = ""
    for record, differences in fleet.nodes():
        yield f"{comma}\n  {inert_json(json.dumps(_node(record, differences)))}"
        comma = ","
    yield "\n ]\n}\n"


def _node(record: NodeRecord, differences: Sequence[Difference]) -> dict[str, Any]:
    return {
        "name": record.name,
        "source": record.source,
        "kind": record.kind,
        "verdict": record.verdict,
        "root_causes": [id for id, _ in record.causes],
        "warnings": [id for id, _ in record.warnings],
        "errors": list(record.errors),
        "environment": record.environment or None,
        "gpus": [{"product": product, "gfx": gfx or None, "count": count} for product, gfx, count in record.gpus],
        **record.fields,
        "differences": [d._asdict() for d in differences],
    }
