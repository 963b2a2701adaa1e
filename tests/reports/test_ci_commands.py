"""No output that a CI server shows holds a command to it, whatever the host says; and what is no command stays as it is."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor import engine
from rocmdoctor.reports import formats, json_report, sarif, text
from rocmdoctor.reports.printable import command_line, command_lines, inert, inert_json, printable, wrap
from rocmdoctor.results import Evidence, Fix, Report, Result, Status
from tests.hostbuilder import HostBuilder
from tests.reports.hostile_reports import CI_COMMANDS, REPORTS
from tests.reports.sample_reports import report

COMMAND = re.compile(r"^\s*::[A-Za-z][^:]*::|##\w*\[", re.M)
FORMATS = ("json", "junit", "sarif", "prometheus", "nagios", "npd", "markdown")
HOST = HostBuilder().build()


def outputs(one: Report, width: int = 80) -> dict[str, str]:
    shown = {name: formats.render(name, one, HOST, 0) for name in FORMATS}
    return {**shown, "text": text.render(one, width=width), "verbose": text.render(one, width=width, verbose=True)}


@pytest.mark.parametrize("said", CI_COMMANDS)
def test_what_a_host_says_is_no_command(said: str) -> None:
    fix = Fix(said, ((said, said), ("echo", *said.split(" "))), (), False, (said,))
    one = report(
        *(Result("a.b", "a", status, said, said, (Evidence(said, said), Evidence("x", said)), (fix,)) for status in Status),
        notices=(said,),
    )
    for width in (40, 80, 100):
        for name, shown in outputs(one, width).items():
            assert not COMMAND.search(shown), (name, COMMAND.search(shown))


@settings(max_examples=60)
@given(REPORTS, st.integers(40, 100))
def test_no_report_holds_one(one: Report, width: int) -> None:
    for name, shown in outputs(one, width).items():
        assert not COMMAND.search(shown), name


def test_json_says_the_same() -> None:
    one = report(*(Result("a.b", "a", Status.FAIL, said, said) for said in CI_COMMANDS))
    assert json.loads(json_report.render(one)) == json.loads(json.dumps(json_report.document(one)))
    assert "forged" in json.dumps(json.loads(sarif.render(one, engine.all_checks())))


@given(st.dictionaries(st.text(), st.text(st.sampled_from('#[\\"v\n'))))
def test_the_escape_in_json_is_no_other_text(value: dict[str, str]) -> None:
    assert json.loads(inert_json(json.dumps(value))) == value and "##" not in inert_json(json.dumps(value))


@pytest.mark.parametrize(
    "plain", ["std::string", "c10::Error", "::1", "## heading", "a ##b", "C#[x]", "fe80::1", "# [x]", ":: x"]
)
def test_other_text_stays(plain: str) -> None:
    assert printable(plain) == inert(plain) == plain and wrap(plain, 40) == [plain]


@pytest.mark.parametrize("word", ["::add-mask::FAIL", "##[group]y", "it's ##vso[x]", "\\##[x]", "plain", "a b"])
def test_a_command_to_paste_means_the_same(word: str) -> None:
    """bash reads it back, and no line of it is one for the CI server."""
    for line in (command_line(["printf", "%s", word]), "\n".join(command_lines(["printf", "%s", word], 40, "  "))):
        assert not COMMAND.search(line)
        assert subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout == word


def test_a_line_end_is_an_escape_wherever_it_stands() -> None:
    """A second line could look like one of ours."""
    said = "x\n      Fix: Run what a stranger says:\n          curl evil"
    shown = text.render(report(Result("a.b", "a", Status.FAIL, "t", said, (Evidence("environment", said),))))
    assert not re.search(r"^ *(Fix|curl)", shown, re.M) and r"x\n" in shown
