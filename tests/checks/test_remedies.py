"""What holds for every finding and every remedy, over all faults on several systems and GPUs, and over the recorded cases.

A remedy's commands do what its words say; it suggests nothing that the matrix rules out; texts are sentences, said once.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rocmdoctor.checks import fitting, remedies
from rocmdoctor.commands.matrix import app
from rocmdoctor.examination import examine
from rocmdoctor.facts import Facts
from rocmdoctor.host import Host
from rocmdoctor.host.recorded import open_snapshot
from rocmdoctor.plan import install
from rocmdoctor.plan.draft import Options
from rocmdoctor.results import Fix, Report, Result, Status
from tests.checks.judged import MATRIX
from tests.hostbuilder import FAULTS, HostBuilder

SYSTEMS = (("ubuntu", "22.04"), ("ubuntu", "24.04"), ("debian", "13"), ("rhel", "9.4"), ("fedora", "42"))
TARGETS = ("gfx1100", "gfx90a", "gfx1032", "gfx1103")
SAID_BY_NEEDS = {
    "reboot": re.compile(r"(then|and) reboot\b|^Reboot\b|reboot first", re.IGNORECASE),
    "relogin": re.compile(r"log (out|in)\b.*\b(again|in)\b", re.IGNORECASE),
}
EDITS = re.compile(r"\b(Write|Name|Add|Set|Replace|Take the|Comment|Edit)\b.*?(/etc/[\w./-]*\w)")
UNFINISHED = re.compile(r"\w\(s\)|\b1 (more )?\w+s are\b|(?<!is )\bNone\b(?! of)|\{|\}")
BY_HAND = re.compile(r"\bby hand\b")


def _hosts() -> Iterator[tuple[str, HostBuilder]]:
    for name in sorted(FAULTS):
        yield name, HostBuilder().with_fault(name)
    for system in SYSTEMS:
        yield f"{system} as it is", HostBuilder().distro(*system)
        yield f"{system} without ROCm", HostBuilder().distro(*system).no_rocm()
        for target in TARGETS:
            yield f"{system} {target}, old ROCm", HostBuilder().distro(*system).gpus(target).rocm("6.1.3")
            line = "deb [arch=amd64] https://repo.radeon.com/rocm/apt/6.2.0 jammy main\n"
            yield f"{system} {target}, wrong source", HostBuilder().distro(*system).gpus(target).repo("rocm.list", line)


@cache
def _built() -> tuple[tuple[str, Host], ...]:
    made = []
    for name, builder in _hosts():
        try:
            made.append((name, builder.build()))
        except (ValueError, KeyError):  # a system that the builder has no such driver or release for
            continue
    return tuple(made)


def _recorded() -> Iterator[tuple[str, Host]]:
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
    for case in sorted(folder.glob("*/snapshot.json")):
        yield case.parent.name, open_snapshot(case.parent)


@cache
def _examined() -> tuple[tuple[str, Host, Report], ...]:
    hosts = (*_built(), *_recorded())
    return tuple((name, host, examine(host, MATRIX, profile="node", plugins=False)) for name, host in hosts)


def findings() -> Iterator[tuple[str, Host, Result]]:
    for name, host, report in _examined():
        for result in report.results:
            if result.status in (Status.WARN, Status.FAIL):
                yield f"{name}: {result.id}", host, result


def fixes() -> Iterator[tuple[str, Host, Fix]]:
    for where, host, result in findings():
        for fix in result.fixes:
            yield where, host, fix


def _refused(host: Host, argv: tuple[str, ...]) -> set[str]:
    """Why `rocmdoctor install` would refuse this command line on that host."""
    options = dict(zip(argv[2::2], argv[3::2], strict=True))
    asked = Options(rocm=options.get("--rocm"), driver=options.get("--driver", "auto"), pytorch="none")
    return {refusal.code for refusal in install.build(Facts(host, MATRIX), MATRIX, asked).refusals}


def test_what_a_remedy_installs_is_not_refused() -> None:
    """Alone it is a plan; behind an uninstall it is what AMD's packages forbid without it."""
    alone, behind = 0, 0
    for where, host, fix in fixes():
        installs = [argv for argv in fix.commands if argv[:2] == ("rocmdoctor", "install")]
        if len(installs) == len(fix.commands) == 1:
            alone += 1
            assert _refused(host, installs[0]) == set(), (where, installs[0])
        elif installs and fix.commands[0][:2] == ("rocmdoctor", "uninstall"):
            behind += 1
            assert _refused(host, installs[0]) <= {"other-world", "downgrade", "side-by-side"}, (where, installs[0])
            assert "removed first" in fix.title
    assert alone > 10 and behind


def test_enough_is_examined() -> None:
    assert len(_built()) > len(FAULTS) + 30
    assert not [(n, r.detail) for n, _, report in _examined() for r in report.results if r.status is Status.ERROR]


def test_titles_and_details_are_sentences() -> None:
    for where, _, result in findings():
        assert not result.title.endswith((".", ":", ";")), where
        assert result.detail.endswith((".", "!", "?")), (where, result.detail)
        assert ".." not in result.detail.replace("...", ""), (where, result.detail)
        texts = (result.title, result.detail, *(f.title for f in result.fixes))
        assert not [t for t in texts if UNFINISHED.search(t)], (where, texts)


def test_nothing_is_said_twice() -> None:
    for name, _, report in _examined():
        said = [(r.id, r.title) for r in report.results if r.status in (Status.WARN, Status.FAIL)]
        assert len(said) == len(set(said)), (name, said)
    for where, _, result in findings():
        assert len(set(result.evidence)) == len(result.evidence), (where, result.evidence)
        assert len({f.title for f in result.fixes}) == len(result.fixes), where


def test_a_remedy_stands_for_itself() -> None:
    """Several are alternatives, and the report writes "Or:" before them; what comes after another is part of that."""
    for where, _, fix in fixes():
        assert not fix.title.startswith(("Or ", "Then ", "And ", "Also ")), (where, fix.title)


def test_needs_are_not_repeated() -> None:
    for where, _, fix in fixes():
        for need, words in SAID_BY_NEEDS.items():
            if need in fix.needs:
                assert not words.search(fix.title), (where, fix.title)
        assert not ("reboot" in fix.needs and ("systemctl", "reboot") in fix.commands), where


def test_what_a_remedy_writes_is_written_by_its_commands() -> None:
    for where, _, fix in fixes():
        for found in EDITS.finditer(fix.title):
            if not BY_HAND.search(fix.title) and fix.commands:
                path = found.group(2)
                assert any(path in word for argv in fix.commands for word in argv), (where, fix.title, fix.commands)


def test_commands_can_be_run_as_they_stand() -> None:
    for where, _, fix in fixes():
        for argv in fix.commands:
            words = " ".join(argv)
            assert not re.search(r"\b(VERSION|CODENAME)\b|<\w+>", words), (where, words)
            assert "uninstall" not in argv or "-y" in argv or argv[0] == "rocmdoctor", (where, words)
            if argv[:2] == ("sh", "-c"):
                assert subprocess.run(["sh", "-n", "-c", argv[2]], check=False).returncode == 0, (where, words)


def test_a_release_that_is_suggested_fits_system_and_gpu() -> None:
    seen = 0
    for where, host, fix in fixes():
        for argv in fix.commands:
            if argv[:2] != ("rocmdoctor", "install"):
                continue
            assert "--rocm" in argv, (where, argv)
            rocm, facts = argv[argv.index("--rocm") + 1], Facts(host, MATRIX)
            base = fitting.base_of(facts, MATRIX)
            assert base is not None, (where, argv)
            seen += 1
            assert MATRIX.recipe(rocm, base.id, base.version), (where, argv)
            for gpu in fitting.that_count(facts):
                about = {"product": gpu.product, "family": gpu.family}
                assert MATRIX.os(rocm, base.id, base.version, gfx=gpu.gfx, **about).ok, (where, argv)
                assert MATRIX.gpu(rocm, gpu.gfx or "", os_id=base.id, os_version=base.version, **about).ok, (where, argv)
    assert seen > 10


def test_matrix_suggest_is_named_where_it_has_an_answer() -> None:
    asked = {argv: where for where, _, fix in fixes() for argv in fix.commands if argv[:3] == ("rocmdoctor", "matrix", "suggest")}
    assert asked
    for argv, where in asked.items():
        answer = CliRunner().invoke(app, list(argv[2:]))
        assert answer.exit_code == 0, (where, argv, answer.output)
        assert "change " in answer.output, (where, argv, answer.output)


# the commands that remedies are made of ---------------------------------------------------------------------------

LINE = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40)


@given(st.lists(LINE, min_size=1, max_size=3))
def test_write_writes_just_that(lines: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/file"
        subprocess.run(remedies.write(path, *lines), check=True)
        assert Path(path).read_text() == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("old", ["amdgpu/7.2", " noble ", "a.b*[c]^$|\\d"])
@pytest.mark.parametrize("new", ["amdgpu/30.30.4", "x|&y\\1"])
def test_replace_changes_the_lines_of_the_source_alone(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "rocm.list"
    file.write_text(f"one repo.radeon.com/x {old} main\ntwo archive.ubuntu.com {old} main\n")
    subprocess.run(remedies.replace(str(file), old, new, on="repo.radeon.com/x"), check=True)
    assert file.read_text() == f"one repo.radeon.com/x {new} main\ntwo archive.ubuntu.com {old} main\n"


def test_comment_out_leaves_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "bashrc"
    file.write_text("export HSA_OVERRIDE_GFX_VERSION=1\nexport HSA_OVERRIDE_GFX_VERSION_1=2\nPATH=x\n")
    subprocess.run(remedies.comment_out(str(file), r"^\s*(export\s+)?HSA_OVERRIDE_GFX_VERSION\b"), check=True)
    assert file.read_text() == "# export HSA_OVERRIDE_GFX_VERSION=1\nexport HSA_OVERRIDE_GFX_VERSION_1=2\nPATH=x\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("code of another version: crashes", "Code of another version: crashes."),
        ("ROCm 7 has it.", "ROCm 7 has it."),
        ("amdgpu 6 fails", "amdgpu 6 fails."),
        ("", ""),
    ],
)
def test_reasons_become_sentences(text: str, said: str) -> None:
    assert remedies.sentence(text) == said
