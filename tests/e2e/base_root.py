"""The one base root: Debian's own apt, dnf, zypper, rpm and Python in a folder, made by mmdebstrap; and the Python environment in
which rocmdoctor runs in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.cache import cache_of, digest

TREE = Path(__file__).resolve().parents[2]
_PACKAGES = (
    *("dnf", "zypper", "rpm", "python3", "python3-venv", "python3-dateutil", "python3-dbus", "ca-certificates"),
    *("curl", "gpg", "gpgv", "openssl", "procps", "mount"),
)
_APT = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date")
"""Options of this machine's apt that its mirror may need."""
_MOUNT_POINTS = ("upper", "state", "tree", "python", "pycache")


class BuildFailed(Exception):
    """A program that builds the root ended with an error; the text is the end of what it said."""


def run(argv: Iterable[str]) -> str:
    """Standard output of a program of this machine."""
    words = list(argv)
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildFailed(f"{words[0]}: {(done.stderr + done.stdout).strip()[-3000:]}")
    return done.stdout


def debian_sources() -> tuple[str, list[str]]:
    """(codename, sources.list lines) of the Debian that this machine's apt uses: its mirror is asked for at run time."""
    codename = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    if codename is None:
        raise BuildFailed("/etc/os-release names no VERSION_CODENAME")
    listed = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)", "Created-By: Packages"])
    lines = []
    for row in dict.fromkeys(listed.splitlines()):
        uri, release, component, *origin = row.split()
        if origin[:1] == ["Debian"] and release.startswith(codename[1]) and component == "main":
            lines.append(f"deb {uri} {release} {component}")
    if not lines:
        raise BuildFailed("apt knows no Debian repository; run apt-get update")
    return codename[1], lines


def _apt_options() -> list[str]:
    """What this machine's apt is told about its mirror, for the apt that fills the root."""
    found = ['APT::Install-Recommends "false"']
    for line in run(["apt-config", "dump"]).splitlines():
        if line.startswith(_APT):
            found.append(line.rstrip(";"))
    return found


def base_root(cache: Path) -> Path:
    """The folder of the base root. The first call takes about a minute, most of it dpkg."""
    codename, sources = debian_sources()
    key = digest(codename, *_PACKAGES, *_MOUNT_POINTS, Path(__file__))
    return cache_of(cache, "base", key, lambda folder: _build(folder, codename, sources)) / "root"


def _build(folder: Path, codename: str, sources: list[str]) -> None:
    root = folder / "root"
    options = [f"--aptopt={line}" for line in _apt_options()]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info")]
    # Nothing of the root must survive a power cut; dpkg's fsyncs would take half of the time.
    options += ["--dpkgopt=force-unsafe-io", f"--include={','.join(_PACKAGES)}"]
    run(["mmdebstrap", "--variant=apt", "--mode=root", "--quiet", *options, codename, str(root), *sources])
    for name in _MOUNT_POINTS:
        (root / ".e2e" / name).mkdir(parents=True)
    for name in ("etc/apt/sources.list", "etc/hostname", "etc/resolv.conf", "etc/apt/apt.conf.d/99mmdebstrap"):
        (root / name).unlink(missing_ok=True)
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    (root / "var/cache/apt/archives/partial").mkdir(parents=True)


def python_version(root: Path) -> str:
    """Of the root's /usr/bin/python3, as "3.11"."""
    target = (root / "usr/bin/python3").readlink().name
    return target.removeprefix("python")


def product_python(cache: Path, root: Path) -> Path:
    """A virtual environment for /.e2e/python: rocmdoctor's dependencies for the root's Python, and the tree by a .pth file."""
    version = python_version(root)
    block = re.search(r"^dependencies = \[(.*?)^\]", (TREE / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    needs = re.findall(r'"([^"]+)"', block[1])
    key = digest(version, *needs, Path(__file__))
    return cache_of(cache, "python", key, lambda folder: _environment(folder, version, needs))


def _environment(folder: Path, version: str, needs: list[str]) -> None:
    library = folder / f"lib/python{version}/site-packages"
    tag = version.replace(".", "")
    machine = ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}"]
    machine += [f"--abi={abi}" for abi in (f"cp{tag}", "abi3", "none")]
    machine += [f"--platform={platform}" for platform in ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "linux_x86_64")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run([*pip, f"--target={library}", *machine, *needs])
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to("/usr/bin/python3")
    (folder / "bin/python").symlink_to("python3")
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}.0\n")
    (library / "tree.pth").write_text("/.e2e/tree\n")
    program = folder / "bin/rocmdoctor"
    # The tree is read-only there: compiled modules go beside it. An attribute, not the environment, which pip would inherit.
    program.write_text(
        "#!/.e2e/python/bin/python3\nimport sys\n\nsys.pycache_prefix = '/.e2e/pycache'\n"
        "from rocmdoctor.__main__ import main\n\nsys.exit(main())\n"
    )
    program.chmod(0o755)
