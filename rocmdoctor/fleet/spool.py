"""Records set aside in a file while all are read, so that memory does not grow with the number of nodes.

What nodes have in common (rows of the stack, packages, drawings) is kept once and counted by number: a thousand like nodes cost
a thousand short lines.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Hashable, Iterator
from typing import IO, Any

from rocmdoctor.fleet.node_record import NodeRecord

MAX_COMMON = 20_000
"""Different values of a kind that are kept in memory; what comes later is written out with its node."""
MAX_PACKAGES = 200_000
"""As MAX_COMMON for all the packages of a node together, counted by package."""
MAX_DRAWINGS = 2_000
"""As MAX_COMMON for drawings, which have some thousand characters."""


class Common:
    """Values by number, in the order of their first appearance."""

    def __init__(self, most: int = MAX_COMMON) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._most = most
        self._size = 0

    def number(self, value: Hashable, size: int = 1) -> int | None:
        """The value's number; None when there is no more room for new ones."""
        found = self._numbers.get(value)
        if found is None and self._size + size <= self._most:
            found = self._numbers[value] = len(self._numbers)
            self._size += size
        return found

    def values(self) -> list[Any]:
        """Every numbered value, by number."""
        return list(self._numbers)


class Spool:
    """Written once, then read any number of times."""

    def __init__(self) -> None:
        self._file: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", prefix="rocmdoctor-fleet-")  # noqa: SIM115
        self.layers = Common()
        self.packages = Common(MAX_PACKAGES)
        self.drawings = Common(MAX_DRAWINGS)

    def close(self) -> None:
        self._file.close()

    def add(self, record: NodeRecord) -> None:
        packages: Any = record.packages
        if packages is not None:
            number = self.packages.number(packages, len(packages))
            packages = packages if number is None else number
        line = [
            *record[:-3],
            packages,
            [_short(self.layers, row) for row in record.layers],
            None if record.drawing is None else _short(self.drawings, record.drawing),
        ]
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def records(self) -> Iterator[NodeRecord]:
        """Every record as it was added. `layers` are rows or, where they are common, their numbers; `drawing` the same."""
        self._file.flush()
        self._file.seek(0)
        common = self.packages.values()
        for line in self._file:
            row = json.loads(line)
            if row[-3] is not None:
                row[-3] = common[row[-3]] if isinstance(row[-3], int) else tuple(map(tuple, row[-3]))
            for place in (4, 5, 8):
                row[place] = tuple(map(tuple, row[place]))
            yield NodeRecord(*row)


def _short(common: Common, value: Hashable) -> Any:
    number = common.number(value)
    return value if number is None else number
