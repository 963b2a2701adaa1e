"""What a host is, before it is written down: frozen parts that the builder replaces one by one.

Files, nodes and commands follow from these in one go (render.py), so that a single change (say, a module that does not load)
shows in every place where a real machine would show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tests.hostbuilder.distros import Distro, distro_of
from tests.hostbuilder.gpu_models import GpuModel, model_of

NodeDict: TypeAlias = dict[str, Any]
CommandDict: TypeAlias = dict[str, Any]


class Snapshot(NamedTuple):
    """The four parts of a snapshot (format 1), ready for RecordedHost or to be written."""

    meta: dict[str, Any]
    files: dict[str, bytes]
    nodes: dict[str, NodeDict]
    commands: list[CommandDict]


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU board or APU.

    `state`: ok | probe-failed | kfd-skipped (bound, DRM works, no KFD node) | unbound. `bound` is the driver that holds it
    ("vfio-pci", "radeon"), amdgpu unless said. `log`: what the kernel says of it instead of a clean start ({bdf} and {id} are
    filled in). `bar`: MiB that BAR 0 covers, None for all of the memory (0: not assigned).
    """

    model: GpuModel
    product: str
    address: str | None = None
    vram: int | None = None
    gtt: int | None = None
    pool: int | None = None
    """MiB that KFD offers where it is neither all of the VRAM nor an APU's GTT domain."""
    partitions: int = 1
    memory_partitions: int = 1
    state: str = "ok"
    bound: str = "amdgpu"
    log: tuple[str, ...] = ()
    bar: int | None = None
    physfn: bool = False
    xgmi: bool = True
    link: tuple[str, int] | None = None
    """Negotiated link, ("16.0 GT/s PCIe", 16)."""

    @property
    def gfx(self) -> str:
        return self.model.gfx

    @property
    def vram_mib(self) -> int:
        return self.vram if self.vram is not None else self.model.vram

    @property
    def hive(self) -> bool:
        """Instinct boards of one machine are linked by xGMI."""
        return self.xgmi and self.model.klass in ("instinct", "virtual") and self.gfx not in ("gfx900", "gfx1250")


def card(
    gfx: str = "gfx1100",
    *,
    device: str | None = None,
    revision: str | None = None,
    product: str | None = None,
    vram: int | None = None,
    **more: Any,
) -> Card:
    """A card by gfx target, for mixed lists: `.gpus(card("gfx1100"), card("gfx1036", vram=512))`. `vram` in MiB."""
    model = model_of(gfx, device, revision)
    return Card(model, product if product is not None else model.product, vram=vram, **more)


@dataclass(frozen=True, slots=True)
class Driver:
    """`kind`: dkms | inbox | builtin | auto (what suits the cards and the distribution). `release`: driver release, None for
    the one that came with the active ROCm. `built_for`: kernels that DKMS built for (None: the running one). `state` is what
    `dkms status` says. `loaded` False with `log` lines says why the module is not there."""

    kind: str = "auto"
    release: str | None = None
    module_version: str | None = None
    module_build: str | None = None
    packages: bool = True
    repo: bool = True
    built_for: tuple[str, ...] | None = None
    state: str = "installed"
    package_state: str = "installed"
    make_log: tuple[str, ...] = ()
    loaded: bool = True
    log: tuple[str, ...] = ()
    kfd: bool = True
    """False: a kernel without CONFIG_HSA_AMD."""
    file: bool = True
    """False: the kernel's own module file is not installed (linux-modules-extra)."""
    signer: str = "host Secure Boot Module Signature key"


@dataclass(frozen=True, slots=True)
class Rocm:
    """One ROCm tree. `origin`: amd-package | amdrocm-package | distro-package | tarball. `versioned`: side-by-side packages
    (rocm6.2.0)."""

    version: str
    root: str
    origin: str
    packages: bool = True
    repo: bool = True
    versioned: bool = False
    gfx: tuple[str, ...] | None = None
    rocblas: bool = True
    missing: tuple[str, ...] = ()
    """Names in bin/ or lib/ (fnmatch patterns) that are not there."""
    version_file: bool = True


@dataclass(frozen=True, slots=True)
class Torch:
    """`build`: rocm | cuda | cpu. `version` is torch.__version__; `metadata_version` the distribution's where it differs (CUDA
    from PyPI)."""

    version: str
    build: str
    hip: str | None
    rocm: str | None
    cuda: str | None
    gfx: tuple[str, ...]
    layout: str | None
    """bundled | rocm-sdk | None."""
    triton: tuple[str, str] | None = None
    torchvision: str | None = None
    torchaudio: str | None = None
    metadata_version: str | None = None
    library_gfx: tuple[str, ...] | None = None
    """Targets of the math libraries where they differ from `gfx`."""
    devices: tuple[str, ...] | None = None
    """rocm-sdk layout: targets with a device package; None for all of `gfx`."""
    record: bool = True


@dataclass(frozen=True, slots=True)
class PythonEnv:
    """`kind`: venv | conda | system | user. `version` "3.10". `extra`: (distribution, version) pairs beside torch."""

    kind: str = "venv"
    version: str | None = None
    path: str | None = None
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """The asked user. `groups` are names in the user database, `session` names of the running session (None: the same)."""

    name: str = "user1"
    uid: int = 1000
    gid: int | None = None
    groups: tuple[str, ...] | None = None
    session: tuple[str, ...] | None = None
    sudo_user: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """`kind`: bare-metal | vm | container | wsl. `engine`: docker, podman, lxc, kubernetes, apptainer, systemd-nspawn; or
    kvm, vmware, hyperv, amazon, google, virtualbox, xen, docker-desktop for a vm."""

    kind: str = "bare-metal"
    engine: str = ""
    rootless: bool = False
    vm: str = ""
    """The hypervisor, also under a container."""
    wsl_libraries: bool = True
    """WSL: the run time was built for /dev/dxg (librocdxg or hsa-runtime-rocr4wsl)."""


@dataclass(frozen=True, slots=True)
class NodeRule:
    """How device nodes look. None keeps the healthy default; `open` overrides what mode and groups would give."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    open: str | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class Machine:
    """CPU and memory; None is chosen to suit the cards. `memory` in GiB."""

    cpu: str | None = None
    vendor: str = "AuthenticAMD"
    cores: int | None = None
    numa_nodes: int | None = None
    memory: int | None = None
    sys_vendor: str | None = None
    product: str | None = None
    uefi: bool = True
    secure_boot: bool = False
    mok_enrolled: bool = True
    machine: str = "x86_64"
    numa_balancing: int | None = None
    memlock: str | None = None
    nofile: int = 1024
    shm: int | None = None
    ttm_pages: int | None = None


class Op(NamedTuple):
    """One change made to the finished host: (kind, first, second), see render.apply_ops."""

    kind: str
    first: Any
    second: Any = None


@dataclass(frozen=True, slots=True)
class Spec:
    """The whole host. `rocm[0]` is the active tree; `torch` "auto" takes the wheel that suits the tree and the cards, None is
    no torch."""

    distro: Distro = field(default_factory=lambda: distro_of("ubuntu", "22.04"))
    kernel: str | None = None
    kernel_build: str | None = None
    cards: tuple[Card, ...] = field(default_factory=lambda: (card(),))
    driver: Driver | None = Driver()
    rocm: tuple[Rocm, ...] = ()
    torch: Torch | str | None = "auto"
    python: PythonEnv | None = PythonEnv()
    account: Account | None = None
    place: Place = Place()
    machine: Machine = Machine()
    kfd_rule: NodeRule = NodeRule()
    render_rule: NodeRule = NodeRule()
    cmdline: tuple[str, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    log: tuple[str, ...] = ()
    rocminfo: tuple[str, str, int, bool] | None = None
    """(stdout, stderr, rc, timed_out) instead of what follows from the rest."""
    pin: bool = True
    unknown: tuple[str, ...] = ()
    ops: tuple[Op, ...] = ()
