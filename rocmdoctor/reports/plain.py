"""A finding as plain lines of text, for formats that carry it inside of something else (XML, JSON)."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor.reports.printable import command_line, printable
from rocmdoctor.reports.text import AFTERWARDS
from rocmdoctor.results import Fix, Result


def lines(result: Result) -> Iterator[str]:
    """Title, detail, evidence, remedies and links of `result`; each line is printable."""
    yield printable(result.title)
    if result.detail:
        yield printable(result.detail)
    yield from evidence(result)
    for fix in result.fixes:
        yield from remedy(fix)
    yield from (f"See {printable(link)}" for link in result.docs)


def evidence(result: Result) -> Iterator[str]:
    """One line for each piece: a line end in it is an escape."""
    for item in result.evidence:
        yield printable(f"- {item.source}: {item.value.strip()}")


def remedy(fix: Fix) -> Iterator[str]:
    """What to run, as root where it says sudo, what must follow, and how to see that it worked."""
    yield f"Fix: {printable(fix.title).rstrip('.:')}{':' if fix.commands else '.'}"
    yield from (f"    {command_line(argv, sudo='root' in fix.needs)}" for argv in fix.commands)
    after = " and ".join(words for need, words in AFTERWARDS.items() if need in fix.needs)
    if fix.verify:
        yield f"Then {after}, and verify:" if after else "Verify:"
        yield f"    {command_line(fix.verify)}"
    elif after:
        yield f"Then {after}."
