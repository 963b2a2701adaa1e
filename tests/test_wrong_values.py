"""An option whose value names nothing is wrong usage, with status 2 and one line; its healthy twin is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocmdoctor import cli
from rocmdoctor.commands.asked import asked_python
from rocmdoctor.matrix import load_matrix
from tests.hostbuilder import HostBuilder

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("hosts") / "host"
    HostBuilder().rocm("6.2.0").torch("2.5.1+rocm6.2").write(path)
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: str) -> tuple[int, str, str]:
        code = cli.run(argv)
        return code, *capsys.readouterr()

    return call


WRONG = [
    ("--python", "/nope", "no such interpreter"),
    ("--python", "nopython", "no such interpreter"),
    ("--python", "venv", "no such interpreter"),
    ("--python", "some/venv", "give its absolute path"),
    ("--python", "/etc", "neither a Python interpreter nor an environment"),
    ("--python", "/etc/os-release", "neither a Python interpreter nor an environment"),
    ("--python", "", "names no interpreter"),
    ("--rocm", "9.9", "no such release (near it: 7.14"),
    ("--rocm", "1.0", "no such release (near it: 5.7"),
    ("--rocm", "6.2.9", "no such release (near it: 6.2.4, 6.3.0)"),
    ("--rocm", "99", "two or three numbers"),
    ("--rocm", "", "two or three numbers"),
    ("--user", "nobody-here", "not recorded in this snapshot"),
    ("--user", "", "not recorded in this snapshot"),
    ("--matrix", "/nope", "matrix /nope cannot be read: No such file or directory"),
    ("--matrix", "/bin/sh", "cannot be read: it is no UTF-8 text"),
    ("--baseline", "/nope", "No such file or directory"),
    ("--only", "nope.*", "no check matches"),
    ("--skip", "nope.*", "no check matches"),
    ("--root", "/nope", "exclude each other"),
]


@pytest.mark.parametrize(("option", "value", "said"), WRONG, ids=[f"{o[2:]}={v or 'nothing'}" for o, v, _ in WRONG])
def test_a_value_that_names_nothing(recording: str, run: Run, option: str, value: str, said: str) -> None:
    code, out, err = run("check", "--snapshot", recording, option, value)
    assert (code, out, err.count("\n")) == (2, "", 1) and said in err and "internal" not in err and "Errno" not in err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--python", "/home/user1/venv"),
        ("--python", "/home/user1/venv/bin/python"),
        ("--rocm", "6.2"),
        ("--rocm", "6.2.0"),
        ("--user", "user1"),
        ("--only", "torch_*"),
        ("--skip", "torch_*"),
    ],
)
def test_its_twin_is_judged(recording: str, run: Run, option: str, value: str) -> None:
    code, out, err = run("check", "--snapshot", recording, option, value)
    assert (code, err) == (0, "") and "Healthy: " in out


@pytest.mark.parametrize("command", ["stack", "facts", "explain"])
def test_other_commands_refuse_it_as_well(recording: str, run: Run, command: str) -> None:
    words = ["No", "HIP", "GPUs", "are", "available"] if command == "explain" else []
    code, out, err = run(command, *words, "--snapshot", recording, "--python", "/nope")
    assert (code, out) == (2, "") and "no such interpreter" in err
    assert run(command, *words, "--snapshot", recording, "--python", "/home/user1/venv")[0] == 0


def test_an_unrecorded_interpreter_is_refused_too(tmp_path: Path, run: Run) -> None:
    HostBuilder().unknown("/srv/**").write(tmp_path / "host")
    code, _, err = run("check", "--snapshot", str(tmp_path / "host"), "--python", "/srv/venv")
    assert code == 2 and "--python /srv/venv" in err


def test_the_release_judged_by_is_named(recording: str, run: Run) -> None:
    out = run("check", "--snapshot", recording, "--rocm", "6.4.1")[1]
    assert "Note: Judged against ROCm 6.4.1, not the installed 6.2.0." in out
    out = run("check", "--snapshot", recording, "--rocm", "99.0")[1]
    assert "Judged against ROCm 99.0" in out and "newer than the matrix knows" in out
    assert "Judged against" not in run("check", "--snapshot", recording)[1]
    code, _, err = run("check", "--snapshot", recording, "--rocm", "6.4.1", "--format", "json")
    assert code == 0 and "note: Judged against ROCm 6.4.1" in err


def test_a_relative_interpreter_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "venv").mkdir()
    for given in ("venv", "./venv", "venv/"):
        assert asked_python(given, None, None) == str(tmp_path / "venv")
    assert asked_python("~/venv", None, None) == str(tmp_path / "home/venv")
    assert asked_python("python3", None, None) == "python3"
    assert asked_python("venv", "node.tar.gz", None) == "venv" and asked_python(None, None, None) is None


def test_a_root_without_a_system(tmp_path: Path, run: Run) -> None:
    code, out, err = run("check", "--root", str(tmp_path))
    assert (code, out) == (2, "") and "holds no system" in err
    (tmp_path / "etc").mkdir()
    assert run("check", "--root", str(tmp_path))[0] != 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_root_that_may_not_be_read(tmp_path: Path, run: Run) -> None:
    tmp_path.joinpath("root/etc").mkdir(parents=True)
    tmp_path.joinpath("root").chmod(0)
    try:
        code, out, err = run("check", "--root", str(tmp_path / "root"))
    finally:
        tmp_path.joinpath("root").chmod(0o755)
    assert (code, out) == (2, "") and "cannot be read" in err


def test_a_matrix_that_is_cut_off_is_one_line(recording: str, run: Run, tmp_path: Path) -> None:
    """Every check would break by it: wrong input of the run, and no bug of sixty checks."""
    half = tmp_path / "half.yaml"
    half.write_bytes(Path(load_matrix().path).read_bytes()[:90_000])
    code, out, err = run("check", "--snapshot", recording, "--matrix", str(half))
    assert (code, out, err.count("\n")) == (2, "", 1) and "section is missing" in err


def test_quiet_says_what_gives_the_exit_status(run: Run, tmp_path: Path) -> None:
    warned, unknown = tmp_path / "warned", tmp_path / "unknown"
    HostBuilder().with_fault("fault_companion_mismatch").write(warned)
    HostBuilder().unknown("/sys/bus/pci/devices/**", "/sys/class/kfd/**").write(unknown)
    assert run("check", "-q", "--snapshot", str(warned)) == (0, "", "")
    code, out, _ = run("check", "-q", "--fail-on", "warn", "--snapshot", str(warned))
    assert code == 1 and out.startswith("WARN")
    code, out, err = run("check", "-q", "--fail-on", "unknown", "--snapshot", str(unknown))
    assert (code, out) == (1, "") and "could be judged" in err
