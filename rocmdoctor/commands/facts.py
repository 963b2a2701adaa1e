"""`rocmdoctor facts`: local facts for Ansible."""

from __future__ import annotations

from typing import Annotated

import typer

from rocmdoctor.commands.asked import OK, MatrixOption, asked_host, asked_python
from rocmdoctor.terminal import emit


def facts(
    snapshot: Annotated[str | None, typer.Option(metavar="PATH", help="Facts of a recorded host: a folder or a .tar.gz.")] = None,
    root: Annotated[str | None, typer.Option(metavar="DIR", help="Facts of the system installed under DIR.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Judge the access of this user.")] = None,
    python: Annotated[str | None, typer.Option(metavar="PATH", help="Judge this interpreter or environment.")] = None,
    matrix: MatrixOption = None,
) -> int:
    """Local facts for Ansible, as JSON. A broken host is no failure of this command: the exit status is 0."""
    host = asked_host(snapshot, root, user)
    from rocmdoctor.examination import examine
    from rocmdoctor.matrix import load_matrix
    from rocmdoctor.reports import local_facts

    emit(local_facts.render(examine(host, load_matrix(matrix), python=asked_python(python, snapshot, root))))
    return OK
