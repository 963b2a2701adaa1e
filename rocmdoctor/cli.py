"""The command line: finds the command, and turns every way out of it into an exit status. The commands are in `commands`.

Standard output carries data only. Exit status: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 a check
or the doctor itself broke, 130 interrupted. The formats nagios and npd have the codes of their protocols.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rocmdoctor import __version__
from rocmdoctor.commands import NAMES
from rocmdoctor.commands.asked import BROKEN, INTERRUPTED, OK, USAGE, WrongUsage
from rocmdoctor.terminal import OutputError, complain, emit, width

WRONG_INPUT = (
    ("rocmdoctor.engine", "UnknownCheck"),
    ("rocmdoctor.host", "HostError"),
    ("rocmdoctor.facts", "WrongTarget"),
    ("rocmdoctor.matrix", "MatrixError"),
    ("rocmdoctor.baseline", "BaselineError"),
    ("rocmdoctor.fleet", "FleetError"),
)
"""Errors of the layers that mean wrong usage. They are looked up among what is loaded: what was raised is."""

OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


class Commands(TyperGroup):
    """Builds a command when it is asked for; only the names are there from the start, for the help and for what was misspelt."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        names: dict[str, Any] = dict.fromkeys(NAMES)
        self.commands = names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in NAMES:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"rocmdoctor.commands.{name}")
        single = getattr(module, "app", None)
        if single is None:
            single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            single.command(cmd_name)(getattr(module, name))
        return typer.main.get_command(single)


app = typer.Typer(
    cls=Commands,
    name="rocmdoctor",
    help="Finds what keeps AMD GPUs, ROCm and PyTorch from working on this host, and says what to run.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        emit(f"rocmdoctor {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        raise WrongUsage("which command? `rocmdoctor check` examines this host; `rocmdoctor --help` names the others")


# from exceptions to exit status ----------------------------------------------------------------------------------


def run(argv: Sequence[str]) -> int:
    """Run one command line; every way out is an exit status and at most one line on standard error."""
    try:
        # typer would take 50 columns of a narrower terminal
        narrow = {"terminal_width": min(width(), 80)} if not {"-h", "--help"}.isdisjoint(argv) else {}
        code = app(args=list(argv), prog_name="rocmdoctor", standalone_mode=False, **narrow)
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        message, code = _judge(error)
        if name := _monitor(argv):
            return _unknown(name, message)
        complain(message)
        if os.environ.get("ROCMDOCTOR_DEBUG") == "1":
            import traceback

            traceback.print_exception(error)
        return code
    if code == INTERRUPTED:  # how newer versions of typer pass a KeyboardInterrupt on
        complain("interrupted")
    return code if isinstance(code, int) else OK


def _monitor(argv: Sequence[str]) -> str | None:
    """The monitor's protocol that a command line asks for, however wrong the rest of it is: to Nagios, status 2 is a verdict."""
    if list(argv[:1]) != ["check"]:
        return None
    asked = [argv[i + 1] for i, word in enumerate(argv[:-1]) if word == "--format"]
    asked += [word.removeprefix("--format=") for word in argv if word.startswith("--format=")]
    return next((name for name in asked if name in ("nagios", "npd")), None)


def _unknown(name: str, reason: str) -> int:
    from rocmdoctor.reports import formats

    with contextlib.suppress(OSError, OutputError):
        emit(formats.monitor(name).unknown(reason))
    return int(formats.monitor(name).UNKNOWN)


def _judge(error: Exception) -> tuple[str, int]:
    """The line and the exit status for an exception: wrong input is told from a bug."""
    expected = tuple(getattr(sys.modules.get(module), name, WrongUsage) for module, name in WRONG_INPUT)
    if isinstance(error, (WrongUsage, *expected)):
        return str(error), USAGE
    if isinstance(error, OutputError):
        return str(error), BROKEN
    if isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_ERRORS:  # from the help of typer
        return f"the output cannot be written: {error.strerror}", BROKEN
    if hasattr(error, "format_message"):  # a usage error of typer, whose classes have moved between its versions
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "rocmdoctor"
        message = error.format_message().strip().rstrip(".")
        if message.startswith("Usage:"):  # a group without a command answers with its whole help
            message = "which command?"
        return f"{message} (see `{command} --help`)", USAGE
    hint = "" if os.environ.get("ROCMDOCTOR_DEBUG") == "1" else "; ROCMDOCTOR_DEBUG=1 shows where"
    return f"internal error: {type(error).__name__}: {error}{hint}", BROKEN
