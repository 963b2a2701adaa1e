"""Remedies for a PyTorch that does not fit: the wheel that does, or the Python that has one. Loaded when one is offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import fitting
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Fix

if TYPE_CHECKING:
    from rocmdoctor.facts.pythons import PythonEnv
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.wheel_choice import WheelChoice


def wheel_fix(facts: Facts, matrix: Matrix, env: PythonEnv, title: str) -> tuple[Fix, ...]:
    """Install the newest ROCm wheel that fits this GPU, Python and driver, with its companions, from its own index.

    --index-url and not --extra-index-url: with the latter pip may take the CUDA build of the default index.
    """
    gpus = known(lambda: facts.gpus, ())
    gfx = next((g.gfx for g in sorted(gpus, key=lambda g: g.klass == "apu") if g.gfx), None)
    if gfx is None:
        if gpus:
            return ()
        return (Fix(f"{title}, from the index of the ROCm release that the image is for"),)
    python = versions.major_minor(env.version)
    choices = fitting.wheels(facts, matrix, gfx, python)
    if not choices:
        choices = fitting.wheels(facts, matrix, gfx) or fitting.wheels(facts, matrix, gfx, any_driver=True)
        if not choices:
            return (
                Fix(f"No official ROCm wheel has code for {gfx}; AMD's per-GPU indexes (TheRock) may: see the documentation"),
            )
        return (_newer_python(facts, matrix, choices[0], gfx, python),)
    best = choices[0]
    audio = env.get("torchaudio") and not any(r.startswith("torchaudio") for r in best.requirements)
    return (
        Fix(
            f"{title}: torch {best.torch} for ROCm {best.rocm}"
            + (" (without torchaudio, which that index is not known to have for it)" if audio else ""),
            (
                (env.executable, "-m", "pip", "uninstall", "-y", "torch", "torchvision", "torchaudio", *_tritons(env)),
                (env.executable, "-m", "pip", "install", "--index-url", best.index_url, *best.requirements),
            ),
            needs=("network",),
            verify=recheck("torch_build.*", "torch_arch.*"),
        ),
    )


def _newer_python(facts: Facts, matrix: Matrix, best: WheelChoice, gfx: str, python: str) -> Fix:
    """An environment of a Python that has the wheel: the newest that fits of those that PyTorch builds for."""
    right = (f"3.{minor}" for minor in range(13, 8, -1))
    other = next((p for p in right if best in fitting.wheels(facts, matrix, gfx, p, any_driver=True)), None)
    driver = known(lambda: facts.driver_release, None)
    carried = not driver or best in fitting.wheels(facts, matrix, gfx)
    if other is None:
        return Fix(f"No ROCm wheel for {gfx} fits this host")
    return Fix(
        (f"Python {python} has no ROCm wheel for {gfx}: make" if other != python else "Make")
        + f" an environment with Python {other} (to be installed first where it is missing), and put torch {best.torch} from "
        f"{best.index_url} into it" + ("" if carried else f"; it wants a newer driver than {driver}"),
        (
            (f"python{other}", "-m", "venv", "rocm-venv"),
            ("rocm-venv/bin/pip", "install", "--index-url", best.index_url, *best.requirements),
        ),
        needs=("network",),
    )


def _tritons(env: PythonEnv) -> tuple[str, ...]:
    return tuple(name for name in ("triton", "pytorch-triton-rocm", "triton-rocm") if env.get(name))
