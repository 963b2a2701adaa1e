"""APUs in the classic line, whose matrix never lists them: what AMD says elsewhere, and what nobody read."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor.matrix.document import Document
from rocmdoctor.matrix.ranges import VersionRange, read_range


class ApuStatus(NamedTuple):
    """What AMD says of ROCm releases on `gfx`, on kernels with and without the APU fixes.

    The words are supported | experimental | unsupported.
    """

    gfx: tuple[str, ...]
    rows: tuple[tuple[VersionRange, str, str], ...]
    source: tuple[str, ...]

    def status(self, rocm: str, fixed_kernel: bool) -> str | None:
        return next(((fixed if fixed_kernel else older) for span, fixed, older in self.rows if span.holds(rocm)), None)


class ApuClassic(NamedTuple):
    """Classic releases that state APU support only where nobody could read it."""

    gfx: tuple[str, ...]
    rocm: VersionRange
    reason: str
    source: tuple[str, ...]


def read_apu_status(doc: Document) -> ApuStatus:
    fields = doc.section("apu_status").fields(frozenset({"source", "gfx", "rows"}))
    words = ("supported", "experimental", "unsupported")
    rows = []
    for node in fields["rows"].sequence():
        row = node.fields(frozenset({"rocm", "fixed", "older"}))
        rows.append((read_range(row["rocm"]), row["fixed"].word(words), row["older"].word(words)))
    return ApuStatus(fields["gfx"].texts(), tuple(rows), fields["source"].sources())


def read_apu_classic(doc: Document) -> ApuClassic:
    fields = doc.section("apu_classic").fields(frozenset({"source", "gfx", "rocm", "reason"}))
    return ApuClassic(fields["gfx"].texts(), read_range(fields["rocm"]), fields["reason"].text(), fields["source"].sources())
