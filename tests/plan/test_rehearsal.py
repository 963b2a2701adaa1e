"""What package managers say when they are asked what they would do, and what is refused for it."""

from __future__ import annotations

import pytest

from rocmdoctor.host.target import ChangeFailed
from rocmdoctor.plan import managers, rehearsal
from rocmdoctor.plan.files import RemoveFile, WriteFile
from rocmdoctor.plan.keys import FetchKey, ImportKey
from rocmdoctor.plan.managers import Wish
from rocmdoctor.plan.packages import InstallPackages, RefreshIndex
from rocmdoctor.plan.programs import RunCommand
from rocmdoctor.plan.step import Plan
from tests.hostbuilder import openpgp
from tests.plan.fake_machine import FakeMachine, File, bare_ubuntu

URL = "https://repo.example/rocm.gpg.key"
FINGERPRINT = openpgp.fingerprint("2016-04-26")
KEYRING = "/etc/apt/keyrings/rocm.gpg"

APT = """\
Reading package lists...
The following NEW packages will be installed:
  rocm rocm-core
0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.
Need to get 2,766 MB of archives.
After this operation, 28.4 GB of additional disk space will be used.
'https://repo.example/pool/rocm.deb' rocm.deb 1000 SHA256:00
"""
APT_REMOVES = """\
The following packages will be REMOVED:
  nvidia-driver-550 rocm-old*
The following NEW packages will be installed:
  rocm
"""
DNF = """\
Installing:
 rocm   x86_64  6.2.4-1  rocm  2 k
Removing dependent packages:
 old-rocm  x86_64  1-1  @rocm  1 k
 an-old-part-with-a-long-name
           x86_64  1:1.2.3.4.5.6.7-1  @rocm  1 k

Transaction Summary
Total download size: 2.7 G
Installed size: 28 G
Operation aborted.
"""
ZYPPER = """\
The following package is going to be REMOVED:
  old-rocm

The following 2 NEW packages are going to be installed:
  rocm rocm-core

Overall download size: 2.7 GiB. Already cached: 0 B. After the operation, additional 28.0 GiB will be used.
"""


def plan(*more: object) -> Plan:
    steps = (
        FetchKey("key", "key", url=URL, path=KEYRING, fingerprint=FINGERPRINT),
        WriteFile(
            "list",
            "list",
            path="/etc/apt/sources.list.d/rocm.list",
            text=f"deb [signed-by={KEYRING}] https://repo.example/apt/6.2 x main\n",
        ),
        WriteFile("pin", "pin", path="/etc/apt/preferences.d/rocm-pin-600", text="Package: *\n"),
        RemoveFile("old", "old", path="/etc/apt/sources.list.d/old.list"),
        RefreshIndex("index", "index", manager="apt", repositories=("https://repo.example/apt",)),
        InstallPackages("rocm", "rocm", manager="apt", wishes=(Wish("rocm"), Wish("extra", optional=True))),
    )
    return Plan("install", "x", steps)


class Answering(FakeMachine):
    """apt-get says what it is told to say, and the scratch folder is looked at while it does."""

    said = APT
    rc = 0
    seen: dict[str, bytes]

    def _program(self, words: tuple[str, ...]) -> tuple[int, str]:
        if words[0] == "apt-get" and "install" in words:
            self.seen = {p: f.data for p, f in self.files.items() if p.startswith(rehearsal.FOLDER)}
            return self.rc, self.said
        return super()._program(words)


def machine(said: str = APT, rc: int = 0) -> Answering:
    base = bare_ubuntu()
    made = Answering(base.files, base.folders, base.packages, base.repositories)
    made.urls[URL] = openpgp.armored(openpgp.public_key("2016-04-26"))
    made.files["/etc/apt/sources.list.d/old.list"] = File(b"deb http://old x main\n")
    made.files["/etc/apt/sources.list.d/mine.list"] = File(b"deb http://mine x main\n")
    made.said, made.rc = said, rc
    return made


def test_nothing_is_changed_and_nothing_is_left() -> None:
    host = machine()
    before = host.picture()
    assert rehearsal.rehearse(plan(), host, "/log") == ()
    assert host.picture() == before
    assert not [p for p in host.files if p.startswith(rehearsal.FOLDER)]
    folder = rehearsal.FOLDER
    assert (
        host.seen[f"{folder}/sources.list.d/rocm.list"]
        == f"deb [signed-by={folder}/rocm.gpg] https://repo.example/apt/6.2 x main\n".encode()
    )
    assert f"{folder}/sources.list.d/mine.list" in host.seen and f"{folder}/sources.list.d/old.list" not in host.seen
    assert f"{folder}/preferences.d/rocm-pin-600" in host.seen


def test_removals() -> None:
    found = rehearsal.rehearse(plan(), machine(APT_REMOVES), "/log")
    assert [r.code for r in found] == ["removals"] and "nvidia-driver-550, rocm-old" in found[0].reason


def test_room() -> None:
    host = machine()
    host.free = 10 << 30
    found = rehearsal.rehearse(plan(), host, "/log")
    assert [r.code for r in found] == ["disk"] and "10240 MiB are free" in found[0].reason


def test_packages_that_do_not_exist() -> None:
    found = rehearsal.rehearse(plan(), machine("E: Unable to locate package rocm\n", 100), "/log")
    assert found[0].code == "rehearsal" and "Unable to locate package rocm" in found[0].reason


@pytest.mark.parametrize("key", [b"", openpgp.public_key("2016-04-26", "2019-01-01"), openpgp.public_key("2015-01-01")])
def test_wrong_keys(key: bytes) -> None:
    host = machine()
    host.urls[URL] = key
    found = rehearsal.rehearse(plan(), host, "/log")
    assert found[0].code == "rehearsal" and "is refused" in found[0].reason


def test_a_mirror_that_is_down() -> None:
    host = machine()
    host.urls = {}
    assert "404" in rehearsal.rehearse(plan(), host, "/log")[0].reason


def test_apt_is_never_asked_in_a_way_that_installs() -> None:
    """`apt-get --assume-no install` installs without a question when there is nothing beyond what was named."""
    host = machine()
    rehearsal.rehearse(plan(), host, "/log")
    asked = [words for words in host.ran if words[0] == "apt-get" and "install" in words]
    assert asked and all("--print-uris" in words or "-s" in words for words in asked)


def test_a_certificate_authority_counts_when_apt_is_asked() -> None:
    """apt has read its own apt.conf.d before it hears of another one."""
    host = machine()
    conf = WriteFile("ca", "ca", path="/etc/apt/apt.conf.d/95rocmdoctor-ca", text='Acquire::https::x::CaInfo "/ca.pem";\n')
    asked = plan()
    rehearsal.rehearse(Plan("install", "x", (conf, *asked.steps)), host, "/log")
    words = next(words for words in host.ran if words[0] == "apt-get" and "update" in words)
    assert words[words.index("-c") + 1] == f"{rehearsal.FOLDER}/apt.conf.d/95rocmdoctor-ca"


class Dnf(Answering):
    """dnf says what it is told to."""

    def _program(self, words: tuple[str, ...]) -> tuple[int, str]:
        if words[0] == "dnf":
            self.seen = {p: f.data for p, f in self.files.items() if p.startswith(rehearsal.FOLDER)}
            return self.rc, self.said
        return super()._program(words)


def enterprise_linux(*commands: RunCommand) -> Plan:
    repo = "[rocm]\nbaseurl=https://repo.example/el9\n"
    return Plan(
        "install",
        "x",
        (
            *commands,
            ImportKey("key", "key", url=URL, path="/etc/pki/rpm-gpg/RPM-GPG-KEY-radeon", fingerprint=FINGERPRINT),
            WriteFile("repo", "repo", path="/etc/yum.repos.d/rocm.repo", text=repo),
            RefreshIndex("index", "index", manager="dnf", repositories=("rocm",)),
            InstallPackages("rocm", "rocm", manager="dnf", wishes=(Wish("rocm"),)),
        ),
    )


EPEL = RunCommand(
    "epel", "EPEL", argv=("dnf", "-y", "install", "x.rpm"), path="/etc/yum.repos.d/epel.repo", repository="[epel]\nbaseurl=e\n"
)
BUILDER = RunCommand("builder", "CRB", argv=("crb", "enable"), enables=("crb",))


def dnf_machine(said: str, rc: int) -> Dnf:
    made = Dnf()
    made.urls[URL] = openpgp.armored(openpgp.public_key("2016-04-26"))
    made.said, made.rc = said, rc
    return made


def test_repositories_that_the_plan_brings_are_named_in_the_question() -> None:
    host = dnf_machine("Operation aborted.\n", 1)
    assert rehearsal.rehearse(enterprise_linux(EPEL, BUILDER), host, "/log") == ()
    folder = rehearsal.FOLDER
    assert host.seen[f"{folder}/repos/epel.repo"] == b"[epel]\nbaseurl=e\n" and f"{folder}/repos/rocm.repo" in host.seen
    words = next(words for words in host.ran if words[0] == "dnf")
    assert {"--assumeno", f"--setopt=reposdir={folder}/repos", f"--setopt=cachedir={folder}/cache", "--enablerepo=crb"} <= {
        *words
    }
    assert not any(words[0] == "crb" or "x.rpm" in words for words in host.ran)
    host = dnf_machine("Error: Unable to find a match: rocm\n", 1)
    assert "Unable to find" in rehearsal.rehearse(enterprise_linux(EPEL, BUILDER), host, "/log")[0].reason


def test_without_a_repository_that_cannot_be_named_amds_are_asked_for() -> None:
    unnamed = RunCommand("builder", "CRB", argv=("crb", "enable"))
    host = dnf_machine("Metadata cache created.\n", 0)
    assert rehearsal.rehearse(enterprise_linux(EPEL, unnamed), host, "/log") == ()
    assert [words[-1] for words in host.ran if words[0] == "dnf"] == ["makecache"]
    host = dnf_machine("Error: Failed to download metadata for repo 'rocm': Status code: 404\n", 1)
    assert "404" in rehearsal.rehearse(enterprise_linux(EPEL, unnamed), host, "/log")[0].reason
    host.urls[URL] = openpgp.public_key("2015-01-01")
    assert "is refused" in rehearsal.rehearse(enterprise_linux(EPEL, unnamed), host, "/log")[0].reason


def test_another_rocmdoctor() -> None:
    host = machine()

    def held(path: str) -> None:
        raise ChangeFailed("another rocmdoctor is changing this machine")

    host.lock = held  # type: ignore[assignment, method-assign]
    with pytest.raises(ChangeFailed, match="another rocmdoctor"):
        rehearsal.rehearse(plan(), host, "/log")


def test_dnf_and_zypper() -> None:
    assert managers.rehearsed("dnf", 1, DNF) == managers.Rehearsal(("old-rocm", "an-old-part-with-a-long-name"))
    assert managers.rehearsed("zypper", 0, ZYPPER).removes == ("old-rocm",)
    assert managers.rehearsed("dnf", 1, "Error: Unable to find a match: rocm\n").failed
    assert managers.rehearsed("zypper", 104, "No provider of 'rocm' found.\n").failed
    for manager, text, sizes in (
        ("dnf", DNF, (2.7, 28)),
        ("zypper", ZYPPER, (2.7, 28)),
        ("apt", APT, (2.766 * 1024 / 1000, 28.4)),
    ):
        found = [rehearsal._bytes(pattern, text) for pattern in rehearsal._SIZES[manager]]
        assert [round(value / (1 << 30)) if value else None for value in found] == [round(size) for size in sizes]


def test_command_lines() -> None:
    wishes = (Wish("rocm"), Wish("amdrocm7.14", "7.14.1*"))
    assert managers.install("apt", wishes)[-2:] == ("rocm", "amdrocm7.14=7.14.1*") and "--no-remove" in managers.install(
        "apt", wishes
    )
    assert managers.install("dnf", wishes) == ("dnf", "-y", "--best", "install", "rocm", "amdrocm7.14-7.14.1*")
    assert managers.install("zypper", wishes, downgrade=True)[2:4] == ("install", "--oldpackage")
    assert managers.install("dnf", wishes, downgrade=True, dry=True)[:2] == ("dnf", "--assumeno")
    assert managers.remove("apt", ["a"])[-2:] == ("purge", "a") and managers.remove("dnf", ["a"])[-2:] == ("--noautoremove", "a")
    assert managers.refresh("zypper", ("rocm",)) == ("zypper", "--non-interactive", "refresh", "rocm")
    assert managers.refresh("tdnf", ("rocm",)) == ("tdnf", "-y", "--disablerepo=*", "--enablerepo=rocm", "makecache")
