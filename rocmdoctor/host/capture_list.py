"""What a snapshot captures even when no check asks for it, so that a later check finds it in an older snapshot."""

from __future__ import annotations

READ = (
    "/etc/os-release",
    "/usr/lib/os-release",
    "/proc/version",
    "/proc/cmdline",
    "/proc/modules",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/self/limits",
    "/proc/self/cgroup",
    "/proc/self/uid_map",
    "/proc/self/gid_map",
    "/proc/1/cgroup",
    "/proc/sys/kernel/numa_balancing",
    *(
        f"/sys/bus/pci/devices/*/{name}"
        for name in (
            *("vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "resource", "numa_node", "enable"),
            *("current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "vbios_version", "unique_id"),
            *("mem_info_vram_total", "mem_info_gtt_total", "mem_info_vis_vram_total"),
        )
    ),
    "/sys/class/kfd/kfd/topology/generation_id",
    "/sys/class/kfd/kfd/topology/system_properties",
    *(f"/sys/class/kfd/kfd/topology/nodes/*/{name}" for name in ("gpu_id", "name", "properties")),
    *(f"/sys/class/kfd/kfd/topology/nodes/*/{name}/*/properties" for name in ("mem_banks", "io_links", "p2p_links")),
    *(
        f"/sys/module/{module}/{name}"
        for module in ("amdgpu", "ttm", "amdttm", "amdkcl")
        for name in ("version", "srcversion", "initstate", "taint", "parameters/*")
    ),
    "/lib/modules/{release}/modules.builtin",
    "/lib/modules/{release}/modules.dep",
    "/var/lib/dkms/*/*/*/*/log/make.log",
    "/var/lib/dkms/*/*/build/make.log",
    "/etc/modprobe.d/*",
    "/usr/lib/modprobe.d/*",
    "/run/modprobe.d/*",
    "/sys/firmware/efi/efivars/SecureBoot-*",
    "/sys/kernel/security/lockdown",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/var/lib/dpkg/status",
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d/*",
    "/etc/apt/preferences.d/*",
    "/etc/apt/keyrings/*",
    "/etc/yum.repos.d/*",
    "/etc/zypp/repos.d/*",
    "/opt/rocm*/.info/version*",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d/*",
)
"""Globs of files whose content is kept. `{release}` is the running kernel."""
LIMIT = 16 << 20
"""Bytes kept of each; dpkg's status file of a large host has 6 MiB."""

LOOK = (
    "/.dockerenv",
    "/run/.containerenv",
    "/dev/kfd",
    "/dev/dri/*",
    "/dev/dxg",
    "/dev/shm",
    "/sys/bus/pci/devices/*",
    "/sys/bus/pci/devices/*/driver",
    "/sys/class/kfd/kfd/topology/nodes/*",
    "/sys/module/amdgpu",
    "/lib/modules/{release}",
    "/lib/modules/{release}/updates/dkms/*",
    "/lib/modules/{release}/extra/*",
    "/var/lib/dkms/*/*/*/*/module/*",
    "/var/lib/dkms/*/*/source",
    "/var/lib/dkms/*/kernel-*",
    "/opt/*",
    "/opt/rocm/core-*",
    "/usr/lib/wsl/lib/*",
    "/lib/firmware/amdgpu/*",
    "/lib/firmware/updates/amdgpu/*",
)
"""Globs of paths of which the metadata is kept."""

OPEN = ("/dev/kfd", "/dev/dri/*")
"""Device nodes that are opened, to tell whether the user may."""

FILESYSTEMS = ("/", "/boot", "/opt", "/usr", "/var", "/tmp", "/home", "/dev/shm")

RPM_QUERY = ("rpm", "-qa", "--qf", r"%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{VENDOR}\n")
COMMANDS = (
    ("rocminfo",),
    ("dmesg",),
    ("ldconfig", "-p"),
    ("modinfo", "amdgpu"),
    ("dkms", "status"),
    RPM_QUERY,
    ("amd-smi", "list", "--json"),
    ("rocm-smi", "--showproductname", "--json"),
)
JOURNAL = ("journalctl", "-k", "-b", "--no-pager")
"""Asked when dmesg is refused."""
SECURE_BOOT = ("mokutil", "--sb-state")
"""Asked when the EFI variable cannot be read."""
