"""The report as local facts for Ansible: small, flat where it can be, with keys that Jinja takes after a dot.

Ansible runs an executable /etc/ansible/facts.d/rocm.fact and puts its JSON at ansible_local.rocm (Ansible's documentation,
"Discovering variables: facts and magic variables", facts.d).
"""

from __future__ import annotations

import json
from typing import Any

from rocmdoctor.reports.printable import inert_json
from rocmdoctor.results import Report, Status

SCHEMA_VERSION = 1


def render(report: Report) -> str:
    """One JSON object in ASCII. The same report always gives the same bytes."""
    return inert_json(json.dumps(document(report), indent=2)) + "\n"


def document(report: Report) -> dict[str, Any]:
    """What is unknown is null or an empty list. `root_cause` is the first one in words, `root_causes` are the ids of all."""
    host = report.host
    gpus = host.get("gpus") or []
    installs = sorted(host.get("rocm") or [], key=lambda i: not i.get("active"))
    python = next((p for p in host.get("python") or [] if p.get("torch")), None)
    torch = python["torch"] if python else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "rocmdoctor": report.tool_version,
        "matrix_date": report.matrix_date,
        "verdict": report.verdict,
        "root_cause": next((r.title for r in report.results if r.status is Status.FAIL), None),
        "root_causes": list(report.root_causes),
        "warnings": list(dict.fromkeys(r.id for r in report.results if r.status is Status.WARN)),
        "gfx": list(dict.fromkeys(g["gfx"] for g in gpus if g.get("gfx"))),
        "gpu_count": len(gpus),
        "gpus": [{key: g.get(key) for key in ("product", "gfx", "pci_address", "vram_bytes")} for g in gpus],
        "rocm_version": installs[0].get("version") if installs else None,
        "rocm_versions": [i["version"] for i in installs if i.get("version")],
        "driver": {key: (host.get("amdgpu") or {}).get(key) for key in ("loaded", "kind", "version", "release")},
        "kernel": host.get("kernel"),
        "os": host.get("os"),
        "environment": host.get("environment"),
        "torch": {key: torch.get(key) for key in ("version", "build", "rocm", "hip")},
        "places": {
            "rocm": installs[0].get("root") if installs else None,
            "python": python.get("executable") if python else None,
        },
    }
