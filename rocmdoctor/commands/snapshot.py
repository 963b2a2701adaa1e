"""`rocmdoctor snapshot`: write down this host, to be judged elsewhere."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rocmdoctor.commands.asked import OK, WrongUsage, absolute, asked_host, asked_python
from rocmdoctor.terminal import complain


def snapshot(
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="A .tar.gz, or else a folder.")],
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Record the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Record the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Record this interpreter or environment.")] = None,
    no_redact: Annotated[bool, typer.Option("--no-redact", help="Keep names, serial numbers and addresses.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> int:
    """Record this host, to be judged elsewhere.

    What the checks see is written down; `rocmdoctor check --snapshot FILE` judges it on any machine.
    """
    place = place_of_snapshot(output)
    if os.path.lexists(place) and not force:
        raise WrongUsage(f"{output} exists; --force replaces it")
    from rocmdoctor import stack as layers
    from rocmdoctor.examination import examine
    from rocmdoctor.host.recorder import Recorder
    from rocmdoctor.matrix import load_matrix

    recorder, matrix = Recorder(asked_host(None, root, user)), load_matrix()
    examine(recorder, matrix, python=asked_python(python, None, root))  # what the checks ask is what a replay needs
    layers.gather(recorder, matrix, python=asked_python(python, None, root))
    recorder.write(place, redact=not no_redact, force=force)
    complain(f"wrote {output}" + (" (not redacted)" if no_redact else ""))
    return OK


def place_of_snapshot(output: str) -> str:
    """The absolute path of what is to be written: .tar.gz or .tgz, else a folder, which no name of another kind of file is."""
    if not output or output == "-":
        raise WrongUsage(f"-o {output or repr(output)}: a snapshot needs the name of a file or folder, such as node7.tar.gz")
    kind = os.path.splitext(output.rstrip("/"))[1].lower()
    if not output.endswith((".tar.gz", ".tgz")) and kind in (".gz", ".tgz", ".tar", ".zip", ".xz", ".bz2", ".zst", ".txz", ".7z"):
        raise WrongUsage(f"-o {output}: a snapshot is a .tar.gz (or .tgz) or a folder, never a {kind}")
    return absolute(output)
