"""The amdgpu kernel driver: allowed to load, loaded, bound to the GPU. Causes come first, the symptom last.

Order of judgement: what keeps the module out (command line, blacklist, missing modules package, DKMS, Secure Boot), then "not
loaded", then what stops its probe (firmware, BARs, a kernel that does not know the GPU), then "not bound".
"""

from __future__ import annotations

from collections.abc import Iterator

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import load_amdgpu, log_evidence, recheck, said
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.facts.gpus import Gpu
from rocmdoctor.matrix import Matrix
from rocmdoctor.results import Evidence, Finding, Fix, Status

ON_A_KERNEL = ("bare-metal", "vm")
"""Places whose kernel is the host's own to judge; a container's kernel is not (rules.md 46)."""
GIVEN_AWAY = ("vfio-pci", "pci-stub", "gim", "xen-pciback")
"""Drivers that keep a GPU for virtual machines on purpose."""


def without_driver(facts: Facts) -> tuple[Gpu, ...]:
    """GPUs of the PCI bus that no driver is bound to (or only the pre-GCN `radeon` one)."""
    return tuple(g for g in facts.gpus if g.pci is not None and not g.kfd and g.driver in (None, "radeon"))


def driverless(facts: Facts) -> bool:
    """No AMD GPU has a driver: the state that the checks here explain."""
    bound = any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)
    return bool(without_driver(facts)) and not bound


@check("cmdline.driver-allowed", title="The kernel command line lets GPU drivers start", after=["gpu_present.device"], places=ON_A_KERNEL)
def cmdline_allows(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Reads /proc/cmdline for nomodeset and amdgpu.modeset=0. They keep amdgpu from any GPU, whatever is installed.

    Judged only when no GPU has a driver: some kernels accept nomodeset and still bind compute cards.
    """
    if not driverless(facts):
        return
    cmdline = facts.cmdline
    found = [p for p in ("nomodeset",) if cmdline.has(p)]
    if cmdline.get("amdgpu.modeset") == "0":
        found.append("amdgpu.modeset=0")
    if not found:
        return
    param = " and ".join(found)
    yield Finding(
        Status.FAIL,
        f"The running kernel was started with {param}, so no GPU driver may take the GPU",
        "The parameter is meant for machines with a broken display driver. With it amdgpu never binds, and ROCm finds no GPU.",
        (Evidence("/proc/cmdline", " ".join(found)),),
        (
            Fix(
                f"Take {param} off the kernel command line (boot menu for one start; GRUB_CMDLINE_LINUX in /etc/default/grub, "
                "files in /etc/default/grub.d or the installer's boot entry for good), then reboot",
                needs=("root", "reboot"),
                verify=recheck("cmdline.*", "amdgpu_module.*"),
            ),
        ),
        ("https://docs.kernel.org/admin-guide/kernel-parameters.html",),
    )


@check("amdgpu_module.not-blacklisted", title="Nothing keeps amdgpu from loading", after=["gpu_present.device"], places=ON_A_KERNEL)
def not_blacklisted(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks for blacklist and install lines in modprobe.d and for modprobe.blacklist= or module_blacklist= on the command line.

    A blacklist is a cause only when the module is not loaded: AMD itself documents it for some MI300X servers, which load the
    driver later on purpose (rules.md 14).
    """
    if facts.amdgpu.loaded:
        return
    hard = "amdgpu" in ",".join(facts.cmdline.all("module_blacklist")).split(",")
    evidence: list[Evidence] = []
    if "amdgpu" in facts.cmdline.blacklist:
        name = "module_blacklist" if hard else "modprobe.blacklist"
        evidence.append(Evidence("/proc/cmdline", f"{name}=amdgpu"))
    config = facts.modprobe
    evidence += [Evidence(b.source, b.line) for b in config.blacklisted if b.module == "amdgpu"]
    evidence += [
        Evidence(source, f"install amdgpu {command}") for module, command, source in config.installs if module == "amdgpu" and _refuses(command)
    ]
    if not evidence:
        return
    files = [e.source.partition(":")[0] for e in evidence if e.source != "/proc/cmdline"]
    fixes = [] if hard else [load_amdgpu("Load the driver now (a blacklist only stops the automatic loading)")]
    if files:
        fixes.append(
            Fix(
                f"To load it at every boot, remove the amdgpu line from {', '.join(dict.fromkeys(files))} and rebuild the initramfs",
                (_initramfs(facts),) if _initramfs(facts) else (),
                needs=("root", "reboot"),
            )
        )
    if any(e.source == "/proc/cmdline" for e in evidence):
        fixes.append(
            Fix(
                "To load it at every boot, take the blacklist off the kernel command line, or keep it and run `modprobe amdgpu` from a "
                "boot service, as AMD documents for MI300X servers",
                needs=("root", "reboot"),
            )
        )
    yield Finding(
        Status.FAIL,
        "amdgpu is blacklisted and nothing has loaded it",
        "The GPU is on the bus, the module exists, and the configuration says not to load it.",
        tuple(evidence),
        tuple(fixes),
    )


def _refuses(command: str) -> bool:
    return command.split(" ")[0].rpartition("/")[2] in ("true", "false", ":")


def _initramfs(facts: Facts) -> tuple[str, ...]:
    return {"apt": ("update-initramfs", "-u"), "dnf": ("dracut", "-f"), "zypper": ("dracut", "-f"), "pacman": ("mkinitcpio", "-P")}.get(
        remedies.manager(facts) or "", ()
    )


@check("packages.modules-extra", title="The kernel's extra modules are installed", after=["gpu_present.device"], places=ON_A_KERNEL)
def modules_extra(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Ubuntu ships amdgpu, or modules that it links to (amd_iommu_v2), in linux-modules-extra-RELEASE for most kernel flavours.

    Judged only when no GPU has a driver, and only for flavours that have such a package: OEM kernels ship everything in
    linux-modules (rules.md 13).
    """
    release = facts.kernel.release
    if not driverless(facts) or facts.amdgpu.loaded or facts.packages.kind != "dpkg" or "ubuntu" not in facts.os.ids:
        return
    if facts.kernel.flavour in ("oem", None) or not facts.packages.has(f"linux-modules-{release}"):
        return
    package = f"linux-modules-extra-{release}"
    missing_symbols = log_evidence(facts, r"amdgpu: Unknown symbol ", 3)
    if facts.packages.has(package) or (facts.amdgpu.files and not missing_symbols):
        return
    yield Finding(
        Status.FAIL,
        f"{package} is not installed, so amdgpu cannot be loaded",
        "The driver needs modules that this kernel keeps in its extra package"
        + (": it was found and does not link." if missing_symbols else ": there is no amdgpu module for this kernel."),
        (Evidence("/var/lib/dpkg/status", f"{package}: not installed"), *missing_symbols),
        (
            Fix(
                "Install the extra modules of the running kernel, then load the driver",
                (*remedies.install(facts, package), ("modprobe", "amdgpu")),
                needs=("root", "network"),
                automatic=True,
                verify=recheck("amdgpu_module.*"),
            ),
        ),
        (remedies.ROCM_PREREQUISITES,),
    )


@check("dkms.running-kernel", title="The DKMS driver is built for the running kernel", after=["gpu_present.device"], places=ON_A_KERNEL)
def dkms_running_kernel(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Where amdgpu-dkms is installed, it must be built for the kernel that runs, not for some kernel (rules.md 11).

    A build that fails on a newer kernel is cured by the inbox driver or a newer driver release more often than by an older
    kernel (rules.md 10). With a working inbox driver and a clean package state a missing build is only worth a warning.
    """
    dkms = facts.dkms
    builds = dkms.amdgpu()
    package = known(lambda: facts.packages.get("amdgpu-dkms") or facts.packages.get("rock-dkms"), None)
    if not builds and not (package and package.installed):
        raise NotApplicable("no packaged amdgpu driver is installed")
    release = facts.kernel.release
    here = [b for b in builds if b.kernel == release and b.state in ("built", "installed")]
    half = package is not None and package.broken
    if here and not half:
        return
    logs = [log for log in dkms.logs if log.kernel in (release, None) and log.errors]
    failed = half or bool(logs)
    if here and half and not logs:
        return  # built and loaded: the state of the package is for packages.configured
    evidence = [Evidence("dkms status", f"{b.module}/{b.version}, {b.kernel or 'no kernel'}: {b.state}") for b in builds[:4]]
    if half and package:
        evidence.append(Evidence(f"package {package.name}", f"{package.version}: {package.state}"))
    evidence += [Evidence(log.path, line) for log in logs[:1] for line in log.errors[:3]]
    fails = failed or not _any_bound(facts)
    name = package.name if package else "amdgpu-dkms"
    headers = remedies.headers(facts)
    fixes: list[Fix] = []
    if failed:
        fixes.append(remedies.inbox_driver(facts) if name == "amdgpu-dkms" else _remove_rock(facts, name))
        fixes.append(_newer_driver(facts, matrix))
    if not failed or name != "amdgpu-dkms":
        fixes.insert(
            0,
            Fix(
                "Install the headers of the running kernel and build the module for it",
                (*(remedies.install(facts, *headers) if headers else ()), ("dkms", "autoinstall", "-k", release)),
                needs=("root", "network"),
                automatic=not failed,
                verify=recheck("dkms.*", "amdgpu_module.*"),
            ),
        )
    known_failure = known(lambda: matrix.known_dkms_failure(package.driver_release, release), None) if package and package.driver_release else None
    yield Finding(
        Status.FAIL if fails else Status.WARN,
        f"{name} {'does not build' if failed else 'is not built'} for the running kernel {release}",
        (f"{known_failure.reason} " if known_failure else "")
        + ("The kernel's own driver serves the GPU meanwhile." if _any_bound(facts) else "No GPU has a driver because of it."),
        tuple(evidence),
        tuple(fixes),
        (remedies.SYSTEM_REQUIREMENTS,),
    )


def _any_bound(facts: Facts) -> bool:
    return any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)


def _remove_rock(facts: Facts, name: str) -> Fix:
    return Fix(
        f"Or remove {name}, finish the interrupted installation, and use the kernel's own (inbox) driver",
        (*remedies.remove(facts, name), *((("dpkg", "--configure", "-a"),) if remedies.manager(facts) == "apt" else ())),
        needs=("root", "reboot"),
        verify=recheck("dkms.*", "packages.*"),
    )


def _newer_driver(facts: Facts, matrix: Matrix) -> Fix:
    return Fix(
        "Or install a newer driver release whose notes name this kernel (`rocmdoctor matrix suggest` with this kernel names one)",
        needs=("root", "network", "reboot"),
    )


@check("secure_boot.module-accepted", title="Secure Boot accepts the amdgpu module", after=["gpu_present.device"], places=ON_A_KERNEL)
def module_accepted(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """With Secure Boot on, a DKMS module whose key is not enrolled is refused ("Key was rejected by service").

    "module verification failed ... tainting kernel" alone is a notice, not a refusal (rules.md 12). The remedy is to enrol the
    machine-owner key; rocmdoctor never advises to switch Secure Boot off.
    """
    if facts.amdgpu.loaded or not facts.secure_boot.enabled:
        return
    refused = log_evidence(
        facts, r"amdkcl|amdgpu|amdttm|Loading of (unsigned )?module|is not signed|Key was rejected|key was rejected|PKCS#7|Required key", 40
    )
    refused = tuple(
        e
        for e in refused
        if any(w in e.value.lower() for w in ("rejected", "key not available", "is rejected", "unsigned", "is not signed", "lockdown"))
    )[:3]
    dkms_file = any(f.kind == "dkms" for f in facts.amdgpu.files)
    modinfo = known(lambda: facts.modinfo, None)
    unsigned = modinfo is not None and not modinfo.signer and dkms_file
    if not refused and not (dkms_file and (facts.secure_boot.mok_enrolled is False or unsigned)):
        return
    evidence = (Evidence(facts.secure_boot.source, "Secure Boot is enabled"), *refused)
    if modinfo and modinfo.filename:
        evidence += (Evidence("modinfo amdgpu", f"{modinfo.filename}, signer: {modinfo.signer or 'none'}"),)
    if facts.secure_boot.mok_enrolled is False:
        evidence += (Evidence("mokutil --test-key", "the key that signs DKMS modules is not enrolled"),)
    yield Finding(
        Status.FAIL,
        "Secure Boot refuses the amdgpu module: the key that signed it is not enrolled",
        "DKMS signs modules with a machine-owner key (MOK). Until that key is enrolled in the firmware the kernel rejects them.",
        evidence,
        (
            Fix(
                "Import the machine-owner key (it asks for a one-time password), reboot, and choose 'Enroll MOK' in the blue screen",
                (("mokutil", "--import", _mok(facts)),),
                needs=("root", "reboot"),
                verify=("mokutil", "--test-key", _mok(facts)),
            ),
        ),
        (
            "https://wiki.ubuntu.com/UEFI/SecureBoot/DKMS"
            if "ubuntu" in facts.os.ids
            else "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/native-install/package-manager-integration.html",
        ),
    )


def _mok(facts: Facts) -> str:
    """Where DKMS keeps the public key: shim-signed's on Ubuntu, DKMS's own elsewhere (dkms(8), mok_certificate)."""
    return "/var/lib/shim-signed/mok/MOK.der" if "ubuntu" in facts.os.ids else "/var/lib/dkms/mok.pub"


@check(
    "amdgpu_module.loaded",
    title="The amdgpu driver is loaded",
    after=[
        "gpu_present.device",
        "cmdline.driver-allowed",
        "amdgpu_module.not-blacklisted",
        "packages.modules-extra",
        "secure_boot.module-accepted",
    ],
    places=ON_A_KERNEL,
)
def loaded(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """/sys/module/amdgpu exists: the driver is loaded or built in. The reasons that can keep it out have checks of their own,
    so a failure here means that none of them applies: it was simply not loaded, or there is no module for this kernel."""
    module = facts.amdgpu
    if module.loaded or all(g.driver in GIVEN_AWAY for g in facts.gpus if g.pci):
        return
    if _dkms_explains(facts):
        raise NotApplicable("the packaged driver is not built for this kernel: see dkms.running-kernel")
    release = facts.kernel.release
    if module.files or known(lambda: facts.modinfo, None):
        path = module.files[0].path if module.files else (facts.modinfo.filename or "amdgpu" if facts.modinfo else "amdgpu")
        yield Finding(
            Status.FAIL,
            "The amdgpu module exists for this kernel and is not loaded",
            "Nothing blacklists it and nothing refused it in the kernel log: load it, and if it does not stay after a reboot look at the initramfs.",
            (Evidence(path, "module file for the running kernel"), Evidence("/sys/module/amdgpu", "absent")),
            (load_amdgpu(), Fix("If it loads now, reboot once to see that it also loads at boot", needs=("reboot",))),
        )
    else:
        yield Finding(
            Status.FAIL,
            f"There is no amdgpu module for the running kernel {release}",
            "Neither the kernel's own modules nor DKMS have one.",
            (Evidence(f"/lib/modules/{release}", "no amdgpu.ko"), Evidence("/sys/module/amdgpu", "absent")),
            (
                Fix(
                    "Install the complete modules of the running kernel (its modules or modules-extra package), or boot the distribution's standard kernel",
                    needs=("root", "network", "reboot"),
                ),
            ),
        )


def _dkms_explains(facts: Facts) -> bool:
    builds = known(lambda: facts.dkms.amdgpu(), ())
    here = [b for b in builds if b.kernel == facts.kernel.release and b.state in ("built", "installed")]
    package = known(lambda: facts.packages.get("amdgpu-dkms") or facts.packages.get("rock-dkms"), None)
    return bool(builds or package) and not here


@check("firmware.loaded", title="The GPU's firmware was found", after=["amdgpu_module.loaded"], places=ON_A_KERNEL)
def firmware_loaded(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A firmware file that is missing is fatal when the initialisation failed; "failed to load optional firmware" on a GPU that
    works is noise (rules.md 16). So this is judged only for GPUs that have no driver bound."""
    broken = without_driver(facts)
    if not broken:
        return
    lines = log_evidence(facts, r"firmware load for amdgpu/\S+ failed|failed to load \S* ?firmware|Failed to load gpu_info firmware|failed to load .*\.bin", 6)
    if not lines or not said(facts, r"Fatal error during GPU init|probe of \S+ failed|amdgpu_device_ip_(early_)?init failed|sw_init of IP block"):
        return
    package, new_kernel = _firmware_package(facts)
    yield Finding(
        Status.FAIL,
        f"Firmware of the {broken[0].label} is missing, so the driver gave the GPU up",
        "The kernel log names the files that it could not load, and the initialisation ended because of that.",
        lines,
        (
            Fix(
                f"Install or update the firmware package ({package}), rebuild the initramfs and reboot"
                + (", together with the OEM or HWE kernel that AMD names for this GPU" if new_kernel else ""),
                (*remedies.install(facts, package), *((_initramfs(facts),) if _initramfs(facts) else ())),
                needs=("root", "network", "reboot"),
                verify=recheck("firmware.*", "amdgpu_module.*"),
            ),
        ),
    )


def _firmware_package(facts: Facts) -> tuple[str, bool]:
    """The package that ships amdgpu's firmware here, and whether a newer kernel belongs to the remedy (APUs with the inbox driver)."""
    apu = any(g.klass == "apu" for g in without_driver(facts))
    packages = known(lambda: facts.packages, None)
    if packages and packages.has("amdgpu-dkms"):
        return "amdgpu-dkms-firmware", False
    if packages and packages.has("rock-dkms"):
        return "rock-dkms-firmware", False
    ids = facts.os.ids
    if facts.os.id == "debian":
        return "firmware-amd-graphics", apu
    if "suse" in ids or "opensuse" in ids or facts.os.id == "sles":
        return "kernel-firmware-amdgpu", apu
    if facts.os.id == "fedora":
        return "amd-gpu-firmware", apu
    return "linux-firmware", apu


@check("pci_bar.assigned", title="The GPU's memory window (BAR) has an address", after=["amdgpu_module.loaded"], places=ON_A_KERNEL)
def bar_assigned(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A large-BAR GPU needs address space above 4 GiB. Where the firmware gives none, BAR 0 stays empty and the probe ends with
    -12 (out of memory). A GPU that works with a small BAR is not flagged: that costs speed only."""
    for gpu in without_driver(facts):
        if gpu.pci is None or not gpu.pci.bars or gpu.pci.bars[0][1] != 0:
            continue
        yield Finding(
            Status.FAIL,
            f"The {gpu.label} at {gpu.pci_address} got no address for its memory (BAR 0 is empty)",
            "The platform firmware has not enough address space for the card's BAR, so the driver cannot map it. This is a BIOS setting, not a driver fault.",
            (
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/resource", "BAR 0: 0x0-0x0"),
                *log_evidence(facts, r"BAR \d.*(no space|failed to assign|can't assign)|probe of \S+ failed with error -12", 3),
            ),
            (Fix("Enable 'Above 4G Decoding' (and Resizable BAR where offered) in the BIOS, disable CSM, update the BIOS; then reboot", needs=("reboot",)),),
        )


@check("kernel.knows-gpu", title="The running kernel's driver knows the GPU", after=["amdgpu_module.loaded"], places=ON_A_KERNEL)
def kernel_knows(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The inbox amdgpu of an older kernel does not know a newer GPU generation and gives it up. AMD's packaged driver brings
    it to older kernels, and distributions backport, so this is judged only when the driver is loaded and not bound."""
    module = facts.amdgpu
    if module.kind == "dkms":
        raise NotApplicable("AMD's packaged driver is loaded; it does not depend on the kernel's age")
    for gpu in without_driver(facts):
        since = known(lambda gpu=gpu: matrix.kfd_since(gpu.gfx), None) if gpu.gfx else None  # type: ignore[misc]
        if not since or gpu.driver == "radeon":
            continue
        first = since[1] or since[0]
        if not first or versions.components(facts.kernel.release)[:2] >= versions.components(first)[:2]:
            continue
        yield Finding(
            Status.FAIL,
            f"The kernel {facts.kernel.release} is too old for the {gpu.label} ({gpu.gfx})",
            f"The mainline driver serves {gpu.gfx} since Linux {first}; this kernel's own driver was loaded and gave the GPU up.",
            (
                Evidence("uname -r", facts.kernel.release),
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/driver", "absent"),
                *log_evidence(facts, r"Fatal error during GPU init|probe of \S+ failed|Unknown|unsupported", 3),
            ),
            (_newer_kernel(facts, first), _packaged_driver(facts)),
        )


def _newer_kernel(facts: Facts, first: str) -> Fix:
    os = facts.os
    if os.id == "ubuntu" and os.version_id:
        return Fix(
            f"Install the HWE kernel of Ubuntu {os.version_id} (Linux {first} or newer is needed) and reboot",
            remedies.install(facts, f"linux-generic-hwe-{os.version_id}"),
            needs=("root", "network", "reboot"),
            verify=recheck("kernel.*", "amdgpu_module.*"),
        )
    return Fix(f"Boot a kernel of at least Linux {first}", needs=("root", "network", "reboot"), verify=recheck("kernel.*", "amdgpu_module.*"))


def _packaged_driver(facts: Facts) -> Fix:
    return Fix(
        "Or install AMD's packaged driver (amdgpu-dkms), which brings the GPU to this kernel where AMD lists the pair",
        remedies.install(facts, *remedies.headers(facts), "amdgpu-dkms"),
        needs=("root", "network", "reboot"),
    )


@check(
    "amdgpu_module.bound",
    title="amdgpu is bound to every AMD GPU",
    after=["amdgpu_module.loaded", "dkms.running-kernel", "firmware.loaded", "pci_bar.assigned", "kernel.knows-gpu"],
    places=ON_A_KERNEL,
)
def bound(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The `driver` link of each GPU leads to amdgpu. Firmware, BARs and the kernel's age have checks of their own; what is left
    is a GPU kept for virtual machines (vfio-pci), one that the old radeon driver took, or a probe that failed otherwise."""
    given = [g for g in facts.gpus if g.driver in GIVEN_AWAY]
    if given and len(given) == len(facts.gpus):
        names = ", ".join(sorted({g.driver or "" for g in given}))
        yield Finding(
            Status.FAIL,
            f"Every AMD GPU is reserved for virtual machines (driver {names})",
            "The host keeps them out of reach of amdgpu on purpose; run ROCm in the guest that gets the GPU.",
            tuple(Evidence(f"/sys/bus/pci/devices/{g.pci_address}/driver", g.driver or "") for g in given[:4]),
            (Fix("Use ROCm inside the virtual machine that owns the GPU, or give the GPU back to amdgpu by taking its id out of the vfio-pci configuration", needs=("root", "reboot")),),
        )
    if not facts.amdgpu.loaded:
        return
    broken = [g for g in facts.gpus if g.pci is not None and not g.kfd and g.driver not in ("amdgpu", *GIVEN_AWAY)]
    served = any(g.driver == "amdgpu" or g.kfd for g in facts.gpus)
    for gpu in broken:
        old = gpu.driver == "radeon"
        if old and served:
            continue  # a display card of another age beside the compute GPU
        yield Finding(
            Status.FAIL,
            f"The {gpu.label} at {gpu.pci_address} is "
            + ("held by the old radeon driver" if old else f"held by the driver {gpu.driver}" if gpu.driver else "not bound to amdgpu"),
            "The radeon driver takes GCN 1 and 2 cards by default; ROCm has dropped them long ago." if old else "The driver is loaded and did not take this GPU; the kernel log says why.",
            (
                Evidence(f"/sys/bus/pci/devices/{gpu.pci_address}/driver", gpu.driver or "absent"),
                *log_evidence(facts, r"Fatal error during GPU init|probe of \S+ failed|amdgpu.*(ERROR|error|failed)", 4),
            ),
            (
                Fix(
                    "For display or OpenCL, hand the card to amdgpu with radeon.cik_support=0 amdgpu.cik_support=1 (GCN 2) or si_support (GCN 1) on the kernel command line; no current ROCm serves it",
                    needs=("root", "reboot"),
                )
                if old
                else Fix("Read `dmesg | grep amdgpu` from the first error on; a reboot clears a card that was left in a bad state", needs=("reboot",)),
            ),
        )


@check("pcie_atomics.accepted", title="The PCIe path lets the GPU use atomics", after=["amdgpu_module.bound"], places=ON_A_KERNEL)
def atomics(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """KFD skips a GPU whose PCIe path routes no atomic operations ("skipped device ..., PCI rejects atomics"): gfx8 always needs
    them, gfx9 never, gfx10 and later by firmware version (rules.md 17). Display works all the same."""
    lines = log_evidence(facts, r"skipped device [0-9a-f]{4}:[0-9a-f]{4}.*PCI rejects atomics", 16)
    skipped = [g for g in facts.gpus if not g.kfd and any(f"1002:{g.device}" in e.value.lower() for e in lines)]
    if not skipped:
        return
    gpu = skipped[0]
    vm = facts.place.kind == "vm"
    fixes = (
        (Fix("Let the hypervisor pass PCIe atomics to the guest's root port (KVM does for a q35 machine; VMware ESXi does not), or run ROCm on the host"),)
        if vm
        else (
            Fix("Move the card to a slot wired directly to the CPU (the first x16 slot), not one behind the chipset"),
            Fix("If that slot rejects atomics too, the board or CPU platform does not route them (PCIe 3.0 with AtomicOp support is needed): other hardware is the only remedy"),
        )
    )
    yield Finding(
        Status.FAIL,
        f"KFD skips the {gpu.label}{f' and {len(skipped) - 1} more' if len(skipped) > 1 else ''}: the PCIe path rejects atomics",
        "The display works, compute does not: every bridge between this GPU and the CPU must route PCIe atomic operations, and one does not.",
        lines[:3],
        fixes,
        ("https://rocm.docs.amd.com/en/latest/conceptual/pcie-atomics.html",),
    )
