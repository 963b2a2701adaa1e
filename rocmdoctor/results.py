"""What checks yield and what a report holds. Shapes and words are those of the report contract, schema 1."""

from enum import Enum
from typing import Any, NamedTuple

UNKNOWN = "unknown: "
"""How the detail of a check begins that was skipped because a fact is unknown."""


class Status(str, Enum):
    """pass | warn | fail | skip | error; only warn and fail speak of the host."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


class Evidence(NamedTuple):
    """Where a fact was read (a path or a command line) and what it said."""

    source: str
    value: str


class Fix(NamedTuple):
    """A remedy as data. `commands` are argv tuples; a fix without commands is advice in its title.

    `needs`: any of root, network, relogin, reboot. `automatic`: `rocmdoctor fix` may apply it. `verify`: the
    argv that shows whether it worked.
    """

    title: str
    commands: tuple[tuple[str, ...], ...] = ()
    needs: tuple[str, ...] = ()
    automatic: bool = False
    verify: tuple[str, ...] = ()


class Finding(NamedTuple):
    """One thing that is wrong (FAIL) or deserves notice (WARN)."""

    status: Status
    title: str
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    docs: tuple[str, ...] = ()


def misshapen(yielded: Any) -> str | None:
    """What is wrong with the shape of what a check yielded, or None: a plug-in may yield what no report can be made of."""
    if not isinstance(yielded, Finding):
        return f"it yielded a {type(yielded).__name__} where a Finding belongs"
    found: Any = yielded
    if found.status is not Status.WARN and found.status is not Status.FAIL:
        return "the status of its finding is neither Status.WARN nor Status.FAIL"
    if not _texts(found.title, found.detail):
        return "title and detail of its finding must be texts"
    for name, kind in (("evidence", Evidence), ("fixes", Fix), ("docs", str)):
        values = getattr(found, name)
        if not isinstance(values, tuple) or not all(isinstance(v, kind) for v in values):
            return f"`{name}` of its finding must be a tuple of {kind.__name__}"
    if not all(_texts(e.source, e.value) for e in found.evidence):
        return "source and value of its evidence must be texts"
    for fix in found.fixes:
        if not all(isinstance(argv, tuple) and argv for argv in fix.commands) or not isinstance(fix.verify, tuple):
            return "a command of its fix must be a tuple of words"
        if not _texts(fix.title, *fix.needs, *fix.verify, *(word for argv in fix.commands for word in argv)):
            return "title, needs and the words of commands of its fix must be texts"
    return None


def _texts(*values: object) -> bool:
    return all(isinstance(v, str) for v in values)


class Result(NamedTuple):
    """A judged check. `because_of` names the failed check that a skipped one depends on; `seconds` is how long it took."""

    id: str
    area: str
    status: Status
    title: str
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    docs: tuple[str, ...] = ()
    because_of: str | None = None
    seconds: float = 0.0

    @property
    def severity(self) -> str:
        return {Status.FAIL: "error", Status.WARN: "warning", Status.ERROR: "error"}.get(self.status, "info")


class Report(NamedTuple):
    """Everything a renderer needs: pure data, JSON-ready in `host`, plus the results in order of layer."""

    host: dict[str, Any]
    results: tuple[Result, ...]
    matrix_date: str
    tool_version: str
    notices: tuple[str, ...] = ()
    unseen: str | None = None
    """Why it is unknown whether there is an AMD GPU; None where that is known."""

    def count(self, status: Status) -> int:
        return sum(r.status is status for r in self.results)

    @property
    def root_causes(self) -> tuple[str, ...]:
        """Ids of the failed checks (warnings when nothing failed count as no root cause), each once."""
        return tuple(dict.fromkeys(r.id for r in self.results if r.status is Status.FAIL))

    @property
    def presence_unknown(self) -> str | None:
        """Why it is unknown whether there is an AMD GPU, or None where that is known."""
        if self.host.get("gpus"):
            return None
        if self.unseen is not None:
            return self.unseen
        skipped = (r.detail for r in self.results if r.area == "gpu_present" and r.status is Status.SKIP)
        return next((d.removeprefix(UNKNOWN) for d in skipped if d.startswith(UNKNOWN)), None)

    @property
    def unjudged(self) -> str | None:
        """Why nothing can be said of this host; None where something can. Nothing was judged, or it is unknown whether there is
        an AMD GPU and nothing was found that is wrong for certain."""
        if self.count(Status.FAIL):
            return None
        if doubt := self.presence_unknown:
            return f"it is unknown whether there is an AMD GPU ({doubt.rstrip('.')})"
        if self.count(Status.PASS) + self.count(Status.WARN):
            return None
        skipped = [r for r in self.results if r.status is Status.SKIP]
        reasons = [r.detail.removeprefix(UNKNOWN) for r in skipped if r.detail.startswith(UNKNOWN) and not r.because_of]
        return max(reasons or [r.detail for r in skipped] or ["no check was run"], key=reasons.count).rstrip(".")

    @property
    def verdict(self) -> str:
        """healthy | degraded | broken | no-amd-gpu."""
        failed = self.root_causes
        if not self.host.get("gpus") and all(cause.startswith("gpu_present.") for cause in failed):
            return "no-amd-gpu"
        if failed:
            return "broken"
        return "degraded" if self.count(Status.WARN) else "healthy"
