"""`rocmdoctor install`: ROCm, the driver where it is needed, and PyTorch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rocmdoctor.commands import changing
from rocmdoctor.commands.asked import FAILED, OK, ColorOption, MatrixOption
from rocmdoctor.commands.changing import DryOption, YesOption
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.terminal import complain, emit

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.plan.draft import Options
    from rocmdoctor.plan.locking import Lock
    from rocmdoctor.plan.step import Plan


def install(
    rocm: Annotated[
        str | None, typer.Option(metavar="VERSION", help="6.2 (the newest 6.2.x), 6.2.0, latest; else the best supported.")
    ] = None,
    packages: Annotated[str, typer.Option(metavar="NAMES", help="AMD's packages, with commas.")] = "rocm",
    driver: Annotated[Literal["auto", "inbox", "dkms", "none"], typer.Option(help="The kernel driver.")] = "auto",
    pytorch: Annotated[str | None, typer.Option(metavar="VERSION|none", help="PyTorch; by default the newest that fits.")] = None,
    venv: Annotated[str | None, typer.Option(metavar="DIR", help="Python environment for PyTorch; made if need be.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Install PyTorch into this interpreter.")] = None,
    user: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Who shall use the GPUs (repeatable).")] = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="Take every download from here, paths unchanged.")] = None,
    ca: Annotated[str | None, typer.Option(metavar="FILE", help="Certificate authority of the mirror (PEM).")] = None,
    side_by_side: Annotated[bool, typer.Option("--side-by-side", help="Beside other releases.")] = False,
    allow_unsupported: Annotated[bool, typer.Option("--allow-unsupported", help="Also what AMD does not support.")] = False,
    yes: YesOption = False,
    dry_run: DryOption = False,
    write_lock: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write down the exact packages and wheels, with hashes.")
    ] = None,
    lock: Annotated[str | None, typer.Option(metavar="FILE", help="Install exactly what FILE names, or nothing.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that was cut off or failed.")] = False,
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="With --dry-run: plan for a recorded host.")] = None,
    matrix: MatrixOption = None,
    format: Annotated[Literal["text", "json", "script"], typer.Option("--format", help="Form of the output.")] = "text",
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show also what is done already.")] = False,
    no_color: ColorOption = False,
) -> int:
    """Install ROCm, PyTorch, and the driver where it is needed.

    The plan is shown first, and nothing is done without a yes.
    """
    if resume:
        return _resume(format, no_color)
    if snapshot is not None and not (dry_run or format == "script"):
        raise typer.BadParameter("--snapshot needs --dry-run: a recorded host cannot be changed")
    if ca is not None and snapshot is None:
        _authority(ca)
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.plan import install as building
    from rocmdoctor.plan.draft import Options

    names = tuple(name.strip() for name in packages.split(",") if name.strip())
    users = tuple(name.strip() for value in user or () for name in value.split(",") if name.strip())
    options = Options(
        rocm, names, driver, pytorch, venv, python, users, mirror, ca, side_by_side, allow_unsupported
    )  # the order of the fields
    if lock is not None and (rocm or pytorch or driver != "auto" or packages != "rocm"):
        raise typer.BadParameter("--lock says which releases: it excludes --rocm, --driver, --packages and --pytorch")
    wanted = _lock(lock) if lock is not None else None
    if write_lock is not None and not (dry_run or format == "script") and os.geteuid() == 0:
        write_lock = _writable(write_lock)
    host, data = changing.host_of(snapshot), load_matrix(matrix)
    facts = Facts(host, data)
    plan = changing.built(lambda: _fitted(building.build(facts, data, _asked(options, wanted)), wanted, facts))
    if plan is None:
        return FAILED
    if format == "script":
        return changing.script(plan, data)
    code = changing.carry_out(plan, host, data, yes=yes, dry_run=dry_run, format=format, no_color=no_color, verbose=verbose)
    if code == OK and write_lock is not None and not dry_run:
        return _write_lock(write_lock, plan, data)
    return code


def _resume(format: str, no_color: bool) -> int:
    from rocmdoctor.plan import apply as applying
    from rocmdoctor.reports import plan_text

    if os.geteuid() != 0:
        complain("resuming a run changes the system: run it as root")
        return FAILED
    try:
        outcome = applying.resume(None, changing.this_machine(), changing.watcher(no_color))
    except ChangeFailed as error:
        complain(str(error))
        return FAILED
    if format == "json":
        from rocmdoctor.reports import plan_runs

        emit(plan_runs.ended(outcome))
    else:
        emit(plan_text.outcome(outcome))
    return changing.status_of(outcome)


def _lock(path: str) -> Lock:
    from rocmdoctor import named_file
    from rocmdoctor.plan import locking

    try:
        return locking.read(named_file.read(path, locking.MOST_BYTES).decode("utf-8"))
    except UnicodeDecodeError:
        raise typer.BadParameter(f"--lock {path}: it is no UTF-8 text") from None
    except (named_file.NotRead, ValueError) as error:
        raise typer.BadParameter(f"--lock {path}: {error}") from None


def _authority(path: str) -> None:
    """Wrong usage where --ca names no certificates that can be read: every download would fail, one after the other."""
    from rocmdoctor import named_file

    if os.path.exists(path) and not os.path.isfile(path):
        raise typer.BadParameter(f"--ca {path}: it is no regular file")
    try:
        data = named_file.read(path, 16 << 20)
    except named_file.NotRead as error:
        raise typer.BadParameter(f"--ca {path}: {error}") from None
    if b"CERTIFICATE-----" not in data:
        raise typer.BadParameter(f"--ca {path}: there is no certificate in PEM in it")


def _writable(path: str) -> str:
    """The file that `path` leads to, tried before anything is changed."""
    real = os.path.realpath(path)
    if os.path.lexists(real) and not os.path.isfile(real):
        raise typer.BadParameter(f"--write-lock {path}: it is no regular file")
    trial = f"{real}.{os.getpid()}.tmp"
    try:
        os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        os.unlink(trial)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"--write-lock {path}: it cannot be written: {getattr(error, 'strerror', error)}") from None
    return real


def _asked(options: Options, wanted: Lock | None) -> Options:
    from rocmdoctor.plan import locking

    return options if wanted is None else locking.options(wanted, options)


def _fitted(plan: Plan, wanted: Lock | None, facts: Facts) -> Plan:
    from rocmdoctor.plan import locking

    return plan if wanted is None else locking.locked(plan, wanted, facts)


def _write_lock(path: str, plan: Plan, data: Matrix) -> int:
    from rocmdoctor.facts import Facts
    from rocmdoctor.plan import locking, rehearsal

    target = changing.this_machine()
    try:
        text, said = locking.write(plan, Facts(target.look(), data), target, rehearsal.LOG)
        target.write(os.path.abspath(path), text.encode())
    except ChangeFailed as error:
        complain(f"no lock was written: {error}")
        return FAILED
    for notice in said:
        complain(notice)
    complain(f"wrote {path}")
    return OK
