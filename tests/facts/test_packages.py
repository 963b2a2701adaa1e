from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import packages
from rocmdoctor.facts.packages import RPM_QUERY, Package, PackageDb, parse_dpkg_status, parse_pacman_local, parse_rpm
from rocmdoctor.host import UnknownFact
from tests.facts.distro_host import command, host

STATUS = """\
Package: amdgpu-dkms
Status: install ok half-configured
Priority: optional
Section: devel
Maintainer: AMDGPU DKMS Maintainer <gpudriverdevsupport@amd.com>
Architecture: all
Version: 1:6.8.5.60200-2009582.22.04
Depends: dkms, amdgpu-dkms-firmware (= 1:6.8.5.60200-2009582.22.04)
Conffiles:
 /etc/modprobe.d/blacklist-radeon.conf 0123
Description: amdgpu driver in DKMS format.
 Version: 9.9 is not this package's version
 .
 The driver.

Package: rocm-core
Status: hold ok installed
Maintainer: rocm-core Maintainer <rocm@amd.com>
Architecture: amd64
Version: 6.2.0.60200-66~22.04
Provides: something

Package: rocminfo
Status: install ok installed
Maintainer: Ubuntu Developers <ubuntu-devel-discuss@lists.ubuntu.com>
Architecture: amd64
Version: 5.7.1-3build1
Pre-Depends: libc6 (>= 2.34)
Depends: libhsa-runtime64-1 (>= 5.7),
 kmod

Package: hipcc
Status: deinstall ok config-files
Architecture: amd64
Version: 1.1.1.60200-66~22.04

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.35-0ubuntu3.8
Origin: Ubuntu

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.35-0ubuntu3.8
"""

RPM = """\
rocm-core\t0\t6.2.0.60200\t66.el9\tx86_64\tAdvanced Micro Devices, Inc.
amdgpu-dkms\t1\t6.8.5.60200\t2009582.el9\tnoarch\tAdvanced Micro Devices, Inc.
rocm-hip\t0\t6.3.1\t4.fc42\tx86_64\tFedora Project
kernel\t0\t5.14.0\t427.13.1.el9_4\tx86_64\tRed Hat, Inc.
kernel\t0\t5.14.0\t427.16.1.el9_4\tx86_64\tRed Hat, Inc.
local\t(none)\t1\t1\tx86_64\t(none)
gpg-pubkey\t0\t8d7c4d56\t5b2d3b4c\t(none)\t(none)
warning: something
"""


def dpkg(text: str = STATUS) -> PackageDb:
    return packages.gather(host({"/var/lib/dpkg/status": text}))


def rpm(stdout: str = RPM, **kwargs: object) -> dict[str, object]:
    return command(RPM_QUERY, stdout, **kwargs)  # type: ignore[arg-type]


def test_dpkg() -> None:
    db = dpkg()
    assert db.kind == "dpkg"
    assert db.get("amdgpu-dkms") == Package(
        name="amdgpu-dkms",
        version="6.8.5.60200-2009582.22.04",
        arch="all",
        state="half-configured",
        epoch="1",
        origin="AMDGPU DKMS Maintainer <gpudriverdevsupport@amd.com>",
        depends="dkms, amdgpu-dkms-firmware (= 1:6.8.5.60200-2009582.22.04)",
    )
    core, info, libc = db.get("rocm-core"), db.get("rocminfo"), db.get("libc6")
    assert core is not None and core.hold and core.provides == "something" and core.full_version == core.version
    assert info is not None and info.depends == "libc6 (>= 2.34), libhsa-runtime64-1 (>= 5.7),\n kmod"
    assert libc is not None and (libc.arch, libc.origin) == ("amd64", "Ubuntu")


def test_removed_packages_are_not_installed() -> None:
    db = dpkg()
    assert not db.has("hipcc") and db.get("hipcc") is None
    assert "hipcc" in [p.name for p in db.packages]
    assert db.get("no-such-package") is None


def test_matching() -> None:
    db = dpkg()
    assert [p.name for p in db.matching("rocm*")] == ["rocm-core", "rocminfo"]
    assert [p.arch for p in db.matching("libc6")] == ["amd64", "i386"]
    assert [p.name for p in db.matching("hip*")] == []


def test_broken_and_unmet() -> None:
    db = dpkg()
    assert [p.name for p in db.broken] == ["amdgpu-dkms"]
    assert [str(u) for u in db.unmet()] == ["dkms", "amdgpu-dkms-firmware (= 1:6.8.5.60200-2009582.22.04)"]


def test_amds_rocm_and_the_distributions() -> None:
    db = dpkg()
    assert [p.name for p in db.rocm] == ["rocm-core"]
    assert [p.name for p in db.distro_rocm] == ["rocminfo"]
    assert db.rocm is db.rocm


def test_driver_release() -> None:
    driver = dpkg().get("amdgpu-dkms")
    assert driver is not None
    assert (driver.driver_release, driver.rocm_release, driver.from_amd) == ("6.2.0", None, True)


@pytest.mark.parametrize(
    "stanza",
    [
        "Status: install ok installed\nVersion: 1",
        "Package: a\nVersion: 1",
        "Package: a\nStatus: installed",
        "Package:\nStatus: install ok installed",
        "\x00\xff binary",
        "",
    ],
)
def test_stanzas_that_are_none(stanza: str) -> None:
    text = f"{stanza}\n\nPackage: b\nStatus: install ok installed\nVersion: 1\n"
    assert [p.name for p in parse_dpkg_status(text)] == ["b"]


def test_a_truncated_file_gives_what_is_there() -> None:
    whole = [p.name for p in parse_dpkg_status(STATUS)]
    for length in range(0, len(STATUS), 7):
        names = [p.name for p in parse_dpkg_status(STATUS[:length])]
        assert names == whole[: len(names)]


def test_more_blank_lines_and_no_last_line_feed() -> None:
    assert len(parse_dpkg_status("\n\n\n" + STATUS.replace("\n\n", "\n\n\n\n").rstrip())) == 6


def test_five_megabytes_are_read_in_a_blink() -> None:
    text = "\n\n".join(STATUS.replace("Package: ", f"Package: p{n}-") for n in range(5_000_000 // len(STATUS)))
    start = time.perf_counter()
    assert len(parse_dpkg_status(text)) > 10_000
    assert time.perf_counter() - start < 2


@given(st.text(alphabet="Package:StusVerionDd \n\t-1.", max_size=300) | st.text(max_size=200))
def test_no_status_breaks_it(text: str) -> None:
    for package in parse_dpkg_status(text):
        assert package.name and isinstance(package.rocm_release, (str, type(None)))
    PackageDb("dpkg", parse_dpkg_status(text)).unmet()


def test_rpm() -> None:
    db = packages.gather(host(commands=[rpm()]))
    assert db.kind == "rpm"
    assert [(p.name, p.full_version) for p in db.packages] == [
        ("rocm-core", "6.2.0.60200-66.el9"),
        ("amdgpu-dkms", "1:6.8.5.60200-2009582.el9"),
        ("rocm-hip", "6.3.1-4.fc42"),
        ("kernel", "5.14.0-427.13.1.el9_4"),
        ("kernel", "5.14.0-427.16.1.el9_4"),
        ("local", "1-1"),
    ]
    assert [p.name for p in db.rocm] == ["rocm-core"]
    assert [p.name for p in db.distro_rocm] == ["rocm-hip"]
    assert len(db.matching("kernel")) == 2
    assert db.unmet() == ()


@given(st.text(alphabet="ab\t\n1.(none)", max_size=200))
def test_no_rpm_output_breaks_it(text: str) -> None:
    assert all(p.name for p in parse_rpm(text))


def test_rpm_is_asked_where_dpkgs_database_is_empty() -> None:
    both = host({"/var/lib/dpkg/status": ""}, commands=[rpm()])
    assert packages.gather(both).kind == "rpm"


def test_dpkg_counts_where_rpm_is_installed_too() -> None:
    assert packages.gather(host({"/var/lib/dpkg/status": STATUS}, commands=[rpm("")])).kind == "dpkg"


def test_pacman() -> None:
    folder = "/var/lib/pacman/local"
    files = {f"{folder}/{n}/desc": "" for n in ("rocm-core-7.1.1-1", "hip-runtime-amd-7.1.1-1", "opencl-amd-1:7.1.1-2")}
    db = packages.gather(host({**files, f"{folder}/ALPM_DB_VERSION": "9\n"}))
    assert db.kind == "pacman"
    assert [(p.name, p.full_version) for p in db.packages] == [
        ("hip-runtime-amd", "7.1.1-1"),
        ("opencl-amd", "1:7.1.1-2"),
        ("rocm-core", "7.1.1-1"),
    ]
    assert db.rocm == ()
    assert len(db.distro_rocm) == 3


@given(st.lists(st.text(max_size=20), max_size=5))
def test_no_folder_name_breaks_it(names: list[str]) -> None:
    assert all(p.name for p in parse_pacman_local(tuple(names)))


def test_no_database_at_all() -> None:
    db = packages.gather(host())
    assert (db.kind, db.packages, db.rocm) == (None, (), ())


def test_a_database_that_cannot_be_read_is_unknown() -> None:
    for unreadable in (
        host(unknown=["/var/lib/dpkg/status"]),
        host(unknown=["cmd:rpm"]),
        host(nodes={"/var/lib/rpm": {"type": "dir"}}),
        host(nodes={"/usr/lib/sysimage/rpm": {"type": "dir"}}),
        host(commands=[rpm("", rc=1)]),
        host(commands=[rpm("", rc=124, timed_out=True)]),
    ):
        with pytest.raises(UnknownFact):
            packages.gather(unreadable)


def test_a_database_of_another_family_that_was_not_captured_does_not_matter() -> None:
    captured = ["/var/lib/dpkg/status", "cmd:rpm"]  # the snapshot of an EL host, by a tool that did not know pacman
    assert packages.gather(host(commands=[rpm()], captured=captured)).kind == "rpm"
    with pytest.raises(UnknownFact):
        packages.gather(host(captured=captured))
