"""A release on a whole host: its system and its GPUs together.

Checks and plans both ask here, so that no remedy names what a plan then refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.answers import Answer
    from rocmdoctor.matrix.distributions import OsBase


class Board(Protocol):
    """What is asked of a GPU."""

    @property
    def gfx(self) -> str | None: ...
    @property
    def product(self) -> str | None: ...
    @property
    def family(self) -> str | None: ...


def packaged(matrix: Matrix, rocm: str, base: OsBase, gpus: Iterable[Board]) -> bool:
    """AMD packages the release for this system, and it is neither a preview nor meant for other GPUs alone."""
    release = matrix.release(rocm)
    if release is None or release.line == "preview" or (release.radeon_only and any(g.family != "radeon" for g in gpus)):
        return False
    return matrix.recipe(rocm, base.id, base.version) is not None


def objections(matrix: Matrix, rocm: str, base: OsBase, gpus: Iterable[Board]) -> Iterator[tuple[str, Answer]]:
    """("os" | "gpu", answer) of each thing that AMD does not support, or that nobody knows."""
    for gpu in tuple(gpus) or (None,):
        gfx, product, family = (gpu.gfx, gpu.product, gpu.family) if gpu else (None, None, None)
        if gfx:  # first: most releases that do not fit lack the GPU, and their list of systems is then never read
            answer = matrix.gpu(rocm, gfx, product=product, os_id=base.id, os_version=base.version, family=family)
            if not answer.ok:
                yield "gpu", answer
        answer = matrix.os(rocm, base.id, base.version, gfx=gfx, product=product, family=family)
        if not answer.ok:
            yield "os", answer


def fits(matrix: Matrix, rocm: str, base: OsBase, gpus: Iterable[Board]) -> bool:
    """AMD packages the release for that system, and lists it with every one of these GPUs."""
    gpus = tuple(gpus)
    # the recipe last: it costs more to read than all the lists
    return not any(True for _ in objections(matrix, rocm, base, gpus)) and packaged(matrix, rocm, base, gpus)


def newest(matrix: Matrix, base: OsBase, gpus: Iterable[Board], versions: Iterable[str] = ()) -> str | None:
    """The first of `versions` that fits, by default the newest; None when none does."""
    gpus = tuple(gpus)
    return next((version for version in versions or reversed(matrix.versions) if fits(matrix, version, base, gpus)), None)
