"""Is this GPU served by the ROCm that is installed, and does AMD list the host? Kernel, distribution and driver against the
matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.environment import acts_as, in_sight
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.matrix import Matrix, Verdict
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.gpus import Gpu
    from rocmdoctor.matrix.distributions import OsBase


@check(
    "gpu_support.release",
    title="The installed ROCm has code for the GPU",
    after=["gpu_present.device"],
    docs=[remedies.COMPATIBILITY],
)
def release(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares each GPU's gfx target with the installed rocBLAS files (what was built) and with the release's support list
    (what AMD states). A target that was built works even where AMD does not list it, so only its absence is a failure. An
    integrated GPU beside a discrete one is not judged, and neither is a GPU that the visibility variables hide, or a target
    that a ROCm wheel here serves: a wheel brings its own libraries (rules.md 31). Beside a GPU that is served, one that is
    not is a warning."""
    rocm = facts.rocm_version
    active = facts.rocm.active
    built = active.gfx if active and not facts.asked_rocm else None
    if not rocm and built is None:
        raise NotApplicable("no ROCm of a known version is installed")
    wheel = _wheel_gfx(facts)
    gpus = in_sight(facts)
    if built is None and rocm and all(g.gfx not in wheel for g in gpus):
        answers = [matrix.gpu(rocm, g.gfx, product=g.product, family=g.family) for g in gpus if g.gfx]
        if answers and all(answer.verdict is Verdict.UNKNOWN for answer in answers):
            raise UnknownFact(answers[0].reason)
    unserved = [g for g in gpus if g.gfx and not _served(facts, matrix, g, rocm, built) and g.gfx not in wheel]
    anything_served = len(unserved) < sum(bool(g.gfx) for g in gpus)
    discrete = any(g.klass != "apu" for g in gpus)
    for gpu in {g.gfx: g for g in unserved}.values():
        if not (discrete and gpu.klass == "apu"):
            yield from _unserved(facts, matrix, gpu, rocm, built, active.root if active else "", anything_served)


def _served(facts: Facts, matrix: Matrix, gpu: Gpu, rocm: str | None, built: frozenset[str] | None) -> bool:
    """The libraries that are here have code for it; without libraries, AMD's list decides. Unknown counts as served."""
    if built is not None:
        return gpu.gfx in built or acts_as(facts, matrix, gpu) in built
    answer = matrix.gpu(rocm or "", gpu.gfx or "", product=gpu.product, family=gpu.family)
    return answer.verdict is not Verdict.UNSUPPORTED


def _unserved(
    facts: Facts, matrix: Matrix, gpu: Gpu, rocm: str | None, built: frozenset[str] | None, root: str, others: bool
) -> Iterator[Finding]:
    answer = matrix.gpu(rocm, gpu.gfx or "", product=gpu.product, family=gpu.family) if rocm else None
    listed = answer is not None and answer.verdict in (Verdict.SUPPORTED, Verdict.DEPRECATED)
    if listed:
        return  # listed, and its files were left out or lie elsewhere: nothing that speaks against the release
    unlisted = answer is not None and answer.verdict is Verdict.UNSUPPORTED
    evidence = [Evidence("KFD" if gpu.gfx_source == "kfd" else "PCI id", f"{gpu.label}: {gpu.gfx}")]
    if answer is not None:
        evidence.append(Evidence(f"compat_matrix.yaml {matrix.date}", answer.reason))
    if built is not None:
        evidence.append(Evidence(f"{root}/lib/rocblas/library", "targets: " + ", ".join(sorted(built))))
    if built is not None and unlisted:
        yield Finding(
            Status.WARN if others else Status.FAIL,
            f"ROCm {rocm} has no code for the {gpu.label} ({gpu.gfx})",
            "Neither is the target on AMD's list for this release nor among the files of its rocBLAS: programs start, and "
            "the first kernel "
            "ends with 'invalid device function' or a missing TensileLibrary.",
            tuple(evidence),
            tuple(_ways(facts, matrix, gpu, built)),
        )
    else:
        yield Finding(
            Status.WARN,
            f"The libraries of ROCm {rocm} have no code for the {gpu.label} ({gpu.gfx})"
            if built is not None
            else f"The {gpu.label} ({gpu.gfx}) is not on AMD's list for ROCm {rocm}",
            "The files of its rocBLAS name other targets."
            if built is not None
            else "AMD's libraries of this release are not built for it.",
            tuple(evidence),
            tuple(_ways(facts, matrix, gpu, built)),
        )


def _wheel_gfx(facts: Facts) -> frozenset[str]:
    """Targets of every ROCm wheel here: a wheel brings its own libraries (rules.md 31)."""
    return frozenset().union(
        *(e.torch.library_gfx for e in known(lambda: facts.pythons, ()) if e.torch and e.torch.build == "rocm")
    )


def _ways(facts: Facts, matrix: Matrix, gpu: Gpu, built: frozenset[str] | None) -> Iterator[Fix]:
    """What serves this GPU: an override that is right for it, a release that lists it on this system, a PyTorch wheel that has
    it. Community builds and Vulkan are named only where none of these is."""
    from rocmdoctor.checks import fitting
    from rocmdoctor.checks.overrides import override_fix

    gfx = gpu.gfx or ""
    ours = override_fix(facts, matrix, gpu, lambda target: bool(built and target in built))
    yield from ours
    rocm = fitting.newest(facts, matrix)
    if rocm:
        yield fitting.install(facts, matrix, f"Install a release that lists {gfx} for this system: {{rocm}}", "gpu_support.*")
        return
    wheels = fitting.wheels(facts, matrix, gfx)
    for best in wheels[:1]:
        yield Fix(
            f"For PyTorch, use a wheel that has {gfx}, which brings its own ROCm: torch {best.torch} for ROCm {best.rocm}, from "
            f"{best.index_url}"
        )
    if other := fitting.elsewhere(facts, matrix):
        yield Fix(f"Use {other[1]}, or a container of it: ROCm {other[0]} lists {gfx} there, and no release does for this system")
    elif not wheels and not ours:
        yield fitting.nothing_fits(facts, matrix)


@check(
    "os_support.release",
    title="AMD lists this distribution for the installed ROCm",
    after=["gpu_present.device"],
    places=("bare-metal", "vm"),
    docs=[remedies.SYSTEM_REQUIREMENTS],
)
def distribution(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks the distribution and its version up in the release's list. Derivatives are judged by their base; what AMD does
    not list is a warning with the nearest base, never a failure (rules.md 43)."""
    rocm = _release_of_amd(facts, matrix)
    if not rocm:
        raise NotApplicable("neither a ROCm of AMD nor a repository of one is here")
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    active = facts.rocm.active
    if base is None and active and active.origin == "unknown" and not facts.asked_rocm:
        raise NotApplicable("no package database that is known here tells whose ROCm this is: the distribution's, as like as not")
    family = next((g.family for g in facts.gpus if g.family), None)
    if base is None:
        answer = None
    else:
        answer = matrix.os(rocm, base.id, base.version, family=family)
        if answer.verdict is Verdict.UNKNOWN:
            raise UnknownFact(answer.reason)
        if answer.verdict in (Verdict.SUPPORTED, Verdict.DEPRECATED) and base.exact:
            return
    others = base is not None and base.exact and matrix.os(rocm, base.id, base.version).verdict is Verdict.SUPPORTED
    reason = answer.reason.rstrip(".") if answer else "AMD lists no distribution of this kind"
    offered = "" if facts.asked_rocm or active else ", which its repository offers"
    yield Finding(
        Status.WARN,
        (
            f"{os.name} is on AMD's list for ROCm {rocm} with other GPUs only"
            if others
            else f"{os.name} is not on AMD's list for ROCm {rocm}"
        )
        + offered,
        (f"It is judged as {base.id} {base.version}. " if base and not base.exact else "")
        + f"{reason}. It may work all the same; AMD does not test it.",
        (
            Evidence("/etc/os-release", f"{os.id} {os.version_id or '(no version)'}"),
            Evidence(f"compat_matrix.yaml {matrix.date}", answer.reason if answer else "no row"),
        ),
        (_listed_instead(facts, matrix, rocm, base),),
    )


def _listed_instead(facts: Facts, matrix: Matrix, rocm: str, base: OsBase | None) -> Fix:
    """What to do about a system that is not on the list: the command only where it has an answer."""
    from rocmdoctor.checks import fitting

    if base is None:
        return fitting.nothing_fits(facts, matrix)._replace(commands=())
    gfx = next((g.gfx for g in fitting.that_count(facts)), None)
    what = {"rocm": rocm, "os": f"{base.id}:{base.version}", "gfx": gfx}
    newest = fitting.newest(facts, matrix)
    asked = any(a.verdict is Verdict.UNSUPPORTED for a in matrix.query(**what)) if gfx else False
    if newest and asked:
        return Fix(
            f"See the nearest releases that AMD lists for this system and GPU (the newest is ROCm {newest})",
            (("rocmdoctor", "matrix", "suggest", "--rocm", rocm, "--os", what["os"] or "", "--gfx", gfx or ""),),
        )
    if not base.exact and (newest == rocm or matrix.os(rocm, base.id, base.version).ok):
        name = fitting.system_name(facts, matrix)
        return Fix(f"Keep AMD's packages of {name}, the nearest; where support matters, use {name} or a container of it")
    return fitting.install(facts, matrix, "Install a release that AMD lists for this system and GPU: {rocm}", "os_support.*")


def _release_of_amd(facts: Facts, matrix: Matrix) -> str | None:
    """The release of AMD's own ROCm: the installed one, else the one that the enabled repository offers."""
    active = facts.rocm.active
    if facts.asked_rocm or (active and active.origin != "distro-package"):
        return facts.rocm_version
    if active:
        return None
    offered = [s.release for s in known(lambda: facts.repos.amd, ()) if s.product in ("rocm", "amdgpu") and s.release]
    for release in offered:
        if version := matrix.rocm_of_repository(release):
            return version
    return None


@check(
    "kernel.supported",
    title="AMD lists this kernel for the installed ROCm",
    after=["gpu_present.device"],
    places=("bare-metal", "vm"),
    profiles=("node",),
    docs=[remedies.SYSTEM_REQUIREMENTS],
)
def kernel(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks the running kernel up in the release's list for this distribution. Only part of the profile `node`: on other
    hosts a kernel that AMD did not test and that works is not worth a warning."""
    rocm = facts.rocm_version
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    if not rocm or base is None:
        raise NotApplicable("nothing to look up")
    family = next((g.family for g in facts.gpus if g.family), None)
    answer = matrix.kernel(rocm, base.id, base.version, facts.kernel.release, family=family)
    if answer.verdict is Verdict.UNKNOWN:
        raise UnknownFact(answer.reason)
    if answer.verdict is Verdict.UNSUPPORTED:
        yield Finding(
            Status.WARN,
            f"The kernel {facts.kernel.release} is not on AMD's list for ROCm {rocm} on {base.id} {base.version}",
            remedies.sentence(answer.reason),
            (Evidence("uname -r", facts.kernel.release), Evidence(f"compat_matrix.yaml {matrix.date}", answer.reason)),
            (_listed_kernel(facts, matrix, rocm, base),),
        )


def _listed_kernel(facts: Facts, matrix: Matrix, rocm: str, base: OsBase) -> Fix:
    what = {"rocm": rocm, "os": f"{base.id}:{base.version}", "kernel": facts.kernel.release}
    if matrix.suggest(**what):
        words = tuple(word for name, value in what.items() for word in (f"--{name}", value))
        return Fix("See the nearest listed kernel", (("rocmdoctor", "matrix", "suggest", *words),))
    return Fix("Boot a kernel that AMD lists for this system, or keep this one where everything works")


@check("mixed_gpu.gfx803", title="No old Polaris card stops ROCm for every GPU", after=["gpu_present.device"])
def polaris(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """One gfx803 card that KFD serves stops ROCm 7.x for every GPU in the machine: the run time rejects its doorbells with a
    plain HSA_STATUS_ERROR (rocm-systems #6883). The last line that works beside it is 6.4 (rules.md 18)."""
    rocm = facts.rocm_version
    fault = matrix.faults.stops_all(rocm) if rocm and len(facts.gpus) > 1 else None
    old = [g for g in facts.gpus if fault and g.gfx in fault.gfx and g.kfd]
    if not fault or not old or len(facts.gpus) == len(old):
        return
    yield Finding(
        Status.FAIL,
        f"The {old[0].label} ({old[0].gfx}) stops ROCm {rocm} for every GPU of this machine",
        "The run time of ROCm 7 ends with HSA_STATUS_ERROR when KFD shows such a card; no override helps.",
        (Evidence(f"/sys/class/kfd/kfd/topology/nodes/{old[0].kfd_node}", old[0].gfx or ""),),
        (
            Fix(
                "Remove the card, or unbind amdgpu from it before using ROCm",
                (("driverctl", "set-override", old[0].pci_address or "", "none"),),
                needs=("root",),
            ),
            Fix(f"Stay with ROCm {fault.last_good}, the last line that works beside it", needs=("root", "network")),
        ),
    )
