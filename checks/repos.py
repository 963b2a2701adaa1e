"""Package repositories: do AMD's sources name things that exist, for this distribution, with a key that is there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies, repo_remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import repo_layout
from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.repos import Repository
    from rocmdoctor.matrix import Matrix

PLACES = ("bare-metal", "vm", "wsl")
"""Repositories of an image are not this host's to mend."""
CLASSIC = ("rocm", "amdgpu", "graphics")


def amd_sources(facts: Facts) -> tuple[Repository, ...]:
    sources = facts.repos.amd
    if not sources:
        raise NotApplicable("no repository of AMD is configured")
    return sources


def _shown(source: Repository) -> Evidence:
    return Evidence(f"{source.file}:{source.line}", source.text)


def _codename(facts: Facts, matrix: Matrix) -> str | None:
    """The suite that AMD's repository has for this host: its Ubuntu base, or what AMD tells Debian to use."""
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    return matrix.apt_suite(base.id, base.version) if base else None


@check("repo.paths", title="AMD's repositories name paths that exist", places=PLACES, needs_gpu=False)
def paths(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Compares the release in each repository path with the directories of the matrix. From ROCm 7.0 on the driver has
    numbers of its own (30.10 goes with 7.0, 30.20 with 7.1, 30.30 with 7.2): amdgpu/7.2 never existed (rules.md 9, 40). The
    old unversioned rocm/apt/debian with a distribution's codename is gone."""
    for source in amd_sources(facts):
        release = source.release
        if source.product == "amdgpu" and release and _never_a_driver(matrix, release):
            driver = matrix.driver_for(matrix.resolve(release) or release)
            directory = matrix.driver_directory(matrix.resolve(release) or release)
            yield Finding(
                Status.FAIL,
                f"AMD's driver repository amdgpu/{release} does not exist",
                "The driver repository is numbered by driver release, not by ROCm release, from ROCm 7.0 on."
                + (f" ROCm {release} goes with driver {driver}." if driver else ""),
                (_shown(source),),
                (
                    repo_remedies.edit([source], f"amdgpu/{release}", f"amdgpu/{directory}")
                    if directory
                    else Fix(
                        f"Edit {source.file} by hand: the driver has a release of its own (30.x or 31.x, see AMD's driver table)",
                        needs=("root", "network"),
                        verify=recheck("repo.*"),
                    ),
                ),
            )
        elif source.product is None:
            yield Finding(
                Status.FAIL,
                "A repository on AMD's server names a path that does not exist",
                "None of AMD's products (rocm, amdgpu, graphics) lies under that path; apt gets a 404.",
                (_shown(source),),
                repo_remedies.anew(facts, matrix),
            )
        elif _of_a_gone_suite(source, matrix):
            suite, left = _codename(facts, matrix), matrix.repository_paths.unversioned_suite
            yield Finding(
                Status.FAIL,
                f"AMD's unversioned repository no longer has the suite {' '.join(source.suites)}",
                f"rocm/apt/debian keeps only the suite {left}, the last build for 20.04; codenames such as xenial were "
                "removed. Current releases have a path each." + (f" This host needs {suite}." if suite else ""),
                (_shown(source),),
                repo_remedies.anew(
                    facts,
                    matrix,
                    repo_remedies.edit(
                        [source],
                        f" {source.suites[0]} main" if source.suites else "",
                        f" {left} main",
                        f"Name the suite of the last unversioned build ({left} main)",
                        f"Edit {source.file} by hand: the suite {left}, for the last unversioned build",
                    ),
                    first=True,
                ),
            )
        elif reason := _no_such_directory(source, matrix):
            short = (release or "").removesuffix(".0")
            yield Finding(
                Status.FAIL,
                f"AMD's repository {source.product}/{release} does not exist",
                f"{reason} The package manager gets a 404.",
                (_shown(source),),
                repo_remedies.anew(
                    facts,
                    matrix,
                    *(
                        (repo_remedies.edit([source], f"/{release}", f"/{short}", f"Write {short} instead of {release}"),)
                        if release and release.count(".") == 2 and release.endswith(".0")
                        else ()
                    ),
                ),
            )


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
            if absent:
                serves = wanted if wanted and rocm and _published(matrix, wanted, rocm) else None
                yield Finding(
                    Status.FAIL,
                    f"AMD's repository of {source.product} {source.release} has no suite {absent[0]}",
                    f"apt gets a 404 (no Release file). AMD builds for some Ubuntu releases; {os.name} takes the packages of "
                    + (f"{serves}." if serves else f"{wanted or 'none'}, which this release does not have: choose a newer one."),
                    (_shown(source), Evidence("/etc/os-release", f"{os.id} {os.version_id or ''} {os.codename or ''}".strip())),
                    repo_remedies.anew(
                        facts, matrix, *((repo_remedies.edit([source], f" {absent[0]} ", f" {serves} "),) if serves else ())
                    ),
                )
            elif wrong and source.product in CLASSIC:
                others.setdefault(wrong[0], []).append(source)
        elif source.kind == "yum":
            major = _el_major(source)
            host = versions.components(base.version)[:1] if base and base.id in matrix.el_ids else ()
            if major and os.id in ("fedora", "amzn"):
                to_another.setdefault(major, []).append(source)
            elif major and host and major != host[0]:
                yield Finding(
                    Status.WARN,
                    f"{source.file} is for Enterprise Linux {major}, this host is {os.name}",
                    "Packages of another major version want other libraries.",
                    (_shown(source),),
                    (repo_remedies.edit([source], f"el{major}", f"el{host[0]}"),),
                )
    for suite, sources in others.items():
        yield _of_another_suite(facts, matrix, suite, wanted or "", sources)
    for major, sources in to_another.items():
        yield _for_enterprise_linux(facts, matrix, major, sources)


def _of_another_suite(facts: Facts, matrix: Matrix, suite: str, wanted: str, sources: list[Repository]) -> Finding:
    os = facts.os
    files = list(dict.fromkeys(s.file for s in sources))
    there = all(_has_suite(matrix, s.release or "", wanted) for s in sources)
    packages = f"AMD's packages of {wanted}" + ("" if "ubuntu" in os.ids else " (Ubuntu's name for them), as AMD tells it to")
    return Finding(
        Status.WARN,
        f"{repo_remedies.and_of(files)} name{'' if len(files) > 1 else 's'} the suite {suite}, this host needs {wanted}",
        f"{os.name} takes {packages}. Those of {suite} want other library versions, and their driver does not know this kernel.",
        (*map(_shown, sources), Evidence("/etc/os-release", f"{os.id} {os.version_id or ''} {os.codename or ''}".strip())),
        repo_remedies.anew(facts, matrix, *((repo_remedies.edit(sources, f" {suite} ", f" {wanted} "),) if there else ())),
    )


def _has_suite(matrix: Matrix, release: str, suite: str) -> bool:
    """AMD's repository of this release (also of one older than the matrix) has the suite."""
    paths = matrix.repository_paths
    unlisted = versions.key(paths.suites_from) <= versions.key(release) < versions.key(paths.driver_years_from)
    rocm = matrix.rocm_of_repository(release) or (release if unlisted else None)
    return rocm is not None and _published(matrix, suite, rocm)


def _for_enterprise_linux(facts: Facts, matrix: Matrix, major: int, sources: list[Repository]) -> Finding:
    files = list(dict.fromkeys(s.file for s in sources))
    names, one = repo_remedies.and_of(files), len(files) == 1
    own = remedies.install(facts, *packages) if (packages := matrix.distribution_packages.own_rocm.get(facts.os.id)) else ()
    return Finding(
        Status.WARN,
        f"{names} offer{'s' if one else ''} AMD's packages for Enterprise Linux {major} to {facts.os.name}",
        "They want libraries that this distribution does not have (libtinfo.so.5 and others). Its own ROCm packages fit.",
        tuple(map(_shown, sources)),
        (
            Fix(
                f"Move {names} out of the way" + (", and install the distribution's own ROCm packages" if own else ""),
                (*(("mv", file, f"{file}.off") for file in files), *own),
                needs=("root", "network"),
                verify=recheck("repo.*"),
            ),
        ),
    )


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
        yield Finding(
            Status.WARN,
            f"{unchecked[0].file} switches the signature check of AMD's packages off",
            "Whoever answers for that address can install anything as root. AMD signs its packages; nothing is gained by it.",
            (_shown(unchecked[0]),),
            (
                Fix(
                    "Remove trusted=yes (apt) or set gpgcheck=1 (dnf, zypper), and name AMD's key",
                    needs=("root",),
                    verify=recheck("repo.*"),
                ),
            ),
        )
    today = facts.today
    sources = [s for s in amd_sources(facts) if s.kind == "apt" and not s.trusted]
    files = list(dict.fromkeys(p for s in sources for p in s.signed_by if p.startswith("/")))
    for path in files:
        ring = repos.keyring(path)
        source = next(s for s in sources if path in s.signed_by)
        if ":" in path:
            continue  # a key written into the stanza itself
        if ring is not None and ring.keys == ():
            yield Finding(
                Status.FAIL,
                f"{path} holds no key",
                "A download that failed leaves an error page in its place; apt refuses the repository.",
                (_shown(source), Evidence(path, "no OpenPGP key in it")),
                (repo_remedies.fetch_key(source, matrix, path),),
            )
        elif ring is None:
            yield Finding(
                Status.FAIL,
                f"The key file {path} does not exist",
                "apt cannot verify the repository that names it and refuses it (NO_PUBKEY).",
                (_shown(source), Evidence(path, "absent")),
                (repo_remedies.fetch_key(source, matrix, path),),
            )
        elif ring.keys is not None and ring.keys and all(k.expires and k.expires < today for k in ring.keys):
            yield Finding(
                Status.FAIL,
                f"The signing key in {path} expired on {ring.keys[0].expires}",
                "AMD renews its key in place, with the same fingerprint; this copy is from before. apt refuses the "
                "repository (EXPKEYSIG).",
                (_shown(source), Evidence(path, f"{ring.keys[0].fingerprint}, expires {ring.keys[0].expires}")),
                (repo_remedies.fetch_key(source, matrix, path),),
            )
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
            yield Finding(
                Status.FAIL,
                f"AMD's signing key expired on {expired[0].expires}",
                "AMD renews its key in place; this copy is from before. apt refuses the repository.",
                (_shown(unsigned[0]),),
                (repo_remedies.fetch_key(unsigned[0], matrix),),
            )
        return
    if unknown:
        return
    yield Finding(
        Status.FAIL,
        "AMD's repository has no signed-by, and AMD's key is in no keyring that apt reads",
        f"apt answers NO_PUBKEY {repo_remedies.key_of(unsigned[0], matrix).fingerprint[-16:]} and ignores the repository.",
        (_shown(unsigned[0]), Evidence("/etc/apt/trusted.gpg.d", f"{len(trusted)} keyrings, none with AMD's key")),
        (repo_remedies.fetch_key(unsigned[0], matrix),),
    )


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
    shadowing = repo_remedies.unpinned(facts, matrix) if sources else []
    if not shadowing:
        return
    names = ", ".join(f"{p.name} {p.version}" for p in shadowing[:4])
    yield Finding(
        Status.FAIL,
        f"The distribution's {shadowing[0].name} is installed in place of AMD's",
        f"{names}: a higher number and older code. AMD's repository is not pinned, so apt prefers it, and AMD's packages, "
        "which want their own, cannot be installed or configured.",
        (
            *(Evidence(f"package {p.name}", p.version) for p in shadowing[:3]),
            _shown(sources[0]),
            Evidence("/etc/apt/preferences.d", f"no pin for {repo_layout.CLASSIC_HOST}"),
        ),
        (repo_remedies.pin(facts, matrix, shadowing),),
    )


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
    keys_of = {versions.key(r) for r in rocm}
    if len(keys_of) > 1:
        yield Finding(
            Status.WARN,
            f"AMD's repositories of {len(rocm)} ROCm releases are enabled: {', '.join(sorted(rocm, key=versions.key))}",
            "The package manager takes the highest number of each package, and the result is a mix of releases.",
            tuple(_shown(s) for s in rocm.values()),
            (
                Fix(
                    "Keep one of them: take the other lines out of "
                    + repo_remedies.and_of(dict.fromkeys(s.file for s in rocm.values())),
                    needs=("root",),
                    verify=recheck("repo.*"),
                ),
            ),
        )
    if rocm and "amdrocm" in by_product:
        yield Finding(
            Status.WARN,
            "Repositories of both packaging worlds are enabled (rocm and amdrocm)",
            matrix.repository_paths.two_lines,
            tuple(_shown(s) for s in sources[:3]),
            (
                Fix(
                    "Remove the older packages and their repository files (apt purge amdgpu-install removes the list and "
                    "the pin; remove leaves them)",
                    needs=("root",),
                ),
            ),
        )
