"""The rest of the system: os-release, accounts, /proc, DMI, firmware variables, limits, container and WSL marks, the
environment."""

from __future__ import annotations

from typing import Any

from tests.hostbuilder.kernel_text import boot_cmdline
from tests.hostbuilder.out import Out
from tests.hostbuilder.python_files import prefix
from tests.hostbuilder.resolved import GIB, MIB, Resolved
from tests.hostbuilder.rocm_tree import tool_folder

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat clflush mmx fxsr sse sse2 ht syscall nx mmxext rdtscp lm "
    "constant_tsc rep_good nopl cpuid extd_apicid aperfmperf pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx rdrand "
    "svm avx2 avx512f"
)
_DMI = {
    "kvm": ("QEMU", "Standard PC (Q35 + ICH9, 2009)"), "vmware": ("VMware, Inc.", "VMware20,1"), "google": ("Google",
    "Google Compute Engine"),
    "hyperv": ("Microsoft Corporation", "Virtual Machine"), "amazon": ("Amazon EC2", "g4ad.4xlarge"), "xen": ("Xen", "HVM domU"),
    "virtualbox": ("innotek GmbH", "VirtualBox"), "docker-desktop": ("QEMU", "Standard PC (Q35 + ICH9, 2009)"),
}  # fmt: skip
_BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(host: Resolved) -> dict[str, str]:
    """The asked user's environment: the venv is active and ROCm is on PATH."""
    folders = []
    env: dict[str, str] = {}
    python = host.python
    if python is not None and python.kind in ("venv", "conda"):
        top = prefix(host)
        folders.append(f"{top}/bin")
        env["VIRTUAL_ENV" if python.kind == "venv" else "CONDA_PREFIX"] = top
    tools = tool_folder(host)
    if tools and tools != "/usr/bin":
        folders.append(tools)
    env = {
        "PATH": ":".join((*folders, _BASE_PATH)),
        "HOME": host.home,
        "USER": host.account.name,
        "SHELL": "/bin/bash",
        "LANG": "en_US.UTF-8",
        **env,
    }
    if host.wsl:
        env |= {"WSL_DISTRO_NAME": "Ubuntu", "WSL_INTEROP": "/run/WSL/1_interop"}
        if host.place.wsl_libraries:
            env["HSA_ENABLE_DXG_DETECTION"] = "1"
    if host.place.engine == "kubernetes":
        env |= {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    if host.place.engine == "apptainer":
        env |= {"APPTAINER_CONTAINER": "/images/rocm.sif", "APPTAINER_NAME": "rocm.sif"}
    for name, value in host.spec.env:
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def meta(host: Resolved) -> dict[str, Any]:
    """snapshot.json."""
    account = host.account
    values: dict[str, Any] = {
        "format": "rocmdoctor-snapshot", "version": 1, "created": "2026-11-30T12:00:00Z", "tool": "rocmdoctor 0.1.0",
        "redacted": True,
        "uname": {"sysname": "Linux", "release": host.kernel, "version": host.kernel_build, "machine": host.spec.machine.machine},
        "user": {
            "name": account.name, "uid": account.uid, "gid": host.gid, "groups": list(host.session_groups),
            "database_groups": list(host.database_groups), "sudo_user": account.sudo_user,
        },
        "groups": dict(host.groups),
        "env": environment(host),
        "filesystems": {"/": {"size": 500 * GIB, "free": 310 * GIB}, "/boot": {"size": 1020702720, "free": 702545920}},
        "unknown": list(host.spec.unknown),
    }  # fmt: skip
    if host.container:
        values["filesystems"].pop("/boot")
        values["unknown"] += ["cmd:dmesg", "cmd:journalctl"]
    elif host.wsl:
        values["filesystems"].pop("/boot")
        values["unknown"] += ["cmd:amd-smi", "cmd:rocm-smi"]
    return values


def _accounts(out: Out, host: Resolved) -> None:
    account = host.account
    lines = ["root:x:0:0:root:/root:/bin/bash", "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin"]
    if account.uid:
        lines.append(f"{account.name}:x:{account.uid}:{host.gid}::{host.home}:/bin/bash")
    out.file("/etc/passwd", "\n".join(lines) + "\n")
    members = set(host.database_groups)
    rows = [
        f"{n}:x:{g}:{account.name if g in members and g != host.gid else ''}"
        for n, g in sorted(host.groups.items(), key=lambda i: i[1])
    ]
    out.file("/etc/group", "\n".join(rows) + "\n")


def _proc(out: Out, host: Resolved) -> None:
    machine = host.spec.machine
    out.file("/proc/cmdline", boot_cmdline(host) + "\n")
    out.file(
        "/proc/version", f"Linux version {host.kernel} (build@builder) (gcc (GCC) 12.3.0, GNU ld 2.38) {host.kernel_build}\n"
    )
    hypervisor = " hypervisor" if host.place.vm or host.wsl else ""
    cpu = (
        f"vendor_id\t: {machine.vendor}\ncpu family\t: 25\nmodel name\t: {host.cpu}\nphysical id\t: 0\nsiblings\t: {host.cores}\n"
        f"cpu cores\t: {max(host.cores // 2, 1)}\nflags\t\t: {_FLAGS}{hypervisor}\n\n"
    )
    out.file("/proc/cpuinfo", f"processor\t: 0\n{cpu}processor\t: 1\n{cpu}")
    kib = host.memory // 1024 - 1_600_000
    out.file(
        "/proc/meminfo",
        f"MemTotal:       {kib} kB\nMemFree:        {kib // 2} kB\nMemAvailable:   {kib * 3 // 4} kB\nSwapTotal:       0 kB\n",
    )
    server = "EPYC" in host.cpu
    memlock = machine.memlock or ("unlimited" if server else str(host.memory // 8))
    nofile = 1048576 if server and machine.nofile == 1024 else machine.nofile
    out.file(
        "/proc/self/limits",
        f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}{'Units':<10}\n"
        + "".join(
            f"{name:<26}{soft!s:<21}{hard!s:<21}{unit:<10}\n"
            for name, soft, hard, unit in (
                ("Max cpu time", "unlimited", "unlimited", "seconds"), ("Max stack size", 8388608, "unlimited", "bytes"),
                ("Max processes", 255535, 255535, "processes"), ("Max open files", nofile, 1048576, "files"),
                ("Max locked memory", memlock, memlock, "bytes"), ("Max address space", "unlimited", "unlimited", "bytes"),
            )
        ),
    )  # fmt: skip
    numa = machine.numa_balancing
    out.tree("/proc/sys/kernel", {"numa_balancing": 0 if numa is None else numa, "dmesg_restrict": 0})
    for node in range(host.numa_nodes):
        out.file(f"/sys/devices/system/node/node{node}/cpulist", f"{node * host.cores}-{(node + 1) * host.cores - 1}\n")
    shm = machine.shm if machine.shm is not None else (64 * MIB if host.container else host.memory // 2)
    out.nodes["/dev/shm"] = {"type": "dir", "mode": "1777", "uid": 0, "gid": 0, "bytes": shm}


def _place(out: Out, host: Resolved) -> None:
    place = host.place
    cgroup = "0::/\n" if host.container else "0::/init.scope\n"
    uid_map = "         0          0 4294967295\n"
    if host.container:
        engine = place.engine
        if engine == "docker":
            out.file("/.dockerenv")
        elif engine == "podman":
            out.file(
                "/run/.containerenv", f'engine="podman-4.9.3"\nname="rocm"\nid="0123456789ab"\nrootless={int(place.rootless)}\n'
            )
        elif engine == "kubernetes":
            cgroup = "0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123456789ab.scope\n"
            out.file("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "default\n")
        elif engine == "apptainer":
            out.file("/.singularity.d/labels.json", "{}\n")
        else:
            out.file("/run/systemd/container", f"{engine}\n")
            out.file("/proc/1/environ", f"container={engine}\0")
        if place.rootless:
            uid_map = "         0       1000          1\n         1     100000      65536\n"
    out.file("/proc/1/cgroup", cgroup)
    out.file("/proc/self/cgroup", cgroup if host.container else "0::/user.slice/user-1000.slice/session-3.scope\n")
    out.file("/proc/self/uid_map", uid_map)
    if host.wsl:
        out.file("/proc/sys/fs/binfmt_misc/WSLInterop", "enabled\ninterpreter /init\nflags: P\noffset 0\nmagic 4d5a\n")
        out.binaries("/usr/lib/wsl/lib", ("libdxcore.so", "libd3d12.so", "libd3d12core.so", "libamdxc64.so"))
        return
    vendor, product = _DMI.get(
        place.vm, ("Supermicro", "AS -8125GS-TNMR2") if "EPYC" in host.cpu else ("ASUSTeK COMPUTER INC.", "System Product Name")
    )
    machine = host.spec.machine
    out.tree("/sys/class/dmi/id", {"sys_vendor": machine.sys_vendor or vendor, "product_name": machine.product or product})
    if place.vm == "xen":
        out.tree("/sys/hypervisor", {"type": "xen"})


def _secure_boot(out: Out, host: Resolved) -> None:
    machine = host.spec.machine
    if not machine.uefi or host.wsl:
        return
    if host.container:
        out.dir("/sys/firmware/efi/efivars")
        return
    out.file(SECURE_BOOT, bytes((6, 0, 0, 0, int(machine.secure_boot))))
    out.command(("mokutil", "--sb-state"), "/usr/bin/mokutil", f"SecureBoot {'enabled' if machine.secure_boot else 'disabled'}\n")
    if host.dkms:
        ubuntu = host.distro.deb and host.distro.id != "debian"
        key = "/var/lib/shim-signed/mok/MOK.der" if ubuntu else "/var/lib/dkms/mok.pub"
        out.binary(key)
        said = f"{key} is already enrolled\n" if machine.mok_enrolled else f"{key} is not enrolled\n"
        out.command(("mokutil", "--test-key", key), "/usr/bin/mokutil", said, rc=int(machine.mok_enrolled))


def render_system(out: Out, host: Resolved) -> None:
    """Everything that is there on any host."""
    d = host.distro
    out.file("/usr/lib/os-release", d.os_release)
    out.link("/etc/os-release", "../usr/lib/os-release")
    programs = {"deb": ("apt-get", "dpkg"), "el": ("dnf", "rpm"), "fedora": ("dnf", "rpm"), "suse": ("zypper", "rpm"),
    "azl": ("tdnf", "rpm"),
                "arch": ("pacman",)}.get(d.family, ())  # fmt: skip
    for name in programs:
        out.program(f"/usr/bin/{name}")
    certificates = "/etc/ssl/certs/ca-certificates.crt" if d.deb else "/etc/pki/tls/certs/ca-bundle.crt"
    out.file(certificates, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    if d.deb and d.id != "neon":
        out.file(
            "/usr/lib/modprobe.d/blacklist_linux-hwe.conf",
            "# Kernel supplied blacklist\nblacklist radeonfb\nblacklist nvidiafb\n",
        )
    _accounts(out, host)
    _proc(out, host)
    _place(out, host)
    _secure_boot(out, host)
