"""What follows from a Spec: addresses and node numbers of the cards, the driver in use, whether it loaded, which wheel is
there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tests.hostbuilder.gpu_models import APU_CPUS
from tests.hostbuilder.releases import Release, driver_of, driver_stamp, key, release_of, wheel_for
from tests.hostbuilder.spec import Account, Driver, PythonEnv, Rocm, Spec, Torch
from tests.hostbuilder.units import Unit, enumerate_cards

GIB = 1 << 30
MIB = 1 << 20


def torch_of_wheel(rocm: str) -> Torch:
    """The healthy wheel for a host's ROCm release."""
    wheel = wheel_for(rocm)
    return Torch(
        f"{wheel.torch}+rocm{wheel.rocm}", "rocm", wheel.hip,
        wheel.rocm if key(wheel.torch) >= (2, 10) else None, None, wheel.gfx, "bundled" if wheel.bundled else "rocm-sdk",
        (wheel.triton_name if wheel.bundled else "triton", wheel.triton), f"{wheel.torchvision}+rocm{wheel.rocm}",
        f"{wheel.torchaudio}+rocm{wheel.rocm}",
    )  # fmt: skip


class Resolved:
    """Answers about one Spec; everything that more than one renderer needs."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.distro = spec.distro
        self.place = spec.place
        self.wsl = spec.place.kind == "wsl"
        self.container = spec.place.kind == "container"

    # kernel ----------------------------------------------------------------------------------------------------

    @cached_property
    def kernel(self) -> str:
        if self.spec.kernel:
            return self.spec.kernel
        return "6.6.87.2-microsoft-standard-WSL2" if self.wsl else self.distro.kernel

    @cached_property
    def kernel_build(self) -> str:
        if self.spec.kernel_build:
            return self.spec.kernel_build
        if self.kernel == self.distro.kernel:
            return self.distro.build
        return "#1 SMP PREEMPT_DYNAMIC Thu Jun  5 18:30:46 UTC 2025"

    @cached_property
    def modules_dir(self) -> str:
        return f"/lib/modules/{self.kernel}"

    # driver ----------------------------------------------------------------------------------------------------

    @cached_property
    def release(self) -> Release:
        """Of the active ROCm; without one, the table's default."""
        return release_of(self.spec.rocm[0].version if self.spec.rocm else "6.2.0")

    @cached_property
    def driver(self) -> Driver | None:
        driver = self.spec.driver
        if driver is None or self.wsl:
            return None
        if driver.kind != "auto":
            return driver
        apus = bool(self.spec.cards) and all(c.model.apu for c in self.spec.cards)
        wanted = driver.release or (self.spec.rocm and self.spec.rocm[0].origin in ("amd-package", "amdrocm-package"))
        dkms = wanted and self.distro.amd_base and not apus and bool(self.spec.cards)
        return replace(driver, kind="dkms" if dkms else "inbox")

    @property
    def dkms(self) -> bool:
        return self.driver is not None and self.driver.kind == "dkms"

    @cached_property
    def driver_row(self) -> Release:
        driver = self.driver
        return driver_of(driver.release) if driver and driver.release else self.release

    @cached_property
    def driver_release(self) -> str:
        driver = self.driver
        return driver.release if driver and driver.release else self.release.driver

    @cached_property
    def module_version(self) -> str:
        driver = self.driver
        return driver.module_version if driver and driver.module_version else self.driver_row.module

    @cached_property
    def dkms_version(self) -> str:
        """As `dkms status` prints it: "6.8.5-2009582.22.04"."""
        driver = self.driver
        build = driver.module_build if driver and driver.module_build else self.driver_row.module_build
        return f"{self.module_version}-{build}{self.package_suffix('.')}"

    @cached_property
    def driver_package_version(self) -> str:
        """Without epoch: "6.8.5.60200-2009582.22.04"."""
        version, _, rest = self.dkms_version.partition("-")
        return f"{version}.{driver_stamp(self.driver_release)}-{rest}"

    def package_suffix(self, separator: str) -> str:
        """ ".22.04" or "~22.04" for deb packages (Debian's are those of the Ubuntu suite), ".el9" for rpm."""
        d = self.distro
        if d.deb:
            number = {"focal": "20.04", "jammy": "22.04", "noble": "24.04", "resolute": "26.04"}[d.suite]
            return f"{separator}{number}"
        return f".{d.tag}" if d.tag else ""

    @cached_property
    def blocked(self) -> tuple[str, ...] | None:
        """Why the module is not loaded: what the kernel log says of it (may be nothing at all); None when it is loaded."""
        driver = self.driver
        if driver is None:
            return ()
        if not driver.loaded:
            return driver.log
        m = self.spec.machine
        if self.dkms_file and m.uefi and m.secure_boot and not m.mok_enrolled:
            return ("Loading of module with unavailable key is rejected",)
        for word in self.spec.cmdline:
            name, _, value = word.partition("=")
            if word == "nomodeset" or (name in ("amdgpu.modeset", "radeon.modeset") and value == "0"):
                return ("amdgpu: VGACON disables amdgpu kernel modesetting.",)
            if name in ("modprobe.blacklist", "module_blacklist") and "amdgpu" in value.split(","):
                return ()
        return () if driver.kind != "builtin" and not driver.file and not self.dkms_file else None

    @property
    def loaded(self) -> bool:
        return self.blocked is None

    @cached_property
    def dkms_file(self) -> bool:
        """DKMS has a module for the running kernel in its place."""
        d = self.driver
        return bool(d and d.kind == "dkms" and d.state == "installed" and (d.built_for is None or self.kernel in d.built_for))

    @property
    def running_dkms(self) -> bool:
        """The loaded module is the one that DKMS built; otherwise it is the kernel's own."""
        return self.loaded and self.dkms_file

    @cached_property
    def cmdline(self) -> tuple[str, ...]:
        """Words on the kernel command line. With several cards iommu=pt is there, as AMD asks, unless another IOMMU word is."""
        words = self.spec.cmdline
        several = sum(not c.model.apu for c in self.spec.cards) > 1
        chosen = any(w.partition("=")[0] in ("iommu", "amd_iommu", "intel_iommu") for w in words)
        return ("iommu=pt", *words) if several and not chosen else words

    # cards -----------------------------------------------------------------------------------------------------

    @cached_property
    def numa_nodes(self) -> int:
        if self.spec.machine.numa_nodes:
            return self.spec.machine.numa_nodes
        server = any(c.model.klass == "instinct" for c in self.spec.cards)
        return 2 if server and len(self.spec.cards) > 1 and not self.spec.place.vm else 1

    @cached_property
    def cpu(self) -> str:
        m, cards = self.spec.machine, self.spec.cards
        if m.cpu:
            return m.cpu
        for card in cards:
            if card.model.apu:
                return APU_CPUS.get(card.gfx, "AMD Ryzen 7 8700G w/ Radeon 780M Graphics")
        server = any(c.model.klass in ("instinct", "virtual") for c in cards)
        return "AMD EPYC 9654 96-Core Processor" if server else "AMD Ryzen 9 7950X 16-Core Processor"

    @cached_property
    def cores(self) -> int:
        """Logical CPUs of one NUMA node."""
        if self.spec.machine.cores:
            return self.spec.machine.cores
        return 192 if "EPYC" in self.cpu else 32

    @cached_property
    def memory(self) -> int:
        """Bytes of system memory."""
        if self.spec.machine.memory:
            return self.spec.machine.memory * GIB
        return 768 * GIB * self.numa_nodes if "EPYC" in self.cpu else 64 * GIB

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Cards with their addresses and numbers, in the order of the list."""
        kfd = self.loaded and self.driver is not None and self.driver.kfd
        virtual = bool(self.spec.place.vm) and not self.container
        return enumerate_cards(self.spec.cards, self.numa_nodes, loaded=self.loaded, kfd=kfd, virtual=virtual)

    @property
    def kfd_units(self) -> Iterator[Unit]:
        return (u for u in self.units if u.nodes)

    @cached_property
    def has_kfd(self) -> bool:
        """/dev/kfd and the topology exist (the driver makes them even when no card could be added)."""
        return self.loaded and self.driver is not None and self.driver.kfd

    # user ------------------------------------------------------------------------------------------------------

    @cached_property
    def account(self) -> Account:
        if self.spec.account:
            return self.spec.account
        return Account("root", 0) if self.container else Account()

    @cached_property
    def groups(self) -> dict[str, int]:
        """The group database, name to gid."""
        admin, gid = self.distro.admin_group
        groups = {"root": 0, admin: gid, "adm": 4, "video": self.distro.video, "nogroup" if self.distro.deb else "nobody": 65534}
        if not self.container:
            groups["render"] = self.distro.render
        account = self.account
        if account.name not in groups:
            groups[account.name] = account.gid if account.gid is not None else account.uid
        for name in (*(account.groups or ()), *(account.session or ())):
            if name not in groups:
                groups[name] = self.distro.render if name == "render" else 1001 + len(groups)
        return groups

    @cached_property
    def gid(self) -> int:
        account = self.account
        return account.gid if account.gid is not None else account.uid

    @cached_property
    def database_groups(self) -> tuple[int, ...]:
        account = self.account
        names = account.groups
        if names is None:
            names = () if account.uid == 0 else (self.distro.admin_group[0], "video", "render")
        return tuple(dict.fromkeys((self.gid, *(self.groups[n] for n in names if n in self.groups))))

    @cached_property
    def session_groups(self) -> tuple[int, ...]:
        session = self.account.session
        if session is None:
            extra = (65534,) if self.place.rootless and self.container else ()
            return (*self.database_groups, *extra)
        return tuple(dict.fromkeys((self.gid, *(self.groups[n] for n in session))))

    @cached_property
    def home(self) -> str:
        return "/root" if self.account.uid == 0 else f"/home/{self.account.name}"

    # software --------------------------------------------------------------------------------------------------

    @property
    def rocm(self) -> Rocm | None:
        return self.spec.rocm[0] if self.spec.rocm else None

    @cached_property
    def torch(self) -> Torch | None:
        torch = self.spec.torch
        if torch is None or isinstance(torch, Torch):
            return torch
        if not self.spec.cards or self.spec.python is None:
            return None
        wanted = {c.gfx for c in self.spec.cards if c.state == "ok"}
        found = torch_of_wheel(self.release.version)
        return found if wanted <= set(found.gfx) else None

    @cached_property
    def python(self) -> PythonEnv | None:
        """The environment with its Python version settled: the distribution's, or a newer one where the wheel needs it."""
        env = self.spec.python
        if env is None or env.version:
            return env
        own = self.distro.python
        if self.torch is not None and env.kind in ("venv", "conda"):
            low, _, high = wheel_for(self.torch.rocm or self.release.version).python.partition("-")
            if key(own) < key(low):
                own = "3.11" if key(low) <= (3, 11) else low
            elif key(own) > key(high):
                own = high
        return replace(env, version=own)
