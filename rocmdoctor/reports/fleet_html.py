"""The fleet as one HTML page that needs nothing else: no network, no file beside it. The template is in fleet_page/.

Every text is a stranger's. In markup it is escaped; in the data block it is JSON of which no character can end the block; the
page's script shows it as text only. A Content-Security-Policy with the hashes of our own script and style forbids all else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

from rocmdoctor import __version__
from rocmdoctor.fleet import Fleet
from rocmdoctor.fleet.node_record import FIELDS, VERDICTS
from rocmdoctor.fleet.spool import Common
from rocmdoctor.reports.printable import printable

SLOT = re.compile(r"\{\{(\w+)\}\}")
LABELS = {
    "os": "System",
    "gpu": "GPU",
    "kernel": "Kernel",
    "driver": "Driver",
    "rocm": "ROCm",
    "firmware": "Firmware",
    "torch": "PyTorch",
    "package": "Packages",
}


def render(fleet: Fleet) -> Iterator[str]:
    """The page in pieces. `fleet` was merged with details."""
    style, script = _part("page.css"), _part("page.js")
    slots = {
        "policy": f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'",
        "title": f"ROCm fleet, {_many(fleet.count, 'node')}",
        "style": style,
        "script": script,
        "lead": _lead(fleet),
        "verdicts": "".join(_verdict(fleet, verdict) for verdict in VERDICTS),
        "causes": _causes(fleet),
        "measure": _html(_measure(fleet)),
        "differences": _differences(fleet),
        "unreadable": _unreadable(fleet),
        "footer": f"rocmdoctor {__version__}",
    }
    pieces = SLOT.split(_part("page.html"))
    yield pieces[0]
    for name, after in zip(pieces[1::2], pieces[2::2], strict=True):
        if name == "data":
            yield from _data(fleet)
        else:
            yield slots[name]
        yield after


def _part(name: str) -> str:
    """A file of the template."""
    data = pkgutil.get_data(__package__, f"fleet_page/{name}")
    assert data is not None, f"{name} was not installed"
    return data.decode()


def _digest(text: str) -> str:
    """As a Content-Security-Policy names an inline script or style (CSP 3, section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _html(text: str, limit: int = 300) -> str:
    return escape(printable(text, limit))


def _json(value: Any) -> str:
    """JSON that may stand in a script element: ASCII, and without the characters that begin a tag or a comment there."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


# what is shown above the table -----------------------------------------------------------------------------------


def _lead(fleet: Fleet) -> str:
    words = _many(fleet.count, "node")
    if fleet.unreadable_count:
        words += f"; {_many(fleet.unreadable_count, 'input')} could not be read"
    if fleet.errors:
        words += f"; a check broke on {_many(fleet.errors, 'node')}"
    return f"{words}."


def _verdict(fleet: Fleet, verdict: str) -> str:
    count = f"<b>{fleet.verdicts[verdict]:,}</b><span>{verdict}</span>"
    return f'<button type="button" class="{verdict}" data-verdict="{verdict}" aria-pressed="false">{count}</button>'


def _causes(fleet: Fleet) -> str:
    if not fleet.causes:
        return '<p class="empty">Nothing failed on any node.</p>'
    items = []
    for number, cause in enumerate(fleet.causes):
        title = f'<span class="soft">{_html(cause.words)}</span>' if cause.title else ""
        words = f"<b>{cause.nodes:,}</b><span><code>{_html(cause.id)}</code></span>{title}"
        items.append(f'<li><button type="button" data-cause="{number}" aria-pressed="false">{words}</button></li>')
    return f'<ul class="pick {_width(fleet.causes[0].nodes)}">{"".join(items)}</ul>'


def _measure(fleet: Fleet) -> str:
    return f"the node {fleet.reference.golden}" if fleet.reference.golden else "the majority"


def _differences(fleet: Fleet) -> str:
    """How many nodes differ in each field, and what is expected there."""
    counts: Counter[str] = Counter()
    for _, differences in fleet.nodes():
        counts.update({d.what.partition(" ")[0] for d in differences})
    if not counts:
        return '<p class="empty">No node differs.</p>'
    items = []
    for what in (*FIELDS, "package"):
        if counts[what]:
            expected = [e for e in fleet.reference.fields if e.what == what]
            words = "; ".join(e.value + (f" on {e.system}" if e.system and len(expected) > 1 else "") for e in expected[:4])
            words += f" and {len(expected) - 4} more" if len(expected) > 4 else ""
            said = f'<span class="soft">expected: {_html(words)}</span>' if words else ""
            label = f"<b>{counts[what]:,}</b><span>{LABELS[what]}</span>{said}"
            items.append(f'<li><button type="button" data-field="{what}" aria-pressed="false">{label}</button></li>')
    note = '<p class="empty">Too many different values came to compare all of them.</p>' if fleet.cut else ""
    return f'<ul class="pick {_width(max(counts.values()))}">{"".join(items)}</ul>{note}'


def _width(most: int) -> str:
    """The class that makes room for numbers up to `most`."""
    return f"w{min(len(f'{most:,}'), 7)}"


def _unreadable(fleet: Fleet) -> str:
    if not fleet.unreadable_count:
        return ""
    items = "".join(f"<li><code>{_html(u.source)}</code> {_html(u.reason)}</li>" for u in fleet.unreadable)
    if fleet.unreadable_count > len(fleet.unreadable):
        items += f"<li>and {fleet.unreadable_count - len(fleet.unreadable)} more</li>"
    heading = f"{_many(fleet.unreadable_count, 'input')} could not be read"
    return f'<details class="unreadable"><summary>{heading}</summary><ul>{items}</ul></details>'


# what the script gets --------------------------------------------------------------------------------------------


def _data(fleet: Fleet) -> Iterator[str]:
    """One object. Texts, differences, layers and drawings that nodes have in common are numbers into the tables behind them."""
    texts, differences = Common(), Common()

    def text(value: str | None) -> Any:
        if value is None:
            return None
        shown = printable(value, 300)
        number = texts.number(shown)
        return shown if number is None else number

    def named(pairs: Any) -> list[list[Any]]:
        return [[text(id), text(title)] for id, title in pairs]

    def difference(d: Any) -> Any:
        row = tuple(text(value) for value in d)
        number = differences.number(row)
        return list(row) if number is None else number

    yield f'{{"fields":{_json(FIELDS)},"measure":{_json(printable(_measure(fleet), 300))},"nodes":['
    gfx: list[str] = []
    comma = ""
    for record, found in fleet.nodes():
        row = [
            printable(record.name, 300),
            printable(record.source, 300),
            record.kind,
            VERDICTS.index(record.verdict),
            named(record.causes),
            named(record.warnings),
            [text(id) for id in record.errors],
            text(record.environment),
            [text(record.fields[what]) for what in FIELDS],
            [difference(d) for d in found],
            [layer if isinstance(layer, int) else _layer(layer) for layer in record.layers],
            record.drawing if record.drawing is None or isinstance(record.drawing, int) else _drawing(record.drawing),
        ]
        gfx.append(_json(text(" ".join(g for _, g, _ in record.gpus))))
        yield f"{comma}\n{_json(row)}"
        comma = ","
    yield f'],\n"gfx":[{",".join(gfx)}],\n"causes":{_json([text(c.id) for c in fleet.causes])},\n"layers":['
    yield from _joined(_layer(row) for row in fleet.spool.layers.values())
    yield '],\n"drawings":['
    yield from _joined(_drawing(drawing) for drawing in fleet.spool.drawings.values())
    yield f'],\n"differences":{_json(differences.values())},\n"texts":{_json(texts.values())}}}'


def _joined(values: Iterator[Any]) -> Iterator[str]:
    comma = ""
    for value in values:
        yield f"{comma}\n{_json(value)}"
        comma = ","


def _layer(row: Any) -> list[str]:
    return [printable(value, 300) for value in row]


def _drawing(drawing: str) -> list[Any]:
    """Width, height, title and shapes of what `fleet.node_record` wrote."""
    width, height, title, shapes = json.loads(drawing)
    made = [[kind, name, place, printable(text, 4000), printable(hint, 300)] for kind, name, place, text, hint in shapes]
    return [width, height, printable(title, 300), made]
