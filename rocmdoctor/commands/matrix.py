"""`rocmdoctor matrix lint|show|query|suggest`: the compatibility data on the command line.

Exit status: 0 when nothing is unsupported, 1 when something is (query), no change helps (suggest) or the file is wrong (lint),
2 for wrong usage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rocmdoctor.terminal import emit

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.answers import Answer
    from rocmdoctor.matrix.release_reader import Release
    from rocmdoctor.matrix.releases import OsRow

app = typer.Typer(
    name="matrix",
    help="Ask the compatibility data of ROCm, GPUs and PyTorch.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MatrixOption = Annotated[str | None, typer.Option("--matrix", metavar="FILE", help="Use this compatibility matrix.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Verdicts alone, without reasons and sources.")]
FormatOption = Annotated[Literal["text", "json"], typer.Option("--format", help="Form of the output.")]
RocmOption = Annotated[str | None, typer.Option(metavar="VERSION", help="A release, or its line: 6.2 is the newest 6.2.x.")]
OsOption = Annotated[str | None, typer.Option("--os", metavar="ID:VERSION", help="As in os-release: ubuntu:22.04.")]
KernelOption = Annotated[str | None, typer.Option(metavar="RELEASE", help="As `uname -r` prints it, or its beginning.")]
GfxOption = Annotated[str | None, typer.Option(metavar="TARGET", help="A GPU target: gfx90a.")]
TorchOption = Annotated[str | None, typer.Option(metavar="VERSION", help="A PyTorch release: 2.5.1.")]
PythonOption = Annotated[str | None, typer.Option(metavar="VERSION", help="A Python version: 3.12.")]
DriverOption = Annotated[str | None, typer.Option(metavar="RELEASE", help="A release of AMD's driver: 6.4.1, 30.10.2.")]


@app.command()
def lint(matrix: MatrixOption = None, format: FormatOption = "text") -> None:
    """Read all of the file and compare its parts with each other."""
    data = _load(matrix)
    problems = data.lint()
    if format == "json":
        rows = [{"path": p.path, "line": p.line, "message": p.message} for p in problems]
        _emit_json({"file": str(data.path), "date": data.date, "problems": rows})
    else:
        for p in problems:
            _say(f"{data.path}:{p.line}: {p.path}: {p.message}")
        _say(f"{data.path}: {len(problems)} problems" if problems else f"{data.path}: nothing wrong, dated {data.date}")
    if problems:
        raise typer.Exit(1)


@app.command()
def show(
    what: Annotated[
        str | None, typer.Argument(metavar="[SECTION|VERSION]", help="A section of the file or a ROCm release.")
    ] = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
) -> None:
    """Show a release, or a section of the file as it stands; without argument what there is."""
    data = _load(matrix)
    if what is None:
        _show_contents(data, format)
        return
    version = data.resolve(what)
    release = data.release(version) if version else None
    if release is not None:
        if format == "json":
            _emit_json(_plain(release.everything()))
        else:
            _say(*_release_lines(data, release))
        return
    text = data.section_text(what)
    if text is None:
        raise typer.BadParameter(f"{what!r} is neither a section of the matrix nor a release it knows")
    if format == "json":
        _emit_json({"section": what, "text": text})
    else:
        emit(text)


@app.command()
def query(
    rocm: RocmOption = None,
    os: OsOption = None,
    kernel: KernelOption = None,
    gfx: GfxOption = None,
    torch: TorchOption = None,
    python: PythonOption = None,
    driver: DriverOption = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
    quiet: QuietOption = False,
) -> None:
    """Judge every pair of what is given, with the row that says so."""
    data = _load(matrix)
    answers = _asked(lambda **what: data.query(**what), rocm, os, kernel, gfx, torch, python, driver)
    if format == "json":
        _emit_json({"matrix_date": data.date, "answers": [_answer(a) for a in answers]})
    else:
        _say(*_answer_lines(data, answers, quiet))
    if any(a.verdict.value == "unsupported" for a in answers):
        raise typer.Exit(1)


@app.command()
def suggest(
    rocm: RocmOption = None,
    os: OsOption = None,
    kernel: KernelOption = None,
    gfx: GfxOption = None,
    torch: TorchOption = None,
    python: PythonOption = None,
    driver: DriverOption = None,
    matrix: MatrixOption = None,
    format: FormatOption = "text",
    quiet: QuietOption = False,
) -> None:
    """Name the nearest single changes after which nothing is unsupported."""
    data = _load(matrix)
    answers = _asked(lambda **what: data.query(**what), rocm, os, kernel, gfx, torch, python, driver)
    broken = [a for a in answers if a.verdict.value == "unsupported"]
    found = _asked(lambda **what: data.suggest(**what), rocm, os, kernel, gfx, torch, python, driver) if broken else []
    if format == "json":
        rows = [{"element": s.element, "from": s.old, "to": s.new, "answers": [_answer(a) for a in s.answers]} for s in found]
        _emit_json({"matrix_date": data.date, "unsupported": [_answer(a) for a in broken], "suggestions": rows})
    elif not broken:
        _say("Nothing to change: no pair is unsupported.")
    else:
        _say(*_answer_lines(data, broken, quiet))
        for s in found:
            unknown = sum(a.verdict.value == "unknown" for a in s.answers)
            doubt = f" ({unknown} of {len(s.answers)} pairs unknown)" if unknown else ""
            _say(f"change {s.element} from {s.old} to {s.new}{doubt}")
        if not found:
            _say("No change of one element makes all pairs fit.")
    if broken and not found:
        raise typer.Exit(1)


# rendering -------------------------------------------------------------------------------------------------------


def _load(file: str | None) -> Matrix:
    from rocmdoctor.matrix import MatrixError, load_matrix

    try:
        return load_matrix(file)
    except MatrixError as error:
        raise typer.BadParameter(str(error)) from error


def _asked(
    question: Any,
    rocm: str | None,
    os: str | None,
    kernel: str | None,
    gfx: str | None,
    torch: str | None,
    python: str | None,
    driver: str | None,
) -> Any:
    """The answers, with unreadable input as wrong usage."""
    what = {"rocm": rocm, "os": os, "kernel": kernel, "gfx": gfx, "torch": torch, "python": python, "driver": driver}
    if sum(value is not None for value in what.values()) < 2:
        raise typer.BadParameter("give at least two of --rocm, --os, --kernel, --gfx, --torch, --python, --driver")
    if kernel is not None and (rocm is None or os is None):
        raise typer.BadParameter("--kernel needs --rocm and --os: AMD lists kernels by release and system")
    try:
        return question(**what)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "verdict": answer.verdict.value,
        "question": answer.question,
        "reason": answer.reason,
        "source": list(answer.source),
        "confidence": answer.confidence,
    }


def _say(*lines: str) -> None:
    """Lines within the width; what does not fit goes on under the questions."""
    from rocmdoctor.reports.printable import wrap
    from rocmdoctor.terminal import width

    columns = width()
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        hanging = " " * 12
        emit("".join(f"{part}\n" for part in wrap(line.strip(), columns, hanging, indent) or [""]))


def _answer_lines(data: Matrix, answers: Sequence[Answer], quiet: bool) -> Iterable[str]:
    """Verdict and question, then reason, doubt and the sources in words; of a quiet answer the first line."""
    for answer in answers:
        yield f"{answer.verdict.value:<11} {answer.question}"
        if quiet:
            continue
        yield f"            {answer.reason}."
        if answer.confidence:
            yield f"            confidence: {answer.confidence}"
        for key in answer.source[:3]:
            yield f"            source: {data.sources.get(key, key)}"


def _show_contents(data: Matrix, format: str) -> None:
    if format == "json":
        _emit_json({"file": str(data.path), "date": data.date, "releases": list(data.versions), "sections": list(data.sections)})
        return
    _say(f"{data.path}, dated {data.date}")
    _say(f"releases: {', '.join(data.versions)}")
    _say(f"sections: {', '.join(name for name in data.sections if name != 'date')}")


def _release_lines(data: Matrix, release: Release) -> Iterable[str]:
    dated = release.date or "date unknown"
    yield f"ROCm {release.version} ({release.line}, {dated})" + (f": {release.date_note}" if release.date_note else "")
    yield from (f"  {note}" for note in release.notes)
    yield "operating systems:"
    yield from (_os_line(data, row) for row in release.os_rows or ())
    if release.os_rows is None or release.os_unknown:
        yield "  not all of AMD's list was read"
    yield "GPUs:"
    for gpu in release.gpu_rows or ():
        named = f" [{gpu.igpu}]" if gpu.igpu else ""
        doubt = f" ({gpu.confidence})" if gpu.confidence else ""
        yield f"  {gpu.gfx:<8} {gpu.status:<11} {', '.join(gpu.products)}{named}{doubt}"
    if release.gpu_rows is None or release.gpus_unknown:
        yield "  not all of AMD's list was read"
    yield from _driver_lines(data, release)
    if release.frameworks:
        known = {name: found for name, found in release.frameworks.versions.items() if found}
        yield from (f"{name}: {', '.join(found)}" for name, found in known.items())
    if release.python:
        yield f"python: {', '.join(release.python.versions)} ({release.python.basis})"
    yield from (f"source: {data.sources.get(key, key)}" for key in release.source)


def _os_line(data: Matrix, row: OsRow) -> str:
    from rocmdoctor.matrix.board import limit_words, os_name

    kernels = ", ".join(row.kernels) if row.kernels is not None else "unknown"
    parts = [f"  {os_name(data.distributions, row.id)} {row.point}: {row.status}, kernel {kernels}"]
    if row.note:
        parts.append(f"({row.note})")
    if row.families or row.only or row.excluded:
        parts.append(limit_words(row))
    return " ".join(parts)


def _driver_lines(data: Matrix, release: Release) -> Iterable[str]:
    drivers = release.drivers
    carried = [w.driver for w in data.driver_windows.rows if any(_covers(u, release.version) for u in w.userspace)]
    if drivers.released_with:
        yield f"driver: released with {drivers.released_with}, to install {data.driver_for(release.version)}"
    if carried:
        yield f"drivers by AMD's cross table: {', '.join(carried)}"
    if drivers.stated:
        yield f"drivers by the release's own list: {', '.join(drivers.stated)}"
    for family, listed in (drivers.families or {}).items():
        yield f"drivers for {family.capitalize()}: " + (", ".join(listed) if listed else "the kernel's own only")
    if drivers.note:
        yield f"  {drivers.note}"


def _covers(pattern: str, version: str) -> bool:
    from rocmdoctor.matrix.drivers import covers

    return covers(pattern, version)


def _plain(value: Any) -> Any:
    """Named tuples as objects, all the way down: JSON would write them as lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(field) for name, field in value._asdict().items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _emit_json(data: Any) -> None:
    emit(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
