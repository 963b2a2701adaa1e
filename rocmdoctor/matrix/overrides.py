"""HSA_OVERRIDE_GFX_VERSION: what a value does on a gfx target."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

import re
from typing import NamedTuple

from rocmdoctor.matrix.document import Document, Node
from rocmdoctor.matrix.gpu_ids import GfxTarget, override_value
from rocmdoctor.matrix.ranges import VersionRange, read_range

VERDICTS = ("ok", "risky", "harmful", "wrong", "noop", "unknown")
_VALUE = re.compile(r"(\d{1,2})\.(\d{1,3})\.(\d{1,3})")
_RULE = frozenset({"rocm", "confidence"})


class OverrideRule(NamedTuple):
    """`verdict`: ok (runs, unofficial) | risky | harmful | wrong (cannot work) | noop (the real target) | unknown."""

    verdict: str
    reason: str
    source: tuple[str, ...]
    confidence: str | None = None


class OverrideNotes(NamedTuple):
    """What holds for any target. `per_node_since`: the release that knows HSA_OVERRIDE_GFX_VERSION_<node>."""

    per_node_since: str
    empty: OverrideRule
    mixed: OverrideRule
    other_major: OverrideRule
    form: str


class _Rule(NamedTuple):
    gfx: tuple[str, ...]
    value: str
    rocm: VersionRange
    outcome: OverrideRule


class Overrides(NamedTuple):
    notes: OverrideNotes
    rules: tuple[_Rule, ...]

    def judge(self, gfx: str, target: GfxTarget | None, value: str, rocm: str | None) -> OverrideRule:
        """The first of: empty, malformed, the real target, another major version, a row of the table, register counts."""
        if value == "":
            return self.notes.empty
        parts = _parse(value)
        if parts is None:
            return OverrideRule("wrong", f"{value!r} is no version of the form {self.notes.form}", self.notes.empty.source)
        own = override_value(gfx)
        if ".".join(map(str, parts)) == own:
            reason = f"{value} is what {gfx} is: the setting does nothing"
            return OverrideRule("noop", reason, ())
        if parts[0] != int(own.partition(".")[0]):
            return self.notes.other_major
        for rule in self.rules:
            if gfx in rule.gfx and rule.value in (".".join(map(str, parts)), "*") and (rocm is None or rule.rocm.holds(rocm)):
                if rocm is None and rule.rocm.last and rule.rocm.last == rule.rocm.first:
                    continue  # a regression of one release does not speak for an unknown one
                return rule.outcome
        if target and target.vgpr_class == "small" and _pretended(parts) in _LARGE:
            reason = f"{gfx} has fewer registers than {_pretended(parts)}: kernels can fail or hang"
            return OverrideRule("risky", reason, ("libhsakmt", "llvm"), "inference from register counts")
        return OverrideRule("unknown", f"nothing is known of {value} on {gfx}", ())

    def right_values(self, gfx: str, rocm: str | None) -> tuple[tuple[str, str], ...]:
        """Values that run on this target although nobody promises it, with the target they pretend: ("10.3.0", "gfx1030")."""
        found = []
        for rule in self.rules:
            parts = _parse(rule.value)
            if parts and gfx in rule.gfx and self.judge(gfx, None, rule.value, rocm).verdict == "ok":
                found.append((rule.value, _pretended(parts)))
        return tuple(dict.fromkeys(found))


_LARGE = ("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")


def _parse(value: str) -> tuple[int, int, int] | None:
    """major.minor.stepping in decimal; None for "9.0.a", "11.0" or numbers beyond 63.255.255."""
    found = _VALUE.fullmatch(value)
    if not found:
        return None
    major, minor, stepping = (int(part) for part in found.groups())
    return (major, minor, stepping) if major <= 63 and minor <= 255 and stepping <= 255 else None


def _pretended(parts: tuple[int, int, int]) -> str:
    return f"gfx{parts[0]}{parts[1]:x}{parts[2]:x}"


def read_overrides(doc: Document) -> Overrides:
    required = frozenset({"source", "form", "per_node", "empty", "mixed", "other_major", "rules"})
    fields = doc.section("overrides").fields(required)
    fields["source"].sources()
    per_node = fields["per_node"].fields(frozenset({"since", "source", "note"}))
    per_node["source"].sources()
    notes = OverrideNotes(
        per_node_since=per_node["since"].text(),
        empty=_outcome(fields["empty"]),
        mixed=_outcome(fields["mixed"]),
        other_major=_outcome(fields["other_major"]),
        form=fields["form"].text(),
    )
    rules = []
    for node in fields["rules"].sequence():
        row = node.fields(frozenset({"gfx", "value", "verdict", "reason", "source"}), _RULE)
        value = row["value"].text()
        if value != "*" and _parse(value) is None:
            raise row["value"].fail(f"{value!r} is not major.minor.stepping")
        rules.append(_Rule(row["gfx"].texts(), value, read_range(row.get("rocm")), _outcome(node, row)))
    return Overrides(notes, tuple(rules))


def _outcome(node: Node, row: dict[str, Node] | None = None) -> OverrideRule:
    fields = row or node.fields(frozenset({"verdict", "reason", "source"}), frozenset({"confidence"}))
    return OverrideRule(
        fields["verdict"].word(VERDICTS),
        fields["reason"].text(),
        fields["source"].sources(),
        fields["confidence"].text() if "confidence" in fields else None,
    )
