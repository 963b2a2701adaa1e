"""The kernel driver: what works is kept, the kernel's own where it is enough, AMD's only where it is wanted (rules 8-11)."""

from __future__ import annotations

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.matrix.recipes import Recipe
from rocmdoctor.plan.draft import Draft


def decide(draft: Draft, recipe: Recipe) -> bool:
    """Whether amdgpu-dkms is part of the plan; refuses where it must not be."""
    asked = draft.options.driver
    wanted, reason = (asked == "dkms", f"--driver {asked}") if asked != "auto" else _automatic(draft, recipe)
    draft.choices["driver"] = {"asked": asked, "chosen": (recipe.driver or "distribution") if wanted else None, "reason": reason}
    if asked == "auto":
        draft.note(f"driver: {reason}")
    if not wanted:
        return False
    if draft.place == "container":
        draft.refuse(
            "driver-in-container", "a container uses the driver of its host", "install the driver on the host; --driver none"
        )
    if draft.place == "wsl":
        draft.refuse("driver-in-wsl", "WSL has no amdgpu: Windows drives the GPU (/dev/dxg)", "--driver none")
    if draft.gpus and all(gpu.family == "ryzen" for gpu in draft.gpus):
        draft.doubt("driver-on-ryzen", "Ryzen APUs must use the kernel's own driver, AMD says", "--driver inbox")
    if not recipe.packages.driver:
        draft.refuse("no-driver", f"AMD has no driver packages for {recipe.os_id} {recipe.os_version}", "--driver inbox")
    kernel = draft.facts.kernel.release
    failure = draft.matrix.known_dkms_failure(recipe.driver, kernel) if recipe.driver else None
    if failure is not None:
        draft.doubt("driver-build", failure.reason, "--driver inbox keeps the kernel's own driver")
    if known(lambda: draft.facts.secure_boot.enabled, None):
        draft.note(
            "Secure Boot is on: the module is signed with the machine owner key, which must be enrolled (mokutil) before a reboot"
        )
    return True


def _automatic(draft: Draft, recipe: Recipe) -> tuple[bool, str]:
    if draft.place in ("container", "wsl"):
        return False, f"none, a {draft.place} uses that of its host"
    if not draft.gpus:
        return False, "none, there is no AMD GPU to drive"
    if all(gpu.family == "ryzen" for gpu in draft.gpus):
        return False, "the kernel's own, as AMD asks for on Ryzen"
    module = known(lambda: draft.facts.amdgpu, None)
    served = all(gpu.kfd for gpu in draft.gpus)
    if module is not None and module.loaded and module.kind == "dkms":
        release = known(lambda: draft.facts.driver_release, None)
        if release is None:
            return False, "the packaged one that is loaded is kept; its release is unknown"
        if versions.key(release) == versions.key(recipe.driver or ""):
            return True, f"{release} is installed"
        answers = [draft.matrix.driver(recipe.rocm, release, family=gpu.family) for gpu in draft.gpus]
        if all(answer.ok for answer in answers):
            return False, f"{release} is loaded and carries ROCm {recipe.rocm}: {answers[0].reason}"
        return bool(recipe.driver), f"{recipe.driver} replaces {release}, which does not carry ROCm {recipe.rocm}"
    if module is not None and module.loaded and served:
        return False, "the kernel's own works (KFD serves every GPU) and is kept; --driver dkms installs AMD's"
    if not recipe.packages.driver:
        return False, "the kernel's own: AMD has no driver packages for this system"
    failure = draft.matrix.known_dkms_failure(recipe.driver, draft.facts.kernel.release) if recipe.driver else None
    if failure is not None:
        return False, f"the kernel's own: {failure.reason}"
    return True, f"AMD's {recipe.driver or 'driver'}: the kernel's own does not serve the GPU"
