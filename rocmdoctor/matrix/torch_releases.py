"""PyTorch releases: their ROCm indexes, compiled gfx lists, Pythons and companions, and what a local version tag says."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

import re
from collections.abc import Mapping
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document, Node


class TorchRelease(NamedTuple):
    """An official PyTorch release. `indexes` are names under /whl/rocm ("6.2"), `gfx` the compiled list per index.

    `cpython` are wheel tags ("cp312", "cp313t"). `torchvision` and `torchaudio` are versions; "2.11.x" is any patch level.
    None where unknown.
    """

    version: str
    released: str
    indexes: tuple[str, ...]
    gfx: Mapping[str, frozenset[str]]
    cpython: tuple[str, ...]
    torchvision: str | None
    torchaudio: str | None
    triton_package: str | None
    triton_version: str | None
    confidence: str | None

    def has_python(self, python: str) -> bool:
        return cpython_tag(python) in self.cpython


class Local(NamedTuple):
    """A local version tag taken apart: "7.2.0.git7e1940d4" is ROCm 7.2.0 of AMD's own build."""

    rocm: str
    rest: str = ""

    @property
    def is_amd_build(self) -> bool:
        return self.rest.startswith((".git", ".lw"))


def split_local(tag: str) -> Local | None:
    """The ROCm version in a local tag or index name: "rocm6.2", "6.2", "rocm7.2.0.git7e1940d4"; None when there is none."""
    found = re.fullmatch(r"(?:rocm)?(\d+(?:\.\d+)*)(.*)", tag.strip().rpartition("+")[2])
    if not found:
        return None
    return Local(found.group(1), found.group(2))


def cpython_tag(python: str) -> str:
    """ "3.12" and "3.12.4" are cp312; a tag stays what it is."""
    if python.startswith("cp"):
        return python
    return "cp" + "".join(str(n) for n in versions.components(python)[:2])


def read_arch_list(doc: Document, name: str, asking: Node) -> frozenset[str]:
    node = doc.entry("arch_lists", name)
    if node is None:
        raise asking.fail(f"{name!r} is not in the section arch_lists")
    return frozenset(node.texts())


def read_torch_release(doc: Document, version: str) -> TorchRelease | None:
    """The official release "2.5.1"; None when the table does not know it."""
    node = doc.entry("torch_releases", version)
    if node is None:
        return None
    optional = frozenset({"cpython", "torchvision", "torchaudio", "triton", "confidence"})
    fields = node.fields(frozenset({"released", "indexes"}), optional)
    gfx = {index: read_arch_list(doc, n.text(), n) for index, n in fields["indexes"].items()}
    triton = fields["triton"].text().split() if "triton" in fields else []
    return TorchRelease(
        version=version,
        released=fields["released"].text(),
        indexes=tuple(gfx),
        gfx=gfx,
        cpython=tuple(fields["cpython"].text().split()) if "cpython" in fields else (),
        torchvision=fields["torchvision"].text() if "torchvision" in fields else None,
        torchaudio=fields["torchaudio"].text() if "torchaudio" in fields else None,
        triton_package=triton[0] if triton else None,
        triton_version=triton[1] if len(triton) > 1 else None,
        confidence=fields["confidence"].text() if "confidence" in fields else None,
    )
