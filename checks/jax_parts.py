"""JAX and its two packages for ROCm: do they belong to each other and to the ROCm that is here? Loaded where JAX is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.frameworks import nvidia_here, other_major, pip, plain, rocm_here, seen
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.frameworks import Frameworks
    from rocmdoctor.matrix import Matrix


def judged(facts: Facts, matrix: Matrix, found: Frameworks) -> Iterator[Finding]:
    """Three packages of one version, for the major version of the ROCm that is there, with a jaxlib that knows the plug-in."""
    rocm = [p for p in found.jax_parts if p.accelerator == "rocm"]
    jaxlib = found.env.get("jaxlib") or found.env.get("jax")
    if not rocm:
        yield from _for_cuda(facts, matrix, found)
        return
    plugin = next((p for p in rocm if p.kind == "plugin"), None)
    names = ", ".join(f"{p.distribution.name} {p.distribution.version}" for p in rocm)
    parts = tuple(p.distribution for p in rocm)
    wrong = None
    if plugin is None or not any(p.kind == "pjrt" for p in rocm):
        wrong = f"JAX needs both a plug-in and a pjrt package; here is only {names}"
    elif len({plain(d.version) for d in parts}) > 1:
        wrong = f"The ROCm packages of JAX are of different versions: {names}"
    elif jaxlib and plain(plugin.distribution.version) != plain(jaxlib.version):
        wrong = f"{plugin.distribution.name} {plugin.distribution.version} does not belong to {jaxlib.name} {jaxlib.version}"
    version = jaxlib.version.partition("+")[0] if jaxlib else (plugin or rocm[0]).distribution.version
    if wrong:
        yield Finding(
            Status.WARN,
            wrong,
            "JAX ignores a plug-in of another version, and computes on the CPU.",
            seen(jaxlib, *parts),
            (_fix(found, f"jax-rocm{_digits(rocm[0].distribution.name)}", version),),
        )
        return
    assert plugin is not None
    needs = matrix.faults.jaxlib_for(plugin.distribution.name)
    if jaxlib and needs and plain(jaxlib.version) < plain(needs):
        yield Finding(
            Status.WARN,
            f"jaxlib {jaxlib.version} does not know {plugin.distribution.name}",
            f"The name of the plug-in came with jaxlib {needs}; an older one finds no GPU module and computes on the CPU.",
            seen(jaxlib, plugin.distribution),
            (
                Fix(
                    f"Update jax, jaxlib and the plug-in together to {needs} or later",
                    (),
                    needs=("network",),
                    verify=recheck("python.jax"),
                ),
            ),
        )
    other = other_major(facts, found, plugin.major)
    if other:
        release, where = other[0]
        right = _plugin_for(matrix, release)
        yield Finding(
            Status.WARN,
            f"{plugin.distribution.name} is for ROCm {plugin.major}, and ROCm {release} is installed",
            f"It loads ROCm's libraries by the numbers of that release, which are not in {where}: JAX starts without a GPU.",
            (*seen(plugin.distribution), Evidence(where, f"ROCm {release}")),
            (
                _fix(found, right, version)
                if right
                else Fix(
                    f"Use the JAX packages that AMD names for ROCm {release}",
                    (),
                    needs=("network",),
                    verify=recheck("python.jax"),
                ),
            ),
        )


def _for_cuda(facts: Facts, matrix: Matrix, found: Frameworks) -> Iterator[Finding]:
    """JAX without ROCm packages may be meant for the CPU; with CUDA's it was meant for a GPU."""
    cuda = [p.distribution for p in found.jax_parts]
    jax, here = found.env.get("jaxlib") or found.env.get("jax"), rocm_here(facts, found)
    stem = _plugin_for(matrix, here[0][0]) if here else None
    wanted = _packages(stem, jax.version.partition("+")[0]) if stem and jax else ()
    if not cuda or nvidia_here(facts):
        raise NotApplicable(
            "JAX has no ROCm plug-in here: it computes on the CPU" if not cuda else "an NVIDIA GPU is here as well"
        )
    yield Finding(
        Status.WARN,
        f"JAX has the CUDA plug-in ({cuda[0].name} {cuda[0].version}) and none for ROCm",
        "It cannot use an AMD GPU, and computes on the CPU.",
        seen(*cuda),
        (
            Fix(
                "Remove the CUDA packages of JAX" + (" and install the ROCm ones" if wanted else "; AMD names the ROCm ones"),
                (pip(found, "uninstall", "-y", *(d.name for d in cuda)), *((pip(found, "install", *wanted),) if wanted else ())),
                needs=("network",),
                verify=recheck("python.jax"),
            ),
        ),
    )


def _digits(name: str) -> str:
    return name.removeprefix("jax-rocm").partition("-")[0]


def _plugin_for(matrix: Matrix, rocm: str) -> str | None:
    """ "jax-rocm7" for ROCm 7.2.0, by the matrix; None where it knows none of that major version."""
    for name, row in matrix.python_packages.items():
        if name.startswith("jax-rocm") and any(r.partition(".")[0] == rocm.partition(".")[0] for r in row.rocm):
            return name.removesuffix("-plugin")
    return None


def _packages(stem: str, version: str) -> tuple[str, ...]:
    return (f"jax=={version}", f"{stem}-plugin=={version}", f"{stem}-pjrt=={version}")


def _fix(found: Frameworks, stem: str, version: str) -> Fix:
    wanted = _packages(stem, version)
    return Fix(
        "Install jax, plug-in and pjrt of one version in one command",
        (pip(found, "install", *wanted),),
        needs=("network",),
        verify=recheck("python.jax"),
    )
