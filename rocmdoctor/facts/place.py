"""Where this is: bare metal, a virtual machine, a container, or WSL (rules.md 46).

Sources: systemd-detect-virt(1) and systemd's container interface (env `container`, /run/systemd/container), podman's
/run/.containerenv, Docker's /.dockerenv, cgroups(7), user_namespaces(7) (uid_map), the hypervisor flag of /proc/cpuinfo,
DMI names (/sys/class/dmi/id), Microsoft's WSL2-Linux-Kernel (release "...-microsoft-standard-WSL2", /dev/dxg). No sign is
needed: what cannot be read is passed over, and nothing at all means bare metal.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import cpu, known
from rocmdoctor.facts.sysfs import attribute

if TYPE_CHECKING:
    from rocmdoctor.host import Host

IDENTITY = ((0, 0, 4294967295),)
"""uid_map of the initial user namespace."""


class Place(NamedTuple):
    """`kind` is bare-metal | vm | container | wsl (the report's words).

    `container`: docker | podman | lxc | kubernetes | apptainer | systemd-nspawn | container, or None. `rootless`: uid 0 in
    here is another uid outside (/proc/self/uid_map). `vm`: kvm | vmware | hyperv | virtualbox | xen | amazon | google |
    docker-desktop | vm, or None (may be set in a container too). `wsl`: 1 or 2.
    """

    kind: str
    container: str | None = None
    rootless: bool = False
    uid_map: tuple[tuple[int, int, int], ...] = ()
    vm: str | None = None
    vendor: str | None = None
    product: str | None = None
    wsl: int | None = None
    wsl_libraries: tuple[str, ...] = ()
    """Names in /usr/lib/wsl/lib."""
    has_dxg: bool | None = False
    """/dev/dxg exists."""


_CONTAINER_WORDS = {
    "docker": "docker",
    "podman": "podman",
    "oci": "podman",
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "systemd-nspawn": "systemd-nspawn",
    "kubernetes": "kubernetes",
    "apptainer": "apptainer",
    "singularity": "apptainer",
}
"""Values of the variable `container` and of /run/systemd/container; any other value is "container"."""

_CGROUPS = (
    # (word that must be there, pattern that tells the container from the engine's own service, name)
    ("kubepods", r"kubepods", "kubernetes"),
    ("/docker", r"/docker[-/][0-9a-f]{12}", "docker"),
    ("/libpod-", r"/libpod-[0-9a-f]{12}", "podman"),
    ("/lxc", r"/lxc(?:\.payload[./]|/)", "lxc"),
    ("/machine.slice/", r"/machine\.slice/machine-.*\.scope", "systemd-nspawn"),
    ("/cri", r"/cri-containerd-|/crio-", "kubernetes"),
)

_DMI = (
    # (words of "vendor product", vm, certain without the hypervisor flag)
    ("vmware", "vmware", True),
    ("virtualbox", "virtualbox", True),
    ("innotek gmbh", "virtualbox", True),
    ("microsoft corporation virtual machine", "hyperv", True),
    ("amazon ec2", "amazon", False),
    ("google compute engine", "google", False),
    ("qemu", "kvm", True),
    ("standard pc", "kvm", True),
    ("kvm", "kvm", True),
    ("bochs", "kvm", True),
    ("openstack foundation", "kvm", True),
    ("openstack nova", "kvm", True),
    ("ovirt", "kvm", True),
    ("rhev hypervisor", "kvm", True),
    ("nutanix ahv", "kvm", True),
    ("digitalocean", "kvm", True),
    ("xen", "xen", True),
    ("hvm domu", "xen", True),
    ("alibaba cloud", "kvm", False),
    ("tencent cloud", "kvm", False),
)


def gather(host: "Host") -> Place:
    """Best knowledge of the place; never raises. WSL wins over a container in it, a container over the machine below."""
    wsl = _wsl(host)
    uid_map = parse_uid_map(_read(host, "/proc/self/uid_map"))
    mapped = bool(uid_map) and uid_map[0] != IDENTITY[0]
    container = _container(host) or (_unnamed_container(host) if mapped else None)
    vendor = _value(host, "/sys/class/dmi/id/sys_vendor")
    product = _value(host, "/sys/class/dmi/id/product_name")
    vm = None if wsl else _vm(host, vendor, product)
    if wsl:
        kind = "wsl"
    elif container:
        kind = "container"
    else:
        kind = "vm" if vm else "bare-metal"
    return Place(
        kind=kind,
        container=container,
        rootless=mapped,
        uid_map=uid_map,
        vm=vm,
        vendor=vendor,
        product=product,
        wsl=wsl,
        wsl_libraries=known(lambda: host.names("/usr/lib/wsl/lib"), ()) if wsl else (),
        has_dxg=known(lambda: host.node("/dev/dxg") is not None, None),
    )


def parse_uid_map(text: str) -> tuple[tuple[int, int, int], ...]:
    """/proc/PID/uid_map: lines "FIRST-INSIDE FIRST-OUTSIDE COUNT"."""
    rows = []
    for line in text.splitlines()[:340]:  # the kernel's own limit of lines (user_namespaces(7))
        words = line.split()
        if len(words) == 3 and all(len(w) <= 10 and w.isascii() and w.isdigit() for w in words):
            rows.append((int(words[0]), int(words[1]), int(words[2])))
    return tuple(rows)


def _wsl(host: "Host") -> int | None:
    release = known(lambda: host.uname.release, "")
    version = _read(host, "/proc/version")
    interop = "/proc/sys/fs/binfmt_misc/WSLInterop"
    named = "microsoft" in release.lower() or re.search(r"microsoft-standard|\bWSL", version)
    if not named and not _exists(host, interop) and not _exists(host, f"{interop}-late"):
        return None
    # WSL 1 has no kernel of its own: it says 4.4.0-19041-Microsoft, and there is no device at all.
    return 1 if re.match(r"4\.4\.0-\d+-Microsoft", release) else 2


def _container(host: "Host") -> str | None:
    """The engine by its own sign, the most specific first: a pod of Kubernetes may have Docker's or podman's too."""
    env: Mapping[str, str] = known(lambda: host.env, {})
    if env.get("KUBERNETES_SERVICE_HOST") or _exists(host, "/run/secrets/kubernetes.io"):
        return "kubernetes"
    if env.get("APPTAINER_CONTAINER") or env.get("SINGULARITY_CONTAINER") or _exists(host, "/.singularity.d"):
        return "apptainer"
    groups = _read(host, "/proc/1/cgroup") + _read(host, "/proc/self/cgroup")
    by_group = next((name for word, pattern, name in _CGROUPS if word in groups and re.search(pattern, groups)), None)
    if by_group == "kubernetes":
        return by_group
    if _exists(host, "/run/.containerenv"):
        return "podman"
    if _exists(host, "/.dockerenv"):
        return "docker"
    word = (env.get("container") or _read(host, "/run/systemd/container")).strip().lower()
    return _CONTAINER_WORDS.get(word, "container") if word else by_group


def _unnamed_container(host: "Host") -> str:
    """A mapped user namespace without any engine's sign: LXC does not leave one where cgroups are namespaced."""
    release = known(lambda: host.uname.release, "")
    return "lxc" if release.endswith("-pve") or _exists(host, "/dev/.lxc") else "container"


def _vm(host: "Host", vendor: str | None, product: str | None) -> str | None:
    if known(lambda: host.uname.release, "").endswith("-linuxkit"):
        return "docker-desktop"
    text = f" {vendor or ''} {product or ''} ".lower().replace(",", " ")
    name, certain = next(((vm, sure) for word, vm, sure in _DMI if f" {word} " in text), (None, False))
    flag = cpu.gather(host).hypervisor
    if flag:
        return name or "vm"
    # No flag: a hypervisor may hide it, but Amazon's and others' bare metal carries the cloud's name as well.
    if certain or (flag is None and ".metal" not in text):
        return name
    return None


def _read(host: "Host", path: str) -> str:
    return known(lambda: host.read(path, 16 << 10), None) or ""


def _value(host: "Host", path: str) -> str | None:
    return known(lambda: attribute(host, path), None) or None


def _exists(host: "Host", path: str) -> bool:
    return known(lambda: host.node(path), None) is not None
