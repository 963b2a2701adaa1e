"""Reports for the tests of the renderers: a healthy workstation, a broken one, a host without a GPU."""

from __future__ import annotations

from typing import Any

from rocmdoctor.results import Evidence, Fix, Report, Result, Status

GIB = 1 << 30

KFD_ACCESS = Result(
    "permissions.kfd-access",
    "permissions",
    Status.FAIL,
    "user1 cannot open /dev/kfd",
    'The node belongs to the group render, and user1 is not in it. Every HIP program ends with "no ROCm-capable device".',
    (
        Evidence("/dev/kfd", "mode 0660 root:render, open: EACCES"),
        Evidence("groups of user1", "user1 (1000), sudo (27)"),
    ),
    (
        Fix(
            "Add user1 to the render and video groups",
            (("usermod", "-a", "-G", "render,video", "user1"),),
            ("root", "relogin"),
            True,
            ("rocmdoctor", "check", "--only", "permissions.*"),
        ),
    ),
    ("https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html",),
)
OVERRIDE = Result(
    "hsa_override.global",
    "hsa_override",
    Status.WARN,
    "HSA_OVERRIDE_GFX_VERSION is a left-over",
    "It names the GPU's own target, so it changes nothing today and misleads the next program.",
    (Evidence("HSA_OVERRIDE_GFX_VERSION", "11.0.0"),),
    (Fix("Unset it where it is set", (("unset", "HSA_OVERRIDE_GFX_VERSION"),)),),
)


def passed(id: str, title: str) -> Result:
    return Result(id, id.partition(".")[0], Status.PASS, title)


def skipped(id: str, detail: str, because_of: str | None = None) -> Result:
    return Result(id, id.partition(".")[0], Status.SKIP, "The healthy state", detail, because_of=because_of)


def gpu(**changes: Any) -> dict[str, Any]:
    return {
        "pci_address": "0000:03:00.0",
        "pci_id": "1002:744c",
        "gfx": "gfx1100",
        "gfx_source": "kfd",
        "product": "Radeon RX 7900 XTX",
        "class": "radeon",
        "driver": "amdgpu",
        "kfd_node": 1,
        "vram_bytes": 25753026560,
        **changes,
    }


def host(**changes: Any) -> dict[str, Any]:
    """The report's `host` of a workstation with an RX 7900 XTX."""
    return {
        "os": {"id": "ubuntu", "version_id": "22.04", "name": "Ubuntu 22.04.4 LTS", "codename": "jammy"},
        "kernel": "6.8.0-45-generic",
        "machine": "x86_64",
        "environment": "bare-metal",
        "gpus": [gpu()],
        "rocm": [{"version": "6.2.0", "root": "/opt/rocm-6.2.0", "origin": "amd-package", "active": True}],
        "amdgpu": {"loaded": True, "kind": "dkms", "version": "6.8.5", "release": "6.2"},
        "python": [
            {
                "executable": "/opt/venv/bin/python",
                "version": "3.10.12",
                "torch": {
                    "version": "2.5.1+rocm6.2",
                    "build": "rocm",
                    "hip": "6.2.41133-dd7f95766",
                    "rocm": None,
                    "gfx": ["gfx1100", "gfx90a"],
                },
            }
        ],
        **changes,
    }


def report(*results: Result, notices: tuple[str, ...] = (), **changes: Any) -> Report:
    return Report(host(**changes), results, "2026-11-30", "0.1.0", notices)


HEALTHY = report(passed("kfd_node.present", "/dev/kfd exists"), passed("permissions.kfd-access", "The user can open /dev/kfd"))
BROKEN = report(
    passed("kfd_node.present", "/dev/kfd exists"),
    KFD_ACCESS,
    OVERRIDE,
    skipped("rocminfo.gfx", "not judged: permissions.kfd-access failed", "permissions.kfd-access"),
    skipped("torch_arch.gfx", "not judged: permissions.kfd-access failed", "permissions.kfd-access"),
    skipped("gpu_health.kernel-log", "unknown: dmesg is not readable"),
    skipped("wsl.librocdxg", "does not apply to a host of the kind bare-metal"),
)
NO_GPU = report(
    Result(
        "gpu_present.pci",
        "gpu_present",
        Status.FAIL,
        "There is no AMD GPU: the PCI bus has no device of vendor 1002",
    ),
    skipped("kfd_node.present", "not judged: gpu_present.pci failed", "gpu_present.pci"),
    gpus=[],
    rocm=[],
    python=[],
    amdgpu={"loaded": False, "kind": None, "version": None, "release": None},
)
