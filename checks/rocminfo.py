"""The run time's own view: does rocminfo run, and does it agree with KFD?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix

EXPLAINED = ("not-loaded", "kfd-missing", "permission", "kfd-open")
"""Errors that checks of the driver, the node and the permissions explain better."""


@check(
    "rocminfo.runs",
    title="rocminfo runs and lists the GPU",
    after=[
        "amdgpu_module.bound",
        "pcie_atomics.accepted",
        "kfd_node.present",
        "kfd_node.opens",
        "permissions.kfd-access",
        "permissions.render-access",
        "container.devices",
        "container.nodes-open",
        "wsl.runtime",
        "wsl.loader-cache",
        "rocm_install.libraries",
        "hsa_override.valid",
        "visibility_env.gpus-left",
        "mixed_gpu.gfx803",
        "ld_path.symbols",
        "gpu_health.hardware",
        "gpu_health.responding",
    ],
)
def runs(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Runs rocminfo within a time limit. A hang or crash is a finding with the last lines. rocminfo is the last of the
    witnesses: a HSA_OVERRIDE_GFX_VERSION changes what it says (rules.md 1)."""
    info = facts.rocminfo
    if not info.found:
        raise NotApplicable("rocminfo is not installed (normal for wheel-only installs)")
    if info.error is None and (info.gpus or facts.place.kind == "wsl"):
        return
    if info.error in EXPLAINED and facts.access.kfd.open != "ok":
        raise NotApplicable("rocminfo says what the checks of driver, node and permission judge")
    text = info.error_text or "no GPU agent in its output"
    last = text.strip().splitlines()[-3:] or ["no output"]
    if info.error == "timeout":
        title, detail = (
            "rocminfo hangs",
            "The run time waits for the driver: typical for a GPU that has stopped answering (see the kernel log).",
        )
        fix = Fix(
            "Look for amdgpu errors in the kernel log; a reboot clears a wedged GPU",
            needs=("reboot",),
            verify=recheck("rocminfo.*"),
        )
    elif info.error in ("library-missing", "symbol-missing"):
        title, detail = (
            "rocminfo cannot start: the loader does not find what it needs",
            "A library of another ROCm (or none) is picked.",
        )
        fix = Fix(
            "Reinstall the ROCm run time, and take other ROCm folders off LD_LIBRARY_PATH",
            needs=("root", "network"),
            verify=recheck("rocminfo.*"),
        )
    elif info.error is None or info.error == "no-gpu-agent":
        title, detail = (
            "rocminfo runs and lists no GPU",
            "Driver, node and permission are in order, and the run time still takes none of the GPUs.",
        )
        fix = Fix(
            "Compare the GPU with the list of this ROCm release (rocmdoctor matrix query), and look at HSA_*, ROCR_* variables",
            verify=recheck("rocminfo.*"),
        )
    else:
        title, detail = "rocminfo fails", "Driver, node and permission are in order; the run time itself reports an error."
        fix = Fix(
            "Read the kernel log for amdgpu and kfd errors of the same time; a reboot clears a GPU that was left in a bad state",
            needs=("reboot",),
            verify=recheck("rocminfo.*"),
        )
    yield Finding(Status.FAIL, title, detail, tuple(Evidence("rocminfo", line) for line in last), (fix,))


@check("rocminfo.gfx-agrees", title="rocminfo and KFD name the same gfx targets", after=["rocminfo.runs"])
def gfx_agrees(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares rocminfo's targets with KFD's. A difference exposes an override that is in force (sysfs is not touched by it);
    without a variable that explains it, the run time takes the GPU for another one."""
    nodes = {n.id: n for n in known(lambda: facts.kfd.gpus, ())}
    info = facts.rocminfo
    if not nodes or not info.gpus:
        raise NotApplicable("there is nothing to compare")
    if facts.environment.overrides:
        raise NotApplicable("HSA_OVERRIDE_GFX_VERSION explains what rocminfo says; it is judged by the checks of hsa_override")
    for agent in info.gpus:
        node = nodes.get(agent.node) if agent.node is not None else None
        if node and node.gfx and agent.gfx and node.gfx != agent.gfx:
            yield Finding(
                Status.WARN,
                f"rocminfo says {agent.gfx} for the GPU that KFD calls {node.gfx}",
                "No override is set in this environment. Either the shell that ran rocminfo had one, or the run time is "
                "too old for this GPU.",
                (
                    Evidence("rocminfo", f"node {agent.node}: {agent.gfx}"),
                    Evidence(f"/sys/class/kfd/kfd/topology/nodes/{node.id}", f"gfx_target_version {node.gfx_target_version}"),
                ),
                (Fix("Look for HSA_OVERRIDE_GFX_VERSION in start-up files and services; update ROCm if there is none"),),
            )
