"""Repositories beside AMD's that AMD's packages need: EPEL and CodeReady Builder, modules of SUSE."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document, Node


class BuildServiceProject(NamedTuple):
    """`file`: address of its .repo file, for zypper addrepo. `brings`: the file that is then there, with the repository `id`."""

    file: str
    id: str
    brings: str


class ExtraRepositories(NamedTuple):
    """`release_package`: address of the package that brings the repository (EPEL), `brings` the file that shows that it is there,
    `enable` what switches on the builder repository, `disable` off again. `modules`: for SUSEConnect, with version and
    architecture. `ids`: parts of repository ids (lower case) by which both are recognised; every one must be there. `project`: a
    repository of the Open Build Service."""

    release_package: str | None
    brings: str | None
    package_name: str | None
    enable: tuple[str, ...]
    modules: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    source: tuple[str, ...]
    disable: tuple[str, ...] = ()
    project: BuildServiceProject | None = None


_OPTIONAL = frozenset({"release_package", "brings", "package_name", "enable", "disable", "modules", "project"})


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
        disable=fields["disable"].texts() if "disable" in fields else (),
        project=_project(fields["project"], places) if "project" in fields else None,
    )


def _project(node: Node, places: dict[str, str]) -> BuildServiceProject:
    fields = node.fields(frozenset({"file", "id", "brings"}))
    return BuildServiceProject(fields["file"].text().format(**places), fields["id"].text(), fields["brings"].text())
