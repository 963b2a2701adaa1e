"""`check --format` and the baseline from the command line, on built hosts: a broken node and its healthy twin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from lxml import etree
from prometheus_client.parser import text_string_to_metric_families

from rocmdoctor import cli
from rocmdoctor.baseline import from_yaml
from rocmdoctor.commands.check import CheckFormat
from tests.hostbuilder import HostBuilder

PAGE = Path(__file__).parents[1] / "docs/outputs.md"
FAULT = "permissions.kfd-access"
Outcome = tuple[int, str, str]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A snapshot of a workstation whose user is not in the render group."""
    folder = tmp_path_factory.mktemp("broken")
    HostBuilder().with_fault("fault_not_in_group").write(folder)
    return str(folder)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("healthy")
    HostBuilder().twin("fault_not_in_group").write(folder)
    return str(folder)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*argv: str | Path) -> Outcome:
        code = cli.run(["check", *map(str, argv)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


# formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "junit", "sarif", "prometheus", "nagios", "npd", "markdown"])
def test_each_format_says_the_fault_and_keeps_its_exit_status(
    check: Callable[..., Outcome], broken: str, healthy: str, form: str
) -> None:
    code, out, _ = check("--snapshot", broken, "--format", form)
    assert code == (2 if form == "nagios" else 1)
    assert (FAULT if form != "npd" else "cannot open /dev/kfd") in out
    code, out, _ = check("--snapshot", healthy, "--format", form)
    assert code == 0, out


def test_machine_formats_are_whole(check: Callable[..., Outcome], broken: str) -> None:
    root = etree.fromstring(check("--snapshot", broken, "--format", "junit")[1].encode())
    assert [f.get("type") for f in root.iter("failure")] == [FAULT]
    (only,) = json.loads(check("--snapshot", broken, "--format", "sarif")[1])["runs"]
    rules = {r["id"]: r for r in only["tool"]["driver"]["rules"]}
    assert [r["ruleId"] for r in only["results"]] == [FAULT]
    assert rules[FAULT]["shortDescription"]["text"] == "The user can open /dev/kfd" and rules[FAULT]["helpUri"]
    families = {f.name: f for f in text_string_to_metric_families(check("--snapshot", broken, "--format", "prometheus")[1])}
    assert [s.labels["id"] for s in families["rocmdoctor_root_cause"].samples] == [FAULT]
    assert families["rocmdoctor_last_run_timestamp_seconds"].samples[0].value > 1.7e9


def test_markdown_leaves_names_out(check: Callable[..., Outcome], tmp_path: Path) -> None:
    HostBuilder().user("annabel", groups=["sudo"]).file("/etc/hostname", "hephaistos\n").write(tmp_path)
    assert "annabel" in check("--snapshot", tmp_path)[1]
    out = check("--snapshot", tmp_path, "--format", "markdown")[1]
    assert "annabel" not in out and "hephaistos" not in out and "cannot open /dev/kfd`" in out


@pytest.mark.parametrize(
    "argv", [["--snapshot", "/no/such/file"], ["--frob"], ["--only", "no.such"], ["--rocm", "six"], ["--baseline", "/no/such"]]
)
def test_monitors_take_what_went_wrong_as_unknown(check: Callable[..., Outcome], healthy: str, argv: list[str]) -> None:
    """Exit status 2 would be CRITICAL to Nagios, and neither reads standard error."""
    where = [] if "--snapshot" in argv else ["--snapshot", healthy]
    for spelled in (["--format", "nagios"], ["--format=nagios"]):
        code, out, err = check(*where, *argv, *spelled)
        assert (code, err) == (3, "") and re.fullmatch(r"ROCM UNKNOWN - \S.*\n", out)
    code, out, err = check(*where, "--format", "npd", *argv)
    assert (code, err) == (2, "") and out.count("\n") == 1 and 1 < len(out) <= 80
    code, out, err = check(*where, *argv, "--format", "junit")
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_list_checks_as_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["list-checks", "--format", "markdown"]) == 0
    assert f"\n### `{FAULT}`\n" in capsys.readouterr().out


def test_the_page_of_the_outputs_names_them_all() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z]+)` \| [A-Za-z]", page, re.MULTILINE) == [
        "text",
        "json",
        "junit",
        "sarif",
        "prometheus",
        "markdown",
        "nagios",
        "npd",
    ]
    assert set(get_args(CheckFormat)) <= set(re.findall(r"`(\w+)`", page))
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [e.id for e in from_yaml(example).entries] == [FAULT]
    for config in re.findall(r"```json\n(.*?)```", page, re.DOTALL):
        assert json.loads(config)["pluginConfig"]["max_output_length"] == 80


# the baseline ----------------------------------------------------------------------------------------------------


def test_from_a_finding_to_an_accepted_one(check: Callable[..., Outcome], broken: str, healthy: str, tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    code, _, err = check("--snapshot", broken, "--write-baseline", path)
    assert code == 1 and "added 1 finding to" in err
    code, out, _ = check("--snapshot", broken, "--baseline", path)
    assert code == 1 and "its entry gives no reason" in " ".join(out.split())
    path.write_text(path.read_text().replace("reason: ''", "reason: a kiosk without GPU jobs"))
    code, out, _ = check("--snapshot", broken, "--baseline", path, "--format", "json")
    report = json.loads(out)
    (ours,) = [r for r in report["results"] if r["id"] == FAULT]
    assert (code, report["summary"]["fail"], ours["status"]) == (0, 0, "skip")
    assert re.fullmatch(r"accepted until \d{4}-\d\d-\d\d because a kiosk without GPU jobs", ours["detail"])
    code, out, _ = check("--snapshot", healthy, "--baseline", path)
    assert code == 0 and "its entry can be removed" in " ".join(out.split())
    code, _, err = check("--snapshot", broken, "--baseline", path, "--write-baseline", tmp_path / "rest.yaml")
    assert code == 0 and "added 0 findings" in err


def test_an_expired_entry_counts_again(check: Callable[..., Outcome], broken: str, tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    check("--snapshot", broken, "--write-baseline", path)
    text = re.sub(r"until: .*", "until: 2020-01-01", path.read_text()).replace("reason: ''", "reason: r")
    path.write_text(text)
    code, _, err = check("--snapshot", broken, "--baseline", path, "--format", "json")
    assert code == 1 and "its entry ended on 2020-01-01" in err


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_wrong_file_is_one_line(check: Callable[..., Outcome], broken: str, tmp_path: Path, option: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk, bread\n")
    code, out, err = check("--snapshot", broken, option, path)
    assert (code, out) == (2, "")
    assert err == f"rocmdoctor: baseline {path}: it is no baseline: the key `accepted` is missing\n"
    assert path.read_text() == "milk, bread\n"
