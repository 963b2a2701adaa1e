"""Relations between Debian packages: the Depends and Provides fields, and what of them is not fulfilled (deb-control(5))."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts.package_versions import debian_satisfies

if TYPE_CHECKING:
    from rocmdoctor.facts.packages import Package

_RELATION = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9+._-]*)(?::[A-Za-z0-9-]+)?\s*(?:\(\s*(<<|<=|>=|>>|=|<|>)\s*([^)\s]+)\s*\))?")

_CONFIGURED = frozenset(("installed", "triggers-pending"))
"""States that fulfil a dependency (deb-triggers(5): triggers-awaited does not)."""


class Relation(NamedTuple):
    """One alternative of a dependency: a package name and, unless `operator` is "", the version it must have."""

    name: str
    operator: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.operator} {self.version})" if self.operator else self.name


class Unmet(NamedTuple):
    """A dependency of `package` that nothing installed fulfils. `found`: the package of that name that is there all the same,
    with another version or itself not configured; None when there is none."""

    package: "Package"
    wanted: tuple[Relation, ...]
    found: "Package | None"

    @property
    def waits(self) -> bool:
        """A mere consequence: the right package is there, and is itself broken."""
        return self.found is not None and self.found.broken

    def __str__(self) -> str:
        return " | ".join(map(str, self.wanted))


def relations(text: str) -> tuple[tuple[Relation, ...], ...]:
    """A Depends field: all of the outer tuple must hold, each by any of its alternatives. Architectures and build profiles
    are dropped, and so is what is no relation.

    >>> [[str(r) for r in group] for group in relations("a (>= 1) | b:any, c")] [['a (>= 1)', 'b'], ['c']]"""
    groups = []
    for clause in text.split(","):
        matches = (_RELATION.match(part) for part in clause.split("|"))
        if group := tuple(Relation(m[1], m[2] or "", m[3] or "") for m in matches if m):
            groups.append(group)
    return tuple(groups)


def unmet(packages: "Iterable[Package]") -> tuple[Unmet, ...]:
    """What keeps the broken ones of `packages` (a whole dpkg database) from being configured, in order of the database."""
    by_name: dict[str, list[Package]] = {}
    broken = []
    for package in packages:
        if package.installed:
            by_name.setdefault(package.name, []).append(package)
            if package.broken:
                broken.append(package)
    if not broken:
        return ()
    provided: dict[str, list[tuple[Package, Relation]]] = {}
    for group in by_name.values():
        for package in group:
            if package.provides:
                for alternatives in relations(package.provides):
                    for relation in alternatives:
                        provided.setdefault(relation.name, []).append((package, relation))

    def fulfilled(wanted: Relation) -> bool:
        for package in by_name.get(wanted.name, ()):
            if package.state in _CONFIGURED and (
                not wanted.operator or debian_satisfies(package.full_version, wanted.operator, wanted.version)
            ):
                return True
        for package, offer in provided.get(wanted.name, ()):
            exact = offer.operator == "=" and debian_satisfies(offer.version, wanted.operator, wanted.version)
            if package.state in _CONFIGURED and (exact or not wanted.operator):
                return True
        return False

    found = []
    for package in broken:
        for alternatives in relations(package.depends):
            if not any(map(fulfilled, alternatives)):
                there = next((by_name[r.name][0] for r in alternatives if r.name in by_name), None)
                found.append(Unmet(package, alternatives, there))
    return tuple(found)
