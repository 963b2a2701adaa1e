"""The amdgpu module in every place that tells of it: /sys/module, /proc/modules, module files, DKMS, modinfo, firmware."""

from __future__ import annotations

from functools import cache

from tests.hostbuilder.out import Out
from tests.hostbuilder.resolved import Resolved

INBOX_PATH = "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu"
_PARAMETERS = {"gttsize": -1, "mes": 0, "modeset": -1, "noretry": -1, "sched_policy": 0, "vm_fragment_size": -1}
SRCVERSION = "A3F1C7D20E9B45886F10D2C"
OTHER_MODULES = "".join(f"{row} - Live 0x0000000000000000\n" for row in ("nvme 61440 3", "xhci_pci 24576 0", "ext4 1138688 1"))


def dkms_folder(host: Resolved) -> str:
    """Where DKMS installs below /lib/modules/REL: updates/dkms (Debian), extra (EL), updates (SUSE)."""
    return {"deb": "updates/dkms", "suse": "updates"}.get(host.distro.family, "extra")


def firmware_names(prefix: str) -> tuple[str, ...]:
    """Names under amdgpu/ of the firmware that a card with that prefix asks for."""
    if not prefix.startswith("gc_"):
        return tuple(f"{prefix}_{part}.bin" for part in ("mec", "rlc", "sdma", "sos", "ta"))
    psp = {"gc_9_4": "psp_13_0_6", "gc_9_5": "psp_13_0_12", "gc_10": "psp_13_0_5", "gc_11_5": "psp_14_0_1", "gc_12": "psp_14_0_3"}
    parts = next((v for k, v in psp.items() if prefix.startswith(k)), "psp_13_0_0")
    mes = () if prefix.startswith(("gc_9", "gc_10")) else (f"{prefix}_mes1.bin", f"{prefix}_mes_2.bin")
    return (f"{prefix}_mec.bin", f"{prefix}_rlc.bin", *mes, f"{parts}_sos.bin", f"{parts}_ta.bin", f"sdma{prefix[2:]}.bin")


@cache
def _proc_modules(dkms: bool, out_of_tree: str) -> str:
    rows: tuple[tuple[str, int, int, str], ...]
    if dkms:
        rows = (
            ("amdgpu", 19623936, 27, "-"), ("amddrm_ttm_helper", 12288, 1, "amdgpu,"), ("amdttm", 106496, 2,
            "amdgpu,amddrm_ttm_helper,"),
            ("amd_sched", 61440, 1, "amdgpu,"), ("amdkcl", 32768, 3, "amdgpu,amdttm,amd_sched,"),
        )  # fmt: skip
    else:
        rows = (
            ("amdgpu", 17092608, 27, "-"), ("drm_ttm_helper", 12288, 1, "amdgpu,"), ("ttm", 110592, 2, "amdgpu,drm_ttm_helper,"),
            ("gpu_sched", 61440, 1, "amdgpu,"),
        )  # fmt: skip
    return "".join(f"{name} {size} {used} {by} Live 0x0000000000000000{out_of_tree}\n" for name, size, used, by in rows)


def _sys_module(out: Out, host: Resolved) -> None:
    assert host.driver is not None
    builtin = host.driver.kind == "builtin"
    out.tree("/sys/module/amdgpu/parameters", _PARAMETERS)
    if not builtin:
        out.tree(
            "/sys/module/amdgpu",
            {"initstate": "live", "refcnt": 27, "srcversion": SRCVERSION, "taint": "OE" if host.running_dkms else ""},
        )
    if host.running_dkms:
        out.tree("/sys/module/amdgpu", {"version": host.module_version})
    ttm = "amdttm" if host.running_dkms else "ttm"
    pages = host.spec.machine.ttm_pages or host.memory // 2 >> 12
    out.tree(f"/sys/module/{ttm}/parameters", {"pages_limit": pages, "page_pool_size": pages})
    out.dir("/sys/bus/pci/drivers/amdgpu")
    oot = " (OE)" if host.running_dkms else ""
    out.file("/proc/modules", ("" if builtin else _proc_modules(host.running_dkms, oot)) + OTHER_MODULES)


def _module_files(out: Out, host: Resolved) -> None:
    driver, ko, base = host.driver, host.distro.ko, host.modules_dir
    out.binary(f"/boot/vmlinuz-{host.kernel}")
    out.link("/usr/lib/modules", "/lib/modules")
    out.link("/usr/lib/firmware", "/lib/firmware")
    out.link(f"{base}/build", f"/usr/src/linux-headers-{host.kernel}" if host.distro.deb else f"/usr/src/kernels/{host.kernel}")
    out.file(f"/usr/src/{'linux-headers-' if host.distro.deb else 'kernels/'}{host.kernel}/Makefile", "# headers\n")
    built_in = ["kernel/drivers/base/firmware_loader/firmware_class.ko", "kernel/drivers/pci/pci-pf-stub.ko"]
    inbox = driver is not None and driver.kind != "builtin" and driver.file
    if driver is not None and driver.kind == "builtin":
        built_in.append(f"{INBOX_PATH}.ko")
    out.file(f"{base}/modules.builtin", "\n".join(built_in) + "\n")
    dependencies = [f"kernel/drivers/nvme/host/nvme{ko}: kernel/drivers/nvme/host/nvme-core{ko}"]
    folder = dkms_folder(host)
    if host.dkms_file:
        names = ("amdgpu", "amdttm", "amdkcl", "amd-sched", "amddrm_ttm_helper")
        out.binaries(f"{base}/{folder}", (name + ko for name in names))
        dependencies.insert(0, f"{folder}/amdgpu{ko}: " + " ".join(f"{folder}/{name}{ko}" for name in names[1:]))
    if inbox:
        out.binary(f"{base}/{INBOX_PATH}{ko}")
        if not host.dkms_file:
            dependencies.insert(
                0, f"{INBOX_PATH}{ko}: kernel/drivers/gpu/drm/ttm/ttm{ko} kernel/drivers/gpu/drm/scheduler/gpu-sched{ko}"
            )
    out.file(f"{base}/modules.dep", "\n".join(dependencies) + "\n")


def _modinfo(out: Out, host: Resolved) -> None:
    driver, ko, base = host.driver, host.distro.ko, host.modules_dir
    firmware = tuple(dict.fromkeys(n for c in host.spec.cards for n in firmware_names(c.model.firmware)[:2]))
    said = "".join(f"firmware:       amdgpu/{name}\n" for name in firmware)
    common = (
        f"license:        GPL and additional rights\ndescription:    AMD GPU\nauthor:         AMD linux driver team\n{said}"
        f"srcversion:     {SRCVERSION}\nalias:          pci:v00001002d*sv*sd*bc03sc00i00*\n"
    )
    tail = f"retpoline:      Y\nname:           amdgpu\nvermagic:       {host.kernel} SMP preempt mod_unload modversions \n"
    program = "/sbin/modinfo" if host.distro.deb else "/usr/sbin/modinfo"
    if host.dkms_file:
        assert driver is not None
        signed = (
            f"sig_id:         PKCS#7\nsigner:         {driver.signer}\nsig_key:        5A:3C:91:0E\nsig_hashalgo:   sha512\n"
            if driver.signer
            else ""
        )
        text = (
            f"filename:       {base}/{dkms_folder(host)}/amdgpu{ko}\nversion:        {host.module_version}\n{common}"
            f"depends:        amdkcl,amdttm,amd-sched\n{tail}{signed}"
        )
    elif driver is not None and driver.kind == "builtin":
        text = f"name:           amdgpu\nfilename:       (builtin)\n{common}"
    elif driver is not None and driver.file:
        signer = "Build time autogenerated kernel key" if host.distro.deb else f"{host.distro.name} kernel signing key"
        text = (
            f"filename:       {base}/{INBOX_PATH}{ko}\n{common}depends:        drm_ttm_helper,ttm,gpu-sched\nintree:         Y\n"
            f"{tail}sig_id:         PKCS#7\nsigner:         {signer}\n"
        )
    else:
        out.command(("modinfo", "amdgpu"), program, rc=1, stderr="modinfo: ERROR: Module amdgpu not found.\n")
        return
    out.command(("modinfo", "amdgpu"), program, text)


def _dkms(out: Out, host: Resolved) -> None:
    driver = host.driver
    assert driver is not None
    version, ko, arch = host.dkms_version, host.distro.ko, host.spec.machine.machine
    comma = host.distro.id == "ubuntu" and host.distro.version == "20.04"  # dkms 2.8
    tree, name = f"/var/lib/dkms/amdgpu/{version}", f"amdgpu, {version}" if comma else f"amdgpu/{version}"
    out.link(f"{tree}/source", f"/usr/src/amdgpu-{version}")
    out.file(f"/usr/src/amdgpu-{version}/dkms.conf", f'PACKAGE_NAME="amdgpu"\nPACKAGE_VERSION="{version}"\nAUTOINSTALL="yes"\n')
    lines = []
    kernels = driver.built_for if driver.built_for is not None else (host.kernel,)
    for kernel in kernels if driver.state != "added" else ():
        here = f"{tree}/{kernel}/{arch}"
        out.file(
            f"{here}/log/make.log",
            f"DKMS make.log for amdgpu-{version} for kernel {kernel} ({arch})\nmake: Leaving directory\n",
        )
        out.binary(f"{here}/module/amdgpu{ko}")
        state = driver.state + (" (original_module exists)" if driver.state == "installed" and driver.file and not comma else "")
        lines.append(f"{name}, {kernel}, {arch}: {state}")
        if driver.state == "installed":
            out.link(f"/var/lib/dkms/amdgpu/kernel-{kernel}-{arch}", f"{version}/{kernel}/{arch}")
    if driver.make_log:
        text = f"DKMS make.log for amdgpu-{version} for kernel {host.kernel} ({arch})\n" + "\n".join(driver.make_log) + "\n"
        out.file(f"{tree}/build/make.log", text)
    if not lines:
        lines = [f"{name}: added"]
    out.command(("dkms", "status"), "/usr/sbin/dkms", "\n".join(lines) + "\n")


def _firmware(out: Out, host: Resolved) -> None:
    suffix = {".ko.zst": ".zst", ".ko.xz": ".xz"}.get(host.distro.ko, "")
    out.dir("/lib/firmware/amdgpu")
    for prefix in dict.fromkeys(c.model.firmware for c in host.spec.cards):
        names = firmware_names(prefix)
        out.binaries("/lib/firmware/amdgpu", (name + suffix for name in names))
        if host.dkms and host.distro.deb:
            out.binaries("/lib/firmware/updates/amdgpu", names)


def render_driver(out: Out, host: Resolved) -> None:
    """Everything about the module. A container shows the host's /sys and /proc, but no files, packages or commands of the
    driver."""
    if host.loaded:
        _sys_module(out, host)
    else:
        out.file("/proc/modules", OTHER_MODULES if not host.wsl else "")
    if host.container or host.wsl:
        return
    _module_files(out, host)
    _modinfo(out, host)
    _firmware(out, host)
    if host.dkms:
        _dkms(out, host)
