"""The rows of the stack with what the checks of each layer say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rocmdoctor import engine
from rocmdoctor.results import Result, Status
from rocmdoctor.stack import DIFFERS, FITS, MISSING, UNKNOWN, Layer

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.matrix import Matrix

CHECKS: dict[str, tuple[str, ...]] = {
    "GPU": ("gpu_present.*", "gpu_support.release", "mixed_gpu.*", "pci_bar.*", "pcie_atomics.*"),
    "Firmware": ("firmware.*",),
    "Kernel": ("kernel.knows-gpu", "kernel.apu-pair", "cmdline.*"),
    "Driver": ("amdgpu_module.*", "dkms.*", "secure_boot.*", "torch_rocm_match.driver", "wsl.*"),
    "KFD": ("kfd_node.*", "permissions.*", "container.devices"),
    "ROCm": ("rocm_install.present", "rocm_install.run-time", "rocm_side_by_side.*", "packages.*", "os_support.*"),
    "hipcc": ("rocm_install.compiler", "rocm_install.build-variables", "rocm_install.build-targets"),
    "LLVM": ("rocm_install.cxx-headers",),
    "rocminfo": ("rocminfo.*",),
    "amd-smi": ("smi_tools.*",),
    "torch": ("torch_build.rocm", "torch_arch.*", "rocm_install.libraries", "ld_path.wheel"),
    "torchvision": ("torch_build.companions",),
    "torchaudio": ("torch_build.companions",),
    "triton": ("triton.*",),
    "jax": ("python.jax",),
    "jax plug-in": ("python.jax",),
    "tensorflow": ("python.tensorflow",),
    "onnxruntime": ("python.onnxruntime",),
    "vllm": ("python.vllm",),
    "bitsandbytes": ("python.bitsandbytes",),
    "flash-attn": ("python.flash-attn",),
}
"""Layer to the checks (globs) that judge it."""


def judge(facts: Facts, matrix: Matrix) -> tuple[Result, ...]:
    """The checks that some layer asks, over the same facts."""
    checks = engine.all_checks()
    patterns = tuple(p for wanted in CHECKS.values() for p in wanted)
    selected = [c for c in checks if not c.deep and _matches(c.id, patterns)]
    return engine.run(checks, selected, facts, matrix)


def with_checks(rows: Iterable[Layer], every: Sequence[Result]) -> Iterator[Layer]:
    """Each row with the verdict of its layer's checks: a finding wins over what versions said, a pass settles an unknown."""
    told: set[str] = set()
    by_id: dict[str, list[Result]] = {}
    for result in every:
        by_id.setdefault(result.id, []).append(result)
    for row in rows:
        patterns = CHECKS.get(row.name, ())
        results = [r for id in by_id if patterns and _matches(id, patterns) for r in by_id[id]]
        if row.name in ("torchvision", "torchaudio"):
            results = [r for r in results if r.title.startswith(row.name) or r.status is not Status.WARN]
        wrong = [r for r in results if r.status in (Status.FAIL, Status.WARN)]
        if row.fit == MISSING and row.group in ("tools", "frameworks"):
            yield row
        elif wrong and row.name not in told:
            first = min(wrong, key=lambda r: r.status is not Status.FAIL)
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            told.add(row.name)
            yield replace(row, fit=row.fit if row.fit == MISSING else DIFFERS, why=first.title + more, check=first.id)
        elif row.fit == UNKNOWN and patterns and not row.why:
            yield _settled(row, results)
        else:
            yield row


def _settled(row: Layer, results: Sequence[Result]) -> Layer:
    passed = [r for r in results if r.status is Status.PASS]
    skipped = next((r for r in results if r.status in (Status.SKIP, Status.ERROR)), None)
    blocked = next((r for r in results if r.because_of), None)
    if passed and blocked is None:
        return replace(row, fit=FITS, why=passed[-1].title)
    reason = blocked or skipped
    return replace(row, why=reason.detail if reason else "nothing is known of it")


@lru_cache(maxsize=4096)  # the same pairs for every host of a fleet
def _matches(id: str, patterns: tuple[str, ...]) -> bool:
    return any(id == p or (p.endswith("*") and id.startswith(p[:-1])) for p in patterns)
