from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import firmware
from rocmdoctor.facts.packages import Package, PackageDb
from rocmdoctor.host import UnknownFact
from tests.facts.distro_host import host

MES = "amdgpu/gc_11_5_1_mes1.bin"


@pytest.mark.parametrize(
    ("version", "date"),
    [
        ("20240318.git3b128b60-0ubuntu2.6", 20240318),
        ("20250410-2", 20250410),
        ("20250310-149.el9", 20250310),
        ("1.187.39", None),
        ("20251399", None),
        ("6.8.5.60200-2009582", None),
        ("", None),
    ],
)
def test_snapshot_date(version: str, date: int | None) -> None:
    assert firmware.snapshot_date(version) == date


def test_folders_and_packages() -> None:
    files = {"/lib/firmware/amdgpu/a.bin.zst": b"", "/lib/firmware/updates/amdgpu/a.bin": b""}
    db = PackageDb(
        "dpkg",
        (
            Package("linux-firmware", "20240318.git3b128b60-0ubuntu2.6", "all"),
            Package("amdgpu-dkms-firmware", "6.8.5.60200-2009582.24.04", "all", epoch="1"),
        ),
    )
    found = firmware.gather(host(files), db)
    assert found == firmware.Firmware(
        folders=("/lib/firmware/updates/amdgpu", "/lib/firmware/amdgpu"),
        package="linux-firmware",
        package_version="20240318.git3b128b60-0ubuntu2.6",
        date=20240318,
        dkms_version="1:6.8.5.60200-2009582.24.04",
    )


def test_the_package_with_amds_part_counts() -> None:
    db = PackageDb(
        "rpm", (Package("linux-firmware", "20240101-1", "noarch"), Package("amd-gpu-firmware", "20251125-1.fc43", "noarch"))
    )
    found = firmware.gather(host(), db)
    assert (found.package, found.date, found.folders) == ("amd-gpu-firmware", 20251125, ())


def test_a_linked_lib_counts_once() -> None:
    linked = host({"/usr/lib/firmware/amdgpu/a.bin": b""}, nodes={"/lib": {"type": "link", "target": "usr/lib"}})
    assert firmware.gather(linked).folders == ("/lib/firmware/amdgpu",)
    assert firmware.gather(host({"/usr/lib/firmware/amdgpu/a.bin": b""})).folders == ("/usr/lib/firmware/amdgpu",)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], None),
        ([f"/lib/firmware/{MES}"], f"/lib/firmware/{MES}"),
        ([f"/lib/firmware/{MES}.zst"], f"/lib/firmware/{MES}.zst"),
        ([f"/lib/firmware/{MES}.xz"], f"/lib/firmware/{MES}.xz"),
        ([f"/usr/lib/firmware/{MES}.xz"], f"/usr/lib/firmware/{MES}.xz"),
        ([f"/lib/firmware/{MES}", f"/lib/firmware/updates/{MES}"], f"/lib/firmware/updates/{MES}"),
        ([f"/lib/firmware/{MES}", f"/lib/firmware/updates/{MES}.zst"], f"/lib/firmware/{MES}"),  # uncompressed first
        ([f"/lib/firmware/6.8.0-45-generic/{MES}"], f"/lib/firmware/6.8.0-45-generic/{MES}"),
        ([f"/lib/firmware/{MES}.gz"], None),
    ],
)
def test_find(files: list[str], found: str | None) -> None:
    assert firmware.find(host(dict.fromkeys(files, b"")), MES) == found


def test_a_folder_given_to_the_kernel_goes_first() -> None:
    files: dict[str, bytes | str] = {f"/run/fw/{MES}": b"", f"/lib/firmware/{MES}": b""}
    files["/sys/module/firmware_class/parameters/path"] = "/run/fw\n"
    assert firmware.find(host(files), MES) == f"/run/fw/{MES}"


def test_what_was_not_captured_is_unknown() -> None:
    with pytest.raises(UnknownFact):
        firmware.find(host(unknown=["/lib/firmware/**"]), MES)


@given(st.text(max_size=40))
def test_names_lead_nowhere_else(name: str) -> None:
    assert firmware.find(host({"/etc/passwd": "x"}), f"../../etc/passwd{name}") is None
    firmware.find(host(), name)
