"""Known faults: combinations that public reports or AMD's notes call broken, where no support row says so."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.ranges import read_range

if TYPE_CHECKING:
    from rocmdoctor.matrix.document import Document, Node

_NOTES = frozenset({"confidence", "why", "source"})


class ApuPair(NamedTuple):
    """The first ROCm and kernels that AMD names together for some APUs. `kernels`: flavour or distribution to release."""

    rocm_from: str
    kernels: dict[str, str]
    reason: str

    def kernel_fits(self, release: str, flavour: str | None, os_id: str) -> bool:
        """Whether a running kernel (uname -r) is at or above the first fixed one of its kind."""
        first = self.kernels.get(flavour or "") or self.kernels.get(os_id) or self.kernels["other"]
        return versions.key(release)[: len(versions.key(first))] >= versions.key(first)

    @property
    def kernels_text(self) -> str:
        named = {"oem": "Ubuntu's OEM kernel", "ubuntu": "Ubuntu's HWE kernel", "other": "Linux"}
        return ", ".join(f"{named.get(kind, kind)} {release}" for kind, release in self.kernels.items()) + " or later"


class StopsAll(NamedTuple):
    """A card of one of these targets stops every GPU of the machine; `last_good` is the last ROCm that works beside it."""

    gfx: tuple[str, ...]
    rocm_from: str
    last_good: str


class KnownFaults:
    """Typed answers from the section known_faults; each entry is parsed when it is asked for."""

    def __init__(self, document: "Document") -> None:
        self._doc = document

    def _entry(self, name: str, required: frozenset[str]) -> "dict[str, Node]":
        node = self._doc.entry("known_faults", name)
        if node is None:
            raise self._doc.fail("known_faults", f"entry {name} is missing")
        return node.fields(required | {"source"}, _NOTES)

    def _rows(self, name: str, required: frozenset[str]) -> "Iterator[dict[str, Node]]":
        for row in self._entry(name, frozenset({"rows"}))["rows"].sequence():
            yield row.fields(required, _NOTES)

    def stops_all(self, rocm: str) -> StopsAll | None:
        """The old targets of which one card stops every GPU of the machine with this ROCm (rules.md 18)."""
        fields = self._entry("gfx803_stops_all", frozenset({"gfx", "rocm_from", "last_good"}))
        found = StopsAll(fields["gfx"].texts(), fields["rocm_from"].text(), fields["last_good"].text())
        return found if versions.key(rocm) >= versions.key(found.rocm_from) else None

    def native(self, gfx: str, rocm: str) -> str | None:
        """Why a target is broken in this ROCm whatever is set; None when nothing is known against it."""
        for row in self._rows("native_gfx", frozenset({"gfx", "rocm"})):
            if gfx in row["gfx"].texts() and read_range(row["rocm"]).holds(rocm):
                return row["why"].text()
        return None

    @cached_property
    def shadowed_packages(self) -> frozenset[str]:
        """Packages that Ubuntu and Debian carry under AMD's names with higher numbers (rules.md 39)."""
        return frozenset(self._entry("shadowed_packages", frozenset({"names"}))["names"].texts())

    def has_apt_suite(self, suite: str, rocm: str) -> bool:
        """AMD's classic apt repository of this ROCm release has a suite of that name."""
        rows = self._rows("apt_suites", frozenset({"suite", "rocm"}))
        return any(row["suite"].text() == suite and read_range(row["rocm"]).holds(rocm) for row in rows)

    def last_hwe_kernel(self, version: str) -> str | None:
        """The last HWE kernel that an Ubuntu LTS got, None where newer ones may come."""
        return self._entry("last_hwe_kernel", frozenset({"kernels"}))["kernels"].mapping_of_texts().get(version)

    def triton_hip_major(self, package: str, version: str) -> str | None:
        """The ROCm major that a triton build is linked against, where it is known to be a fixed one."""
        base = version.partition("+")[0]
        for row in self._rows("triton_hip_major", frozenset({"package", "version", "rocm"})):
            if row["package"].text() == package and row["version"].text() == base:
                return row["rocm"].text()
        return None

    def pynvml_confuses(self, torch: str) -> bool:
        """pynvml without amdsmi breaks device_count() of this torch."""
        fields = self._entry("pynvml_without_amdsmi", frozenset({"torch_from", "torch_before"}))
        return versions.key(fields["torch_from"].text()) <= _release(torch) < versions.key(fields["torch_before"].text())

    def numpy_too_new(self, torch: str, amd_rocm: str | None = None) -> str | None:
        """The first numpy that a torch built against numpy 1 cannot use; None for others. `amd_rocm`: the ROCm release of a wheel
        that AMD itself built, else None."""
        fields = self._entry("numpy1_only", frozenset({"numpy_from", "torch_before", "amd_wheels_to"}))
        if amd_rocm:
            old = versions.key(amd_rocm) <= versions.key(fields["amd_wheels_to"].text())
        else:
            old = _release(torch) < versions.key(fields["torch_before"].text())
        return fields["numpy_from"].text() if old else None

    def apu_pair(self, gfx: str) -> ApuPair | None:
        """First ROCm and kernels that AMD names together for this APU target."""
        for row in self._rows("apu_pairs", frozenset({"gfx", "rocm_from", "kernels"})):
            if gfx in row["gfx"].texts():
                return ApuPair(row["rocm_from"].text(), row["kernels"].mapping_of_texts(), row["why"].text())
        return None

    @cached_property
    def apu_pool_kernel(self) -> str:
        """The first kernel that gives ROCm an APU's whole memory."""
        return self._entry("apu_pool_from_gtt", frozenset({"kernel"}))["kernel"].text()

    def bad_firmware(self, gfx: str, snapshot: str) -> str | None:
        """Why a linux-firmware snapshot (YYYYMMDD) is bad for a target; None when nothing is known against it."""
        for row in self._rows("bad_firmware", frozenset({"gfx", "snapshot"})):
            if gfx in row["gfx"].texts() and row["snapshot"].text() == snapshot:
                return row["why"].text()
        return None

    def clang_needs_newest_headers(self, clang: str | None, rocm: str | None) -> bool:
        """This clang takes the newest gcc, even one without C++ headers. `clang`: its major version; else the release tells."""
        fields = self._entry("newest_gcc_without_headers", frozenset({"clang_before", "rocm_before"}))
        if clang:
            return versions.key(clang) < versions.key(fields["clang_before"].text())
        return rocm is not None and versions.key(rocm) < versions.key(fields["rocm_before"].text())

    def jaxlib_for(self, plugin: str) -> str | None:
        """The first jaxlib that knows a plug-in package; None where nothing is known against older ones."""
        for row in self._rows("jax_plugin_unknown_to_jaxlib", frozenset({"plugin", "jaxlib_from"})):
            if row["plugin"].text() == plugin:
                return row["jaxlib_from"].text()
        return None

    def lint(self) -> None:
        """Reads every entry once. Raises MatrixError for the first that is wrong."""
        self.stops_all("7.0.0")
        self.native("", "7.0.0")
        self.triton_hip_major("", "")
        self.has_apt_suite("", "7.0.0")
        self.last_hwe_kernel("")
        self.pynvml_confuses("2.5.0")
        self.numpy_too_new("2.5.0")
        self.apu_pair("")
        self.bad_firmware("", "")
        self.clang_needs_newest_headers("18", None)
        self.jaxlib_for("")
        _ = self.shadowed_packages, self.apu_pool_kernel
        known = {
            "gfx803_stops_all",
            "native_gfx",
            "shadowed_packages",
            "triton_hip_major",
            "apt_suites",
            "last_hwe_kernel",
            "pynvml_without_amdsmi",
            "numpy1_only",
            "newest_gcc_without_headers",
            "jax_plugin_unknown_to_jaxlib",
        }
        for name in self._doc.entry_keys("known_faults"):
            _read_sources(self._doc.entry("known_faults", name))
            if name not in known | {"apu_pairs", "apu_pool_from_gtt", "bad_firmware"}:
                raise self._doc.fail(f"known_faults/{name}", "unknown entry")


def _read_sources(node: "Node | None") -> None:
    """Every `source` of an entry and of its rows resolves."""
    for name, value in node.items() if node else ():
        if name == "source":
            value.sources()
        for row in value.sequence() if name == "rows" else ():
            _read_sources(row)


def _release(torch: str) -> tuple[int, ...]:
    """2.6.0.dev20241213+rocm6.2.4 sorts as 2.6.0."""
    parts = torch.partition("+")[0].split(".")[:3]
    return versions.key(".".join(p for p in parts if p.isdigit()))
