"""bootstrap.sh, run for real from a folder of wheels into folders of its own: install, upgrade, what goes wrong, uninstall."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostbuilder import HostBuilder

TREE = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "compat_matrix.yaml", "checks", "rocmdoctor", "install_scripts")
Done = subprocess.CompletedProcess[str]
Bootstrap = Callable[..., Done]
pytestmark = pytest.mark.slow


def copy_of_tree(folder: Path) -> Path:
    folder.mkdir()
    for part in PARTS:
        if (TREE / part).is_dir():
            shutil.copytree(TREE / part, folder / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "ansible"))
        else:
            shutil.copy(TREE / part, folder / part)
    return folder


@pytest.fixture(scope="module")
def world() -> Iterator[Path]:
    """A folder that other users can read, for wheels and prefixes: those of pytest are for one user."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bootstrap-test-")))
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def wheels(world: Path) -> Path:
    """A folder with what an installation from a source tree needs, and nothing of rocmdoctor."""
    folder = world / "wheels"
    wanted = ["typer>=0.20,<0.29", "rich", "distro", "psutil", "packaging", "PyYAML", "setuptools>=77", "wheel", "pip"]
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", str(folder), *wanted]
    try:
        done = subprocess.run(fetch, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip("no source of wheels: pip download takes too long")
    if done.returncode:
        pytest.skip(f"no source of wheels: {done.stderr.strip().splitlines()[-1][:200]}")
    return folder


@pytest.fixture(scope="module")
def tree(world: Path) -> Path:
    return copy_of_tree(world / "tree")


def build(tree: Path, wheels: Path, folder: Path) -> Path:
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--find-links", str(wheels), "-w", str(folder), str(tree)]
    subprocess.run([sys.executable, *words], check=True, timeout=300, capture_output=True)
    (built,) = folder.glob("rocmdoctor-*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(world: Path, wheels: Path) -> Path:
    """The wheel of this tree: quicker to install than the tree."""
    return build(copy_of_tree(world / "to-build"), wheels, world / "built")


@pytest.fixture(scope="module")
def newer(world: Path, wheels: Path) -> Path:
    """A wheel of a later version, 9.0."""
    copy = copy_of_tree(world / "newer-to-build")
    init = copy / "rocmdoctor/__init__.py"
    init.write_text(init.read_text().replace(_version(), "9.0"))
    return build(copy, wheels, world / "newer")


@pytest.fixture
def prefix(world: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=world) as folder:
        yield Path(folder) / "rocm doctor"  # the space is on purpose


@pytest.fixture
def bootstrap(tree: Path, prefix: Path) -> Bootstrap:
    def call(*argv: str | Path, script: Path = tree / "install_scripts/bootstrap.sh", yes: bool = True, **more: str) -> Done:
        words = ["sh", str(script), "--prefix", str(prefix), *(["--yes"] if yes else []), *map(str, argv)]
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent", **more}
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)

    return call


@pytest.fixture
def offline(bootstrap: Bootstrap, wheels: Path, wheel: Path) -> Bootstrap:
    """With the wheels, and the Python that they are for."""

    def call(*argv: str | Path, **more: str) -> Done:
        return bootstrap("--source", wheel, "--wheels", wheels, "--python", sys.executable, *argv, **more)

    return call


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path with its inode and time of change."""
    return {str(p): (p.lstat().st_ino, p.lstat().st_mtime_ns) for p in folder.rglob("*")}


def environments(prefix: Path) -> list[str]:
    return sorted(p.name for p in (prefix / "app").glob("env.*"))


def version(prefix: Path) -> str:
    """What the installed program says, of itself and not of a tree on PYTHONPATH; "" where it does not run."""
    try:
        words = [str(prefix / "bin/rocmdoctor"), "--version"]
        return subprocess.run(words, capture_output=True, text=True, timeout=30, env={}, cwd="/").stdout.strip()
    except OSError:
        return ""


# it works --------------------------------------------------------------------------------------------------------


def test_install_again_and_uninstall(bootstrap: Bootstrap, tree: Path, wheels: Path, prefix: Path, tmp_path: Path) -> None:
    """From the tree of the script. No setting of the user reaches in, and no index that the site configured is asked."""
    before = listing(tree)
    offline = "--wheels", wheels, "--python", sys.executable
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\nuser = true\n")
    odd = {"PIP_TARGET": str(tmp_path), "PIP_USER": "1", "PYTHONPATH": str(tmp_path), "PIP_CONFIG_FILE": str(config)}
    old = os.umask(0o077)
    try:
        done = bootstrap(*offline, PIP_INDEX_URL="http://127.0.0.1:9/simple", **odd)
    finally:
        os.umask(old)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.splitlines()[-2:] == [
        f"rocmdoctor {_version()} is installed: {prefix}/bin/rocmdoctor",
        f"{prefix}/bin is not on your PATH.",
    ]
    assert listing(tree) == before, "the build left something in the sources"
    assert all(p.stat().st_mode & 0o044 == 0o044 for p in prefix.rglob("*.py")), "others cannot read it"
    assert (prefix / "app/current/").stat().st_mode & 0o055 == 0o055
    assert version(prefix) == f"rocmdoctor {_version()}"
    HostBuilder().with_fault("fault_not_in_group").write(tmp_path)
    words = [str(prefix / "bin/rocmdoctor"), "check", "--snapshot", str(tmp_path)]
    judged = subprocess.run(words, capture_output=True, text=True, timeout=60, env={}, cwd="/")
    assert judged.returncode == 1 and "permissions.kfd-access" in judged.stdout

    made = listing(prefix)
    done = bootstrap(*offline)
    assert done.returncode == 0 and "is installed already" in done.stdout
    assert listing(prefix) == made

    torch = prefix / "venv/bin/python"  # what `rocmdoctor install` may put beside it
    torch.parent.mkdir(parents=True)
    torch.touch()
    done = bootstrap("--uninstall", "--dry-run")
    assert done.returncode == 0 and (prefix / "bin/rocmdoctor").exists()
    done = bootstrap("--uninstall")
    assert (done.returncode, done.stderr) == (0, "")
    assert torch.exists() and sorted(os.listdir(prefix)) == ["venv"]
    done = bootstrap("--uninstall")
    assert (done.returncode, done.stdout) == (0, f"rocmdoctor is not installed in {prefix}\n")


def _version() -> str:
    from rocmdoctor import __version__

    return __version__


def test_from_a_wheel_beside_its_dependencies(
    bootstrap: Bootstrap, wheels: Path, wheel: Path, tree: Path, prefix: Path, world: Path
) -> None:
    """The script alone and one folder, as they lie on a medium."""
    medium = world / "medium"
    shutil.copytree(wheels, medium)
    script = Path(shutil.copy(tree / "install_scripts/bootstrap.sh", world / "bootstrap.sh"))
    done = bootstrap("--wheels", medium, script=script)
    assert (done.returncode, done.stderr) == (2, f"bootstrap: {medium} holds no wheel of rocmdoctor\n")
    shutil.copy(wheel, medium)
    done = bootstrap("--wheels", medium, "--python", sys.executable, script=script)
    assert done.returncode == 0, done.stderr
    assert version(prefix) == f"rocmdoctor {_version()}"
    shutil.copy(wheel, medium / "rocmdoctor-0.0.1-py3-none-any.whl")
    done = bootstrap("--wheels", medium, script=script)
    assert done.returncode == 2 and "holds 2 wheels of rocmdoctor: name one with --source" in done.stderr
    done = bootstrap(script=script)
    assert done.returncode == 2 and "what to install?" in done.stderr


def runs_for(python: str, who: dict[str, object]) -> bool:
    """Whether that user can run this Python, and it is of the release that the wheels are for."""
    try:
        words = [python, "-c", "import sys, ensurepip; print(*sys.version_info[:2])"]
        said = subprocess.run(words, capture_output=True, text=True, cwd="/", **who).stdout  # type: ignore[call-overload]
    except OSError:
        return False
    return bool(said.split() == [str(n) for n in sys.version_info[:2]])


def test_without_root(wheels: Path, wheel: Path, tree: Path, world: Path) -> None:
    """Into a folder of the user, by a user who may do nothing else."""
    home = world / "home"
    home.mkdir()
    who: dict[str, object] = {}
    if os.geteuid() == 0:
        shutil.chown(home, 65534, 65534)
        who = {"user": 65534, "group": 65534, "extra_groups": []}
    python = next((p for p in (os.path.realpath(sys.executable), "/usr/bin/python3") if runs_for(p, who)), None)
    if python is None:
        pytest.skip("another user cannot run a Python for which there are wheels")

    def call(*argv: str | Path) -> Done:
        words = [
            "sh",
            tree / "install_scripts/bootstrap.sh",
            "--wheels",
            wheels,
            "--python",
            python,
            "--yes",
            "--source",
            wheel,
            *argv,
        ]
        return subprocess.run(  # type: ignore[no-any-return, call-overload]
            list(map(str, words)), env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=300, cwd="/", **who
        )

    if os.geteuid() == 0:
        done = call("--prefix", "/opt/rocmdoctor-of-the-tests")
        assert done.returncode == 2 and "run this as root, or give --prefix with a folder of your own" in done.stderr
    done = call("--prefix", home / "tools", "--bin", home / ".local/bin")
    assert done.returncode == 0, done.stderr
    assert subprocess.run([home / ".local/bin/rocmdoctor", "--version"], capture_output=True, timeout=30).returncode == 0
    assert call("--prefix", home / "tools", "--bin", home / ".local/bin", "--uninstall").returncode == 0
    assert not (home / "tools").exists()


# it goes wrong ---------------------------------------------------------------------------------------------------


@pytest.fixture
def broken_wheels(wheels: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(wheels, tmp_path / "broken"))
    (typer,) = folder.glob("typer-*.whl")
    typer.write_bytes(typer.read_bytes()[:5000])
    return folder


def test_what_fails_leaves_the_old_one(
    offline: Bootstrap, tree: Path, wheels: Path, prefix: Path, broken_wheels: Path, newer: Path
) -> None:
    """No link where the first installation fails. Then with one that works: broken wheels; another bootstrap.sh at work; killed
    while it installs, gently or not. The next run cleans up. At last the Python goes, as after an upgrade of the distribution."""
    done = offline("--wheels", broken_wheels)
    assert done.returncode == 1
    assert not (prefix / "bin").exists() and not (prefix / "app/current").is_symlink() and environments(prefix) == []
    assert (prefix / "app/bootstrap.log").stat().st_size
    assert offline().returncode == 0
    (first,) = environments(prefix)

    done = offline("--wheels", broken_wheels)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("bootstrap: could not install rocmdoctor with packages from ")
    assert f"(all of it: {prefix}/app/bootstrap.log)" in done.stderr
    assert environments(prefix) == [first] and version(prefix) == f"rocmdoctor {_version()}"

    if shutil.which("flock"):
        with subprocess.Popen(["flock", prefix / "app/.lock", "sleep", "60"], start_new_session=True) as holder:
            time.sleep(0.5)
            done = offline("--reinstall")
            os.killpg(holder.pid, signal.SIGTERM)
        assert (done.returncode, done.stderr) == (2, f"bootstrap: another bootstrap.sh is at work in {prefix}/app\n")
        assert environments(prefix) == [first]

    words = [tree / "install_scripts/bootstrap.sh", "--prefix", prefix, "--wheels", wheels, "--python", sys.executable]
    for how in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen(
            ["sh", *map(str, words), "--yes", "--source", str(newer)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdout
        for line in process.stdout:
            if line.startswith("Installing rocmdoctor"):
                break
        time.sleep(0.2)
        os.killpg(process.pid, how)
        process.stdout.close()
        assert process.wait(30) != 0
        assert version(prefix) == f"rocmdoctor {_version()}"
        assert first in environments(prefix) and len(environments(prefix)) == (1 if how == signal.SIGTERM else 2)

    done = offline("--source", newer)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert version(prefix) == "rocmdoctor 9.0"
    assert len(environments(prefix)) == 2 and first in environments(prefix)

    (prefix / "app/current/bin/python").unlink()
    assert version(prefix) == ""
    assert offline("--source", newer).returncode == 0
    assert version(prefix) == "rocmdoctor 9.0"
    assert len(environments(prefix)) == 2 and first not in environments(prefix)
    assert os.readlink(prefix / "bin/rocmdoctor") == f"{prefix}/app/current/bin/rocmdoctor"


# it refuses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--frobnicate"], "unknown option --frobnicate"),
        (["--source"], "--source needs a value"),
        (["--wheels="], "--wheels needs a value"),
        (["--wheels", "/nonexistent"], "--wheels /nonexistent: no such folder"),
        (["--source", "/nonexistent.whl"], "no such file"),
        (["--source", "/usr"], "neither a wheel nor a source tree"),
        (["--python", "/nonexistent/python"], "no such program"),
        (["--python", "/bin/true"], ""),
        (["--prefix", "/"], "--prefix / is no folder of its own"),
    ],
)
def test_wrong_usage(bootstrap: Bootstrap, prefix: Path, argv: list[str], message: str) -> None:
    if argv[-1] == "/bin/true":
        old = prefix.parent / "python3.8"
        old.write_text("#!/bin/sh\ncase $* in *platform*) echo 3.8.10 ;; *) exit 1 ;; esac\n")
        old.chmod(0o755)
        argv, message = ["--python", str(old)], "3.8.10 is not Python 3.10 or newer"
    done = bootstrap(*argv)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert message in done.stderr and done.stderr.startswith("bootstrap: ")
    assert not prefix.exists()


def test_without_a_terminal_it_needs_yes(bootstrap: Bootstrap, prefix: Path) -> None:
    done = bootstrap(yes=False)
    assert done.returncode == 2 and "give --yes" in done.stderr
    done = bootstrap("--dry-run", yes=False)
    assert done.returncode == 0 and done.stdout.startswith("Make an environment in ")
    assert not prefix.exists()


def test_what_others_made_stays(bootstrap: Bootstrap, prefix: Path) -> None:
    link = prefix / "bin/rocmdoctor"
    link.parent.mkdir(parents=True)
    link.write_text("mine")
    done = bootstrap()
    assert done.returncode == 2 and "is there and not from this script" in done.stderr and link.read_text() == "mine"
    link.unlink()
    link.symlink_to("/usr/bin/true")
    done = bootstrap()
    assert done.returncode == 2 and "leads to /usr/bin/true" in done.stderr
    done = bootstrap("--uninstall")
    assert done.returncode == 2 and link.is_symlink()
    link.unlink()
    other = prefix / "app/data"
    other.parent.mkdir()
    other.touch()
    for argv in ([], ["--uninstall"]):
        done = bootstrap(*argv)
        assert done.returncode in (0, 2) and other.exists()
    assert bootstrap().stderr == f"bootstrap: {prefix}/app was not made by this script: move it away, or give another --prefix\n"


# the distribution's Python ---------------------------------------------------------------------------------------

OS_RELEASES = {
    "ubuntu-20.04": ("ubuntu", "20.04", "debian", "apt-get", ""),
    "ubuntu-22.04": ("ubuntu", "22.04", "debian", "apt-get", "python3"),
    "ubuntu-24.04": ("ubuntu", "24.04", "debian", "apt-get", "python3"),
    "ubuntu-26.04": ("ubuntu", "26.04", "debian", "apt-get", "python3"),
    "debian-11": ("debian", "11", "", "apt-get", ""),
    "debian-12": ("debian", "12", "", "apt-get", "python3"),
    "debian-13": ("debian", "13", "", "apt-get", "python3"),
    "rhel-8.10": ("rhel", "8.10", "fedora", "dnf", "python3.12 python3.11"),
    "rhel-9.4": ("rhel", "9.4", "fedora", "dnf", "python3.12 python3.11"),
    "rhel-10.0": ("rhel", "10.0", "fedora", "dnf", "python3"),
    "rocky-8.10": ("rocky", "8.10", "rhel centos fedora", "dnf", "python3.12 python3.11"),
    "almalinux-9.6": ("almalinux", "9.6", "rhel centos fedora", "dnf", "python3.12 python3.11"),
    "ol-9.5": ("ol", "9.5", "fedora", "dnf", "python3.12 python3.11"),
    "sles-15.6": ("sles", "15.6", "suse", "zypper", "python311"),
    "sles-16.0": ("sles", "16.0", "suse", "zypper", "python313 python3"),
    "azurelinux-3.0": ("azurelinux", "3.0", "", "tdnf", "python3"),
    "mystery-1": ("mystery", "1", "", "", ""),
}


@pytest.fixture
def distribution(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment of a distribution whose only Python is the one that its package manager brings."""

    def make(name: str, broken: str = "") -> dict[str, str]:
        id, number, like, manager, _ = OS_RELEASES[name]
        release = tmp_path / "os-release"
        release.write_text(f'ID="{id}"\nVERSION_ID="{number}"\nID_LIKE="{like}"\nPRETTY_NAME="{name}"\n')
        programs = tmp_path / "programs"
        programs.mkdir()
        if manager:
            tool = programs / manager
            tool.write_text(
                f'#!/bin/sh\necho "{manager} $*" >>{tmp_path}/asked\n'
                f"for last; do :; done\n"
                f'case "$last" in {broken or "none"}) echo "Error: Unable to find a match: $last" >&2; exit 1 ;; esac\n'
                f'case "$*" in *install*) ln -sf {sys.executable} {programs}/python3.99 ;; esac\n'
            )
            tool.chmod(0o755)
        return {
            "PATH": f"{programs}:/usr/bin:/bin",
            "BOOTSTRAP_OS_RELEASE": str(release),
            "BOOTSTRAP_PYTHONS": "python3.99",
        }

    return make


@pytest.mark.parametrize("name", OS_RELEASES)
def test_which_package_brings_python(
    bootstrap: Bootstrap, distribution: Callable[..., dict[str, str]], name: str, prefix: Path
) -> None:
    _, _, _, manager, packages = OS_RELEASES[name]
    done = bootstrap("--dry-run", **distribution(name))
    if packages:
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Install with {manager}: {packages.replace(' ', ', or else ')}.\n")
    else:
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert "needs Python 3.10 or newer, and there is none" in done.stderr and "--python PATH" in done.stderr
        assert name in done.stderr
    assert not prefix.exists()


def test_python_from_the_distribution(
    bootstrap: Bootstrap, distribution: Callable[..., dict[str, str]], wheels: Path, wheel: Path, prefix: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs packages")
    done = bootstrap("--source", wheel, "--wheels", wheels, **distribution("rocky-8.10", broken="python3.12"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").read_text() == "dnf install -y python3.12\ndnf install -y python3.11\n"


def test_a_repository_without_python(
    bootstrap: Bootstrap, distribution: Callable[..., dict[str, str]], wheels: Path, prefix: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs packages")
    done = bootstrap("--wheels", wheels, **distribution("sles-15.6", broken="python311"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "SUSEConnect -p sle-module-python3/15.6/" in done.stderr and "Unable to find a match: python311" in done.stderr
    assert not (prefix / "bin").exists()


def test_without_ensurepip(offline: Bootstrap, wheels: Path, prefix: Path, tmp_path: Path) -> None:
    """Debian and Ubuntu keep it in python3-venv: a wheel of pip among the wheels serves as well."""
    python = tmp_path / "python3"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *--without-pip*) ;; *"-m venv"*) echo "ensurepip is not available"; exit 1 ;; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    done = offline("--python", python)
    assert done.returncode == 0, done.stderr
    assert version(prefix) == f"rocmdoctor {_version()}"
    without = Path(shutil.copytree(wheels, tmp_path / "without", ignore=shutil.ignore_patterns("pip-*")))
    done = offline("--wheels", without, "--python", python)
    assert done.returncode == 1 and "cannot make an environment" in done.stderr
    assert version(prefix) == f"rocmdoctor {_version()}"
