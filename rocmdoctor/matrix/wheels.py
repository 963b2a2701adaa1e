"""Wheels beside the official PyTorch releases: indexes, AMD's own wheels, TheRock, faults and rules of wheels, other packages."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document
from rocmdoctor.matrix.ranges import VersionRange, read_range
from rocmdoctor.matrix.torch_releases import read_arch_list


class TorchIndexes(NamedTuple):
    """The ROCm indexes of download.pytorch.org. `url` has a place {index}; `absent` are names that never existed;
    `hip` shows torch.version.hip per index."""

    url: str
    absent: tuple[str, ...]
    nightly: tuple[str, ...]
    hip: Mapping[str, tuple[str, ...]]
    note: str
    source: tuple[str, ...]
    gfx_source: tuple[str, ...]


class AmdWheels(NamedTuple):
    """A folder repo.radeon.com/rocm/manylinux/rocm-rel-`folder` with the names seen there; versions with their local part."""

    folder: str
    torch: str | None
    torchvision: str | None
    torchaudio: str | None
    triton: str | None
    cpython: tuple[str, ...]
    gfx: frozenset[str] | None
    source: tuple[str, ...]
    confidence: str | None


class TheRockIndex(NamedTuple):
    """An index of TheRock wheels. `url` may have a place {family}; `stream`: stable | rc | nightly | dev | bkc."""

    name: str
    url: str
    stream: str
    rocm: tuple[str, ...]
    note: str | None
    source: tuple[str, ...]


class TheRockTorch(NamedTuple):
    """PyTorch of one ROCm release on a TheRock index: package sets, newest first; `devices` have device extras."""

    rocm: str
    wheel_index: TheRockIndex
    cpython: tuple[str, ...]
    devices: tuple[str, ...]
    sets: tuple[Mapping[str, str], ...]
    source: tuple[str, ...]
    confidence: str | None


class WheelFault(NamedTuple):
    """Wheels that are worse than their table. `kind`: libraries | kernels | install | torchaudio. Empty gfx: every target."""

    gfx: tuple[str, ...]
    torch: str | None
    indexes: VersionRange
    kind: str
    reason: str
    source: tuple[str, ...]
    confidence: str | None

    def holds(self, gfx: str | None, torch: str, index: str) -> bool:
        if self.gfx and gfx not in self.gfx:
            return False
        return self.torch in (None, torch) and self.indexes.holds(index)


class PythonPackage(NamedTuple):
    """Another framework's package: versions and the ROCm lines ("7.x", "6.4.x") they are for."""

    name: str
    versions: tuple[str, ...]
    rocm: tuple[str, ...]
    python: tuple[str, ...]
    gfx: tuple[str, ...]
    note: str | None
    source: tuple[str, ...]


class WheelRules(NamedTuple):
    """How wheels are read. Versions are torch releases unless the name says otherwise."""

    manylinux_2_28_from: str
    manylinux_glibc: str
    """The glibc that manylinux_2_28 wheels want."""
    bundled_libraries_until: str
    """The last ROCm index whose wheels carry the ROCm libraries in torch/lib."""
    version_rocm_from: str
    """torch.version.rocm exists from here on."""
    numpy_2_from: str
    rpath_from: str
    torchaudio_last: str
    triton_names: Mapping[str, str]
    placeholders: tuple[str, ...]
    uv_last_index: str
    uv_gfx: frozenset[str]
    uv_note: str
    local_version_sort: str
    source: tuple[str, ...]


class DevicePackages(NamedTuple):
    """gfx targets with device packages on TheRock's indexes and on the mirror behind pytorch.org's rocm7.14 index."""

    therock: tuple[str, ...]
    pytorch_org: tuple[str, ...]
    sanity_tested: tuple[str, ...]
    without_hipblaslt: tuple[str, ...]
    without_rccl: tuple[str, ...]


def read_torch_indexes(doc: Document) -> TorchIndexes:
    required = frozenset({"source", "gfx_source", "url", "note", "absent", "nightly", "hip", "hip_confidence"})
    fields = doc.section("torch_indexes").fields(required)
    return TorchIndexes(
        url=fields["url"].text(),
        absent=fields["absent"].texts(),
        nightly=fields["nightly"].texts(),
        hip={index: node.texts() for index, node in fields["hip"].items()},
        note=fields["note"].text(),
        source=fields["source"].sources(),
        gfx_source=fields["gfx_source"].sources(),
    )


def read_hip_versions(doc: Document) -> Mapping[str, str]:
    """HIP X.Y to ROCm X.Y, where they differ."""
    fields = doc.section("hip_versions").fields(frozenset({"source", "rows"}), frozenset({"confidence"}))
    fields["source"].sources()
    return fields["rows"].mapping_of_texts()


def read_amd_wheels(doc: Document) -> tuple[AmdWheels, ...]:
    optional = frozenset({"torch", "torchvision", "torchaudio", "triton", "cpython", "gfx", "note", "confidence"})
    found = []
    for folder, node in doc.section("amd_wheels").items():
        fields = node.fields(frozenset({"source"}), optional)
        text = {
            name: fields[name].text() if name in fields else None for name in ("torch", "torchvision", "torchaudio", "triton")
        }
        found.append(
            AmdWheels(
                folder,
                text["torch"],
                text["torchvision"],
                text["torchaudio"],
                text["triton"],
                tuple(fields["cpython"].text().split()) if "cpython" in fields else (),
                read_arch_list(doc, fields["gfx"].text(), fields["gfx"]) if "gfx" in fields else None,
                fields["source"].sources(),
                fields["confidence"].text() if "confidence" in fields else None,
            )
        )
    return tuple(found)


def read_therock_indexes(doc: Document) -> Mapping[str, TheRockIndex]:
    found = {}
    for name, node in doc.section("therock_indexes").items():
        fields = node.fields(frozenset({"url", "stream", "source"}), frozenset({"rocm", "note"}))
        found[name] = TheRockIndex(
            name,
            fields["url"].text(),
            fields["stream"].word(("stable", "rc", "nightly", "dev", "bkc")),
            fields["rocm"].texts() if "rocm" in fields else (),
            fields["note"].text() if "note" in fields else None,
            fields["source"].sources(),
        )
    return found


def read_therock_torch(doc: Document) -> tuple[TheRockTorch, ...]:
    """By ROCm release, newest first."""
    indexes = read_therock_indexes(doc)
    devices = read_device_packages(doc)
    found = []
    for rocm, node in doc.section("therock_torch").items():
        fields = node.fields(frozenset({"index", "cpython", "devices", "sets", "source"}), frozenset({"confidence"}))
        index = indexes.get(fields["index"].text())
        if index is None:
            raise fields["index"].fail("not in the section therock_indexes")
        fields["devices"].word(("therock",))
        found.append(
            TheRockTorch(
                rocm,
                index,
                tuple(fields["cpython"].text().split()),
                devices.therock,
                tuple(n.mapping_of_texts() for n in fields["sets"].sequence()),
                fields["source"].sources(),
                fields["confidence"].text() if "confidence" in fields else None,
            )
        )
    return tuple(sorted(found, key=lambda row: versions.key(row.rocm), reverse=True))


def read_device_packages(doc: Document) -> DevicePackages:
    names = ("therock", "pytorch_org", "sanity_tested", "without_hipblaslt", "without_rccl")
    fields = doc.section("device_packages").fields(frozenset({"source", "note", *names}))
    fields["source"].sources()
    return DevicePackages(*(fields[name].texts() for name in names))


def read_wheel_faults(doc: Document) -> tuple[WheelFault, ...]:
    found = []
    for node in doc.section("wheel_faults").fields(frozenset({"rows"}))["rows"].sequence():
        fields = node.fields(frozenset({"kind", "reason", "source"}), frozenset({"gfx", "torch", "index", "confidence"}))
        found.append(
            WheelFault(
                fields["gfx"].texts() if "gfx" in fields else (),
                fields["torch"].text() if "torch" in fields else None,
                read_range(fields.get("index")),
                fields["kind"].word(("libraries", "kernels", "install", "torchaudio")),
                fields["reason"].text(),
                fields["source"].sources(),
                fields["confidence"].text() if "confidence" in fields else None,
            )
        )
    return tuple(found)


def read_wheel_rules(doc: Document) -> WheelRules:
    texts = (
        "manylinux_2_28_from",
        "manylinux_glibc",
        "bundled_libraries_until",
        "version_rocm_from",
        "numpy_2_from",
        "rpath_from",
        "torchaudio_last",
        "uv_last_index",
        "uv_note",
        "local_version_sort",
    )
    fields = doc.section("wheel_rules").fields(frozenset({"source", "triton_names", "placeholders", "uv_gfx", *texts}))
    return WheelRules(
        **{name: fields[name].text() for name in texts},
        triton_names=fields["triton_names"].mapping_of_texts(),
        placeholders=fields["placeholders"].texts(),
        uv_gfx=frozenset(fields["uv_gfx"].texts()),
        source=fields["source"].sources(),
    )


def read_python_packages(doc: Document) -> Mapping[str, PythonPackage]:
    found = {}
    for name, node in doc.section("python_packages").items():
        fields = node.fields(frozenset({"versions", "rocm", "source"}), frozenset({"python", "gfx", "note"}))
        found[name] = PythonPackage(
            name,
            fields["versions"].texts(),
            fields["rocm"].texts(),
            fields["python"].texts() if "python" in fields else (),
            fields["gfx"].texts() if "gfx" in fields else (),
            fields["note"].text() if "note" in fields else None,
            fields["source"].sources(),
        )
    return found
