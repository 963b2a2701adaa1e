"""Python environments and their torch builds, read as text and never imported (rules.md 33).

Environments: --python, VIRTUAL_ENV, CONDA_PREFIX, the first python3 on PATH with the user site. Sources: PEP 405 (pyvenv.cfg),
PEP 668 (EXTERNALLY-MANAGED), site(3), conda's conda-meta folder; Debian's dist-packages.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from rocmdoctor.facts import WrongTarget, known
from rocmdoctor.facts.distributions import Distribution, normalised, read_distributions
from rocmdoctor.facts.torch_build import Torch, read_torch
from rocmdoctor.host import Host, UnknownFact

__all__ = ["Distribution", "PythonEnv", "Torch", "gather", "require"]


class PythonEnv(NamedTuple):
    """`origin`: option | VIRTUAL_ENV | CONDA_PREFIX | path | user-site. `version` "3.10.12" or "3.10", "" when unknown.

    user-site is the interpreter of PATH where torch comes from ~/.local. `site_packages` in the order of sys.path."""

    executable: str
    version: str
    origin: str
    prefix: str
    site_packages: tuple[str, ...]
    distributions: tuple[Distribution, ...]
    torch: Torch | None
    externally_managed: bool = False

    def get(self, name: str) -> Distribution | None:
        """By normalised name; the one that comes first on sys.path."""
        wanted = normalised(name)
        return next((d for d in self.distributions if d.name == wanted), None)

    def all(self, name: str) -> tuple[Distribution, ...]:
        """Every distribution of that name: more than one is a broken upgrade or a user site in front."""
        wanted = normalised(name)
        return tuple(d for d in self.distributions if d.name == wanted)


_PYTHON = r"python(\d{1,2}\.\d{1,3}t?)$"
_VERSION = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?"
_CONDA_PYTHON = r"python-(\d{1,2}\.\d{1,3}\.\d{1,3})[^/]*\.json$"
_EXECUTABLES = ("python", "python3")


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _is_dir(host: Host, path: str) -> bool:
    node = host.node(path)
    return bool(node and node.type == "dir")


def _pyvenv(host: Host, prefix: str) -> dict[str, str]:
    """pyvenv.cfg as a dict, empty where there is none: home, version (venv), version_info (virtualenv, uv) ..."""
    pairs = (line.partition("=") for line in (host.read(f"{prefix}/pyvenv.cfg", 64 << 10) or "").splitlines()[:200])
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _short_version(host: Host, prefix: str, executable: str, full: str) -> str:
    """ "3.10" ("3.13t" for a free-threaded build): from the executable's real name, else the lib folder."""
    named = re.search(_PYTHON, host.resolve(executable) or executable)
    if named:
        return named.group(1)
    libs = [m.group(1) for m in (re.fullmatch(_PYTHON, n) for n in host.names(f"{prefix}/lib")) if m]
    short = ".".join(full.split(".")[:2])
    if short in libs or not libs:
        return short
    return max(libs, key=lambda v: [int(n) for n in v.rstrip("t").split(".")])


def _full_version(host: Host, prefix: str, cfg: dict[str, str]) -> str:
    """The exact version where pyvenv.cfg or conda-meta tells it, else ""."""
    found = re.match(_VERSION, cfg.get("version") or cfg.get("version_info") or "")
    if found:
        return found.group()
    nothing: tuple[str, ...] = ()
    stamps = (re.match(_CONDA_PYTHON, name) for name in known(lambda: host.names(f"{prefix}/conda-meta"), nothing))
    return next((s.group(1) for s in stamps if s), "")


def _system_sites(short: str) -> list[str]:
    """sys.path of a distribution's Python: pip's own folder first, then the packages'. Debian: dist-packages."""
    python = f"python{short}"
    return [
        f"/usr/local/lib/{python}/dist-packages",
        f"/usr/local/lib64/{python}/site-packages",
        f"/usr/local/lib/{python}/site-packages",
        "/usr/lib/python3/dist-packages",
        f"/usr/lib64/{python}/site-packages",
        f"/usr/lib/{python}/site-packages",
        f"/usr/lib/{python}/dist-packages",
    ]


def _sites(host: Host, prefix: str, short: str, cfg: dict[str, str]) -> list[str]:
    """Candidates for site-packages in the order of sys.path, the user site included where that interpreter looks at it."""
    own = [f"{prefix}/lib/python{short}/site-packages", f"{prefix}/lib64/python{short}/site-packages"]
    if prefix == "/usr":
        own = _system_sites(short)
    shared = cfg.get("include-system-site-packages", "").lower() == "true"
    if shared:
        base = _parent(cfg.get("home", ""))
        own += _system_sites(short) if base == "/usr" else [f"{base}/lib/python{short}/site-packages"]
    home = host.env.get("HOME", "")
    if home.startswith("/") and not host.env.get("PYTHONNOUSERSITE") and (not cfg or shared):
        own.insert(2 if shared else 0, f"{home.rstrip('/')}/.local/lib/python{short}/site-packages")
    return own


def _environment(host: Host, prefix: str, executable: str, origin: str) -> PythonEnv:
    """One environment: its folders are listed once, and METADATA, version.py and RECORD of torch are read."""
    cfg = _pyvenv(host, prefix)
    full = _full_version(host, prefix, cfg)
    short = _short_version(host, prefix, executable, full)
    listed: dict[str, tuple[str, ...]] = {}
    seen = set()
    for site in _sites(host, prefix, short, cfg):
        real = host.resolve(site)  # lib64 is often a link to lib
        names = host.names(site) if real and real not in seen else ()
        if real and names:
            listed[site] = names
        if real:
            seen.add(real)
    distributions = tuple(d for site, names in listed.items() for d in read_distributions(host, site, names))
    torch = None
    for site, names in listed.items():
        torch = torch or read_torch(host, site, names, distributions)
    if torch and origin == "path" and "/.local/lib/" in torch.path:
        origin = "user-site"
    managed = not cfg and host.node(f"{prefix}/lib/python{short}/EXTERNALLY-MANAGED") is not None
    version = full if full.startswith(short.rstrip("t")) else short
    return PythonEnv(executable, version, origin, prefix, tuple(listed), distributions, torch, managed)


def _prefix_of(host: Host, executable: str) -> str:
    """The prefix of an interpreter: that of the path as given for an environment, else of the file behind its links."""
    prefix = _parent(_parent(executable))
    if prefix not in ("/", "/usr", "/usr/local"):
        if host.node(f"{prefix}/pyvenv.cfg") or _is_dir(host, f"{prefix}/conda-meta"):
            return prefix
        if any(re.fullmatch(_PYTHON, n) for n in host.names(f"{prefix}/lib")) and not prefix.endswith("/.local"):
            return prefix
    real = host.resolve(executable)
    return _parent(_parent(real)) if real else prefix


def _executable(host: Host, prefix: str) -> str:
    """bin/python of a prefix; the first of its names that exists, else bin/python3."""
    names = host.names(f"{prefix}/bin")
    exact = [n for n in names if re.fullmatch(_PYTHON, n)]
    return f"{prefix}/bin/{next((n for n in (*_EXECUTABLES, *exact) if n in names), 'python3')}"


def _shimmed(host: Host, shim: str) -> str | None:
    """The interpreter behind a pyenv shim (a shell script): PYENV_VERSION, else the global `version` file."""
    root = _parent(_parent(shim))
    wanted = host.env.get("PYENV_VERSION") or known(lambda: host.read(f"{root}/version", 4096), None) or ""
    name = (wanted.replace(":", "\n").split() or ["system"])[0]
    path = f"{root}/versions/{name}/bin/python3"
    return path if re.fullmatch(r"[\w.+-]+", name) and host.resolve(path) else None


def _on_path(host: Host, names: tuple[str, ...]) -> str | None:
    """The first of these programs on PATH, as it is found there."""
    for name in names:
        for folder in host.env.get("PATH", "").split(":")[:64]:
            path = f"{folder.rstrip('/')}/{name}"
            if not folder.startswith("/") or not host.resolve(path):
                continue
            if not folder.endswith("/shims"):
                return path
            shimmed = _shimmed(host, path)
            if shimmed:
                return shimmed
    return None


def _asked(host: Host, python: str) -> PythonEnv:
    """--python: a prefix, an executable, or a name on PATH. Raises UnknownFact when there is no such thing."""
    path: str | None = python.rstrip("/") or "/"
    if "/" not in python:
        path = _on_path(host, (python,))
    elif not python.startswith("/"):
        path = None
    node = host.node(path) if path else None
    if path is None or node is None:
        inside = "" if "/" not in python or python.startswith("/") else " (give its absolute path there)"
        raise UnknownFact(f"--python {python}: there is no such interpreter or environment on this host{inside}")
    if node.type == "dir":
        return _environment(host, path, _executable(host, path), "option")
    return _environment(host, _prefix_of(host, path), path, "option")


def require(host: Host, python: str) -> None:
    """Raises facts.WrongTarget where --python names nothing that can be judged on this host: it does not exist, is no Python, or
    it cannot be told. A report that is green because nothing was looked at would mislead."""
    if not python.strip():
        raise WrongTarget("--python names no interpreter")
    try:
        env = _asked(host, python)
        name = env.executable.rpartition("/")[2]
        is_python = "py" in name or "py" in (host.resolve(env.executable) or "").rpartition("/")[2]
        there = env.site_packages or env.version or host.node(env.executable) is not None
    except UnknownFact as unknown:
        said = str(unknown)
        raise WrongTarget(said if said.startswith("--python") else f"--python {python}: {said}") from None
    if not (is_python and there):
        raise WrongTarget(f"--python {python}: that is neither a Python interpreter nor an environment")


def with_release(env: PythonEnv, rocm_of_hip: Callable[[str], str | None]) -> PythonEnv:
    """The environment with the ROCm release of its torch by the number of HIP, where the wheel names none."""
    torch = env.torch
    if torch is None or torch.build != "rocm" or torch.rocm_release or not torch.hip:
        return env
    return env._replace(torch=torch._replace(rocm_release=rocm_of_hip(torch.hip)))


def gather(host: Host, python: str | None = None) -> tuple[PythonEnv, ...]:
    """Environments in order of precedence, each once; `python` is --python (an executable or a prefix).

    --python is judged alone: another environment must not stand in for the one that was asked for. Raises UnknownFact where
    an environment is not readable, or --python names none.
    """
    if python:
        return (_asked(host, python),)
    found: dict[str, PythonEnv] = {}
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = host.env.get(variable, "").rstrip("/")
        if prefix.startswith("/") and prefix not in found and _is_dir(host, prefix):
            found[prefix] = _environment(host, prefix, _executable(host, prefix), variable)
    executable = _on_path(host, ("python3", "python"))
    if executable:
        prefix = _prefix_of(host, executable)
        if prefix not in found:
            found[prefix] = _environment(host, prefix, executable, "path")
    return tuple(found.values())
