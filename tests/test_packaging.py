"""Wheel, sdist and editable install find the same checks and the same matrix as the tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".ci", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
pytestmark = pytest.mark.slow


def quietly(*argv: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{argv}: {done.stderr[-2000:]}"
    return done.stdout


def pip(*argv: str | Path, cwd: Path) -> str:
    return quietly(sys.executable, "-m", "pip", "--disable-pip-version-check", *argv, cwd=cwd)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, links kept: a build leaves its files beside the sources."""
    work = tmp_path_factory.mktemp("source")
    try:
        pip("download", "-q", "--no-deps", "--dest", work / "probe", "setuptools>=77", cwd=work)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"pip cannot fetch the build backend: {str(error).splitlines()[-1][:200]}")
    return Path(shutil.copytree(TREE, work / "rocmdoctor", symlinks=True, ignore=LEFT_OUT))


@pytest.fixture(scope="module")
def dist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the sdist and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    quietly(sys.executable, "-m", "build", "--outdir", folder, tree, cwd=folder)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Installs arguments of pip into a fresh environment, which borrows the dependencies of this one; its bin folder."""

    def install(*what: str | Path) -> Path:
        quietly(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
        python = tmp_path / "venv/bin/python"
        pip("--python", python, "install", "-q", "--no-deps", *what, cwd=tmp_path)
        site = Path(quietly(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
        paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (site / "borrowed.pth").write_text("\n".join(paths))
        return python.parent

    return install


def tells(binaries: Path, cwd: Path) -> tuple[list[str], str, str]:
    """Ids of the checks, the matrix's text and the package's folder, as an installed rocmdoctor sees them."""
    ids = [line.split()[0] for line in quietly(binaries / "rocmdoctor", "list-checks", cwd=cwd).splitlines()]
    question = (
        "import importlib.resources as r, rocmdoctor, rocmdoctor.matrix as m; m.load_matrix(); "
        "print(rocmdoctor.__file__); print((r.files('rocmdoctor') / 'compat_matrix.yaml').read_text())"
    )
    where, _, matrix = quietly(binaries / "python", "-c", question, cwd=cwd).partition("\n")
    return ids, matrix.strip(), where


def tree_tells() -> tuple[list[str], str]:
    from rocmdoctor import engine

    return [c.id for c in engine.all_checks()], (TREE / "compat_matrix.yaml").read_text().strip()


def test_wheel(dist: Path, environment: Callable[..., Path], tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {n.split("/")[0] for n in names if ".dist-info/" not in n} == {"rocmdoctor"}
    assert {"rocmdoctor/py.typed", "rocmdoctor/compat_matrix.yaml", "rocmdoctor/checks/__init__.py"} <= set(names)
    assert {f"rocmdoctor/reports/fleet_page/page.{ending}" for ending in ("html", "css", "js")} <= set(names)
    ids, matrix, where = tells(environment(wheel), tmp_path)
    assert (ids, matrix) == tree_tells()
    assert where.startswith(str(tmp_path))
    assert quietly(tmp_path / "venv/bin/python", "-m", "rocmdoctor", "--version", cwd=tmp_path).startswith("rocmdoctor ")


def test_sdist_holds_files_and_no_links(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = {m.name.partition("/")[2]: m for m in archive}
    assert members["rocmdoctor/compat_matrix.yaml"].isfile() and members["rocmdoctor/checks/__init__.py"].isfile()
    assert {"LICENSE", "README.md", "pyproject.toml"} <= set(members)


def test_editable(tree: Path, environment: Callable[..., Path], tmp_path: Path) -> None:
    ids, matrix, where = tells(environment("--editable", tree), tmp_path)
    assert (ids, matrix) == tree_tells()
    assert where.startswith(str(tree))


def test_the_tree_without_installing(tmp_path: Path) -> None:
    listed = quietly(
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(TREE)!r}); from rocmdoctor.cli import run; sys.exit(run(['list-checks']))",
        cwd=tmp_path,
    )
    assert [line.split()[0] for line in listed.splitlines()] == tree_tells()[0]
