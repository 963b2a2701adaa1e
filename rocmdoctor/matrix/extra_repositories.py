"""Repositories beside AMD's that AMD's packages need: EPEL and CodeReady Builder, modules of SUSE."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.document import Document, Node


class BuildServiceProject(NamedTuple):
    """A project of the Open Build Service as a repository: its file's `path` and `text`, the repository's `id` in it, the address
    of its `key`, and the key's fingerprint where one is known."""

    name: str
    id: str
    path: str
    text: str
    key: str
    fingerprint: str | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Repository addresses in the file."""
        return tuple(line.removeprefix("baseurl=") for line in self.text.splitlines() if line.startswith("baseurl="))


class ExtraRepositories(NamedTuple):
    """`release_package`: address of the package that brings the repository (EPEL), `brings` the file that shows that it is there,
    `enable` what switches on the builder repository, `disable` off again. `modules`: for SUSEConnect, with version and
    architecture. `rehearsed`: a .repo file with the repository of the release package, for asking what would be installed
    before it is there; nothing is installed with it. `ids`: parts of repository ids (lower case) by which both are recognised;
    every one must be there. `project`: a repository of the Open Build Service."""

    release_package: str | None
    brings: str | None
    package_name: str | None
    enable: tuple[str, ...]
    modules: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    source: tuple[str, ...]
    disable: tuple[str, ...] = ()
    project: BuildServiceProject | None = None
    rehearsed: str | None = None


_OPTIONAL = frozenset(
    {"release_package", "rehearsed", "brings", "package_name", "enable", "disable", "modules", "only", "project"}
)


def read_extra_repositories(doc: Document, manager: str, os_version: str) -> ExtraRepositories | None:
    """What a package manager's systems need; None when they need nothing (`only`: the versions that do, as prefixes)."""
    node = doc.entry("extra_repositories", manager)
    if node is None:
        return None
    fields = node.fields(frozenset({"ids", "source"}), _OPTIONAL)
    if "only" in fields and not any(versions.is_prefix(version, os_version) for version in fields["only"].texts()):
        return None
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
        rehearsed=_text(fields["rehearsed"], places) if "rehearsed" in fields else None,
    )


def _text(node: Node, places: dict[str, str]) -> str:
    return "".join(f"{line.format(**places)}\n" for line in node.texts())


def _project(node: Node, places: dict[str, str]) -> BuildServiceProject:
    fields = node.fields(frozenset({"name", "id", "path", "lines", "key"}), frozenset({"fingerprint"}))
    return BuildServiceProject(
        name=fields["name"].text(),
        id=fields["id"].text(),
        path=fields["path"].text(),
        text=_text(fields["lines"], places),
        key=fields["key"].text().format(**places),
        fingerprint=fields["fingerprint"].text() if "fingerprint" in fields else None,
    )
