"""What a node has that the others have not: its fields and package versions beside those of most nodes, or of the golden one."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rocmdoctor.fleet.node_record import BY_SYSTEM, FIELDS, NodeRecord, Packages

MAX_VALUES = 20_000
"""Different values that are counted in all: strangers may send a different one with every node."""

MAX_PAIRS = 200_000
"""Packages that are kept in memory to be counted together, and to be compared once for all nodes that have the same."""

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
        self._sets: Counter[tuple[str, Packages]] = Counter()
        """Nodes by distribution and all of their packages: like nodes have them in common."""
        self._pairs = 0
        self._kept = 0
        self.cut = False
        """More different values came than are counted."""

    def add(self, record: NodeRecord) -> None:
        for key, value in _fields(record):
            self._count(key, value, 1)
        if record.packages is None:
            return
        system = record.fields["os"] or ""
        self._systems[system] += 1
        alike = (system, record.packages)
        if alike in self._sets:
            self._sets[alike] += 1
        elif self._pairs + len(record.packages) <= MAX_PAIRS:
            self._sets[alike] = 1
            self._pairs += len(record.packages)
        else:
            self._count_packages(*alike, 1)

    def _count(self, key: tuple[str, str], value: str, nodes: int) -> None:
        counter = self._values.get(key)
        if counter is not None and value in counter:
            counter[value] += nodes
        elif self._kept < MAX_VALUES:
            self._values.setdefault(key, Counter())[value] = nodes
            self._kept += 1
        else:
            self.cut = True

    def _count_packages(self, system: str, packages: Packages, nodes: int) -> None:
        for name, version in packages:
            self._count((system, f"package {name}"), version, nodes)

    def majority(self) -> "Reference":
        """The most frequent value of each field; of equally frequent ones the last in the order of text."""
        for (system, packages), nodes in self._sets.items():
            self._count_packages(system, packages, nodes)
        self._sets.clear()
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
        self._told: dict[tuple[str, Packages], tuple[Difference, ...]] = {}
        self._told_size = 0
        self._packages: dict[str, dict[str, str]] = {}
        for (system, what), value in expected.items():
            if what.startswith("package "):
                self._packages.setdefault(system, {})[what.removeprefix("package ")] = value.value

    @classmethod
    def of_golden(cls, record: NodeRecord) -> "Reference":
        """One node is the measure, whatever its distribution."""
        expected = {("", what): Expected(what, "", value, 1, 1) for (_, what), value in _fields(record)}
        reference = cls(expected, record.name)
        if record.packages is not None:
            reference._packages[""] = dict(record.packages)
        return reference

    @property
    def fields(self) -> tuple[Expected, ...]:
        """What is expected of each field, in order; packages are left out."""
        found = [e for (_, what), e in self._expected.items() if what in FIELDS]
        return tuple(sorted(found, key=lambda e: (FIELDS.index(e.what), e.system)))

    def differences(self, record: NodeRecord) -> Iterator[Difference]:
        """Fields in order, then packages by name. What is unknown on either side is no difference."""
        for (system, what), value in _fields(record):
            expected = self._expected.get(("" if self.golden else system, what))
            if expected is not None and expected.value != value:
                yield Difference(what, value, expected.value)
        if record.packages is not None:
            yield from self._of_packages("" if self.golden else record.fields["os"] or "", record.packages)

    def _of_packages(self, system: str, packages: Packages) -> tuple[Difference, ...]:
        """Kept for the next node with the same packages."""
        told = self._told.get((system, packages))
        if told is None:
            told = tuple(self._compare(system, dict(packages)))
            if self._told_size > MAX_PAIRS:
                self._told.clear()
                self._told_size = 0
            self._told[system, packages] = told
            self._told_size += len(packages) + len(told)
        return told

    def _compare(self, system: str, packages: Mapping[str, str]) -> Iterator[Difference]:
        wanted = self._packages.get(system)
        if wanted is None:
            return
        for name in sorted({*wanted, *packages}):
            found, value = packages.get(name, ABSENT), wanted.get(name, ABSENT)
            if found != value:
                yield Difference(f"package {name}", found, value)


def _fields(record: NodeRecord) -> Iterator[tuple[tuple[str, str], str]]:
    """((distribution or "", field), value) of all that is known."""
    system = record.fields["os"] or ""
    for what in FIELDS:
        value = record.fields[what]
        if value is not None:
            yield (system if what in BY_SYSTEM else "", what), value
