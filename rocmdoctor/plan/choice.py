"""Which release: what was asked, understood against the matrix and this host."""

from __future__ import annotations

from rocmdoctor import versions
from rocmdoctor.matrix import Verdict, host_support
from rocmdoctor.matrix.distributions import OsBase
from rocmdoctor.matrix.recipes import Recipe
from rocmdoctor.plan.draft import Draft


def system(draft: Draft) -> OsBase | None:
    """AMD's distribution behind this one; refuses where AMD packages nothing for it."""
    os = draft.facts.os
    base = draft.matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
    if base is None:
        draft.refuse(
            "distribution",
            f"AMD has no packages for {os.name}",
            "use the distribution's own ROCm packages, PyTorch wheels (which bring their own ROCm), or a container",
        )
        return None
    if not base.exact:
        name = draft.matrix.distributions[base.id].name
        draft.note(f"{os.name} takes the packages of {name} {base.version}; AMD does not test that")
    draft.choices["system"] = f"{base.id} {base.version}"
    return base


def release(draft: Draft, base: OsBase) -> Recipe | None:
    """The recipe of the wanted release on this system; refuses what the matrix does not know or AMD does not package."""
    asked, matrix = draft.options.rocm, draft.matrix
    chosen = host_support.newest(draft.matrix, base, draft.gpus) if asked is None else _asked(draft, base, asked)
    if chosen is None:
        if asked is None:
            draft.refuse(
                "no-release",
                f"no release of ROCm that this matrix knows is supported here ({reasons(draft, base)})",
                "name one with --rocm VERSION and --allow-unsupported",
            )
        return None
    recipe = matrix.recipe(chosen, base.id, base.version)
    if recipe is None:
        draft.refuse(
            "no-packages",
            f"AMD has no packages of ROCm {chosen} for {base.id} {base.version}",
            _others(draft, base),
        )
        return None
    draft.choices["rocm"] = {"asked": asked, "chosen": chosen}
    return recipe


def _asked(draft: Draft, base: OsBase, asked: str) -> str | None:
    matrix = draft.matrix
    numbers = versions.components(asked.removeprefix("v"))
    if asked in ("latest", "newest") or len(numbers) in (1, 2):
        meant = [v for v in matrix.versions if asked in ("latest", "newest") or versions.components(v)[: len(numbers)] == numbers]
        meant = [v for v in meant if _installable(draft, base, v)] or meant
        if meant:
            found = max(meant, key=versions.key)
            among = "" if asked in ("latest", "newest") else f" {asked}.x"
            draft.note(f"--rocm {asked} is ROCm {found}, the newest{among} for this host")
            return found
    elif (known := matrix.resolve(asked)) is not None:
        return known
    if matrix.is_newer_than_known(asked):
        draft.refuse(
            "unknown-release",
            f"ROCm {asked} is newer than this matrix knows ({matrix.newest}, dated {matrix.date})",
            "update rocmdoctor, or give a newer matrix with --matrix FILE",
        )
    else:
        line = [v for v in matrix.versions if versions.components(v)[:1] == numbers[:1]] or list(matrix.versions)
        draft.refuse("unknown-release", f"there is no ROCm {asked} in the matrix", f"it knows {', '.join(line)}")
    return None


def _installable(draft: Draft, base: OsBase, version: str) -> bool:
    return host_support.packaged(draft.matrix, version, base, draft.gpus)


def _others(draft: Draft, base: OsBase) -> str:
    found = [v for v in draft.matrix.versions if _installable(draft, base, v)]
    return f"it has {', '.join(found[-6:])}" if found else "use PyTorch wheels or a container"


def objections(draft: Draft, base: OsBase, version: str) -> list[tuple[str, str]]:
    """(code, reason) of each thing that AMD does not support, or that nobody knows, for this release on this host."""
    found = []
    for what, answer in host_support.objections(draft.matrix, version, base, draft.gpus):
        verdict = "unsupported" if answer.verdict is Verdict.UNSUPPORTED else "unknown"
        found.append((f"{verdict}-{what}", answer.reason))
    return sorted(dict.fromkeys(found), key=lambda objection: objection[0].endswith("-gpu"))  # the system first


def reasons(draft: Draft, base: OsBase) -> str:
    """Why the newest release is not supported, for a message."""
    found = objections(draft, base, draft.matrix.newest)
    return "; ".join(reason for _, reason in found[:2])


def judge(draft: Draft, base: OsBase, recipe: Recipe) -> None:
    """Refuse (or note) what AMD does not support; kernels that are not on AMD's list are noted only: they change weekly."""
    better = host_support.newest(draft.matrix, base, draft.gpus)
    for code, reason in objections(draft, base, recipe.rocm):
        help = f"ROCm {better} is supported here" if better and better != recipe.rocm else ""
        draft.doubt(code, reason, help)
    for gpu in draft.gpus[:1]:
        kernel = draft.matrix.kernel(
            recipe.rocm, base.id, base.version, draft.facts.kernel.release, gfx=gpu.gfx, product=gpu.product, family=gpu.family
        )
        if kernel.verdict is Verdict.UNSUPPORTED:
            draft.note(kernel.reason)
    if recipe.confidence:
        draft.note(f"recipe of ROCm {recipe.rocm}: {recipe.confidence}")
