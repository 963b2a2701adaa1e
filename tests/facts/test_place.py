"""Bare metal, VM, container, WSL: one host per sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import place
from tests.facts.small_host import small_host

IDENTITY = "         0          0 4294967295\n"
ROOTLESS = "         0       1000          1\n         1     100000      65536\n"
FLAGS = "processor : 0\nflags : fpu vme{}\n"
PHYSICAL = FLAGS.format("")
VIRTUAL = FLAGS.format(" hypervisor")
HEX = "3f" * 32


def ask(files: Mapping[str, str] | None = None, nodes: Mapping[str, Any] | None = None, **more: Any) -> place.Place:
    base = {"/proc/cpuinfo": PHYSICAL, "/proc/self/uid_map": IDENTITY, "/proc/1/cgroup": "0::/init.scope\n"}
    return place.gather(small_host(base | dict(files or {}), nodes, **more))


def test_bare_metal() -> None:
    found = ask(
        {"/sys/class/dmi/id/sys_vendor": "ASUSTeK COMPUTER INC.\n", "/sys/class/dmi/id/product_name": "System Product Name\n"}
    )
    assert found == place.Place(
        "bare-metal", uid_map=((0, 0, 4294967295),), vendor="ASUSTeK COMPUTER INC.", product="System Product Name"
    )


@pytest.mark.parametrize(
    ("vendor", "product", "cpuinfo", "vm"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", VIRTUAL, "kvm"),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", PHYSICAL, "kvm"),  # kvm=off hides the flag
        ("Red Hat", "KVM", VIRTUAL, "kvm"),
        ("OpenStack Foundation", "OpenStack Nova", VIRTUAL, "kvm"),
        ("VMware, Inc.", "VMware Virtual Platform", VIRTUAL, "vmware"),
        ("VMware, Inc.", "VMware7,1", VIRTUAL, "vmware"),
        ("innotek GmbH", "VirtualBox", VIRTUAL, "virtualbox"),
        ("Microsoft Corporation", "Virtual Machine", VIRTUAL, "hyperv"),
        ("Microsoft Corporation", "Surface Laptop 4", PHYSICAL, None),
        ("Xen", "HVM domU", VIRTUAL, "xen"),
        ("SchenkerTechnologiesGmbH", "XENIA 15", PHYSICAL, None),
        ("Amazon EC2", "g4ad.4xlarge", VIRTUAL, "amazon"),
        ("Amazon EC2", "g4dn.metal", PHYSICAL, None),
        ("Amazon EC2", "c7g.4xlarge", "processor : 0\nFeatures : fp\n", "amazon"),
        ("Amazon EC2", "c7g.metal", "processor : 0\nFeatures : fp\n", None),
        ("Google", "Google Compute Engine", VIRTUAL, "google"),
        ("Google", "Google Compute Engine", PHYSICAL, None),
        ("", "", VIRTUAL, "vm"),
        ("ASUSTeK COMPUTER INC.", "System Product Name", VIRTUAL, "vm"),
    ],
)
def test_vm(vendor: str, product: str, cpuinfo: str, vm: str | None) -> None:
    files = {"/sys/class/dmi/id/sys_vendor": vendor, "/sys/class/dmi/id/product_name": product, "/proc/cpuinfo": cpuinfo}
    found = ask(files)
    assert (found.kind, found.vm) == ("vm" if vm else "bare-metal", vm)


@pytest.mark.parametrize(
    ("files", "env", "container"),
    [
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": 'engine="podman-4.9.3"\nrootless=1\n'}, {}, "podman"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/.dockerenv": "", "/run/secrets/kubernetes.io/serviceaccount/namespace": "x"}, {}, "kubernetes"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"/proc/1/cgroup": "11:memory:/kubepods/besteffort/pod1/" + HEX}, {}, "kubernetes"),
        ({"/proc/1/cgroup": f"12:devices:/docker/{HEX}\n"}, {}, "docker"),
        ({"/proc/self/cgroup": f"0::/system.slice/docker-{HEX}.scope\n"}, {}, "docker"),
        ({"/proc/self/cgroup": f"0::/machine.slice/libpod-{HEX}.scope\n"}, {}, "podman"),
        ({"/proc/1/cgroup": "0::/lxc.payload.node1/init.scope\n"}, {}, "lxc"),
        ({"/proc/1/cgroup": "4:cpu:/lxc/101/ns\n"}, {}, "lxc"),
        ({"/run/systemd/container": "lxc\n"}, {}, "lxc"),
        ({"/run/systemd/container": "systemd-nspawn"}, {}, "systemd-nspawn"),
        ({}, {"container": "podman"}, "podman"),
        ({}, {"container": "something-new"}, "container"),
        ({}, {"APPTAINER_CONTAINER": "/images/rocm.sif"}, "apptainer"),
        ({"/.singularity.d/env/01-base.sh": ""}, {}, "apptainer"),
        # A host that runs Docker is no container.
        ({"/proc/self/cgroup": "0::/system.slice/docker.service\n"}, {}, None),
        ({"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n"}, {}, None),
    ],
)
def test_container(files: dict[str, str], env: dict[str, str], container: str | None) -> None:
    found = ask(files, env=env)
    assert (found.kind, found.container) == ("container" if container else "bare-metal", container)
    assert not found.rootless


def test_a_container_in_a_vm_is_a_container() -> None:
    found = ask({"/.dockerenv": "", "/proc/cpuinfo": VIRTUAL}, release="6.12.54-linuxkit")
    assert (found.kind, found.container, found.vm) == ("container", "docker", "docker-desktop")


def test_rootless() -> None:
    found = ask({"/run/.containerenv": "", "/proc/self/uid_map": ROOTLESS})
    assert found.rootless and found.uid_map == ((0, 1000, 1), (1, 100000, 65536))


@pytest.mark.parametrize(("release", "container"), [("6.14.11-2-pve", "lxc"), ("6.8.0-45-generic", "container")])
def test_a_mapped_namespace_is_a_container_without_any_sign(release: str, container: str) -> None:
    found = ask({"/proc/self/uid_map": "0 100000 65536\n"}, release=release)
    assert (found.kind, found.container, found.rootless) == ("container", container, True)


@pytest.mark.parametrize(
    ("release", "files", "wsl"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", {}, 2),
        ("4.4.0-19041-Microsoft", {}, 1),
        ("6.9.0-custom", {"/proc/version": "Linux version 6.9.0-custom (me@pc) WSL2 build"}, 2),
        ("6.9.0-custom", {"/proc/sys/fs/binfmt_misc/WSLInterop": "enabled\n"}, 2),
        ("6.8.0-1018-azure", {"/proc/version": "Linux version 6.8.0-1018-azure (buildd@lcy02)"}, None),
    ],
)
def test_wsl(release: str, files: dict[str, str], wsl: int | None) -> None:
    nodes = {"/dev/dxg": {"type": "char", "mode": "0666", "major": 10, "minor": 125, "open": "ok"}}
    more = files | {"/usr/lib/wsl/lib/libdxcore.so": "", "/proc/cpuinfo": VIRTUAL}
    found = ask(more, nodes, release=release)
    assert (found.kind, found.wsl, found.has_dxg) == ("wsl" if wsl else "vm", wsl, True)
    assert found.wsl_libraries == (("libdxcore.so",) if wsl else ())


def test_wsl_wins_over_a_container_in_it() -> None:
    found = ask({"/.dockerenv": ""}, release="6.6.87.2-microsoft-standard-WSL2")
    assert (found.kind, found.container, found.vm) == ("wsl", "docker", None)


def test_nothing_can_be_read() -> None:
    found = ask(unknown=["/proc/**", "/sys/**", "/dev/**", "/run/**", "/.dockerenv", "/.singularity.d/**"])
    assert found == place.Place("bare-metal", has_dxg=None)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    place.parse_uid_map(text)
    names = ("/proc/self/uid_map", "/proc/1/cgroup", "/proc/version", "/sys/class/dmi/id/sys_vendor", "/run/systemd/container")
    assert ask(dict.fromkeys(names, text)).kind in ("bare-metal", "vm", "container", "wsl")
