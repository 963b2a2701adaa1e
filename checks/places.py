"""Containers, virtual machines and WSL: what is different there (rules.md 46)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.binding import driverless
from rocmdoctor.checks.kfd_node import refused_nodes
from rocmdoctor.checks.remedies import count, recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix

WSL_DOCS = "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/install-radeon.html"


@check(
    "container.devices",
    title="The GPU's device nodes were passed into the container",
    after=["gpu_present.device"],
    places=("container",),
    docs=[remedies.CONTAINERS],
)
def devices(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A container sees the host's GPUs in /sys and may use only the nodes that were passed in: /dev/kfd and one renderD node a
    GPU.

    Missing nodes are the fifth reason for "no GPU". When KFD lists more GPUs than render nodes were passed, the run time stops at
    the first that it cannot open (error 0x1008).
    """
    access = facts.access
    run = ("docker", "run", "--device=/dev/kfd", "--device=/dev/dri", "--security-opt", "seccomp=unconfined", "IMAGE")
    podman = facts.place.container == "podman"
    run = ("podman", *run[1:]) if podman else run
    if not access.kfd.exists and driverless(facts):
        keeping_out = ("nomodeset", "module_blacklist", "modprobe.blacklist")
        words = [w for w in keeping_out if known(partial(facts.cmdline.has, w), False)]
        yield Finding(
            Status.FAIL,
            "/dev/kfd is not in this container, and the host's amdgpu drives no GPU",
            "There is nothing to pass in: the host's own driver is the fault"
            + (f" (its kernel was started with {' and '.join(words)})." if words else "."),
            (
                Evidence("/dev/kfd", "absent"),
                *(Evidence(f"/sys/bus/pci/devices/{g.pci_address}/driver", g.driver or "absent") for g in facts.gpus[:2]),
            ),
            (
                Fix(
                    "Mend the driver on the host first (run rocmdoctor check there"
                    + (f"; take {' and '.join(words)} off its kernel command line" if words else "")
                    + "), then start the container with the GPU's devices",
                    (run,),
                    verify=recheck("container.*"),
                ),
            ),
        )
        return
    if not access.kfd.exists:
        yield Finding(
            Status.FAIL,
            "/dev/kfd was not passed into this container",
            f"The host has {count(len(facts.gpus), 'AMD GPU')}, as /sys shows, but without its node no ROCm program in here can "
            "use one.",
            (
                Evidence("/dev/kfd", "absent"),
                *(Evidence("/sys/bus/pci/devices", f"{g.label} at {g.pci_address}") for g in facts.gpus[:2]),
            ),
            (
                Fix(
                    "Start the container with the GPU's devices (Kubernetes: request amd.com/gpu; LXC: a device entry each)",
                    (run,),
                    verify=recheck("container.*"),
                ),
            ),
        )
        return
    wanted = {n.render_minor: n for n in known(lambda: facts.kfd.gpus, ()) if n.render_minor and n.render_minor > 0}
    have = {n.minor for n in access.render}
    missing = sorted(m for m in wanted if m not in have)
    if not access.render:
        yield Finding(
            Status.FAIL,
            "No render node was passed into this container",
            "/dev/kfd is there, but the run time also opens /dev/dri/renderD* of each GPU, and none is here.",
            (Evidence("/dev/dri/renderD*", "absent"),),
            (Fix("Pass the whole folder /dev/dri", (run,), verify=recheck("container.*")),),
        )
    elif missing:
        chosen = (*run[:-1], "--env", "ROCR_VISIBLE_DEVICES=0", run[-1])
        yield Finding(
            Status.FAIL,
            f"KFD shows {count(len(wanted), 'GPU')} here, but only "
            f"{count(len(wanted) - len(missing), 'render node was', 'render nodes were')} passed in",
            "The topology in /sys is the host's: the run time tries every GPU in it and stops at the one whose render node "
            "is missing (error 0x1008).",
            tuple(Evidence(f"/dev/dri/renderD{m}", "absent") for m in missing[:4]),
            (
                Fix(
                    "Pass all of /dev/dri with --device=/dev/dri, and choose the GPU with ROCR_VISIBLE_DEVICES",
                    (chosen,),
                    verify=recheck("container.*"),
                ),
                *(
                    (
                        Fix(
                            "Run the container rootful: only then the device cgroup hides the other GPUs from KFD's topology",
                            needs=("root",),
                        ),
                    )
                    if facts.place.rootless
                    else ()
                ),
            ),
        )


@check(
    "container.nodes-open",
    title="The device nodes that were passed into the container open",
    after=["container.devices"],
    places=("container",),
    docs=[remedies.CONTAINERS],
)
def nodes_open(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Opens /dev/kfd and the render nodes as the asked user and looks at the errno. EPERM is a device cgroup that does not list
    the node (an LXC without its device line, a Kubernetes volume without the device plug-in); EINVAL, ENXIO and ENOMEM are a
    wrong device number, a user namespace that KFD refuses, or the host's driver. EACCES is a matter of permission, and judged
    there (rules.md 21, 22)."""
    nodes = refused_nodes(facts)
    if not nodes:
        return
    first = nodes[0]
    engine = facts.place.container
    fixes: tuple[Fix, ...]
    numbers = " and ".join(dict.fromkeys(f"c {n.major}:*" for n in nodes if n.major is not None))
    lines = "lxc.cgroup2.devices.allow" + (f" for {numbers}" if numbers else "") + ", and a mount entry each"
    if first.open == "EPERM":
        detail = "The mode allows it and the kernel refuses it: the container's device cgroup does not list the node."
        fixes = (
            Fix(f"In the host's configuration of this container, allow the devices ({lines}; Proxmox: a dev entry each)")
            if engine == "lxc"
            else Fix(
                "Request the GPU from the device plug-in (resources: limits: amd.com/gpu: 1); a hostPath volume of the node does "
                "not open the device cgroup"
            )
            if engine == "kubernetes"
            else Fix(
                "Start the container with --device=/dev/kfd and --device=/dev/dri, which also allows them in the device cgroup; "
                "a volume (-v) does not",
                (
                    (
                        "podman" if engine == "podman" else "docker",
                        *("run", "--device=/dev/kfd", "--device=/dev/dri", "--security-opt", "seccomp=unconfined", "IMAGE"),
                    ),
                ),
                verify=recheck("container.*"),
            ),
        )
    else:
        detail = (
            "The node in this container is not the driver's: a wrong device number, a user namespace or nested container "
            "that KFD refuses, or a driver on the host that is in a bad state."
        )
        fixes = (
            Fix(
                f"Compare the device number inside with the host's (`stat -c %t:%T {first.path}` on both) and pass the host's "
                f"own node in with --device={first.path} (LXC: {lines})"
            ),
            Fix(
                "Try the same open on the host and in a privileged, not nested container: if it fails there too, the "
                "host's driver is the cause"
            ),
        )
    yield Finding(
        Status.FAIL,
        f"Opening {first.path} fails with {first.open}, which is not a matter of groups or modes",
        detail,
        tuple(Evidence(n.path, n.described) for n in nodes[:3]),
        fixes,
    )


@check("wsl.runtime", title="WSL has a ROCm run time that uses DirectX", places=("wsl",), needs_gpu=False, docs=[WSL_DOCS])
def wsl_runtime(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """In WSL2 there is no amdgpu and no /dev/kfd by design: /dev/dxg, the Windows driver's libraries in /usr/lib/wsl/lib and
    a run time that talks to them (librocdxg, or the older WSL build of the HSA run time) take their place. A native Linux
    install finds no GPU."""
    place = facts.place
    if place.wsl == 1:
        yield Finding(
            Status.FAIL,
            "This is WSL 1, which has no GPU access",
            "Only WSL 2 passes the GPU to Linux.",
            (Evidence("/proc/version", facts.kernel.release),),
            (Fix("In Windows, convert the distribution: wsl --set-version NAME 2"),),
        )
        return
    if place.has_dxg is None:
        raise UnknownFact("whether /dev/dxg exists")
    if not place.has_dxg:
        yield Finding(
            Status.FAIL,
            "/dev/dxg does not exist: this WSL has no GPU from Windows",
            "The Windows host gives no GPU to WSL: an old Windows driver, GPU support switched off, or nested virtualisation.",
            (Evidence("/dev/dxg", "absent"),),
            (
                Fix(
                    "In Windows, install AMD's current Adrenalin driver with WSL support and run: wsl --update, then wsl "
                    "--shutdown"
                ),
            ),
        )
        return
    if not place.wsl_libraries:
        yield Finding(
            Status.WARN,
            "/usr/lib/wsl/lib is empty",
            "The Windows driver's Linux libraries are missing.",
            (Evidence("/usr/lib/wsl/lib", "empty"),),
            (Fix("In Windows, reinstall AMD's Adrenalin driver, then wsl --shutdown"),),
        )
    info = known(lambda: facts.rocminfo, None)
    if info is not None and info.gpus:
        return
    env = facts.torch_env
    wheel = env.torch if env else None
    native = facts.rocm.installs and not _wsl_runtime_files(facts)
    if native and not (
        wheel and wheel.build == "rocm" and wheel.layout in ("bundled", "rocm-sdk") and (info is None or not info.found)
    ):
        wsl = matrix.wsl
        yield Finding(
            Status.FAIL,
            "This WSL has a native Linux ROCm, which cannot reach the GPU here",
            "The native run time looks for /dev/kfd. WSL needs AMD's WSL build: librocdxg, or the "
            "hsa-runtime-rocr4wsl-amdgpu package of the 6.x line.",
            (
                Evidence("/dev/dxg", "present"),
                *(Evidence("rocminfo", info.error_text.splitlines()[0]) for _ in (1,) if info and info.error_text),
                Evidence("ldconfig -p", "no librocdxg, no WSL run time"),
            ),
            (
                Fix(
                    "Install ROCm for WSL: amdgpu-install with the use cases wsl and rocm and without DKMS (ROCm "
                    f"{' and '.join(wsl.classic_lines)}), or AMD's librocdxg package ({wsl.librocdxg_from} and later)",
                    (wsl.classic_usecase,),
                    needs=("root", "network"),
                    verify=recheck("wsl.*"),
                ),
            ),
        )


def _wsl_runtime_files(facts: Facts) -> bool:
    """A WSL-capable run time: librocdxg on disk or in the cache, or the rocr4wsl package."""
    packages = known(lambda: facts.packages, None)
    if packages and (packages.matching("*rocr4wsl*") or packages.matching("*rocdxg*")):
        return True
    if known(lambda: facts.loader.cached("librocdxg"), ()):
        return True
    return any("librocdxg.so" in i.libraries for i in facts.rocm.installs)


@check("wsl.loader-cache", title="The loader finds librocdxg", after=["wsl.runtime"], places=("wsl",), needs_gpu=False)
def wsl_loader(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """librocdxg is opened by name: it must be in the loader's cache (or on LD_LIBRARY_PATH), not only on disk."""
    owners = [i for i in facts.rocm.installs if "librocdxg.so" in i.libraries]
    if not owners:
        raise NotApplicable("no librocdxg is installed")
    folder = f"{owners[0].root}/lib"
    if facts.loader.cached("librocdxg") or any(p.startswith(("/opt/rocm/lib", folder)) for p in facts.loader.library_path):
        return
    info = known(lambda: facts.rocminfo, None)
    if info is not None and info.gpus:
        return
    yield Finding(
        Status.FAIL,
        "librocdxg is installed, but the loader's cache does not list it",
        "The run time opens it by name and so finds no GPU. The folder is named in ld.so.conf.d; the cache was built "
        "before the library came.",
        (Evidence("ldconfig -p", "no librocdxg"), Evidence(folder, "librocdxg.so")),
        (Fix("Refresh the loader's cache", (("ldconfig",),), needs=("root",), automatic=True, verify=recheck("wsl.*")),),
    )
