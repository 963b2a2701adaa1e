"""Faults of hardware, kernel, driver, device nodes and groups. Each is a real failure that public reports describe."""

from __future__ import annotations

from typing import TypeVar

from tests.hostbuilder.builder import Builder
from tests.hostbuilder.driver_files import firmware_names
from tests.hostbuilder.faults import fault

B = TypeVar("B", bound="KernelFaults")

_MAKE_ERRORS = (
    "make[1]: Entering directory '/usr/src/linux-headers'",
    "/var/lib/dkms/amdgpu/build/amd/amdkcl/kcl_drm_fb.c:41:6: error: conflicting types for 'drm_fb_helper_fini'",
    "make[3]: *** [scripts/Makefile.build:243: /var/lib/dkms/amdgpu/build/amd/amdkcl/kcl_drm_fb.o] Error 1",
    "make[1]: *** [Makefile:240: __sub-make] Error 2",
)


class KernelFaults(Builder):
    """From the PCI bus up to the device nodes."""

    __slots__ = ()

    # the driver ------------------------------------------------------------------------------------------------

    @fault("amdgpu_module")
    def fault_no_driver(self: B) -> B:
        """Everything is installed, but the module is not loaded and nothing says why."""
        return self.change_driver(loaded=False)

    @fault("amdgpu_module", "cmdline")
    def fault_blacklisted(self: B, where: str = "modprobe.d", *, loaded: bool = False) -> B:
        """`where`: modprobe.d | install (modprobe.d's `install amdgpu /bin/false`) | cmdline | module_blacklist.

        With `loaded` it is blacklisted and loaded all the same, as AMD documents for some MI300X servers: healthy.
        """
        made: B = self
        if where in ("modprobe.d", "install"):
            line = "blacklist amdgpu" if where == "modprobe.d" else "install amdgpu /bin/false"
            made = self.file("/etc/modprobe.d/blacklist-amdgpu.conf", f"# loaded later by the administrator\n{line}\n")
        elif not loaded:
            return self.cmdline(f"{'modprobe.blacklist' if where == 'cmdline' else where}=amdgpu")
        return made if loaded else made.change_driver(loaded=False)

    @fault("cmdline", "amdgpu_module")
    def fault_nomodeset(self: B) -> B:
        return self.cmdline("nomodeset")

    @fault("dkms", "packages")
    def fault_dkms_failed(self: B, *, inbox: bool = True) -> B:
        """The build for the running kernel failed. With `inbox` the kernel's own module serves instead, without it none is
        loaded."""
        changes = {"state": "added", "package_state": "half-configured", "make_log": _MAKE_ERRORS, "loaded": inbox}
        return self.driver("dkms", **changes)

    @fault("dkms", status="warn")
    def fault_dkms_other_kernel(self: B, kernel: str = "6.8.0-38-generic", *, inbox: bool = True) -> B:
        """DKMS has a module, but for another kernel than the running one."""
        return self.driver("dkms", built_for=(kernel,), loaded=inbox)

    @fault("dkms", "packages", "kernel", status="warn")
    def fault_no_headers(self: B) -> B:
        """No headers for the running kernel: DKMS skipped the build, and apt ended well all the same."""
        release = self.resolved.kernel
        made = self.driver("dkms", state="added").no_package(f"linux-headers-{release}").no_package("kernel-devel")
        made = made.no_package("kernel-devel-matched").no_package("kernel-headers")
        return made.remove(f"/usr/src/linux-headers-{release}", f"/usr/src/kernels/{release}", f"/lib/modules/{release}/build")

    @fault("secure_boot")
    def fault_secure_boot_rejected(self: B) -> B:
        """Secure Boot refuses the DKMS module, whose key is not enrolled."""
        return self.driver("dkms").secure_boot(True, enrolled=False)

    @fault("amdgpu_module", "packages", "kernel")
    def fault_modules_extra_missing(self: B) -> B:
        """linux-modules-extra is not installed: the kernel has no amdgpu.ko."""
        return self.driver("inbox", file=False)

    @fault("amdgpu_module", "gpu_present")
    def fault_other_driver(self: B, driver: str = "vfio-pci", index: int | None = None) -> B:
        """Another driver holds the card: vfio-pci (kept for a guest), radeon."""
        made = self.cards(index, bound=driver)
        return made.file("/etc/modprobe.d/vfio.conf", "options vfio-pci ids=1002:744c\n") if driver == "vfio-pci" else made

    # the cards -------------------------------------------------------------------------------------------------

    @fault("gpu_present", status="any")
    def fault_no_gpu(self: B) -> B:
        """No AMD GPU on the PCI bus."""
        return self.no_gpus()

    @fault("firmware", "amdgpu_module")
    def fault_firmware_missing(self: B, index: int | None = None) -> B:
        """The card's firmware files are not there and its initialisation fails."""
        name = firmware_names(self.spec.cards[index or 0].model.firmware)[0]
        log = (
            f"amdgpu {{bdf}}: Direct firmware load for amdgpu/{name} failed with error -2",
            f'amdgpu {{bdf}}: amdgpu: Failed to load firmware "amdgpu/{name}"',
            "amdgpu {bdf}: amdgpu: Fatal error during GPU init",
            "amdgpu {bdf}: amdgpu: amdgpu: finishing device.",
            "amdgpu: probe of {bdf} failed with error -2",
        )
        made = self.cards(index, state="probe-failed", log=log)
        for suffix in ("", ".xz", ".zst"):
            made = made.remove(f"/lib/firmware/amdgpu/{name}{suffix}")
        return made.remove(f"/lib/firmware/updates/amdgpu/{name}")

    @fault("pcie_atomics")
    def fault_pcie_atomics(self: B, index: int | None = None) -> B:
        """The slot offers no PCIe atomics: KFD skips the card, graphics works."""
        return self.cards(index, state="kfd-skipped", log=("kfd kfd: amdgpu: skipped device {id}, PCI rejects atomics 730<0",))

    @fault("pcie_atomics", "vm")
    def fault_vm_without_atomics(self: B) -> B:
        """A hypervisor that passes the card through without PCIe atomics."""
        return self.vm("vmware").fault_pcie_atomics()

    @fault("kfd_node", "gpu_support", "kernel")
    def fault_kfd_unsupported(self: B, index: int | None = None) -> B:
        """The running driver is older than the card: KFD does not know it."""
        return self.cards(index, state="kfd-skipped", log=("kfd kfd: amdgpu: GC IP 0x0b0500 not supported in kfd",))

    @fault("pci_bar")
    def fault_bar_no_space(self: B, index: int | None = None) -> B:
        """The BIOS found no address space for BAR 0 (Above 4G Decoding off): the card does not start."""
        log = (
            "amdgpu {bdf}: BAR 0 [mem 0x00000000-0x0fffffff 64bit pref]: can't assign; no space",
            "amdgpu {bdf}: BAR 0 [mem size 0x800000000 64bit pref]: failed to assign",
            "amdgpu {bdf}: amdgpu: Fatal error during GPU init",
            "amdgpu: probe of {bdf} failed with error -12",
        )
        return self.cards(index, state="probe-failed", log=log, bar=0)

    def small_bar(self: B, mib: int = 256) -> B:
        """BAR 0 covers only part of the memory (no resizable BAR): slower, not a fault."""
        return self.cards(bar=mib)

    @fault("gpu_health")
    def fault_gpu_hang(self: B) -> B:
        """The GPU hung, its reset failed, and rocminfo does not come back."""
        bdf = self.resolved.units[0].address
        lines = (
            f"amdgpu {bdf}: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1187452, emitted seq=1187454",
            f"amdgpu {bdf}: amdgpu: GPU reset begin!",
            f"amdgpu {bdf}: amdgpu: MODE1 reset",
            f"amdgpu {bdf}: amdgpu: GPU reset end with ret = -62",
            f"amdgpu {bdf}: amdgpu: GPU Recovery Failed: -62",
        )
        return self.dmesg(*lines).rocminfo("", rc=124, timed_out=True)

    @fault("gpu_health")
    def fault_gpu_ras(self: B) -> B:
        """Uncorrectable memory errors."""
        bdf = self.resolved.units[0].address
        return self.dmesg(
            f"amdgpu {bdf}: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
            f"amdgpu {bdf}: amdgpu: 4 uncorrectable hardware errors detected in total in umc block",
            f"amdgpu {bdf}: amdgpu: GPU reset begin!",
            f"amdgpu {bdf}: amdgpu: GPU reset end with ret = -5",
        )

    # KFD and access --------------------------------------------------------------------------------------------

    @fault("kfd_node", "kernel")
    def fault_kfd_absent(self: B) -> B:
        """A kernel without KFD (CONFIG_HSA_AMD): no /dev/kfd, no topology, graphics works."""
        return self.driver("inbox", kfd=False)

    @fault("permissions")
    def fault_kfd_denied(self: B) -> B:
        """/dev/kfd is 0600 root:root: no udev rule has set its group."""
        return self.kfd(mode=0o600, gid=0)

    @fault("kfd_node", "container")
    def fault_kfd_errno(self: B, errno: str = "EINVAL") -> B:
        """Opening /dev/kfd fails although its mode allows it: EINVAL, ENOMEM, ENXIO, EPERM ..."""
        return self.kfd(open=errno)

    @fault("permissions")
    def fault_render_denied(self: B) -> B:
        """/dev/kfd opens, the render nodes do not."""
        return self.render_nodes(mode=0o600, gid=0)

    @fault("permissions")
    def fault_not_in_group(self: B, *missing: str) -> B:
        """The account is in neither video nor render (or not in the groups named)."""
        return self.user(groups=tuple(g for g in self._groups() if g not in (missing or ("video", "render"))))

    @fault("permissions")
    def fault_relogin(self: B) -> B:
        """usermod has been run; the running session has not got the groups yet."""
        groups = self._groups()
        return self.user(groups=groups, session_groups=tuple(g for g in groups if g not in ("video", "render")))

    def _groups(self) -> tuple[str, ...]:
        return (self.spec.distro.admin_group[0], "video", "render")

    def dmesg_restricted(self: B) -> B:
        """The asked user may read neither the ring buffer nor the journal: unknown, not a fault."""
        said = "dmesg: read kernel buffer failed: Operation not permitted\n"
        made = self.command(("dmesg",), rc=1, stderr=said).file("/proc/sys/kernel/dmesg_restrict", "1\n")
        return made.command(("journalctl", "-k", "-b", "--no-pager"), stdout="-- No entries --\n")

    # limits ----------------------------------------------------------------------------------------------------

    def instinct(self: B, count: int = 8) -> B:
        """A server with MI300X boards: the twin for faults that only matter there."""
        return self.gpus("gfx942", count=count).cmdline("iommu=pt pci=realloc=off")

    def two_cards(self: B) -> B:
        """A workstation with two cards: the twin for faults between them."""
        return self.gpus(count=2)

    @fault("iommu", status="warn", base="two_cards")
    def fault_iommu_translated(self: B) -> B:
        """Peer-to-peer traffic goes through the IOMMU's translation."""
        return self.cmdline("amd_iommu=on")

    def strix_halo(self: B) -> B:
        """A Ryzen AI Max machine with 128 GiB: the twin for faults of APU memory."""
        made = self.distro("ubuntu", "24.04").kernel("6.17.0-19-generic").gpus("gfx1151").machine(memory=128)
        return made.rocm("7.2.1").driver("inbox").machine(ttm_pages=27_648_000)

    @fault("numa", status="warn", base="instinct")
    def fault_numa_balancing(self: B) -> B:
        return self.machine(numa_balancing=1)

    @fault("memlock_shm", status="warn", base="instinct")
    def fault_memlock(self: B, kib: int = 64) -> B:
        """The locked-memory limit is 64 KiB."""
        return self.machine(memlock=str(kib * 1024))

    @fault("vram_gtt", status="warn", base="strix_halo")
    def fault_apu_memory(self: B) -> B:
        """The firmware gave the GPU 96 GiB, and ROCm sees the GTT share of the rest."""
        return self.kernel("6.14.0-32-generic").cards(vram=98304, gtt=15872, pool=15872).machine(memory=32, ttm_pages=4_063_232)

    @fault("disk", status="warn")
    def fault_boot_full(self: B) -> B:
        """/boot has no room for another initramfs."""
        return self.filesystem("/boot", 470, 0)
