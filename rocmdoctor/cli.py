"""The command line: each command a few lines over the layers, its imports inside it (start-up time is part of the product).

Standard output carries data only. Exit status: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 a check
or the doctor itself broke, 130 interrupted. The formats nagios and npd have the codes of their protocols.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from rocmdoctor import __version__
from rocmdoctor.terminal import OutputError, colors, complain, emit, piped_text, to_terminal, width

if TYPE_CHECKING:
    from rocmdoctor.host import Host
    from rocmdoctor.results import Report

OK, FAILED, USAGE, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130
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


class WrongUsage(Exception):
    """Options that exclude each other, or a value that no layer below would understand."""


_COMMANDS: dict[str, Callable[..., Any]] = {}


def command(name: str | None = None) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Registers a command. Typer would build the parser of every command at every start; here it builds the one that is asked."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        _COMMANDS[name or function.__name__] = function
        return function

    return register


_MODULES = {
    "fleet": "rocmdoctor.fleet.commands",
    "matrix": "rocmdoctor.matrix.commands",
    **dict.fromkeys(("install", "uninstall", "fix", "undo", "verify"), "rocmdoctor.plan.commands"),
}
"""Commands with modules of their own, which `check` does not pay for. A module has one command or group, its `app`, or `COMMANDS`
by name."""


class Commands(TyperGroup):
    """Builds a command when it is asked for; only the names are there from the start, for the help and for what was misspelt."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        names: dict[str, Any] = dict.fromkeys([*_COMMANDS, *_MODULES])
        self.commands = names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if module := _MODULES.get(cmd_name):
            found = import_module(module)
            if not hasattr(found, "COMMANDS"):
                return typer.main.get_command(found.app)
            function = found.COMMANDS[cmd_name]
        else:
            function = _COMMANDS.get(cmd_name)
        if function is None:
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(cmd_name)(function)
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

Format = Literal["text", "json"]
FormatOption = Annotated[Format, typer.Option("--format", help="Form of the output.")]
CheckFormat = Literal["text", "json", "junit", "sarif", "prometheus", "nagios", "npd", "markdown"]
CatalogFormat = Literal["text", "json", "markdown"]


# the commands ----------------------------------------------------------------------------------------------------


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


@command()
def check(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Judge a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Judge the system installed under DIR.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only these checks or areas (repeatable, commas).")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Not these checks or areas (repeatable, commas).")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Also run programs: torch, hipcc (up to some minutes).")] = False,
    profile: Annotated[
        Literal["node", "workstation", "container", "wsl", "ci"] | None, typer.Option(help="Judge as this kind of host.")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="[fail|warn|unknown]",
            help="What gives exit status 1: failures, also warnings, also that nothing could be judged (commas).",
        ),
    ] = "fail",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    rocm: Annotated[str | None, typer.Option(metavar="VERSION", help="Judge against this release of ROCm.")] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Do not count the findings accepted in FILE.")] = None,
    write_baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Add the findings to FILE, to be accepted.")] = None,
    format: Annotated[CheckFormat, typer.Option("--format", help="Form of the output.")] = "text",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what failed.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say also what passed and why checks were skipped.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")] = False,
) -> int:
    """Examine this host, or a recorded one. Changes nothing."""
    if rocm is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,2}", rocm):
        raise WrongUsage(f"--rocm {rocm}: a release has two or three numbers, such as 6.2 or 6.2.4")
    if quiet and verbose:
        raise WrongUsage("-q and -v exclude each other")
    failing = [word.strip() for word in fail_on.split(",")]
    if wrong := [word for word in failing if word not in ("fail", "warn", "unknown")]:
        raise WrongUsage(f"--fail-on {wrong[0]}: it is fail, warn or unknown, or several of them with commas")
    host = _host(snapshot, root, user)
    from rocmdoctor.examination import examine
    from rocmdoctor.matrix import load_matrix

    report = examine(
        host,
        load_matrix(matrix),
        only=_patterns("--only", only),
        skip=_patterns("--skip", skip),
        deep=deep,
        profile=profile,
        python=_python(python, snapshot, root),
        rocm=rocm,
    )
    if baseline is not None or write_baseline is not None:
        report = _accepted(report, baseline, write_baseline)
    if root not in (None, "/") and any(r.fixes for r in report.results):
        where = f"Remedies are for the system in {root}: run them inside of it (chroot), and check again with --root {root}."
        report = report._replace(notices=(*report.notices, where))
    if format != "text":
        from rocmdoctor.reports import formats

        emit(formats.render(format, report, host, time.time()))
        if format in formats.MONITORS:
            return int(formats.monitor(format).exit_code(report))
        for notice in () if quiet or format in formats.SAYS_NOTICES else report.notices:
            complain(f"note: {notice}")
    else:
        from rocmdoctor.reports import text

        page = text.render(
            report,
            verbose=verbose,
            quiet=quiet,
            color=colors(no_color),
            width=width(),
            as_root=_as_root(host, snapshot),
        )
        emit(page)
    return _status(report, failing, profile)


@command()
def snapshot(
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="A .tar.gz, or else a folder.")],
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Record the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Record the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Record this interpreter or environment.")] = None,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Keep names, serial numbers and addresses.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> int:
    """Write down this host as the checks see it, to be judged elsewhere with `rocmdoctor check --snapshot FILE`."""
    place = _place_of_snapshot(output)
    if os.path.lexists(place) and not force:
        raise WrongUsage(f"{output} exists; --force replaces it")
    from rocmdoctor import stack as layers
    from rocmdoctor.examination import examine
    from rocmdoctor.host.recorder import Recorder
    from rocmdoctor.matrix import load_matrix

    recorder, matrix = Recorder(_host(None, root, user)), load_matrix()
    examine(recorder, matrix, python=_python(python, None, root))  # what the checks ask is what a replay needs
    layers.gather(recorder, matrix, python=_python(python, None, root))
    recorder.write(place, redact=not no_redact, force=force)
    complain(f"wrote {output}" + (" (not redacted)" if no_redact else ""))
    return OK


@command("list-checks")
def list_checks(format: Annotated[CatalogFormat, typer.Option("--format", help="Form of the output.")] = "text") -> int:
    """Name every check, in the order in which they are judged."""
    from rocmdoctor.reports import catalog

    checks = _all_checks()
    if format == "markdown":
        from rocmdoctor.reports import catalog_page

        emit(catalog_page.render(checks))
        return OK
    # a line for each check where it goes to a program
    columns = width() if to_terminal() else sys.maxsize
    emit(catalog.listing_json(checks) if format == "json" else catalog.listing(checks, columns))
    return OK


@command()
def explain(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...", help="A check (id, area or glob), or an error text; standard input without it or with -."
        ),
    ] = None,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Look for the cause on a recorded host.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Look at the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
    format: FormatOption = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every candidate with its reason.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")] = False,
) -> int:
    """What a check looks at; or what an error text means, and which of its causes holds on this host.

    Exit status: 0 the text was recognised, 1 it was not, 2 there was none.
    """
    words = text or []
    if words and (page := _check_pages(words, format)):
        emit(page)
        return OK
    from rocmdoctor import diagnosis

    said = " ".join(words) if words and words != ["-"] else piped_text(diagnosis.LIMIT)
    if not said.strip():
        raise WrongUsage("explain what? Give a check's id or an error text, as arguments or on standard input")
    found = diagnosis.recognise(said)
    if not found:
        if len(words) == 1 and re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9*?-]+)?", words[0]):
            from rocmdoctor.engine import UnknownCheck

            raise UnknownCheck(
                f"{words[0]!r} is neither a check nor a known error text; `rocmdoctor list-checks` names the checks"
            )
        from rocmdoctor.reports import diagnosis_json, diagnosis_text

        json_wanted = format == "json"
        emit(diagnosis_json.render_unrecognised() if json_wanted else diagnosis_text.render_unrecognised(width()))
        return FAILED
    host = _host(snapshot, root, user)
    from rocmdoctor.matrix import load_matrix

    answer = diagnosis.diagnose(host, load_matrix(matrix), found, python=_python(python, snapshot, root))
    if format == "json":
        from rocmdoctor.reports import diagnosis_json

        emit(diagnosis_json.render(answer))
    else:
        from rocmdoctor.reports import diagnosis_text

        emit(
            diagnosis_text.render(
                answer, verbose=verbose, color=colors(no_color), width=width(), as_root=_as_root(host, snapshot)
            )
        )
    return OK


@command()
def stack(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Show a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Show the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Show this interpreter or environment.")] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
    format: FormatOption = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say also why a layer fits.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")] = False,
) -> int:
    """Every layer from the GPU to the frameworks: version, where it comes from, and whether it fits the others."""
    host = _host(snapshot, root, user)
    from rocmdoctor import stack as layers
    from rocmdoctor.matrix import load_matrix

    seen = layers.gather(host, load_matrix(matrix), python=_python(python, snapshot, root))
    if format == "json":
        from rocmdoctor.reports import stack_json

        emit(stack_json.render(seen))
    else:
        from rocmdoctor.reports import stack_text

        emit(stack_text.render(seen, verbose=verbose, color=colors(no_color), width=width()))
    return OK


@command()
def topology(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Draw a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Draw the system installed under DIR.")] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
    format: Annotated[Literal["text", "svg", "json"], typer.Option("--format", help="Form of the output.")] = "text",
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (also NO_COLOR).")] = False,
) -> int:
    """How the GPUs are joined: xGMI, PCIe and NUMA nodes."""
    host = _host(snapshot, root, None)
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.reports import topology as drawn
    from rocmdoctor.topology import gather

    emit(drawn.render(format, gather(Facts(host, load_matrix(matrix))), color=colors(no_color), width=width()))
    return OK


@command()
def facts(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Facts of a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Facts of the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    matrix: Annotated[str | None, typer.Option(metavar="FILE", help="Use this compatibility matrix.")] = None,
) -> int:
    """Local facts for Ansible, as JSON. A broken host is no failure of this command: the exit status is 0."""
    host = _host(snapshot, root, user)
    from rocmdoctor.examination import examine
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.reports import local_facts

    emit(local_facts.render(examine(host, load_matrix(matrix), python=_python(python, snapshot, root))))
    return OK


@command()
def version() -> int:
    """Print the version."""
    emit(f"rocmdoctor {__version__}\n")
    return OK


# what they share -------------------------------------------------------------------------------------------------


def _host(snapshot: str | None, root: str | None, user: str | None) -> Host:
    if snapshot is not None and root is not None:
        raise WrongUsage("--snapshot and --root exclude each other")
    if snapshot is not None:
        from rocmdoctor.host.recorded import open_snapshot

        return open_snapshot(snapshot, user)
    if root == "":
        raise WrongUsage("--root names no folder")
    from rocmdoctor.host.live import LiveHost

    host = LiveHost(root or "/", user=user)
    if root is not None:
        host.require_system()
    return host


def _python(python: str | None, snapshot: str | None, root: str | None) -> str | None:
    """--python as an absolute path where it is one of this machine's: `~` after an equals sign is nobody's but ours."""
    if not python or snapshot is not None or root is not None:
        return python
    path = os.path.expanduser(python)
    return _absolute(path) if "/" in path or os.path.isdir(path) else python


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        raise WrongUsage(f"{path}: the current folder does not exist any more; give an absolute path") from None


def _place_of_snapshot(output: str) -> str:
    """The absolute path of what is to be written: .tar.gz or .tgz, else a folder, which no name of another kind of file is."""
    if not output or output == "-":
        raise WrongUsage(f"-o {output or repr(output)}: a snapshot needs the name of a file or folder, such as node7.tar.gz")
    kind = os.path.splitext(output.rstrip("/"))[1].lower()
    if not output.endswith((".tar.gz", ".tgz")) and kind in (".gz", ".tgz", ".tar", ".zip", ".xz", ".bz2", ".zst", ".txz", ".7z"):
        raise WrongUsage(f"-o {output}: a snapshot is a .tar.gz (or .tgz) or a folder, never a {kind}")
    return _absolute(output)


def _as_root(host: Host, snapshot: str | None) -> bool:
    """Whether the reader is root, so that commands need no sudo."""
    return host.user.uid == 0 if snapshot else os.geteuid() == 0


def _check_pages(words: Sequence[str], format: str) -> str | None:
    """The pages on checks, when every word is the id or area of one, or a glob; None when they are something else."""
    if not all(re.fullmatch(r"[a-z][a-z0-9_.*?\[\]-]*|\*", word) for word in words):
        return None
    from rocmdoctor import engine
    from rocmdoctor.reports import catalog

    checks = _all_checks()
    try:
        chosen = engine.select(checks, words, deep=True)
    except engine.UnknownCheck:
        return None
    return catalog.listing_json(chosen) if format == "json" else "\n".join(catalog.explain(c, checks, width()) for c in chosen)


def _accepted(report: Report, accepted: str | None, extend: str | None) -> Report:
    """The report without what the baseline `accepted` accepts; what is left is added to the baseline `extend`."""
    import datetime

    from rocmdoctor import baseline

    today = datetime.date.today()
    if accepted is not None:
        report = baseline.apply(report, baseline.load(accepted), today)
    if extend is not None:
        added = baseline.write(extend, report, today)
        said = f"added {added} finding{'' if added == 1 else 's'} to {extend}"
        complain(f"{said}; give each a reason there, without one it goes on counting" if added else said)
    return report


def _all_checks() -> tuple[Any, ...]:
    from rocmdoctor import engine

    checks = engine.all_checks()
    extra, broken = engine.plugin_checks()
    for result in broken:
        complain(f"{result.title}: {result.detail}")
    return checks + extra


def _patterns(option: str, values: list[str] | None) -> tuple[str, ...]:
    """Globs of a repeatable option that takes comma lists as well. An option without one would silently mean every check."""
    found = tuple(p.strip() for value in values or () for p in value.split(",") if p.strip())
    if values and not found:
        raise WrongUsage(f"{option} names no check")
    return found


def _status(report: Report, failing: Sequence[str], profile: str | None) -> int:
    from rocmdoctor.results import Status

    if report.count(Status.ERROR):
        return BROKEN
    if report.count(Status.FAIL) or ("warn" in failing and report.count(Status.WARN)):
        return FAILED
    if "unknown" not in failing or not report.unjudged:
        return OK
    # A builder of images needs no GPU: there, what is installed was judged, or nothing was.
    return OK if profile == "ci" and report.count(Status.PASS) + report.count(Status.WARN) else FAILED


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
