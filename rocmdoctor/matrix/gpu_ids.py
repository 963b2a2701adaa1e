"""PCI ids and gfx targets: what a board is called, which target it has, and what AMD's tables and kernels say of that target."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor.matrix.document import Document, Node

CLASSES = ("instinct", "radeon-pro", "radeon", "apu", "virtual")
_CHIP = frozenset({"gfx", "generation"})
_GFX = frozenset({"kfd_since", "atomics", "generic", "vgprs", "sramecc", "xnack", "note", "confidence"})


class PciGpu(NamedTuple):
    """A GPU by its PCI id. `revision` is "" when the answer holds for the id as a whole.

    `names` are the product names of that revision (of every revision when it is unknown), "AMD ..." as libdrm has them.
    `klass`: instinct | radeon-pro | radeon | apu | virtual. `kfd_since`: "A..B" is absent in kernel A and present in B.
    `sources` says who names the gfx; one source is a hint, not more.
    """

    device: str
    revision: str
    gfx: str
    codename: str
    names: tuple[str, ...]
    klass: str
    generation: str
    kfd_since: str | None
    sources: tuple[str, ...]

    @property
    def product(self) -> str | None:
        return "; ".join(self.names) or None


class GfxTarget(NamedTuple):
    """A gfx target. `families`: AMD's support tables with products of it, likeliest first.

    `atomics_firmware`: MEC firmware version from which PCIe atomics are not needed any more. `kfd_since` is None where no
    device id is known. `vgpr_class`: large | small, None before RDNA3. `wavefront` in lanes.
    """

    name: str
    families: tuple[str, ...]
    needs_atomics: str
    """always | never | firmware | unknown."""
    atomics_firmware: str | None
    generic: str | None
    vgpr_class: str | None
    sramecc: bool
    xnack: bool
    kfd_since: str | None
    note: str | None
    source: tuple[str, ...]
    confidence: str | None

    @property
    def klass(self) -> str:
        """The class of a board of which only the target is known: instinct | radeon | apu."""
        return {"instinct": "instinct", "ryzen": "apu"}.get(self.families[0], "radeon")

    @property
    def override_value(self) -> str:
        """What HSA_OVERRIDE_GFX_VERSION would have to say for this very target: "9.0.10" for gfx90a."""
        return override_value(self.name)

    @property
    def wavefront(self) -> int:
        return 64 if int(self.name[3:-2]) < 10 else 32


def override_value(gfx: str) -> str:
    """gfx name to major.minor.stepping in decimal; minor and stepping of a name are hexadecimal."""
    return f"{int(gfx[3:-2])}.{int(gfx[-2], 16)}.{int(gfx[-1], 16)}"


_SOURCE_LETTERS = {
    "l": "linux",
    "h": "libhsakmt",
    "r": "rocm_agent_enumerator",
    "g": "gpuopen",
    "c": "rocprof_compute",
    "p": "pci_ids",
    "j": "rocjitsu",
    "d": "libdrm",
    "i": "inference",
}
_ID = frozenset({"class_of", "chip_of", "names"})


def read_pci_gpu(doc: Document, device: str, revision: str = "") -> PciGpu | None:
    """The GPU with this device id and revision (hexadecimal, lower case); None for an unknown id.

    A revision that the table does not know gives the answer for the id.
    """
    node = doc.entry("pci_ids", device.lower())
    if node is None:
        return None
    fields = node.fields(frozenset({"chip", "class", "by"}), _ID)
    base_chip, base_class = fields["chip"].text(), fields["class"].word(CLASSES)
    chips = _by_revision(fields.get("chip_of"))
    classes = _by_revision(fields.get("class_of"))
    names = fields["names"].mapping_of_texts() if "names" in fields else {}
    wanted = revision.lower()
    own = tuple(name for name, revisions in names.items() if wanted and wanted in revisions.split())
    if not own:
        wanted, own = "", tuple(names)
    chip = chips.get(wanted, base_chip)
    gfx, generation = read_chip(doc, chip, fields["chip"])
    target = read_gfx(doc, gfx)
    letters = fields["by"].text().partition("+")[0]
    return PciGpu(
        device=device.lower(),
        revision=wanted,
        gfx=gfx,
        codename=chip,
        names=tuple(f"AMD {name}" for name in own),
        klass=classes.get(wanted, base_class),
        generation=generation,
        kfd_since=target.kfd_since if target else None,
        sources=tuple(_source(letter, fields["by"]) for letter in letters),
    )


def _source(letter: str, node: Node) -> str:
    if letter not in _SOURCE_LETTERS:
        raise node.fail(f"{letter!r} is no source letter; known: {''.join(_SOURCE_LETTERS)}")
    return _SOURCE_LETTERS[letter]


def _by_revision(node: Node | None) -> dict[str, str]:
    """{"radeon-pro": "c0 e3"} as {"c0": "radeon-pro", "e3": "radeon-pro"}."""
    if node is None:
        return {}
    return {revision: name for name, revisions in node.mapping_of_texts().items() for revision in revisions.split()}


def read_chip(doc: Document, name: str, asking: Node) -> tuple[str, str]:
    """gfx target and generation of a chip."""
    node = doc.entry("chips", name)
    if node is None or name == "source":
        raise asking.fail(f"chip {name!r} is not in the section chips")
    fields = node.fields(_CHIP)
    return fields["gfx"].text(), fields["generation"].text()


def read_gfx(doc: Document, name: str) -> GfxTarget | None:
    """The target of this name; None when the section does not know it."""
    node = doc.entry("gfx", name) if name not in ("source", "notes") else None
    if node is None:
        return None
    fields = node.fields(frozenset({"family"}), _GFX)
    atomics = fields["atomics"].text() if "atomics" in fields else "unknown"
    words = ("always", "never", "unknown")
    source = doc.entry("gfx", "source")
    return GfxTarget(
        name=name,
        families=tuple(n.word(("instinct", "radeon", "ryzen")) for n in fields["family"].sequence()),
        needs_atomics=atomics if atomics in words else "firmware",
        atomics_firmware=None if atomics in words else atomics,
        generic=fields["generic"].text() if "generic" in fields else None,
        vgpr_class=fields["vgprs"].word(("large", "small")) if "vgprs" in fields else None,
        sramecc="sramecc" in fields and fields["sramecc"].flag(),
        xnack="xnack" in fields and fields["xnack"].flag(),
        kfd_since=fields["kfd_since"].text() if "kfd_since" in fields else None,
        note=fields["note"].text() if "note" in fields else None,
        source=source.sources() if source else (),
        confidence=fields["confidence"].text() if "confidence" in fields else None,
    )


def gfx_names(doc: Document) -> tuple[str, ...]:
    return tuple(name for name in doc.entry_keys("gfx") if name not in ("source", "notes"))


def read_therock_families(doc: Document) -> dict[str, frozenset[str]]:
    """Family name ("gfx110X-all") to its gfx targets."""
    found = {}
    for name, node in doc.section("therock_families").items():
        fields = node.fields(frozenset({"gfx", "source"}))
        fields["source"].sources()
        found[name] = frozenset(fields["gfx"].texts())
    return found
