"""How AMD installs a release on a distribution: repository files, keys, pins, packages, and what is irregular about it."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.distributions import Distribution
from rocmdoctor.matrix.document import Document, Node
from rocmdoctor.matrix.drivers import DriverRelease
from rocmdoctor.matrix.signing_keys import SigningKey, read_signing_keys

_CELLS = frozenset({"dir", "base", "graphics", "installer", "runfile", "note", "confidence"})
_FORM = frozenset({"like", "key", "driver_key", "rocm", "driver", "pin", "packages", "prefix", "installer", "notes"})
_PACKAGES = frozenset(
    {
        "rocm",
        "versioned",
        "per_gfx",
        "runtime",
        "sdk",
        "driver",
        "driver_needs",
        "driver_needs_ubuntu",
        "driver_needs_el9",
        "driver_needs_ol",
        "rocm_needs",
    }
)


class RepoFile(NamedTuple):
    """A file of the recipe: its path and its text, with a final newline."""

    path: str
    text: str

    @property
    def urls(self) -> tuple[str, ...]:
        """Repository addresses in it (apt lines, deb822 URIs, baseurl), keys excluded."""
        found = []
        for line in self.text.splitlines():
            if "gpgkey" in line or ("=http" in line and not line.startswith("baseurl=")):
                continue
            found += [word.removeprefix("baseurl=") for word in line.split() if word.removeprefix("baseurl=").startswith("http")]
        return tuple(found)


class Packages(NamedTuple):
    """Package names. `rocm` is everything, `versioned` installs side by side (classic only), `per_gfx` has a place {gfx}.

    `driver_needs` are what DKMS builds with, with a place {kernel} for `uname -r`; `rocm_needs` come with ROCm.
    """

    rocm: tuple[str, ...]
    versioned: tuple[str, ...]
    per_gfx: str | None
    runtime: tuple[str, ...]
    sdk: tuple[str, ...]
    driver: tuple[str, ...]
    driver_needs: tuple[str, ...]
    rocm_needs: tuple[str, ...]


class Recipe(NamedTuple):
    """AMD's recipe for one release on one distribution.

    `line`: classic | therock. `key` signs ROCm, `driver_key` the driver (the same one in the classic line).
    `driver` is the release to install, None where AMD's driver is not part of the recipe; `rocm_dir` is the directory under
    rocm/apt. `prefix` is where ROCm lies. `named`: AMD's pages of that release name this system.
    """

    rocm: str
    line: str
    package_manager: str
    os_id: str
    os_version: str
    codename: str | None
    key: SigningKey
    driver_key: SigningKey
    rocm_repo: RepoFile
    driver_repo: RepoFile | None
    pin: RepoFile | None
    packages: Packages
    driver: str | None
    driver_dir: str | None
    rocm_dir: str | None
    graphics_dir: str | None
    prefix: str
    amdgpu_install_version: str | None
    amdgpu_install_url: str | None
    runfile_url: str | None
    named: bool
    notes: tuple[str, ...]
    source: tuple[str, ...]
    confidence: str | None


class _Cells(NamedTuple):
    form: str
    driver: str
    systems: str
    directory: str | None
    base: str | None
    graphics: str | None
    installer: tuple[str, ...]
    runfile: str | None
    note: str | None
    confidence: str | None
    source: tuple[str, ...]


def read_apt_pin(doc: Document) -> RepoFile:
    """The pin that AMD's classic recipes for apt write; it has no places to fill."""
    form = _form(doc, "classic-5/apt")
    if form is None or "pin" not in form:
        raise doc.fail("recipe_forms/classic-5/apt", "has no pin")
    return _required_file(form["pin"], {})


def read_systems(doc: Document, name: str) -> Mapping[str, tuple[str, ...]]:
    """Distribution id to the versions that AMD's install pages name."""
    node = doc.entry("recipe_systems", name)
    if node is None:
        raise doc.fail(f"recipe_systems/{name}", "is missing")
    return {os_id: versions_.texts() for os_id, versions_ in node.items()}


def read_recipe(
    doc: Document,
    names: Mapping[str, Distribution],
    drivers: tuple[DriverRelease, ...],
    rocm: str,
    os_id: str,
    os_version: str,
) -> Recipe | None:
    """The recipe, or None where AMD has none: a release without packages, a distribution without a form or a suite."""
    row = doc.entry("recipes", rocm)
    system = names.get(os_id)
    if row is None or system is None:
        return None
    cells = _cells(row)
    form = _form(doc, f"{cells.form}/{system.package_manager}")
    if form is None:
        return None
    keys = read_signing_keys(doc)
    codename = system.suites.get(os_version) or system.codename_of(os_version)
    distro = _distro_directory(doc, os_id, os_version) if cells.form.startswith("therock") else None
    if (system.package_manager == "apt" and codename is None) or (cells.form.startswith("therock") and distro is None):
        return None
    driver = next((d for d in drivers if versions.key(d.version) == versions.key(cells.driver)), None)
    if driver is None:
        raise row.fail(f"driver {cells.driver} is not in the section driver_releases")
    major = os_version.partition(".")[0]
    places = {
        "version": rocm,
        "series": versions.major_minor(rocm),
        "dir": cells.directory or "",
        "base": cells.base or "",
        "driver_dir": driver.directory or "",
        "graphics": cells.graphics or "",
        "codename": codename or "",
        "major": major,
        "os_version": os_version,
        "driver_os": major if major == "10" else os_version,
        "graphics_os": os_version if major == "9" else major,
        "distro": distro or "",
        "installer_dir": cells.installer[0] if cells.installer else "",
        "installer": cells.installer[1] if cells.installer else "",
        "kernel": "{kernel}",
        "gfx": "{gfx}",
    }
    key = _key(keys, form["key"])
    packages = _packages(form["packages"], places, os_id, major)
    driver_repo = _file(form.get("driver"), places)
    named = any(versions.is_prefix(v, os_version) for v in read_systems(doc, cells.systems).get(os_id, ()))
    notes = form["notes"].texts() if "notes" in form else ()
    return Recipe(
        rocm=rocm,
        line="therock" if cells.form.startswith("therock") else "classic",
        package_manager=system.package_manager,
        os_id=os_id,
        os_version=os_version,
        codename=codename,
        key=key,
        driver_key=_key(keys, form["driver_key"]) if "driver_key" in form else key,
        rocm_repo=_required_file(form["rocm"], places),
        driver_repo=driver_repo,
        pin=_file(form.get("pin"), places),
        packages=packages,
        driver=driver.version if driver_repo else None,
        driver_dir=driver.directory if driver_repo else None,
        rocm_dir=cells.directory,
        graphics_dir=cells.graphics,
        prefix=_fill(form["prefix"], places),
        amdgpu_install_version=cells.installer[1] if cells.installer else None,
        amdgpu_install_url=_fill(form["installer"], places) if "installer" in form and cells.installer else None,
        runfile_url=cells.runfile,
        named=named,
        notes=(*((cells.note,) if cells.note else ()), *(note.replace("{os_version}", os_version) for note in notes)),
        source=tuple(dict.fromkeys((*cells.source, *form["source"].sources()))),
        confidence=cells.confidence,
    )


def driver_of(doc: Document, rocm: str) -> str | None:
    """The driver release that the recipe of a release installs."""
    row = doc.entry("recipes", rocm)
    return _cells(row).driver if row else None


def systems_of(doc: Document, rocm: str) -> Mapping[str, tuple[str, ...]]:
    """The systems that AMD's install pages name for a release: id to versions; empty without a recipe."""
    row = doc.entry("recipes", rocm)
    return read_systems(doc, _cells(row).systems) if row else {}


def _cells(row: Node) -> _Cells:
    fields = row.fields(frozenset({"form", "driver", "systems", "source"}), _CELLS)

    def text(name: str) -> str | None:
        return fields[name].text() if name in fields else None

    installer = fields["installer"].texts() if "installer" in fields else ()
    if installer and len(installer) != 2:
        raise fields["installer"].fail("expected a directory and a version")
    return _Cells(
        form=fields["form"].text(),
        driver=fields["driver"].text(),
        systems=fields["systems"].text(),
        directory=text("dir"),
        base=text("base"),
        graphics=text("graphics"),
        installer=installer,
        runfile=text("runfile"),
        note=text("note"),
        confidence=text("confidence"),
        source=fields["source"].sources(),
    )


def _form(doc: Document, name: str, chain: tuple[str, ...] = ()) -> dict[str, Node] | None:
    """The cells of a form with those it inherits; None when there is no such form."""
    node = doc.entry("recipe_forms", name)
    if node is None:
        return None
    fields = node.fields(frozenset({"source"}), _FORM)
    if "like" not in fields:
        for missing in {"key", "rocm", "packages", "prefix"} - fields.keys():
            raise node.fail(f"missing key {missing}")
        return fields
    like = fields["like"].text()
    if like in (*chain, name):
        raise fields["like"].fail("`like` goes in a circle")
    parent = _form(doc, like, (*chain, name))
    if parent is None:
        raise fields["like"].fail(f"`like` names {like}, which is not in the section")
    return {**parent, **fields}


def _key(keys: Mapping[str, SigningKey], node: Node) -> SigningKey:
    if node.text() not in keys:
        raise node.fail(f"{node.text()!r} is not in the section signing_keys")
    return keys[node.text()]


def _distro_directory(doc: Document, os_id: str, os_version: str) -> str | None:
    fields = doc.section("therock_distros").fields(frozenset({"source", "directories"}))
    fields["source"].sources()
    for system, directory in fields["directories"].mapping_of_texts().items():
        known_id, _, version = system.partition(" ")
        if known_id == os_id and versions.is_prefix(version, os_version):
            return directory
    return None


def _fill(node: Node, places: Mapping[str, str]) -> str:
    try:
        return node.text().format(**places)
    except (KeyError, IndexError, ValueError) as error:
        raise node.fail(f"unknown placeholder {error}") from error


def _file(node: Node | None, places: Mapping[str, str]) -> RepoFile | None:
    return _required_file(node, places) if node else None


def _required_file(node: Node, places: Mapping[str, str]) -> RepoFile:
    fields = node.fields(frozenset({"path", "lines"}))
    return RepoFile(fields["path"].text(), "".join(_fill(n, places) + "\n" for n in fields["lines"].sequence()))


def _packages(node: Node, places: Mapping[str, str], os_id: str, major: str) -> Packages:
    fields = node.fields(frozenset({"rocm", "driver"}), _PACKAGES)

    def names(key: str) -> tuple[str, ...]:
        return tuple(_fill(n, places) for n in fields[key].sequence()) if key in fields else ()

    needs = names("driver_needs")
    if os_id == "ubuntu":
        needs += names("driver_needs_ubuntu")
    if os_id == "ol" and "driver_needs_ol" in fields:
        needs = names("driver_needs_ol")
    elif major.isdigit() and int(major) >= 9:
        needs += names("driver_needs_el9")
    return Packages(
        rocm=names("rocm"),
        versioned=names("versioned"),
        per_gfx=_fill(fields["per_gfx"], places) if "per_gfx" in fields else None,
        runtime=names("runtime"),
        sdk=names("sdk"),
        driver=names("driver"),
        driver_needs=needs,
        rocm_needs=names("rocm_needs"),
    )
