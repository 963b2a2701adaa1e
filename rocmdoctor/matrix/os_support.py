"""What the rows of a release say about an operating system and its kernel.

"unsupported" is AMD's list, not physics. What nobody read is unknown: a table that was not stored, a limit that AMD moved
elsewhere, a list that is known to be incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.matrix import products
from rocmdoctor.matrix.answers import Answer, Verdict
from rocmdoctor.matrix.board import (
    BEST_FIRST,
    STATUS,
    Board,
    allowed_on,
    limit_holds,
    limit_words,
    matching_rows,
    os_name,
    sources_of,
)
from rocmdoctor.matrix.releases import FAMILIES, OsRow

if TYPE_CHECKING:
    from rocmdoctor.matrix.distributions import Distribution
    from rocmdoctor.matrix.release_reader import Release


def judge_os(
    release: Release, names: Mapping[str, Distribution], os_id: str, os_version: str, board: Board, question: str
) -> Answer:
    """Is this operating system on the list of the release, for this board? The best of its point releases counts."""
    if release.os_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's OS list of ROCm {release.version} was not read", release.source)
    rows = matching_rows(release, os_id, os_version)
    if not rows:
        return _not_listed(release, names, os_id, os_version, board, question)
    answers = [_judge_row(release, names, row, board, question) for row in rows]
    best = min(answers, key=lambda answer: BEST_FIRST.index(answer.verdict))
    if best.verdict is Verdict.UNSUPPORTED and set(release.os_unknown) & set(board.families):
        reason = f"AMD's {board.families[0].capitalize()} table of ROCm {release.version} was not read"
        return Answer(Verdict.UNKNOWN, question, reason, best.source)
    return best


def _judge_row(release: Release, names: Mapping[str, Distribution], row: OsRow, board: Board, question: str) -> Answer:
    where = f"{os_name(names, row.id)} {row.point} for ROCm {release.version}"
    verdict = STATUS[row.status]
    if verdict is Verdict.UNSUPPORTED:
        return Answer(verdict, question, f"AMD lists {where} as unsupported", row.source, row.confidence)
    allowed = allowed_on(row, board, release)
    if allowed is False:
        reason = f"AMD lists {where}, but {limit_words(row)}: not for {board.label}"
        if row.limits_open:
            confidence = "the limit is of an older page; AMD's newer one was not read"
            return Answer(Verdict.UNKNOWN, question, reason, row.source, confidence)
        return Answer(Verdict.UNSUPPORTED, question, reason, row.source, row.confidence)
    reason = f"AMD lists {where}" + (" as a preview" if row.status == "preview" else "")
    if allowed is None:
        reason += f", with a limit: {limit_words(row)}"
    return Answer(verdict, question, reason, row.source, row.confidence)


def _not_listed(
    release: Release, names: Mapping[str, Distribution], os_id: str, os_version: str, board: Board, question: str
) -> Answer:
    name, rocm = os_name(names, os_id), f"ROCm {release.version}"
    rows = release.os_rows or ()
    source = sources_of(rows)
    if set(release.os_unknown) & set(board.families or FAMILIES):
        reason = f"{name} {os_version} is not among the rows read for {rocm}; others exist"
        return Answer(Verdict.UNKNOWN, question, reason, source)
    minors = [r.version for r in rows if r.id == os_id and versions.is_prefix(os_version, r.version)]
    if minors:
        reason = f"AMD lists {name} {', '.join(dict.fromkeys(minors))} for {rocm}; the minor release is not known"
        return Answer(Verdict.UNKNOWN, question, reason, source)
    listed = release.os_versions(os_id)
    like = names[os_id].like if os_id in names else None
    if listed:
        reason = f"AMD lists {name} {', '.join(listed)} for {rocm}, not {os_version}"
    elif like and matching_rows(release, like, os_version):
        nearest = f"{os_name(names, like)} {os_version}"
        reason = f"AMD does not list {name} {os_version} for {rocm}; the nearest it lists is {nearest}"
    else:
        others = ", ".join(dict.fromkeys(os_name(names, r.id) for r in rows))
        reason = f"AMD does not list {name} {os_version} for {rocm}; it lists {others}"
    return Answer(Verdict.UNSUPPORTED, question, reason, source)


def judge_kernel(
    release: Release,
    names: Mapping[str, Distribution],
    os_id: str,
    os_version: str,
    kernel: str,
    board: Board,
    question: str,
) -> Answer:
    """Is this kernel release among those AMD names for this system and board?

    A derivative without rows of its own is judged by the rows of its base. A system that AMD does not list has no kernels to
    compare with: unknown.
    """
    if release.os_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's OS list of ROCm {release.version} was not read", release.source)
    rows = matching_rows(release, os_id, os_version)
    like = names[os_id].like if os_id in names else None
    if not rows and like and not release.os_versions(os_id):
        rows = matching_rows(release, like, os_version)
    rows = tuple(r for r in rows if r.status != "unsupported")
    label = f"{os_name(names, os_id)} {os_version} and ROCm {release.version}"
    if not rows:
        return Answer(Verdict.UNKNOWN, question, f"AMD names no kernel for {label}", sources_of(release.os_rows))
    fitting = tuple(r for r in rows if allowed_on(r, board, release) is not False)
    judged = fitting or rows
    forbidden: Answer | None = None
    named = [(r, prefix) for r in judged for prefix in r.kernels or () if _is_kernel(r, prefix, kernel)]
    for row, prefix in named:
        where = f"{os_name(names, row.id)} {row.point}"
        if _forbidden(release, row, prefix, board):
            reason = f"AMD does not list kernel {prefix} on {where} for {board.label} with ROCm {release.version}"
            forbidden = Answer(Verdict.UNSUPPORTED, question, reason, row.source, row.confidence)
            continue
        verdict = Verdict.SUPPORTED if fitting else Verdict.UNKNOWN
        note = f" ({row.note})" if row.note else ""
        reason = f"AMD lists kernel {prefix} for {where}{note} with ROCm {release.version}"
        return Answer(verdict, question, reason, row.source, row.confidence)
    return forbidden or _kernel_not_listed(judged, kernel, label, question)


def _is_kernel(row: OsRow, prefix: str, kernel: str) -> bool:
    """Whole components, or a newer build of the same X.Y where AMD says "or newer" (6.14.0-1020 for 6.14.0-1018)."""
    if versions.is_prefix(prefix, kernel):
        return True
    same_line = versions.major_minor(kernel) == versions.major_minor(prefix)
    return row.or_newer and same_line and versions.key(kernel) >= versions.key(prefix)


def _kernel_not_listed(rows: tuple[OsRow, ...], kernel: str, label: str, question: str) -> Answer:
    source = sources_of(rows)
    if any(r.kernels is None for r in rows):
        return Answer(Verdict.UNKNOWN, question, f"AMD's kernels for {label} were not read", source)
    words = ", ".join(dict.fromkeys(prefix for r in rows for prefix in r.kernels or ()))
    doubtful = next((r for r in rows if r.kernels_open), None)
    if doubtful:
        reason = f"AMD's list for {label} ({words}) is known to be incomplete; {kernel} is not on it"
        return Answer(Verdict.UNKNOWN, question, reason, source, doubtful.note)
    reason = f"AMD lists kernel {words} for {label}; {kernel} is not on that list"
    return Answer(Verdict.UNSUPPORTED, question, reason, source, next((r.confidence for r in rows if r.confidence), None))


def _forbidden(release: Release, row: OsRow, prefix: str, board: Board) -> bool:
    """A limit of the board names kernels ("MI300X: not on 22.04.5 HWE 6.8"), and this is one it does not have."""
    for limit in (limit for gpu in release.gpus(board.gfx or "") for limit in gpu.limits):
        if limit.products and not (board.product and products.any_listed(board.product, limit.products)):
            continue
        names_kernels = any(entry.count(" ") == 2 for entry in (*limit.only, *limit.excluded))
        if names_kernels and not limit_holds(limit, row, prefix):
            return True
    return False
