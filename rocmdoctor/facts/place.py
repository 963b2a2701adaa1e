"""Where this is: bare metal, a virtual machine, a container, or WSL (rules.md 46)."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Place:
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
    has_dxg: bool = False
    """/dev/dxg exists."""


def gather(host: Host) -> Place:
    raise NotImplementedError
