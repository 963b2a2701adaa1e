"""Writes .rpm files with rpmbuild, many from one spec file, and signed yum and zypp repositories."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.packages.keys import Key
from tests.e2e.packages.package import Link, Package, body

_RELATION = re.compile(r"(\S+)(?: \((<<|<=|=|>=|>>) ([^)]+)\))?")
_PREAMBLE = """\
%global _binary_payload w1.gzdio
%global debug_package %{nil}
%global __os_install_post %{nil}
%global __spec_install_pre %{___build_pre}
%global _build_id_links none
%global source_date_epoch_from_changelog 0
Name: small-bodies
Version: 1
Release: 1
Summary: Packages with small bodies
License: MIT
AutoReqProv: no

%description
Packages with small bodies.
"""


SYSTEM_FOLDERS = frozenset(
    (
        *(
            "/boot",
            "/etc",
            "/etc/ld.so.conf.d",
            "/etc/modprobe.d",
            "/etc/pki",
            "/etc/udev",
            "/etc/udev/rules.d",
            "/etc/yum.repos.d",
        ),
        *("/lib", "/lib/firmware", "/lib/modules", "/opt", "/usr", "/usr/bin", "/usr/sbin", "/usr/src", "/usr/src/kernels"),
        *("/var", "/var/lib"),
    )
)
"""Not owned by packages; every other folder goes with the last package that has it."""


class BuildFailed(Exception):
    """A program of rpm ended with an error; the text is what it said."""


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildFailed(f"{' '.join(argv[:4])} ...: {(done.stderr or done.stdout).strip()[-2000:]}")


def relation(text: str) -> str:
    """Debian's form of a relation in rpm's: "a (= 1-2)" is "a = 1-2"; of "a | b" the first."""
    match = _RELATION.match(text.partition("|")[0].strip())
    assert match, text
    name, sign, version = match.groups()
    return f"{name} {sign.replace('<<', '<').replace('>>', '>')} {version}" if sign else name


def _section(package: Package) -> str:
    version, _, release = package.file_version.rpartition("-")
    epoch = package.version.partition(":")[0] if ":" in package.version else ""
    head = [f"%package -n {package.name}", f"Version: {version}", f"Release: {release}", f"Summary: {package.name}"]
    head += [f"Epoch: {epoch}"] if epoch else []
    head += [f"Vendor: {package.vendor}", f"Packager: {package.maintainer}", "AutoReqProv: no"]
    head += ["BuildArch: noarch"] if package.arch == "all" else []
    for tag, texts in (
        ("Requires", package.depends),
        ("Recommends", package.recommends),
        ("Provides", package.provides),
        ("Conflicts", package.conflicts),
    ):
        head += [f"{tag}: {relation(text)}" for text in texts]
    parts = ["\n".join(head), f"%description -n {package.name}\n{package.name} (small body)."]
    if package.on_install:
        parts.append(f"%post -n {package.name}\nPHASE=configure\n{package.on_install}")
    if package.on_remove:
        phase = 'if [ "$1" -eq 0 ]; then PHASE=remove; else PHASE=upgrade; fi'
        parts.append(f"%preun -n {package.name}\n{phase}\n{package.on_remove}")
    listed = [f'%config(noreplace) "{path}"' if path in package.conffiles else f'"{path}"' for path in sorted(package.files)]
    own = [f'%dir "{folder}"' for folder in package.folders() if folder not in SYSTEM_FOLDERS]
    parts.append("\n".join([f"%files -n {package.name}", *own, *listed]))
    return "\n\n".join(parts) + "\n"


def build(packages: Iterable[Package], target: Path) -> list[Path]:
    """One .rpm of each below `target`, unsigned. Packages may share paths as long as these have the same content."""
    made = list(packages)
    if not made:
        return []
    with tempfile.TemporaryDirectory(prefix="e2e-rpm-") as folder:
        top = Path(folder)
        root = top / "BUILDROOT"
        for package in made:
            for path, content in package.files.items():
                file = root / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, Link):
                    file.unlink(missing_ok=True)
                    file.symlink_to(content.target)
                else:
                    blob, mode = body(content)
                    file.write_bytes(blob)
                    file.chmod(mode)
        root.mkdir(exist_ok=True)
        spec = top / "small.spec"
        spec.write_text(_PREAMBLE + "\n" + "\n".join(_section(package) for package in made))
        name = "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"
        macros = (f"_topdir {top}", f"_rpmdir {target}", f"_rpmfilename {name}")
        defines = [word for macro in macros for word in ("--define", macro)]
        _run(["rpmbuild", "-bb", "--quiet", "--target", "x86_64-linux", "--buildroot", str(root), *defines, str(spec)])
    return [target / file_name(package) for package in made]


def file_name(package: Package) -> str:
    return f"{package.name}-{package.file_version}.{'noarch' if package.arch == 'all' else 'x86_64'}.rpm"


def sign(files: Iterable[Path], key: Key) -> None:
    names = [str(file) for file in files]
    if names:
        options = [
            "--define",
            "__gpg /usr/bin/gpg",
            "--define",
            f"_gpg_name {key.fingerprint}",
            "--define",
            f"_gpg_path {key.home}",
        ]
        _run(["rpmsign", *options, "--addsign", *names])


def write_repository(root: Path, packages: Iterable[Package], key: Key) -> None:
    """A repository at `root` for baseurl=: signed packages, repodata and its detached signature."""
    root.mkdir(parents=True, exist_ok=True)
    sign(build(packages, root / "packages"), key)
    index(root, key)


def index(root: Path, key: Key) -> None:
    """Make repodata anew for the packages below `root`."""
    shutil.rmtree(root / "repodata", ignore_errors=True)
    _run(["createrepo_c", "--quiet", "--no-database", "--general-compress-type=gz", str(root)])
    repomd = root / "repodata" / "repomd.xml"
    repomd.with_name("repomd.xml.asc").write_bytes(key.detached(repomd))
    repomd.with_name("repomd.xml.key").write_bytes(key.armoured)
