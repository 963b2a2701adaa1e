"""What the kernel log says of the GPU's health, and what the management tools say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import log_evidence, recheck, said
from rocmdoctor.engine import check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix

HARDWARE = "|".join(
    (
        r"uncorrectable hardware errors? ?(\(|detected)",
        r"(amdgpu|kfd).*poison.*(consumption|creation)",
        r"(amdgpu|kfd).*(fell|fallen) off the bus",
        r"amdgpu .*PCIe Bus Error: severity=(Fatal|Uncorrect)",
        r"(amdgpu|\[drm).*RAS.*(uncorrectable|fatal)",
    )
)
"""Lines of the GPU's own driver: a disk or a network card has PCIe errors too, and memory of the host has poison."""
WEDGED = "|".join(
    (
        r"GPU reset\(\d+\) failed",
        r"GPU reset end with ret = -",
        r"Failed to (disable|initialize) .*(gfx|SMU)",
        r"MES failed to respond to msg",
        r"MES might be in unrecoverable state",
        r"asic reset failed",
        r"GPU Recovery Failed",
        r"GPU mode\d reset failed",
        r"device lost from bus",
        r"SMU: I'm not done with your previous command",
        r"SMU: No response msg_reg",
        r"cp might be in an unrecoverable state",
    )
)
HANGS = "|".join(
    (
        r"ring \S+ timeout",
        r"ring \S+ test failed",
        r"Waiting for fences timed out",
        r"Queue preemption failed",
        r"HWS hang",
        r"qcm fence wait loop timeout",
        r"Failed to evict process queues",
        r"scheduler .* is not ready",
    )
)
FAULTS = r"\[gfxhub\].*page fault|VM_L2_PROTECTION_FAULT_STATUS"
HOT = r"amdgpu.*(over temperature range|hw ctf|sw ctf)"
RECOVERED = r"GPU reset\(\d+\) succeeded|GPU reset succeeded"
LOST = r"GPU reset\(\d+\) failed|MES might be in unrecoverable"


@check(
    "gpu_health.hardware",
    title="The kernel log shows no hardware error of the GPU",
    after=["gpu_present.device"],
    places=("bare-metal", "vm", "container"),
)
def hardware(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Uncorrectable RAS errors, a lost PCIe link: the card, its slot or its power. Software cannot mend these; what hangs above
    is a consequence."""
    lines = log_evidence(facts, HARDWARE, 4, ("uncorrect", "poison", "off the bus", "severity=fatal", "fatal"))
    if lines:
        yield Finding(
            Status.FAIL,
            "The kernel reports an uncorrectable hardware error of the GPU",
            "The card, its slot or its power supply fails. Programs above it hang or crash because of it; reinstalling "
            "software does not help.",
            lines,
            (
                Fix(
                    "Power the machine off completely (not only a reboot) and on again; watch the log afterwards",
                    verify=recheck("gpu_health.*"),
                ),
                Fix("If it comes back: reseat the card, try another slot and power cable; then it is a case for RMA"),
            ),
        )


@check(
    "gpu_health.temperature",
    title="The GPU did not switch off for heat",
    after=["gpu_health.hardware"],
    places=("bare-metal", "vm", "container"),
)
def temperature(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The driver shuts a GPU down that passes its critical temperature (CTF, "over temperature range"): cooling, or a limit that
    was raised. amdgpu_pm's thermal code writes these lines."""
    lines = log_evidence(facts, HOT, 3, ("temperature range", "ctf"))
    if lines:
        yield Finding(
            Status.WARN,
            "The kernel log shows that the GPU got too hot",
            "It passed its critical temperature, at which driver or card shut it down. No software of ROCm causes or cures that.",
            lines,
            (
                Fix(
                    "Look at fans, dust and air flow (passive Instinct cards need the server's own), and take overclocking back",
                    verify=recheck("gpu_health.*"),
                ),
            ),
        )


@check(
    "gpu_health.responding",
    title="The GPU answers and its resets work",
    after=["gpu_health.hardware", "amdgpu_module.bound"],
    places=("bare-metal", "vm", "container"),
)
def responding(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A scheduler (MES) or ring that stopped answering and a reset that failed leave a GPU that only a power cycle brings
    back. A hang that the driver recovered from is a warning."""
    wedged = log_evidence(facts, WEDGED, 4, ("reset", "mes ", "recovery", "device lost", "failed to", "smu: ", "unrecoverable"))
    words = ("timeout", "timed out", "test failed", "preemption", "hws hang", "not ready", "failed to evict")
    hangs = log_evidence(facts, HANGS, 3, words)
    if wedged and (said(facts, LOST) or not said(facts, RECOVERED)):
        yield Finding(
            Status.FAIL,
            "The GPU stopped answering and its reset did not bring it back",
            "The driver's scheduler got no answer from the GPU. Everything that uses it now hangs or fails, whatever the "
            "set-up is.",
            wedged,
            (
                Fix(
                    "Reboot; if the GPU is not there afterwards, power the machine off and on",
                    (("systemctl", "reboot"),),
                    needs=("root",),
                    verify=recheck("gpu_health.*"),
                ),
                Fix(
                    "If it happens again, use a newer kernel and linux-firmware, and look for an override or overclocking",
                    needs=("root", "network", "reboot"),
                ),
            ),
        )
    elif hangs := hangs or wedged[:3]:  # it was wedged, and its reset brought it back
        yield Finding(
            Status.WARN,
            "The kernel log shows that the GPU hung",
            "A queue or ring timed out since boot. An override for a smaller GPU, a kernel or firmware fault, or the "
            "program itself can cause that.",
            hangs,
            (Fix("Newer kernel and firmware are the usual remedy; note which program ran"),),
        )


@check(
    "gpu_health.page-faults",
    title="No program caused GPU page faults",
    after=["gpu_health.responding"],
    places=("bare-metal", "vm", "container"),
)
def page_faults(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """GPU page faults come from a program, or from a driver that does not fit the run time; they are a hint and not a verdict."""
    lines = log_evidence(facts, FAULTS, 3, ("page fault", "protection_fault"))
    if lines:
        yield Finding(
            Status.WARN,
            "The kernel log shows GPU page faults",
            "A program touched memory that the GPU does not map. Repeated faults with every program speak for a driver or "
            "firmware that does not fit.",
            lines,
            (Fix("Note which program caused it; compare driver, firmware and ROCm with AMD's list"),),
        )


@check(
    "smi_tools.work", title="The management tools work", after=["amdgpu_module.bound"], places=("bare-metal", "vm", "container")
)
def smi_work(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Runs amd-smi and rocm-smi. Their errors are mostly a Python package or library of another ROCm. They read sysfs, so
    that they work proves nothing of compute access; that one is not installed is no fault (rules.md 23)."""
    for smi in (known(lambda: facts.amd_smi, None), known(lambda: facts.rocm_smi, None)):
        if smi is None or not smi.found or smi.ok:
            continue
        text = smi.error_text
        broken = [
            w
            for w in (
                "ImportError",
                "ModuleNotFoundError",
                "AttributeError",
                "undefined symbol",
                "OSError",
                "cannot open shared object",
                "SyntaxError",
            )
            if w in text
        ]
        if not broken:
            continue
        roots = [i for i in facts.rocm.installs if i.has_hsa or i.has_hip or i.tools]
        if own := _of_its_python(facts, matrix, smi.tool, text):
            yield own
            return
        yield Finding(
            Status.FAIL,
            f"{smi.tool} stops with an error of its own: it picks parts of another ROCm",
            f"{smi.tool} and the amdsmi Python package and library that it loads must be of one release."
            + (
                f" Here are {len(roots)} ROCm installs ({', '.join(i.version or i.root for i in roots)})."
                if len(roots) > 1
                else ""
            ),
            tuple(Evidence(smi.tool, line) for line in text.strip().splitlines()[-3:]),
            (_one_smi(facts, smi.tool, text),),
        )
        return


def _one_smi(facts: Facts, tool: str, text: str) -> Fix:
    """Let the tool, its Python package and its library be of the active ROCm. Where the library is of another one, the loader is
    led first; a package that pip put there is replaced (beside the distribution's, which PEP 668 guards)."""
    active = facts.rocm.active
    root = active.root if active else "/opt/rocm"
    library = re.search(r"(/opt/rocm[\w.-]*)/lib\w*/libamd_smi\.so", text)
    loader = (remedies.write(remedies.LOADER_FIRST, f"{root}/lib"), ("ldconfig",)) if library and library.group(1) != root else ()
    from_pip = "site-packages/amdsmi" in text or "dist-packages/amdsmi" in text
    pip = ("python3", "-m", "pip")
    package = (
        (*pip, "uninstall", "-y", "--break-system-packages", "amdsmi"),
        (*pip, "install", "--break-system-packages", f"{root}/share/amd_smi"),
    )
    return Fix(
        (f"Let the loader look into {root}/lib first, where amdsmi has its library ({remedies.LOADER_FIRST})" if loader else "")
        + (", and " if loader and from_pip else "")
        + ("" if loader and not from_pip else "replace the amdsmi Python package by the one of this ROCm (share/amd_smi)"),
        (*loader, *(package if from_pip or not loader else ())),
        needs=("root",),
        verify=(tool, "list"),
    )


def _of_its_python(facts: Facts, matrix: Matrix, tool: str, text: str) -> Finding | None:
    """An error of the Python that runs the tool, and not of another ROCm: too old a Python, or a module that it imports."""
    evidence = tuple(Evidence(tool, line) for line in text.strip().splitlines()[-3:])
    module = re.search(r"No module named '?([\w.]+)", text)
    name = module.group(1).partition(".")[0] if module else ""
    if name and name not in ("amdsmi", "amd_smi", "rsmiBindings", "amdsmi_cli"):
        package = matrix.distribution_packages.python_modules.get(name, {})
        wanted = package.get(remedies.manager(facts) or "", f"python3-{name}")
        return Finding(
            Status.FAIL,
            f"{tool} does not start: its Python has no module {name}",
            "The tool runs with the first python3 on PATH, and imports a package that this one does not have.",
            evidence,
            (
                Fix(
                    f"Install {wanted} for the system's python3, and run {tool} outside of conda and virtual environments",
                    remedies.install(facts, wanted),
                    needs=("root", "network"),
                    verify=(tool, "list"),
                ),
            ),
        )
    if "SyntaxError" in text:
        return Finding(
            Status.FAIL,
            f"{tool} does not start: the python3 that runs it is too old",
            "Its Python code uses syntax that this python3 does not know.",
            evidence,
            (
                Fix(
                    f"Let a newer Python come first on PATH when {tool} runs (python3 --version tells which one does), with the "
                    "amdsmi package of this ROCm installed for it",
                    (("python3", "--version"), ("python3", "-m", "pip", "install", "/opt/rocm/share/amd_smi")),
                    needs=("root",),
                    verify=(tool, "list"),
                ),
            ),
        )
    return None
