"""What a doctor knows of packaging beside the recipes: paths of AMD's repositories, names of distributions' own packages."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocmdoctor.matrix.document import Document


class RepositoryPaths(NamedTuple):
    """Numbers and suites in paths of repo.radeon.com and repo.amd.com. Versions are those of the path's release directory."""

    judged_from: str
    """Of older releases nobody looked which directories there are."""
    driver_years_from: str
    """From here to the split of driver and ROCm (30.10) a driver directory was numbered by year."""
    suites_from: str
    """The first release whose suites are those of known_faults/apt_suites although the matrix has no row of it."""
    unversioned_suite: str
    """The only suite that is left of the unversioned rocm/apt/debian."""
    own_suites: tuple[str, ...]
    """Suites that name no distribution."""
    two_lines: str
    """A sentence: what AMD asks for where packages of the classic line meet later ones."""
    source: tuple[str, ...]


class DistributionPackages(NamedTuple):
    """Names that distributions give their own packages, and the beginnings of their keyrings' names."""

    keyrings: tuple[str, ...]
    firmware_by_id: Mapping[str, str]
    own_rocm: Mapping[str, tuple[str, ...]]
    """Distribution to its own packages of ROCm's run time."""
    python_modules: Mapping[str, Mapping[str, str]]
    """Python module to package manager to the package that has it for the system's Python."""
    libraries: Mapping[str, Mapping[str, str]]
    """Library that ROCm's run time links to package manager to its package."""
    kernel_compilers: Mapping[str, str]
    """Distribution to the gcc of its newer kernels, where its own is older."""
    source: tuple[str, ...]

    def firmware(self, ids: Sequence[str]) -> str:
        """The package with amdgpu's firmware, for an os-release ID and its ID_LIKE."""
        return next((self.firmware_by_id[id] for id in ids if id in self.firmware_by_id), self.firmware_by_id["other"])


def read_repository_paths(doc: Document) -> RepositoryPaths:
    texts = ("judged_from", "driver_years_from", "suites_from", "unversioned_suite", "two_lines")
    fields = doc.section("repository_paths").fields(frozenset({"source", "own_suites", "confidence", *texts}))
    fields["confidence"].text()
    return RepositoryPaths(
        **{name: fields[name].text() for name in texts},
        own_suites=fields["own_suites"].texts(),
        source=fields["source"].sources(),
    )


def read_distribution_packages(doc: Document) -> DistributionPackages:
    names = ("source", "keyrings", "firmware", "own_rocm", "python_modules", "libraries", "kernel_compilers", "confidence")
    fields = doc.section("distribution_packages").fields(frozenset(names))
    fields["confidence"].text()
    firmware = fields["firmware"].mapping_of_texts()
    if "other" not in firmware:
        raise fields["firmware"].fail("missing key other")
    return DistributionPackages(
        fields["keyrings"].texts(),
        firmware,
        {id: node.texts() for id, node in fields["own_rocm"].items()},
        {module: node.mapping_of_texts() for module, node in fields["python_modules"].items()},
        {library: node.mapping_of_texts() for library, node in fields["libraries"].items()},
        fields["kernel_compilers"].mapping_of_texts(),
        fields["source"].sources(),
    )
