"""The stack as text: a line per layer within the width, and a second one that says why where a layer does not plainly fit."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.reports.printable import printable, style, wrap
from rocmdoctor.stack import DIFFERS, FITS, MISSING, UNKNOWN, Layer, Stack

COLUMNS = 60
"""Fewer are too few for a table."""
NAME, VERSION, FIT = 16, 22, 9
"""Columns of the first three fields; the origin takes the rest."""
MARGIN = " " * NAME
HEADINGS = {
    "hardware": "Hardware",
    "driver": "Kernel and driver",
    "runtime": "Run time",
    "compiler": "Compiler",
    "libraries": "Libraries",
    "tools": "Tools",
    "frameworks": "Frameworks",
}
STYLES = {FITS: "pass", DIFFERS: "warn", UNKNOWN: "faint", MISSING: "faint"}
WORDS = ((FITS, "fit"), (DIFFERS, "differ"), (UNKNOWN, "unknown"), (MISSING, "not installed"))


def render(stack: Stack, *, verbose: bool = False, color: bool = False, width: int = 80) -> str:
    """`stack` for a terminal of `width` columns (40 at least). `verbose`: also why a layer fits. Host text is escaped."""
    return "".join(f"{line}\n" for line in _lines(stack, verbose, color, max(width, 40)))


def _lines(stack: Stack, verbose: bool, color: bool, width: int) -> Iterator[str]:
    narrow = width < COLUMNS
    if not narrow:
        yield style(f"{'Layer':<{NAME}}{'Version':<{VERSION}}{'Fit':<{FIT}}From", "strong", color)
    group = name = ""
    for layer in stack.layers:
        if layer.group != group:
            group, name = layer.group, ""
            yield style(HEADINGS.get(group, group), "faint", color)
        label = "" if layer.name == name else layer.name
        name = layer.name
        yield from (_narrow_row(layer, verbose, width) if narrow else _row(layer, label, verbose, color, width))
    counts = ", ".join(f"{stack.count(fit)} {word}" for fit, word in WORDS if stack.count(fit))
    against = f", compared with ROCm {printable(stack.rocm, 20)}" if stack.rocm else ""
    yield ""
    yield from wrap(f"{len(stack.layers)} layers{against}: {counts}.", width)


def _narrow_row(layer: Layer, verbose: bool, width: int) -> Iterator[str]:
    """The same as sentences, for a terminal too narrow for columns."""
    parts = [layer.version or "-", layer.fit, *([layer.source] if layer.source else [])]
    yield from wrap(f"{printable(layer.name, 40)}: {', '.join(printable(p, 300) for p in parts)}", width, "    ", "  ")
    if layer.why and (verbose or layer.fit != FITS):
        yield from wrap(printable(layer.why, 300), width, "    ", "    ")


def _row(layer: Layer, label: str, verbose: bool, color: bool, width: int) -> Iterator[str]:
    shown = f"  {printable(label, 40)}"
    if layer.fit == MISSING and not (layer.version or layer.source):
        yield style(f"{shown:<{NAME}}{'-':<{VERSION}}{MISSING}", "faint", color)
    else:
        version = printable(layer.version or "-", 60)
        source = printable(layer.source or "", 300)
        fit = "-" if layer.fit == MISSING else layer.fit
        head = f"{shown:<{NAME}}{version:<{VERSION}}"
        if len(version) >= VERSION:  # a long version has its line, and the rest follows in its column
            yield f"{shown:<{NAME}}{version}"
            head = " " * (NAME + VERSION)
        line = f"{head}{fit:<{FIT}}"
        if max(map(len, source.split()), default=0) > width - len(line):  # a long path has lines of its own
            lines = [line, *wrap(source, width, MARGIN)]
        else:
            lines = wrap(source, width, " " * len(line), line) or [line]
        start = len(head)
        first = lines[0].rstrip()
        yield first[:start] + style(first[start : start + len(fit)], STYLES[layer.fit], color) + first[start + len(fit) :]
        yield from lines[1:]
    if layer.why and (verbose or layer.fit != FITS):
        words = printable(layer.why, 300) + (f" [{printable(layer.check, 80)}]" if layer.check else "")
        yield from wrap(words, width, MARGIN)
