"""A view of many hosts at once: any number of snapshots and reports merged into one.

Inputs are found one after another (inputs), read by processes on every core (pool, reading) and set aside in a file (spool)
while what they have in common is counted (differences). A second pass over the file gives each node with its differences.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import TracebackType

    from rocmdoctor.fleet.differences import Difference, Reference
    from rocmdoctor.fleet.node_record import NodeRecord
    from rocmdoctor.fleet.reading import Unreadable
    from rocmdoctor.fleet.spool import Spool

MAX_CAUSES, MAX_TITLES = 1000, 200
"""Different root causes, and different titles of one, that are told apart."""
OTHER = "something else"
MAX_UNREADABLE = 1000
"""Unreadable inputs that are named; all are counted."""


class FleetError(Exception):
    """Wrong input as a whole: nothing could be read, or the golden node is not among the nodes. Exit status 2."""


class Cause(NamedTuple):
    """A failed check: on how many nodes, and how many different findings it had there. `title` is the most frequent one; a node
    counts with its first."""

    id: str
    title: str
    nodes: int
    findings: int

    @property
    def words(self) -> str:
        """The title, and that there are others."""
        others = self.findings - 1
        return self.title + (f" (and {others} other finding{'' if others == 1 else 's'})" if others else "")


class Fleet:
    """What was read. Close it, or use it in a `with` block: it holds a temporary file."""

    def __init__(self, spool: "Spool") -> None:
        self.spool = spool
        self.verdicts: Counter[str] = Counter()
        self.unreadable: list[Unreadable] = []
        self.unreadable_count = 0
        self.errors = 0
        """Nodes on which a check broke."""
        self.causes: tuple[Cause, ...] = ()
        self.reference: Reference
        self.cut = False
        """Too many different values came to compare all of them."""

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None") -> None:
        self.spool.close()

    @property
    def count(self) -> int:
        """Nodes that were read."""
        return self.verdicts.total()

    def nodes(self) -> "Iterator[tuple[NodeRecord, tuple[Difference, ...]]]":
        """Every node in the order of the inputs, with its differences. Reads the file again each time."""
        for record in self.spool.records():
            yield record, tuple(self.reference.differences(record))


def merge(
    paths: Sequence[str], *, golden: str | None = None, matrix: str | None = None, details: bool = False, jobs: int = 0
) -> Fleet:
    """Read everything that `paths` name. `golden`: the node to compare with; None: the majority. `details`: with the stack and
    the drawing of each node, for the page. `jobs`: processes, 0 for one each core.

    Raises FleetError, matrix.MatrixError, and KeyboardInterrupt when interrupted; then nothing is left behind.
    """
    from rocmdoctor.fleet.inputs import find
    from rocmdoctor.fleet.pool import Settings, read_all
    from rocmdoctor.fleet.spool import Spool

    fleet = Fleet(Spool())
    try:
        with closing(read_all(find(list(paths)), Settings(matrix, details), jobs)) as answers:
            _take_in(fleet, answers, golden)
    except BaseException:
        fleet.spool.close()
        raise
    return fleet


def _take_in(fleet: Fleet, answers: "Iterable[NodeRecord | Unreadable]", golden: str | None) -> None:
    from rocmdoctor.fleet.differences import Reference, Tally
    from rocmdoctor.fleet.reading import Unreadable

    tally = Tally()
    names: Counter[str] = Counter()
    causes: dict[str, Counter[str]] = {}
    best: NodeRecord | None = None
    for answer in answers:
        if isinstance(answer, Unreadable):
            fleet.unreadable_count += 1
            if len(fleet.unreadable) < MAX_UNREADABLE:
                fleet.unreadable.append(answer)
            continue
        names[answer.name] += 1
        record = answer if names[answer.name] == 1 else answer._replace(name=f"{answer.name}~{names[answer.name]}")
        if golden is not None and record.name == golden:
            best = record
        fleet.verdicts[record.verdict] += 1
        fleet.errors += bool(record.errors)
        for id, title in dict(reversed(record.causes)).items():
            if id in causes or len(causes) < MAX_CAUSES:
                titles = causes.setdefault(id, Counter())
                titles[title if title in titles or len(titles) < MAX_TITLES else OTHER] += 1
        tally.add(record)
        fleet.spool.add(record)
    if not fleet.count:
        first = f": {fleet.unreadable[0].source}: {fleet.unreadable[0].reason}" if fleet.unreadable else ""
        raise FleetError(f"no snapshot and no report could be read{first}")
    if golden is not None and best is None:
        raise FleetError(f"--golden {golden}: no node of that name was read")
    fleet.reference = Reference.of_golden(best) if best else tally.majority()
    fleet.cut = tally.cut
    found = (
        Cause(id, max(titles.items(), key=lambda t: (t[1], t[0]))[0], titles.total(), len(titles))
        for id, titles in causes.items()
    )
    fleet.causes = tuple(sorted(found, key=lambda cause: (-cause.nodes, cause.id)))
