"""A terminal of 40 columns: no line is wider and no word is cut; only a path or a command may stand out."""

from __future__ import annotations

import pytest

from rocmdoctor import cli, diagnosis, engine, stack
from rocmdoctor.matrix import load_matrix
from rocmdoctor.reports import catalog, diagnosis_text, stack_text, text
from rocmdoctor.reports.stack_text import COLUMNS
from tests.hostbuilder import HostBuilder

MATRIX = load_matrix()
NARROW = 40


def wide(page: str) -> list[str]:
    """Lines beyond the width that could have been broken: paths and commands stay whole."""
    return [
        line for line in page.splitlines() if len(line) > NARROW and len(line.split()) > 1 and max(map(len, line.split())) < 24
    ]


def test_the_stack() -> None:
    seen = stack.gather(HostBuilder().torch("2.5.1+rocm6.2").build(), MATRIX)
    page = stack_text.render(seen, width=NARROW)
    assert not wide(page) and "\n  torch: 2.5.1+rocm6.2, fits" in page and "Layer" not in page
    table = stack_text.render(seen, width=COLUMNS)
    assert table.startswith("Layer ")


def test_the_list_of_checks() -> None:
    page = catalog.listing(engine.all_checks(), NARROW)
    assert not wide(page) and "\npermissions.kfd-access\n    " in page
    assert all(
        line.split()[0] in {c.id for c in engine.all_checks()} for line in catalog.listing(engine.all_checks(), 200).splitlines()
    )


def test_a_diagnosis_and_a_report() -> None:
    builder = HostBuilder().fault_not_in_group()
    found = diagnosis.diagnose(
        builder.build(), MATRIX, diagnosis.recognise("Unable to open /dev/kfd read-write: Permission denied")
    )
    assert not wide(diagnosis_text.render(found, width=NARROW)) and not wide(text.render(found.report, width=NARROW))


@pytest.mark.parametrize("argv", [["--help"], ["explain", "--help"]])
def test_the_help(argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli, "width", lambda: NARROW)
    assert cli.run(argv) == 0
    assert not wide(capsys.readouterr().out)
