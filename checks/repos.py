"""Package repositories: do AMD's sources name things that exist, for this distribution, with a key that is there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import known
from rocmdoctor.host import UnknownFact

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.packages import Package
    from rocmdoctor.facts.repos import Repository
    from rocmdoctor.matrix import Matrix
    from rocmdoctor.results import Finding

PLACES = ("bare-metal", "vm", "wsl")
"""Repositories of an image are not this host's to mend."""
CLASSIC = ("rocm", "amdgpu", "graphics")


def amd_sources(facts: Facts) -> tuple[Repository, ...]:
    sources = facts.repos.amd
    if not sources:
        raise NotApplicable("no repository of AMD is configured")
    return sources


@check("repo.paths", title="AMD's repositories name paths that exist", places=PLACES, needs_gpu=False)
def paths(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares the release in each repository path with the directories of the matrix. From ROCm 7.0 on the driver has
    numbers of its own (30.10 goes with 7.0, 30.20 with 7.1, 30.30 with 7.2): amdgpu/7.2 never existed (rules.md 9, 40). The
    old unversioned rocm/apt/debian with a distribution's codename is gone."""
    for source in amd_sources(facts):
        release = source.release
        if source.product == "amdgpu" and release and _never_a_driver(matrix, release):
            from rocmdoctor.checks import repo_findings

            yield repo_findings.no_driver_release(source, release, matrix)
        elif source.product is None:
            from rocmdoctor.checks import repo_findings

            yield repo_findings.no_product(source, facts, matrix)
        elif _of_a_gone_suite(source, matrix):
            from rocmdoctor.checks import repo_findings

            yield repo_findings.gone_suite(source, facts, matrix)
        elif reason := _no_such_directory(source, matrix):
            from rocmdoctor.checks import repo_findings

            yield repo_findings.no_directory(source, reason, facts, matrix)


def _of_a_gone_suite(source: Repository, matrix: Matrix) -> bool:
    """A source of the unversioned rocm/apt/debian that does not name the suite that is left there."""
    if source.product != "rocm" or source.kind != "apt" or source.release is not None:
        return False
    return matrix.repository_paths.unversioned_suite not in source.suites


def _no_such_directory(source: Repository, matrix: Matrix) -> str:
    """Why AMD's server has no directory of that name: a sentence, "" where it may have one (a release newer than the matrix)."""
    release = source.release or ""
    numbers = versions.components(release)
    if source.product not in CLASSIC or len(numbers) < 2:
        return ""
    reason = _why_absent(source, matrix, release, numbers)
    return reason if reason and versions.key(release) >= versions.key(matrix.repository_paths.judged_from) else ""


def _why_absent(source: Repository, matrix: Matrix, release: str, numbers: tuple[int, ...]) -> str:
    if len(numbers) == 3 and numbers[2] == 0:
        return f"A final .0 is dropped in paths (it is {release[:-2]}), though packages keep it."
    by_distribution = source.kind == "apt" and source.product in ("amdgpu", "graphics")
    if by_distribution and not any(_distribution_follows(u) for u in source.uris):
        return f"The name of the distribution is missing behind {release}: {source.product}/{release}/ubuntu."
    if by_distribution and source.product == "graphics" and len(numbers) == 3 and release in matrix.versions:
        row = matrix.release(release)
        recipe = next((matrix.recipe(release, "ubuntu", version) for version in row.os_versions("ubuntu")), None) if row else None
        if recipe and recipe.graphics_dir and recipe.graphics_dir != release:
            return f"ROCm {release} goes with graphics/{recipe.graphics_dir}."
    oldest = versions.components(matrix.versions[0])[:2]
    known_series = {versions.components(v)[:2] for v in matrix.versions}
    if source.product == "rocm" and oldest < numbers[:2] < max(known_series) and numbers[:2] not in known_series:
        return f"There was no ROCm {release}."
    return ""


def _distribution_follows(uri: str) -> bool:
    folders = [f for f in uri.split("/") if f]
    return any(f.startswith(("ubuntu", "debian")) for f in folders[3:])


def _never_a_driver(matrix: Matrix, release: str) -> bool:
    """A ROCm number from the release on that drivers have numbers of their own (30 and later), below the years of old ones."""
    if matrix.is_driver_release(release) or matrix.has_driver_directory(release):
        return False
    years = versions.key(matrix.repository_paths.driver_years_from)
    return versions.key(matrix.changes["driver_split_from"]) <= versions.key(release) < years


@check(
    "repo.suite", title="AMD's repositories are those of this distribution", after=["repo.paths"], places=PLACES, needs_gpu=False
)
def suites(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """The suite of an apt source must be this host's Ubuntu base (Debian 12 uses jammy, Debian 13 noble); the elN or zypp
    path must be of this family and major version. Packages of another one install in part and fail at the first library that
    is different."""
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    wanted = matrix.apt_suite(base.id, base.version) if base else None
    others: dict[str, list[Repository]] = {}
    to_another: dict[int, list[Repository]] = {}
    for source in amd_sources(facts):
        if source.kind == "apt":
            wrong = [s for s in source.suites if wanted and s != wanted and s not in matrix.repository_paths.own_suites]
            rocm = matrix.rocm_of_repository(source.release or "") if source.product in CLASSIC else None
            absent = [s for s in source.suites if rocm and not _published(matrix, s, rocm)]
            if absent and rocm:
                from rocmdoctor.checks import repo_findings

                serves = wanted if wanted and _published(matrix, wanted, rocm) else None
                yield repo_findings.no_suite(source, absent[0], wanted, serves, facts, matrix)
            elif wrong and source.product in CLASSIC:
                others.setdefault(wrong[0], []).append(source)
        elif source.kind == "yum":
            major = _el_major(source)
            host = versions.components(base.version)[:1] if base and base.id in matrix.el_ids else ()
            if major and os.id in ("fedora", "amzn"):
                to_another.setdefault(major, []).append(source)
            elif major and host and major != host[0]:
                from rocmdoctor.checks import repo_findings

                yield repo_findings.other_major(source, major, host[0], facts)
    if others or to_another:
        from rocmdoctor.checks import repo_findings

        for suite, sources in others.items():
            there = all(_has_suite(matrix, s.release or "", wanted or "") for s in sources)
            yield repo_findings.other_suite(sources, suite, wanted or "", there, facts, matrix)
        for major, sources in to_another.items():
            yield repo_findings.for_enterprise_linux(sources, major, facts, matrix)


def _has_suite(matrix: Matrix, release: str, suite: str) -> bool:
    """AMD's repository of this release (also of one older than the matrix) has the suite."""
    paths = matrix.repository_paths
    unlisted = versions.key(paths.suites_from) <= versions.key(release) < versions.key(paths.driver_years_from)
    rocm = matrix.rocm_of_repository(release) or (release if unlisted else None)
    return rocm is not None and _published(matrix, suite, rocm)


def _published(matrix: Matrix, suite: str, rocm: str) -> bool:
    """The suite is there, or names no distribution. amdrocm packages lie elsewhere, with suites of their own."""
    if matrix.faults.has_apt_suite(suite, rocm) or suite in matrix.repository_paths.own_suites:
        return True
    return versions.key(rocm) >= versions.key(matrix.changes["amdrocm_from"])


def _el_major(source: Repository) -> int | None:
    import re

    for uri in source.uris:
        found = re.search(r"/(?:el|rhel|yum/rhel|centos)(\d+)(?:[./]|$)|/(?:el|rhel)/(\d+)", uri)
        if found:
            return int(found.group(1) or found.group(2))
        if re.search(r"/rocm/yum/", uri):
            return 7
    return None


@check(
    "repo.keys",
    title="The signing keys of AMD's repositories are there and valid",
    after=["repo.paths"],
    places=PLACES,
    needs_gpu=False,
)
def keys(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """apt needs the key that signed a repository in the keyring that signed-by names, or in its trusted folder. A missing
    file gives NO_PUBKEY, an expired key EXPKEYSIG (AMD renews its key in place: fetch it again). A keyring of which the content
    is unknown is not judged: in a recording, an empty one is such."""
    found = tuple(_key_findings(facts, matrix))
    if not found and (path := _unread_keyring(facts, matrix)):
        raise UnknownFact(f"the content of {path} is not known")
    yield from found


def _unread_keyring(facts: Facts, matrix: Matrix) -> str | None:
    """A keyring whose content decides and is unknown: one that signed-by names; without that, one that may hold AMD's key."""
    sources = [s for s in amd_sources(facts) if s.kind == "apt" and not s.trusted]
    unread = [k.path for k in facts.repos.keyrings if k.keys is None]
    named = next((path for s in sources for path in s.signed_by if path in unread), None)
    if named or all(s.signed_by for s in sources):
        return named
    amd = set(matrix.signing_fingerprints)
    trusted = [k for k in facts.repos.keyrings if k.path.startswith("/etc/apt/trusted.gpg")]
    if any(key.fingerprint in amd for k in trusted for key in k.keys or ()):
        return None
    paths = [k.path for k in trusted if k.keys is None]
    own = matrix.distribution_packages.keyrings
    return next((p for p in paths if not p.rpartition("/")[2].startswith(own)), None)


def _key_findings(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    repos = facts.repos
    unchecked = [s for s in amd_sources(facts) if s.trusted or s.gpgcheck is False]
    if unchecked:
        from rocmdoctor.checks import repo_findings

        yield repo_findings.unchecked(unchecked[0])
    today = facts.today
    sources = [s for s in amd_sources(facts) if s.kind == "apt" and not s.trusted]
    files = list(dict.fromkeys(p for s in sources for p in s.signed_by if p.startswith("/")))
    for path in files:
        ring = repos.keyring(path)
        if ":" in path:
            continue  # a key written into the stanza itself
        if ring is None or ring.keys == () or (ring.keys and all(k.expires and k.expires < today for k in ring.keys)):
            from rocmdoctor.checks import repo_findings

            source = next(s for s in sources if path in s.signed_by)
            yield repo_findings.bad_keyring(source, path, ring, matrix)
    unsigned = [s for s in sources if not s.signed_by]
    if not unsigned or not repos.keyrings:
        return
    trusted = [k for k in repos.keyrings if k.path.startswith(("/etc/apt/trusted.gpg",))]
    amd = set(matrix.signing_fingerprints)
    holding = [k for k in trusted if k.keys is not None and any(key.fingerprint in amd for key in k.keys)]
    own = matrix.distribution_packages.keyrings
    unknown = [k for k in trusted if k.keys is None and not k.path.rpartition("/")[2].startswith(own)]
    if holding or any("rocm" in k.path or "amdgpu" in k.path for k in unknown):
        expired = [key for k in holding for key in k.keys or () if key.fingerprint in amd and key.expires and key.expires < today]
        if expired:
            from rocmdoctor.checks import repo_findings

            yield repo_findings.expired_key(unsigned[0], expired[0], matrix)
        return
    if unknown:
        return
    from rocmdoctor.checks import repo_findings

    yield repo_findings.no_key(unsigned[0], len(trusted), matrix)


@check(
    "repo.pin",
    title="AMD's packages win over the distribution's of the same name",
    after=["repo.paths"],
    places=PLACES,
    needs_gpu=False,
)
def pin(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Ubuntu's universe and Debian carry rocminfo, hipcc and rocm-cmake with higher version numbers and older code. Without
    AMD's pin (priority 600, origin repo.radeon.com) they win, and AMD's meta-packages cannot be installed (rules.md 39). What
    is installed tells the mix."""
    sources = [s for s in amd_sources(facts) if s.kind == "apt" and s.product == "rocm"]
    shadowing = unpinned(facts, matrix) if sources else []
    if shadowing:
        from rocmdoctor.checks import repo_findings

        yield repo_findings.shadowed(sources[0], shadowing, facts, matrix)


def unpinned(facts: Facts, matrix: Matrix) -> list[Package]:
    """The distribution's packages that stand where AMD's of the same name belong, when nothing pins AMD's."""
    if not any(s.kind == "apt" and s.product == "rocm" for s in facts.repos.amd):
        return []
    shadowed = matrix.faults.shadowed_packages
    if any(p.covers(shadowed) for p in facts.repos.pins):
        return []
    return [p for p in facts.packages.distro_rocm if p.name in shadowed]


def _beside_each_other(facts: Facts) -> bool:
    """Every ROCm package carries its release in its name (rocblas6.2.4): those of two releases are side by side, never mixed."""
    packages = known(lambda: facts.packages.rocm, ())
    return bool(packages) and all(p.rocm_release and p.name.endswith(p.rocm_release) for p in packages)


@check("repo.one-release", title="AMD's repositories are of one release", after=["repo.paths"], places=PLACES, needs_gpu=False)
def one_release(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Two ROCm repositories of different releases make apt mix them, and a driver or graphics repository of another release
    than the one that belongs to the ROCm release can make it uninstallable (rocdecode wants its own mesa-amdgpu,
    legacy-rocm-build #5963)."""
    sources = amd_sources(facts)
    by_product: dict[str, dict[str, Repository]] = {}
    for source in sources:
        if source.product and source.release and source.release != "latest":
            by_product.setdefault(source.product, {})[source.release] = source
    rocm = by_product.get("rocm", {})
    if len({versions.key(r) for r in rocm}) > 1 and not _beside_each_other(facts):
        from rocmdoctor.checks import repo_findings

        yield repo_findings.several_releases(rocm)
    if rocm and "amdrocm" in by_product:
        from rocmdoctor.checks import repo_findings

        yield repo_findings.both_lines(sources, matrix)
