"""ROCm itself: is a user space there, complete, and is it the one that the paths lead to?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.installed import computes_elsewhere, real_installs
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.rocm import RocmInstall
    from rocmdoctor.matrix import Matrix


@check(
    "rocm_install.present",
    title="A ROCm user space is installed",
    after=[
        *("gpu_present.device", "amdgpu_module.bound", "torch_build.rocm", "wsl.runtime"),
        *("repo.paths", "repo.keys", "repo.pin", "packages.configured"),
    ],
    docs=[remedies.SYSTEM_REQUIREMENTS],
)
def present(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks for ROCm in /opt/rocm*, /opt/rocm/core-*, the distribution's own packages, and in Python wheels (which bring their
    own).

    /opt/rocm missing is normal for wheel-only installs and for distributions' ROCm (rules.md 29); nothing at all is not.
    """
    if real_installs(facts) or any(e.torch and e.torch.build == "rocm" for e in facts.pythons):
        return
    if facts.packages.rocm or facts.packages.distro_rocm:
        return  # some packages are there: what is missing is for packages and rocm_install.libraries
    info = known(lambda: facts.rocminfo, None)
    if info is not None and info.gpus:
        return  # it runs from a place of its own (a module tree, a Nix store, an unpacked archive)
    if computes_elsewhere(facts):
        raise NotApplicable("an NVIDIA GPU is here, and the AMD GPU is only the processor's own graphics")
    from rocmdoctor.checks import fitting

    yield Finding(
        Status.FAIL,
        "There is no ROCm on this host: no /opt/rocm, no ROCm packages, no ROCm build of PyTorch",
        "Driver and GPU are there; the user space that programs link to is not. A green play or script that skipped the "
        "role looks like this.",
        (Evidence("/opt/rocm*", "absent"), Evidence("packages", "no ROCm package is installed")),
        (
            fitting.install(
                facts, matrix, "Install {rocm}, which fits this host (it shows the plan and asks first)", "rocm_install.*"
            ),
        ),
    )


@check("rocm_install.libraries", title="The ROCm libraries that PyTorch needs are there", docs=[remedies.PYTORCH])
def libraries(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """AMD's light wheels (.lw) carry no ROCm libraries and take them from the system. If libamdhip64 is nowhere, importing
    torch fails."""
    env = facts.torch_env
    torch = env.torch if env else None
    if torch is None or torch.build != "rocm" or torch.layout != "system":
        return
    if any(i.has_hip for i in facts.rocm.installs) or known(lambda: facts.loader.cached("libamdhip64.so"), ()):
        return
    yield Finding(
        Status.FAIL,
        f"torch {torch.version} takes ROCm's libraries from the system, and they are not installed",
        "This wheel brings none of its own, and libamdhip64, libroctx64 and librocm_smi64 are neither in /opt/rocm nor in "
        "the loader's cache.",
        (Evidence(torch.path, "no ROCm libraries in torch/lib"), Evidence("ldconfig -p", "no libamdhip64.so")),
        (
            Fix(
                "Install ROCm's libraries of the wheel's release" + (f" ({torch.rocm_release})" if torch.rocm_release else ""),
                (matrix.wsl.classic_usecase,)
                if facts.place.kind == "wsl"
                else remedies.install(facts, "rocm-hip-libraries", "rocm-hip-runtime"),
                needs=("root", "network"),
                verify=recheck("rocm_install.*"),
            ),
        ),
    )


@check("rocm_install.link", title="/opt/rocm leads to an installed ROCm")
def link(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """/opt/rocm is a link to the active release (by alternatives). After a removal it can lead nowhere: PATH, ld.so.conf.d and
    build systems that name /opt/rocm then find nothing, though another release may be installed."""
    target = facts.rocm.link
    if target is None or facts.host.resolve("/opt/rocm") is not None:
        return
    left = real_installs(facts)
    from rocmdoctor.checks import fitting

    yield Finding(
        Status.FAIL,
        f"/opt/rocm leads to {target}, which does not exist",
        "A release was removed and the link stayed."
        + (f" Installed are: {', '.join(i.root for i in left)}." if left else " No ROCm is left in /opt."),
        (Evidence("/opt/rocm", f"-> {target} (missing)"),),
        (
            Fix(
                f"Lead /opt/rocm to {left[0].root}",
                (("update-alternatives", "--install", "/opt/rocm", "rocm", left[0].root, "100"),),
                needs=("root",),
                verify=recheck("rocm_install.*"),
            )
            if left
            else fitting.install(facts, matrix, "Install {rocm}, which fits this host, or remove the link", "rocm_install.*"),
        ),
    )


@check("rocm_install.run-time", title="The installed ROCm has its run time")
def run_time(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """An install with tools and without libamdhip64 or libhsa-runtime64 was installed in part or removed in part."""
    if real_installs(facts) or not known(lambda: facts.packages.rocm, ()):
        return
    env = facts.torch_env
    if env and env.torch and env.torch.build == "rocm":
        return
    names = {p.name for p in facts.packages.rocm}
    missing = sorted({"hip-runtime-amd", "hsa-rocr"} - names)
    if not missing or not (names & {"rocm", "rocm-hip-runtime", "rocm-hip-libraries", "rocm-hip-sdk", "rocm-libs"}):
        return
    yield Finding(
        Status.FAIL,
        f"ROCm is installed in part: {' and '.join(missing)} missing",
        "Packages of ROCm are there, the run time that every program needs is not.",
        (Evidence("packages", ", ".join(sorted(names)[:8])),),
        (
            Fix(
                "Install the run time of the same release",
                remedies.install(facts, "rocm-hip-runtime"),
                needs=("root", "network"),
                verify=recheck("rocm_install.*"),
            ),
        ),
    )


@check("rocm_side_by_side.same", title="All paths lead to one ROCm")
def one_rocm(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Several ROCm releases side by side are allowed. Trouble begins when PATH, ROCM_PATH, HIP_PATH and /opt/rocm lead to
    different ones, or when the loader's cache mixes two of them."""
    installs = real_installs(facts)
    if len(installs) < 2:
        return
    leads: dict[str, str] = {}
    active = facts.rocm.active
    if active:
        leads["/opt/rocm" if facts.rocm.link else "the active install"] = active.root
    for name in ("ROCM_PATH", "HIP_PATH", "ROCM_HOME"):
        value = facts.env.get(name, "")
        owner = _owner(installs, facts.host.resolve(value) or value) if value else None
        if owner:
            leads[name] = owner
    for folder in facts.env.get("PATH", "").split(":"):
        owner = _owner(installs, facts.host.resolve(folder) or folder) if "rocm" in folder else None
        if owner:
            leads["PATH"] = owner
            break
    if len(set(leads.values())) > 1:
        yield Finding(
            Status.WARN,
            f"{len(installs)} ROCm installs, and the paths lead to different ones",
            "Tools of one release load libraries of another: " + ", ".join(f"{k} is {v}" for k, v in leads.items()) + ".",
            tuple(Evidence(k, v) for k, v in leads.items()),
            (
                Fix(
                    "Choose one: set the alternative for /opt/rocm and let PATH, ROCM_PATH and LD_LIBRARY_PATH name "
                    "/opt/rocm only",
                    (("update-alternatives", "--config", "rocm"),),
                    needs=("root", "relogin"),
                    verify=recheck("rocm_side_by_side.*"),
                ),
            ),
        )


@check("rocm_side_by_side.loader", title="The loader picks the libraries of the active ROCm")
def loader_picks(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """With several releases side by side, the loader's cache may list another one than /opt/rocm leads to: tools of the
    active release then load libraries that lack their functions."""
    active = facts.rocm.active
    installs = real_installs(facts)
    if active is None or len(installs) < 2:
        return
    for soname in ("libhsa-runtime64.so", "libamdhip64.so", "libamd_smi.so"):
        cached = facts.loader.cached(soname)
        owner = _owner(installs, facts.host.resolve(cached[0][1]) or cached[0][1]) if cached else None
        if owner and owner != active.root:
            yield Finding(
                Status.WARN,
                f"/opt/rocm leads to {active.root}, and the loader takes its libraries from {owner}",
                "Programs of one release load libraries of the other: missing symbols and crashes follow.",
                (Evidence("ldconfig -p", f"{cached[0][0]} => {cached[0][1]}"), Evidence("/opt/rocm", active.root)),
                (
                    Fix(
                        f"Let the loader look into {active.root}/lib before {owner}/lib ({remedies.LOADER_FIRST}), and refresh "
                        "its cache",
                        (remedies.write(remedies.LOADER_FIRST, f"{active.root}/lib"), ("ldconfig",)),
                        needs=("root",),
                        verify=recheck("rocm_side_by_side.*"),
                    ),
                ),
            )
            return


def _owner(installs: list[RocmInstall], path: str) -> str | None:
    return next(
        (i.root for i in sorted(installs, key=lambda i: -len(i.root)) if path == i.root or path.startswith(i.root + "/")), None
    )
