"""What rocminfo, amd-smi and rocm-smi say of the host (ROCm/rocminfo rocminfo.cc; amd-smi list --json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from tests.hostbuilder.gpu_models import isa_names, override_value
from tests.hostbuilder.kfd_sysfs import bank_bytes, unique_id
from tests.hostbuilder.out import Out
from tests.hostbuilder.releases import key
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.units import Unit

_RULE = "*******                  \n"


def _row(label: str, value: object, indent: int = 2) -> str:
    """A line as rocminfo pads it: the value starts at column 27, the line is filled to column 62."""
    start = " " * indent + label + ":"
    return f"{start:<27}{value!s:<35}\n"


def _pools(kinds: tuple[tuple[str, int, bool], ...]) -> str:
    text = _row("Pool Info", "")
    for number, (segment, kib, every) in enumerate(kinds, 1):
        granule = "0KB" if segment == "GROUP" else "4KB"
        text += f"    Pool {number}                   \n" + "".join((
            _row("Segment", segment, 6), _row("Size", f"{kib}(0x{kib:x}) KB", 6),
            _row("Allocatable", "FALSE" if segment == "GROUP" else "TRUE", 6), _row("Alloc Granule", granule, 6),
            _row("Alloc Alignment", granule, 6), _row("Accessible by all", "TRUE" if every else "FALSE", 6),
        ))  # fmt: skip
    return text


@lru_cache(maxsize=64)
def _cpu_agent(number: int, node: int, name: str, cores: int, kib: int) -> str:
    rows = (
        ("Name", name), ("Uuid", "CPU-XX"), ("Marketing Name", name), ("Vendor Name", "CPU"), ("Feature", "None specified"),
        ("Profile", "FULL_PROFILE"), ("Float Round Mode", "NEAR"), ("Max Queue Number", "0(0x0)"), ("Queue Min Size", "0(0x0)"),
        ("Queue Max Size", "0(0x0)"), ("Queue Type", "MULTI"), ("Node", node), ("Device Type", "CPU"), ("Cache Info", ""),
    )  # fmt: skip
    more = (
        ("Chip ID", "0(0x0)"), ("ASIC Revision", "0(0x0)"), ("Cacheline Size", "64(0x40)"), ("Max Clock Freq. (MHz)", 3800),
        ("BDFID", 0),
        ("Internal Node ID", node), ("Compute Unit", cores), ("SIMDs per CU", 0), ("Shader Engines", 0),
        ("Shader Arrs. per Eng.", 0),
        ("WatchPts on Addr. Ranges", 1), ("Features", "None"),
    )  # fmt: skip
    text = f"{_RULE}Agent {number}                  \n{_RULE}" + "".join(_row(label, value) for label, value in rows)
    text += _row("L1", "32768(0x8000) KB", 4) + "".join(_row(label, value) for label, value in more)
    text += _pools((
        ("GLOBAL; FLAGS: FINE GRAINED", kib, True), ("GLOBAL; FLAGS: KERNARG, FINE GRAINED", kib, True),
        ("GLOBAL; FLAGS: COARSE GRAINED", kib, True),
    ))  # fmt: skip
    return text + _row("ISA Info", "")


_DIMENSIONS = ("Workgroup Max Size per Dimension", "1024(0x400)"), ("Grid Max Size per Dimension", "2147483647(0x7fffffff)")


def _isa(number: int, name: str) -> str:
    text = f"    ISA {number}                    \n" + _row("Name", name, 6)
    text += _row("Machine Models", "HSA_MACHINE_MODEL_LARGE", 6) + _row("Profiles", "HSA_PROFILE_BASE", 6)
    text += (
        _row("Default Rounding Mode", "NEAR", 6) * 2 + _row("Fast f16", "TRUE", 6) + _row("Workgroup Max Size", "1024(0x400)", 6)
    )
    for label, value in _DIMENSIONS:
        text += f"      {label}:\n" + "".join(f"        {axis:<25}{value:<35}\n" for axis in "xyz")
    return text + _row("Grid Max Size", "4294967295(0xffffffff)", 6) + _row("FBarrier Max Size", 32, 6)


@lru_cache(maxsize=256)
def _gpu_tail(gfx: str, wave: int, apu: bool, kib: int) -> str:
    """The part of a GPU agent that does not depend on where the card sits."""
    waves = 40 if wave == 64 else 32
    text = "".join(
        _row(label, value)
        for label, value in (
            ("WatchPts on Addr. Ranges", 4), ("Coherent Host Access", "FALSE"), ("Memory Properties", "APU" if apu else ""),
            ("Features", "KERNEL_DISPATCH "), ("Fast F16 Operation", "TRUE"), ("Wavefront Size", f"{wave}(0x{wave:x})"),
            ("Workgroup Max Size", "1024(0x400)"),
        )
    )  # fmt: skip
    text += "  Workgroup Max Size per Dimension:\n" + "".join(f"    {axis:<25}{'1024(0x400)':<35}\n" for axis in "xyz")
    text += _row("Max Waves Per CU", f"{waves}(0x{waves:x})") + _row(
        "Max Work-item Per CU", f"{waves * wave}(0x{waves * wave:x})"
    )
    text += _row("Grid Max Size", "4294967295(0xffffffff)") + _row("Max fbarriers/Workgrp", 32)
    text += _row("Packet Processor uCode:", 149) + _row("SDMA engine uCode:", 23) + _row("IOMMU Support:", "None")
    text += _pools(
        (
            ("GLOBAL; FLAGS: COARSE GRAINED", kib, False),
            ("GLOBAL; FLAGS: EXTENDED FINE GRAINED", kib, False),
            ("GROUP", 64, False),
        )
    )
    return text + _row("ISA Info", "") + "".join(_isa(n, name) for n, name in enumerate(isa_names(gfx), 1))


def _gpu_agent(number: int, unit: Unit, part: int, gfx: str, kib: int) -> str:
    model, node = unit.card.model, unit.nodes[part]
    uuid = f"GPU-{unique_id(unit):016x}" if unique_id(unit) else "GPU-XX"
    cu = model.cu // unit.card.partitions
    engines = max(model.engines // unit.card.partitions, 1)
    rows = (
        ("Name", gfx), ("Uuid", uuid), ("Marketing Name", unit.card.product), ("Vendor Name", "AMD"), ("Feature",
        "KERNEL_DISPATCH"),
        ("Profile", "BASE_PROFILE"), ("Float Round Mode", "NEAR"), ("Max Queue Number", "128(0x80)"), ("Queue Min Size",
        "64(0x40)"),
        ("Queue Max Size", "131072(0x20000)"), ("Queue Type", "MULTI"), ("Node", node), ("Device Type", "GPU"), ("Cache Info",
        ""),
    )  # fmt: skip
    more = (
        ("Chip ID", f"{int(model.device, 16)}(0x{model.device})"), ("ASIC Revision", "1(0x1)"),
        ("Cacheline Size", "64(0x40)" if model.wave == 64 else "128(0x80)"), ("Max Clock Freq. (MHz)", model.clock),
        ("BDFID", unit.location + part), ("Internal Node ID", node), ("Compute Unit", cu), ("SIMDs per CU", model.simd_per_cu),
        ("Shader Engines", engines), ("Shader Arrs. per Eng.", 1 if model.wave == 64 else 2),
    )  # fmt: skip
    text = f"{_RULE}Agent {number}                  \n{_RULE}" + "".join(_row(label, value) for label, value in rows)
    text += _row("L1", "32(0x20) KB", 4) + _row("L2", "8192(0x2000) KB", 4) + "".join(_row(label, value) for label, value in more)
    if unit.domain:
        text += _row("Domain", f"{unit.domain}(0x{unit.domain:x})")
    return text + _gpu_tail(gfx, model.wave, model.apu, kib)


def override_of(host: Resolved, node: int) -> str | None:
    """HSA_OVERRIDE_GFX_VERSION_<node> wins over the global one; None when the node has none."""
    env = dict(host.spec.env)
    return env.get(f"HSA_OVERRIDE_GFX_VERSION_{node}", env.get("HSA_OVERRIDE_GFX_VERSION"))


@lru_cache(maxsize=64)
def _gfx_of_override(value: str) -> str | None:
    """The gfx name of "10.3.0"; None for nonsense, which leaves the run time without a device."""
    try:
        major, minor, stepping = (int(part) for part in value.split("."))
    except ValueError:
        return None
    gfx = f"gfx{major}{minor:x}{stepping:x}"
    return gfx if override_value(gfx) == f"{major}.{minor}.{stepping}" else None


def _visible(host: Resolved) -> Iterator[tuple[Unit, int, str]]:
    """(unit, partition, gfx) of the agents that the run time shows: overrides and ROCR_VISIBLE_DEVICES apply, HIP's variables
    do not."""
    agents = [(unit, part) for unit in _agents(host) for part in range(len(unit.nodes))]
    shown = dict(host.spec.env).get("ROCR_VISIBLE_DEVICES")
    if shown is not None:
        indexes = []
        for word in shown.split(","):
            if not word.strip().isdigit() or int(word) >= len(agents):
                break
            indexes.append(int(word))
        agents = [agents[i] for i in indexes]
    for unit, part in agents:
        value = override_of(host, unit.nodes[part])
        gfx = unit.card.gfx if value is None else _gfx_of_override(value)
        if gfx:
            yield unit, part, gfx


def _agents(host: Resolved) -> Iterator[Unit]:
    if not host.wsl:
        yield from host.kfd_units
        return
    for index, card in enumerate(host.spec.cards):
        yield Unit(card, index, f"0000:{3 + index:02x}:00.0", (1 + index,), (), 0, (1 + index,))


def agents_text(host: Resolved) -> str:
    """The whole listing, from the system attributes to "*** Done ***"."""
    if host.wsl:
        head = "WSL environment detected.\n"
    elif host.running_dkms:
        head = f"ROCk module version {host.module_version} is loaded\n"
    else:
        head = "ROCk module is loaded\n"
    title = "=====================    \nHSA System Attributes    \n=====================    \n"
    attributes = (
        ("Runtime Version", host.release.hsa), ("Runtime Ext Version", "1.6"), ("System Timestamp Freq.", "1000.000000MHz"),
        ("Sig. Max Wait Duration", "18446744073709551615 (0xFFFFFFFFFFFFFFFF) (timestamp count)"), ("Machine Model", "LARGE"),
        ("System Endianness", "LITTLE"), ("Mwaitx", "DISABLED"), ("XNACK enabled", "NO"), ("DMAbuf Support", "YES"),
        ("VMM Support", "YES"),
    )  # fmt: skip
    text = head + title + "".join(f"{label + ':':<25}{value!s:<35}\n" for label, value in attributes)
    text += "\n==========               \nHSA Agents               \n==========               \n"
    kib = host.memory // host.numa_nodes >> 10
    number = 0
    for number in range(1, host.numa_nodes + 1):
        text += _cpu_agent(number, number - 1, host.cpu, host.cores, kib)
    for unit, part, gfx in _visible(host):
        number += 1
        text += _gpu_agent(number, unit, part, gfx, bank_bytes(host, unit) >> 10)
    return text + "*** Done ***             \n"


_CALL = "hsa api call failure at: /long_pathname_so_that_rpms_can_package_the_debug_info/src/rocminfo/rocminfo.cc:"
_RESOURCES = (
    f"{_CALL}1306\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources. "
    "This error may also occur when the core runtime library needs to spawn threads or create internal OS-specific events.\n"
)
_OPEN_ERRORS = {
    "EPERM": "Operation not permitted", "EINVAL": "Invalid argument", "ENOENT": "No such file or directory",
    "ENXIO": "No such device or address",
    "ENOMEM": "Cannot allocate memory", "ENODEV": "No such device", "EBUSY": "Device or resource busy",
}  # fmt: skip


def rocminfo_answer(host: Resolved, opened: str) -> tuple[str, str, int, bool]:
    """(stdout, stderr, rc, timed_out) for a run by the asked user; `opened`: what opening /dev/kfd gives."""
    if host.wsl:
        return (
            (agents_text(host), "", 0, False)
            if host.place.wsl_libraries
            else ("WSL environment detected.\n" + _RESOURCES, "", 1, False)
        )
    if not host.loaded:
        return "ROCk module is NOT loaded, possibly no GPU devices\n", "", 1, False
    if opened == "ok":
        return agents_text(host), "", 0, False
    head = agents_text(host).partition("\n")[0] + "\n"
    name = host.account.name
    if opened == "EACCES":
        member = host.groups.get("render") in host.session_groups
        said = (
            f'{name} is member of render group\n{_RESOURCES}' if member else
            f'{name} is not member of "render" group, the default DRM access group. Users must be a member of the "render" '
            "group or another DRM access group in order for ROCm applications to run successfully.\n"
        )  # fmt: skip
        return f"{head}Unable to open /dev/kfd read-write: Permission denied\n{said}", "", 1, False
    why = _OPEN_ERRORS.get(opened, opened)
    return f"{head}Unable to open /dev/kfd read-write: {why}\n{name} is member of render group\n{_RESOURCES}", "", 1, False


def render_tools(out: Out, host: Resolved, folder: str | None) -> None:
    """rocminfo, amd-smi and rocm-smi as run from `folder` (None: none of them is installed)."""
    tree = host.rocm
    if folder is None or tree is None:
        return
    installed = {name for name in ("rocminfo", "amd-smi", "rocm-smi") if f"{tree.root}/bin/{name}" in out.files}
    opened = "ENOENT" if "/dev/kfd" not in out.nodes else str(out.nodes["/dev/kfd"]["open"])
    if "rocminfo" in installed:
        stdout, stderr, rc, timed_out = host.spec.rocminfo or rocminfo_answer(host, opened)
        out.command(("rocminfo",), f"{folder}/rocminfo", stdout, rc=rc, stderr=stderr, timed_out=timed_out)
    amd_smi, rocm_smi = ("amd-smi", "list", "--json"), ("rocm-smi", "--showproductname", "--json")
    has_amd, has_rocm = "amd-smi" in installed, "rocm-smi" in installed
    if host.wsl:
        return  # not asked: they have nothing to read there
    if not host.loaded:
        if has_amd:
            said = "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)\n"
            out.command(amd_smi, f"{folder}/amd-smi", rc=1, stderr=said)
        if has_rocm:
            out.command(
                rocm_smi, f"{folder}/rocm-smi", rc=2, stderr="ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
            )
        return
    shown = [u for u in host.units if u.initialised]
    if has_amd:
        rows = [
            {"gpu": n, "bdf": u.address, "uuid": f"00000000-0000-1000-8000-{n:012x}", "kfd_id": u.gpu_ids[part],
             "node_id": u.nodes[part] if u.nodes else "N/A", "partition_id": part}
            for n, (u, part) in enumerate((u, p) for u in shown for p in range(len(u.minors)))
        ]  # fmt: skip
        value: object = {"gpu_data": rows} if key(host.release.version) >= (7, 9) else rows
        out.command(amd_smi, f"{folder}/amd-smi", json.dumps(value, indent=4) + "\n")
    if has_rocm:
        cards = {
            f"card{n}": {
                "Card Series": u.card.product, "Card Model": f"0x{u.card.model.device}",
                "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
                "Card SKU": "D7010100", "Subsystem ID": "0x0e3b", "Device Rev": f"0x{u.card.model.revision}",
                "Node ID": str(u.nodes[0]) if u.nodes else "N/A", "GUID": str(u.gpu_ids[0]), "GFX Version": u.card.gfx,
            }
            for n, u in enumerate(shown)
        }  # fmt: skip
        out.command(rocm_smi, f"{folder}/rocm-smi", json.dumps(cards) + "\n")
