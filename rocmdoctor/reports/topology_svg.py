"""The drawing of a host's GPU links as one SVG file, for light and dark readers. Host text is escaped; it has no script."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.reports.printable import printable
from rocmdoctor.topology.drawing import Drawing, Shape

STYLE = """
svg{font:12px system-ui,"DejaVu Sans",sans-serif;background:#fff}
text{fill:#1c2430}.faint{fill:#5a6676;font-size:11px}.strong{font-weight:600}
rect{fill:#f4f6f9;stroke:#c6ced9}.gpu{fill:#fff;stroke:#8894a5}path{fill:none;stroke-width:1.6}
.xgmi{stroke:#b3261e}.pcie{stroke:#1f6f43;stroke-dasharray:5 3}.bus{stroke:#2559a8}
.coherent{stroke:#b3261e;stroke-width:2.4}.cpu{stroke:#6b7686;stroke-dasharray:2 3}
@media(prefers-color-scheme:dark){svg{background:#12161c}text{fill:#e6eaf0}.faint{fill:#a3aebd}
rect{fill:#1a2029;stroke:#3a4553}.gpu{fill:#222a35;stroke:#5b6878}
.xgmi,.coherent{stroke:#ff8a80}.pcie{stroke:#6fcf97}.bus{stroke:#82b1ff}.cpu{stroke:#94a0b0}}
"""


def render(drawing: Drawing) -> str:
    """A whole file, encoded by the caller as UTF-8."""
    return "".join(f"{line}\n" for line in _lines(drawing))


def _lines(drawing: Drawing) -> Iterator[str]:
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t">'
    yield f'<title id="t">{_text(drawing.title)}</title>'
    yield f"<style>{STYLE.strip()}</style>"
    yield from map(_shape, drawing.shapes)
    yield "</svg>"


def _shape(shape: Shape) -> str:
    title = f"<title>{_text(shape.title)}</title>" if shape.title else ""
    if shape.kind == "rect":
        x, y, width, height = (f"{n:g}" for n in shape.place)
        return f'<rect class="{shape.name}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6">{title}</rect>'
    if shape.kind == "text":
        return f'<text class="{shape.name}" x="{shape.place[0]:g}" y="{shape.place[1]:g}">{_text(shape.text)}</text>'
    return f'<path class="{shape.name}" d="{shape.text}">{title}</path>'


def _text(text: str) -> str:
    """Host text for XML: without controls (no XML may hold them, however escaped), and escaped."""
    return printable(text, 400).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
