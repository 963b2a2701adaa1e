"""Which driver releases carry a ROCm user space, by AMD's per-table lists, the list of the release and the cross table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.matrix.answers import Answer, Verdict
from rocmdoctor.matrix.drivers import Window, Windows, covers

if TYPE_CHECKING:
    from rocmdoctor.matrix.release_reader import Release


def judge_driver(release: Release, windows: Windows, driver: str, family: str | None, newest: str, question: str) -> Answer:
    """Does this driver release carry the user space of `release`, for this support table?

    AMD's lists per table decide where they exist; the cross table fills what they lack (10.0) and decides for the rest.
    `newest` is the newest driver the matrix knows.
    """
    crossed = [w for w in windows.rows if any(covers(u, release.version) for u in w.userspace)]
    in_cross = any(covers(w.driver, driver) for w in crossed)
    lists = release.drivers.families or {}
    tables = [family] if family else [table for table in lists if lists[table]]
    if any(table in lists for table in tables):
        return _by_table(release, lists, [t for t in tables if t in lists], in_cross, driver, newest, question)
    stated = next((p for p in release.drivers.stated if covers(p, driver)), None)
    if stated:
        reason = f"AMD lists driver {stated} for ROCm {release.version}"
        return Answer(Verdict.SUPPORTED, question, reason, release.drivers.source)
    if in_cross:
        line = versions.major_minor(release.version)
        reason = f"AMD's table of drivers and user spaces has ROCm {line} on driver {versions.major_minor(driver)}.x"
        return Answer(Verdict.SUPPORTED, question, reason, windows.source)
    return _unlisted(release, windows, crossed, driver, newest, question)


def _by_table(
    release: Release,
    lists: Mapping[str, tuple[str, ...]],
    tables: Sequence[str],
    in_cross: bool,
    driver: str,
    newest: str,
    question: str,
) -> Answer:
    source, rocm = release.drivers.source, f"ROCm {release.version}"
    yes = [t.capitalize() for t in tables if lists[t] and (in_cross or any(covers(p, driver) for p in lists[t]))]
    no = [t.capitalize() for t in tables if t.capitalize() not in yes]
    if yes and not no:
        return Answer(Verdict.SUPPORTED, question, f"AMD lists driver {driver} for {' and '.join(yes)} with {rocm}", source)
    if yes:
        reason = f"AMD lists driver {driver} for {', '.join(yes)} with {rocm}, not for {', '.join(no)}"
        return Answer(Verdict.UNKNOWN, question, reason, source, "the GPU family decides")
    listed = lists[tables[0]]
    if not listed:
        reason = f"AMD lists {no[0]} GPUs with the kernel's own driver only, for {rocm}"
        return Answer(Verdict.UNSUPPORTED, question, reason, source)
    if versions.key(driver) > versions.key(newest):
        return _newer(driver, newest, source, question)
    if any(covers(p, driver) for p in release.drivers.missing) and _inside(driver, listed):
        reason = f"driver {driver} is missing in AMD's list for {rocm}, which looks like an oversight"
        return Answer(Verdict.UNKNOWN, question, reason, source, release.drivers.note)
    reason = f"AMD lists drivers {listed[0]} down to {listed[-1]} for {no[0]} with {rocm}, without {driver}"
    return Answer(Verdict.UNSUPPORTED, question, reason, source)


def _unlisted(release: Release, windows: Windows, crossed: Sequence[Window], driver: str, newest: str, question: str) -> Answer:
    source = release.drivers.source or windows.source
    if versions.key(driver) > versions.key(newest):
        return _newer(driver, newest, source, question)
    row = next((w for w in windows.rows if covers(w.driver, driver)), None)
    if row and crossed:
        span = f"{row.userspace[0]} to {row.userspace[-1]}"
        reason = f"driver {row.driver} is for ROCm {span} by AMD's table, not for {release.version}"
        return Answer(Verdict.UNSUPPORTED, question, reason, windows.source)
    lines = release.drivers.stated or tuple(w.driver for w in windows.rows)
    if versions.key(driver) < min(versions.key(p.removesuffix(".x")) for p in lines):
        reason = f"driver {driver} is older than every driver AMD lists for ROCm {release.version}"
        return Answer(Verdict.UNSUPPORTED, question, reason, source)
    reason = f"AMD's tables have no row for driver {driver} with ROCm {release.version}"
    return Answer(Verdict.UNKNOWN, question, reason, source, windows.rule)


def _newer(driver: str, newest: str, source: tuple[str, ...], question: str) -> Answer:
    reason = f"driver {driver} is newer than this matrix knows ({newest})"
    return Answer(Verdict.UNKNOWN, question, reason, source)


def _inside(driver: str, listed: Sequence[str]) -> bool:
    """Between the oldest and the newest driver of a list."""
    keys = [versions.key(p) for p in listed]
    return min(keys) < versions.key(driver) < max(keys)
