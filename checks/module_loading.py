"""What keeps the amdgpu module out: command line, blacklist, missing modules package. Last, the symptom: it is not loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import GIVEN_AWAY, ON_A_KERNEL, driverless
from rocmdoctor.checks.remedies import initramfs, load_amdgpu, log_evidence, recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


@check(
    "cmdline.driver-allowed",
    title="The kernel command line lets GPU drivers start",
    after=["gpu_present.device"],
    places=ON_A_KERNEL,
)
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
                "files in /etc/default/grub.d or the installer's boot entry for good)",
                needs=("root", "reboot"),
                verify=recheck("cmdline.*", "amdgpu_module.*"),
            ),
        ),
        ("https://docs.kernel.org/admin-guide/kernel-parameters.html",),
    )


@check(
    "amdgpu_module.not-blacklisted", title="Nothing keeps amdgpu from loading", after=["gpu_present.device"], places=ON_A_KERNEL
)
def not_blacklisted(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Looks for blacklist and install lines in modprobe.d and for modprobe.blacklist= or module_blacklist= on the command line.

    A blacklist is a cause only when the module is not loaded: AMD itself documents it for some MI300X servers, which load the
    driver later on purpose (rules.md 14).
    """
    if facts.amdgpu.loaded or all(g.driver in GIVEN_AWAY for g in facts.gpus if g.pci):
        return
    hard = "amdgpu" in ",".join(facts.cmdline.all("module_blacklist")).split(",")
    evidence: list[Evidence] = []
    if "amdgpu" in facts.cmdline.blacklist:
        name = "module_blacklist" if hard else "modprobe.blacklist"
        evidence.append(Evidence("/proc/cmdline", f"{name}=amdgpu"))
    config = facts.modprobe
    evidence += [Evidence(b.source, b.line) for b in config.blacklisted if b.module == "amdgpu"]
    evidence += [
        Evidence(source, f"options amdgpu {options}")
        for module, options, source in config.options
        if module == "amdgpu" and "modeset=0" in options.split()
    ]
    evidence += [
        Evidence(source, f"install amdgpu {command}")
        for module, command, source in config.installs
        if module == "amdgpu" and _refuses(command)
    ]
    if not evidence:
        return
    files = [e.source.partition(":")[0] for e in evidence if e.source != "/proc/cmdline"]
    hard = hard or any("modeset=0" in e.value for e in evidence)  # modprobe alone does not help then
    evidence = list(dict.fromkeys(evidence))
    fixes = [] if hard else [load_amdgpu("Load the driver now, until the next boot (a blacklist stops only the automatic way)")]
    if files:
        fixes.append(
            Fix(
                f"To load it at every boot, take the amdgpu line out of {', '.join(dict.fromkeys(files))} and rebuild the "
                "initramfs",
                (
                    *(remedies.comment_out(file, AMDGPU_LINES) for file in dict.fromkeys(files)),
                    *((initramfs(facts),) if initramfs(facts) else ()),
                ),
                needs=("root", "reboot"),
            )
        )
    if any(e.source == "/proc/cmdline" for e in evidence):
        fixes.append(
            Fix(
                "To load it at every boot, take the blacklist off the kernel command line, or keep it and run `modprobe "
                "amdgpu` from a "
                "boot service, as AMD documents for MI300X servers",
                needs=("root", "reboot"),
            )
        )
    yield Finding(
        Status.FAIL,
        "amdgpu is configured not to start (modeset=0)"
        if all("modeset=0" in e.value for e in evidence)
        else "amdgpu is blacklisted and nothing has loaded it",
        "The GPU is on the bus, the module exists, and the configuration says not to load it.",
        tuple(evidence),
        tuple(fixes),
    )


AMDGPU_LINES = r"^\s*((blacklist|install)\s+amdgpu\b|options\s+amdgpu\s.*modeset=0)"
"""Lines of modprobe.d(5) that keep the driver out."""


def _refuses(command: str) -> bool:
    return command.split(" ")[0].rpartition("/")[2] in ("true", "false", ":")


@check(
    "packages.modules-extra", title="The kernel's extra modules are installed", after=["gpu_present.device"], places=ON_A_KERNEL
)
def modules_extra(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Ubuntu ships amdgpu, or modules that it links to (amd_iommu_v2), in linux-modules-extra-RELEASE for most kernel flavours.

    Judged only when no GPU has a driver, and only for flavours that have such a package: OEM kernels ship everything in
    linux-modules, and the kernel for virtual machines (kvm) has no GPU drivers at all (rules.md 13).
    """
    release = facts.kernel.release
    if not driverless(facts) or facts.amdgpu.loaded or facts.packages.kind != "dpkg" or "ubuntu" not in facts.os.ids:
        return
    if facts.kernel.flavour in ("oem", "kvm", None) or not facts.packages.has(f"linux-modules-{release}"):
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
    modinfo = known(lambda: facts.modinfo, None)
    path = module.files[0].path if module.files else modinfo.filename if modinfo else None
    if path:
        searched = known(lambda: bool(facts.kernel_log and facts.cmdline and facts.modprobe), False)
        yield Finding(
            Status.FAIL,
            "The amdgpu module exists for this kernel and is not loaded",
            ("Nothing blacklists it and nothing refused it in the kernel log: load it" if searched else "Load it")
            + ", and if it does not stay after a reboot look at the initramfs.",
            (Evidence(path, "module file for the running kernel"), Evidence("/sys/module/amdgpu", "absent")),
            (load_amdgpu(),),
        )
    elif others := _only_other_kernels(facts):
        yield Finding(
            Status.FAIL,
            f"The modules of the running kernel {release} are gone: the kernel was updated since this boot",
            "Some distributions replace a kernel in place. What was not loaded before the update cannot be loaded until the next "
            "boot.",
            (Evidence("/lib/modules", ", ".join(others[:4])), Evidence("uname -r", release)),
            (
                Fix("Reboot into the installed kernel", (("systemctl", "reboot"),), needs=("root", "reboot")),
                Fix(
                    "If it is this kernel that boots again, install its modules (its modules or modules-extra package)",
                    needs=("root", "network"),
                ),
            ),
        )
    else:
        yield Finding(
            Status.FAIL,
            f"There is no amdgpu module for the running kernel {release}",
            "Neither the kernel's own modules nor DKMS have one.",
            (Evidence(f"/lib/modules/{release}", "no amdgpu.ko"), Evidence("/sys/module/amdgpu", "absent")),
            (
                Fix(
                    "Install the complete modules of the running kernel (its modules or modules-extra package), or boot the "
                    "distribution's standard kernel",
                    needs=("root", "network", "reboot"),
                ),
            ),
        )


def _only_other_kernels(facts: Facts) -> tuple[str, ...]:
    """Kernels that have modules, when the running one has none: its folder is not there."""
    there: tuple[str, ...] = known(lambda: tuple(facts.host.names("/lib/modules")), ())
    kernels = tuple(n for n in there if n[:1].isdigit())
    return () if facts.kernel.release in kernels else kernels


def _dkms_explains(facts: Facts) -> bool:
    builds = known(lambda: facts.dkms.amdgpu(), ())
    here = [b for b in builds if b.kernel == facts.kernel.release and b.state in ("built", "installed")]
    package = known(lambda: facts.packages.get("amdgpu-dkms") or facts.packages.get("rock-dkms"), None)
    return bool(builds or package) and not here
