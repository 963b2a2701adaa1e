"""Facts for hosts that run ROCm: DKMS builds that fail, node tuning, APU memory, containers, WSL, changes."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document
from rocmdoctor.matrix.drivers import covers


class DkmsFailure(NamedTuple):
    """A driver release whose module does not build on a kernel. `inferred`: told from a newer driver on the same kernels."""

    drivers: tuple[str, ...]
    kernel: str
    """Prefix of kernel releases."""
    first_bad: str | None
    fixed_in: str | None
    note: str | None
    source: tuple[str, ...]
    inferred: bool = False

    @property
    def reason(self) -> str:
        """A sentence: which releases fail on which kernels, and what cures it."""
        kernels = f"{self.kernel}.x" + (f" from {self.first_bad} on" if self.first_bad else "")
        said = f"The module of driver {', '.join(self.drivers)} is known not to build on kernel {kernels}"
        if self.inferred:
            said += ", and an older driver knows that kernel even less"
        return said + (f"; {self.fixed_in} builds." if self.fixed_in else ".")

    def fits(self, driver: str, kernel_release: str) -> bool:
        if not any(covers(d, driver) for d in self.drivers) or not versions.is_prefix(self.kernel, kernel_release):
            return False
        return self.first_bad is None or _build(kernel_release) >= _build(self.first_bad)


def _build(kernel_release: str) -> tuple[int, ...]:
    """6.8.0-45-generic is (6, 8, 0, 45): the numbers before the flavour."""
    return versions.key(kernel_release.replace("-", ".", 1).partition("-")[0])


class NodeTuning(NamedTuple):
    """Advice for Instinct servers: kernel arguments and sysctl values by machine ("mi300x", "mi300a"); TTM pages by APU count."""

    cmdline: Mapping[str, tuple[str, ...]]
    sysctl: Mapping[str, Mapping[str, str]]
    ttm_pages: Mapping[str, str]
    iommu: str
    iommu_needed_cpus: int
    iommu_note: str
    blacklist_note: str
    source: tuple[str, ...]


class ApuMemory(NamedTuple):
    """TTM limits: pages of `page_bytes`, by default `default_share` of RAM. Paths of the parameter for ttm and amdttm."""

    page_bytes: int
    default_share: float
    parameter: str
    dkms_parameter: str
    config: str
    tool: str
    note: str
    source: tuple[str, ...]


class Containers(NamedTuple):
    devices: tuple[str, ...]
    run: tuple[str, ...]
    cdi: str
    runtime_env: str
    images_render_gid: int
    note: str
    source: tuple[str, ...]


class Wsl(NamedTuple):
    """WSL2: the variable that makes ROCr look at /dev/dxg, and from which release what is built in."""

    dxg_env: str
    dxg_default_from: str
    librocdxg_from: str
    packaged_from: str
    guests: tuple[str, ...]
    adrenalin: Mapping[str, str]
    classic_usecase: tuple[str, ...]
    """The command that installs ROCm for WSL in the lines of `classic_lines`."""
    classic_lines: tuple[str, ...]
    note: str
    source: tuple[str, ...]


def read_dkms_failures(doc: Document) -> tuple[DkmsFailure, ...]:
    found = []
    for node in doc.section("dkms_failures").fields(frozenset({"rows"}))["rows"].sequence():
        fields = node.fields(frozenset({"drivers", "kernel", "source"}), frozenset({"fixed_in", "note"}))
        kernel = fields["kernel"].fields(frozenset({"prefix"}), frozenset({"from"}))
        found.append(
            DkmsFailure(
                fields["drivers"].texts(),
                kernel["prefix"].text(),
                kernel["from"].text() if "from" in kernel else None,
                fields["fixed_in"].text() if "fixed_in" in fields else None,
                fields["note"].text() if "note" in fields else None,
                fields["source"].sources(),
            )
        )
    return tuple(found)


def find_dkms_failure(rows: tuple[DkmsFailure, ...], driver: str, kernel_release: str) -> DkmsFailure | None:
    """A known failure, or an inferred one: what a newer driver cannot build on this kernel line, an older one cannot either.

    "6.2" (a line, from a bare module version) fits any release of it.
    """
    for row in rows:
        if row.fits(driver, kernel_release):
            return row
    line = versions.components(driver)
    if len(line) == 2:
        for row in rows:
            if any(row.fits(d, kernel_release) for d in row.drivers if versions.components(d)[:2] == line):
                return row
    for row in rows:
        newer = [d for d in row.drivers if versions.key(d) > versions.key(driver)]
        if newer and row.fits(newer[0], kernel_release):
            return row._replace(inferred=True)
    return None


def read_node_tuning(doc: Document) -> NodeTuning:
    fields = doc.section("node_tuning").fields(frozenset({"source", "mi300x", "mi300a", "iommu", "blacklist_note", "bios"}))
    machines = {
        name: fields[name].fields(frozenset({"cmdline", "sysctl"}), frozenset({"idle", "thp", "ttm"}))
        for name in ("mi300x", "mi300a")
    }
    iommu = fields["iommu"].fields(frozenset({"instinct", "radeon", "logical_cpus", "source", "note"}))
    fields["bios"].texts()
    return NodeTuning(
        cmdline={name: row["cmdline"].texts() for name, row in machines.items()},
        sysctl={name: row["sysctl"].mapping_of_texts() for name, row in machines.items()},
        ttm_pages=machines["mi300a"]["ttm"].mapping_of_texts(),
        iommu=iommu["instinct"].text(),
        iommu_needed_cpus=int(iommu["logical_cpus"].text()),
        iommu_note=iommu["note"].text(),
        blacklist_note=fields["blacklist_note"].text(),
        source=(*fields["source"].sources(), *iommu["source"].sources()),
    )


def read_apu_memory(doc: Document) -> ApuMemory:
    texts = ("parameter", "dkms_parameter", "config", "tool", "note")
    fields = doc.section("apu_memory").fields(frozenset({"source", "page_bytes", "default_share", *texts}))
    return ApuMemory(
        page_bytes=int(fields["page_bytes"].text()),
        default_share=float(fields["default_share"].text()),
        **{name: fields[name].text() for name in texts},
        source=fields["source"].sources(),
    )


def read_containers(doc: Document) -> Containers:
    names = ("devices", "run", "cdi", "runtime_env", "images_render_gid", "note")
    fields = doc.section("containers").fields(frozenset({"source", *names}))
    return Containers(
        fields["devices"].texts(),
        fields["run"].texts(),
        fields["cdi"].text(),
        fields["runtime_env"].text(),
        int(fields["images_render_gid"].text()),
        fields["note"].text(),
        fields["source"].sources(),
    )


def read_wsl(doc: Document) -> Wsl:
    texts = ("dxg_env", "dxg_default_from", "librocdxg_from", "packaged_from", "note")
    fields = doc.section("wsl").fields(frozenset({"source", "guests", "adrenalin", "classic_usecase", "classic_lines", *texts}))
    return Wsl(
        **{name: fields[name].text() for name in texts},
        guests=fields["guests"].texts(),
        adrenalin=fields["adrenalin"].mapping_of_texts(),
        classic_usecase=fields["classic_usecase"].texts(),
        classic_lines=fields["classic_lines"].texts(),
        source=fields["source"].sources(),
    )


def read_changes(doc: Document) -> Mapping[str, str]:
    """Name of a change to the release it starts (or ends) with: "rocm_smi_optional_from" is "10.1.0"."""
    found = {}
    for name, node in doc.section("changes").items():
        fields = node.fields(frozenset({"version", "source"}))
        fields["source"].sources()
        found[name] = fields["version"].text()
    return found


class VfGuests(NamedTuple):
    """gfx targets whose SR-IOV virtual functions KFD takes or refuses."""

    allowed: tuple[str, ...]
    refused: tuple[str, ...]
    note: str
    source: tuple[str, ...]


def read_vf_guests(doc: Document) -> VfGuests:
    fields = doc.section("vf_guests").fields(frozenset({"source", "allowed", "refused", "note"}))
    return VfGuests(fields["allowed"].texts(), fields["refused"].texts(), fields["note"].text(), fields["source"].sources())
