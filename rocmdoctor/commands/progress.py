"""Progress on standard error: a moving line on a terminal (rich), plain lines anywhere else."""

from __future__ import annotations

import sys

from rocmdoctor.plan.step import Step
from rocmdoctor.reports.printable import printable
from rocmdoctor.terminal import colors, complain


class Lines:
    """One line as a step begins, one as it ends badly."""

    def begins(self, number: int, count: int, step: Step) -> None:
        self._write(f"[{number}/{count}] {step.title}")

    def ends(self, step: Step, status: str) -> None:
        if status != "done":
            self._write(f"      {status}")

    def says(self, text: str) -> None:
        complain(f"note: {text}")

    def breathes(self) -> None:
        return

    @staticmethod
    def _write(text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)


class Moving:
    """A spinner with the time that a step takes; finished steps stay above it."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, markup=False)
        self._status = self._console.status("")

    def begins(self, number: int, count: int, step: Step) -> None:
        from rich.text import Text

        self._status.update(Text(f"[{number}/{count}] {printable(step.title)}"))
        self._status.start()

    def ends(self, step: Step, status: str) -> None:
        self._status.stop()
        mark, style = {"done": ("done", "green"), "unchanged": ("  ok", "dim"), "failed": ("FAIL", "bold red")}[status]
        from rich.text import Text

        self._console.print(Text.assemble((mark, style), " ", printable(step.title)))

    def says(self, text: str) -> None:
        self._console.print(f"note: {printable(text)}")

    def breathes(self) -> None:
        return  # rich has a thread for that


def watcher(no_color: bool) -> Lines | Moving:
    """What suits the terminal."""
    return Moving() if sys.stderr.isatty() and colors(no_color) else Lines()
