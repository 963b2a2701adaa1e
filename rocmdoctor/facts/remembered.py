"""Answers of a parser kept for the next host: the nodes of a fleet have the same long texts again and again (the package database
of an image, the RECORD of a wheel). Judging one host costs nothing more."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MOST = 8 << 20
"""Characters of all texts of one parser together."""


def remembered(parse: Callable[[str], T]) -> Callable[[str], T]:
    """`parse`, which depends on its text alone, and whose answers nobody changes. When the texts become too many all are
    forgotten: strangers may send a different one with every node."""
    answers: dict[str, T] = {}
    size = 0

    def answer(text: str) -> T:
        nonlocal size
        if text in answers:
            return answers[text]
        found = parse(text)
        if len(text) <= MOST:
            size += len(text)
            if size > MOST:
                answers.clear()
                size = len(text)
            answers[text] = found
        return found

    answer.__doc__ = parse.__doc__
    return answer
