"""What the matrix answers: a verdict, the sentence that says why, and the rows it rests on."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from enum import Enum
from typing import NamedTuple


class Verdict(str, Enum):
    """supported | deprecated | unsupported | unknown. `unsupported` means "not on AMD's list", which is not "cannot work"."""

    SUPPORTED = "supported"
    DEPRECATED = "deprecated"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


class Answer(NamedTuple):
    """`question` in words, `reason` as a sentence, `source` keys of the file, `confidence` where the row is doubtful."""

    verdict: Verdict
    question: str
    reason: str
    source: tuple[str, ...]
    confidence: str | None = None

    @property
    def ok(self) -> bool:
        """Supported or deprecated: AMD lists it."""
        return self.verdict in (Verdict.SUPPORTED, Verdict.DEPRECATED)


class Suggestion(NamedTuple):
    """A nearest combination that holds: `element` (rocm, os, kernel, gfx, torch, python, driver) changed from `old` to `new`."""

    element: str
    old: str
    new: str
    answers: tuple[Answer, ...]


class Problem(NamedTuple):
    """Something wrong in the file: place inside the document, line from 1, and the message."""

    path: str
    line: int
    message: str
