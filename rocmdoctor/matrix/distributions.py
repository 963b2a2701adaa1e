"""Distributions: names, package managers, code names, and which of AMD's distributions a derivative takes packages of."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document

_OPTIONAL = frozenset({"listed", "like", "versions", "codenames", "suites", "glibc", "confidence"})


class Distribution(NamedTuple):
    """One os-release ID. `listed`: versions that AMD lists in some release; `like`: the distribution it takes packages of.

    `codenames` to version, `suites` version to AMD's apt code name, `glibc` version to AMD's statement.
    """

    id: str
    name: str
    package_manager: str
    """apt | dnf | zypper | tdnf."""
    listed: tuple[str, ...]
    like: str | None
    versions: Mapping[str, str]
    codenames: Mapping[str, str]
    suites: Mapping[str, str]
    glibc: Mapping[str, str]
    source: tuple[str, ...]
    confidence: str | None

    def lists(self, version: str) -> bool:
        return any(versions.is_prefix(listed, version) for listed in self.listed)

    def codename_of(self, version: str) -> str | None:
        """The code name of a version ("22.04", "22.04.4"): "jammy"."""
        return next((name for name, v in self.codenames.items() if versions.is_prefix(v, version)), None)


class OsBase(NamedTuple):
    """The distribution whose rows and recipes hold for a host. `exact`: it is the host's own, not one it derives from."""

    id: str
    version: str
    exact: bool
    package_manager: str


def read_distributions(doc: Document) -> dict[str, Distribution]:
    found = {}
    for name, node in doc.section("distributions").items():
        fields = node.fields(frozenset({"name", "packages", "source"}), _OPTIONAL)
        found[name] = Distribution(
            id=name,
            name=fields["name"].text(),
            package_manager=fields["packages"].word(("apt", "dnf", "zypper", "tdnf")),
            listed=fields["listed"].texts() if "listed" in fields else (),
            like=fields["like"].text() if "like" in fields else None,
            versions=fields["versions"].mapping_of_texts() if "versions" in fields else {},
            codenames=fields["codenames"].mapping_of_texts() if "codenames" in fields else {},
            suites=fields["suites"].mapping_of_texts() if "suites" in fields else {},
            glibc=fields["glibc"].mapping_of_texts() if "glibc" in fields else {},
            source=fields["source"].sources(),
            confidence=fields["confidence"].text() if "confidence" in fields else None,
        )
    for name, row in found.items():
        if row.like and row.like not in found:
            raise doc.fail(f"distributions/{name}/like", f"{row.like!r} is not in the section")
    return found


def find_base(
    known: Mapping[str, Distribution],
    os_id: str,
    version: str | None,
    id_like: Sequence[str] = (),
    ubuntu_codename: str | None = None,
    codename: str | None = None,
) -> OsBase | None:
    """AMD's distribution behind an os-release; None where AMD packages nothing for it (Arch, Fedora, NixOS ...).

    UBUNTU_CODENAME decides for derivatives of Ubuntu, VERSION_ID for those of RHEL and SLES (rules.md 43).
    """
    own = known.get(os_id)
    if own and not version:  # testing and rolling releases have a code name only
        version = own.codenames.get(codename or "")
    if own and own.listed and version and own.lists(version):
        return OsBase(os_id, version, True, own.package_manager)
    if own and own.listed and version and not own.like:
        return OsBase(os_id, version, True, own.package_manager)
    for like in (own.like if own else None, *id_like):
        base = known.get(like) if like else None
        if base is None or (base.like and not base.listed):
            continue
        if base.codenames:
            found = base.codenames.get(ubuntu_codename or "") or base.codenames.get(codename or "")
            found = found or (_mapped(own.versions, version) if own and version else None)
            found = found or next((v for v in base.codenames.values() if version and versions.is_prefix(v, version)), None)
            if found:
                return OsBase(base.id, found, False, base.package_manager)
        elif version:
            return OsBase(base.id, version, False, base.package_manager)
    return None


def _mapped(table: Mapping[str, str], version: str) -> str | None:
    return next((to for own, to in table.items() if versions.is_prefix(own, version)), None)
