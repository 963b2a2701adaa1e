"""`rocmdoctor matrix lint`: reads all of the file and compares its parts with each other. A schema cannot do the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.matrix.answers import Problem
from rocmdoctor.matrix.document import Document, MatrixError

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.matrix.release_reader import Release

SECTIONS = frozenset(
    {
        "date",
        "sources",
        "driver_windows",
        "driver_releases",
        "distributions",
        "releases",
        "gfx",
        "therock_families",
        "vf_guests",
        "chips",
        "pci_ids",
        "overrides",
        "arch_lists",
        "torch_releases",
        "torch_indexes",
        "hip_versions",
        "amd_wheels",
        "therock_indexes",
        "therock_torch",
        "device_packages",
        "wheel_faults",
        "wheel_rules",
        "python_packages",
        "signing_keys",
        "key_expiry",
        "recipes",
        "recipe_systems",
        "recipe_forms",
        "extra_repositories",
        "repository_paths",
        "distribution_packages",
        "therock_distros",
        "dkms_failures",
        "node_tuning",
        "apu_memory",
        "apu_status",
        "apu_classic",
        "containers",
        "wsl",
        "changes",
        "known_faults",
    }
)


def lint(matrix: Matrix, doc: Document) -> list[Problem]:
    """Every problem of the file; each part is read on its own, so that one error does not hide the others."""
    found: list[Problem] = []

    def reading(part: Callable[[], object]) -> None:
        try:
            result = part()
            if isinstance(result, Iterator):
                found.extend(result)
        except MatrixError as error:
            found.append(Problem(error.path, error.line, error.message))

    for name in doc.section_names:
        if name not in SECTIONS:
            found.append(Problem(name, doc.line_of(name), "unknown section"))
    for name in sorted(SECTIONS - set(doc.section_names)):
        found.append(Problem(name, 1, "section is missing"))
    for version in _keys(doc, "releases"):
        reading(lambda version=version: _release(matrix, doc, version))  # type: ignore[misc]
    for device in _keys(doc, "pci_ids"):
        reading(lambda device=device: matrix.pci_gpu(device))  # type: ignore[misc]
    for name in _keys(doc, "gfx"):
        reading(lambda name=name: matrix.gfx(name))  # type: ignore[misc]
    for version in _keys(doc, "torch_releases"):
        reading(lambda version=version: matrix.torch_release(version))  # type: ignore[misc]
    for version in _keys(doc, "recipes"):
        reading(lambda version=version: _recipes(matrix, doc, version))  # type: ignore[misc]
    for part in _PARTS:
        reading(lambda part=part: part(matrix))  # type: ignore[misc]
    reading(lambda: _order(matrix, doc))
    reading(lambda: _chips(doc))
    reading(lambda: _sources(doc))
    return sorted(set(found), key=lambda problem: (problem.line, problem.path))


_PARTS: tuple[Callable[[Matrix], object], ...] = (
    lambda m: m.sources,
    lambda m: m.driver_windows,
    lambda m: m.driver_releases,
    lambda m: m.distributions,
    lambda m: m.therock_families,
    lambda m: m.vf_guests,
    lambda m: m.override("gfx1030", "10.3.0"),
    lambda m: m.torch_indexes,
    lambda m: m.rocm_of_hip("7.2.1"),
    lambda m: m.amd_wheels,
    lambda m: m.therock_torch,
    lambda m: m.device_packages,
    lambda m: m.wheel_faults,
    lambda m: m.wheel_rules,
    lambda m: m.python_packages,
    lambda m: m.signing_keys,
    lambda m: [m.extra_repositories(*system) for system in (("dnf", "9.4"), ("zypper", "15.6"))],
    lambda m: m.key_expiry,
    lambda m: m.apt_pin,
    lambda m: m.repository_paths,
    lambda m: m.distribution_packages,
    lambda m: m.known_dkms_failure("0", "0"),
    lambda m: m.node_tuning,
    lambda m: m.apu_memory,
    lambda m: m.apu_status,
    lambda m: m.apu_classic,
    lambda m: m.containers,
    lambda m: m.wsl,
    lambda m: m.changes,
    lambda m: m.faults.lint(),
)


def _keys(doc: Document, section: str) -> tuple[str, ...]:
    if section not in doc.section_names:
        return ()
    return tuple(key for key in doc.entry_keys(section) if key not in ("source", "notes"))


def _release(matrix: Matrix, doc: Document, version: str) -> Iterator[Problem]:
    """The release reads, its key has three components, its GPUs and drivers are known, its distributions listed."""
    path, line = f"releases/{version}", doc.line_of("releases", version)
    if len(versions.components(version)) != 3:
        yield Problem(path, line, "a release has three components")
        return
    release = matrix.release(version)
    assert release is not None
    release.everything()
    yield from (Problem(path, line, message) for message in _release_faults(matrix, release))


def _release_faults(matrix: Matrix, release: Release) -> Iterator[str]:
    known = set(matrix.gfx_names)
    for gpu in release.gpu_rows or ():
        if gpu.gfx not in known:
            yield f"{gpu.gfx} is not in the section gfx"
        elif release.by_family and (target := matrix.gfx(gpu.gfx)) and gpu.family not in target.families:
            yield f"{gpu.gfx} is listed as {gpu.family}, the section gfx has {', '.join(target.families)}"
    for row in release.os_rows or ():
        distribution = matrix.distributions.get(row.id)
        if distribution is None:
            yield f"{row.id} is not in the section distributions"
        elif row.status != "unsupported" and not distribution.lists(row.version):
            yield f"distributions/{row.id}/listed lacks {row.version}"
        if release.by_family and not row.families:
            yield f"{row.key} needs `for`: support is stated by GPU family from 7.9 on"
    driver = release.drivers.released_with
    if driver and not any(versions.key(d.version) == versions.key(driver) for d in matrix.driver_releases):
        yield f"driver {driver} is not in the section driver_releases"


def _recipes(matrix: Matrix, doc: Document, version: str) -> Iterator[Problem]:
    """A recipe names a known release and gives files for every system of its list."""
    path, line = f"recipes/{version}", doc.line_of("recipes", version)
    if version not in matrix.versions:
        yield Problem(path, line, "no such release")
    from rocmdoctor.matrix.recipes import systems_of

    for os_id, os_versions in systems_of(doc, version).items():
        for os_version in os_versions:
            if matrix.recipe(version, os_id, os_version) is None:
                yield Problem(path, line, f"no recipe for {os_id} {os_version}, which its systems name")


def _order(matrix: Matrix, doc: Document) -> Iterator[Problem]:
    """Sections that are read in order are in order: oldest first, by component."""
    for section in ("releases", "torch_releases", "driver_releases", "recipes"):
        keys = _keys(doc, section)
        for before, after in pairwise(keys):
            if versions.key(before) >= versions.key(after):
                yield Problem(f"{section}/{after}", doc.line_of(section, after), f"comes after {before}, which is not older")


def _chips(doc: Document) -> Iterator[Problem]:
    """Every chip has a target of the section gfx."""
    known = set(_keys(doc, "gfx"))
    for name in _keys(doc, "chips"):
        node = doc.entry("chips", name)
        gfx = dict(node.items())["gfx"].text() if node else ""
        if gfx not in known:
            yield Problem(f"chips/{name}", doc.line_of("chips", name), f"{gfx} is not in the section gfx")


def _sources(doc: Document) -> Iterator[Problem]:
    """A source that nothing names is a leftover."""
    rest = "\n".join(doc.section_text(name) or "" for name in doc.section_names if name != "sources")
    words = set(rest.replace("[", " ").replace("]", " ").replace(",", " ").split())
    short = {"linux", "libhsakmt", "rocm_agent_enumerator", "gpuopen", "rocprof_compute", "pci_ids", "rocjitsu", "libdrm"}
    for key in doc.entry_keys("sources"):
        if key not in words and key not in short:
            yield Problem(f"sources/{key}", doc.line_of("sources", key), "nothing names this source")
