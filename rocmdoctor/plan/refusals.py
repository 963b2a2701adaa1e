"""What a plan refuses before anything is changed, as far as the host tells it without being changed."""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.facts.packages import Package
from rocmdoctor.host import UnknownFact
from rocmdoctor.host.target import Target
from rocmdoctor.matrix.recipes import Recipe
from rocmdoctor.plan.draft import Draft

NOTHING_FITS = 4 << 30
"""Bytes: less than this is too little for any of ROCm. What is really needed, the package manager says before it begins."""
BOOT_FREE = 100 << 20
"""Bytes: an initramfs with amdgpu's firmware."""
PID_FILES = {
    "apt": (),
    "dnf": ("/var/cache/dnf/metadata_lock.pid", "/var/lib/dnf/rpmdb_lock.pid", "/run/yum.pid"),
    "tdnf": ("/var/run/.tdnf-instance-lockfile",),
    "zypper": ("/run/zypp.pid",),
}
LOCKS = {
    "apt": ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock"),
    "dnf": ("/var/lib/rpm/.rpm.lock", "/usr/lib/sysimage/rpm/.rpm.lock"),
    "tdnf": ("/var/lib/rpm/.rpm.lock",),
    "zypper": ("/usr/lib/sysimage/rpm/.rpm.lock", "/var/lib/rpm/.rpm.lock"),
}


def place(draft: Draft) -> None:
    """Proxmox, machines of another kind."""
    release = draft.facts.kernel.release
    packages = draft.packages
    if (release.endswith("-pve") and draft.place != "container") or (packages and packages.has("pve-manager")):
        draft.refuse(
            "proxmox",
            "this is a Proxmox VE host: AMD's driver and firmware packages would remove its kernel",
            "pass the GPU through to a virtual machine or container, and install ROCm there",
        )
    machine = draft.facts.kernel.machine
    if machine not in ("x86_64", "amd64"):
        draft.refuse("machine", f"AMD has ROCm packages for x86_64 only, this machine is {machine}")


def disk(draft: Draft, *, driver: bool) -> None:
    """Too little room for anything; and /boot, where the driver's firmware goes into every initramfs."""
    for path in ("/opt", "/usr", "/"):
        room = _room(draft, path)
        if room is not None and room < NOTHING_FITS:
            need = f"{NOTHING_FITS >> 30} GiB"
            draft.refuse("disk", f"{path} has {room >> 20} MiB free, and ROCm takes more than {need}", f"make room on {path}")
        if room is not None and path != "/usr":
            break
    boot = _room(draft, "/boot") if driver else None
    if boot is not None and boot < BOOT_FREE:
        draft.refuse(
            "disk-boot",
            f"/boot has {boot >> 20} MiB free: the initramfs with the driver's firmware does not fit",
            "remove old kernels",
        )


def _room(draft: Draft, path: str) -> int | None:
    found = known(lambda: draft.facts.host.filesystem(path), None)
    return None if found is None else found.free


def installed(draft: Draft, recipe: Recipe) -> None:
    """What is installed and does not go with what is wanted: the other packaging world, a newer release, another naming."""
    packages = draft.packages
    if packages is None:
        return
    classic = [p for p in packages.rocm if not p.is_therock]
    rock = [p for p in packages.rocm if p.is_therock]
    if recipe.line == "therock" and classic:
        old = f"ROCm {_newest(classic)} is installed from the classic packages ({classic[0].name})"
        draft.refuse(
            "other-world",
            f"{old}. {draft.matrix.repository_paths.two_lines.rstrip(chr(46))}",
            "`rocmdoctor uninstall` removes it",
        )
    elif recipe.line == "classic" and rock:
        old = f"ROCm {_newest(rock)} is installed from amdrocm packages ({rock[0].name})"
        draft.refuse(
            "other-world",
            f"{old}, which do not go with those of {recipe.rocm}",
            "`rocmdoctor uninstall` removes it",
        )
    if recipe.line != "classic":
        return
    several = [p for p in classic if p.is_side_by_side]
    single = [p for p in classic if p.name in ("rocm", "rocm-core")]
    if draft.options.side_by_side and single:
        draft.refuse(
            "single-version",
            f"ROCm {_newest(single)} is installed from unversioned packages, which do not go with side-by-side ones",
            "`rocmdoctor uninstall` removes it",
        )
    if not draft.options.side_by_side and several:
        draft.refuse(
            "side-by-side",
            f"ROCm is installed from side-by-side packages ({several[0].name}); the unversioned ones do not go with them",
            "--side-by-side adds another release, `rocmdoctor uninstall` removes what is there",
        )
    newest = _newest(single)
    if not draft.options.side_by_side and newest and versions.key(newest) > versions.key(recipe.rocm):
        draft.refuse(
            "downgrade",
            f"ROCm {newest} is installed, which is newer than {recipe.rocm}",
            "`rocmdoctor uninstall` removes it first",
        )


def _newest(packages: list[Package]) -> str:
    return max((p.rocm_release or "" for p in packages), key=versions.key, default="")


# on the machine that is to be changed ----------------------------------------------------------------------------


def busy(target: Target, manager: str) -> Iterator[str]:
    """Other package managers that are at work now, each as a sentence."""
    host = target.look()
    for path in PID_FILES.get(manager, ()):
        try:
            pid = (host.read(path, 64) or "").strip()
            alive = pid.isdigit() and host.node(f"/proc/{pid}") is not None
            name = (host.read(f"/proc/{pid}/comm", 64) or "").strip() if alive else ""
        except UnknownFact:
            continue
        if alive and name.startswith(("dnf", "yum", "zypp", "y2", "packagekit", "tdnf", "python")):
            yield f"{name} (process {pid}) is running"
    for path in LOCKS.get(manager, ()):
        holder = target.lock_holder(path)
        if holder is not None:
            name = (known(lambda holder=holder: host.read(f"/proc/{holder}/comm", 64), None) or "another program").strip()  # type: ignore[misc]
            yield f"{name} (process {holder}) holds {path}"
