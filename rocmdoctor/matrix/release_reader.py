"""Reads the section `releases`: what a release says itself and what it inherits through `like`.

Rows of a release replace the inherited rows of the same operating system and point release, or of the same gfx target;
`drop` removes inherited rows. A block's `source`, `confidence` and `status` are those of its rows without their own.
"""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from functools import cached_property
from typing import NamedTuple

from rocmdoctor.matrix.document import Document, Node
from rocmdoctor.matrix.releases import (
    FAMILIES,
    Drivers,
    FrameworkRow,
    Frameworks,
    GpuRow,
    OsLimit,
    OsRow,
    PythonList,
    WslRow,
)

_LINES = ("classic", "preview", "therock")
_STATUS = ("supported", "preview", "deprecated", "unsupported", "unknown")
_RELEASE = frozenset(
    {
        "like",
        "date",
        "date_note",
        "line",
        "radeon_only",
        "source",
        "notes",
        "os",
        "gpus",
        "drivers",
        "frameworks",
        "python",
        "wsl",
    }
)
_SHOWN = (
    *("version", "line", "date", "date_note", "radeon_only", "os_rows", "os_unknown", "gpu_rows", "gpus_unknown"),
    *("drivers", "frameworks", "python", "wsl", "notes", "source"),
)
_BLOCK = frozenset({"source", "confidence", "status", "unknown", "drop", "rows"})
_OS_ROW = frozenset(
    {"point", "for", "only", "except", "limits_open", "kernels_open", "or_newer", "status", "note", "source", "confidence"}
)
_GPU_ROW = frozenset({"products", "status", "limits", "igpu", "codename", "firmware", "source", "confidence"})
_LIMIT = frozenset({"products", "only", "except", "open"})
_DRIVERS = frozenset({"with", "stated", "missing", "note", "source", *FAMILIES})
_NOTES = frozenset({"note", "source", "confidence", "rows"})


class _Block(NamedTuple):
    """Rows before the block's own source, confidence and status are applied to them; None for "not read"."""

    rows: tuple[OsRow | GpuRow, ...] | None = None
    source: tuple[str, ...] = ()
    confidence: str | None = None
    status: str | None = None
    unknown: tuple[str, ...] = ()


def read_release(doc: Document, version: str, known: "dict[str, Release] | None" = None) -> "Release":
    """The release `version`, which must be a key of the section, and those it is like, into `known`. Raises MatrixError."""
    return Release(doc, version, {} if known is None else known)


class Release:
    """One ROCm release. `line`: classic (repo.radeon.com) | preview (7.9 to 7.13) | therock (7.14 and later).

    `date` is ISO, or None when unknown; `date_note` says what it rests on. `os_rows` and `gpu_rows` are None where AMD's list was
    not read at all; `os_unknown` and `gpus_unknown` name the families ("instinct", "radeon", "ryzen") whose rows were not read.
    `notes` are for people. A list is read when it is asked for: most questions are about one of them, and a search for a release
    that fits asks every release. Each may raise MatrixError.

    `known` has the releases that were read before, and gets this one.
    """

    def __init__(self, doc: Document, version: str, known: "dict[str, Release]", chain: tuple[str, ...] = ()) -> None:
        node = doc.entry("releases", version)
        assert node is not None, version
        self._fields = fields = node.fields(frozenset({"date", "source"}), _RELEASE)
        self._parent: Release | None = None
        if "like" in fields:
            like = fields["like"].text()
            if like == version or like in chain:
                raise fields["like"].fail(f"`like` goes in a circle: {' -> '.join((*chain, version, like))}")
            if like not in doc.entry_keys("releases"):
                raise fields["like"].fail(f"`like` names {like}, which is not in the section")
            self._parent = known.get(like) or Release(doc, like, known, (*chain, version))
        elif "line" not in fields:
            raise node.fail("missing key line")
        date = fields["date"].text()
        self.version = version
        self.line: str = fields["line"].word(_LINES) if "line" in fields or not self._parent else self._parent.line
        self.date = None if date == "unknown" else date
        self.date_note = fields["date_note"].text() if "date_note" in fields else None
        self.radeon_only = fields["radeon_only"].flag() if "radeon_only" in fields else False
        self.notes = fields["notes"].texts() if "notes" in fields else ()
        self.source = fields["source"].sources()
        known[version] = self

    @cached_property
    def os_rows(self) -> tuple[OsRow, ...] | None:
        return None if self._os.rows is None else tuple(r for r in _applied(self._os) if isinstance(r, OsRow))

    @property
    def os_unknown(self) -> tuple[str, ...]:
        return self._os.unknown

    @cached_property
    def gpu_rows(self) -> tuple[GpuRow, ...] | None:
        return None if self._gpus.rows is None else tuple(r for r in _applied(self._gpus) if isinstance(r, GpuRow))

    @property
    def gpus_unknown(self) -> tuple[str, ...]:
        return self._gpus.unknown

    @cached_property
    def drivers(self) -> Drivers:
        if "drivers" in self._fields:
            return _drivers(self._fields["drivers"])
        return self._parent.drivers if self._parent else Drivers()

    @cached_property
    def frameworks(self) -> Frameworks | None:
        if "frameworks" in self._fields:
            return _frameworks(self._fields["frameworks"])
        return self._parent.frameworks if self._parent else None

    @cached_property
    def python(self) -> PythonList | None:
        if "python" in self._fields:
            return _python(self._fields["python"])
        return self._parent.python if self._parent else None

    @cached_property
    def wsl(self) -> tuple[WslRow, ...]:
        return _wsl(self._fields["wsl"]) if "wsl" in self._fields else ()

    @property
    def by_family(self) -> bool:
        """Support is stated per GPU family (7.9 on)."""
        return self.line != "classic"

    def gpus(self, gfx: str) -> tuple[GpuRow, ...]:
        """Rows of a target; none where the list was not read."""
        return tuple(row for row in self.gpu_rows or () if row.gfx == gfx)

    def os_versions(self, os_id: str) -> tuple[str, ...]:
        """Versions of a distribution that the release lists as supported, in order of the file."""
        return tuple(dict.fromkeys(r.version for r in self.os_rows or () if r.id == os_id and r.status != "unsupported"))

    def everything(self) -> dict[str, object]:
        """All of the release by name, which reads what was not asked for yet. Raises MatrixError."""
        return {name: getattr(self, name) for name in _SHOWN}

    @cached_property
    def _os(self) -> _Block:
        return _block(self._fields.get("os"), self._parent._os if self._parent else None, _os_row)

    @cached_property
    def _gpus(self) -> _Block:
        return _block(self._fields.get("gpus"), self._parent._gpus if self._parent else None, _gpu_row)


def _block(node: Node | None, parent: _Block | None, read: object) -> _Block:
    """The rows of a block over those of the parent."""
    reader = _os_row if read is _os_row else _gpu_row
    if node is None:
        return parent or _Block()
    if node.kind == "scalar":
        node.word(("unknown",))
        return _Block()
    fields = node.fields(frozenset(), _BLOCK)
    rows: list[OsRow | GpuRow] = list(parent.rows or ()) if parent else []
    if "drop" in fields:
        for entry in fields["drop"].sequence():
            kept = [row for row in rows if _key(row) != entry.text()]
            if len(kept) == len(rows):
                raise entry.fail(f"{entry.text()!r} drops nothing: no inherited row has that name")
            rows = kept
    own = [reader(row) for row in fields["rows"].sequence()] if "rows" in fields else []
    keys = {_key(row) for row in own}
    rows = [*(row for row in rows if _key(row) not in keys), *own]
    confidence = parent.confidence if parent else None
    if "confidence" in fields:
        word = fields["confidence"].text()
        confidence = None if word == "stated" else word
    return _Block(
        rows=tuple(rows),
        source=fields["source"].sources() if "source" in fields else (parent.source if parent else ()),
        confidence=confidence,
        status=fields["status"].word(_STATUS) if "status" in fields else (parent.status if parent else None),
        unknown=tuple(n.word(FAMILIES) for n in fields["unknown"].sequence()) if "unknown" in fields else (),
    )


def _key(row: OsRow | GpuRow) -> str:
    return row.key if isinstance(row, OsRow) else row.gfx


def _applied(block: _Block) -> tuple[OsRow | GpuRow, ...]:
    """The rows with the block's source, confidence and status where they have none ("" is "not given")."""
    return tuple(
        row._replace(
            source=row.source or block.source,
            confidence=row.confidence or block.confidence,
            status=row.status or block.status or "supported",
        )
        for row in block.rows or ()
    )


def _os_row(node: Node) -> OsRow:
    fields = node.fields(frozenset({"os", "kernels"}), _OS_ROW)
    os_id, _, version = fields["os"].text().partition(" ")
    if not version:
        raise fields["os"].fail('expected "id version"')
    if fields["kernels"].kind == "scalar":
        fields["kernels"].word(("unknown",))
        kernels = None
    else:
        kernels = fields["kernels"].texts()
    return OsRow(
        id=os_id,
        version=version,
        point=fields["point"].text() if "point" in fields else version,
        kernels=kernels,
        families=tuple(n.word(FAMILIES) for n in fields["for"].sequence()) if "for" in fields else (),
        only=fields["only"].texts() if "only" in fields else (),
        excluded=fields["except"].texts() if "except" in fields else (),
        limits_open="limits_open" in fields and fields["limits_open"].flag(),
        kernels_open="kernels_open" in fields and fields["kernels_open"].flag(),
        or_newer="or_newer" in fields and fields["or_newer"].flag(),
        status=fields["status"].word(_STATUS) if "status" in fields else "",
        note=fields["note"].text() if "note" in fields else None,
        source=fields["source"].sources() if "source" in fields else (),
        confidence=fields["confidence"].text() if "confidence" in fields else None,
    )


def _gpu_row(node: Node) -> GpuRow:
    fields = node.fields(frozenset({"gfx"}), _GPU_ROW)
    return GpuRow(
        gfx=fields["gfx"].text(),
        products=fields["products"].texts() if "products" in fields else (),
        status=fields["status"].word(_STATUS) if "status" in fields else "",
        limits=tuple(_limit(n) for n in fields["limits"].sequence()) if "limits" in fields else (),
        igpu=fields["igpu"].text() if "igpu" in fields else None,
        codename=fields["codename"].text() if "codename" in fields else None,
        firmware=fields["firmware"].texts() if "firmware" in fields else (),
        source=fields["source"].sources() if "source" in fields else (),
        confidence=fields["confidence"].text() if "confidence" in fields else None,
    )


def _limit(node: Node) -> OsLimit:
    fields = node.fields(frozenset(), _LIMIT)
    return OsLimit(
        products=fields["products"].texts() if "products" in fields else (),
        only=fields["only"].texts() if "only" in fields else (),
        excluded=fields["except"].texts() if "except" in fields else (),
        open="open" in fields and fields["open"].flag(),
    )


def _drivers(node: Node) -> Drivers:
    fields = node.fields(frozenset({"source"}), _DRIVERS)
    families: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        if family in fields:
            value = fields[family]
            if value.kind == "scalar":
                value.word(("inbox",))
                families[family] = ()
            else:
                families[family] = value.texts()
    return Drivers(
        released_with=fields["with"].text() if "with" in fields else None,
        stated=fields["stated"].texts() if "stated" in fields else (),
        families=families or None,
        missing=fields["missing"].texts() if "missing" in fields else (),
        note=fields["note"].text() if "note" in fields else None,
        source=fields["source"].sources(),
    )


def _frameworks(node: Node) -> Frameworks | None:
    if node.kind == "scalar":
        node.word(("unknown",))
        return None
    versions: dict[str, tuple[str, ...] | None] = {}
    rest: dict[str, Node] = {}
    for name, value in node.items():
        if name in _NOTES:
            rest[name] = value
        elif value.kind == "scalar":
            value.word(("unknown",))
            versions[name] = None
        else:
            versions[name] = value.texts()
    if "source" not in rest:
        raise node.fail("missing key source")
    return Frameworks(
        versions=versions,
        rows=tuple(_framework_row(n) for n in rest["rows"].sequence()) if "rows" in rest else (),
        note=rest["note"].text() if "note" in rest else None,
        source=rest["source"].sources(),
        confidence=rest["confidence"].text() if "confidence" in rest else None,
    )


def _framework_row(node: Node) -> FrameworkRow:
    fields = node.fields(frozenset({"name", "versions"}), frozenset({"python", "gfx", "for", "note"}))
    return FrameworkRow(
        name=fields["name"].text(),
        versions=fields["versions"].texts(),
        python=fields["python"].texts() if "python" in fields else (),
        gfx=fields["gfx"].texts() if "gfx" in fields else (),
        families=fields["for"].texts() if "for" in fields else (),
        note=fields["note"].text() if "note" in fields else None,
    )


def _python(node: Node) -> PythonList | None:
    if node.kind == "scalar":
        node.word(("unknown",))
        return None
    fields = node.fields(frozenset({"versions", "basis", "source"}), frozenset({"wsl"}))
    return PythonList(
        fields["versions"].texts(),
        fields["basis"].text(),
        fields["source"].sources(),
        fields["wsl"].texts() if "wsl" in fields else (),
    )


def _wsl(node: Node) -> tuple[WslRow, ...]:
    rows = []
    for family, value in node.items():
        if family not in FAMILIES:
            raise value.fail(f"{family!r} is not one of {', '.join(FAMILIES)}")
        fields = value.fields(frozenset({"os", "products"}))
        rows.append(WslRow(family, fields["os"].texts(), fields["products"].texts()))
    return tuple(rows)
