"""ROCm installs: where they lie, whose they are, which one is active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import rocm
from rocmdoctor.facts.packages import Package, PackageDb
from rocmdoctor.facts.rocm import Rocm
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host

PATH = {"PATH": "/usr/local/bin:/usr/bin"}


def install(
    root: str, info: str | None = None, soname: str = "6", gfx: Sequence[str] = ("gfx90a", "gfx1100")
) -> dict[str, bytes | str]:
    """A whole classic install."""
    files: dict[str, bytes | str] = {
        f"{root}/bin/rocminfo": b"",
        f"{root}/bin/hipcc": b"",
        f"{root}/bin/unrelated": b"",
        f"{root}/lib/libamdhip64.so.{soname}": b"",
        f"{root}/lib/libamdhip64.so.{soname}.2.60200": b"",
        f"{root}/lib/libhsa-runtime64.so.1": b"",
        f"{root}/lib/librocblas.so.4": b"",
        f"{root}/lib/notes.txt": b"",
        f"{root}/llvm/bin/clang": b"",
        **{f"{root}/lib/rocblas/library/TensileLibrary_lazy_{name}.dat": b"" for name in gfx},
    }
    if info:
        files[f"{root}/.info/version"] = info
    return files


def link(target: str) -> dict[str, str]:
    return {"type": "link", "target": target}


def gather(
    files: Mapping[str, bytes | str],
    nodes: Mapping[str, Any] | None = None,
    packages: PackageDb | None = None,
    env: Mapping[str, str] = PATH,
) -> Rocm:
    return rocm.gather(small_host(files, nodes, env=env), packages)


def db(kind: str, *packages: tuple[str, str]) -> PackageDb:
    return PackageDb(kind, tuple(Package(name, version, "amd64") for name, version in packages))


def test_a_classic_install_behind_the_alternatives_link() -> None:
    links = {"/opt/rocm": link("/etc/alternatives/rocm"), "/etc/alternatives/rocm": link("/opt/rocm-6.2.0")}
    found = gather(install("/opt/rocm-6.2.0", "6.2.0-66\n"), links, db("dpkg", ("rocm-core", "6.2.0.60200-66~22.04")))
    assert found.link == "/opt/rocm-6.2.0"
    (one,) = found.installs
    assert found.active == one
    assert (one.root, one.version, one.origin, one.active) == ("/opt/rocm-6.2.0", "6.2.0", "amd-package", True)
    assert (one.has_hip, one.has_hsa, one.hip_soname, one.hollow) == (True, True, "6", False)
    assert one.gfx == frozenset({"gfx90a", "gfx1100"})
    assert one.tools == {"rocminfo", "hipcc"}
    assert one.libraries == {"libamdhip64.so", "libhsa-runtime64.so", "librocblas.so"}
    assert one.clang == "/opt/rocm-6.2.0/llvm/bin/clang"


def test_two_releases_side_by_side_in_numeric_order() -> None:
    files = (
        install("/opt/rocm-7.2.0", "7.2.0-43") | install("/opt/rocm-10.0.0", "10.0.0-1") | install("/opt/rocm-6.4.1", "6.4.1-83")
    )
    found = gather(files, {"/opt/rocm": link("rocm-7.2.0")})
    assert [i.version for i in found.installs] == ["6.4.1", "7.2.0", "10.0.0"]
    assert found.active and found.active.version == "7.2.0"


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.2.0-66\n", "6.2.0"),
        ("7.11.0a20260104", "7.11.0"),
        ("10.0.0", "10.0.0"),
        ("6.2", "6.2"),
        ("", None),
        ("nightly", None),
        ("7", None),
    ],
)
def test_release_of_a_version_file(text: str, release: str | None) -> None:
    assert rocm.release_of(text) == release


def test_the_version_falls_back_on_version_dev_and_the_folder() -> None:
    files = install("/opt/rocm-5.4.3") | {"/opt/rocm-5.4.3/.info/version-dev": "5.4.3-121"}
    assert gather(files).installs[0].version == "5.4.3"
    assert gather(install("/opt/rocm-5.4.2")).installs[0].version == "5.4.2"
    assert gather(install("/opt/rocm-5.4.2", "garbage")).installs[0].version == "5.4.2"
    assert gather(install("/opt/rocm")).installs[0].version is None


def test_a_leftover_folder_is_listed_and_never_active() -> None:
    files = install("/opt/rocm-6.2.0", "6.2.0-66") | {"/opt/rocm-6.1.0/share/doc/readme": "x"}
    found = gather(files, {"/opt/rocm": link("/opt/rocm-6.1.0")})
    old, new = found.installs
    assert (old.root, old.hollow, old.has_hip, old.has_hsa, old.active) == ("/opt/rocm-6.1.0", True, False, False, False)
    assert (new.root, new.hollow, new.active) == ("/opt/rocm-6.2.0", False, True)
    assert found.link == "/opt/rocm-6.1.0"
    assert gather({"/opt/rocm-6.1.0/share/doc/readme": "x"}).active is None


def test_a_dangling_link_is_told_by_its_target() -> None:
    found = gather({}, {"/opt/rocm": link("/opt/rocm-6.1.0"), "/opt": {"type": "dir"}})
    assert (found.link, found.installs, found.active) == ("/opt/rocm-6.1.0", (), None)


def test_therock_s_folders_below_opt_rocm() -> None:
    """/opt/rocm is a real folder of alternatives links; the installs are core-X.Y."""
    files = install("/opt/rocm/core-10.0", "10.0.0") | install("/opt/rocm/core-7.14", "7.14.1", soname="7")
    files["/opt/rocm/core-10.0/lib/rocblas/library/blas_lib_gfx1201.kpack"] = b""
    nodes = {
        "/opt/rocm/core": link("core-7.14"),
        "/opt/rocm/bin": link("/etc/alternatives/rocm-bin"),
        "/etc/alternatives/rocm-bin": link("/opt/rocm/core-7.14/bin"),
    }
    found = gather(files, nodes, db("dpkg", ("amdrocm10.0", "10.0.0-1"), ("amdrocm7.14", "7.14.1-1")))
    assert [(i.root, i.version, i.origin, i.active) for i in found.installs] == [
        ("/opt/rocm/core-7.14", "7.14.1", "amdrocm-package", True),
        ("/opt/rocm/core-10.0", "10.0.0", "amdrocm-package", False),
    ]
    assert "gfx1201" in (found.installs[1].gfx or ())
    assert found.link is None


def test_alternatives_decide_where_therock_has_no_core_link() -> None:
    files = install("/opt/rocm/core-10.0", "10.0.0") | install("/opt/rocm/core-10.1", "10.1.0")
    found = gather(files, {"/opt/rocm/bin": link("/opt/rocm/core-10.1/bin")})
    assert found.active and found.active.version == "10.1.0"


def test_rocm_path_leads_to_an_unpacked_archive() -> None:
    files = install("/sw/rocm/6.3.1", "6.3.1-48") | {"/opt/other/file": "x"}
    found = gather(files, None, db("rpm", ("bash", "5.1")), {**PATH, "ROCM_PATH": "/sw/rocm/6.3.1"})
    assert [(i.root, i.origin, i.active) for i in found.installs] == [("/sw/rocm/6.3.1", "tarball", True)]
    assert gather(files).installs == ()


def test_rocm_path_wins_over_path_but_not_over_opt_rocm() -> None:
    files = install("/opt/rocm-6.2.0", "6.2.0") | install("/sw/rocm", "6.3.1")
    env = {"PATH": "/opt/rocm-6.2.0/bin", "ROCM_PATH": "/sw/rocm"}
    active = gather(files, env=env).active
    assert active and active.root == "/sw/rocm"
    active = gather(files, {"/opt/rocm": link("rocm-6.2.0")}, env=env).active
    assert active and active.root == "/opt/rocm-6.2.0"


def test_path_decides_between_two_without_a_link() -> None:
    files = install("/opt/rocm-6.2.0", "6.2.0") | install("/opt/rocm-6.3.1", "6.3.1")
    active = gather(files, env={"PATH": "/usr/bin:/opt/rocm-6.3.1/bin"}).active
    assert active and active.version == "6.3.1"
    assert gather(files).active is None


@pytest.mark.parametrize(
    ("packages", "origin"),
    [
        (None, "unknown"),
        (PackageDb(None, ()), "unknown"),
        (db("dpkg", ("rocm-core", "6.2.0.60200-66~22.04")), "amd-package"),
        (db("rpm", ("rocm-core6.2.0", "6.2.0.60200")), "amd-package"),
        (db("dpkg", ("rocm-core", "6.1.0.60100-82~22.04")), "tarball"),
        (db("dpkg", ("bash", "5.1")), "tarball"),
    ],
)
def test_origin_by_the_package_database(packages: PackageDb | None, origin: str) -> None:
    assert gather(install("/opt/rocm-6.2.0", "6.2.0-66"), None, packages).installs[0].origin == origin


def test_arch_packages_its_own_into_opt_rocm() -> None:
    packages = db("pacman", ("hsa-rocr", "7.1.1-1"), ("hip-runtime-amd", "7.1.1-1"))
    assert gather(install("/opt/rocm", "7.1.1"), None, packages).installs[0].origin == "distro-package"
    assert gather(install("/opt/rocm-6.2.0", "6.2.0"), None, packages).installs[0].origin == "tarball"


def test_old_layouts_have_hip_and_hsa_in_folders_of_their_own() -> None:
    files: dict[str, bytes | str] = {
        "/opt/rocm/.info/version": "2.4.25",
        "/opt/rocm/bin/rocminfo": b"",
        "/opt/rocm/hip/lib/libhip_hcc.so": b"",
        "/opt/rocm/hsa/lib/libhsa-runtime64.so.1": b"",
    }
    (one,) = gather(files, None, db("rpm", ("rocm-dev", "2.4.25"))).installs
    assert (one.version, one.has_hip, one.has_hsa, one.hip_soname, one.gfx, one.origin) == (
        "2.4.25",
        True,
        True,
        None,
        None,
        "amd-package",
    )


@pytest.mark.parametrize(
    ("lib", "machine", "library"),
    [
        ("/usr/lib/x86_64-linux-gnu", "x86_64", "rocblas/4.2.1/library"),
        ("/usr/lib/aarch64-linux-gnu", "aarch64", "rocblas/library"),
        ("/usr/lib64", "x86_64", "rocblas/library"),
    ],
)
def test_the_distribution_s_own(lib: str, machine: str, library: str) -> None:
    files = {
        "/usr/bin/rocminfo": b"",
        f"{lib}/libamdhip64.so.5": b"",
        f"{lib}/libhsa-runtime64.so.1": b"",
        f"{lib}/libc.so.6": b"",
        f"{lib}/{library}/Kernels.so-000-gfx1030.hsaco": b"",
    }
    packages = db("dpkg", ("libamdhip64-5", "5.7.1-3"), ("rocminfo", "5.7.1-3build1"))
    (one,) = rocm.gather(small_host(files, {"/opt": {"type": "dir"}}, env=PATH, machine=machine), packages).installs
    assert (one.root, one.version, one.origin, one.active, one.hip_soname) == ("/usr", "5.7.1", "distro-package", True, "5")
    assert one.gfx == frozenset({"gfx1030"})
    assert one.libraries == {"libamdhip64.so", "libhsa-runtime64.so"}


def test_libraries_of_the_distribution_alone_are_no_install() -> None:
    """Debian's MPI pulls them in; and /usr/bin/rocminfo may be AMD's link."""
    lib: dict[str, bytes | str] = {"/usr/lib/x86_64-linux-gnu/libamdhip64.so.5": b""}
    assert gather(lib).installs == ()
    files = lib | install("/opt/rocm-6.2.0", "6.2.0")
    found = gather(files, {"/usr/bin/rocminfo": link("/opt/rocm-6.2.0/bin/rocminfo")})
    assert [i.root for i in found.installs] == ["/opt/rocm-6.2.0"]


def test_a_wheel_s_rocm_is_an_install_only_where_path_leads_to_it() -> None:
    site = "/opt/venv/lib/python3.12/site-packages"
    files: dict[str, bytes | str] = {
        "/opt/venv/bin/rocminfo": b"",
        f"{site}/_rocm_sdk_core/lib/libamdhip64.so.7": b"",
        f"{site}/_rocm_sdk_core/lib/libhsa-runtime64.so.1": b"",
        f"{site}/rocm_sdk_core-7.11.0a20260104.dist-info/METADATA": "Name: rocm-sdk-core\n",
    }
    (one,) = gather(files, env={"PATH": "/opt/venv/bin:/usr/bin"}).installs
    assert (one.root, one.version, one.origin, one.active) == (f"{site}/_rocm_sdk_core", "7.11.0", "wheel", True)
    assert gather(files).installs == ()


def test_nothing_is_found_on_a_bare_host() -> None:
    found = gather({"/etc/hostname": "x"})
    assert (found.installs, found.link, found.active) == ((), None, None)


def test_other_folders_of_opt_are_left_alone() -> None:
    assert gather({"/opt/rocmdoctor/bin/rocminfo": b"", "/opt/google/x": b""}).installs == ()


def test_an_unknown_opt_is_unknown() -> None:
    with pytest.raises(UnknownFact):
        rocm.gather(small_host(unknown=["/opt", "/opt/**"]))


@given(st.lists(st.text("rocm-core.0123456789/_ é", min_size=1, max_size=12), max_size=5), st.text(max_size=30))
def test_odd_names_below_opt_are_read_without_failing(names: list[str], info: str) -> None:
    files = {
        f"/opt/rocm{n.strip('/')}x/lib/libamdhip64.so.{n.replace('/', '')}": info
        for n in names
        if ".." not in n and "//" not in n
    }
    found = gather(files, env={"PATH": info, "ROCM_PATH": info})
    assert sum(i.active for i in found.installs) <= 1
