"""The state of the package database: interrupted installations, mixed releases, disk space that stopped them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.checks import remedies
from rocmdoctor.checks.remedies import recheck
from rocmdoctor.checks.repos import unpinned
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts.dkms import DkmsLog
    from rocmdoctor.facts.packages import Package
    from rocmdoctor.matrix import Matrix

BOOT_FREE = 100 << 20
"""Bytes, where the driver of DKMS is installed: an initramfs with its firmware takes 100 MB and more (Debian 13)."""
BOOT_FREE_INBOX = 50 << 20
"""Bytes, with the kernel's own driver."""


@check("disk.boot", title="/boot has room for an initramfs", places=("bare-metal", "vm"))
def boot(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """A full /boot stops update-initramfs, and every installation ends half-configured. The driver's firmware makes an
    initramfs large."""
    try:
        filesystem = facts.host.filesystem("/boot")
    except UnknownFact:
        if known(lambda: bool(facts.packages.broken), True):
            raise
        raise NotApplicable("how much of /boot is free was not recorded, and no package is left half-installed by it") from None
    if filesystem is None:
        raise NotApplicable("/boot is not a file system of its own")
    packaged = known(lambda: facts.packages.has("amdgpu-dkms") or facts.packages.has("rock-dkms"), False)
    if filesystem.free >= (BOOT_FREE if packaged else BOOT_FREE_INBOX):
        return
    broken = [
        p
        for p in known(lambda: facts.packages.broken, ())
        if p.name.startswith(("linux-", "initramfs", "kernel", "amdgpu", "dkms"))
    ]
    full = filesystem.free < 20 << 20
    yield Finding(
        Status.FAIL if broken or full else Status.WARN,
        f"/boot is {'full' if full else 'nearly full'}: {filesystem.free >> 20} MiB of {filesystem.size >> 20} MiB are free",
        ("The next initramfs does not fit" if broken or full else "The next initramfs may not fit")
        + (f", and {broken[0].name} is left {broken[0].state} because of it." if broken else ".")
        + " Repeating the installation does not help; room must be made first.",
        (
            Evidence("statvfs /boot", f"size {filesystem.size}, free {filesystem.free}"),
            *(Evidence(f"package {p.name}", p.state) for p in broken[:2]),
        ),
        (
            Fix(
                "Remove kernels that are no longer used (keep the running one), then finish the installation",
                (
                    *(
                        (("apt-get", "autoremove", "--purge"), ("dpkg", "--configure", "-a"))
                        if remedies.manager(facts) == "apt"
                        else ()
                    ),
                ),
                needs=("root",),
                verify=recheck("disk.*", "packages.*"),
            ),
            Fix(
                "Remove amdgpu-dkms where the kernel's own driver serves the GPU: its firmware is what makes the initramfs large",
                remedies.remove(facts, "amdgpu-dkms"),
                needs=("root", "reboot"),
            ),
        ),
    )


@check(
    "packages.configured",
    title="No ROCm or driver package is half-installed",
    after=["disk.boot", "dkms.running-kernel"],
    needs_gpu=False,
)
def configured(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """dpkg leaves a package half-configured or unpacked when its script failed or a dependency is missing. Until it is
    mended, every later installation stops at it."""
    packages = facts.packages
    broken = [p for p in packages.broken if _ours(p)]
    if not broken:
        return
    from rocmdoctor.checks import repo_remedies

    ours = {p.name for p in broken}
    shadowing = known(lambda: unpinned(facts, matrix), [])
    wants = [u for u in known(lambda: packages.unmet(), ()) if u.package.name in ours and not u.waits]
    other = _build_for_another_kernel(facts) if ours & {"amdgpu-dkms", "rock-dkms"} else None
    evidence = tuple(Evidence(f"package {p.name}", f"{p.version}: {p.state}") for p in broken[:4]) + tuple(
        Evidence(f"package {u.package.name}", f"wants {u}, installed: {u.found.full_version if u.found else 'none'}")
        for u in wants[:3]
    )
    yield Finding(
        Status.FAIL,
        f"{broken[0].name} is {broken[0].state}"
        + (
            f" and {remedies.count(len(broken) - 1, 'more package is', 'more packages are')} not complete"
            if len(broken) > 1
            else ""
        ),
        (
            f"It wants {wants[0]}, and {wants[0].found.full_version if wants[0].found else 'nothing of that name'} is installed."
            + (" The missing pin of AMD's repository is why (repo.pin)." if shadowing else "")
            if wants
            else f"Its module is built for the running kernel and does not build for {other.kernel}, which is installed as well."
            if other
            else "Its installation was interrupted or its script failed."
        ),
        evidence + (tuple(Evidence(other.path, line) for line in other.errors[:2]) if other else ()),
        (
            *(
                (
                    Fix(
                        f"Remove the kernel {other.kernel} and its headers, or install a newer driver release that names it",
                        remedies.remove(facts, f"linux-headers-{other.kernel}", f"linux-image-{other.kernel}")
                        if remedies.manager(facts) == "apt"
                        else (),
                        needs=("root",),
                        verify=recheck("packages.*"),
                    ),
                    remedies.inbox_driver(facts),
                )
                if other
                else ()
            ),
            # The distribution's packages in AMD's place are why nothing can be configured: the pin belongs to the remedy.
            repo_remedies.pin(facts, matrix, shadowing)
            if shadowing
            else Fix(
                "Finish the interrupted installation",
                (("dpkg", "--configure", "-a"), ("apt-get", "install", "-f")),
                needs=("root", "network"),
                verify=recheck("packages.*"),
            ),
            *(
                ()
                if shadowing
                else (
                    Fix(
                        f"If it fails again, remove what does not fit ({remedies.count(len(broken), 'package')})",
                        remedies.remove(facts, *(p.name for p in broken)),
                        needs=("root",),
                    ),
                )
            ),
        ),
    )


def _build_for_another_kernel(facts: Facts) -> DkmsLog | None:
    """A failed build for a kernel that does not run: dpkg stops at it, though the running kernel has its module."""
    logs = known(lambda: facts.dkms.logs, ())
    return next((log for log in logs if log.errors and log.kernel and log.kernel != facts.kernel.release), None)


def _ours(package: Package) -> bool:
    return bool(package.rocm_release or package.driver_release) or package.name.startswith(
        ("rock-dkms", "amdgpu", "rocm", "amdrocm")
    )


@check("packages.one-release", title="The ROCm packages are of one release", after=["packages.configured"], needs_gpu=False)
def one_release(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Every package of a ROCm release carries its stamp (60200 is 6.2.0). A few packages of another release are a partial
    upgrade: their libraries look for companions that are not there. Versioned packages (rocm6.2.0) may lie side by side and
    are counted apart."""
    named = [p for p in facts.packages.rocm if p.rocm_release and p.installed and not p.driver_release]
    flavour = {p.name: _versioned(p) for p in named}
    plain = [p for p in named if not flavour[p.name]]
    versioned = [p for p in named if flavour[p.name]]
    clashing = (
        [
            p
            for p in versioned
            if any(q.rocm_release == p.rocm_release and q.name == p.name[: -len(flavour[p.name])].rstrip("-") for q in plain)
        ]
        if plain
        else []
    )
    if clashing or (versioned and plain and {p.rocm_release for p in versioned} & {p.rocm_release for p in plain}):
        extra = clashing or [p for p in versioned if p.rocm_release in {q.rocm_release for q in plain}]
        yield Finding(
            Status.FAIL,
            f"Versioned and unversioned packages of ROCm {extra[0].rocm_release} are mixed",
            f"{', '.join(p.name for p in extra[:3])} own the same files as their unversioned twins. AMD allows one flavour "
            "of a release, not both.",
            tuple(Evidence(f"package {p.name}", f"{p.version}: {p.state}") for p in extra[:4]),
            (
                Fix(
                    "Remove the versioned ones, or the unversioned; not both stay",
                    remedies.remove(facts, *(p.name for p in extra)),
                    needs=("root",),
                    verify=recheck("packages.*"),
                ),
            ),
        )
        return
    if versioned and plain:
        yield Finding(
            Status.WARN,
            f"Versioned packages of ROCm {versioned[0].rocm_release} lie beside unversioned ones of {plain[0].rocm_release}",
            "AMD's side-by-side installation has versioned packages of every release and no unversioned ones: with both, "
            "/opt/rocm and the meta-packages lead to whichever was installed last.",
            tuple(Evidence(f"package {p.name}", p.version) for p in versioned[:3]),
            (
                Fix(
                    f"Remove the versioned packages of {', '.join(sorted({p.rocm_release or '' for p in versioned}))}, or "
                    f"install {plain[0].rocm_release} by versioned packages as well",
                    remedies.remove(facts, *(p.name for p in versioned)),
                    needs=("root",),
                    verify=recheck("packages.*"),
                ),
            ),
        )
    counts = Counter(p.rocm_release for p in plain if p.rocm_release)
    if len(counts) < 2:
        return
    main = counts.most_common(1)[0][0]
    odd = [p for p in plain if p.rocm_release != main]
    newest = max(counts, key=versions.key)
    # From here on ROCm is another set of packages (amdrocm*), which replaces none of the older ones (rules.md 42).
    line = versions.key(matrix.changes["amdrocm_from"])
    classic = [p for p in plain if p.rocm_release and versions.key(p.rocm_release) < line <= versions.key(newest)]
    yield Finding(
        Status.FAIL,
        f"ROCm packages of {len(counts)} releases are mixed: {', '.join(sorted(counts, key=versions.key))}",
        f"{remedies.count(len(odd), 'package')}, {', '.join(p.name for p in odd[:3])} among them, not of {main} like the rest: a "
        "partial upgrade. Libraries of one release look for files that only that release has.",
        (*tuple(Evidence(f"package {p.name}", p.version) for p in odd[:4]), Evidence("packages", f"{counts[main]} of {main}")),
        (
            Fix(
                "Remove the packages of the older line first, as AMD asks: the two lines have other names and places, and an "
                "upgrade does not replace one by the other",
                remedies.remove(facts, *(p.name for p in classic)),
                needs=("root",),
                verify=recheck("packages.*"),
            )
            if classic
            else Fix(
                f"Upgrade the rest to {newest}: point every AMD repository to {newest}, then upgrade all of its packages",
                (("apt-get", "update"), ("apt-get", "full-upgrade"))
                if remedies.manager(facts) == "apt"
                else remedies.install(facts, "rocm"),
                needs=("root", "network"),
                verify=recheck("packages.*"),
            ),
        ),
    )


def _versioned(package: Package) -> str:
    """The release at the end of a versioned package's name: "6.2.0" of rocm-core6.2.0, "" for others."""
    import re

    found = re.search(r"(\d+\.\d+\.\d+)$", package.name)
    return found.group(1) if found else ""
