"""The fleet as text: nodes by verdict, root causes with their nodes, differences, and what could not be read."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rocmdoctor.fleet import Fleet
from rocmdoctor.fleet.node_record import VERDICTS
from rocmdoctor.reports.printable import printable, style, wrap

STYLES = {"broken": "fail", "degraded": "warn", "no-amd-gpu": "faint", "healthy": "pass"}
NAMED, NAMED_VERBOSE = 24, 100_000
"""Nodes that are named in one place; the others are counted."""
ROWS, ROWS_VERBOSE = 20, 2000
"""Values of fields and packages that are shown."""
MOST = 20_000
"""Different values that are kept: strangers may send a different one with every node."""


class Named:
    """Nodes of one kind: how many, and the first names."""

    __slots__ = ("count", "names")

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []

    def add(self, name: str, most: int) -> None:
        self.count += 1
        if len(self.names) < most:
            self.names.append(name)

    def __str__(self) -> str:
        more = self.count - len(self.names)
        return ", ".join(self.names) + (f" and {more} more" if more else "")


class _Found(NamedTuple):
    verdicts: dict[str, Named]
    causes: dict[str, Named]
    fields: dict[tuple[str, str, str], Named]
    packages: dict[tuple[str, str, str], Named]
    differing: Named


def render(fleet: Fleet, *, verbose: bool = False, color: bool = False, width: int = 80) -> Iterator[str]:
    """Lines for a terminal of `width` columns (60 at least). `verbose`: name every node. What hosts say is escaped."""
    width = max(width, 60)
    found = _sort_out(fleet, NAMED_VERBOSE if verbose else NAMED)
    for section in (
        _summary(fleet, width, color),
        _verdicts(found, width, color),
        _causes(fleet, found, width, color),
        _differences(fleet, found, width, color, ROWS_VERBOSE if verbose else ROWS),
        _unreadable(fleet, width, color),
    ):
        yield from (f"{line}\n" for line in section)


def _sort_out(fleet: Fleet, most: int) -> _Found:
    found = _Found({}, {}, {}, {}, Named())
    for record, differences in fleet.nodes():
        name = printable(record.name, 80)
        found.verdicts.setdefault(record.verdict, Named()).add(name, most)
        for cause in dict.fromkeys(id for id, _ in record.causes):
            found.causes.setdefault(cause, Named()).add(name, most)
        for what, value, expected in differences:
            kind = found.packages if what.startswith("package ") else found.fields
            if (what, expected, value) in kind or len(kind) < MOST:
                kind.setdefault((what, expected, value), Named()).add(name, most)
        if differences:
            found.differing.add(name, most)
    return found


def _summary(fleet: Fleet, width: int, color: bool) -> Iterator[str]:
    counts = ", ".join(f"{fleet.verdicts[v]} {v}" for v in VERDICTS if fleet.verdicts[v])
    words = f"{_many(fleet.count, 'node')}: {counts}"
    if fleet.unreadable_count:
        words += f"; {_many(fleet.unreadable_count, 'input')} could not be read"
    if fleet.errors:
        words += f"; a check broke on {_many(fleet.errors, 'node')}"
    yield from (style(line, "strong", color) for line in wrap(f"{words}.", width))


def _verdicts(found: _Found, width: int, color: bool) -> Iterator[str]:
    yield ""
    yield style("Nodes by verdict", "strong", color)
    for verdict in VERDICTS:
        if nodes := found.verdicts.get(verdict):
            head, *rest = wrap(str(nodes), width, " " * 16, f"  {verdict:<14}")
            yield head[:2] + style(head[2:16], STYLES[verdict], color) + head[16:]
            yield from rest


def _causes(fleet: Fleet, found: _Found, width: int, color: bool) -> Iterator[str]:
    if not fleet.causes:
        return
    yield ""
    yield style("Root causes", "strong", color)
    for cause in fleet.causes:
        title = f": {printable(cause.words, 200)}" if cause.title else ""
        first, *rest = wrap(f"{printable(cause.id, 80)} on {_many(cause.nodes, 'node')}{title}", width, "    ", "  ")
        yield style(first, "fail", color)
        yield from rest
        yield from wrap(str(found.causes.get(cause.id, "")), width, "    ")


def _differences(fleet: Fleet, found: _Found, width: int, color: bool, rows: int) -> Iterator[str]:
    measure = f"the node {printable(fleet.reference.golden, 80)}" if fleet.reference.golden else "the majority"
    yield ""
    if not found.differing.count:
        yield style(f"No node differs from {measure}.", "strong", color)
        return
    yield style(f"Differences from {measure}", "strong", color)
    for expected in fleet.reference.fields:
        same = [(f, nodes) for (what, e, f), nodes in found.fields.items() if (what, e) == (expected.what, expected.value)]
        if not same:
            continue
        system = f" on {printable(expected.system, 60)}" if expected.system else ""
        count = "" if fleet.reference.golden else f" ({expected.nodes} of {expected.known})"
        yield from wrap(f"{expected.what}{system}: {printable(expected.value, 160)}{count}", width, "    ", "  ")
        yield from _values(((value, nodes) for value, nodes in same), rows, width)
    yield from _packages(found, rows, width)
    if fleet.cut:
        yield from wrap("Too many different values came to compare all of them.", width, "  ")


def _packages(found: _Found, rows: int, width: int) -> Iterator[str]:
    """Packages that differ, those of most nodes first."""
    pairs = sorted(found.packages.items(), key=lambda pair: (-pair[1].count, pair[0]))
    for (what, expected, value), nodes in pairs[:rows]:
        words = f"{printable(what, 100)}: {printable(value, 100)} instead of {printable(expected, 100)}"
        yield from wrap(f"{words}, {_many(nodes.count, 'node')}: {nodes}", width, "      ", "  ")
    if len(pairs) > rows:
        yield f"  and {len(pairs) - rows} more versions of packages"


def _values(values: Iterable[tuple[str, Named]], rows: int, width: int) -> Iterator[str]:
    pairs = sorted(values, key=lambda pair: (-pair[1].count, pair[0]))
    for value, nodes in pairs[:rows]:
        yield from wrap(f"{printable(value, 160)}, {_many(nodes.count, 'node')}: {nodes}", width, "      ", "    ")
    if len(pairs) > rows:
        yield f"    and {len(pairs) - rows} more values"


def _unreadable(fleet: Fleet, width: int, color: bool) -> Iterator[str]:
    if not fleet.unreadable_count:
        return
    yield ""
    yield style("Not read", "strong", color)
    for one in fleet.unreadable:  # one line each, so that they can be counted and searched
        yield f"  {printable(one.source, 300)}: {printable(one.reason, 300)}"
    if fleet.unreadable_count > len(fleet.unreadable):
        yield f"  and {fleet.unreadable_count - len(fleet.unreadable)} more"


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
