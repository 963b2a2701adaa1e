"""The stack as JSON: one object, its rows in order from the GPU up. The same stack always gives the same bytes."""

from __future__ import annotations

import json

from rocmdoctor.reports.printable import inert_json
from rocmdoctor.stack import Stack

SCHEMA_VERSION = 1


def render(stack: Stack) -> str:
    """ASCII, so that what a terminal might act upon stays escaped. `check`: the id of the finding behind a row, or null."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "rocmdoctor", "version": stack.tool_version, "matrix_date": stack.matrix_date},
        "host": stack.host,
        "rocm": stack.rocm,
        "layers": [
            {
                "group": layer.group,
                "name": layer.name,
                "version": layer.version,
                "source": layer.source,
                "fit": layer.fit,
                "why": layer.why,
                "check": layer.check,
            }
            for layer in stack.layers
        ],
    }
    return inert_json(json.dumps(document, indent=2)) + "\n"
