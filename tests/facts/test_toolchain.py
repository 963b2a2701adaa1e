"""The gcc that clang takes, device libraries, HIP's headers, and lists of build targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts.rocm import RocmInstall
from rocmdoctor.facts.toolchain import find_gccs, gather, read_targets, target_covers
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import small_host

GCC = "/usr/lib/gcc/x86_64-linux-gnu"


def install(root: str = "/opt/rocm-6.2.0", clang: bool = True) -> RocmInstall:
    path = f"{root}/llvm/bin/clang" if clang else None
    return RocmInstall(root, "6.2.0", "amd-package", True, None, True, True, "6", frozenset({"hipcc"}), frozenset(), path)


@pytest.mark.parametrize(
    ("files", "versions", "headers"),
    [
        ({f"{GCC}/11/crtbegin.o", "/usr/include/c++/11/cmath"}, ["11"], True),
        ({f"{GCC}/11/crtbegin.o", f"{GCC}/12/crtbegin.o", "/usr/include/c++/11/cmath"}, ["12", "11"], False),
        # gcc-12-base leaves a folder without crtbegin.o: clang does not count it
        ({f"{GCC}/11/crtbegin.o", f"{GCC}/12/cc1", "/usr/include/c++/11/cmath"}, ["11"], True),
        ({f"{GCC}/9/crtbegin.o", f"{GCC}/10/crtbegin.o", "/usr/include/c++/10/cmath"}, ["10", "9"], True),
        ({"/usr/lib64/gcc/x86_64-suse-linux/13/crtbegin.o", "/usr/include/c++/13/cmath"}, ["13"], True),
        ({"/usr/lib/gcc/x86_64-pc-linux-gnu/15.2.1/crtbegin.o", "/usr/include/c++/15.2.1/cmath"}, ["15.2.1"], True),
        ({"/usr/lib/gcc/x86_64-pc-linux-gnu/14/crtbegin.o", "/usr/lib/gcc/x86_64-pc-linux-gnu/14/include/g++-v14/cmath"},
         ["14"], True),
        ({"/opt/rh/gcc-toolset-12/root/usr/lib/gcc/x86_64-redhat-linux/12/crtbegin.o",
          "/opt/rh/gcc-toolset-12/root/usr/include/c++/12/cmath",
          "/usr/lib/gcc/x86_64-redhat-linux/11/crtbegin.o"}, ["12", "11"], True),
        ({"/usr/lib/gcc/aarch64-linux-gnu/13/crtbegin.o", "/usr/lib/gcc/x86_64-w64-mingw32/13/crtbegin.o"}, [], False),
        (set(), [], False),
    ],
)  # fmt: skip
def test_the_newest_gcc_comes_first(files: set[str], versions: list[str], headers: bool) -> None:
    found = find_gccs(small_host({path: "x" for path in files}))
    assert [g.version for g in found] == versions
    assert bool(found and found[0].headers) is headers


def test_unknown_folders_are_unknown() -> None:
    with pytest.raises(UnknownFact):
        find_gccs(small_host(unknown=["/usr/lib/gcc/**"]))


@pytest.mark.parametrize(
    "folder",
    ["amdgcn/bitcode", "llvm/amdgcn/bitcode", "llvm/lib/clang/18/lib/amdgcn/bitcode", "llvm/lib/clang/18/amdgcn/bitcode"],
)
def test_device_libraries_in_every_place(folder: str) -> None:
    root = "/opt/rocm-6.2.0"
    host = small_host({f"{root}/llvm/lib/clang/18/include/a.h": "x", f"{root}/{folder}/ocml.bc": "x"})
    compiler = gather(host, install()).compiler
    assert compiler and compiler.version == "18" and compiler.device_libraries == f"{root}/{folder}"


def test_an_empty_device_folder_is_told_from_none() -> None:
    root = "/opt/rocm-6.2.0"
    host = small_host({f"{root}/amdgcn/bitcode/README": "x", f"{root}/include/hip/hip_runtime.h": "x"})
    compiler = gather(host, install()).compiler
    assert compiler and compiler.device_libraries is None and compiler.empty_device_folders == (f"{root}/amdgcn/bitcode",)
    assert compiler.hip_headers is True and not compiler.complete_folder


def test_headers_unknown_without_an_include_folder() -> None:
    assert gather(small_host(), install(clang=False)).compiler.hip_headers is None  # type: ignore[union-attr]
    there = small_host({"/opt/rocm-6.2.0/include/rocblas/rocblas.h": "x"})
    assert gather(there, install()).compiler.hip_headers is False  # type: ignore[union-attr]
    assert gather(small_host(), None).compiler is None


@pytest.mark.parametrize(
    ("value", "targets", "unread"),
    [
        ("gfx90a;gfx942", ("gfx90a", "gfx942"), ()),
        ("gfx1100, gfx1030", ("gfx1100", "gfx1030"), ()),
        ("gfx90a:xnack-;gfx90a:xnack+", ("gfx90a:xnack-", "gfx90a:xnack+"), ()),
        ("gfx11-generic", ("gfx11-generic",), ()),
        ("'gfx1100'", ("gfx1100",), ()),
        ("native", (), ("native",)),
        ("gfx110X-all", (), ("gfx110X-all",)),
    ],
)
def test_lists_of_targets(value: str, targets: tuple[str, ...], unread: tuple[str, ...]) -> None:
    (found,) = read_targets({"PYTORCH_ROCM_ARCH": value})
    assert (found.targets, found.unread) == (targets, unread)


def test_empty_and_unset_lists_are_none() -> None:
    assert read_targets({"PYTORCH_ROCM_ARCH": "", "AMDGPU_TARGETS": " ; ", "PATH": "gfx90a"}) == ()
    assert [t.variable for t in read_targets({"GPU_TARGETS": "gfx90a", "HCC_AMDGPU_TARGET": "gfx90a"})] == [
        "HCC_AMDGPU_TARGET",
        "GPU_TARGETS",
    ]


@pytest.mark.parametrize(
    ("target", "gfx", "mode", "covers"),
    [
        ("gfx1100", "gfx1100", "", True),
        ("gfx1100", "gfx1101", "", False),
        ("GFX90A", "gfx90a", "", True),
        ("gfx90a:xnack-", "gfx90a", "sramecc+:xnack-", True),
        ("gfx90a:xnack+", "gfx90a", "sramecc+:xnack-", False),
        ("gfx90a:xnack+", "gfx90a", "", True),
        ("gfx90a", "gfx90a", "sramecc+:xnack-", True),
        ("gfx11-generic", "gfx1151", "", True),
        ("gfx11-generic", "gfx1201", "", False),
        ("gfx10-3-generic", "gfx1032", "", True),
        ("gfx10-1-generic", "gfx1032", "", False),
        ("gfx12-generic", "gfx1200", "", True),
        ("gfx9-generic", "gfx906", "", True),
        ("gfx9-generic", "gfx90a", "", False),
        ("gfx9-4-generic", "gfx942", "", True),
    ],
)
def test_what_a_target_covers(target: str, gfx: str, mode: str, covers: bool) -> None:
    assert target_covers(target, gfx, mode) is covers


@given(st.text(max_size=400), st.text(max_size=20), st.text(max_size=20))
def test_any_value_is_read(value: str, gfx: str, mode: str) -> None:
    for targets in read_targets({"AMDGPU_TARGETS": value}):
        for target in targets.targets:
            target_covers(target, gfx, mode)
