"""A third party's checks: the plug-in of docs/writing-checks.md is built from that page, installed and run.

What is broken in a plug-in is a result, never the end of the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

TREE = Path(__file__).parents[1]
PAGE = TREE / "docs/writing-checks.md"
FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files_of_the_page() -> dict[str, str]:
    """Path -> content of every file that the page shows."""
    return dict(FILE.findall(PAGE.read_text(encoding="utf-8")))


def entry_points(pyproject: str) -> str:
    """What a build back end makes of the group's table: the tables have the same form in both files."""
    (body,) = re.findall(r'^\[project\.entry-points\."rocmdoctor\.checks"\]\n((?:\w+ = ".*"\n)+)', pyproject, re.MULTILINE)
    return "[rocmdoctor.checks]\n" + str(body).replace('"', "")


def wheel(folder: Path, name: str, modules: dict[str, str], points: str) -> Path:
    """A wheel of pure Python (PEP 427), made without a build back end."""
    info = f"{name}-1.0.dist-info"
    members = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{m},,\n" for m in [*members, f"{info}/RECORD"]))
    return path


def install(target: Path, what: Path) -> None:
    """With pip into a folder, without an index."""
    quietly(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target", target, what)


def quietly(*argv: str | Path) -> str:
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{argv}: {done.stderr[-2000:]}"
    return done.stdout


def doctor(site: Path, *argv: str | Path) -> tuple[int, str, str]:
    """Exit status, standard output and standard error, with `site` on the path as an installed package is."""
    environment = {k: v for k, v in os.environ.items() if k != "ROCMDOCTOR_DEBUG"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TREE), str(site)])
    command = [sys.executable, "-m", "rocmdoctor", *map(str, argv)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the page's plug-in was installed."""
    work = tmp_path_factory.mktemp("plugin")
    files = files_of_the_page()
    modules = {path: text for path, text in files.items() if path.startswith("acme_rocm_checks/")}
    assert set(files) - set(modules) == {"pyproject.toml", "tests/test_inventory.py"}
    install(work / "site", wheel(work, "acme_rocm_checks", modules, entry_points(files["pyproject.toml"])))
    return work / "site"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A snapshot of a node that was bought with two GPUs and shows one."""
    folder = tmp_path / "node"
    device = folder / "files/sys/bus/pci/devices/0000:03:00.0"
    device.mkdir(parents=True)
    for name, text in {"vendor": "0x1002\n", "device": "0x740f\n", "class": "0x038000\n"}.items():
        (device / name).write_text(text)
    (folder / "files/etc/acme").mkdir(parents=True)
    (folder / "files/etc/acme/node.conf").write_text("gpus = 2\n")
    uname = {"sysname": "Linux", "release": "6.8.0-45-generic", "version": "#1", "machine": "x86_64"}
    user = {"name": "user1", "uid": 1000, "gid": 1000, "groups": [1000], "database_groups": [1000], "sudo_user": None}
    meta = {"format": "rocmdoctor-snapshot", "version": 1, "created": "2026-11-30T12:00:00Z", "uname": uname, "user": user}
    (folder / "snapshot.json").write_text(json.dumps({**meta, "groups": {}, "env": {}}))
    (folder / "nodes.json").write_text("{}")
    (folder / "commands.json").write_text("[]")
    return folder


def results(site: Path, *argv: str | Path) -> tuple[int, dict[str, Any]]:
    code, out, err = doctor(site, "check", "--format", "json", *argv)
    assert "Traceback" not in err
    return code, {r["id"]: r for r in json.loads(out)["results"]}


def test_its_check_is_run(site: Path, node: Path) -> None:
    code, found = results(site, "--snapshot", node, "--only", "acme.*")
    assert code == 1 and list(found) == ["acme.inventory.gpus"]
    ours = found["acme.inventory.gpus"]
    assert (ours["area"], ours["status"], ours["title"]) == ("acme.inventory", "fail", "1 of 2 GPUs are missing")
    assert ours["docs"] == ["https://wiki.acme.example/gpu-nodes"]
    (node / "files/etc/acme/node.conf").write_text("gpus = 1\n")
    code, found = results(site, "--snapshot", node, "--only", "acme.inventory")
    assert (code, found["acme.inventory.gpus"]["status"]) == (0, "pass")


def test_it_runs_with_the_others_and_after_them(site: Path, node: Path) -> None:
    _, found = results(site, "--snapshot", node)
    assert found["acme.inventory.gpus"]["status"] == "fail" and len(found) > 20
    (node / "files/sys/bus/pci/devices/0000:03:00.0/vendor").write_text("0x10de\n")
    _, found = results(site, "--snapshot", node)
    assert found["acme.inventory.gpus"]["because_of"] == "gpu_present.device"


@pytest.mark.parametrize("form", ["text", "junit", "sarif", "prometheus", "nagios", "npd", "markdown"])
def test_every_format_shows_it(site: Path, node: Path, form: str) -> None:
    code, out, _ = doctor(site, "check", "--snapshot", node, "--only", "acme.*", "--format", form)
    assert code == (2 if form == "nagios" else 1)
    assert ("acme.inventory.gpus" if form == "prometheus" else "1 of 2 GPUs are missing") in out


def test_it_is_listed_and_explained(site: Path) -> None:
    assert "acme.inventory.gpus" in doctor(site, "list-checks")[1]
    assert "lost its power cable" in doctor(site, "explain", "acme.inventory.gpus")[1]
    assert "### `acme.inventory.gpus`" in doctor(site, "list-checks", "--format", "markdown")[1]


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    (tmp_path / "test_inventory.py").write_text(files_of_the_page()["tests/test_inventory.py"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TREE), str(site)])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_inventory.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout


def test_without_it_nothing_of_it_is_there(tmp_path: Path, node: Path) -> None:
    code, out, err = doctor(tmp_path, "check", "--snapshot", node, "--only", "acme.*")
    assert (code, out) == (2, "") and "no check matches 'acme.*'" in err


@pytest.mark.slow
def test_pip_builds_it(tmp_path: Path, node: Path) -> None:
    """The project of the page as it stands, through the build back end that it names."""
    for path, text in files_of_the_page().items():
        (tmp_path / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / path).write_text(text)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    probe = subprocess.run([*pip, "download", "-q", "--no-deps", "-d", tmp_path / "probe", "setuptools>=64"], capture_output=True)
    if probe.returncode:
        pytest.skip("pip cannot fetch the build back end")
    quietly(*pip, "install", "-q", "--no-deps", "--target", tmp_path / "site", tmp_path / "project")
    assert results(tmp_path / "site", "--snapshot", node, "--only", "acme.*")[1]["acme.inventory.gpus"]["status"] == "fail"


# broken ones -----------------------------------------------------------------------------------------------------

CHECK = """
from rocmdoctor.engine import check
from rocmdoctor.results import Finding, Fix, Status

@check("{id}", title="Fine", after={after!r}, needs_gpu=False)
def one(facts, matrix):
    {body}
    yield Finding(Status.WARN, "seen")
"""


def broken_site(tmp_path: Path, **modules: str) -> Path:
    """A folder with a plug-in for each module, as pip leaves it there."""
    for name, text in modules.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rocmdoctor.checks]\n{name} = {name}\n")
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import a_module_that_is_not_there\n", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("def f(:\n", "SyntaxError: "),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        (
            CHECK.format(id="gpu_present.device", after=[], body="pass"),
            "ValueError: check gpu_present.device is registered twice",
        ),
        (CHECK.format(id="bad.x.one", after=["no.such"], body="pass"), "ValueError: check bad.x.one comes after no.such, which"),
        (CHECK.format(id="bad.x.one", after=["bad.x.one"], body="pass"), "checks wait for each other: bad.x.one -> bad.x.one"),
        (CHECK.format(id="bad", after=[], body="pass"), "ValueError: the id 'bad' is not of the form area.name"),
        (CHECK.format(id="bad.x.one", after=[], body="pass") + "\nraise SystemExit(0)\n", "SystemExit: 0"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_is_a_result(tmp_path: Path, node: Path, module: str, said: str) -> None:
    """And the plug-ins beside it, before and after it by name, are not disturbed."""
    first, last = (CHECK.format(id=f"{name}.x.one", after=[], body="pass") for name in ("acme", "zeta"))
    site = broken_site(tmp_path, acme=first, bad=module, zeta=last)
    code, found = results(site, "--snapshot", node)
    assert code == 3
    assert (found["plugin.bad"]["status"], found["plugin.bad"]["severity"]) == ("error", "error")
    assert said in found["plugin.bad"]["detail"]
    assert found["acme.x.one"]["status"] == found["zeta.x.one"]["status"] == "warn"
    assert found["gpu_present.device"]["status"] == "pass" and "bad.x.one" not in found


def test_plug_ins_may_come_after_each_other(tmp_path: Path, node: Path) -> None:
    """Whichever is loaded first; one that comes after a broken one is broken too."""
    site = broken_site(
        tmp_path,
        acme=CHECK.format(id="acme.x.one", after=["zeta.x.one"], body="pass"),
        bad=CHECK.format(id="bad.x.one", after=["gone.x.one"], body="pass"),
        gone="1 / 0\n",
        zeta=CHECK.format(id="zeta.x.one", after=["gpu_present.device"], body="pass"),
    )
    code, found = results(site, "--snapshot", node)
    assert code == 3 and found["acme.x.one"]["status"] == found["zeta.x.one"]["status"] == "warn"
    assert [id for id in found if id.startswith("plugin.")] == ["plugin.bad", "plugin.gone"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('gfx')", "the check broke: KeyError: 'gfx' (bad.py:"),
        ("facts.no_such_fact", "the check broke: AttributeError"),
        ("return 17", None),
        ("raise SystemExit(0)", "the check broke: SystemExit: 0"),
        ("yield 'text'", "the check broke: TypeError: it yielded a str where a Finding belongs"),
        ("yield Finding('bad', 't')", "the status of its finding"),
        ("yield Finding(Status.PASS, 't')", "the status of its finding"),
        ("yield Finding(Status.FAIL, 17)", "title and detail of its finding must be texts"),
        ("yield Finding(Status.FAIL, 't', 'd', ('e',))", "`evidence` of its finding must be a tuple of Evidence"),
        ("yield Finding(Status.FAIL, 't', 'd', docs='https://x')", "`docs` of its finding must be a tuple of str"),
        ("yield Finding(Status.FAIL, 't', fixes=(Fix('f', ('rm -rf x',)),))", "a command of its fix must be a tuple of words"),
        ("yield Finding(Status.FAIL, 't', fixes=(Fix('f', ((1, 2),)),))", "words of commands of its fix must be texts"),
        ("yield Finding(Status.FAIL, 't', fixes=(Fix('f', 7),))", "the check broke: TypeError"),
    ],
)
def test_a_check_that_breaks_is_a_result(tmp_path: Path, node: Path, body: str, said: str | None) -> None:
    site = broken_site(tmp_path, bad=CHECK.format(id="bad.x.one", after=[], body=body))
    code, found = results(site, "--snapshot", node, "--only", "bad.*,gpu_present.device")
    assert found["gpu_present.device"]["status"] == "pass"
    if said is None:
        assert (code, found["bad.x.one"]["status"]) == (0, "pass")
    else:
        assert (code, found["bad.x.one"]["status"]) == (3, "error") and said in found["bad.x.one"]["detail"]
