from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import os_release
from rocmdoctor.facts.os_release import OsRelease, parse
from rocmdoctor.host import UnknownFact
from tests.facts.distro_host import host

JAMMY = """PRETTY_NAME="Ubuntu 22.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.4 LTS (Jammy Jellyfish)"
VERSION_CODENAME=jammy
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=jammy
"""


def test_an_ordinary_file() -> None:
    assert os_release.gather(host({"/etc/os-release": JAMMY})) == OsRelease(
        id="ubuntu",
        version_id="22.04",
        name="Ubuntu 22.04.4 LTS",
        codename="jammy",
        id_like=("debian",),
        ubuntu_codename="jammy",
    )


def test_the_vendor_file_counts_when_there_is_none_in_etc() -> None:
    assert os_release.gather(host({"/usr/lib/os-release": JAMMY})).id == "ubuntu"
    both = host({"/etc/os-release": "ID=mine\n", "/usr/lib/os-release": JAMMY})
    assert os_release.gather(both).id == "mine"


def test_etc_is_usually_a_link() -> None:
    linked = host({"/usr/lib/os-release": JAMMY}, nodes={"/etc/os-release": {"type": "link", "target": "../usr/lib/os-release"}})
    assert os_release.gather(linked).version_id == "22.04"


def test_a_host_without_the_file_is_linux() -> None:
    empty = os_release.gather(host())
    assert (empty.id, empty.name, empty.version_id, empty.package_manager) == ("linux", "Linux", None, None)


def test_a_file_that_was_not_captured_is_unknown() -> None:
    with pytest.raises(UnknownFact):
        os_release.gather(host(unknown=["/etc/os-release"]))


@pytest.mark.parametrize(
    ("text", "manager"),
    [
        ("ID=ubuntu", "apt"),
        ("ID=debian", "apt"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"', "apt"),
        ("ID=rhel\nID_LIKE=fedora", "dnf"),
        ("ID=rocky", "dnf"),
        ("ID=almalinux", "dnf"),
        ("ID=ol", "dnf"),
        ("ID=amzn", "dnf"),
        ("ID=centos", "dnf"),
        ('ID=nobara\nID_LIKE="rhel centos fedora"', "dnf"),
        ("ID=sles", "zypper"),
        ("ID=opensuse-leap", "zypper"),
        ('ID=opensuse-slowroll\nID_LIKE="opensuse suse"', "zypper"),
        ("ID=azurelinux", "tdnf"),
        ("ID=mariner", "tdnf"),
        ("ID=arch", "pacman"),
        ("ID=cachyos\nID_LIKE=arch", "pacman"),
        ("ID=void", None),
        ("ID=alpine", None),
    ],
)
def test_package_manager(text: str, manager: str | None) -> None:
    assert parse(text).package_manager == manager


def test_the_own_id_goes_before_what_it_is_like() -> None:
    assert parse("ID=azurelinux\nID_LIKE=fedora").package_manager == "tdnf"
    assert parse('ID=neon\nID_LIKE="ubuntu debian"').ids == ("neon", "ubuntu", "debian")


@pytest.mark.parametrize(
    ("text", "version_id"),
    [
        ('VERSION_ID="12"', "12"),
        ("VERSION_ID='12'", "12"),
        ("VERSION_ID=", None),
        ('VERSION_ID=""', None),
        ("# VERSION_ID=11\nVERSION_ID=12 # now", "12"),
        ("VERSION_ID=11\nVERSION_ID=12", "12"),
        ('VERSION_ID="1\\"2"', '1"2'),
        ("no assignment\nVERSION_ID=12", "12"),
        ('NAME="not closed\nVERSION_ID=12', "12"),
        ("\ufeffNAME=x\r\nVERSION_ID=12\r\n", "12"),
    ],
)
def test_odd_lines(text: str, version_id: str | None) -> None:
    assert parse(text).version_id == version_id


def test_names_and_ids_are_kept_as_the_file_has_them() -> None:
    assert parse("ID=ol").id == "ol"  # distro.id() would say oracle
    assert parse("ID=Ubuntu").id == "ubuntu"
    assert parse("NAME=Fedora").name == "Fedora"
    assert parse("ID=fedora\nVARIANT_ID=silverblue").variant_id == "silverblue"


def test_a_temporary_file_where_there_is_none_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(os, "memfd_create", refused)
    assert parse(JAMMY).id == "ubuntu"


def test_no_file_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        parse(JAMMY)
    assert len(os.listdir("/proc/self/fd")) == before


@given(st.text(max_size=400) | st.text(alphabet="IDVERSION_=\"'\\\n #a1$`", max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    found = parse(text)
    assert found.id and found.id == found.id.lower()
    assert all(len(v) <= 200 for v in (found.id, found.name, found.version_id or "", found.codename or ""))
    assert "\n" not in found.id
