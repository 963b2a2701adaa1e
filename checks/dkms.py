"""DKMS: the packaged driver must be built for the kernel that runs (rules.md 10, 11)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import ON_A_KERNEL, any_bound
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


@check(
    "dkms.running-kernel",
    title="The DKMS driver is built for the running kernel",
    after=["gpu_present.device"],
    places=ON_A_KERNEL,
)
def dkms_running_kernel(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Where amdgpu-dkms is installed, it must be built for the kernel that runs, not for some kernel (rules.md 11).

    A build that fails on a newer kernel is cured by the inbox driver or a newer driver release more often than by an older
    kernel (rules.md 10). With a working inbox driver and a clean package state a missing build is only worth a warning.
    """
    dkms = facts.dkms
    builds = dkms.amdgpu()
    package = known(lambda: facts.packages.get("amdgpu-dkms") or facts.packages.get("rock-dkms"), None)
    if not builds and not (package and package.installed):
        raise NotApplicable("no packaged amdgpu driver is installed")
    release = facts.kernel.release
    here = [b for b in builds if b.kernel == release and b.state in ("built", "installed")]
    half = package is not None and package.broken
    if here and not half:
        return
    logs = [log for log in dkms.logs if log.kernel in (release, None) and log.errors]
    failed = half or bool(logs)
    if here and half and not logs:
        return  # built and loaded: the state of the package is for packages.configured
    evidence = [Evidence("dkms status", f"{b.module}/{b.version}, {b.kernel or 'no kernel'}: {b.state}") for b in builds[:4]]
    if half and package:
        evidence.append(Evidence(f"package {package.name}", f"{package.version}: {package.state}"))
    evidence += [Evidence(log.path, line) for log in logs[:1] for line in log.errors[:3]]
    fails = failed or not any_bound(facts)
    name = package.name if package else "amdgpu-dkms"
    headers = remedies.headers(facts)
    fixes: list[Fix] = []
    if compiler := _wanted_compiler(facts, matrix, [line for log in logs for line in log.errors]):
        fixes.append(
            Fix(
                f"Install the compiler that this kernel was built with ({compiler}) and build the module again",
                (*remedies.install(facts, compiler), ("dkms", "autoinstall", "-k", release)),
                needs=("root", "network"),
                verify=recheck("dkms.*", "amdgpu_module.*"),
            )
        )
    if failed:
        fixes.append(remedies.inbox_driver(facts) if name == "amdgpu-dkms" else _remove_rock(facts, name))
        fixes += _newer_driver(facts, matrix, package.driver_release if package else None)
    if not failed or name != "amdgpu-dkms":
        fixes.insert(
            0,
            Fix(
                "Install the headers of the running kernel and build the module for it",
                (*(remedies.install(facts, *headers) if headers else ()), ("dkms", "autoinstall", "-k", release)),
                needs=("root", "network"),
                automatic=not failed,
                verify=recheck("dkms.*", "amdgpu_module.*"),
            ),
        )
    known_failure = matrix.known_dkms_failure(package.driver_release, release) if package and package.driver_release else None
    yield Finding(
        Status.FAIL if fails else Status.WARN,
        f"{name} {'does not build' if failed else 'is not built'} for the running kernel {release}",
        (f"{remedies.sentence(known_failure.reason)} " if known_failure else "")
        + ("The kernel's own driver serves the GPU meanwhile." if any_bound(facts) else "No GPU has a driver because of it."),
        tuple(evidence),
        tuple(fixes),
        (remedies.SYSTEM_REQUIREMENTS,),
    )


def _wanted_compiler(facts: Facts, matrix: Matrix, errors: list[str]) -> str | None:
    """The gcc that is missing where a build stopped at the compiler itself: Ubuntu's HWE kernels are built with a newer gcc than
    the distribution's, and its options (-ftrivial-auto-var-init=zero) are unknown to the older one."""
    if not any("unrecognized command-line option" in line or re.search(r"gcc-\d+: not found", line) for line in errors):
        return None
    built_with = known(lambda: facts.host.read("/proc/version"), None) or ""
    found = re.search(r"gcc-(\d+)", " ".join((*errors, built_with)))
    if found:
        return f"gcc-{found.group(1)}"
    compilers = matrix.distribution_packages.kernel_compilers
    return next((compilers[id] for id in facts.os.ids if id in compilers), None)


def _remove_rock(facts: Facts, name: str) -> Fix:
    return Fix(
        f"Remove {name}, finish the interrupted installation, and use the kernel's own (inbox) driver",
        (*remedies.remove(facts, name), *((("dpkg", "--configure", "-a"),) if remedies.manager(facts) == "apt" else ())),
        needs=("root", "reboot"),
        verify=recheck("dkms.*", "packages.*"),
    )


def _newer_driver(facts: Facts, matrix: Matrix, installed: str | None) -> tuple[Fix, ...]:
    """A release whose list names this kernel, with a newer driver than the installed one; nothing where there is none."""
    from rocmdoctor.checks import fitting

    base, release = fitting.base_of(facts, matrix), facts.kernel.release
    gpus = fitting.that_count(facts)
    if base is None or (gpus and all(g.family == "ryzen" for g in gpus)):  # AMD wants the kernel's own driver on Ryzen
        return ()
    for rocm in fitting.candidates(facts, matrix):
        driver = matrix.driver_for(rocm)
        if installed and (driver is None or versions.key(driver) <= versions.key(installed)):
            continue
        if not fitting.fits(facts, matrix, rocm, base) or not matrix.kernel(rocm, base.id, base.version, release).ok:
            continue
        argvs = fitting.commands(facts, matrix, rocm, "--driver", "dkms")
        return (
            Fix(
                f"Install ROCm {rocm}{f' with its driver {driver}' if driver else ''}, whose list names this kernel"
                + fitting.removed_first(argvs),
                argvs,
                needs=("root", "network", "reboot"),
                verify=recheck("dkms.*", "amdgpu_module.*"),
            ),
        )
    return ()
