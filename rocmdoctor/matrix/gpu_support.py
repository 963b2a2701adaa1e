"""What the rows of a release say about a GPU: its target, its product name, and the operating systems they allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocmdoctor.matrix import products
from rocmdoctor.matrix.answers import Answer, Verdict
from rocmdoctor.matrix.board import BEST_FIRST, STATUS, Board, limit_holds, matching_rows, os_name, sources_of
from rocmdoctor.matrix.os_support import judge_os

if TYPE_CHECKING:
    from rocmdoctor.matrix.apu import ApuClassic, ApuStatus
    from rocmdoctor.matrix.distributions import Distribution
    from rocmdoctor.matrix.release_reader import Release
    from rocmdoctor.matrix.releases import GpuRow, OsLimit

_WORDS = {"preview": " as a technology preview", "deprecated": " as deprecated", "unsupported": " as unsupported"}


def judge_gpu(
    release: Release,
    names: Mapping[str, Distribution],
    gfx: str,
    board: Board,
    os_id: str | None,
    os_version: str | None,
    question: str,
) -> Answer:
    """Is this target (and product) on the list of the release, and on this operating system where one is given?"""
    if release.gpu_rows is None:
        return Answer(Verdict.UNKNOWN, question, f"AMD's GPU list of ROCm {release.version} was not read", release.source)
    rows = release.gpus(gfx)
    if not rows:
        return _not_listed(release, gfx, board, question)
    row, named = _row_of(rows, board)
    verdict = STATUS[row.status]
    if row.status == "unknown":
        reason = f"what AMD says of {gfx} for ROCm {release.version} was not read"
        return Answer(verdict, question, reason, row.source, row.confidence)
    reason = f"AMD lists {gfx} for ROCm {release.version}{_WORDS.get(row.status, '')}"
    if board.product and not named and row.family != "ryzen":
        reason += f"; {board.label} is not among the products it names ({', '.join(row.products)})"
    if verdict is Verdict.UNSUPPORTED or not os_id or not os_version:
        return Answer(verdict, question, reason, row.source, row.confidence)
    limit = _limit(release, row, board, os_id, os_version)
    if limit and not limit.open:
        where = f"only on {', '.join(limit.only)}" if limit.only else f"not on {', '.join(limit.excluded)}"
        reason = f"AMD lists {board.label} for ROCm {release.version} {where}"
        return Answer(Verdict.UNSUPPORTED, question, reason, row.source, row.confidence)
    system = judge_os(release, names, os_id, os_version, board, question)
    if not system.ok:
        return system
    if limit:
        reason = f"AMD's list of operating systems for {board.label} and ROCm {release.version} was read in an older wording only"
        return Answer(Verdict.UNKNOWN, question, reason, row.source, row.confidence)
    return Answer(verdict, question, f"{reason} on {os_name(names, os_id)} {os_version}", row.source, row.confidence)


def _not_listed(release: Release, gfx: str, board: Board, question: str) -> Answer:
    source = sources_of(release.gpu_rows or ())
    if release.gpus_unknown and (not board.families or set(board.families) & set(release.gpus_unknown)):
        reason = f"{gfx} is not among the rows read for ROCm {release.version}; others exist"
        return Answer(Verdict.UNKNOWN, question, reason, source)
    return Answer(Verdict.UNSUPPORTED, question, f"{gfx} is not on AMD's list for ROCm {release.version}", source)


def _row_of(rows: tuple[GpuRow, ...], board: Board) -> tuple[GpuRow, bool]:
    """The row that names the product, else the most favourable one of the target."""
    if board.product:
        for row in rows:
            if products.any_listed(board.product, (*row.products, *((row.igpu,) if row.igpu else ()))):
                return row, True
    return min(rows, key=lambda r: BEST_FIRST.index(STATUS[r.status])), False


def _limit(release: Release, row: GpuRow, board: Board, os_id: str, os_version: str) -> OsLimit | None:
    """The limit that forbids this system for the board; a limit on single products counts only for a known product."""
    system = matching_rows(release, os_id, os_version)
    special = [limit for limit in row.limits if board.product and products.any_listed(board.product, limit.products)]
    for limit in special or [limit for limit in row.limits if not limit.products]:
        if system and not any(limit_holds(limit, r, None) for r in system):
            return limit
    return None


def judge_classic_apu(release: Release, gfx: str, status: ApuStatus, classic: ApuClassic, question: str) -> Answer | None:
    """APUs in the classic line, whose matrix never had them: what AMD's APU page says, else unknown. None: ask the rows."""
    if gfx in status.gfx and status.status(release.version, fixed_kernel=True) == "supported":
        reason = f"AMD's APU page has {gfx} with ROCm {release.version}, on the kernels it names"
        return Answer(Verdict.SUPPORTED, question, reason, status.source, "the classic matrix itself never lists APUs")
    if gfx in classic.gfx and classic.rocm.holds(release.version):
        return Answer(Verdict.UNKNOWN, question, classic.reason, classic.source)
    return None
