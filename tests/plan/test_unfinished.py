"""What a package manager has left unfinished is found before anything is changed; each fault with the host that has it not."""

from __future__ import annotations

import pytest

from rocmdoctor.facts import Facts
from rocmdoctor.facts.packages import RPM_QUERY
from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.matrix import Matrix
from rocmdoctor.plan import apply as applying
from rocmdoctor.plan import unfinished, uninstall
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RemovePackages, repair
from rocmdoctor.plan.step import Plan, Run, judged
from tests.hostbuilder import HostBuilder
from tests.plan.bare_hosts import bare, plan_for
from tests.plan.fake_machine import FakeMachine, File, Quiet, bare_ubuntu

OTHER = "acme-agent"
LOG = "/var/log/rocmdoctor/rehearsal.log"
UPDATE = "/var/lib/dpkg/updates/0001"


def apt(state: str, depends: str = "") -> HostBuilder:
    return bare().package(OTHER, "2.0-1", state=state, depends=depends)


# by the state alone ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "words", "helps"),
    [
        (apt("half-installed"), f"{OTHER} is half-installed: not all of its files are there", "--reinstall"),
        (
            apt("unpacked", "libacme9 (>= 2)"),
            f"{OTHER} is unpacked: it needs libacme9 (>= 2), and that is not installed",
            "--fix-broken",
        ),
        (apt("half-configured", "python3 (>= 99)"), "it needs python3 (>= 99), and python3 is 3", "--fix-broken"),
    ],
    ids=["half-installed", "dependency missing", "dependency too old"],
)
def test_dpkg_cannot_finish_it(matrix: Matrix, host: HostBuilder, words: str, helps: str) -> None:
    for plan in (plan_for(host.build(), matrix, rocm="6.2"), uninstall.build(Facts(host.build(), matrix), matrix)):
        (refusal,) = plan.refusals
        assert refusal.code == "unfinished" and words in refusal.reason
        assert helps in refusal.help and OTHER in refusal.help


@pytest.mark.parametrize(
    ("host", "note"),
    [
        (apt("half-configured"), f"{OTHER} is half-configured: dpkg finishes that first, and nothing is done when it cannot"),
        (apt("triggers-pending"), f"{OTHER} is triggers-pending: dpkg finishes that first"),
        (apt("unpacked", "python3 (>= 3)"), f"{OTHER} is unpacked"),
        (apt("installed", "libacme9"), ""),
        (apt("config-files"), ""),
        (bare(), ""),
    ],
    ids=["half-configured", "triggers", "unpacked", "installed", "removed", "bare"],
)
def test_dpkg_may_finish_it(matrix: Matrix, host: HostBuilder, note: str) -> None:
    plan = plan_for(host.build(), matrix, rocm="6.2")
    assert plan.refusals == ()
    assert [note in text for text in plan.notices if OTHER in text] == ([True] if note else [])


def test_what_is_removed_may_be_in_any_state(matrix: Matrix) -> None:
    """A driver whose build has failed can be uninstalled, and replaced by one of another release."""
    host = HostBuilder().fault_half_configured("rocm-llvm").package("rocm-core", "6.2.0.60200-66~22.04", state="half-installed")
    plan = uninstall.build(Facts(host.build(), matrix), matrix)
    assert plan.refusals == () and not [text for text in plan.notices if "dpkg" in text]


@pytest.mark.parametrize(("system", "version"), [("rhel", "9.4"), ("sles", "15.6")])
@pytest.mark.parametrize(
    ("rc", "stderr", "words"),
    [
        (1, "error: cannot open Packages database in /var/lib/rpm\n", "cannot open Packages database in /var/lib/rpm"),
        (1, "", "rpm -qa ended with status 1"),
        (0, "error: SELECT hnum FROM 'Name': 11: database disk image is malformed\n", "database disk image is malformed"),
        (0, "warning: Found NDB Packages.db database while attempting sqlite backend: using ndb backend.\n", ""),
        (0, "", ""),
    ],
    ids=["cannot open", "silent", "half of it", "warning", "healthy"],
)
def test_the_database_of_rpm_is_broken(matrix: Matrix, system: str, version: str, rc: int, stderr: str, words: str) -> None:
    healthy = bare(system, version, "gfx90a")
    rows = healthy.build().run(RPM_QUERY).stdout
    host = healthy.command(RPM_QUERY, stdout=rows if rc == 0 else "", stderr=stderr, rc=rc).build()
    for plan in (plan_for(host, matrix, rocm="6.2"), uninstall.build(Facts(host, matrix), matrix)):
        found = [refusal for refusal in plan.refusals if refusal.code == "package-database"]
        assert len(found) == len(plan.refusals) == bool(words)
        assert all(words in refusal.reason and "rpm --rebuilddb" in refusal.help for refusal in found)


@pytest.mark.parametrize(
    ("system", "version", "ends"), [("rhel", "9.4", "`dnf remove --duplicates`"), ("sles", "15.6", "`zypper verify`")]
)
def test_an_update_of_rpm_was_cut_off(matrix: Matrix, system: str, version: str, ends: str) -> None:
    """Two versions of a package are told; those of kernels are meant."""
    healthy = bare(system, version, "gfx90a")
    rows = healthy.build().run(RPM_QUERY).stdout
    for name, told in (("acme", True), ("kernel-devel", False)):
        twice = "".join(f"{name}\t0\t{number}\t1\tx86_64\tACME\n" for number in "12")
        plan = plan_for(healthy.command(RPM_QUERY, stdout=rows + twice).build(), matrix, rocm="6.2")
        notes = [text for text in plan.notices if "cut off" in text]
        assert notes == ([f"{name} is installed as 1-1 and as 2-1: an update was cut off ({ends} ends it)"] if told else [])


# by letting dpkg try ---------------------------------------------------------------------------------------------


def machine(state: str = "installed", *, fails: bool = False, cut_off: bool = False) -> FakeMachine:
    host = bare_ubuntu()
    applying.prepare_state(host)
    host.packages[OTHER] = ("2.0-1", state)
    if fails:
        said = f"dpkg: error processing package {OTHER} (--configure):\n its script returned error exit status 1\n"
        host.fails = {"--configure": said}
    if cut_off:
        host.folders |= {"/var/lib/dpkg/updates"}
        host.files[UPDATE] = File(b"")
    return host


def plan(host: FakeMachine, *removed: str) -> Plan:
    steps = (InstallPackages("rocm", "Install", manager="apt", wishes=(Wish("python3-setuptools"),)),)
    gone = (RemovePackages("old", "Remove", manager="apt", names=removed),) if removed else ()
    return Plan("install", "x", (*gone, *steps), done=judged((*gone, *steps), host.look()))


@pytest.mark.parametrize(
    ("host", "removed", "refused", "asked"),
    [
        (machine(), (), False, False),
        (machine("unpacked"), (), False, True),
        (machine("unpacked", fails=True), (), True, True),
        (machine("half-configured", fails=True), (), True, True),
        (machine("half-configured", fails=True), (OTHER,), False, False),
        (machine("half-configured", fails=True), ("libc6",), True, True),
        (machine(cut_off=True), (), False, True),
    ],
    ids=["healthy", "interrupted", "unpacked", "half-configured", "removed", "another removed", "updates"],
)
def test_dpkg_is_asked_to_finish_first(host: FakeMachine, removed: tuple[str, ...], refused: bool, asked: bool) -> None:
    before = host.picture()["files"]
    found = unfinished.finish(plan(host, *removed), host, LOG)
    assert [refusal.code for refusal in found] == (["unfinished"] if refused else [])
    if refused:
        assert found[0].reason.startswith(f"{OTHER} cannot be configured") and "exit status 1" in found[0].reason
        assert OTHER in found[0].help
    assert any("--configure" in words for words in host.ran) is asked
    assert host.picture()["files"] == before


def test_plans_without_packages_leave_dpkg_alone() -> None:
    host = machine("half-configured", fails=True)
    assert unfinished.finish(Plan("install", "x", ()), host, LOG) == () and host.ran == []


def test_a_run_that_is_resumed_finishes_what_dpkg_has_begun() -> None:
    """Without a broken package apt refuses too while dpkg's changes are not in its status file."""
    for cut_off in (True, False):
        host = machine(cut_off=cut_off)
        repair(Run(host, LOG, "/var/lib/rocmdoctor/kept/x", Quiet().says), "apt")
        assert any("--configure" in words for words in host.ran) is cut_off


def test_a_package_that_cannot_be_configured_can_be_removed() -> None:
    host = machine("half-configured", fails=True)
    run = Run(host, LOG, "/var/lib/rocmdoctor/kept/x", Quiet().says)
    with pytest.raises(ChangeFailed, match="its script returned"):
        repair(run, "apt")
    repair(run, "apt", gone=(OTHER,))
    steps = (RemovePackages("gone", "Remove", manager="apt", names=(OTHER,)),)
    assert applying.apply(Plan("uninstall", "x", steps), host, Quiet()).status == "done"
    assert OTHER not in host.packages
