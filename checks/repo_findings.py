"""What is wrong with a package repository, in words and with its remedy. Loaded when something is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies, repo_remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.facts import repo_layout
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.packages import Package
    from rocmdoctor.facts.repos import Key, Keyring, Repository
    from rocmdoctor.matrix import Matrix


def _shown(source: Repository) -> Evidence:
    return Evidence(f"{source.file}:{source.line}", source.text)


def _system(facts: Facts) -> Evidence:
    os = facts.os
    return Evidence("/etc/os-release", f"{os.id} {os.version_id or ''} {os.codename or ''}".strip())


# paths -----------------------------------------------------------------------------------------------------------


def no_driver_release(source: Repository, release: str, matrix: Matrix) -> Finding:
    """A directory of the driver that is named by a ROCm release."""
    driver = matrix.driver_for(matrix.resolve(release) or release)
    directory = matrix.driver_directory(matrix.resolve(release) or release)
    return Finding(
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


def no_product(source: Repository, facts: Facts, matrix: Matrix) -> Finding:
    """A path on AMD's server that none of its products has."""
    return Finding(
        Status.FAIL,
        "A repository on AMD's server names a path that does not exist",
        "None of AMD's products (rocm, amdgpu, graphics) lies under that path; apt gets a 404.",
        (_shown(source),),
        repo_remedies.anew(facts, matrix),
    )


def gone_suite(source: Repository, facts: Facts, matrix: Matrix) -> Finding:
    """A suite that the unversioned rocm/apt/debian no longer has."""
    os, left = facts.os, matrix.repository_paths.unversioned_suite
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    suite = matrix.apt_suite(base.id, base.version) if base else None  # its Ubuntu base, or what AMD tells Debian to use
    return Finding(
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


def no_directory(source: Repository, reason: str, facts: Facts, matrix: Matrix) -> Finding:
    """A release directory that there never was."""
    release = source.release
    short = (release or "").removesuffix(".0")
    return Finding(
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


# suites and distributions ----------------------------------------------------------------------------------------


def no_suite(source: Repository, suite: str, wanted: str | None, serves: str | None, facts: Facts, matrix: Matrix) -> Finding:
    """A suite that AMD's repository of this release does not have. `serves`: the one that this host needs, if it has that."""
    return Finding(
        Status.FAIL,
        f"AMD's repository of {source.product} {source.release} has no suite {suite}",
        f"apt gets a 404 (no Release file). AMD builds for some Ubuntu releases; {facts.os.name} takes the packages of "
        + (f"{serves}." if serves else f"{wanted or 'none'}, which this release does not have: choose a newer one."),
        (_shown(source), _system(facts)),
        repo_remedies.anew(facts, matrix, *((repo_remedies.edit([source], f" {suite} ", f" {serves} "),) if serves else ())),
    )


def other_major(source: Repository, major: int, own: int, facts: Facts) -> Finding:
    """A repository for another major version of Enterprise Linux."""
    return Finding(
        Status.WARN,
        f"{source.file} is for Enterprise Linux {major}, this host is {facts.os.name}",
        "Packages of another major version want other libraries.",
        (_shown(source),),
        (repo_remedies.edit([source], f"el{major}", f"el{own}"),),
    )


def other_suite(sources: Sequence[Repository], suite: str, wanted: str, there: bool, facts: Facts, matrix: Matrix) -> Finding:
    """Sources that name the suite of another release of the distribution. `there`: all of them have the one that is needed."""
    os = facts.os
    files = list(dict.fromkeys(s.file for s in sources))
    packages = f"AMD's packages of {wanted}" + ("" if "ubuntu" in os.ids else " (Ubuntu's name for them), as AMD tells it to")
    return Finding(
        Status.WARN,
        f"{repo_remedies.and_of(files)} name{'' if len(files) > 1 else 's'} the suite {suite}, this host needs {wanted}",
        f"{os.name} takes {packages}. Those of {suite} want other library versions, and their driver does not know this kernel.",
        (*map(_shown, sources), _system(facts)),
        repo_remedies.anew(facts, matrix, *((repo_remedies.edit(sources, f" {suite} ", f" {wanted} "),) if there else ())),
    )


def for_enterprise_linux(sources: Sequence[Repository], major: int, facts: Facts, matrix: Matrix) -> Finding:
    """AMD's packages for Enterprise Linux on a distribution that is another one."""
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


# keys and pins ---------------------------------------------------------------------------------------------------


def unchecked(source: Repository) -> Finding:
    """A source of which no signature is checked."""
    return Finding(
        Status.WARN,
        f"{source.file} switches the signature check of AMD's packages off",
        "Whoever answers for that address can install anything as root. AMD signs its packages; nothing is gained by it.",
        (_shown(source),),
        (
            Fix(
                "Remove trusted=yes (apt) or set gpgcheck=1 (dnf, zypper), and name AMD's key",
                needs=("root",),
                verify=recheck("repo.*"),
            ),
        ),
    )


def bad_keyring(source: Repository, path: str, ring: Keyring | None, matrix: Matrix) -> Finding:
    """The keyring that signed-by names is not there, holds no key, or only expired ones."""
    if ring is None:
        title, value = f"The key file {path} does not exist", "absent"
        detail = "apt cannot verify the repository that names it and refuses it (NO_PUBKEY)."
    elif not ring.keys:
        title, value = f"{path} holds no key", "no OpenPGP key in it"
        detail = "A download that failed leaves an error page in its place; apt refuses the repository."
    else:
        key = ring.keys[0]
        title, value = f"The signing key in {path} expired on {key.expires}", f"{key.fingerprint}, expires {key.expires}"
        detail = (
            "AMD renews its key in place, with the same fingerprint; this copy is from before. apt refuses the "
            "repository (EXPKEYSIG)."
        )
    evidence = (_shown(source), Evidence(path, value))
    return Finding(Status.FAIL, title, detail, evidence, (repo_remedies.fetch_key(source, matrix, path),))


def expired_key(source: Repository, key: Key, matrix: Matrix) -> Finding:
    """AMD's key in apt's own keyrings has expired."""
    return Finding(
        Status.FAIL,
        f"AMD's signing key expired on {key.expires}",
        "AMD renews its key in place; this copy is from before. apt refuses the repository.",
        (_shown(source),),
        (repo_remedies.fetch_key(source, matrix),),
    )


def no_key(source: Repository, keyrings: int, matrix: Matrix) -> Finding:
    """No signed-by, and AMD's key is in none of apt's own keyrings. `keyrings`: how many these are."""
    return Finding(
        Status.FAIL,
        "AMD's repository has no signed-by, and AMD's key is in no keyring that apt reads",
        f"apt answers NO_PUBKEY {repo_remedies.key_of(source, matrix).fingerprint[-16:]} and ignores the repository.",
        (_shown(source), Evidence("/etc/apt/trusted.gpg.d", f"{keyrings} keyrings, none with AMD's key")),
        (repo_remedies.fetch_key(source, matrix),),
    )


def shadowed(source: Repository, packages: list[Package], facts: Facts, matrix: Matrix) -> Finding:
    """The distribution's packages stand in the place of AMD's."""
    names = ", ".join(f"{p.name} {p.version}" for p in packages[:4])
    return Finding(
        Status.FAIL,
        f"The distribution's {packages[0].name} is installed in place of AMD's",
        f"{names}: a higher number and older code. AMD's repository is not pinned, so apt prefers it, and AMD's packages, "
        "which want their own, cannot be installed or configured.",
        (
            *(Evidence(f"package {p.name}", p.version) for p in packages[:3]),
            _shown(source),
            Evidence("/etc/apt/preferences.d", f"no pin for {repo_layout.CLASSIC_HOST}"),
        ),
        (repo_remedies.pin(facts, matrix, packages),),
    )


# releases --------------------------------------------------------------------------------------------------------


def several_releases(rocm: Mapping[str, Repository]) -> Finding:
    """ROCm repositories of several releases."""
    from rocmdoctor import versions

    return Finding(
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


def both_lines(sources: Sequence[Repository], matrix: Matrix) -> Finding:
    """Classic repositories and those of amdrocm packages together."""
    return Finding(
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
