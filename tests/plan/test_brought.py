"""What an uninstallation takes with it beside AMD's packages: what our own runs brought, and what nothing needs any more."""

from __future__ import annotations

import pytest

from rocmdoctor.facts import Facts
from rocmdoctor.facts.packages import RPM_QUERY
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import managers, uninstall
from rocmdoctor.plan.files import WriteFile
from rocmdoctor.plan.journal import Entry
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RemovePackages
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.step import Plan, Step
from tests.hostbuilder import HostBuilder
from tests.plan.bare_hosts import bare

EPEL = RunCommand(
    "epel", "Add EPEL", argv=("dnf", "x"), path="/etc/yum.repos.d/epel.repo", back=("dnf", "-y", "remove", "epel-release")
)
CRB = RunCommand("builder", "Enable the builder", argv=("crb", "enable"), back=("crb", "disable"))


def run(
    *installed: str, wishes: tuple[str, ...] = (), command: str = "install", number: int = 1, more: tuple[Step, ...] = ()
) -> Entry:
    """A journal: one step that installed packages, of which the wishes were named."""
    step = InstallPackages("rocm", "Install", manager="apt", wishes=tuple(map(Wish, wishes)))
    entry = Entry(f"2026113{number}-{command}", command, "x", "2026", None, {}, (*more, step))
    entry.after["rocm"] = {"installed": list(installed), "upgraded": {}, "removed": {}}
    entry.after.update({other.id: {} for other in more})
    entry.status = "done"
    return entry


def removed(*names: str, number: int = 2) -> Entry:
    entry = Entry(f"2026113{number}-uninstall", "uninstall", "x", "2026", None, {}, (RemovePackages("r", "Remove", names=names),))
    entry.after["r"] = {"installed": [], "upgraded": {}, "removed": dict.fromkeys(names, "1")}
    entry.status = "done"
    return entry


def ubuntu(**packages: str) -> HostBuilder:
    """Without ROCm; packages by name (with _ for -) to what they depend on."""
    host = bare().no_package("dkms")
    for name, depends in packages.items():
        host = host.package(name.replace("_", "-"), "1.0-1", depends=depends)
    return host


def asked(host: HostBuilder, *manual: str, going: tuple[str, ...] = (), strangers: tuple[str, ...] = ()) -> HostBuilder:
    """What apt says: which packages are marked as manual, and what a removal would take."""
    text = "".join(f"Purg {name} [1]\n" for name in (*going, *strangers))
    host = host.command(("apt-mark", "showmanual"), stdout="".join(f"{name}\n" for name in manual))
    return host.command(managers.remove("apt", going, dry=True), stdout=text) if going else host


def planned(host: HostBuilder, matrix: Matrix, *runs: Entry, rocm: str | None = None) -> tuple[tuple[str, ...], str, Plan]:
    plan = uninstall.build(Facts(host.build(), matrix), matrix, rocm, runs=runs)
    steps = [step for step in plan.steps if step.id == "brought-along"]
    names = steps[0].names if steps and isinstance(steps[0], RemovePackages) else ()
    return names, "\n".join(plan.notices), plan


def test_what_came_along_goes(matrix: Matrix) -> None:
    host = asked(ubuntu(liba="libb", libb="", mine=""), "mine", "liba", going=("liba", "libb"))
    names, notes, plan = planned(host, matrix, run("liba", "libb", wishes=("liba",)))
    assert names == ("liba", "libb") and "came along" not in notes
    assert "Remove 2 packages that came along: liba, libb" in [step.title for step in plan.steps]


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ((), None),
        ((run("other"),), None),
        ((run("liba", command="fix"),), None),
        ((run("liba"), removed("liba")), None),
        ((run("liba"), removed("liba"), run("liba", number=3)), ""),
        ((run("liba"),), ""),
    ],
    ids=["no run", "of another package", "of a fix", "removed since", "and installed again", "healthy"],
)
def test_only_what_a_journal_names(matrix: Matrix, runs: tuple[Entry, ...], kept: str | None) -> None:
    names, notes, _ = planned(asked(ubuntu(liba=""), going=("liba",)), matrix, *runs)
    assert names == (() if kept is None else ("liba",)) and notes == ""


def test_runs_that_were_taken_back_and_single_releases(matrix: Matrix) -> None:
    host = asked(ubuntu(liba=""), going=("liba",))
    entry = run("liba")
    assert planned(host, matrix, entry, rocm="6.2")[0] == ()
    entry.undone = True
    assert planned(host, matrix, entry)[0] == ()


@pytest.mark.parametrize(
    ("host", "manual", "going", "note"),
    [
        (ubuntu(liba="", user="liba"), (), (), "liba (user needs it)"),
        (ubuntu(liba="", user="x | liba (>= 0.1)"), (), (), "liba (user needs it)"),
        (ubuntu(liba="libb", libb="", user="liba"), (), (), "liba (user needs it), libb (liba needs it)"),
        (ubuntu(liba="libb", libb="", user="libb"), (), ("liba",), "libb (user needs it)"),
        (ubuntu(liba=""), ("liba",), (), "liba (asked for by name since)"),
        (
            ubuntu(dkms="", linux_headers_6="").file("/var/lib/dkms/zfs/2.2/x"),
            (),
            (),
            "dkms (DKMS has the module zfs), linux-headers-6 (DKMS",
        ),
        (
            ubuntu(dkms="", linux_headers_6="", zfs_dkms="dkms"),
            (),
            (),
            "dkms (zfs-dkms needs it), linux-headers-6 (DKMS builds with it)",
        ),
        (ubuntu(dkms="", linux_headers_6=""), (), ("dkms", "linux-headers-6"), ""),
        (ubuntu(python3_wheel="").file("/opt/rocmdoctor/torch/pyvenv.cfg"), (), (), "python3-wheel (the Python environment"),
        (ubuntu(python3_wheel=""), (), ("python3-wheel",), ""),
    ],
    ids=["needed", "alternative", "chain", "part", "asked", "module", "dkms", "no other module", "venv", "no venv"],
)
def test_what_stays(matrix: Matrix, host: HostBuilder, manual: tuple[str, ...], going: tuple[str, ...], note: str) -> None:
    ours = ("liba", "libb", "dkms", "linux-headers-6", "python3-wheel")
    names, notes, _ = planned(asked(host, *manual, going=going), matrix, run(*ours))
    assert names == going, notes
    assert (f"came along with ROCm, and left installed: {note}" if note else "") in notes and ("left installed" in notes) is bool(
        note
    )


@pytest.mark.parametrize("keep", [True, False])
def test_a_driver_that_is_kept_did_not_come_along(matrix: Matrix, keep: bool) -> None:
    """The run installed it too; what it is built with stays with it."""
    host = bare().no_package("dkms").package("dkms", "3.0-1").package("linux-headers-6", "6-1")
    host = host.package("amdgpu-dkms", "1:6.8.5.60200-2009582.22.04", depends="dkms")
    host = host.command(("apt-mark", "showmanual"), stdout="")
    removal = ("amdgpu-dkms", "dkms", "linux-headers-6")
    host = host.command(managers.remove("apt", removal, dry=True), stdout="".join(f"Purg {name} [1]\n" for name in removal))
    plan = uninstall.build(Facts(host.build(), matrix), matrix, keep_driver=keep, runs=(run(*removal),))
    named = {name for step in plan.steps if isinstance(step, RemovePackages) for name in step.names}
    assert named == (set() if keep else set(removal))
    assert ("dkms (amdgpu-dkms needs it), linux-headers-6 (DKMS builds with it)" in "".join(plan.notices)) is keep


def test_unknown_is_not_unneeded(matrix: Matrix) -> None:
    """apt would take more with it (a recommendation, a virtual package), or does not say which were asked for."""
    for host in (asked(ubuntu(liba=""), going=("liba",), strangers=("user",)), ubuntu(liba="")):
        names, notes, _ = planned(host, matrix, run("liba"))
        assert names == () and "liba came along with ROCm and stay: whether others need them cannot be told" in notes


def test_repositories_of_others_are_named(matrix: Matrix) -> None:
    host = bare("rhel", "9.4", "gfx90a")
    project = WriteFile("repo-perl.repo", "Write perl.repo", path="/etc/zypp/repos.d/perl.repo", text="[perl]\n")
    ours = WriteFile("repo-rocm.repo", "Write rocm.repo", path="/etc/zypp/repos.d/rocm.repo", text="[rocm]\n")
    sles = HostBuilder().distro("sles", "15.6").file(project.path, "[perl]\nbaseurl=https://example.org/perl/\n")
    notes = planned(sles, matrix, run(more=(project, ours)))[1]
    assert f"`rm {project.path}` does that" in notes and "rm /etc/zypp/repos.d/rocm.repo" not in notes
    for there in (True, False):
        seen = host.file(EPEL.path, "[epel]\n") if there else host
        notes = planned(seen, matrix, run(more=(EPEL, CRB)))[1]
        assert ('"Add EPEL" of 20261131-install is not taken back' in notes) is there
        assert "`crb disable` does that" in notes


# rpm -------------------------------------------------------------------------------------------------------------


def rpm(system: str, version: str, *names: str) -> HostBuilder:
    host = bare(system, version, "gfx90a")
    lines = host.build().run(RPM_QUERY).stdout.splitlines(keepends=True)
    rows = "".join(line for line in lines if not line.startswith(tuple(f"{name}\t" for name in (*names, "dkms"))))
    return host.command(RPM_QUERY, stdout=rows + "".join(f"{name}\t0\t1\t1\tx86_64\tACME\n" for name in names))


USER_INSTALLED = ("dnf", "-q", "-C", "repoquery", "--userinstalled", "--qf", "%{name}")


def allowed(host: HostBuilder, *names: str, needed: str = "") -> HostBuilder:
    said = f"error: Failed dependencies:\n\t{needed}\n" if needed else ""
    return host.command(("rpm", "-e", "--test", *names), rc=1 if needed else 0, stderr=said)


def provided(host: HostBuilder, capability: str, name: str) -> HostBuilder:
    return host.command(("rpm", "-q", "--qf", "%{NAME}\\n", "--whatprovides", capability), stdout=f"{name}\n")


def test_dnf(matrix: Matrix) -> None:
    ours = run("kernel-devel", "liba", "libb", "libc", wishes=("kernel-devel-5.14.0-427.el9.x86_64",))
    host = rpm("rhel", "9.4", "kernel-devel", "liba", "libb", "libc", "user").command(
        USER_INSTALLED, stdout="kernel-devel\nlibc\n"
    )
    host = allowed(host, "kernel-devel", "liba", "libb", needed="liba.so.1()(64bit) is needed by (installed) user-1-1.x86_64")
    host = allowed(provided(host, "liba.so.1()(64bit)", "liba"), "kernel-devel", "libb")
    names, notes, _ = planned(host, matrix, ours)
    assert names == ("kernel-devel", "libb"), notes  # the wish ended in the version
    assert "left installed: liba (user-1-1.x86_64 needs it), libc (asked for by name since)" in notes
    # a second version of it (another kernel's) is not known to be ours
    twice = rpm("rhel", "9.4", "kernel-devel", "kernel-devel").command(USER_INSTALLED, stdout="")
    assert planned(twice, matrix, run("kernel-devel"))[0] == ()


def test_zypper(matrix: Matrix) -> None:
    host = rpm("sles", "15.6", "liba", "libb", "libc").file("/var/lib/zypp/AutoInstalled", "# generated\nliba\nbash\n")
    host = allowed(host, "liba", "libb")
    names, notes, _ = planned(host, matrix, run("liba", "libb", "libc", wishes=("libb",)))
    assert names == ("liba", "libb") and "libc (asked for by name since)" in notes


def test_rpm_that_does_not_say_why(matrix: Matrix) -> None:
    host = rpm("sles", "15.6", "liba").file("/var/lib/zypp/AutoInstalled", "liba\n")
    host = host.command(("rpm", "-e", "--test", "liba"), rc=1, stderr="error: can't create transaction lock\n")
    names, notes, _ = planned(host, matrix, run("liba"))
    assert names == () and "cannot be told (rpm would not remove them)" in notes
