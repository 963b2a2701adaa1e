"""Faults of packages, repositories, ROCm trees, PyTorch, the environment, containers and WSL."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tests.hostbuilder.builder import Builder
from tests.hostbuilder.faults import fault
from tests.hostbuilder.gpu_models import override_value
from tests.hostbuilder.openpgp import armored, public_key
from tests.hostbuilder.package_db import AMD
from tests.hostbuilder.releases import release_of

B = TypeVar("B", bound="SoftwareFaults")


class SoftwareFaults(Builder):
    """From the package database up to torch."""

    __slots__ = ()

    @fault("os_support", status="warn")
    def fault_old_distribution(self: B) -> B:
        """AMD has dropped this distribution from the release's list."""
        return self.distro("ubuntu", "20.04").rocm("7.2.0")

    # packages --------------------------------------------------------------------------------------------------

    @fault("packages", "dkms")
    def fault_half_configured(self: B, *names: str) -> B:
        """dpkg could not finish some packages."""
        made = self
        for name in names or ("rocm-llvm",):
            row = self.resolved.release
            version = f"18.0.0.24232.{row.stamp}-{row.build}{self.resolved.package_suffix('~')}"
            made = made.package(name, version, state="half-configured", vendor=AMD)
        return made

    @fault("packages", "rocm_side_by_side")
    def fault_mixed_releases(self: B, other: str = "6.1.0") -> B:
        """A partial upgrade: some packages are of another release than the rest."""
        row, suffix = release_of(other), self.resolved.package_suffix("~")
        made = self
        for name, own in (("hip-runtime-amd", row.hip), ("rocblas", "4.1.0"), ("rocprofiler-register", "0.3.0")):
            made = made.package(name, f"{own}.{row.stamp}-{row.build}{suffix}", vendor=AMD)
        return made

    @fault("packages", "rocm_side_by_side", status="warn")
    def fault_versioned_mix(self: B, other: str = "6.1.0") -> B:
        """Versioned side-by-side packages together with unversioned ones, which AMD does not support."""
        return self.also_rocm(other)

    @fault("repo", "packages")
    def fault_universe_rocminfo(self: B) -> B:
        """Ubuntu's own rocminfo has outranked AMD's: the pin is missing."""
        return self.pin(False).package("rocminfo", "5.7.1-3build1").package("hipcc", "5.7.1-3")

    # repositories ----------------------------------------------------------------------------------------------

    def keyring(
        self: B,
        path: str = "/etc/apt/keyrings/rocm.gpg",
        *,
        created: str = "2016-04-26",
        expires: str | None = None,
        armor: bool = False,
    ) -> B:
        """A keyring whose content is known: a made-up key with those dates (YYYY-MM-DD)."""
        key = public_key(created, expires)
        return self.file(path, armored(key) if armor else key)

    @fault("repo")
    def fault_key_expired(self: B, expires: str = "2021-07-31") -> B:
        return self.keyring(expires=expires)

    @fault("repo")
    def fault_key_missing(self: B) -> B:
        """signed-by names a keyring that is not there."""
        return self.remove("/etc/apt/keyrings/rocm.gpg")

    @fault("repo", status="warn")
    def fault_wrong_codename(self: B, suite: str = "noble") -> B:
        """The repository is that of another Ubuntu release."""
        row = self.resolved.release
        line = f"https://repo.radeon.com/rocm/apt/{row.short} {suite} main\n"
        return self.repo("rocm.list", f"deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] {line}")

    @fault("repo", "rocm_side_by_side", status="warn")
    def fault_two_releases(self: B, other: str = "6.1") -> B:
        """Two source files of different releases."""
        suite = self.spec.distro.suite
        line = f"https://repo.radeon.com/rocm/apt/{other} {suite} main\n"
        return self.repo("rocm-old.list", f"deb [arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg] {line}")

    @fault("repo", status="warn")
    def fault_unsigned_repo(self: B) -> B:
        """[trusted=yes] and no key."""
        row, suite = self.resolved.release, self.spec.distro.suite
        return self.repo("rocm.list", f"deb [arch=amd64 trusted=yes] https://repo.radeon.com/rocm/apt/{row.short} {suite} main\n")

    # ROCm ------------------------------------------------------------------------------------------------------

    @fault("rocm_install", status="warn")
    def fault_no_rocm(self: B) -> B:
        """Neither ROCm nor torch is installed."""
        return self.no_rocm().no_torch()

    @fault("rocm_install", "ld_path", "rocminfo")
    def fault_library_missing(self: B, name: str = "libhsa-runtime64.so") -> B:
        """A library of the tree is gone, and rocminfo does not start."""
        why = "cannot open shared object file: No such file or directory"
        said = f"rocminfo: error while loading shared libraries: {name}.1: {why}\n"
        return self.change_rocm(missing=(f"{name}*",)).rocminfo("", stderr=said, rc=127)

    @fault("rocm_install", "rocm_side_by_side")
    def fault_dangling_link(self: B) -> B:
        """/opt/rocm points to a release that is no longer there."""
        return (
            self.link("/etc/alternatives/rocm", "/opt/rocm-6.0.0")
            .no_command("rocminfo")
            .no_command("amd-smi")
            .no_command("rocm-smi")
        )

    @fault("gpu_support")
    def fault_rocm_without_gfx(self: B) -> B:
        """The release has no kernels for the card: no file of its rocBLAS names the target."""
        return self.gpus("gfx1031").no_torch()

    @fault("smi_tools", status="warn")
    def fault_amd_smi_traceback(self: B) -> B:
        """amd-smi's Python part and its library are of different releases."""
        said = (
            "Traceback (most recent call last):\n"
            '  File "/opt/rocm-6.2.0/libexec/amdsmi_cli/amdsmi_cli.py", line 31, in <module>\n'
            "    from amdsmi_init import *\n"
            "AttributeError: /opt/rocm-6.1.0/lib/libamd_smi.so.24: undefined symbol: amdsmi_get_gpu_partition_metrics_info\n"
        )
        return self.command(("amd-smi", "list", "--json"), program="/opt/rocm/bin/amd-smi", rc=1, stderr=said)

    @fault("mixed_gpu", "gpu_support", "rocminfo")
    def fault_polaris_beside(self: B) -> B:
        """One Polaris card stops ROCm 7 for every GPU in the machine."""
        made = self.rocm("7.2.0").add_gpus("gfx803")
        call = "hsa api call failure at: rocminfo.cc:1148\nCall returned HSA_STATUS_ERROR: A generic error has occurred."
        return made.rocminfo(f"ROCk module version 6.16.13 is loaded\n{call}\n", rc=1)

    # torch -----------------------------------------------------------------------------------------------------

    @fault("torch_build")
    def fault_cuda_torch(self: B, version: str = "2.5.1") -> B:
        """The CUDA build of the default index."""
        return self.torch(version)

    @fault("torch_build")
    def fault_cpu_torch(self: B, version: str = "2.5.1+cpu") -> B:
        return self.torch(version)

    @fault("torch_arch")
    def fault_torch_without_gfx(self: B) -> B:
        """The wheel was built without the card's target."""
        mine = {c.gfx for c in self.spec.cards}
        torch = self.resolved.torch
        assert torch is not None
        return self.change_torch(gfx=tuple(g for g in torch.gfx if g not in mine))

    @fault("torch_build", "python", status="warn")
    def fault_companion_mismatch(self: B) -> B:
        """torchvision belongs to another torch."""
        return self.change_torch(torchvision="0.18.1+rocm6.0")

    @fault("torch_rocm_match", base="old_driver")
    def fault_torch_newer_than_driver(self: B) -> B:
        """A wheel of ROCm 7.2 over a driver of ROCm 5.7."""
        return self.torch("2.11.0+rocm7.2")

    def old_driver(self: B) -> B:
        """ROCm 5.7 with its driver on the HWE kernel of its time: the twin for wheels that are too new."""
        build = "#26~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Jul 13 16:27:29 UTC 2"
        return self.kernel("6.2.0-26-generic", build).rocm("5.7.1").no_torch()

    @fault("triton", status="warn")
    def fault_plain_triton(self: B) -> B:
        """The triton of PyPI beside the one that torch wants."""
        return self.distribution("triton", "3.5.1")

    # environment -----------------------------------------------------------------------------------------------

    @fault("hsa_override")
    def fault_override(self: B, gfx: str = "gfx1030") -> B:
        """HSA_OVERRIDE_GFX_VERSION names another target than the card's."""
        return self.env(HSA_OVERRIDE_GFX_VERSION=override_value(gfx))

    @fault("hsa_override")
    def fault_override_empty(self: B) -> B:
        """Set but empty hides every GPU."""
        return self.env(HSA_OVERRIDE_GFX_VERSION="")

    @fault("visibility_env")
    def fault_hidden(self: B, variable: str = "HIP_VISIBLE_DEVICES", value: str = "") -> B:
        return self.env(**{variable: value})

    @fault("ld_path", "rocm_side_by_side", status="warn")
    def fault_library_path(self: B, other: str = "5.7.1") -> B:
        """LD_LIBRARY_PATH puts another release ahead of what torch and the tools want."""
        return self.also_rocm(other).env(LD_LIBRARY_PATH=f"/opt/rocm-{other}/lib")

    # places ----------------------------------------------------------------------------------------------------

    def docker(self: B) -> B:
        """A container that has the devices: the twin for container faults."""
        return self.container("docker")

    @fault("container", "kfd_node", "gpu_present", base="docker")
    def fault_devices_not_passed(self: B) -> B:
        """The container was started without --device=/dev/kfd --device=/dev/dri."""
        return self.kfd(exists=False).render_nodes(exists=False)

    @fault("permissions", "container", base="docker")
    def fault_unnamed_gid(self: B, gid: int = 992) -> B:
        """The nodes' group has no name in the container, and its user is not in it."""
        return self.user("app", 1001, groups=("video",)).kfd(gid=gid).render_nodes(gid=gid)

    @fault("container", "permissions", "kfd_node", base="docker")
    def fault_device_cgroup(self: B) -> B:
        """A device cgroup (or Kubernetes without the device plug-in) forbids /dev/kfd: EPERM."""
        return self.kfd(open="EPERM").render_nodes(open="EPERM")

    @fault("permissions", base="docker")
    def fault_selinux(self: B) -> B:
        """SELinux keeps the container from devices that everybody may open by their mode."""
        label = "system_u:system_r:container_t:s0:c361,c898\0"
        return self.kfd(mode=0o666, open="EACCES").render_nodes(mode=0o666, open="EACCES").file("/proc/self/attr/current", label)

    @fault("memlock_shm", status="any", base="docker")
    def fault_small_shm(self: B) -> B:
        """/dev/shm is docker's default of 64 MiB on a machine with several GPUs."""
        return self.gpus("gfx942", count=4).machine(shm=64 << 20)

    def in_wsl(self: B) -> B:
        """WSL2 with a run time built for it: the twin for WSL faults."""
        return self.distro("ubuntu", "24.04").rocm("7.2.1").wsl().change_rocm(repo=True)

    @fault("wsl", base="in_wsl")
    def fault_wsl_native(self: B) -> B:
        """A native install inside WSL: amdgpu-dkms, and a run time that knows no /dev/dxg."""
        row = self.resolved.release
        version = f"1:{row.module}.30300100-{row.module_build}.24.04"
        made = self._with(place=replace(self.spec.place, wsl_libraries=False))
        return made.package("amdgpu-dkms", version, arch="all", vendor=AMD).package(
            "amdgpu-dkms-firmware", version, arch="all", vendor=AMD
        )

    @fault("wsl", base="in_wsl")
    def fault_wsl_no_dxg(self: B) -> B:
        """No /dev/dxg: the Windows driver or WSL itself is too old."""
        return self.remove("/dev/dxg").rocminfo("WSL environment detected.\n", rc=1)
