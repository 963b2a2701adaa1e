"""What a message of the dynamic loader tells, and the remedy for it. Registers no check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Fix

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


def cause_and_remedy(facts: Facts, matrix: Matrix, line: str) -> tuple[str, Fix]:
    """(what the message tells, what helps) for a line of ld.so: "cannot open shared object file" or "version ... not found"."""
    wants = re.search(r"(/\S+): version [`'](GLIBCXX|CXXABI|GLIBC)_[^']*' not found", line)
    if wants and wants.group(2) == "GLIBC":
        return (
            "This ROCm was built for a distribution with a newer glibc than this host's.",
            Fix(
                "Install ROCm's packages for this distribution and version (its own suite or path in AMD's repository)",
                (("rocmdoctor", "install"),),
                needs=("root", "network"),
                verify=recheck("ld_path.*", "rocminfo.*"),
            ),
        )
    if wants and any(wants.group(1).startswith(f"{folder.rstrip('/')}/") for folder in facts.loader.library_path if folder):
        folder = wants.group(1).rpartition("/")[0]
        return (
            f"LD_LIBRARY_PATH puts {folder} first, and the libstdc++ there is older than the one that ROCm was built with.",
            Fix(
                f"Take {folder} out of LD_LIBRARY_PATH (a conda environment needs none)",
                (("env", "-u", "LD_LIBRARY_PATH", "rocminfo"),),
                verify=recheck("ld_path.*", "rocminfo.*"),
            ),
        )
    absent = re.search(r"(lib[\w+-]+)\.so[.\d]*: cannot open shared object file", line)
    name = absent.group(1) if absent else ""
    package = matrix.distribution_packages.libraries.get(name, {}).get(remedies.manager(facts) or "")
    if package:
        return (
            f"{name} is not installed, or not where the loader looks.",
            Fix(
                f"Install {package}, the package of {name}, and refresh the loader's cache",
                (*remedies.install(facts, package), ("ldconfig",)),
                needs=("root", "network"),
                verify=recheck("ld_path.*", "rocminfo.*"),
            ),
        )
    return (
        "The loader finds none, or another release, of a library that it needs.",
        Fix(
            "Reinstall the ROCm run time and refresh the loader's cache",
            (*remedies.install(facts, "hsa-rocr"), ("ldconfig",)),
            needs=("root", "network"),
            verify=recheck("ld_path.*"),
        ),
    )


def amd_libdrm(facts: Facts, matrix: Matrix) -> Fix:
    """AMD's libdrm packages lie in the driver's repository, which a host with the kernel's own driver often has not."""
    there = any(s.product == "amdgpu" for s in known(lambda: facts.repos.amd, ()))
    os = facts.os
    base = matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    recipe = matrix.recipe(facts.rocm_version or "", base.id, base.version) if base and facts.rocm_version else None
    source = recipe.driver_repo if recipe and not there else None
    update = (("apt-get", "update"),) if remedies.manager(facts) == "apt" else ()
    return Fix(
        "Install AMD's libdrm packages from the amdgpu repository of the same release"
        + (f", which is added as {source.path} (no driver comes with it)" if source else "")
        + ("" if there or source else "; add that repository first, as AMD's pages of the release say"),
        (
            *((remedies.write(source.path, *source.text.splitlines()), *update) if source else ()),
            *(remedies.install(facts, "libdrm-amdgpu-amdgpu1", "libdrm2-amdgpu") if there or source else ()),
        ),
        needs=("root", "network"),
        verify=recheck("ld_path.*", "rocminfo.*"),
    )
