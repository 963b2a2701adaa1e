"""The install plan: AMD's recipe of one release, fitted to this host."""

from __future__ import annotations

import re

from rocmdoctor import versions
from rocmdoctor.facts import Facts, known
from rocmdoctor.matrix import Matrix
from rocmdoctor.matrix.recipes import Recipe
from rocmdoctor.plan import accounts, choice, driver_choice, mirror, refusals, repositories, torch_choice, unfinished
from rocmdoctor.plan.accounts import AddUserToGroups
from rocmdoctor.plan.draft import Draft, Options
from rocmdoctor.plan.driver_module import DkmsModule
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex, RemovePackages
from rocmdoctor.plan.reboot import RebootNotice
from rocmdoctor.plan.step import Plan, judged

GROUPS = ("render", "video")
LOADER = ("/etc/ld.so.conf.d/rocm.conf", "/opt/rocm/lib\n/opt/rocm/lib64\n")
PATH_FILE = (
    "/etc/profile.d/rocm.sh",
    'case ":$PATH:" in\n*:/opt/rocm/bin:*) ;;\n*) PATH="$PATH:/opt/rocm/bin" && export PATH ;;\nesac\n',
)
NETWORK = ("root", "network")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")


def build(facts: Facts, matrix: Matrix, options: Options) -> Plan:
    """The plan for this host; one with refusals has the steps that it would have as far as they are known.

    Raises UnknownFact when the distribution or the kernel cannot be told.
    """
    draft = Draft(facts, matrix, options)
    mirror.check(draft)
    for name in options.packages:
        if not _PACKAGE.fullmatch(name):
            draft.refuse("package", f"{name!r} is no package name")
    if not options.packages:
        draft.refuse("package", "--packages names no package")
    refusals.place(draft)
    base = choice.system(draft)
    recipe = choice.release(draft, base) if base else None
    if base is None or recipe is None:
        return _finished(draft, None)
    if not draft.gpus:
        draft.note("no AMD GPU was found: whether ROCm supports it is not judged")
    choice.judge(draft, base, recipe)
    driver = driver_choice.decide(draft, recipe)
    refusals.installed(draft, recipe)
    unfinished.judge(draft, recipe.package_manager, _outdated_driver(draft, recipe) if driver else ())
    refusals.disk(draft, driver=driver)
    _steps(draft, recipe, driver=driver)
    return _finished(draft, recipe)


def _steps(draft: Draft, recipe: Recipe, *, driver: bool) -> None:
    repositories_ = repositories.plan(draft, recipe, driver=driver)
    head, draft.steps = draft.steps, []
    needed = torch_choice.plan(draft, recipe, driver=driver)
    tail, draft.steps = draft.steps, head
    rocm = _rocm_wishes(draft, recipe)
    kernel_needs = _driver_needs(draft, recipe) if driver else ()
    driver_wishes = tuple(Wish(name, release=recipe.driver or "") for name in recipe.packages.driver) if driver else ()
    manager = recipe.package_manager
    serves = (*rocm, *driver_wishes, *needed)
    draft.steps.append(
        RefreshIndex("index", "Read the package lists", "the new repositories", NETWORK, manager, repositories_, serves)
    )
    _shadowing(draft, recipe)
    if driver:
        _driver_steps(draft, recipe, kernel_needs, driver_wishes)
    title = f"Install ROCm {recipe.rocm}: {', '.join(wish.name for wish in rocm)}"
    draft.steps.append(
        InstallPackages("rocm", title, f"it lies in {recipe.prefix}", NETWORK, manager, (*rocm, *_needs(recipe), *needed))
    )
    _users(draft)
    if recipe.line == "classic":
        _file(draft, "loader", LOADER, "the loader finds ROCm's libraries", ("ldconfig",))
    _file(draft, "path", PATH_FILE, "shells find ROCm's programs from the next login on", ())
    draft.steps += tail
    if driver:
        draft.steps.append(
            RebootNotice(
                "reboot",
                "Reboot (rocmdoctor does not)",
                "the new driver is loaded at boot",
                ("reboot",),
                recipe.driver or "",
                follows=("old-driver", "driver"),
            )
        )


def _rocm_wishes(draft: Draft, recipe: Recipe) -> tuple[Wish, ...]:
    """The packages as wished. "rocm" is all of a release: per target in the TheRock line."""
    wishes: list[Wish] = []
    for name in draft.options.packages:
        if name == "rocm" and recipe.line == "therock":
            per_gfx = recipe.packages.per_gfx
            names = tuple(per_gfx.format(gfx=gfx) for gfx in draft.targets) if per_gfx else ()
            wishes += [Wish(n, _patch_level(draft, recipe), recipe.rocm) for n in names or recipe.packages.rocm]
        elif name == "rocm" and draft.options.side_by_side and recipe.packages.versioned:
            wishes += [Wish(n) for n in recipe.packages.versioned]
        elif name == "rocm":
            wishes += [Wish(n, release=recipe.rocm) for n in recipe.packages.rocm]
        elif recipe.line == "classic" and draft.options.side_by_side:
            wishes.append(Wish(name if name.endswith(recipe.rocm) else f"{name}{recipe.rocm}"))
        else:
            wishes.append(Wish(name, release=recipe.rocm))
    return tuple(dict.fromkeys(wishes))


def _patch_level(draft: Draft, recipe: Recipe) -> str:
    """TheRock's repository holds every release: a patch level that is not the newest of its series is named."""
    newest = draft.matrix.resolve(versions.major_minor(recipe.rocm))
    return "" if newest == recipe.rocm else f"{recipe.rocm}-*" if recipe.package_manager == "apt" else f"{recipe.rocm}*"


def _needs(recipe: Recipe) -> tuple[Wish, ...]:
    return tuple(Wish(name) for name in recipe.packages.rocm_needs)


def _driver_needs(draft: Draft, recipe: Recipe) -> tuple[Wish, ...]:
    """Headers of the running kernel; its extra modules only where the kernel flavour has such a package (rules.md 13)."""
    kernel = draft.facts.kernel.release
    names = (name.format(kernel=kernel) if "{kernel}" in name else name for name in recipe.packages.driver_needs)
    return tuple(Wish(name, optional=name.startswith("linux-modules-extra-")) for name in names)


def _driver_steps(draft: Draft, recipe: Recipe, needs: tuple[Wish, ...], wishes: tuple[Wish, ...]) -> None:
    manager = recipe.package_manager
    old = draft.packages.get("amdgpu-dkms") if draft.packages else None
    names = _outdated_driver(draft, recipe)
    if names and old is not None:
        reason = "AMD asks to remove the old driver before an upgrade"
        draft.steps.append(
            RemovePackages("old-driver", f"Remove the driver {old.driver_release}", reason, ("root",), manager, names)
        )
    if needs:
        draft.steps.append(
            InstallPackages(
                "driver-needs",
                "Install what the driver is built with",
                "DKMS skips the build without it",
                NETWORK,
                manager,
                needs,
            )
        )
    title = f"Install the driver {recipe.driver}" if recipe.driver else "Install the driver"
    draft.steps.append(InstallPackages("driver", title, "", NETWORK, manager, wishes))
    if recipe.driver:
        kernel = draft.facts.kernel.release
        reason = "package managers end with success when the build was skipped"
        draft.steps.append(
            DkmsModule(
                "driver-module",
                f"The driver is built for kernel {kernel}",
                reason,
                kernel=kernel,
                follows=("old-driver", "driver"),
            )
        )


def _outdated_driver(draft: Draft, recipe: Recipe) -> tuple[str, ...]:
    """Packages of the driver that is installed, when it is of another release."""
    packages = draft.packages
    old = packages.get("amdgpu-dkms") if packages else None
    if packages is None or old is None or versions.key(old.driver_release or "") == versions.key(recipe.driver or ""):
        return ()
    return tuple(p.name for p in packages.matching("amdgpu-dkms*"))


def _shadowing(draft: Draft, recipe: Recipe) -> None:
    """The distribution's packages of AMD's names, installed with higher numbers: apt never downgrades them for a pin of 600."""
    packages = draft.packages
    if packages is None or recipe.pin is None:
        return
    names = tuple(p.name for p in packages.distro_rocm if p.name in draft.matrix.faults.shadowed_packages)
    if names:
        reason = "AMD's packages want their own of the same name"
        draft.steps.append(
            RemovePackages(
                "distribution-rocm", f"Remove the distribution's {', '.join(names)}", reason, ("root",), "apt", names, False
            )
        )


def _users(draft: Draft) -> None:
    host = draft.facts.host
    sudo = host.user.sudo_user
    users = draft.options.users or ((sudo,) if sudo and sudo != "root" else ())
    if draft.place == "container":
        if users:
            draft.note(
                "groups are not changed in a container: start it with --group-add and the numeric group of the host's nodes"
            )
        return
    groups = tuple(g for g in GROUPS if g in known(lambda: host.groups, {})) or GROUPS
    for user in dict.fromkeys(users):
        if user == "root":
            continue
        if not user or user.startswith("-") or any(c in user for c in ",: \n\t"):
            draft.refuse("user", f"{user!r} is no user name")
        elif known(lambda user=user: accounts.exists(host, user), True) is False:  # type: ignore[misc]
            draft.refuse("user", f"there is no user {user}")
        else:
            title = f"Add {user} to the groups {' and '.join(groups)}"
            reason = "they own /dev/kfd and the render nodes"
            draft.steps.append(AddUserToGroups(f"user-{user}", title, reason, ("root", "relogin"), user, groups))


def _file(draft: Draft, name: str, file: tuple[str, str], reason: str, then: tuple[str, ...]) -> None:
    path, text = file
    draft.steps.append(WriteFile(name, f"Write {path}", reason, path=path, text=text, then=then))


def _finished(draft: Draft, recipe: Recipe | None) -> Plan:
    driver = draft.choices.get("driver") or {}
    torch = draft.choices.get("torch") or {}
    found = {"rocm": recipe.rocm if recipe else None, "driver": driver.get("chosen"), "torch": torch.get("chosen")}
    steps = tuple(draft.steps)
    title = f"Install ROCm {recipe.rocm}" if recipe else "Install ROCm"
    return Plan(
        "install",
        title,
        steps,
        tuple(draft.notices),
        tuple(draft.refusals),
        found,
        judged(steps, draft.facts.host),
        draft.choices,
    )
