"""The kernel log of a boot: firmware, the amdgpu driver card by card, and KFD."""

from __future__ import annotations

from tests.hostbuilder.pci_sysfs import gtt_bytes
from tests.hostbuilder.releases import key
from tests.hostbuilder.resolved import MIB, Resolved
from tests.hostbuilder.units import Unit

_KFD_REJECTS = "kfd kfd: amdgpu: skipped device {id}, PCI rejects atomics"


def kernel_key(release: str) -> tuple[int, ...]:
    """(6, 8) of "6.8.0-45-generic"."""
    return key(".".join(release.split("-")[0].split(".")[:2]))


def boot_cmdline(host: Resolved) -> str:
    """/proc/cmdline."""
    if host.wsl:
        return "initrd=\\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=16 swiotlb=force console=hvc0 debug pty.legacy_count=0"
    image = f"BOOT_IMAGE=/boot/vmlinuz-{host.kernel}" if host.distro.deb else f"BOOT_IMAGE=(hd0,gpt2)/vmlinuz-{host.kernel}"
    root = "root=UUID=00000000-0000-4000-8000-000000000001 ro"
    return " ".join((image, root, "quiet splash" if host.distro.deb else "rhgb quiet", *host.cmdline))


def _boot(host: Resolved) -> list[str]:
    machine = host.spec.machine
    lines = [
        f"Linux version {host.kernel} (build@builder) (gcc (GCC) 12.3.0, GNU ld 2.38) {host.kernel_build}",
        f"Command line: {boot_cmdline(host)}",
        "BIOS-provided physical RAM map:",
    ]
    if host.place.vm:
        lines.append(f"Hypervisor detected: {'KVM' if host.place.vm in ('kvm', 'google') else host.place.vm}")
    if machine.uefi:
        lines.append("efi: EFI v2.8 by American Megatrends")
        lines.append(f"secureboot: Secure boot {'enabled' if machine.secure_boot else 'disabled'}")
        if machine.secure_boot:
            lines.append("Kernel is locked down from EFI Secure Boot mode; see man kernel_lockdown.7")
    lines.append(f"smpboot: CPU0: {host.cpu} (family: 0x19, model: 0x61, stepping: 0x2)")
    passthrough = "iommu=pt" in host.cmdline
    lines.append(f"iommu: Default domain type: {'Passthrough (set via kernel command line)' if passthrough else 'Translated'}")
    if not host.place.vm:
        lines.append("AMD-Vi: Interrupt remapping enabled")
    lines.append("systemd[1]: Inserted module 'autofs4'")
    return lines


def _start_of_card(host: Resolved, unit: Unit) -> list[str]:
    model, bdf = unit.card.model, unit.address
    ids = f"0x1002:0x{model.device.upper()} 0x1002:0x0E3B 0x{model.revision.upper()}"
    new = kernel_key(host.kernel) >= (6, 14) or (host.running_dkms and key(host.module_version) >= (6, 12))
    said = f"amdgpu {bdf}: amdgpu: " if new else "[drm] "
    return [
        f"amdgpu {bdf}: enabling device (0006 -> 0007)",
        f"{said}initializing kernel modesetting ({model.asic} {ids}).",
        f"{said}register mmio base: 0x{0xFC000000 - unit.index * 0x200000:08X}",
    ]


def _card(host: Resolved, unit: Unit, minor: int) -> list[str]:
    card, model, bdf = unit.card, unit.card.model, unit.address
    dev = f"amdgpu {bdf}: amdgpu: "
    lines = _start_of_card(host, unit)
    fill = {"bdf": bdf, "id": f"1002:{model.device}", "firmware": model.firmware}
    if card.state == "probe-failed":
        return lines + [line.format(**fill) for line in card.log]
    vram = card.vram_mib
    lines += [
        f"{dev}Fetched VBIOS from {'VFCT' if model.apu else 'ROM BAR'}",
        f"{dev}Trusted Memory Zone (TMZ) feature not supported",
        f"{dev}vm size is 262144 GB, 4 levels, block size is 9-bit, fragment size is 9-bit",
        f"{dev}VRAM: {vram}M 0x0000008000000000 - 0x{0x8000000000 + vram * MIB - 1:016X} ({vram}M used)",
        f"{dev}GART: 512M 0x0000000000000000 - 0x000000001FFFFFFF",
        f"[drm] Detected VRAM RAM={vram}M, BAR={vram if card.bar is None else card.bar}M",
        f"{dev}{vram}M of VRAM memory ready",
        f"{dev}{gtt_bytes(host, unit) // MIB}M of GTT memory ready.",
    ]
    if model.asic == "IP DISCOVERY":
        lines.append(f"{dev}RAP: optional rap ta ucode is not available")
    lines.append(f"{dev}SMU is initialized successfully!")
    if card.state == "kfd-skipped":
        lines += [line.format(**fill) for line in card.log or (_KFD_REJECTS,)]
    elif unit.nodes:
        lines.append("kfd kfd: amdgpu: Allocated 3969056 bytes on gart")
        lines.append(f"kfd kfd: amdgpu: Total number of KFD nodes to be created: {len(unit.nodes)}")
        for _ in unit.nodes:
            lines.append("amdgpu: Virtual CRAT table created for GPU")
            lines.append(f"amdgpu: Topology: Add {'APU' if model.apu else 'dGPU'} node [0x{model.device}:0x1002]")
        lines.append(f"kfd kfd: amdgpu: added device 1002:{model.device}")
    per_engine = 1 if model.wave == 64 else 2
    per_array = model.cu // (model.engines * per_engine)
    lines.append(f"{dev}SE {model.engines}, SH per SE {per_engine}, CU per SH {per_array}, active_cu_number {model.cu}")
    lines.append(f"[drm] Initialized amdgpu 3.{57 if not host.running_dkms else 61}.0 for {bdf} on minor {minor}")
    return lines


def _amdgpu(host: Resolved) -> list[str]:
    driver = host.driver
    if driver is None:
        return []
    if not host.loaded:
        return list(host.blocked or ())
    lines = []
    if host.running_dkms:
        machine = host.spec.machine
        if not (machine.secure_boot and machine.mok_enrolled):
            lines.append("amdkcl: loading out-of-tree module taints kernel.")
            lines.append("amdkcl: module verification failed: signature and/or required key missing - tainting kernel")
    lines.append("[drm] amdgpu kernel modesetting enabled.")
    if host.running_dkms:
        lines.append(f"[drm] amdgpu version: {host.module_version}")
    if driver.kfd:
        lines += ["amdgpu: Virtual CRAT table created for CPU", "amdgpu: Topology: Add CPU node"]
    for unit in host.units:
        if unit.card.bound == "amdgpu" and unit.card.state != "unbound":
            lines += _card(host, unit, unit.minors[0] - 128 if unit.minors else 0)
    return lines


def kernel_log(host: Resolved) -> str:
    """dmesg's text. Lines of `spec.log` follow; "[ 12.5] text" keeps its own time."""
    if host.wsl:
        head = [f"Linux version {host.kernel} (root@builder) (gcc (GCC) 11.2.0, GNU ld (GNU Binutils) 2.37) {host.kernel_build}"]
        head += [f"Command line: {boot_cmdline(host)}", "Hypervisor detected: Microsoft Hyper-V", "hv_vmbus: Vmbus version:5.3"]
        tail = ["misc dxg: dxgk: dxgkio_is_feature_enabled: Ioctl failed: -22"]
    else:
        head, tail = _boot(host), _amdgpu(host)
    text = [f"[{0.0 + 0.031 * n:12.6f}] {line}" for n, line in enumerate(head)]
    text += [f"[{3.520731 + 0.000731 * n:12.6f}] {line}" for n, line in enumerate(tail)]
    for number, line in enumerate(host.spec.log):
        text.append(line if line.startswith("[") and line[1:2] in " 0123456789" else f"[{431.207 + 0.731 * number:12.6f}] {line}")
    return "\n".join(text) + "\n"
