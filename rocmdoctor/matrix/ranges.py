"""A span of versions as the file writes it: {from: "6.4", to: "6.4.3"} or {from: "7.9", below: "7.11"}."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Node


class VersionRange(NamedTuple):
    """`first` and `last` are inside (a `last` of X.Y includes every X.Y.Z), `below` is outside; None is open."""

    first: str | None = None
    last: str | None = None
    below: str | None = None

    def holds(self, version: str) -> bool:
        key = versions.key(version)
        if self.first and key < versions.key(self.first):
            return False
        if self.below and key >= versions.key(self.below):
            return False
        if not self.last:
            return True
        numbers = versions.components(self.last)
        return versions.components(version)[: len(numbers)] <= numbers


ALWAYS = VersionRange()


def read_range(node: Node | None) -> VersionRange:
    if node is None:
        return ALWAYS
    fields = node.fields(frozenset(), frozenset({"from", "to", "below"}))
    return VersionRange(
        fields["from"].text() if "from" in fields else None,
        fields["to"].text() if "to" in fields else None,
        fields["below"].text() if "below" in fields else None,
    )
