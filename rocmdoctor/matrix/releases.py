"""What the matrix keeps of a ROCm release: rows of operating systems, GPUs, drivers, frameworks and Python."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping
from typing import NamedTuple

FAMILIES = ("instinct", "radeon", "ryzen")
"""AMD's three support tables; from 7.9 on the operating system and its kernel depend on them."""


class OsRow(NamedTuple):
    """One operating system of a release.

    `version` is compared with VERSION_ID by whole components (AMD writes Oracle Linux by major version), `point` is AMD's
    wording of the point release. `kernels` are prefixes of kernel releases, None where AMD's list was not read;
    `kernels_open` says that the list is known to be incomplete or misprinted, `or_newer` that newer builds of the same
    X.Y count. `families`, `only` and `excluded` say which GPUs AMD supports on this row (empty: all), `limits_open` that
    these limits are older than the row. `status`: supported | preview | deprecated | unsupported.
    """

    id: str
    version: str
    point: str
    kernels: tuple[str, ...] | None
    families: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    limits_open: bool = False
    kernels_open: bool = False
    or_newer: bool = False
    status: str = "supported"
    note: str | None = None
    source: tuple[str, ...] = ()
    confidence: str | None = None

    @property
    def key(self) -> str:
        """What `drop` and inheritance go by: "ubuntu 22.04.4"."""
        return f"{self.id} {self.point}"


class OsLimit(NamedTuple):
    """On which operating systems AMD supports `products` (empty: every product of the row).

    Entries are "id", "id version" or "id version kernel"; `open`: AMD has a newer list that was not read.
    """

    products: tuple[str, ...]
    only: tuple[str, ...]
    excluded: tuple[str, ...]
    open: bool = False


class GpuRow(NamedTuple):
    """One gfx target of a release with AMD's product names.

    `status`: supported | preview | deprecated | unsupported | unknown. `igpu` and `codename` name the graphics of an APU,
    `firmware` the board firmware AMD validated.
    """

    gfx: str
    products: tuple[str, ...]
    status: str = "supported"
    limits: tuple[OsLimit, ...] = ()
    igpu: str | None = None
    codename: str | None = None
    firmware: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    confidence: str | None = None

    @property
    def family(self) -> str:
        """instinct | radeon | ryzen, from AMD's product names."""
        word = self.products[0].partition(" ")[0].lower() if self.products else ""
        return word if word in FAMILIES else "radeon"


class Drivers(NamedTuple):
    """Kernel drivers of a release. `stated` is the list of AMD's own page of that release ("6.3.x" or exact numbers);
    `families` are lists per support table, where an empty tuple means the inbox driver only."""

    released_with: str | None = None
    stated: tuple[str, ...] = ()
    families: Mapping[str, tuple[str, ...]] | None = None
    missing: tuple[str, ...] = ()
    """Drivers that AMD's list lacks although they exist: unknown rather than unsupported."""
    note: str | None = None
    source: tuple[str, ...] = ()


class FrameworkRow(NamedTuple):
    """Versions of one framework that AMD ties to Python versions and gfx targets (10.1 on); empty tuples are "not stated"."""

    name: str
    versions: tuple[str, ...]
    python: tuple[str, ...] = ()
    gfx: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    note: str | None = None


class Frameworks(NamedTuple):
    """Framework versions AMD names: an empty tuple is "none", a framework that is missing or None is "unknown"."""

    versions: Mapping[str, tuple[str, ...] | None]
    rows: tuple[FrameworkRow, ...] = ()
    note: str | None = None
    source: tuple[str, ...] = ()
    confidence: str | None = None


class PythonList(NamedTuple):
    """CPython versions ("3.12") and what the list rests on."""

    versions: tuple[str, ...]
    basis: str
    source: tuple[str, ...]
    wsl: tuple[str, ...] = ()


class WslRow(NamedTuple):
    """Products of one support table that AMD lists under WSL2, and the guests ("ubuntu 24.04.5")."""

    family: str
    os: tuple[str, ...]
    products: tuple[str, ...]
