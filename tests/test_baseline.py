"""Accepted findings: what is accepted, for how long, and what a wrong file says."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor import baseline
from rocmdoctor.baseline import Baseline, BaselineError, Entry
from rocmdoctor.fingerprint import fingerprint
from rocmdoctor.results import Report, Result, Status
from tests.reports.hostile_reports import REPORTS, TEXTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, OVERRIDE, passed, report, skipped

TODAY = datetime.date(2026, 11, 30)
LATER = datetime.date(2027, 2, 28)


def entry(result: Result, reason: str = "ticket 17", until: datetime.date = LATER) -> Entry:
    return Entry(result.id, fingerprint(result), reason, until, "title")


def applied(one: Report, *entries: Entry, today: datetime.date = TODAY) -> Report:
    return baseline.apply(one, Baseline(entries), today)


# judging ---------------------------------------------------------------------------------------------------------


def test_an_accepted_finding_does_not_count() -> None:
    after = applied(report(passed("a.b", "t"), KFD_ACCESS), entry(KFD_ACCESS))
    assert after.results[1] == KFD_ACCESS._replace(
        status=Status.SKIP, detail="accepted until 2027-02-28 because ticket 17", fixes=()
    )
    assert (after.verdict, after.root_causes, after.notices) == ("healthy", (), ())


def test_warnings_can_be_accepted_and_broken_checks_cannot() -> None:
    broke = Result("repo.suite", "repo", Status.ERROR, "Suites fit", "the check broke")
    after = applied(report(OVERRIDE, broke), entry(OVERRIDE), entry(broke))
    assert [r.status for r in after.results] == [Status.SKIP, Status.ERROR]


def test_another_finding_of_the_same_check_counts() -> None:
    other = KFD_ACCESS._replace(title="user1 cannot open /dev/kfd in this container")
    after = applied(report(KFD_ACCESS, other), entry(KFD_ACCESS))
    assert [r.status for r in after.results] == [Status.SKIP, Status.FAIL] and after.root_causes == (KFD_ACCESS.id,)


def test_another_user_on_another_host_is_the_same_finding() -> None:
    other = KFD_ACCESS._replace(title="ann cannot open /dev/kfd", detail="elsewhere", evidence=())
    assert applied(report(other), entry(KFD_ACCESS)).results[0].status is Status.SKIP


@pytest.mark.parametrize(
    ("made", "today", "notice"),
    [
        (entry(KFD_ACCESS), LATER, None),
        (
            entry(KFD_ACCESS),
            LATER + datetime.timedelta(days=1),
            "Baseline: permissions.kfd-access (title) is not accepted: its entry ended on 2027-02-28.",
        ),
        (
            entry(KFD_ACCESS, reason=""),
            TODAY,
            "Baseline: permissions.kfd-access (title) is not accepted: its entry gives no reason.",
        ),
    ],
)
def test_an_entry_counts_with_a_reason_and_until_its_day(made: Entry, today: datetime.date, notice: str | None) -> None:
    before = report(KFD_ACCESS)._replace(notices=("Old matrix.",))
    after = applied(before, made, today=today)
    assert after.results[0].status is (Status.FAIL if notice else Status.SKIP)
    assert after.notices == ("Old matrix.", *([notice] if notice else []))


def test_a_live_entry_beats_an_expired_one() -> None:
    after = applied(report(KFD_ACCESS), entry(KFD_ACCESS, until=TODAY - datetime.timedelta(days=9)), entry(KFD_ACCESS))
    assert after.results[0].status is Status.SKIP and after.notices == ()


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((passed(KFD_ACCESS.id, "t"),), True),
        ((KFD_ACCESS._replace(title="something else"),), True),
        ((skipped(KFD_ACCESS.id, "unknown: no permission"),), False),
        ((Result(KFD_ACCESS.id, "permissions", Status.ERROR, "t"),), False),
        ((passed("a.b", "t"),), False),
    ],
)
def test_an_entry_that_matches_nothing_is_said_where_that_is_known(results: tuple[Result, ...], said: bool) -> None:
    notices = applied(report(*results), entry(KFD_ACCESS), entry(KFD_ACCESS)).notices
    line = "Baseline: permissions.kfd-access (title) is not found any more: its entry can be removed."
    assert notices == ((line,) if said else ())


def test_what_an_accepted_failure_hides_is_said() -> None:
    after = applied(BROKEN, entry(KFD_ACCESS))
    assert after.notices == ("2 checks are not judged because of permissions.kfd-access, which is accepted.",)
    assert after.verdict == "degraded"
    assert "1 check is not judged" in applied(NO_GPU, entry(NO_GPU.results[0])).notices[0]


def test_nothing_changes_without_entries() -> None:
    assert applied(BROKEN) == BROKEN


# writing ---------------------------------------------------------------------------------------------------------


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    assert baseline.write(str(path), report(*BROKEN.results, KFD_ACCESS), TODAY) == 2
    text = path.read_text()
    assert text == (
        "# Findings of rocmdoctor that are accepted. `rocmdoctor check --baseline FILE` does not count them.\n"
        "# An entry counts when it has a reason, and through the day `until`. The title is for readers.\n"
        "schema_version: 1\n"
        "accepted:\n"
        "- id: permissions.kfd-access\n"
        "  fingerprint: sha256-2ef41cdd1002b248\n"
        "  title: <user> cannot open /dev/kfd\n"
        "  reason: ''\n"
        "  until: 2027-02-28\n"
        "- id: hsa_override.global\n"
        f"  fingerprint: sha256-{fingerprint(OVERRIDE)}\n"
        "  title: HSA_OVERRIDE_GFX_VERSION is a left-over\n"
        "  reason: ''\n"
        "  until: 2027-02-28\n"
    )
    assert "user1" not in text
    assert os.listdir(tmp_path) == ["accepted.yaml"]
    unreasoned = baseline.load(str(path))
    assert baseline.apply(BROKEN, unreasoned, TODAY).verdict == "broken"
    path.write_text(text.replace("reason: ''", "reason: a lab machine"))
    assert baseline.apply(BROKEN, baseline.load(str(path)), TODAY).verdict == "healthy"


def test_a_healthy_host_gives_an_empty_file(tmp_path: Path) -> None:
    path = str(tmp_path / "b.yaml")
    assert baseline.write(path, HEALTHY, TODAY) == 0
    assert baseline.load(path) == Baseline()


def test_entries_of_other_hosts_stay(tmp_path: Path) -> None:
    """With reason, date and place; the file's mode and a link to it stay too."""
    real = tmp_path / "real.yaml"
    old = Baseline((entry(OVERRIDE), entry(passed("other.host", "t"))))
    real.write_text(baseline.to_yaml(old))
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    assert baseline.write(str(link), BROKEN, TODAY) == 1
    now = baseline.load(str(link))
    assert now.entries[:2] == old.entries and [e.id for e in now.entries[2:]] == [KFD_ACCESS.id]
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    before = real.read_bytes()
    assert baseline.write(str(link), BROKEN, TODAY) == 0 and real.read_bytes() == before


def test_what_is_no_baseline_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text("shopping: [milk]\n")
    with pytest.raises(BaselineError, match="no baseline"):
        baseline.write(str(path), BROKEN, TODAY)
    assert path.read_text() == "shopping: [milk]\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=r"baseline .*/missing/b\.yaml: No such file or directory"):
        baseline.write(str(tmp_path / "missing/b.yaml"), BROKEN, TODAY)
    (tmp_path / "dir").mkdir()
    with pytest.raises(BaselineError, match="Is a directory"):
        baseline.write(str(tmp_path / "dir"), BROKEN, TODAY)
    assert os.listdir(tmp_path) == ["dir"]


# reading ---------------------------------------------------------------------------------------------------------

ROW = {"id": "a.b", "fingerprint": "sha256-0123456789abcdef", "title": "t", "reason": "r", "until": "2027-02-28"}


def test_a_quoted_date_and_a_missing_title_are_fine() -> None:
    text = "schema_version: 1\naccepted:\n- {id: a.b, fingerprint: sha256-0123456789abcdef, reason: ' r ', until: '2027-02-28'}\n"
    assert baseline.from_yaml(text).entries == (Entry("a.b", "0123456789abcdef", "r", LATER),)


@pytest.mark.parametrize("nothing", ["accepted:", "accepted: []"])
def test_no_entries_are_fine(nothing: str) -> None:
    assert baseline.from_yaml(f"schema_version: 1\n{nothing}\n") == Baseline()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the key `accepted` is missing"),
        ("- a\n", "the key `accepted` is missing"),
        ("accepted: []\n", "schema_version is missing"),
        ("schema_version: 2\naccepted: []\n", "schema_version is 2"),
        ("schema_version: true\naccepted: []\n", "schema_version is True"),
        ("schema_version: &a [*a]\naccepted: []\n", "schema_version is no number"),
        ("schema_version: 1\naccepted: {a: b}\n", "`accepted` is no list"),
        ("schema_version: 1\naccepted: [a]\n", "entry 1 is no mapping"),
        ("schema_version: 1\naccepted: &a [*a]\n", "entry 1 is no mapping"),
        ("a: [", "no YAML"),
        ("a: 2027-02-31", "no YAML"),
        ("\x00", "no YAML"),
        ("[" * 100_000, "no YAML"),
        ("!!python/object/apply:os.system ['true']", "no YAML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BaselineError, match=message) as raised:
        baseline.from_yaml(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "entry 1 has no id"),
        ({"id": 3}, "entry 1 has no id"),
        ({"fingerprint": "0123456789abcdef"}, r"entry 1 \(a\.b\) has no fingerprint such as"),
        ({"fingerprint": "sha256-xyz"}, "has no fingerprint"),
        ({"fingerprint": None}, "has no fingerprint"),
        ({"until": None}, "`until` is no date"),
        ({"until": "soon"}, "`until` is no date"),
        ({"until": datetime.datetime(2027, 2, 28, 1)}, "`until` is no date"),
        ({"until": 20270228}, "`until` is no date"),
        ({"reason": ["r"]}, "reason and title are texts"),
        ({"reason": 17}, "reason and title are texts"),
        ({"untill": "2027-02-28"}, "unknown key untill"),
    ],
)
def test_a_wrong_entry_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BaselineError, match=message):
        baseline.from_yaml(yaml.safe_dump({"schema_version": 1, "accepted": [{**ROW, **changes}]}))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=r"baseline .*/none\.yaml: No such file or directory"):
        baseline.load(str(tmp_path / "none.yaml"))
    with pytest.raises(BaselineError, match="Is a directory"):
        baseline.load(str(tmp_path))
    (tmp_path / "big").write_bytes(b"#" * (baseline.MOST_BYTES + 1))
    with pytest.raises(BaselineError, match="larger than 1024 KiB"):
        baseline.load(str(tmp_path / "big"))
    (tmp_path / "latin").write_bytes(b"a: \xfc\n")
    with pytest.raises(BaselineError, match="no UTF-8"):
        baseline.load(str(tmp_path / "latin"))


@given(REPORTS, st.dates(datetime.date(1970, 1, 1), datetime.date(2100, 1, 1)))
def test_what_was_written_is_read_back_and_accepts(one: Report, today: datetime.date) -> None:
    made = baseline.extended(Baseline(), one, today)
    assert baseline.from_yaml(baseline.to_yaml(made)) == made
    reasoned = Baseline(tuple(e._replace(reason="r") for e in made.entries))
    after = baseline.apply(one, reasoned, today)
    assert not after.count(Status.FAIL) and not after.count(Status.WARN)
    assert len(after.results) == len(one.results) and after.count(Status.PASS) == one.count(Status.PASS)
    assert baseline.extended(made, one, today) == made


@given(TEXTS)
def test_any_text_is_a_baseline_or_an_error(text: str) -> None:
    try:
        baseline.from_yaml(text)
    except BaselineError as error:
        assert "\n" not in str(error)
