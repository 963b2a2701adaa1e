"""The matrix' questions about installing and running: recipes, keys, driver directories, DKMS, tuning, containers, WSL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from rocmdoctor import versions

if TYPE_CHECKING:
    from rocmdoctor.matrix.apu import ApuClassic, ApuStatus
    from rocmdoctor.matrix.distributions import Distribution
    from rocmdoctor.matrix.document import Document
    from rocmdoctor.matrix.drivers import DriverRelease, Windows
    from rocmdoctor.matrix.extra_repositories import ExtraRepositories
    from rocmdoctor.matrix.packaging import DistributionPackages, RepositoryPaths
    from rocmdoctor.matrix.recipes import Recipe, RepoFile
    from rocmdoctor.matrix.running import ApuMemory, Containers, DkmsFailure, NodeTuning, Wsl
    from rocmdoctor.matrix.signing_keys import KeyExpiry, SigningKey


class InstallQuestions:
    """Part of Matrix; each module behind it is imported by its first question."""

    _doc: Document

    @cached_property
    def distributions(self) -> Mapping[str, Distribution]:
        from rocmdoctor.matrix.distributions import read_distributions

        return read_distributions(self._doc)

    def glibc(self, os_id: str, os_version: str) -> str | None:
        """The glibc version that AMD states for a distribution."""
        row = self.distributions.get(os_id)
        return next((g for v, g in row.glibc.items() if versions.is_prefix(v, os_version)), None) if row else None

    def apt_suite(self, os_id: str, os_version: str) -> str | None:
        """The code name AMD's apt repositories have for a distribution: "jammy" for Ubuntu 22.04 and for Debian 12."""
        row = self.distributions.get(os_id)
        if row is None:
            return None
        return next((s for v, s in row.suites.items() if versions.is_prefix(v, os_version)), None) or row.codename_of(os_version)

    @cached_property
    def el_ids(self) -> frozenset[str]:
        """os-release IDs that take AMD's packages for Enterprise Linux."""
        return frozenset(name for name, row in self.distributions.items() if row.package_manager == "dnf")

    def recipe(self, rocm: str, os_id: str, os_version: str) -> Recipe | None:
        """AMD's recipe of a release on a distribution (a base_os); None where AMD has no packages.

        A recipe exists wherever AMD's repositories have a place for the system; `named` tells whether AMD's pages of that
        release name it, `os()` whether AMD supports it.
        """
        from rocmdoctor.matrix.recipes import read_recipe

        key = ".".join(map(str, (*versions.components(rocm), 0, 0)[:3]))
        return read_recipe(self._doc, self.distributions, self.driver_releases, key, os_id, os_version)

    def extra_repositories(self, manager: str, os_version: str) -> ExtraRepositories | None:
        """Repositories beside AMD's that its packages need with a package manager (EPEL, CRB, SUSE modules); None: none."""
        from rocmdoctor.matrix.extra_repositories import read_extra_repositories

        return read_extra_repositories(self._doc, manager, os_version)

    @cached_property
    def signing_keys(self) -> Mapping[str, SigningKey]:
        from rocmdoctor.matrix.signing_keys import read_signing_keys

        return read_signing_keys(self._doc)

    @property
    def signing_fingerprints(self) -> tuple[str, ...]:
        """Fingerprints of AMD's repository keys, each once."""
        return tuple(dict.fromkeys(key.fingerprint for key in self.signing_keys.values()))

    @cached_property
    def key_expiry(self) -> KeyExpiry:
        from rocmdoctor.matrix.signing_keys import read_key_expiry

        return read_key_expiry(self._doc)

    @cached_property
    def apt_pin(self) -> RepoFile:
        """AMD's pin for the packages of its classic apt repositories."""
        from rocmdoctor.matrix.recipes import read_apt_pin

        return read_apt_pin(self._doc)

    @cached_property
    def repository_paths(self) -> RepositoryPaths:
        """What paths of AMD's repositories have, and since when."""
        from rocmdoctor.matrix.packaging import read_repository_paths

        return read_repository_paths(self._doc)

    @cached_property
    def distribution_packages(self) -> DistributionPackages:
        """Names of distributions' own packages and keyrings."""
        from rocmdoctor.matrix.packaging import read_distribution_packages

        return read_distribution_packages(self._doc)

    # drivers -------------------------------------------------------------------------------------------------

    @cached_property
    def driver_windows(self) -> Windows:
        """AMD's cross table of drivers and ROCm user spaces."""
        from rocmdoctor.matrix.drivers import read_windows

        return read_windows(self._doc)

    def newest_userspace(self, driver_release: str) -> str | None:
        """The newest ROCm line that AMD's cross table gives a driver release: "6.1" for 5.7.1; None when it has no row."""
        from rocmdoctor.matrix.drivers import covers

        row = next((row for row in self.driver_windows.rows if covers(row.driver, driver_release)), None)
        return max((u.removesuffix(".x") for u in row.userspace), key=versions.key) if row else None

    @cached_property
    def driver_releases(self) -> tuple[DriverRelease, ...]:
        """Every release of AMD's driver the matrix knows, oldest first."""
        from rocmdoctor.matrix.drivers import read_driver_releases

        return read_driver_releases(self._doc)

    def driver_release_of_module(self, module_version: str) -> str | None:
        """The driver release of a module or package version; the X.Y line when only the kernel base is known.

        6.14.14-2222715.24.04 is 30.10.2, a bare 6.8.5 is "6.2"; None when unknown.
        """
        from rocmdoctor.matrix.drivers import release_of_module

        return release_of_module(self.driver_releases, module_version)

    def driver_for(self, rocm: str) -> str | None:
        """The driver release to install with a ROCm release: "30.20.0" for 7.1.0, "6.2.0" for 6.2.0; None when unknown.

        Where AMD's table and AMD's recipe differ (7.2.2) it is the recipe's.
        """
        from rocmdoctor.matrix.recipes import driver_of

        key = ".".join(map(str, (*versions.components(rocm), 0, 0)[:3]))
        found = driver_of(self._doc, key)
        if found or key not in self._doc.entry_keys("releases"):
            return found
        if any(versions.key(row.version) == versions.key(key) for row in self.driver_releases):
            return key  # up to 6.4 the driver has ROCm's number
        from rocmdoctor.matrix.release_reader import read_release

        drivers = read_release(self._doc, key).drivers
        newest = max((*drivers.stated, *(drivers.families or {}).get("instinct", ())), key=versions.key, default=None)
        return drivers.released_with or (newest if newest and not newest.endswith(".x") else None)

    def rocm_of_repository(self, directory: str) -> str | None:
        """The ROCm release that a repository path names: "6.2" is 6.2.0, the driver directory "30.10.1" goes with 7.0.1."""
        key = ".".join(map(str, (*versions.components(directory), 0, 0)[:3]))
        known = self._doc.entry_keys("releases")
        return key if key in known else next((v for v in known if self.driver_for(v) == key), None)

    @cached_property
    def driver_repo_dirs(self) -> Mapping[str, str]:
        """Directory under repo.radeon.com/amdgpu ("30.30") to driver release ("30.30.0")."""
        return {row.directory: row.version for row in self.driver_releases if row.directory}

    def driver_directory(self, rocm: str) -> str | None:
        """The directory under repo.radeon.com/amdgpu of the driver that goes with a ROCm release."""
        driver = self.driver_for(rocm)
        if driver is None:
            return None
        return next((r.directory for r in self.driver_releases if versions.key(r.version) == versions.key(driver)), None)

    def has_driver_directory(self, name: str) -> bool:
        """Whether repo.radeon.com/amdgpu/`name` is a directory the matrix knows ("30.30"; "7.2" never was one)."""
        return name in self.driver_repo_dirs

    def is_driver_release(self, number: str) -> bool:
        """Whether this is the number of a driver release that the matrix knows; no row is read."""
        return ".".join(map(str, (*versions.components(number), 0, 0)[:3])) in self._doc.entry_keys("driver_releases")

    def is_newer_driver_than_known(self, driver: str) -> bool:
        return versions.key(driver) > versions.key(self.driver_releases[-1].version)

    def known_dkms_failure(self, driver_release: str, kernel_release: str) -> DkmsFailure | None:
        """A public report that this driver's module does not build on this kernel (uname -r), or what follows from one."""
        from rocmdoctor.matrix.running import find_dkms_failure, read_dkms_failures

        return find_dkms_failure(read_dkms_failures(self._doc), driver_release, kernel_release)

    # running -------------------------------------------------------------------------------------------------

    @cached_property
    def node_tuning(self) -> NodeTuning:
        from rocmdoctor.matrix.running import read_node_tuning

        return read_node_tuning(self._doc)

    @cached_property
    def apu_memory(self) -> ApuMemory:
        from rocmdoctor.matrix.running import read_apu_memory

        return read_apu_memory(self._doc)

    @cached_property
    def apu_status(self) -> ApuStatus:
        from rocmdoctor.matrix.apu import read_apu_status

        return read_apu_status(self._doc)

    @cached_property
    def apu_classic(self) -> ApuClassic:
        from rocmdoctor.matrix.apu import read_apu_classic

        return read_apu_classic(self._doc)

    @cached_property
    def containers(self) -> Containers:
        from rocmdoctor.matrix.running import read_containers

        return read_containers(self._doc)

    @cached_property
    def wsl(self) -> Wsl:
        from rocmdoctor.matrix.running import read_wsl

        return read_wsl(self._doc)

    @cached_property
    def changes(self) -> Mapping[str, str]:
        """Releases from (or until) which something is different: changes["rocm_smi_optional_from"] is "10.1.0"."""
        from rocmdoctor.matrix.running import read_changes

        return read_changes(self._doc)
