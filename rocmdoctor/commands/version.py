"""`rocmdoctor version`: the version, as `--version` prints it."""

from __future__ import annotations

from rocmdoctor import __version__
from rocmdoctor.commands.asked import OK
from rocmdoctor.terminal import emit


def version() -> int:
    """Print the version."""
    emit(f"rocmdoctor {__version__}\n")
    return OK
