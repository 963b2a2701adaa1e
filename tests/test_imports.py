"""What may import what, and what a command loads: layers and start-up time are kept by looking at imports."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
PACKAGE = TREE / "rocmdoctor"

DATA = {"rocmdoctor", "versions", "results", "fingerprint", "named_file"}
"""Plain data, order of versions, identity of findings and files that the user names: any layer may use them."""
MAY_IMPORT: dict[str, set[str]] = {
    "rocmdoctor": set(),
    "versions": set(),
    "results": set(),
    "fingerprint": set(),
    "named_file": set(),
    "baseline": set(),
    "host": set(),
    "matrix": set(),
    "facts": {"host", "matrix"},
    "plugins": set(),
    "engine": {"host", "facts", "matrix", "checks", "plugins", "plugin_loading"},
    "plugin_loading": {"engine"},
    "checks": {"host", "facts", "matrix", "engine"},
    "examination": {"host", "facts", "matrix", "engine"},
    "stack": {"host", "facts", "matrix", "engine", "examination"},
    "diagnosis": {"host", "matrix", "engine", "examination"},
    "topology": {"host", "facts"},
    "fleet": {"host", "facts", "matrix", "engine", "examination", "stack", "topology"},
    "reports": {"host", "engine", "facts", "stack", "diagnosis", "topology", "fleet", "plan"},  # of the host the redaction
    "plan": {"host", "facts", "matrix"},
    "terminal": {"reports"},
    "commands": {
        "terminal",
        "host",
        "facts",
        "matrix",
        "engine",
        "examination",
        "baseline",
        "stack",
        "diagnosis",
        "reports",
        "plan",
        "topology",
        "fleet",
    },
    "cli": {"commands", "terminal", "reports"},
    "__main__": {"cli"},
}
"""Layer -> the layers it may import. The engine and the checks know each other: the registry is the engine's."""

MACHINE = {"os", "subprocess", "socket", "pathlib", "shutil", "glob", "io", "tempfile", "psutil", "pwd", "grp"}
"""Modules that touch a machine: for the host layer and the command line alone."""
EXEMPT = {"rocmdoctor.facts.os_release": {"os", "tempfile"}}  # distro parses files only: it is handed one in memory


def sources() -> Iterator[Path]:
    yield from sorted(p for p in PACKAGE.rglob("*.py") if not p.is_relative_to(PACKAGE / "checks"))
    yield from sorted((TREE / "checks").rglob("*.py"))


def layer(module: str) -> str:
    """The row of MAY_IMPORT for a dotted name below rocmdoctor."""
    parts = module.split(".")[1:]
    if not parts:
        return "rocmdoctor"
    return parts[0]


def dotted(path: Path) -> str:
    parts = path.relative_to(TREE).with_suffix("").parts
    parts = ("rocmdoctor", *parts) if parts[0] == "checks" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every module that `path` imports, at its top or in a function; `from a import b` counts as a.b when that is a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found = TREE / inner.replace(".", "/")
                yield inner if found.with_suffix(".py").exists() or found.is_dir() else node.module or ""


@pytest.mark.parametrize("path", list(sources()), ids=dotted)
def test_no_layer_imports_one_to_its_right(path: Path) -> None:
    own = layer(dotted(path))
    allowed = MAY_IMPORT[own] | DATA | {own}
    used = {layer(name) for name in imports(path) if name.split(".")[0] == "rocmdoctor"}
    assert used <= allowed
    assert not [name for name in imports(path) if name.split(".")[0] == "checks"], "checks are rocmdoctor.checks"


@pytest.mark.parametrize(
    "path", [p for p in sources() if layer(dotted(p)) in ("facts", "checks", "engine", "reports")], ids=dotted
)
def test_only_the_host_touches_the_machine(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & (MACHINE - EXEMPT.get(dotted(path), set()))
    calls = (n.func for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
    assert not {f.id for f in calls if isinstance(f, ast.Name)} & {"open", "eval", "exec", "print", "input"}


def loaded_by(*argv: str, cwd: Path | None = None) -> set[str]:
    """Top and dotted names of the modules that one command line has loaded when it ends."""
    program = (
        "import sys; from rocmdoctor.cli import run; code = run(sys.argv[1:]); names = sorted(sys.modules); "
        "import json; print(json.dumps([code, names]), file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], capture_output=True, text=True, env=environment, cwd=cwd, timeout=60, check=True
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    assert code in (0, 1), done.stderr
    return set(names)


HEAVY = {
    "rich",
    "pydantic",
    "asyncio",
    "importlib.metadata",
    "email",
    "tarfile",
    "distro",
    "psutil",
    "packaging",
    "socket",
    "http",
}


@pytest.mark.parametrize("argv", [["--version"], ["version"]])
def test_what_the_version_loads(argv: list[str]) -> None:
    assert not loaded_by(*argv) & (HEAVY | {"yaml", "json", "rocmdoctor.engine", "rocmdoctor.matrix"})


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_a_check_loads(form: str) -> None:
    names = loaded_by("check", "--format", form)
    assert not names & {
        "rich",
        "pydantic",
        "asyncio",
        "importlib.metadata",
        "email",
        "tarfile",
        "rocmdoctor.commands.matrix",
        "rocmdoctor.plan",
    }


def test_a_healthy_host_loads_no_remedies() -> None:
    """What only a fault needs is imported where the fault is found."""
    shared = Path(os.environ.get("ROCMDOCTOR_SHARED", TREE.parent / "shared"))
    case = shared / "cases" / "H01-ubuntu2204-mi250x-rocm620"
    if not case.is_dir():
        pytest.skip(f"{case} is not there")
    wanted = ("fitting", "repo_findings", "repo_remedies", "device_remedies", "torch_remedies", "overrides", "loader_errors")
    names = loaded_by("check", "--snapshot", str(case), "--format", "json")
    assert not names & {f"rocmdoctor.checks.{name}" for name in (*wanted, "jax_parts")}
    assert "rocmdoctor.plugin_loading" not in names


def test_a_plug_in_is_found_without_being_paid_for_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of the group loads importlib.metadata; other distributions do not."""
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from rocmdoctor import plugins

    assert plugins.entry_points() == ()
    (other / "entry_points.txt").write_text("[rocmdoctor.checks]\nmine = rocmdoctor_mine\n")
    assert [name for name, _ in plugins.entry_points()] == ["mine"]
