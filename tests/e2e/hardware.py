"""The machine under a root: GPU, driver and kernel in /sys, /proc and /dev, as the host builder of the tests renders them."""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path

from tests.e2e.packages.dkms_program import FOLDERS
from tests.e2e.root import Root
from tests.hostbuilder import HostBuilder
from tests.hostbuilder.distros import Distro
from tests.hostbuilder.releases import RELEASES

BOOT_ID = "/proc/sys/kernel/random/boot_id"
_OWN_PROC = ("/proc/self/", "/proc/sys/kernel/dmesg_restrict")
"""Left as the machine has it: of the process itself, or without meaning here."""


def dkms_release(root: Root, found: Distro) -> str | None:
    """The driver release ("6.2.4") of the module that DKMS installed for the running kernel, None when there is none."""
    module = root.path(f"/lib/modules/{found.kernel}/{FOLDERS[found.family]}/amdgpu.ko")
    if not module.exists():
        return None
    link = root.path(f"/var/lib/dkms/amdgpu/kernel-{found.kernel}-x86_64", follow=False)
    version = str(link.readlink()).partition("/")[0]
    for row in RELEASES.values():
        if version.startswith(f"{row.module}-{row.module_build}"):
            return row.driver
    raise AssertionError(f"no driver release has module {version}")


def inbox_module(root: Root, found: Distro) -> bool:
    """Whether the kernel's own amdgpu.ko is installed (Ubuntu: linux-modules-extra)."""
    return root.exists(f"/lib/modules/{found.kernel}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu{found.ko}")


def builder(found: Distro, gpus: tuple[str, ...], root: Root) -> HostBuilder:
    """What the machine is like after a boot of this root: the driver that would be loaded is loaded."""
    made = HostBuilder().distro(found.id, found.version).no_rocm().no_torch()
    made = made.gpus(*gpus) if gpus else made.no_gpus()
    dkms = dkms_release(root, found)
    if dkms is not None:
        return made.driver("dkms", release=dkms)
    return made.driver("inbox", file=inbox_module(root, found))


class Hardware:
    """Puts a built host under a root, and boots it anew."""

    def __init__(self, root: Root, found: Distro, gpus: tuple[str, ...]) -> None:
        self._root, self._distro, self._gpus = root, found, gpus
        self._bound: set[str] = set()
        self.boot()

    def boot(self) -> None:
        """/sys, /proc, /dev and the kernel log as after a boot; /run and /tmp are empty, and the boot id is new."""
        root = self._root
        snapshot = builder(self._distro, self._gpus, root).snapshot()
        for folder in ("/sys", "/run", "/tmp"):
            _empty(root.path(folder))
        root.path("/run/lock").mkdir()
        files = {path: data for path, data in snapshot.files.items() if path.startswith("/sys/")}
        for path, data in files.items():
            root.write(path, data)
        for path, node in snapshot.nodes.items():
            if path.startswith("/sys/"):
                self._sys_node(path, node["type"], str(node.get("target", "")))
        for path in ("/dev/kfd", "/dev/dri"):
            shutil.rmtree(root.path(path), ignore_errors=True)
            root.path(path).unlink(missing_ok=True)
        for path, node in snapshot.nodes.items():
            if path.startswith("/dev/") and node["type"] == "char":
                # It opens, as a device that works does; nothing more can be had of it.
                root.node(path, int(node["mode"], 8), node["gid"])
        for path, data in snapshot.files.items():
            if path.startswith("/proc/") and not path.startswith(_OWN_PROC):
                self._proc(path, data)
        self._proc(BOOT_ID, f"{uuid.uuid4()}\n".encode())
        name = snapshot.meta["uname"]
        self._proc("/proc/sys/kernel/osrelease", f"{name['release']}\n".encode())
        root.write("/.e2e/state/uname", f"{name['release']}\n{name['version']}\n")
        said = {tuple(command["argv"]): command["stdout"] for command in snapshot.commands}
        if root.path("/sys/module/amdgpu/srcversion").exists():
            build = re.search(r"^srcversion: +(\S+)", root.run(["modinfo", "amdgpu"]).out, re.M)
            if build:
                root.write("/sys/module/amdgpu/srcversion", f"{build[1]}\n")
        root.write("/.e2e/state/dmesg", said.get(("dmesg",), ""))
        root.write("/.e2e/state/rocminfo", self._rocminfo())

    def _rocminfo(self) -> str:
        """What a rocminfo of a ROCm on this machine prints."""
        made = HostBuilder().distro(self._distro.id, self._distro.version)
        made = made.gpus(*self._gpus) if self._gpus else made.no_gpus()
        said: str = next(c["stdout"] for c in made.snapshot().commands if c["argv"] == ["rocminfo"])
        return said

    def _sys_node(self, path: str, kind: str, target: str) -> None:
        file = self._root.path(path, follow=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            file.unlink(missing_ok=True)
            # Absolute links of a snapshot stay inside the root when they are followed there.
            file.symlink_to(target)
        elif kind == "dir":
            file.mkdir(exist_ok=True)

    def _proc(self, path: str, data: bytes) -> None:
        """A file of /proc is covered by one of our own; one that this kernel does not have is left out."""
        root = self._root
        store = f"/.e2e/state{path}"
        if path not in self._bound:
            if not root.path(path).exists():
                return
            root.write(store, data)
            root.mount("--bind", store, path)
            self._bound.add(path)
        else:
            root.path(store).write_bytes(data)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()
