"""What Nagios and the node problem detector are told: one line, and their own exit codes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from rocmdoctor.reports import nagios, npd
from rocmdoctor.results import Report, Result, Status
from tests.reports.hostile_reports import NASTY, REPORTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, OVERRIDE, passed, report, skipped

BROKE = Result("repo.suite", "repo", Status.ERROR, "Suites fit", "the check broke: KeyError")
UNSEEN = skipped("gpu_present.device", "unknown: /sys/bus/pci was not captured")


@pytest.mark.parametrize(
    ("one", "word", "codes"),
    [
        (HEALTHY, "OK", (0, 0)),
        (report(passed("a.b", "t"), OVERRIDE), "WARNING", (1, 0)),
        (BROKEN, "CRITICAL", (2, 1)),
        (NO_GPU, "CRITICAL", (2, 1)),
        (report(passed("a.b", "t"), BROKE), "UNKNOWN", (3, 2)),
        (report(passed("a.b", "t"), OVERRIDE, BROKE), "UNKNOWN", (3, 2)),
        (report(KFD_ACCESS, BROKE), "CRITICAL", (2, 1)),
        (report(), "UNKNOWN", (3, 2)),
        (report(skipped("a.b", "does not apply")), "UNKNOWN", (3, 2)),
        (report(passed("a.b", "t"), UNSEEN, gpus=[]), "UNKNOWN", (3, 2)),
        (report(passed("disk.boot", "t"), gpus=[]), "OK", (0, 0)),
    ],
)
def test_states(one: Report, word: str, codes: tuple[int, int]) -> None:
    assert nagios.render(one).startswith(f"ROCM {word} - ")
    assert (nagios.exit_code(one), npd.exit_code(one)) == codes


def test_nagios_lines() -> None:
    assert nagios.render(HEALTHY) == ("ROCM OK - 2 checks passed | pass=2;;;0 warn=0;0;;0 fail=0;;0;0 skip=0;;;0 error=0;;;0\n")
    assert nagios.render(report(KFD_ACCESS, KFD_ACCESS._replace(title="another"), OVERRIDE)).partition(" | ")[0] == (
        "ROCM CRITICAL - user1 cannot open /dev/kfd (+1) [permissions.kfd-access]"
    )
    assert nagios.render(report(BROKE)).startswith("ROCM UNKNOWN - check repo.suite broke | ")
    assert nagios.unknown("snapshot x | is\nempty") == "ROCM UNKNOWN - snapshot x / is\\nempty\n"
    unseen = nagios.render(report(passed("a.b", "t"), OVERRIDE, UNSEEN, gpus=[]))
    assert unseen.startswith("ROCM UNKNOWN - it is unknown whether there is an AMD GPU: /sys/bus/pci was not captured |")


def test_npd_lines() -> None:
    assert npd.render(HEALTHY) == "ROCm works\n"
    assert npd.render(report(passed("a.b", "t"), OVERRIDE)) == (
        "ROCm works, with a warning: HSA_OVERRIDE_GFX_VERSION is a left-over\n"
    )
    assert npd.render(BROKEN) == "user1 cannot open /dev/kfd\n"
    assert npd.render(report(KFD_ACCESS._replace(title="long " * 40))) == f"{'long ' * 15}l...\n"
    assert npd.unknown("snapshot x is empty") == "snapshot x is empty\n"


PERFDATA = re.compile(r"[^|]+ \|( (pass|warn|fail|skip|error)=\d+;0?;0?;0){5}\n")


def check(one: Report) -> None:
    """What the receivers rely on, whatever the report holds."""
    line = nagios.render(one)
    assert PERFDATA.fullmatch(line) and line[:-1].isprintable() and len(line.encode()) <= 1024
    assert nagios.exit_code(one) in (0, 1, 2, 3)
    short = npd.render(one)
    assert short.isascii() and short[:-1].isprintable() and short.endswith("\n") and 1 < len(short) <= 80
    assert npd.exit_code(one) in (0, 1, 2)


@pytest.mark.parametrize("evil", NASTY)
def test_host_texts_cannot_forge_performance_data(evil: str) -> None:
    check(report(KFD_ACCESS._replace(title=f"a {evil} z")))
    assert nagios.unknown(evil).count("\n") == npd.unknown(evil).count("\n") == 1 and "|" not in nagios.unknown(evil)


@given(REPORTS)
def test_any_report_is_one_line(one: Report) -> None:
    check(one)
