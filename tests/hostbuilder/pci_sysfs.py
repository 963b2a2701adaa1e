"""/sys/bus/pci, /sys/class/drm and the device nodes of the GPUs."""

from __future__ import annotations

from tests.hostbuilder.out import Out
from tests.hostbuilder.resolved import MIB, Resolved
from tests.hostbuilder.units import Unit

_UNASSIGNED = "0x0000000000000000 0x0000000000000000 0x0000000000000000"


def _function(
    out: Out, address: str, vendor: str, device: str, klass: int, driver: str | None, revision: str = "00", **more: object
) -> str:
    folder = f"/sys/bus/pci/devices/{address}"
    subsystem = str(more.pop("subsystem", "1043:8877"))
    sub_vendor, _, sub_device = subsystem.partition(":")
    out.tree(
        folder,
        {
            "vendor": f"0x{vendor}", "device": f"0x{device}", "class": f"0x{klass:06x}", "revision": f"0x{revision}",
            "subsystem_vendor": f"0x{sub_vendor}", "subsystem_device": f"0x{sub_device}", "numa_node": more.pop("numa_node", -1),
            **more,
        },
    )  # fmt: skip
    uevent = f"DRIVER={driver}\n" if driver else ""
    out.files[f"{folder}/uevent"] = (
        f"{uevent}PCI_CLASS={klass:X}\nPCI_ID={vendor.upper()}:{device.upper()}\nPCI_SUBSYS_ID={subsystem.upper()}\nPCI_SLOT_NAME={address}\n"
    ).encode()
    if driver:
        out.nodes[f"{folder}/driver"] = {"type": "link", "target": f"../../../../bus/pci/drivers/{driver}"}
        out.nodes[f"/sys/bus/pci/drivers/{driver}"] = {"type": "dir"}
    return folder


def _bars(unit: Unit) -> str:
    """The 13 lines of `resource`: a 64-bit BAR 0 over the memory, doorbells, I/O ports, registers and the ROM."""
    card = unit.card
    size = card.vram_mib if card.bar is None else card.bar
    if size:
        size = 1 << max(size - 1, 1).bit_length() if card.bar is None else size  # BARs are powers of two
    base = 0x40_0000_0000 + unit.index * 0x80_0000_0000
    lines = [_UNASSIGNED] * 13
    if size:
        lines[0] = f"0x{base:016x} 0x{base + size * MIB - 1:016x} 0x000000000014220c"
    else:
        lines[0] = "0x0000000000000000 0x0000000000000000 0x000000000014220c"
    doorbell = base + max(size, 256) * MIB
    mmio = 0xFC00_0000 - unit.index * 0x20_0000
    lines[2] = f"0x{doorbell:016x} 0x{doorbell + 0x1FFFFF:016x} 0x000000000014220c"
    lines[4] = "0x000000000000e000 0x000000000000e0ff 0x0000000000040101"
    lines[5] = f"0x{mmio:016x} 0x{mmio + 0xFFFFF:016x} 0x0000000000040200"
    lines[6] = f"0x{mmio + 0x100000:016x} 0x{mmio + 0x11FFFF:016x} 0x0000000000046200"
    return "\n".join(lines)


def link_of(unit: Unit) -> tuple[str, int]:
    """Speed and width of the card's link, as it negotiated and could."""
    model = unit.card.model
    fast = model.gfx in ("gfx942", "gfx950", "gfx1200", "gfx1201", "gfx1250")
    narrow = model.gfx in ("gfx1034",)
    return ("32.0 GT/s PCIe" if fast else "8.0 GT/s PCIe" if model.gfx == "gfx803" else "16.0 GT/s PCIe", 4 if narrow else 16)


def gtt_bytes(host: Resolved, unit: Unit) -> int:
    """amdgpu's GTT domain: half of the memory (an APU's lives there), never less than 3 GiB."""
    if unit.card.gtt is not None:
        return unit.card.gtt * MIB
    return max(host.memory // 2, 3 << 30)


def _gpu(out: Out, host: Resolved, unit: Unit) -> None:
    card, model = unit.card, unit.card.model
    speed, width = link_of(unit)
    now_speed, now_width = card.link or (speed, width)
    bound = (
        card.bound
        if card.bound != "amdgpu"
        else "amdgpu"
        if unit.minors or (host.loaded and card.state == "kfd-skipped")
        else None
    )
    more: dict[str, object] = {
        "subsystem": "1002:0e3b" if model.klass != "apu" else "1043:8877", "numa_node": unit.numa if host.numa_nodes > 1 else -1,
        "current_link_speed": now_speed, "current_link_width": now_width, "max_link_speed": speed, "max_link_width": width,
        "enable": 1 if bound else 0, "resource": _bars(unit),
    }  # fmt: skip
    if unit.minors:
        more |= {
            "mem_info_vram_total": card.vram_mib * MIB, "mem_info_vram_used": 30 * MIB, "mem_info_gtt_total": gtt_bytes(host,
            unit),
            "mem_info_vis_vram_total": (card.vram_mib if card.bar is None else card.bar) * MIB,
            "power_dpm_force_performance_level": "auto",
            "gpu_busy_percent": 0,
        }  # fmt: skip
        if model.xcc > 1:
            whole = (
                "SPX"
                if card.partitions == 1
                else "CPX"
                if card.partitions >= model.xcc
                else "DPX"
                if card.partitions == 2
                else "QPX"
            )
            more |= {"current_compute_partition": whole, "current_memory_partition": f"NPS{card.memory_partitions}"}
    folder = _function(out, unit.address, "1002", model.device, model.pci_class, bound, model.revision, **more)
    if card.physfn:
        out.link(f"{folder}/physfn", f"../{unit.address[:-1]}0")
    for number, minor in enumerate(unit.minors):
        primary = minor - 128
        # Partitions beyond the first hang off a platform device of their own, not off the PCI function.
        target = f"../../../bus/pci/devices/{unit.address}" if number == 0 else f"../../../devices/platform/amdgpu_xcp_{primary}"
        out.link(f"/sys/class/drm/renderD{minor}/device", target)
        out.link(f"/sys/class/drm/card{primary}/device", target)
        if number:
            out.dir(f"/sys/devices/platform/amdgpu_xcp_{primary}")


def _neighbours(out: Out, host: Resolved, unit: Unit) -> None:
    """Functions beside a Radeon card that are AMD's as well but no GPU: the switch in front of it and its HDMI audio."""
    model = unit.card.model
    if model.klass not in ("radeon", "radeon-pro", "apu") or host.place.vm:
        return
    domain, bus = unit.address[:5], int(unit.address[5:7], 16)
    if model.klass != "apu" and model.gfx.startswith(("gfx10", "gfx11", "gfx12")) and bus >= 2 and unit.address.endswith("00.0"):
        _function(out, f"{domain}{bus - 2:02x}:00.0", "1002", "1478", 0x060400, "pcieport")
        _function(out, f"{domain}{bus - 1:02x}:00.0", "1002", "1479", 0x060400, "pcieport")
    _function(out, f"{unit.address[:-1]}1", "1002", "1640" if model.apu else "ab30", 0x040300, "snd_hda_intel")


def render_pci(out: Out, host: Resolved) -> None:
    """Every PCI function of the machine."""
    if host.wsl:
        _function(out, "8a61:00:00.0", "1414", "008e", 0x030200, "dxgkrnl", subsystem="1414:0000")
        return
    if host.place.vm:
        _function(out, "0000:00:00.0", "8086", "29c0", 0x060000, None, subsystem="1af4:1100")
        _function(out, "0000:00:01.0", "1234", "1111", 0x030000, "bochs-drm", "02", subsystem="1af4:1100")
        _function(out, "0000:01:00.0", "1af4", "1041", 0x020000, "virtio-pci", "01", subsystem="1af4:1100")
    else:
        _function(out, "0000:00:00.0", "1022", "14d8", 0x060000, None)
        _function(out, "0000:0b:00.0", "144d", "a80c", 0x010802, "nvme", subsystem="144d:a801")
        _function(out, "0000:0c:00.0", "8086", "125c", 0x020000, "igc", "04")
    for unit in host.units:
        _neighbours(out, host, unit)
        _gpu(out, host, unit)


def _node(rule_mode: int | None, mode: int, uid: int | None, gid: int | None, host_gid: int, host: Resolved) -> dict[str, object]:
    owner = 65534 if host.container and host.place.rootless else 0
    group = 65534 if owner else host_gid
    return {
        "type": "char", "mode": f"{mode if rule_mode is None else rule_mode:04o}", "uid": owner if uid is None else uid,
        "gid": group if gid is None else gid,
    }  # fmt: skip


def open_result(host: Resolved, node: dict[str, object]) -> str:
    """What open(2) read-write gives the asked user by mode, owner and the session's groups."""
    user, mode = host.account, int(str(node["mode"]), 8)
    if user.uid == 0 and not (host.container and host.place.rootless and node["uid"] == 65534):
        return "ok"
    if user.uid == node["uid"]:
        return "ok" if mode >> 6 & 6 == 6 else "EACCES"
    if node["gid"] in host.session_groups:
        return "ok" if mode >> 3 & 6 == 6 else "EACCES"
    return "ok" if mode & 6 == 6 else "EACCES"


def render_devices(out: Out, host: Resolved) -> None:
    """/dev/kfd, /dev/dri and /dev/dxg. AMD's udev rule sets 0660 root:render, as Debian's and Ubuntu's systemd do."""
    if host.wsl:
        out.nodes["/dev/dxg"] = {"type": "char", "mode": "0666", "uid": 0, "gid": 0, "major": 10, "minor": 125, "open": "ok"}
        return
    mode = 0o660 if host.dkms else host.distro.render_mode
    render, video = host.distro.render, host.distro.video
    rule = host.spec.kfd_rule
    if host.has_kfd and rule.exists:
        node = _node(rule.mode, mode, rule.uid, rule.gid, render, host)
        out.nodes["/dev/kfd"] = {**node, "major": 235, "minor": 0, "open": rule.open or open_result(host, node)}
    rule = host.spec.render_rule
    if not rule.exists:
        return
    for unit in host.units:
        for minor in unit.minors:
            node = _node(rule.mode, mode, rule.uid, rule.gid, render, host)
            out.nodes[f"/dev/dri/renderD{minor}"] = {
                **node, "major": 226, "minor": minor, "open": rule.open or open_result(host, node)
            }  # fmt: skip
            node = _node(None, 0o660, None, None, video, host)
            out.nodes[f"/dev/dri/card{minor - 128}"] = {
                **node,
                "major": 226,
                "minor": minor - 128,
                "open": open_result(host, node),
            }
