"""The samples of README.md and docs/ are what the program says, run on the hosts that the names of their snapshots stand for.

A line of three dots in a sample stands for lines left out.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from rocmdoctor import cli
from tests.hostbuilder import HostBuilder

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
HOSTS = {
    "node7.tar.gz": HostBuilder().distro("ubuntu", "22.04").rocm("6.2.0").torch("2.5.1+rocm6.2").fault_not_in_group(),
    "node8.tar.gz": HostBuilder()
    .distro("rhel", "9.4")
    .gpus("gfx90a", count=4, device="740f")
    .rocm("6.2.0")
    .torch("2.5.1+rocm6.2"),
    "comfy.tar.gz": HostBuilder()
    .distro("ubuntu", "24.04")
    .gpus("gfx1150")
    .driver("inbox")
    .no_rocm()
    .torch("2.12.0+cu130")
    .container(),
}
DOCUMENTS = [README, *(p.read_text(encoding="utf-8") for p in sorted((Path(__file__).parents[1] / "docs").glob("*.md")))]
SAMPLE = re.compile(r"^```console\n\$ (rocmdoctor .*)\n((?:(?!```).*\n)*)```$", re.M)
SAMPLES = [(command, shown) for text in DOCUMENTS for command, shown in SAMPLE.findall(text)]
COMMANDS = sorted(set(re.findall(r"^ {4}(rocmdoctor [^#\n]*?) *(?:#.*)?$", README, re.M)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readme")
    for name, builder in HOSTS.items():
        builder.write_tar(path / name)
    (path / "nodes").mkdir()
    for number in range(1, 4):
        (HOSTS["node8.tar.gz"] if number < 3 else HOSTS["node7.tar.gz"]).write_tar(path / f"nodes/node{number}.tar.gz")
    return path


@pytest.mark.parametrize(("command", "shown"), SAMPLES, ids=[c for c, _ in SAMPLES])
def test_a_sample_is_what_the_program_says(
    command: str, shown: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    cli.run(shlex.split(command)[1:])
    said = capsys.readouterr().out
    pieces = [re.escape(piece) for piece in re.split(r"^ *\.\.\.\n", shown, flags=re.M)]
    assert re.fullmatch("(?:.*\n)*?".join(pieces) if len(pieces) > 1 else pieces[0], said), said


def test_there_are_samples_of_what_matters() -> None:
    assert {command.split()[1] for command, _ in SAMPLES} >= {"check", "explain", "stack", "topology", "fleet"}


def test_samples_have_no_number_that_a_new_check_changes() -> None:
    assert not re.search(r"\d+ checks? (passed|skipped)", README)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_list_is_understood(command: str) -> None:
    """Every option and argument is one that the command has."""
    words = shlex.split(command)[1:]
    group = get_command(cli.app)
    context = group.make_context("rocmdoctor", words, resilient_parsing=True)
    while hasattr(group, "resolve_command"):
        name, group, words = group.resolve_command(context, words)
        assert name and group
        context = type(context)(group, info_name=name, parent=context)
    parser = group.make_parser(context)
    parser.parse_args(list(words))


def test_every_command_is_in_the_list() -> None:
    named = {command.split()[1] for command in COMMANDS}
    assert set(cli.Commands(name="x").commands) - named <= {"version"}
