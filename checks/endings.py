"""How the programs of deep checks end, in words: what their last lines tell, and what must hold before they are run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocmdoctor.results import Evidence, Fix

if TYPE_CHECKING:
    from rocmdoctor.facts.deep import Ending

Sign = tuple[str, str, str]
"""(kind, pattern, what it means)."""

OPENS = (
    *("amdgpu_module.bound", "pcie_atomics.accepted", "kfd_node.present", "kfd_node.opens", "permissions.kfd-access"),
    *("permissions.render-access", "container.devices", "container.nodes-open", "wsl.runtime", "wsl.loader-cache"),
    "hsa_override.valid",
    *("visibility_env.gpus-left", "mixed_gpu.gfx803", "gpu_health.hardware", "gpu_health.responding", "rocminfo.runs"),
)
"""What must hold before a program can use the GPU."""

SIGNS: tuple[Sign, ...] = (
    (
        "no-code",
        r"invalid device function|no kernel image|NoBinaryForGpu|No binary for GPU|InvalidDeviceFunction|TensileLibrary",
        "What was run has no code for this GPU's target.",
    ),
    ("memory", r"out of memory|OutOfMemory", "Other programs hold the GPU's memory."),
    (
        "fault",
        r"Memory access fault|illegal memory access|IllegalAddress|Page not present",
        "The GPU touched memory that is not mapped: user space and driver do not fit each other, an override makes the run time "
        "take the GPU for another one, or the hardware is at fault.",
    ),
    ("library", r"cannot open shared object file", "The loader does not find a library that it is linked to."),
    (
        "symbol",
        r"undefined symbol|symbol lookup error|version `[^']{1,80}' not found",
        "A library of another release is loaded in the place of its own, or the system is older than the one it was built on.",
    ),
    ("module", r"No module named", "A Python package that it needs is not installed in this environment."),
)
"""What the last lines of a program, or the text of an exception, tell."""


def sign(lines: Iterable[str], table: tuple[Sign, ...] = SIGNS) -> tuple[str, str]:
    """(kind, meaning) of the first entry that the lines match, ("", "") when they tell nothing."""
    text = "\n".join(lines)
    return next(((kind, meaning) for kind, pattern, meaning in table if re.search(pattern, text)), ("", ""))


def how(ending: Ending) -> str:
    """The way to end as a verb after the program's name: "crashes (SIGSEGV)"."""
    words = {"time-out": "hangs (stopped after {})", "signal": "crashes ({})", "not-started": "does not start ({})"}
    return words.get(ending.how, "ends early ({})").format(ending.what)


def meaning(ending: Ending, otherwise: str) -> str:
    """What the way to end tells when no line does."""
    if ending.what == "SIGKILL":
        return "The kernel's out-of-memory killer is what usually does this."
    if ending.how == "time-out":
        return "A program waits like this for a GPU that has stopped answering, for a lock, or for libraries on a very slow disk."
    return otherwise


def evidence_of(source: str, *groups: Iterable[str]) -> tuple[Evidence, ...]:
    """Each line once."""
    lines = tuple(dict.fromkeys(line for group in groups for line in group))
    return tuple(Evidence(source, line) for line in lines) or (Evidence(source, "no output"),)


def again(*ids: str) -> tuple[str, ...]:
    """The command that shows whether a remedy worked."""
    return ("rocmdoctor", "check", "--deep", "--only", ",".join(ids))


def kernel_log(*ids: str) -> Fix:
    return Fix(
        "Read the amdgpu and kfd lines of the kernel log of the same time; a reboot clears a GPU that hangs",
        (("dmesg", "--level=err,warn"),),
        needs=("root",),
        verify=again(*ids),
    )
