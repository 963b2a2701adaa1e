"""The command line: options, exit status, and what goes where. The layers below are stubbed; tests/e2e runs them for real."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocmdoctor import __version__, cli
from rocmdoctor.engine import UnknownCheck
from rocmdoctor.host import HostError
from rocmdoctor.results import Report, Result, Status
from tests.reports.sample_reports import BROKEN, HEALTHY, NO_GPU, OVERRIDE, passed, report

TREE = Path(__file__).parents[1]
CRASHED = report(passed("a.b", "t"), Result("c.d", "c", Status.ERROR, "t", "the check broke"))
WARNED = report(passed("a.b", "t"), OVERRIDE)

Outcome = tuple[int, str, str]


class Layers:
    """What the command asked of the layers below, and what they answer."""

    def __init__(self) -> None:
        self.report: Report | Exception | BaseException = HEALTHY
        self.asked: dict[str, Any] = {}
        self.host: tuple[Any, ...] = ()
        self.matrix: Any = None
        self.uid = 1000


@pytest.fixture
def layers(monkeypatch: pytest.MonkeyPatch) -> Layers:
    state = Layers()

    def examine(host: object, matrix: object, **options: Any) -> Report:
        state.asked = options
        if isinstance(state.report, BaseException):
            raise state.report
        return state.report

    def load(path: object = None) -> None:
        state.matrix = path

    def host(*asked: Any) -> object:
        state.host = asked
        return SimpleNamespace(user=SimpleNamespace(uid=state.uid))

    monkeypatch.setattr("rocmdoctor.examination.examine", examine)
    monkeypatch.setattr("rocmdoctor.matrix.load_matrix", load)
    monkeypatch.setattr("rocmdoctor.commands.check.asked_host", host)
    monkeypatch.delenv("ROCMDOCTOR_DEBUG", raising=False)
    return state


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*argv: str) -> Outcome:
        code = cli.run(argv)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("argv", [["--version"], ["version"]])
def test_version(run: Callable[..., Outcome], argv: list[str]) -> None:
    assert run(*argv) == (0, f"rocmdoctor {__version__}\n", "")


@pytest.mark.parametrize("argv", [["--help"], ["check", "--help"], ["check", "-h"], ["explain", "--help"], ["matrix", "--help"]])
def test_help(run: Callable[..., Outcome], argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, err) == (0, "") and out.startswith("Usage: rocmdoctor")


def test_help_names_every_command(run: Callable[..., Outcome]) -> None:
    _, out, _ = run("--help")
    assert all(f"  {name} " in out for name in ("check", "snapshot", "list-checks", "explain", "matrix", "version"))


@pytest.mark.parametrize(
    ("answer", "options", "code"),
    [
        (HEALTHY, [], 0),
        (WARNED, [], 0),
        (WARNED, ["--fail-on", "warn"], 1),
        (HEALTHY, ["--fail-on", "warn"], 0),
        (BROKEN, [], 1),
        (NO_GPU, [], 1),
        (CRASHED, [], 3),
        (report(*BROKEN.results, *CRASHED.results), [], 3),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_exit_status(
    layers: Layers, run: Callable[..., Outcome], answer: Report, options: list[str], code: int, form: str
) -> None:
    layers.report = answer
    assert run("check", "--format", form, *options)[0] == code


def test_json_on_standard_output_and_notices_beside_it(layers: Layers, run: Callable[..., Outcome]) -> None:
    layers.report = report(passed("a.b", "t"), notices=("The matrix is\nold.",))
    code, out, err = run("check", "--format", "json")
    assert (code, err) == (0, "rocmdoctor: note: The matrix is\\nold.\n")
    assert json.loads(out)["schema_version"] == 1
    assert run("check", "--format", "json", "-q")[2] == ""


def test_options_reach_the_examination(layers: Layers, run: Callable[..., Outcome]) -> None:
    argv = ["--only", "a.*,b", "--only", "c", "--skip", " d , ", "--profile", "node", "--python", "/v", "--rocm", "6.2.4"]
    argv += ["--expect-gpus", "8"]
    assert run("check", *argv, "--deep", "--root", "/mnt", "--user", "ann", "--matrix", "m.yaml")[0] == 0
    assert layers.asked == {
        "only": ("a.*", "b", "c"),
        "skip": ("d",),
        "deep": True,
        "profile": "node",
        "python": "/v",
        "rocm": "6.2.4",
        "expect_gpus": 8,
    }
    assert layers.host == (None, "/mnt", "ann")
    assert layers.matrix == "m.yaml"


def test_sudo_is_for_those_who_are_not_root(layers: Layers, run: Callable[..., Outcome]) -> None:
    layers.report = BROKEN
    assert "sudo usermod" in run("check", "--snapshot", "x")[1]
    layers.uid = 0
    assert "sudo usermod" not in run("check", "--snapshot", "x")[1]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["frob"],
        ["matrix"],
        ["matrix", "frob"],
        ["--frob"],
        ["check", "--frob"],
        ["check", "extra"],
        ["check", "--format", "xml"],
        ["check", "--profile", "toaster"],
        ["check", "--rocm", "six"],
        ["check", "--rocm", ""],
        ["check", "-q", "-v"],
        ["check", "--only", ","],
        ["explain"],
        ["explain", "no.such-check"],
        ["snapshot"],
    ],
)
def test_wrong_usage_is_one_line(layers: Layers, run: Callable[..., Outcome], argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (2, "") and err.startswith("rocmdoctor: ") and err.count("\n") == 1


def test_snapshot_and_root_exclude_each_other(run: Callable[..., Outcome]) -> None:
    code, _, err = run("check", "--snapshot", "a", "--root", "b")
    assert (code, err) == (2, "rocmdoctor: --snapshot and --root exclude each other\n")


@pytest.mark.parametrize("error", [UnknownCheck("no check matches 'x'"), HostError("snapshot x is empty\x1b[31m")])
def test_wrong_input_is_one_line(layers: Layers, run: Callable[..., Outcome], error: Exception) -> None:
    layers.report = error
    code, out, err = run("check")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "\x1b" not in err and "Traceback" not in err


def test_a_bug_is_one_line_and_its_traceback_on_request(
    layers: Layers, run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers.report = KeyError("gfx")
    code, out, err = run("check")
    assert (code, out) == (3, "")
    assert err == "rocmdoctor: internal error: KeyError: 'gfx'; ROCMDOCTOR_DEBUG=1 shows where\n"
    monkeypatch.setenv("ROCMDOCTOR_DEBUG", "1")
    code, _, err = run("check")
    assert code == 3 and "Traceback" in err and "test_cli.py" in err


def test_interrupted(layers: Layers, run: Callable[..., Outcome]) -> None:
    layers.report = KeyboardInterrupt()
    assert run("check") == (130, "", "rocmdoctor: interrupted\n")


# with a real process: pipes, signals, terminals ------------------------------------------------------------------

STUBBED = """
import sys, time
import rocmdoctor.commands.check as c, rocmdoctor.examination as e, rocmdoctor.matrix as m
from tests.reports.sample_reports import BROKEN
from types import SimpleNamespace
m.load_matrix = lambda path=None: None
c.asked_host = lambda *a: SimpleNamespace(user=SimpleNamespace(uid=1000))
def examine(*a, **k):
    if "--user" in sys.argv:
        print("ready", file=sys.stderr, flush=True)
        time.sleep(30)
    return BROKEN
e.examine = examine
from rocmdoctor.__main__ import main
main()
"""


def process(*argv: str, environment: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "ROCMDOCTOR_DEBUG", "COLUMNS")}
    env |= {"PYTHONPATH": str(TREE), **(environment or {})}
    return subprocess.Popen([sys.executable, "-c", STUBBED, *argv], text=True, env=env, stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_reader_that_has_gone_changes_nothing(form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    child = process("check", "--format", form, stdout=write)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (1, "")


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        child = process("check", stdout=full)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 3 and err.count("\n") == 1 and "No space left" in err


def test_closed_standard_output_is_one_line() -> None:
    child = process("check", preexec_fn=lambda: os.close(1))
    _, err = child.communicate(timeout=60)
    assert child.returncode == 3 and err.count("\n") == 1 and "Traceback" not in err


def test_sigint() -> None:
    # a test run in the background of a shell hands down an ignored SIGINT
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    child = process("check", "--user", "x", stdout=subprocess.PIPE, preexec_fn=heard)
    assert child.stderr and child.stderr.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "rocmdoctor: interrupted\n")


def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    child = process("check", environment={"PYTHONIOENCODING": "ascii"}, stdout=subprocess.PIPE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1 and err == "" and out.isascii()


def on_terminal(*argv: str, **environment: str) -> str:
    """What a command writes to a terminal of 60 columns."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    child = process(*argv, environment={"TERM": "xterm", **environment}, stdout=theirs)
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # EIO: the other side has closed
            break
        if not piece:
            break
        seen += piece
    child.communicate(timeout=60)
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_its_width() -> None:
    seen = on_terminal("check")
    assert "\x1b[1;31mFAIL\x1b[0m" in seen
    assert "Every\n" in seen or "group render," in seen


@pytest.mark.parametrize(
    ("argv", "environment"),
    [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"}), (["--format", "json"], {})],
)
def test_a_terminal_without_colours(argv: list[str], environment: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal("check", *argv, **environment)
