"""Repositories beside AMD's that AMD's packages need: EPEL and CodeReady Builder, modules of SUSE."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document


class ExtraRepositories(NamedTuple):
    """`release_package`: address of the package that brings the repository (EPEL), `brings` the file that shows that it is there,
    `enable` what switches on the builder repository. `modules`: for SUSEConnect, with version and architecture. `ids`: parts of
    repository ids (lower case) by which both are recognised; every one must be there."""

    release_package: str | None
    brings: str | None
    package_name: str | None
    enable: tuple[str, ...]
    modules: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    source: tuple[str, ...]


_OPTIONAL = frozenset({"release_package", "brings", "package_name", "enable", "modules"})


def read_extra_repositories(doc: Document, manager: str, os_version: str) -> ExtraRepositories | None:
    """What a package manager's systems need; None when they need nothing."""
    node = doc.entry("extra_repositories", manager)
    if node is None:
        return None
    fields = node.fields(frozenset({"ids", "source"}), _OPTIONAL)
    places = {"major": os_version.partition(".")[0], "os_version": os_version, "series": versions.major_minor(os_version)}

    def filled(name: str) -> str | None:
        return fields[name].text().format(**places) if name in fields else None

    return ExtraRepositories(
        release_package=filled("release_package"),
        brings=filled("brings"),
        package_name=filled("package_name"),
        enable=fields["enable"].texts() if "enable" in fields else (),
        modules=tuple(text.format(**places) for text in fields["modules"].texts()) if "modules" in fields else (),
        ids=tuple(tuple(text.split("|")) for text in fields["ids"].texts()),
        source=fields["source"].sources(),
    )
