"""Which environment variables matter to ROCm, PyTorch and the tools that install them; the others are nobody's business."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE"),
        *("CUDA_VISIBLE_DEVICES", "HCC_AMDGPU_TARGET", "AMDGPU_TARGETS", "CONTAINER", "container", "SUDO_USER", "LOADEDMODULES"),
    }
)
_PREFIXES = (
    *("ROCM_", "ROC_", "HIP_", "HIPBLASLT_", "HSA_", "ROCR_", "ROCBLAS_", "GPU_", "AMD_", "AMDGPU_", "MIOPEN_", "NCCL_", "RCCL_"),
    *("PYTORCH_", "TORCH_", "TRITON_", "FLASH_ATTENTION_", "OMP_", "SLURM_", "KUBERNETES_", "WSL_", "PIP_", "UV_"),
)
_SECRET = re.compile(r"TOKEN|PASSW|SECRET|CREDENTIAL|API_?KEY|PRIVATE|AUTH", re.IGNORECASE)


def relevant(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, without any that by its name is a secret. Set-but-empty ones are kept."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if (name in _NAMES or name.startswith(_PREFIXES) or name.lower().endswith("_proxy")) and not _SECRET.search(name)
    }
