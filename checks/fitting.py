"""Which ROCm release fits this host: its system and its GPUs together. A remedy that the matrix itself rules out is none.

`rocmdoctor install` chooses in the same way; a release is named here only when that command would take it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.environment import OVERRIDE
from rocmdoctor.facts.gpus import deciding
from rocmdoctor.matrix import host_support
from rocmdoctor.results import Fix

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.distributions import OsBase
    from rocmdoctor.matrix.wheel_choice import WheelChoice


def base_of(facts: Facts, matrix: Matrix) -> OsBase | None:
    """AMD's distribution behind this host; None when AMD packages nothing for it, or when it is unknown."""
    os = known(lambda: facts.os, None)
    return matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename) if os else None


def that_count(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that a release must serve; none when they are unknown."""
    return deciding(known(lambda: facts.gpus, ()))


def fits(facts: Facts, matrix: Matrix, rocm: str, base: OsBase) -> bool:
    """AMD packages the release for that system, and lists it with every GPU that counts."""
    return host_support.fits(matrix, rocm, base, that_count(facts))


def candidates(facts: Facts, matrix: Matrix) -> Iterator[str]:
    """Releases, newest first; before all others those of the packaging that is installed, which AMD's other one must not join."""
    line, others = _installed_line(facts), []
    for version in reversed(matrix.versions):
        release = matrix.release(version) if line else None
        if line and release and release.line != line:
            others.append(version)
        else:
            yield version
    yield from others


def newest(facts: Facts, matrix: Matrix) -> str | None:
    """The newest release that fits, one of the installed packaging if any does; None when none fits."""
    base = base_of(facts, matrix)
    return host_support.newest(matrix, base, that_count(facts), candidates(facts, matrix)) if base else None


def _installed_line(facts: Facts) -> str | None:
    """classic | therock: how AMD's installed ROCm is packaged; None where there is none, or nobody knows."""
    packages = known(lambda: facts.packages, None)
    rocm = packages.rocm if packages else ()
    return None if not rocm else "therock" if all(p.is_therock for p in rocm) else "classic"


def commands(facts: Facts, matrix: Matrix, rocm: str, *options: str) -> tuple[tuple[str, ...], ...]:
    """`rocmdoctor install` of a release, behind `rocmdoctor uninstall` where it would refuse what is installed: the other
    packaging (AMD asks to remove that first), a newer release, or packages that carry their release in the name."""
    install, release = ("rocmdoctor", "install", "--rocm", rocm, *options), matrix.release(rocm)
    packages = known(lambda: facts.packages, None)
    classic = [p for p in (packages.rocm if packages else ()) if not p.is_therock]
    line = _installed_line(facts)
    other = line is not None and release is not None and release.line != line
    newer = any(versions.key(p.rocm_release or "0") > versions.key(rocm) for p in classic if p.name in ("rocm", "rocm-core"))
    named = any(p.is_side_by_side for p in classic)
    return (("rocmdoctor", "uninstall"), install) if other or newer or named else (install,)


def removed_first(argvs: tuple[tuple[str, ...], ...]) -> str:
    """What a title must say of such commands."""
    return "; the installed ROCm is removed first" if len(argvs) > 1 else ""


def elsewhere(facts: Facts, matrix: Matrix) -> tuple[str, str] | None:
    """(release, name of a system) that would serve these GPUs: the newest one, on another version of this distribution if any."""
    from rocmdoctor.matrix.distributions import OsBase

    base, gpus = base_of(facts, matrix), that_count(facts)
    for id in dict.fromkeys((*((base.id,) if base else ()), "ubuntu", "rhel")):
        for rocm in reversed(matrix.versions):
            release = matrix.release(rocm)
            for version in reversed(release.os_versions(id)) if release else ():
                if host_support.fits(matrix, rocm, OsBase(id, version, True, ""), gpus):
                    return rocm, f"{matrix.distributions[id].name} {version}"
    return None


def system_name(facts: Facts, matrix: Matrix) -> str:
    """The system as AMD's lists name it, or as it names itself."""
    base = base_of(facts, matrix)
    return f"{matrix.distributions[base.id].name} {base.version}" if base else known(lambda: facts.os.name, "this distribution")


def wheels(
    facts: Facts, matrix: Matrix, gfx: str, python: str | None = None, *, any_driver: bool = False
) -> tuple[WheelChoice, ...]:
    """ROCm wheels of PyTorch that have `gfx` and run on this system: its driver and its glibc carry them."""
    driver = None if any_driver else known(lambda: facts.driver_release, None)
    choices = matrix.wheels_for(gfx=gfx, python=python, driver=driver)
    return tuple(c for c in choices if not _old_glibc(facts, matrix, c.torch))


def _old_glibc(facts: Facts, matrix: Matrix, torch: str) -> bool:
    """The wheels of this torch want a newer glibc than the distribution has (manylinux_2_28); False when that is unknown."""
    base = base_of(facts, matrix)
    glibc = matrix.glibc(base.id, base.version) if base else None
    if glibc is None:
        return False
    rules, release = matrix.wheel_rules, versions.key(torch.partition("+")[0])
    return versions.key(glibc) < versions.key(rules.manylinux_glibc) and release >= versions.key(rules.manylinux_2_28_from)


def install(facts: Facts, matrix: Matrix, title: str, *ids: str, prefer: str | None = None) -> Fix:
    """Let `rocmdoctor install` do it, with the release that fits ("..., {rocm}" in the title is that); without one, what would
    have to change, and no command. `prefer`: that release if it fits. `ids`: the checks that show whether it worked."""
    base = base_of(facts, matrix)
    rocm = prefer if prefer and base and fits(facts, matrix, prefer, base) else newest(facts, matrix)
    if rocm:
        argvs = commands(facts, matrix, rocm)
        return Fix(
            title.format(rocm=f"ROCm {rocm}") + removed_first(argvs),
            argvs,
            needs=("root", "network"),
            verify=remedies.recheck(*ids) if ids else (),
        )
    return nothing_fits(facts, matrix)


def nothing_fits(facts: Facts, matrix: Matrix) -> Fix:
    """What would have to change where no release fits; what serves the GPUs all the same."""
    base, gpus = base_of(facts, matrix), that_count(facts)
    if base is None:
        packages = matrix.distribution_packages.own_rocm.get(known(lambda: facts.os.id, ""))
        own = remedies.install(facts, *packages) if packages else ()
        return Fix(
            f"AMD has no packages for {system_name(facts, matrix)}: use its own ROCm packages, PyTorch wheels (which bring their "
            "own ROCm) or a container of a distribution that AMD lists",
            own,
            needs=("root", "network"),
        )
    here, names = system_name(facts, matrix), " and ".join(sorted({g.gfx or "" for g in gpus}))
    what = f"{names} on {here}" if gpus else here
    ways = []
    if other := elsewhere(facts, matrix):
        ways.append(f"ROCm {other[0]} is for {other[1]}: use that system or a container of it")
    if gpus and all(wheels(facts, matrix, g.gfx or "") for g in gpus):
        ways.append("PyTorch wheels, which bring their own ROCm, have it")
    for value, target in matrix.override_suggestions(gpus[0].gfx or "") if gpus else ():
        ways.append(f"code for {target} runs on it with {OVERRIDE}={value} (unofficial)")
    if not ways:
        ways.append("community builds may serve it, or use the GPU through Vulkan (OpenCL)")
    return Fix(f"No ROCm release is on AMD's list for {what}; " + "; ".join(ways))
