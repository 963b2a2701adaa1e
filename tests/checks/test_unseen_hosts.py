"""Kinds of hosts that public reports tell of: what must be said of each, and its healthy twin of which nothing is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocmdoctor.examination import examine
from rocmdoctor.results import Result, Status
from tests.checks.judged import MATRIX, fixes
from tests.hostbuilder import HostBuilder, card

Make = Callable[[], HostBuilder]


def flagged(builder: HostBuilder) -> dict[str, Result]:
    """Check id to its finding, warnings and failures only."""
    bad = (Status.WARN, Status.FAIL, Status.ERROR)
    return {r.id: r for r in examine(builder.build(), MATRIX, plugins=False).results if r.status in bad}


def host() -> HostBuilder:
    return HostBuilder()


def noble() -> HostBuilder:
    return host().distro("ubuntu", "24.04").rocm("6.4.1")


def source(builder: HostBuilder, path: str, suite: str = "jammy", name: str = "rocm.list") -> HostBuilder:
    line = f"deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] https://repo.radeon.com/{path} {suite} main\n"
    return builder.repo(name, line)


def laptop() -> HostBuilder:
    """The processor's AMD graphics beside an NVIDIA GPU, the CUDA build of torch, no ROCm, an account in no device group."""
    made = host().gpus(card("gfx1035", vram=512)).no_rocm().driver("inbox").torch("2.5.1").user(groups=("sudo",))
    return made.pci_device("0000:41:00.0", "10de", "2684", 0x030000, "nvidia")


NO_ATOMICS = "kfd kfd: amdgpu: GC IP 0x090300 not supported in kfd"
REQUIRED = "not found (required by /opt/rocm/lib/libhsa-runtime64.so.1)\n"
CANNOT_OPEN = "cannot open shared object file: No such file or directory\n"
AER = "nvme 0000:04:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, id=0400"

SILENT: dict[str, Make] = {
    "a CUDA laptop with AMD graphics": laptop,
    "one of two cards is kept for a guest": lambda: host().gpus("gfx1100", "gfx1030").cards(1, bound="vfio-pci"),
    "APU without a KFD node beside a card": lambda: host().gpus(
        card("gfx1100"), card("gfx90c", vram=512, state="kfd-skipped", log=(NO_ATOMICS,))
    ),
    "the GPU that an override harms is hidden": lambda: (
        host().gpus(card("gfx1032"), card("gfx90c", vram=512)).env(HSA_OVERRIDE_GFX_VERSION="10.3.0", ROCR_VISIBLE_DEVICES="0")
    ),
    "the override is for the card's node alone": lambda: (
        host().gpus(card("gfx1032"), card("gfx90c", vram=512)).env(HSA_OVERRIDE_GFX_VERSION_1="10.3.0")
    ),
    "the GPU that this ROCm does not serve is hidden": lambda: (
        host().gpus(card("gfx1100"), card("gfx803")).env(ROCR_VISIBLE_DEVICES="0")
    ),
    "some room in /boot, the kernel's own driver": lambda: host().driver("inbox").filesystem("/boot", 512, 80),
    "WSL for an NVIDIA GPU": lambda: (
        noble()
        .no_rocm()
        .wsl(libraries=False)
        .torch("2.5.1", python="3.12")
        .file("/usr/lib/wsl/lib/libcuda.so.1")
        .file("/usr/lib/wsl/lib/libnvidia-ml.so.1")
    ),
    "a confined container with the device's label": lambda: (
        host().container("podman").file("/proc/self/attr/current", "system_u:system_r:container_t:s0:c1,c2\0")
    ),
    "another device's PCIe errors": lambda: host().dmesg(AER),
    "poison in the host's memory": lambda: host().dmesg("Memory failure: 0x3fd0a4: poison consumption recovery"),
    "pynvml beside a torch that does not import it": lambda: (
        noble().torch("2.9.1+rocm6.4", python="3.12").distribution("pynvml", "11.5.0")
    ),
    "the repository of a release that the matrix does not know yet": lambda: source(host(), "rocm/apt/11.0"),
    "the newest repository by its name": lambda: source(host(), "rocm/apt/latest"),
    "driver repository of 30.x": lambda: source(
        host().distro("ubuntu", "24.04").rocm("7.2.0"), "amdgpu/30.30/ubuntu", "noble", "amdgpu.list"
    ),
}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_nothing_is_said(name: str) -> None:
    assert flagged(SILENT[name]()) == {}


# (host, check that must fail or warn, its status, what a remedy must say, what none may say)
Case = tuple[Make, str, str, str, str]
FOUND: dict[str, Case] = {
    "LXC whose device cgroup lacks the render nodes": (
        lambda: host().container("lxc").render_nodes(open="EPERM"),
        "container.nodes-open", "fail", "lxc.cgroup2.devices.allow", "usermod",
    ),
    "Kubernetes without the device plug-in": (
        lambda: host().container("kubernetes").kfd(open="EPERM"),
        "container.nodes-open", "fail", "amd.com/gpu", "docker run",
    ),
    "a unit's device policy refuses the render nodes": (
        lambda: host().render_nodes(open="EPERM"), "kfd_node.opens", "fail", "DevicePolicy", "usermod",
    ),
    "root's node in a container": (
        lambda: host().container("docker").user("app", 1001).kfd(mode=0o600, gid=0),
        "permissions.kfd-access", "fail", "udev", "--group-add 0",
    ),
    "group of the nodes in a pod": (
        lambda: host().container("kubernetes").user("app", 1001, groups=()).kfd(gid=992).render_nodes(gid=992),
        "permissions.kfd-access", "fail", "supplementalGroups: [992]", "docker run",
    ),
    "group of the nodes in an LXC": (
        lambda: host().container("lxc").user("app", 1001, groups=()).kfd(gid=992).render_nodes(gid=992),
        "permissions.kfd-access", "fail", "gid=", "docker run",
    ),
    "group of the nodes in Apptainer": (
        lambda: host().container("apptainer").user("app", 1001, groups=()).kfd(gid=992).render_nodes(gid=992),
        "permissions.kfd-access", "fail", "on the host", "docker run",
    ),
    "IP discovery that cannot be read": (
        lambda: host().gpus(card("gfx942", state="probe-failed", log=(
            "amdgpu {bdf}: amdgpu: get invalid ip discovery binary signature",
            "[drm:amdgpu_discovery_set_ip_blocks [amdgpu]] *ERROR* amdgpu_discovery_init failed",
            "amdgpu {bdf}: amdgpu: Fatal error during GPU init", "amdgpu: probe of {bdf} failed with error -22",
        ))),
        "amdgpu_module.bound", "fail", "switch the machine off", "modprobe",
    ),
    "SELinux and a podman container": (
        lambda: host().container("podman").kfd(mode=0o666, open="EACCES"),
        "permissions.kfd-access", "fail", "label=disable", "--group-add",
    ),
    "AppArmor and a member of the group": (
        lambda: host().kfd(open="EACCES").file("/proc/self/attr/current", "snap.ollama.ollama (enforce)\n"),
        "permissions.kfd-access", "fail", "snap", "usermod",
    ),
    "a card beside NVIDIA, no group": (
        lambda: host().pci_device("0000:41:00.0", "10de", "2684", 0x030000, "nvidia").user(groups=("sudo",)),
        "permissions.kfd-access", "fail", "render", "chmod",
    ),
    "every card is kept for guests, amdgpu blacklisted": (
        lambda: host().fault_other_driver("vfio-pci").fault_blacklisted("modprobe.d"),
        "amdgpu_module.bound", "fail", "vfio-pci", "modprobe amdgpu",
    ),
    "modeset=0 among the module's options": (
        lambda: host().change_driver(loaded=False).file("/etc/modprobe.d/amdgpu.conf", "options amdgpu modeset=0\n"),
        "amdgpu_module.not-blacklisted", "fail", "/etc/modprobe.d/amdgpu.conf", "modprobe amdgpu",
    ),
    "an override that one card needs hits the APU": (
        lambda: host().gpus(card("gfx1032"), card("gfx90c", vram=512)).env(HSA_OVERRIDE_GFX_VERSION="10.3.0"),
        "hsa_override.fits", "warn", "ROCR_VISIBLE_DEVICES", "Unset",
    ),
    "an old card that this ROCm does not serve beside one that it does": (
        lambda: host().gpus(card("gfx1100"), card("gfx803")), "gpu_support.release", "warn", "", "HSA_OVERRIDE",
    ),
    "kernel for virtual machines": (
        lambda: host().kernel("5.15.0-1060-kvm").driver(None),
        "amdgpu_module.loaded", "fail", "standard kernel", "modules-extra-5",
    ),
    "no newer HWE kernel comes to this LTS": (
        lambda: (
            host()
            .gpus("gfx1201")
            .cards(state="probe-failed", log=("amdgpu {bdf}: amdgpu: Fatal error during GPU init",))
            .kernel("6.8.0-45-generic")
            .driver("inbox")
        ),
        "kernel.knows-gpu", "fail", "newer Ubuntu LTS", "linux-generic-hwe-22.04",
    ),
    "an APU on a kernel that does not know it": (
        lambda: (
            host()
            .distro("ubuntu", "24.04")
            .gpus("gfx1151")
            .rocm("7.2.1")
            .driver("inbox")
            .kernel("6.8.0-45-generic")
            .cards(state="probe-failed", log=("amdgpu {bdf}: amdgpu: Fatal error during GPU init",))
        ),
        "kernel.knows-gpu", "fail", "linux-oem-24.04", "amdgpu-dkms",
    ),
    "a pin too low to win": (
        lambda: (
            host()
            .fault_universe_rocminfo()
            .file("/etc/apt/preferences.d/rocm", "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 100\n")
        ),
        "repo.pin", "fail", "600", "--force",
    ),
    "graphics of 7.2.2": (
        lambda: source(host().distro("ubuntu", "24.04").rocm("7.2.1"), "graphics/7.2.2/ubuntu", "noble", "graphics.list"),
        "repo.paths", "fail", "", "--force",
    ),
    "CUDA_VISIBLE_DEVICES meant for an NVIDIA GPU": (
        lambda: (
            host().pci_device("0000:41:00.0", "10de", "2684", 0x030000, "nvidia").torch("2.5.1").env(CUDA_VISIBLE_DEVICES="1")
        ),
        "visibility_env.gpus-left", "warn", "HIP_VISIBLE_DEVICES", "Unset",
    ),
    "the GPU's own PCIe errors": (
        lambda: host().dmesg("amdgpu 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer"),
        "gpu_health.hardware", "fail", "reseat", "reinstall",
    ),
    "a container on a host whose driver does not start": (
        lambda: host().container("podman").cmdline("nomodeset").kfd(exists=False).render_nodes(exists=False),
        "container.devices", "fail", "on the host first", "usermod",
    ),
    "conda's libstdc++ before the system's": (
        lambda: (
            host()
            .env(LD_LIBRARY_PATH="/home/user1/miniconda3/lib")
            .rocminfo(stderr=f"rocminfo: /home/user1/miniconda3/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' {REQUIRED}", rc=1)
        ),
        "ld_path.symbols", "fail", "Take /home/user1/miniconda3/lib out", "hsa-rocr",
    ),
    "packages of a newer distribution": (
        lambda: host().rocminfo(stderr=f"rocminfo: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' {REQUIRED}", rc=1),
        "ld_path.symbols", "fail", "for this distribution", "hsa-rocr",
    ),
    "a library of the system is missing": (
        lambda: host().rocminfo(stderr=f"rocminfo: error while loading shared libraries: libnuma.so.1: {CANNOT_OPEN}", rc=127),
        "ld_path.symbols", "fail", "libnuma1", "hsa-rocr",
    ),
    "amd-smi without PyYAML": (
        lambda: host().command(("amd-smi", "list", "--json"), stderr="ModuleNotFoundError: No module named 'yaml'\n", rc=1),
        "smi_tools.work", "fail", "python3-yaml", "uninstall",
    ),
    "amd-smi in an old Python": (
        lambda: host().command(("amd-smi", "list", "--json"), stderr="SyntaxError: future feature annotations\n", rc=1),
        "smi_tools.work", "fail", "newer Python", "uninstall",
    ),
    "a scheduler that stopped and came back by a reset": (
        lambda: host().dmesg(
            "amdgpu 0000:03:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
            "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
        ),
        "gpu_health.responding", "warn", "kernel and firmware", "reinstall",
    ),
    "the power controller does not answer": (
        lambda: host().dmesg("amdgpu 0000:03:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x12"),
        "gpu_health.responding", "fail", "Reboot", "reinstall",
    ),
    "queues that could not be preempted": (
        lambda: host().dmesg("amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues preemption"),
        "gpu_health.responding", "fail", "Reboot", "reinstall",
    ),
    "too hot": (
        lambda: host().dmesg("amdgpu 0000:03:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!"),
        "gpu_health.temperature", "warn", "fans", "reinstall",
    ),
    "the older line of packages beside the newer": (
        lambda: host().distro("ubuntu", "24.04").rocm("10.0.0").also_rocm("7.2.0", versioned=False),
        "packages.one-release", "fail", "Remove the packages of the older line", "full-upgrade",
    ),
    "DKMS stopped at the compiler": (
        lambda: host().fault_dkms_failed(inbox=False).change_driver(
            make_log=("gcc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'", "make[2]: *** Error 1")
        ),
        "dkms.running-kernel", "fail", "gcc-12", "usermod",
    ),
    "DKMS serves the running kernel and fails for the next": (
        lambda: (
            host()
            .change_driver(package_state="half-configured")
            .file(
                "/var/lib/dkms/amdgpu/6.8.5-2009582.22.04/build/make.log",
                "DKMS make.log for amdgpu-6.8.5 for kernel 6.14.0-27-generic (x86_64)\nx.c:1: error: too few arguments\n",
            )
        ),
        "packages.configured", "fail", "6.14.0-27-generic", "usermod",
    ),
    "GPU dropped by this release": (
        lambda: host().distro("ubuntu", "24.04").rocm("7.0.2").gpus("gfx906").no_torch(),
        "gpu_support.release", "fail", "6.2.4", "6.0.0",
    ),
    "pynvml beside a torch that takes it for amdsmi": (
        lambda: host().distribution("pynvml", "11.5.0"), "python.amdsmi", "warn", "pynvml", "amdgpu-dkms",
    ),
    "a final .0 in the path": (lambda: source(host(), "rocm/apt/6.4.0"), "repo.paths", "fail", "6.4", "--force"),
    "a ROCm that never was": (lambda: source(host(), "rocm/apt/6.5"), "repo.paths", "fail", "Let rocmdoctor", "--force"),
    "driver repository without the distribution": (
        lambda: source(host(), "amdgpu/6.4", name="amdgpu.list"), "repo.paths", "fail", "", "--force",
    ),
    "noble before 6.2": (lambda: source(noble(), "rocm/apt/5.7", "noble"), "repo.suite", "fail", "Let rocmdoctor", "by noble"),
    "a codename that AMD does not build for": (
        lambda: source(noble(), "rocm/apt/7.2", "oracular"), "repo.suite", "fail", "noble", "--force",
    ),
    "Debian's own codename": (
        lambda: source(host().distro("debian", "12"), "rocm/apt/6.2", "bookworm"), "repo.suite", "fail", "jammy", "--force",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FOUND))
def test_the_fault_is_found(name: str) -> None:
    make, id, status, says, never = FOUND[name]
    found = flagged(make())
    assert id in found, sorted(found)
    assert found[id].status.value == status
    assert says in fixes(found[id])
    assert never not in fixes(found[id])
    assert Status.ERROR not in {r.status for r in found.values()}


def test_a_build_from_source_is_not_judged_by_the_table_of_wheels() -> None:
    """A distribution's torch, or an image's, has no tag +rocmX.Y and its own list of targets."""
    made = host().gpus("gfx1103").torch("2.7.1+rocm6.3", layout="system")
    assert "torch_arch.gpu" in flagged(made)
    assert "torch_arch.gpu" not in flagged(made.change_torch(version="2.7.1", metadata_version="2.7.1"))


def test_a_card_that_does_not_start_does_not_blame_the_processors_graphics() -> None:
    made = host().gpus(card("gfx1201"), card("gfx1036", vram=512)).kernel("6.8.0-45-generic").driver("inbox")
    found = flagged(made.cards(0, state="probe-failed", log=("amdgpu {bdf}: amdgpu: Fatal error during GPU init",)))
    assert "kernel.knows-gpu" in found
    assert all("610M" not in r.title for r in found.values())


def test_a_rocm_in_a_place_of_its_own_is_there() -> None:
    """A module tree or a Nix store is in no list of places; that its rocminfo lists the GPU tells that it is there."""
    bare = host().no_rocm().no_torch()
    assert "rocm_install.present" in flagged(bare)
    listed = next(c["stdout"] for c in host().snapshot().commands if c["argv"] == ["rocminfo"])
    said = bare.command(("rocminfo",), stdout=listed, program="/nix/store/x-rocminfo-6.2.0/bin/rocminfo")
    assert "rocm_install.present" not in flagged(said)


def test_repositories_of_two_releases_side_by_side() -> None:
    """Packages that carry their release in their names are never mixed; those that do not are."""
    beside = source(host().no_rocm().also_rocm("6.2.0").also_rocm("6.4.3"), "rocm/apt/6.4.3", name="rocm-6.4.3.list")
    assert "repo.one-release" not in flagged(source(beside, "rocm/apt/6.2", name="rocm-6.2.0.list"))
    mixed = source(source(host().rocm("6.2.0"), "rocm/apt/6.4.3", name="rocm-6.4.3.list"), "rocm/apt/6.2", name="rocm-6.2.0.list")
    assert flagged(mixed)["repo.one-release"].status is Status.WARN
