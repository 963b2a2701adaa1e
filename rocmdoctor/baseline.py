"""Accepted findings: what is known of a host, or of many of one kind, has a reason, and ends on a date.

A baseline is a YAML file that people edit. It names findings by check and fingerprint (rocmdoctor/fingerprint.py), never hosts or
users, so that one file serves all nodes of a kind. An entry counts only with a reason and until its date, the last day included.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rocmdoctor.fingerprint import fingerprint, general_title
from rocmdoctor.results import Report, Result, Status

DAYS = 90
"""How long a new entry is accepted."""
MOST_BYTES = 1 << 20
"""Size of a baseline file at most."""
LONGEST_TITLE = 300
SCHEMA_VERSION = 1
FINDINGS = (Status.FAIL, Status.WARN)
PREFIX = "sha256-"
"""Begins a fingerprint in the file: sixteen digits alone might be read as a number by YAML."""

HEADER = """\
# Findings of rocmdoctor that are accepted. `rocmdoctor check --baseline FILE` does not count them.
# An entry counts when it has a reason, and through the day `until`. The title is for readers.
"""


class BaselineError(Exception):
    """The file cannot be read, written or understood: wrong input. `str()` of it says which file and what about it."""


class Entry(NamedTuple):
    """One accepted finding. `title` is the general one, for readers; `until` is the last day on which the entry counts."""

    id: str
    fingerprint: str
    reason: str
    until: datetime.date
    title: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.id, self.fingerprint

    def counts(self, today: datetime.date) -> bool:
        return bool(self.reason) and today <= self.until


class Baseline(NamedTuple):
    """What a file holds, in its order."""

    entries: tuple[Entry, ...] = ()


# judging ---------------------------------------------------------------------------------------------------------


def apply(report: Report, baseline: Baseline, today: datetime.date) -> Report:
    """`report` with the accepted findings as `skip`, and a notice for each entry that no longer serves.

    A skipped finding keeps its title and evidence, and loses its remedies. What is `skip` because of it stays so.
    """
    accepted = {e.key: e for e in baseline.entries if e.counts(today)}
    results: list[Result] = []
    for result in report.results:
        entry = accepted.get((result.id, fingerprint(result))) if result.status in FINDINGS else None
        results.append(_accept(result, entry) if entry else result)
    notices = _notices(report, results, baseline, accepted, today)
    return report._replace(results=tuple(results), notices=report.notices + tuple(notices))


def _accept(result: Result, entry: Entry) -> Result:
    detail = f"accepted until {entry.until.isoformat()} because {entry.reason}"
    return result._replace(status=Status.SKIP, detail=detail, fixes=())


def _notices(
    report: Report,
    results: Sequence[Result],
    baseline: Baseline,
    accepted: dict[tuple[str, str], Entry],
    today: datetime.date,
) -> Iterator[str]:
    found = {(r.id, fingerprint(r)) for r in report.results if r.status in FINDINGS}
    # A check that was skipped or broke, or was not asked for, says nothing of whether its finding is still there.
    unjudged = {r.id for r in report.results if r.status in (Status.SKIP, Status.ERROR)}
    judged = {r.id for r in report.results} - unjudged
    said: set[str] = set()
    for entry in baseline.entries:
        text = None
        if entry.key in found:
            if entry.key not in accepted:
                text = f"{_named(entry)} is not accepted: " + (
                    f"its entry ended on {entry.until.isoformat()}." if entry.reason else "its entry gives no reason."
                )
        elif entry.id in judged:
            text = f"{_named(entry)} is not found any more: its entry can be removed."
        if text and text not in said:
            said.add(text)
            yield text
    for id in dict.fromkeys(r.id for old, r in zip(report.results, results, strict=True) if old is not r):
        hidden = sum(r.because_of == id for r in results)
        if hidden:
            checks = "1 check is" if hidden == 1 else f"{hidden} checks are"
            yield f"{checks} not judged because of {id}, which is accepted."


def _named(entry: Entry) -> str:
    return f"Baseline: {entry.id}" + (f" ({entry.title})" if entry.title else "")


def extended(baseline: Baseline, report: Report, today: datetime.date) -> Baseline:
    """`baseline` with an entry for each finding of `report` that it does not name yet: without a reason, for 90 days.

    Its own entries stay as they are: other hosts may need them.
    """
    entries = {e.key: e for e in reversed(baseline.entries)}
    fresh: dict[tuple[str, str], Entry] = {}
    for result in report.results:
        if result.status in FINDINGS:
            until = today + datetime.timedelta(days=DAYS)
            entry = Entry(result.id, fingerprint(result), "", until, _readable(general_title(result.title)))
            if entry.key not in entries:
                fresh.setdefault(entry.key, entry)
    return Baseline((*baseline.entries, *fresh.values()))


def _readable(title: str) -> str:
    """A title that every YAML reader takes: libyaml refuses surrogates even when they are escaped."""
    return title[:LONGEST_TITLE].encode("utf-8", "backslashreplace").decode("utf-8")


# the file --------------------------------------------------------------------------------------------------------


def to_yaml(baseline: Baseline) -> str:
    """The file's text. Reading it gives the same baseline."""
    import yaml

    rows = [
        {"id": e.id, "fingerprint": PREFIX + e.fingerprint, "title": e.title, "reason": e.reason, "until": e.until}
        for e in baseline.entries
    ]
    document = {"schema_version": SCHEMA_VERSION, "accepted": rows}
    return HEADER + str(yaml.safe_dump(document, sort_keys=False, width=120))


def from_yaml(text: str) -> Baseline:
    """Raises BaselineError for what is no baseline, with the number of the entry (from 1) where there is one."""
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2027-02-31
        raise BaselineError(f"it is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(document, dict) or "accepted" not in document:
        raise BaselineError("it is no baseline: the key `accepted` is missing")
    version = document.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        said = version if isinstance(version, int) else "missing" if version is None else "no number"
        raise BaselineError(f"its schema_version is {said}, and this rocmdoctor reads {SCHEMA_VERSION}")
    rows = document["accepted"] or []
    if not isinstance(rows, list):
        raise BaselineError("`accepted` is no list")
    return Baseline(tuple(_entry(row, f"entry {n}") for n, row in enumerate(rows, 1)))


def _entry(row: Any, where: str) -> Entry:
    if not isinstance(row, dict):
        raise BaselineError(f"{where} is no mapping")
    unknown = [str(k) for k in row if k not in ("id", "fingerprint", "title", "reason", "until")]
    if unknown:
        raise BaselineError(f"{where} has an unknown key {unknown[0]:.40}")
    id, print_ = row.get("id"), row.get("fingerprint")
    if not isinstance(id, str) or not id:
        raise BaselineError(f"{where} has no id")
    digits = print_.removeprefix(PREFIX) if isinstance(print_, str) and print_.startswith(PREFIX) else ""
    if len(digits) != 16 or not set(digits) <= set("0123456789abcdef"):
        raise BaselineError(f"{where} ({id:.80}) has no fingerprint such as {PREFIX}0123456789abcdef")
    texts = [row.get(key) or "" for key in ("reason", "title")]
    if not all(isinstance(t, str) for t in texts):
        raise BaselineError(f"{where} ({id:.80}): reason and title are texts")
    return Entry(id, digits, texts[0].strip(), _date(row.get("until"), f"{where} ({id:.80})"), texts[1])


def _date(value: Any, where: str) -> datetime.date:
    """YAML reads an unquoted 2027-02-28 as a date; a quoted one is as good."""
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise BaselineError(f"{where}: `until` is no date such as 2027-02-28")


def load(path: str) -> Baseline:
    """The baseline in the file `path`. Raises BaselineError."""
    from rocmdoctor import named_file

    try:
        data = named_file.read(path, MOST_BYTES)
    except named_file.NotRead as error:
        raise BaselineError(f"baseline {path}: {error}") from error
    try:
        return from_yaml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BaselineError(f"baseline {path}: it is no UTF-8 text") from error
    except BaselineError as error:
        raise BaselineError(f"baseline {path}: {error}") from error


def write(path: str, report: Report, today: datetime.date) -> int:
    """Add the findings of `report` to the file `path`, which may be there; the number of entries that were added.

    Raises BaselineError, also where `path` holds something else than a baseline: that stays as it is.
    """
    import os

    old = load(path) if os.path.lexists(path) else Baseline()
    new = extended(old, report, today)
    added = len(new.entries) - len(old.entries)
    if added or not old.entries:
        try:
            _replace(os.path.realpath(path), to_yaml(new))
        except OSError as error:
            raise BaselineError(f"baseline {path}: {error.strerror}") from error
    return added


def _replace(path: str, text: str) -> None:
    """Write `path` whole or not at all, with the mode that it had."""
    import contextlib
    import os
    import stat

    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
