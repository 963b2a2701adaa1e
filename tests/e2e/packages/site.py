"""Builds everything that the mirror serves, once: a folder per host name, with the real paths below it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cache import cache_folder, cache_of, digest
from tests.e2e.packages import amdgpu_install, certificates, classic, deb, distribution, driver, rpm, therock, wheels
from tests.e2e.packages.keys import Key, load_or_make
from tests.e2e.packages.package import Package
from tests.e2e.packages.targets import EL8, EL9, EL10, FOCAL, JAMMY, NOBLE, SLES156, Target
from tests.hostbuilder.distros import distro_of
from tests.hostbuilder.releases import release_of

CLASSIC = ("6.2.0", "6.2.4", "7.2.4")
THEROCK = ("7.14.1", "10.0.0", "10.1.0")
DRIVERS = ("6.2.0", "6.2.4", "30.30.4", "31.40.1", "31.50.0", "31.60.0")
EL_MINORS = ("9.4", "9.6", "9.8")
SLES = ("15.6", "15.7")
RARE = {"apt": "6.1.2", "el": "7.2.4", "therock": "10.1.0"}
"""Releases that are there for the systems that are tested once: Ubuntu 20.04, EL 8 and 10, Debian 12, SLES 16."""
RARE_EL = {"8.10": EL8, "10.0": EL10}
_KEYS = {
    "radeon": "ROCm Dev Support <rocm-dev.support@amd.com>",
    "amdrocm": "AMD MLSE DevOps <devops@amd.example>",
    "distribution": "A Distribution <key@distribution.test>",
    "project": "devel:languages:perl OBS Project <devel:languages:perl@build.opensuse.org>",
    "other": "Somebody Else <else@example.org>",
}


@dataclass(frozen=True, slots=True)
class Site:
    """`folder` has a folder per host name; `certificates` are for HTTPS."""

    folder: Path
    keys: dict[str, Key]
    certificates: certificates.Certificates

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.folder.iterdir()))


def _sources() -> list[Path]:
    here = Path(__file__).parent
    return [*sorted(here.glob("*.py")), *(here.parents[1] / "hostbuilder" / name for name in ("distros.py", "releases.py"))]


def site(cache: Path) -> Site:
    """The built site, from `cache` when the sources have not changed. Building takes about half a minute on two cores."""
    base = cache_of(cache, "site", digest(*_sources()), _build)
    keys = {name: load_or_make(base / "keys", name, owner) for name, owner in _KEYS.items()}
    return Site(base / "www", keys, certificates.load(base / "tls"))


def _short(version: str) -> str:
    return version.removesuffix(".0")


def _build(base: Path) -> None:
    keys = {name: load_or_make(base / "keys", name, owner) for name, owner in _KEYS.items()}
    www = base / "www"
    jobs: list[Callable[[], None]] = []
    radeon, stable, older = www / "repo.radeon.com", www / "stable.repo.amd.com", www / "repo.amd.com"
    key = keys["radeon"]
    for version in CLASSIC:
        jobs.append(lambda v=version: _classic_rpm(radeon, v, key))  # type: ignore[misc]
    jobs.append(lambda: _driver_rpm(radeon, key))
    jobs.append(lambda: _therock(stable, older, keys["amdrocm"]))
    jobs.append(lambda: _rpm_distributions(www, keys["distribution"], keys["project"]))
    jobs.append(lambda: _rare(radeon, stable, key, keys["amdrocm"]))
    jobs.append(lambda: _classic_deb(radeon, key))
    jobs.append(lambda: _deb_distributions(www / "distribution.test", keys["distribution"]))
    jobs.append(lambda: _wheels(www))
    with ThreadPoolExecutor(max(2, min(os.cpu_count() or 2, 4))) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
    _put(radeon / "rocm/rocm.gpg.key", key.armoured)
    _put(stable / "rocm/gpg/packages.gpg", keys["amdrocm"].armoured)
    for name in ("packages-multi-arch", "packages"):
        _put(older / f"rocm/{name}/gpg/rocm.gpg", keys["amdrocm"].armoured)
    for made in keys.values():
        made.rest()
    certificates.make(base / "tls", [*sorted(path.name for path in www.iterdir()), "mirror.test"])


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _both(version: str, target: Target) -> tuple[Package, ...]:
    return classic.packages(version, target) + classic.packages(version, target, versioned=True)


def _classic_deb(radeon: Path, key: Key) -> None:
    targets = (JAMMY, NOBLE)
    for version in CLASSIC:
        suites = [deb.Suite(t.suite, {"main": _both(version, t)}) for t in targets]
        deb.write_repository(
            radeon / "rocm/apt" / _short(version), suites, key, origin="repo.radeon.com", label="ROCm Repository"
        )
        row = release_of(version)
        for target in targets:
            package, path = amdgpu_install.deb(version, target, key.binary)
            _put(radeon / path, deb.deb(package)[0])
        if version.startswith("7"):
            suites = [deb.Suite(t.suite, {"main": tuple(driver.mesa(version, t, row.module_build))}) for t in targets]
            deb.write_repository(
                radeon / "graphics" / _short(version) / "ubuntu", suites, key, origin="repo.radeon.com", label="Graphics"
            )
    for release in DRIVERS:
        suites = [deb.Suite(t.suite, {"main": driver.packages(release, t)}) for t in targets]
        deb.write_repository(
            radeon / "amdgpu" / _short(release) / "ubuntu", suites, key, origin="repo.radeon.com", label="amdgpu"
        )


def _classic_rpm(radeon: Path, version: str, key: Key) -> None:
    rpm.write_repository(radeon / "rocm/el9" / _short(version) / "main", _both(version, EL9), key)
    rpm.write_repository(radeon / "rocm/zyp" / _short(version) / "main", _both(version, SLES156), key)
    if version.startswith("7"):
        row = release_of(version)
        _same(
            [radeon / "graphics" / _short(version) / f"el/{minor}/main/x86_64" for minor in EL_MINORS],
            driver.mesa(version, EL9, row.module_build), key,
        )  # fmt: skip
        _same(
            [radeon / "graphics" / _short(version) / f"sle/{minor}/main/x86_64" for minor in SLES],
            driver.mesa(version, SLES156, row.module_build), key,
        )  # fmt: skip


def _rare(radeon: Path, stable: Path, key: Key, amdrocm: Key) -> None:
    """One release for each of the systems that are tested once, and the driver's repository where ROCm's packages need it."""
    version = RARE["apt"]
    row = release_of(version)
    suite = deb.Suite(FOCAL.suite, {"main": classic.packages(version, FOCAL)})
    deb.write_repository(radeon / "rocm/apt" / _short(version), [suite], key, origin="repo.radeon.com", label="ROCm Repository")
    suite = deb.Suite(FOCAL.suite, {"main": driver.packages(row.driver, FOCAL)})
    deb.write_repository(
        radeon / "amdgpu" / _short(row.driver) / "ubuntu", [suite], key, origin="repo.radeon.com", label="amdgpu"
    )
    version = RARE["el"]
    row = release_of(version)
    for minor, target in RARE_EL.items():
        major = minor.partition(".")[0]
        rpm.write_repository(radeon / f"rocm/el{major}" / _short(version) / "main", classic.packages(version, target), key)
        mesa = driver.mesa(version, target, row.module_build)
        rpm.write_repository(radeon / "graphics" / _short(version) / f"el/{major}/main/x86_64", mesa, key)
    found = therock.packages(RARE["therock"], JAMMY)
    base = stable / "rocm/core/packages"
    deb.write_repository(base / "debian12", [deb.Suite("stable", {"main": found})], amdrocm, origin="AMD ROCm", label="AMD ROCm")
    rpm.write_repository(base / "sles16/x86_64", therock.packages(RARE["therock"], SLES156), amdrocm)


def _driver_rpm(radeon: Path, key: Key) -> None:
    for release in DRIVERS:
        folder = radeon / "amdgpu" / _short(release)
        _same([folder / f"el/{minor}/main/x86_64" for minor in EL_MINORS], driver.packages(release, EL9), key)
        _same([folder / f"sle/{minor}/main/x86_64" for minor in SLES], driver.packages(release, SLES156), key)


def _same(roots: list[Path], packages: tuple[Package, ...] | list[Package], key: Key) -> None:
    """The same repository at several addresses."""
    rpm.write_repository(roots[0], packages, key)
    for other in roots[1:]:
        shutil.copytree(roots[0], other)


def _therock(stable: Path, older: Path, key: Key) -> None:
    for host, base, versions in (
        (stable, "rocm/core/packages", ("10.0.0", "10.1.0")),
        (older, "rocm/packages-multi-arch", ("7.14.1",)),
    ):
        for name, target in (("ubuntu2204", JAMMY), ("ubuntu2404", NOBLE), ("debian13", NOBLE)):
            found = tuple(p for version in versions for p in therock.packages(version, target))
            deb.write_repository(
                host / base / name, [deb.Suite("stable", {"main": found})], key, origin="AMD ROCm", label="AMD ROCm"
            )
        for name, target in (("rhel9", EL9), ("sles15", SLES156)):
            found = tuple(p for version in versions for p in therock.packages(version, target))
            rpm.write_repository(host / base / name / "x86_64", found, key)


def _deb_distributions(root: Path, key: Key) -> None:
    ubuntu = [distro_of("ubuntu", version) for version in ("20.04", "22.04", "24.04")]
    suites = [deb.Suite(d.codename, distribution.deb_packages(d)) for d in ubuntu]
    deb.write_repository(root / "ubuntu", suites, key, origin="Ubuntu", label="Ubuntu")
    debian = [distro_of("debian", version) for version in ("12", "13")]
    suites = [deb.Suite(d.codename, distribution.deb_packages(d)) for d in debian]
    deb.write_repository(root / "debian", suites, key, origin="Debian", label="Debian")


def _rpm_distributions(www: Path, key: Key, project: Key) -> None:
    for minor in (*EL_MINORS, *RARE_EL):
        distro, major = distro_of("rhel", minor), minor.partition(".")[0]
        for name, packages in distribution.el_packages(distro).items():
            if name != "epel":
                rpm.write_repository(www / "distribution.test/rhel" / minor / name, packages, key)
            elif minor == EL_MINORS[0] or minor in RARE_EL:
                epel = www / f"dl.fedoraproject.org/pub/epel/{major}/Everything/x86_64"
                rpm.write_repository(epel, packages, key)
                release = epel / "packages" / rpm.file_name(distribution.epel_release(major))
                shutil.copy(release, www / f"dl.fedoraproject.org/pub/epel/epel-release-latest-{major}.noarch.rpm")
    for version in (*SLES, "16.0"):
        for name, packages in distribution.suse_packages(distro_of("sles", version)).items():
            if name == "obs-perl":
                _open_build_service(www / "download.opensuse.org", version, packages, project)
            else:
                rpm.write_repository(www / "distribution.test/sles" / version / name, packages, key)


def _open_build_service(host: Path, version: str, packages: tuple[Package, ...], key: Key) -> None:
    """devel:languages:perl and its .repo file, which zypper addrepo reads."""
    project = host / "repositories/devel:/languages:/perl" / version
    rpm.write_repository(project, packages, key)
    base = f"https://download.opensuse.org/repositories/devel:/languages:/perl/{version}/"
    text = (
        f"[devel_languages_perl]\nname=perl modules (SLE_{version})\ntype=rpm-md\nbaseurl={base}\ngpgcheck=1\n"
        f"gpgkey={base}repodata/repomd.xml.key\nenabled=1\n"
    )
    _put(project / "devel:languages:perl.repo", text.encode())


def _wheels(www: Path) -> None:
    wheels.write_official(www / "download.pytorch.org")
    wheels.write_wrong_builds(www / "download.pytorch.org")
    wheels.write_therock(www)


def main() -> None:
    """Print what there is, for whoever writes a test."""
    built = site(cache_folder())
    print(
        json.dumps({"folder": str(built.folder), "keys": {name: key.fingerprint for name, key in built.keys.items()}}, indent=2)
    )


if __name__ == "__main__":
    main()
