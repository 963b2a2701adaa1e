"""What a node has that the others have not: its fields and package versions beside those of most nodes, or of the golden one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rocmdoctor.fleet.node_record import BY_SYSTEM, FIELDS, NodeRecord

MAX_VALUES = 20_000
"""Different values that are counted in all: strangers may send a different one with every node."""

ABSENT = "not installed"


class Difference(NamedTuple):
    """`what`: one of FIELDS, or "package NAME". `found` and `expected` are values, ABSENT for a package that is not there."""

    what: str
    found: str
    expected: str


class Expected(NamedTuple):
    """What one field should be, for the nodes of `system` ("" for all): `nodes` of `known` have it."""

    what: str
    system: str
    value: str
    nodes: int
    known: int


class Tally:
    """Counts values while nodes are read. Kernels, firmware and packages are counted for each distribution apart: their
    versions are of its own making."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Counter[str]] = {}
        self._systems: Counter[str] = Counter()
        """Nodes whose packages are known, by distribution."""
        self._kept = 0
        self.cut = False
        """More different values came than are counted."""

    def add(self, record: NodeRecord) -> None:
        for (system, what), value in _values(record):
            counter = self._values.setdefault((system, what), Counter())
            if value in counter:
                counter[value] += 1
            elif self._kept < MAX_VALUES:
                counter[value] = 1
                self._kept += 1
            else:
                self.cut = True
        if record.packages is not None:
            self._systems[record.fields["os"] or ""] += 1

    def majority(self) -> Reference:
        """The most frequent value of each field; of equally frequent ones the last in the order of text."""
        expected = {}
        for (system, what), counter in self._values.items():
            value, nodes = max(counter.items(), key=lambda pair: (pair[1], pair[0]))
            known = counter.total()
            if what.startswith("package "):
                known = self._systems[system]
                if known - counter.total() >= nodes:
                    value, nodes = ABSENT, known - counter.total()
            expected[system, what] = Expected(what, system, value, nodes, known)
        return Reference(expected, None)


class Reference:
    """What nodes are compared with."""

    def __init__(self, expected: Mapping[tuple[str, str], Expected], golden: str | None) -> None:
        self._expected = expected
        self.golden = golden
        """The name of the golden node; None: the majority."""
        self._packages: dict[str, dict[str, str]] = {}
        for (system, what), value in expected.items():
            if what.startswith("package "):
                self._packages.setdefault(system, {})[what.removeprefix("package ")] = value.value

    @classmethod
    def of_golden(cls, record: NodeRecord) -> Reference:
        """One node is the measure, whatever its distribution."""
        expected = {("", what): Expected(what, "", value, 1, 1) for (_, what), value in _values(record)}
        reference = cls(expected, record.name)
        if record.packages is not None:
            reference._packages.setdefault("", {})
        return reference

    @property
    def fields(self) -> tuple[Expected, ...]:
        """What is expected of each field, in order; packages are left out."""
        found = [e for (_, what), e in self._expected.items() if what in FIELDS]
        return tuple(sorted(found, key=lambda e: (FIELDS.index(e.what), e.system)))

    def differences(self, record: NodeRecord) -> Iterator[Difference]:
        """Fields in order, then packages by name. What is unknown on either side is no difference."""
        for (system, what), value in _values(record):
            if what.startswith("package "):
                continue
            expected = self._expected.get(("" if self.golden else system, what))
            if expected is not None and expected.value != value:
                yield Difference(what, value, expected.value)
        if record.packages is None:
            return
        wanted = self._packages.get("" if self.golden else record.fields["os"] or "")
        if wanted is None:
            return
        for name in sorted({*wanted, *record.packages}):
            found, value = record.packages.get(name, ABSENT), wanted.get(name, ABSENT)
            if found != value:
                yield Difference(f"package {name}", found, value)


def _values(record: NodeRecord) -> Iterator[tuple[tuple[str, str], str]]:
    """((distribution or "", what), value) of all that is known."""
    system = record.fields["os"] or ""
    for what in FIELDS:
        value = record.fields[what]
        if value is not None:
            yield (system if what in BY_SYSTEM else "", what), value
    for name, version in (record.packages or {}).items():
        yield (system, f"package {name}"), version
