"""Example GPUs, one or more per gfx target: enough to make a host look like a real one.

Independent of the compatibility matrix on purpose: tests must not take their truth from the data under test. Ids and marketing
names are as libdrm's amdgpu.ids has them; sizes are those of the named product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A product as PCI, KFD and the kernel log show it. `klass`: instinct | radeon-pro | radeon | apu | virtual."""

    gfx: str
    device: str
    revision: str
    klass: str
    vram: int
    """MiB of video memory; the BIOS carve-out for an APU."""
    cu: int
    engines: int
    clock: int
    """Highest shader clock in MHz."""
    asic: str
    """Name in "initializing kernel modesetting (NAME ...)"."""
    firmware: str
    """Prefix of the compute firmware: "gc_11_0_0" or "aldebaran"."""
    product: str
    xcc: int = 1

    @property
    def apu(self) -> bool:
        return self.klass == "apu"

    @property
    def pci_class(self) -> int:
        """Instinct cards are accelerators or "other display", not VGA (rules of judgement 4)."""
        if self.klass in ("instinct", "virtual"):
            return 0x120000 if self.gfx in ("gfx942", "gfx950", "gfx1250") else 0x038000
        return 0x038000 if self.gfx in ("gfx1150", "gfx1152", "gfx1153") else 0x030000

    @property
    def wave(self) -> int:
        return 64 if self.gfx.startswith(("gfx8", "gfx9")) else 32

    @property
    def simd_per_cu(self) -> int:
        return 4 if self.wave == 64 else 2


# gfx device rev class vram_mib cu engines mhz asic firmware product
_ROWS = """
gfx803 67df e7 radeon 8192 36 4 1366 POLARIS10 polaris10 AMD Radeon RX 580 Series
gfx803 67ff cf radeon 4096 16 2 1275 POLARIS11 polaris11 AMD Radeon RX 560 Series
gfx803 6981 00 radeon-pro 4096 10 2 1295 POLARIS12 polaris12 AMD Radeon Pro WX 3200 Series
gfx900 6860 00 instinct 16384 64 4 1500 VEGA10 vega10 AMD Radeon Instinct MI25
gfx900 687f c3 radeon 8192 56 4 1630 VEGA10 vega10 AMD Radeon RX Vega
gfx902 15d8 c1 apu 2048 10 1 1400 RAVEN picasso AMD Radeon Vega 10 Graphics
gfx904 69af c0 radeon-pro 4096 20 4 1300 VEGA12 vega12 AMD Radeon Pro Vega 20
gfx906 66a1 02 instinct 32768 60 4 1725 VEGA20 vega20 AMD Instinct MI60 / MI50
gfx906 66af c1 radeon 16384 60 4 1801 VEGA20 vega20 AMD Radeon VII
gfx906 66a1 06 radeon-pro 16384 60 4 1700 VEGA20 vega20 AMD Radeon Pro VII
gfx908 738c 01 instinct 32768 120 8 1502 ARCTURUS arcturus AMD Instinct MI100
gfx90a 740f 02 instinct 65536 104 8 1700 ALDEBARAN aldebaran AMD Instinct MI210
gfx90a 740c 01 instinct 65536 104 8 1700 ALDEBARAN aldebaran AMD Instinct MI250X / MI250
gfx90a 7408 00 instinct 65536 110 8 1700 ALDEBARAN aldebaran AMD Instinct MI250X
gfx90a 7410 02 virtual 65536 104 8 1700 ALDEBARAN aldebaran AMD Instinct MI210 VF
gfx90c 1638 c5 apu 512 8 1 2000 RENOIR green_sardine AMD Radeon Vega Graphics (Cezanne)
gfx942 74a1 00 instinct 196608 304 32 2100 IP_DISCOVERY gc_9_4_3 AMD Instinct MI300X
gfx942 74a0 00 instinct 131072 228 24 2100 IP_DISCOVERY gc_9_4_3 AMD Instinct MI300A
gfx942 74a2 00 instinct 196608 80 32 1420 IP_DISCOVERY gc_9_4_3 AMD Instinct MI308X
gfx942 74a5 00 instinct 262144 304 32 2100 IP_DISCOVERY gc_9_4_3 AMD Instinct MI325X
gfx942 74b5 00 virtual 196608 304 32 2100 IP_DISCOVERY gc_9_4_3 AMD Instinct MI300X VF
gfx950 75a0 00 instinct 294912 256 32 2200 IP_DISCOVERY gc_9_5_0 AMD Instinct MI350X
gfx950 75a3 00 instinct 294912 256 32 2400 IP_DISCOVERY gc_9_5_0 AMD Instinct MI355X
gfx950 75b0 00 virtual 294912 256 32 2200 IP_DISCOVERY gc_9_5_0 AMD Instinct MI350X VF
gfx1010 731f c1 radeon 8192 40 2 2100 NAVI10 navi10 AMD Radeon RX 5700 XT
gfx1011 7362 c3 radeon-pro 8192 36 2 1900 NAVI12 navi12 AMD Radeon Pro V520
gfx1012 7340 c5 radeon 8192 22 1 1900 NAVI14 navi14 AMD Radeon RX 5500 XT
gfx1012 7341 00 radeon-pro 8192 22 1 1900 NAVI14 navi14 AMD Radeon Pro W5500
gfx1013 13fe 00 apu 512 24 2 2000 CYAN_SKILLFISH cyan_skillfish2 AMD BC-250
gfx1030 73bf c0 radeon 16384 80 4 2660 SIENNA_CICHLID sienna_cichlid AMD Radeon RX 6900 XT
gfx1030 73bf c1 radeon 16384 72 4 2575 SIENNA_CICHLID sienna_cichlid AMD Radeon RX 6800 XT
gfx1030 73a3 00 radeon-pro 32768 60 4 2555 SIENNA_CICHLID sienna_cichlid AMD Radeon Pro W6800
gfx1030 73a1 00 radeon-pro 32768 72 4 2570 SIENNA_CICHLID sienna_cichlid AMD Radeon Pro V620
gfx1030 73ae 00 virtual 32768 72 4 2570 SIENNA_CICHLID sienna_cichlid AMD Radeon Pro V620 MxGPU
gfx1031 73df c1 radeon 12288 40 2 2855 NAVY_FLOUNDER navy_flounder AMD Radeon RX 6700 XT
gfx1032 73ff c7 radeon 8192 28 2 2900 DIMGREY_CAVEFISH dimgrey_cavefish AMD Radeon RX 6600
gfx1032 73e3 00 radeon-pro 8192 28 2 2900 DIMGREY_CAVEFISH dimgrey_cavefish AMD Radeon Pro W6600
gfx1033 163f ae apu 1024 8 1 1600 VANGOGH vangogh AMD Custom GPU 0405
gfx1034 743f c1 radeon 4096 16 1 2815 BEIGE_GOBY beige_goby AMD Radeon RX 6500 XT
gfx1035 1681 c7 apu 512 12 1 2400 YELLOW_CARP yellow_carp AMD Radeon 680M
gfx1036 164e d8 apu 512 2 1 2200 IP_DISCOVERY gc_10_3_6 AMD Radeon 610M
gfx1100 744c c8 radeon 24576 96 6 2482 IP_DISCOVERY gc_11_0_0 AMD Radeon RX 7900 XTX
gfx1100 744c cc radeon 20480 84 6 2390 IP_DISCOVERY gc_11_0_0 AMD Radeon RX 7900 XT
gfx1100 7448 00 radeon-pro 49152 96 6 1760 IP_DISCOVERY gc_11_0_0 AMD Radeon Pro W7900
gfx1100 745e cc radeon-pro 32768 70 6 1895 IP_DISCOVERY gc_11_0_0 AMD Radeon Pro W7800
gfx1101 747e c8 radeon 16384 60 3 2520 IP_DISCOVERY gc_11_0_3 AMD Radeon RX 7800 XT
gfx1101 7470 00 radeon-pro 16384 48 3 2345 IP_DISCOVERY gc_11_0_3 AMD Radeon Pro W7700
gfx1101 7460 00 radeon-pro 28672 54 3 2000 IP_DISCOVERY gc_11_0_3 AMD Radeon Pro V710
gfx1101 7461 00 virtual 28672 54 3 2000 IP_DISCOVERY gc_11_0_3 AMD Radeon Pro V710 MxGPU
gfx1102 7480 cf radeon 8192 32 2 2755 IP_DISCOVERY gc_11_0_2 AMD Radeon RX 7600
gfx1102 7480 c0 radeon 16384 32 2 2755 IP_DISCOVERY gc_11_0_2 AMD Radeon RX 7600 XT
gfx1102 7480 00 radeon-pro 8192 32 2 2440 IP_DISCOVERY gc_11_0_2 AMD Radeon Pro W7600
gfx1103 15bf c1 apu 512 12 1 2700 IP_DISCOVERY gc_11_0_1 AMD Radeon 780M Graphics
gfx1103 1900 00 apu 512 12 1 2700 IP_DISCOVERY gc_11_0_4 AMD Radeon 780M Graphics
gfx1150 150e c1 apu 512 16 1 2900 IP_DISCOVERY gc_11_5_0 AMD Radeon 890M Graphics
gfx1151 1586 c1 apu 512 40 2 2900 IP_DISCOVERY gc_11_5_1 AMD Radeon 8060S Graphics
gfx1152 1114 c2 apu 512 8 1 3000 IP_DISCOVERY gc_11_5_2 AMD Radeon 860M Graphics
gfx1153 1902 c0 apu 512 4 1 2900 IP_DISCOVERY gc_11_5_3 AMD Radeon 840M Graphics
gfx1200 7590 c0 radeon 16384 32 2 3320 IP_DISCOVERY gc_12_0_0 AMD Radeon RX 9060 XT
gfx1201 7550 c0 radeon 16384 64 4 2970 IP_DISCOVERY gc_12_0_1 AMD Radeon RX 9070 XT
gfx1201 7551 c0 radeon-pro 32768 64 4 2920 IP_DISCOVERY gc_12_0_1 AMD Radeon AI PRO R9700
gfx1250 75c1 00 instinct 442368 256 32 2400 IP_DISCOVERY gc_12_1_0 AMD Instinct MI455X
"""

# CPUs that APUs come with; anything else gets a desktop or server CPU.
APU_CPUS = {
    "gfx902": "AMD Ryzen 7 3700U with Radeon Vega Mobile Gfx",
    "gfx90c": "AMD Ryzen 7 5700G with Radeon Graphics",
    "gfx1013": "AMD BC-250",
    "gfx1033": "AMD Custom APU 0405",
    "gfx1035": "AMD Ryzen 7 6800H with Radeon Graphics",
    "gfx1036": "AMD Ryzen 9 7950X 16-Core Processor",
    "gfx1103": "AMD Ryzen 7 7840U w/ Radeon 780M Graphics",
    "gfx1150": "AMD Ryzen AI 9 HX 370 w/ Radeon 890M",
    "gfx1151": "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S",
    "gfx1152": "AMD Ryzen AI 7 350 w/ Radeon 860M",
    "gfx1153": "AMD Ryzen AI 5 330 w/ Radeon 820M",
}

_GENERIC = (
    ("gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c", "gfx9-generic"),
    ("gfx942 gfx950", "gfx9-4-generic"),
    ("gfx1010 gfx1011 gfx1012 gfx1013", "gfx10-1-generic"),
    ("gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036", "gfx10-3-generic"),
    ("gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153", "gfx11-generic"),
    ("gfx1200 gfx1201", "gfx12-generic"),
)
GENERIC_ISA = {gfx: generic for members, generic in _GENERIC for gfx in members.split()}
"""Second ISA block that the run time prints (LLVM's generic targets); gfx908 and gfx90a have none."""


def _parse(rows: str) -> tuple[GpuModel, ...]:
    models = []
    for row in rows.strip().splitlines():
        gfx, device, rev, klass, vram, cu, engines, clock, asic, firmware, product = row.split(None, 10)
        xcc = {"74a1": 8, "74a5": 8, "74b5": 8, "74a0": 6, "74a2": 4}.get(device, 8 if gfx == "gfx950" else 1)
        name = asic.replace("_", " ") if asic == "IP_DISCOVERY" else asic
        models.append(
            GpuModel(gfx, device, rev, klass, int(vram), int(cu), int(engines), int(clock), name, firmware, product, xcc)
        )
    return tuple(models)


MODELS = _parse(_ROWS)
GFX = tuple(dict.fromkeys(m.gfx for m in MODELS))
"""Every gfx target with an example, in table order."""


@cache
def model_of(gfx: str, device: str | None = None, revision: str | None = None) -> GpuModel:
    """The first row that fits; an id or gfx outside the table gets a nameless card shaped like a neighbour."""
    rows = [m for m in MODELS if m.gfx == gfx]
    for model in rows:
        if (device is None or model.device == device) and (revision is None or model.revision == revision):
            return model
    near = next((m for m in rows if m.device == device), None)
    base = near or (rows[0] if rows else next(m for m in MODELS if m.gfx == "gfx1201"))
    return GpuModel(
        gfx, device or "7fff", revision or ("00" if near is None else base.revision), base.klass, base.vram, base.cu,
        base.engines,
        base.clock, "IP DISCOVERY", base.firmware, base.product if near else "AMD Radeon Graphics", base.xcc,
    )  # fmt: skip


def encode_gfx(gfx: str) -> int:
    """KFD's gfx_target_version: "gfx90a" is 90010 (major decimal; minor and stepping are hexadecimal digits)."""
    digits = gfx.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def override_value(gfx: str) -> str:
    """The HSA_OVERRIDE_GFX_VERSION that names a target: "gfx1030" is "10.3.0", "gfx90a" is "9.0.10"."""
    value = encode_gfx(gfx)
    return f"{value // 10000}.{value // 100 % 100}.{value % 100}"


def isa_names(gfx: str) -> tuple[str, ...]:
    """Names in rocminfo's ISA blocks, the exact one first, with the features an unchanged host shows."""
    if gfx in ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"):
        features = ":sramecc+:xnack-"
    elif gfx in ("gfx900", "gfx902", "gfx904", "gfx909", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013"):
        features = ":xnack-"
    else:
        features = ""
    names = [f"amdgcn-amd-amdhsa--{gfx}{features}"]
    if gfx in GENERIC_ISA:
        generic = GENERIC_ISA[gfx]
        suffix = features if generic == "gfx9-4-generic" else ":xnack-" if "xnack" in features else ""
        names.append(f"amdgcn-amd-amdhsa--{generic}{suffix}")
    return tuple(names)
