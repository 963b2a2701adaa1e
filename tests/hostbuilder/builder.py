"""The fluent builder: starts from a healthy host; every method returns a new builder, so a fault and its healthy twin share a
base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tests.hostbuilder.core import Core
from tests.hostbuilder.distros import distro_of
from tests.hostbuilder.releases import key, release_of, wheel_named
from tests.hostbuilder.resolved import Resolved, torch_of_wheel
from tests.hostbuilder.spec import Account, Card, Driver, NodeRule, Place, PythonEnv, Rocm, Torch, card

B = TypeVar("B", bound="Builder")


def _tree(version: str, root: str | None, origin: str | None, **more: Any) -> Rocm:
    if origin is None:
        origin = "amdrocm-package" if release_of(version).therock else "amd-package"
    if root is None:
        if origin == "distro-package":
            root = "/usr"
        elif release_of(version).therock:
            root = f"/opt/rocm/core-{release_of(version).two}"
        else:
            root = f"/opt/rocm-{version}"
    return Rocm(version, root, origin, **more)


class Builder(Core):
    """Parts of the host. Without any call: Ubuntu 22.04 with the HWE kernel 6.8, one RX 7900 XTX, ROCm 6.2.0 and its DKMS
    driver from AMD's packages, a venv with torch 2.5.1+rocm6.2, and user1 in the groups video and render."""

    __slots__ = ()

    # system ----------------------------------------------------------------------------------------------------

    def distro(self: B, ident: str, version: str = "") -> B:
        """By os-release's ID and VERSION_ID; kernel, Python, packages and repositories follow.

        Distributions without AMD packages (Fedora, Arch, Tumbleweed ...) get their own ROCm and the kernel's driver unless
        `rocm()` says otherwise afterwards.
        """
        found = distro_of(ident, version)
        rocm = self.spec.rocm
        if not found.amd_base and rocm and rocm[0].origin == "amd-package":
            root = "/opt/rocm" if found.family == "arch" else "/usr"
            rocm = (Rocm(rocm[0].version, root, "distro-package"), *rocm[1:])
        return self._with(distro=found, rocm=rocm)

    def kernel(self: B, release: str, build: str | None = None) -> B:
        """The running kernel ("5.14.0-427.13.1.el9_4.x86_64") and what uname -v says."""
        return self._with(kernel=release, kernel_build=build)

    def machine(self: B, **changes: Any) -> B:
        """CPU, memory (GiB), NUMA nodes, limits, firmware: the fields of spec.Machine."""
        return self._with(machine=replace(self.spec.machine, **changes))

    def secure_boot(self: B, enabled: bool = True, *, enrolled: bool = True) -> B:
        """UEFI Secure Boot; with a DKMS module whose key is not enrolled, the module does not load."""
        return self.machine(uefi=True, secure_boot=enabled, mok_enrolled=enrolled)

    def cmdline(self: B, *words: str) -> B:
        """More words on the kernel command line; nomodeset and blacklists take effect."""
        return self._with(cmdline=(*self.spec.cmdline, *(w for word in words for w in word.split())))

    def dmesg(self: B, *lines: str) -> B:
        """More lines at the end of the kernel log ("[ 12.5] text" keeps its time)."""
        return self._with(log=(*self.spec.log, *lines))

    # GPUs and driver -------------------------------------------------------------------------------------------

    def gpus(self: B, *cards: str | Card, count: int = 1, **more: Any) -> B:
        """The GPUs, by gfx target or as `card(...)`; keywords (device, revision, product, vram in MiB, partitions ...) go to
        each gfx."""
        made = [c if isinstance(c, Card) else card(c, **more) for c in (cards or ("gfx1100",)) for _ in range(count)]
        return self._with(cards=tuple(made))

    def add_gpus(self: B, *cards: str | Card, count: int = 1, **more: Any) -> B:
        """More GPUs behind those that are there."""
        added = Builder().gpus(*cards, count=count, **more).spec.cards
        return self._with(cards=(*self.spec.cards, *added))

    def no_gpus(self: B) -> B:
        """No AMD GPU on the bus."""
        return self._with(cards=())

    def cards(self: B, index: int | None = None, **changes: Any) -> B:
        """Change fields of every card (or the one at `index`): state, bound, log, bar, vram ..."""
        made = (replace(c, **changes) if index in (None, n) else c for n, c in enumerate(self.spec.cards))
        return self._with(cards=tuple(made))

    def pci_device(self: B, address: str, vendor: str, device: str, klass: int, driver: str | None = None) -> B:
        """Another PCI function: `pci_device("0000:41:00.0", "10de", "2684", 0x030000, "nvidia")`."""
        folder = f"/sys/bus/pci/devices/{address}"
        made = self
        values = {
            "vendor": f"0x{vendor}",
            "device": f"0x{device}",
            "class": f"0x{klass:06x}",
            "revision": "0xa1",
            "numa_node": "-1",
        }
        for name, value in values.items():
            made = made.file(f"{folder}/{name}", value + "\n")
        return made.node(f"{folder}/driver", type="link", target=f"../../../../bus/pci/drivers/{driver}") if driver else made

    def driver(self: B, kind: str | None = "dkms", **more: Any) -> B:
        """dkms | inbox | builtin | auto; None: the kernel has no amdgpu at all. Keywords: fields of spec.Driver (release
        "30.10.2", ...)."""
        return self._with(driver=None if kind is None else Driver(kind, **more))

    def change_driver(self: B, **changes: Any) -> B:
        """Keep the driver, change some of its fields."""
        return self._with(driver=replace(self.spec.driver or Driver(), **changes))

    # software --------------------------------------------------------------------------------------------------

    def rocm(
        self: B, version: str, root: str | None = None, *, packages: bool = True, origin: str | None = None, **more: Any
    ) -> B:
        """The active ROCm. `origin`: amd-package | amdrocm-package (7.9 and later) | distro-package | tarball. Keywords:
        fields of spec.Rocm."""
        if origin is None and not packages:
            origin = "tarball"
        return self._with(rocm=(_tree(version, root, origin, packages=packages, **more), *self.spec.rocm[1:]))

    def also_rocm(self: B, version: str, root: str | None = None, **more: Any) -> B:
        """Another tree beside the active one, from side-by-side packages."""
        more = {"versioned": True, **more}
        return self._with(rocm=(*self.spec.rocm, _tree(version, root, more.pop("origin", None), **more)))

    def no_rocm(self: B) -> B:
        """No ROCm on the system: neither /opt/rocm nor packages nor tools (a wheel brings its own)."""
        return self._with(rocm=())

    def change_rocm(self: B, **changes: Any) -> B:
        """Change fields of the active tree: gfx, missing, versioned ..."""
        return self._with(rocm=(replace(self.spec.rocm[0], **changes), *self.spec.rocm[1:]))

    def torch(
        self: B,
        version: str,
        *,
        python: str | None = None,
        hip: str | None = None,
        gfx: Sequence[str] | None = None,
        layout: str | None = None,
        env: str | None = None,
        **more: Any,
    ) -> B:
        """A torch build by its version: "2.5.1+rocm6.2", "2.5.1+cu124", "2.5.1+cpu", or "2.5.1" (the CUDA build of PyPI).

        What is not said follows from the table of wheels. `env`: venv | conda | system | user. Keywords: fields of spec.Torch.
        """
        plain, _, tag = version.partition("+")
        base: Torch
        if tag.startswith("rocm"):
            wheel = wheel_named(plain, tag[4:].partition(".git")[0])
            base = replace(
                torch_of_wheel(wheel.rocm), version=version, hip=wheel.hip, gfx=wheel.gfx,
                layout="bundled" if wheel.bundled else "rocm-sdk", rocm=wheel.rocm if key(plain) >= (2, 10) else None,
                triton=(wheel.triton_name if wheel.bundled else "triton", wheel.triton), torchvision=f"{wheel.torchvision}+{tag}",
                torchaudio=f"{wheel.torchaudio}+{tag}",
            )  # fmt: skip
        elif tag == "cpu":
            base = Torch(version, "cpu", None, None, None, (), None)
        else:
            cuda = f"{tag[2:-1]}.{tag[-1]}" if tag.startswith("cu") else "12.4"
            shown = version if tag else f"{plain}+cu124"
            base = Torch(shown, "cuda", None, None, cuda, (), None, ("triton", "3.1.0"), metadata_version=None if tag else plain)
        changes: dict[str, Any] = {"hip": hip, "gfx": tuple(gfx) if gfx is not None else None, "layout": layout}
        base = replace(base, **{k: v for k, v in changes.items() if v is not None}, **more)
        made = self._with(torch=base)
        return made.python(env or (self.spec.python or PythonEnv()).kind, python) if env or python else made

    def no_torch(self: B) -> B:
        return self._with(torch=None)

    def change_torch(self: B, **changes: Any) -> B:
        """Change fields of the torch that is there: library_gfx, devices, record ..."""
        torch = Resolved(self.spec).torch
        assert torch is not None, "this host has no torch"
        return self._with(torch=replace(torch, **changes))

    def python(self: B, kind: str | None = "venv", version: str | None = None, path: str | None = None) -> B:
        """The environment: venv | conda | system | user; None: only the bare system interpreter."""
        extra = self.spec.python.extra if self.spec.python else ()
        return self._with(python=None if kind is None else PythonEnv(kind, version, path, extra))

    def distribution(self: B, name: str, version: str) -> B:
        """One more Python distribution in the environment (pip package)."""
        env = self.spec.python or PythonEnv()
        return self._with(python=replace(env, extra=(*env.extra, (name, version))))

    # user and place --------------------------------------------------------------------------------------------

    def user(
        self: B,
        name: str = "user1",
        uid: int = 1000,
        *,
        gid: int | None = None,
        groups: Sequence[str] | None = None,
        session_groups: Sequence[str] | None = None,
        sudo_user: str | None = None,
    ) -> B:
        """The asked user. `groups`: names in the database; `session_groups`: of the running session (None: the same)."""
        session = None if session_groups is None else tuple(session_groups)
        return self._with(account=Account(name, uid, gid, None if groups is None else tuple(groups), session, sudo_user))

    def env(self: B, **variables: str | None) -> B:
        """Environment variables; None takes one away, "" is kept as empty. HSA_OVERRIDE_GFX_VERSION shows in rocminfo."""
        return self._with(env=(*self.spec.env, *variables.items()))

    def container(self: B, engine: str = "docker", *, rootless: bool = False) -> B:
        """docker | podman | lxc | kubernetes | apptainer | systemd-nspawn; the kernel and the devices are the host's."""
        return self._with(place=replace(self.spec.place, kind="container", engine=engine, rootless=rootless))

    def wsl(self: B, *, libraries: bool = True) -> B:
        """WSL2: no amdgpu, no /dev/kfd, but /dev/dxg. `libraries`: the run time was built for it (librocdxg)."""
        return self._with(place=Place("wsl", wsl_libraries=libraries), machine=replace(self.spec.machine, uefi=False))

    def vm(self: B, engine: str = "kvm") -> B:
        """kvm | vmware | hyperv | amazon | google | virtualbox | xen | docker-desktop."""
        kind = self.spec.place.kind
        return self._with(
            place=replace(
                self.spec.place, kind="vm" if kind == "bare-metal" else kind, engine=self.spec.place.engine or engine, vm=engine
            )
        )

    def kfd(self: B, **rule: Any) -> B:
        """/dev/kfd: mode (octal int), uid, gid, open ("EACCES" ...), exists."""
        return self._with(kfd_rule=NodeRule(**rule))

    def render_nodes(self: B, **rule: Any) -> B:
        """/dev/dri/renderD*: as kfd()."""
        return self._with(render_rule=NodeRule(**rule))
