"""The matrix' questions about Python wheels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from rocmdoctor import versions

if TYPE_CHECKING:
    from rocmdoctor.matrix.answers import Answer, Verdict
    from rocmdoctor.matrix.document import Document
    from rocmdoctor.matrix.torch_releases import TorchRelease
    from rocmdoctor.matrix.wheel_choice import WheelChoice
    from rocmdoctor.matrix.wheels import (
        AmdWheels,
        DevicePackages,
        PythonPackage,
        TheRockIndex,
        TheRockTorch,
        TorchIndexes,
        WheelFault,
        WheelRules,
    )


class WheelQuestions:
    """Part of Matrix; each module behind it is imported by its first question."""

    _doc: Document

    @cached_property
    def torch_versions(self) -> tuple[str, ...]:
        """Official PyTorch releases of the table, oldest first."""
        return tuple(sorted(self._doc.entry_keys("torch_releases"), key=versions.key))

    def torch_release(self, version: str) -> TorchRelease | None:
        """The official release "2.5.1" (a local part is ignored); None when the table does not know it."""
        from rocmdoctor.matrix.torch_releases import read_torch_release

        return read_torch_release(self._doc, version.partition("+")[0])

    def torch_gfx(self, version: str, rocm_tag: str | None) -> frozenset[str] | None:
        """Targets that torch `version` from index or local tag `rocm_tag` is compiled for; None when unknown.

        AMD's own builds ("2.9.1+rocm7.2.0.git7e1940d4") are known where users showed them. TheRock wheels (a tag of three
        components, "10.1.0") get their kernels from device packages, so that no list can be given.
        """
        from rocmdoctor.matrix.torch_releases import split_local

        public, _, own_tag = version.partition("+")
        local = split_local(own_tag) or split_local(rocm_tag or "")
        if local is None:
            return None
        if local.is_amd_build:
            full = f"{public}+rocm{local.rocm}{local.rest.replace('.lw', '')}"
            return next((row.gfx for row in self.amd_wheels if row.torch == full), None)
        release = self.torch_release(public)
        return release.gfx.get(local.rocm) if release else None

    @cached_property
    def torch_indexes(self) -> TorchIndexes:
        """The ROCm indexes of download.pytorch.org."""
        from rocmdoctor.matrix.wheels import read_torch_indexes

        return read_torch_indexes(self._doc)

    @cached_property
    def official_indexes(self) -> Mapping[str, tuple[str, ...]]:
        """Index name ("rocm6.2") to the torch releases in it."""
        found: dict[str, list[str]] = {}
        for version in self.torch_versions:
            release = self.torch_release(version)
            for index in release.indexes if release else ():
                found.setdefault(f"rocm{index}", []).append(version)
        return {name: tuple(releases) for name, releases in found.items()}

    def index_url(self, torch_version: str, rocm_tag: str | None) -> str | None:
        """The index a wheel came from, for --index-url; None when there is none (AMD's flat folders) or it is unknown."""
        from rocmdoctor.matrix.torch_releases import split_local

        public, _, own_tag = torch_version.partition("+")
        local = split_local(own_tag) or split_local(rocm_tag or "")
        if local is None or local.is_amd_build:
            return None
        release = self.torch_release(public)
        if release and local.rocm in release.indexes:
            return self.torch_indexes.url.format(index=local.rocm)
        row = next((row for row in self.therock_torch if row.rocm == local.rocm), None)
        return row.wheel_index.url if row else None

    def rocm_of_hip(self, hip: str) -> str | None:
        """The ROCm X.Y of a torch.version.hip; the same X.Y up to 7.2, a table for TheRock builds; None when unknown."""
        from rocmdoctor.matrix.wheels import read_hip_versions

        line = versions.major_minor(hip)
        known = read_hip_versions(self._doc)
        if line in known:
            return known[line]
        return line if "." in line and any(v.startswith(f"{line}.") for v in self._doc.entry_keys("releases")) else None

    @cached_property
    def amd_wheels(self) -> tuple[AmdWheels, ...]:
        """Wheels on repo.radeon.com by folder, as far as anybody showed them."""
        from rocmdoctor.matrix.wheels import read_amd_wheels

        return read_amd_wheels(self._doc)

    @cached_property
    def therock_indexes(self) -> Mapping[str, TheRockIndex]:
        from rocmdoctor.matrix.wheels import read_therock_indexes

        return read_therock_indexes(self._doc)

    @cached_property
    def therock_torch(self) -> tuple[TheRockTorch, ...]:
        """PyTorch of TheRock's stable indexes by ROCm release, newest first."""
        from rocmdoctor.matrix.wheels import read_therock_torch

        return read_therock_torch(self._doc)

    @cached_property
    def device_packages(self) -> DevicePackages:
        from rocmdoctor.matrix.wheels import read_device_packages

        return read_device_packages(self._doc)

    @cached_property
    def wheel_faults(self) -> tuple[WheelFault, ...]:
        from rocmdoctor.matrix.wheels import read_wheel_faults

        return read_wheel_faults(self._doc)

    @cached_property
    def wheel_rules(self) -> WheelRules:
        from rocmdoctor.matrix.wheels import read_wheel_rules

        return read_wheel_rules(self._doc)

    @cached_property
    def python_packages(self) -> Mapping[str, PythonPackage]:
        """Other frameworks' packages (jax, onnxruntime, cupy ...)."""
        from rocmdoctor.matrix.wheels import read_python_packages

        return read_python_packages(self._doc)

    def wheels_for(
        self, *, gfx: str, python: str | None = None, rocm: str | None = None, driver: str | None = None
    ) -> tuple[WheelChoice, ...]:
        """ROCm wheels of PyTorch that have `gfx`, best first; never CPU or CUDA, and empty when no wheel fits.

        `python` is "3.12" or a tag; `rocm` is preferred where it exists; `driver` is a release of AMD's driver: wheels it
        does not carry are left out. Without it (the kernel's own driver) nothing is left out.
        """
        from rocmdoctor.matrix.wheel_choice import official_choices, ranked, therock_choices

        releases = (release for v in self.torch_versions if (release := self.torch_release(v)))
        official = official_choices(releases, self.torch_indexes, self.wheel_faults, gfx, python)
        own = therock_choices(self.therock_torch, self.wheel_faults, self.device_packages.sanity_tested, gfx, python)
        judge: Callable[[str], Verdict] | None = None
        if driver:

            def judge(wheel_rocm: str) -> Verdict:
                return self._driver_for_wheel(wheel_rocm, driver, gfx).verdict

        return ranked([*official, *own], rocm, judge)

    def _driver_for_wheel(self, rocm: str, driver: str, gfx: str) -> Answer:
        raise NotImplementedError
