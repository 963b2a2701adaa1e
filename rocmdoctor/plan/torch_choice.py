"""The PyTorch wheels and the environment they go into. Never a CPU or CUDA build, never the system's own Python (PEP 668)."""

from __future__ import annotations

import re

from rocmdoctor import versions
from rocmdoctor.facts import WrongTarget, known, pythons
from rocmdoctor.facts.pythons import PythonEnv
from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.matrix.recipes import Recipe
from rocmdoctor.matrix.wheel_choice import WheelChoice
from rocmdoctor.plan import mirror
from rocmdoctor.plan.draft import Draft
from rocmdoctor.plan.environments import PipInstall, PythonVenv
from rocmdoctor.plan.managers import Wish

OWN = "/opt/rocmdoctor/torch"
"""The environment that is made where none is named and none is active."""


def plan(draft: Draft, recipe: Recipe, *, driver: bool) -> tuple[Wish, ...]:
    """Add the steps. The answer are system packages that they need (Debian keeps venv in one of its own)."""
    asked = draft.options.pytorch
    if not _usable(draft) or asked == "none":
        return ()
    if not draft.targets:
        if asked:
            draft.refuse("pytorch-gpu", "no AMD GPU was found, so no wheel can be chosen for it", "--pytorch none")
        else:
            draft.note("PyTorch: no AMD GPU was found, so no wheel is chosen")
        return ()
    env = _environment(draft)
    if isinstance(env, str):
        _decline(draft, env)
        return ()
    if _exists(draft, env) and not _uv(draft) and known(lambda: env.get("pip"), True) is None:
        _decline(draft, f"{env.prefix} has no pip, and there is no uv in /usr/local/bin or /usr/bin")
        return ()
    release = recipe.driver if driver else known(lambda: draft.facts.driver_release, None)
    python, choice = _fitting(draft, recipe, env, release)
    if choice is None:
        wanted = f"PyTorch {asked}" if asked else "a ROCm build of PyTorch"
        _decline(draft, f"there is no {wanted} for {', '.join(draft.targets)}, Python {env.version} and ROCm {recipe.rocm}")
        return ()
    return _steps(draft, env, python, choice)


def _usable(draft: Draft) -> bool:
    """Refuses an interpreter that there is not and a folder in which no environment can be, whatever becomes of PyTorch: to
    leave it out is no answer to who has said where."""
    options, host = draft.options, draft.facts.host
    if options.python and options.venv:
        draft.refuse("options", "--python and --venv exclude each other")
        return False
    try:
        if options.python is not None:
            pythons.require(host, options.python)
        fault = None if options.venv is None else _no_environment(host, options.venv)
        fault = fault and f"--venv {fault}"
    except (WrongTarget, UnknownFact) as error:
        fault = str(error)
    if fault:
        draft.refuse("options", fault)
    return not fault


def _no_environment(host: Host, path: str) -> str | None:
    """Why there is no virtual environment at a path, and none can be made. Raises UnknownFact."""
    if not re.fullmatch(r"/[^\0\n]*[^/\0\n]", path):
        return f"{path!r} is no absolute path"
    node = host.node(path)
    if node is None:
        above = path
        while above and host.node(above) is None:
            if host.node(above, follow=False) is not None:
                return f"{path}: {above} is a link to nowhere"
            above = above.rpartition("/")[0]
        found = host.node(above or "/")
        return f"{path}: {above} is no folder" if found is not None and found.type != "dir" else None
    if node.type != "dir":
        return f"{path}: that is no folder"
    if host.node(f"{path}/pyvenv.cfg") is not None:
        there = host.resolve(f"{path}/bin/python") or host.resolve(f"{path}/bin/python3")
        return None if there else f"{path}: the environment has no interpreter any more"
    return f"{path}: the folder is not empty, and is no virtual environment" if host.names(path) else None


def _decline(draft: Draft, reason: str) -> None:
    """PyTorch that was asked for is refused, PyTorch that is there by default is left out."""
    if draft.options.pytorch:
        draft.refuse("pytorch", reason, "--pytorch none leaves it out")
    else:
        draft.note(f"PyTorch: {reason}; it is left out")


def _environment(draft: Draft) -> PythonEnv | str:
    """The environment, or the interpreter that a new one is made with; else why there is none."""
    options, host = draft.options, draft.facts.host
    try:
        if options.python:
            env = pythons.gather(host, options.python)[0]
            if env.externally_managed:
                draft.refuse(
                    "externally-managed",
                    f"{env.executable} is the distribution's Python, into which pip does not install (PEP 668)",
                    "--venv DIR makes an environment with it",
                )
            return env
        active = next((e for e in pythons.gather(host) if e.origin == "VIRTUAL_ENV"), None)
    except UnknownFact as unknown:
        return str(unknown)
    if active is not None and options.venv is None:
        return active
    path = options.venv or OWN
    if fault := known(lambda: _no_environment(host, path), None):
        return fault
    if known(lambda: host.node(f"{path}/pyvenv.cfg"), None) is not None:
        return pythons.gather(host, path)[0]
    found = [e for e in known(lambda: pythons.gather(host), ()) if e.origin in ("path", "user-site")]
    if not found and known(lambda: host.resolve("/usr/bin/python3"), None):
        found = list(known(lambda: pythons.gather(host, "/usr/bin/python3"), ()))
    return found[0] if found else "there is no python3"


def _fitting(draft: Draft, recipe: Recipe, env: PythonEnv, driver: str | None) -> tuple[str, WheelChoice | None]:
    """(interpreter, wheel): of the environment's Python, or for a new environment of another one that is installed."""
    choice = choose(draft, recipe, env.version, driver)
    if choice is not None or _exists(draft, env):
        return env.executable, choice
    for path in reversed(known(lambda: draft.facts.host.glob("/usr/bin/python3.*"), ())):
        if (found := re.fullmatch(r"/usr/bin/python(3\.\d+)", path)) and (other := choose(draft, recipe, found[1], driver)):
            return path, other
    return env.executable, None


def choose(draft: Draft, recipe: Recipe, python: str, driver: str | None) -> WheelChoice | None:
    """The best wheel that has every target of the host, for this Python and driver."""
    short = versions.major_minor(python)
    lists = [draft.matrix.wheels_for(gfx=gfx, python=short, rocm=recipe.rocm, driver=driver) for gfx in draft.targets]
    common = [
        c for c in lists[0] if all(any((c.torch, c.index_name) == (o.torch, o.index_name) for o in other) for other in lists)
    ]
    asked = draft.options.pytorch
    if asked:
        common = [c for c in common if versions.is_prefix(asked.partition("+")[0], c.torch.partition("+")[0])]
        if "+" in asked:
            common = [c for c in common if c.torch == asked]
    return common[0] if common else None


def _exists(draft: Draft, env: PythonEnv) -> bool:
    """The environment is there already: its Python is given."""
    return draft.options.python is not None or known(lambda: draft.facts.host.node(f"{env.prefix}/pyvenv.cfg"), None) is not None


def _steps(draft: Draft, env: PythonEnv, python: str, choice: WheelChoice) -> tuple[Wish, ...]:
    if env.torch is not None and _exists(draft, env) and draft.options.pytorch is None:
        if env.torch.build != "rocm":
            draft.note(
                f"{env.executable} has a {env.torch.build} build of torch ({env.torch.version}); it is left alone, "
                "--pytorch VERSION replaces it"
            )
            return ()
        if all(gfx in env.torch.library_gfx or env.torch.covers(gfx) for gfx in draft.targets) and env.prefix != OWN:
            draft.note(f"{env.executable} has torch {env.torch.version}, which stays; --pytorch VERSION replaces it")
            return ()
    requirements = tuple(_for_every_target(text, draft.targets) for text in choice.requirements)
    index, uv = mirror.at(draft, choice.index_url), _uv(draft)
    draft.choices["torch"] = {
        "asked": draft.options.pytorch,
        "chosen": choice.torch,
        "index": index,
        "requirements": list(requirements),
        "reason": choice.reason,
    }
    for doubt in (choice.confidence, *(fault.reason for fault in choice.faults)):
        if doubt:
            draft.note(f"PyTorch {choice.torch}: {doubt}")
    wishes: tuple[Wish, ...] = ()
    target = env.executable
    if not _exists(draft, env):
        path = draft.options.venv or OWN
        target = f"{path}/bin/python"
        if not uv and draft.facts.os.package_manager == "apt":
            wishes = (Wish(f"python{_short(draft, python, env)}-venv"),)
        draft.steps.append(
            PythonVenv(
                "venv",
                f"Make the Python environment {path}",
                "the system's Python is left alone (PEP 668)",
                ("root",),
                path,
                python,
                uv,
            )
        )
    draft.steps.append(
        PipInstall(
            "torch",
            f"Install PyTorch {choice.torch} into {target}",
            choice.reason,
            ("root", "network"),
            python=target,
            requirements=requirements,
            index=index,
            gfx=draft.targets,
            uv=uv,
            ca=draft.options.ca or "",
            owner=_owner(draft, env),
        )
    )
    return wishes


def _owner(draft: Draft, env: PythonEnv) -> str:
    """uid:gid of an environment that is there and not root's, else ""."""
    node = draft.facts.host.node(env.prefix) if _exists(draft, env) else None
    return f"{node.uid}:{node.gid}" if node is not None and node.uid else ""


def _short(draft: Draft, python: str, env: PythonEnv) -> str:
    found = re.search(r"python(3\.\d+)$", known(lambda: draft.facts.host.resolve(python), None) or python)
    return found[1] if found else versions.major_minor(env.version) or "3"


def _for_every_target(requirement: str, targets: tuple[str, ...]) -> str:
    """Device extras of all targets where the choice was made for the first."""
    return requirement.replace(f"device-{targets[0]}", ",".join(f"device-{gfx}" for gfx in targets))


def _uv(draft: Draft) -> str:
    """uv's program where it is installed for everybody."""
    host = draft.facts.host
    places = ("/usr/local/bin/uv", "/usr/bin/uv")
    return next((path for path in places if known(lambda path=path: host.resolve(path), None)), "")  # type: ignore[misc]
