"""DKMS: both forms of `dkms status`, the tree, and what a failed build's log tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import dkms
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

REL = "6.8.0-45-generic"
VERSION = "6.8.5-2009582.24.04"
BUILT = f"{dkms.TREE}/amdgpu/{VERSION}/{REL}/x86_64"
TREE = {f"{BUILT}/module/amdgpu.ko.zst": "", f"{BUILT}/log/make.log": "DKMS make.log for amdgpu\nmake: *** nothing of interest\n"}
BUILD_LOG = f"{dkms.TREE}/amdgpu/{VERSION}/build/make.log"
FAILED = f"""\
DKMS make.log for amdgpu-{VERSION} for kernel 6.14.0-24-generic (x86_64)
make: Entering directory '/usr/src/linux-headers-6.14.0-24-generic'
  CC [M]  /tmp/amd/amdgpu/amdgpu_drv.o -Werror=return-type
/tmp/amd/amdgpu/amdgpu_drv.c:12:3: error: implicit declaration of function 'drm_fbdev_ttm_setup'
make[2]: *** [scripts/Makefile.build:260: amdgpu_drv.o] Error 1
"""


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("amdgpu, 6.8.5-x, 6.8.0-45-generic, x86_64: installed", ("amdgpu", "6.8.5-x", REL, "x86_64", "installed")),
        ("amdgpu/6.8.5-x, 6.8.0-45-generic, x86_64: installed", ("amdgpu", "6.8.5-x", REL, "x86_64", "installed")),
        ("amdgpu/6.8.5-x, 6.8.0-45-generic, x86_64: built", ("amdgpu", "6.8.5-x", REL, "x86_64", "built")),
        (
            "amdgpu/6.8.5-x, 6.8.0-45-generic, x86_64: installed (original_module exists)",
            ("amdgpu", "6.8.5-x", REL, "x86_64", "installed"),
        ),
        (
            "amdgpu/6.8.5-x, 6.8.0-45-generic, x86_64: installed (WARNING! Diff between built and installed module!)",
            ("amdgpu", "6.8.5-x", REL, "x86_64", "installed"),
        ),
        (
            "amdgpu/6.8.5-x, 6.8.0-45-generic, x86_64: installed-weak from 6.8.0-44",
            ("amdgpu", "6.8.5-x", REL, "x86_64", "installed"),
        ),
        ("amdgpu, 3.7-20: added", ("amdgpu", "3.7-20", None, None, "added")),
        ("amdgpu/6.16.13-2341068.24.04: added", ("amdgpu", "6.16.13-2341068.24.04", None, None, "added")),
        ("amdgpu/6.16.13: broken", ("amdgpu", "6.16.13", None, None, "broken")),
        ("Error! Could not locate dkms.conf file.", None),
        ("Deprecated feature: REMAKE_INITRD (/var/lib/dkms/x/1/source/dkms.conf)", None),
        ("", None),
    ],
)
def test_status(text: str, build: tuple[str, str, str | None, str | None, str] | None) -> None:
    assert dkms.parse_status(text + "\n") == ((dkms.DkmsBuild(*build),) if build else ())


@pytest.mark.parametrize("folder", ["updates/dkms", "updates", "extra", "weak-updates"])
def test_the_tree_says_installed_and_dkms_is_not_run(folder: str) -> None:
    host = small_host(TREE | {f"/lib/modules/{REL}/{folder}/amdgpu.ko.zst": ""}, unknown=["cmd:dkms"])
    assert dkms.gather(host) == dkms.Dkms(True, (dkms.DkmsBuild("amdgpu", VERSION, REL, "x86_64", "installed"),))


def test_built_but_not_installed() -> None:
    assert [b.state for b in dkms.gather(small_host(TREE)).builds] == ["built"]


def test_status_knows_more_than_the_tree() -> None:
    status = f"amdgpu/{VERSION}, {REL}, x86_64: installed\nnvidia/550, {REL}, x86_64: installed\n"
    found = dkms.gather(small_host(TREE, commands=[command("dkms", "status", stdout=status)]))
    assert [(b.module, b.state) for b in found.builds] == [("amdgpu", "installed"), ("nvidia", "installed")]
    assert [b.module for b in found.amdgpu()] == ["amdgpu"]


def test_no_tree() -> None:
    assert dkms.gather(small_host()) == dkms.Dkms(False)
    status = command("dkms", "status", stdout="amdgpu, 3.7-20: added\n")
    assert dkms.gather(small_host(commands=[status])) == dkms.Dkms(
        True, (dkms.DkmsBuild("amdgpu", "3.7-20", None, None, "added"),)
    )


def test_a_failed_build() -> None:
    files = {BUILD_LOG: FAILED, f"{dkms.TREE}/amdgpu/{VERSION}/source/dkms.conf": ""}
    found = dkms.gather(small_host(files, unknown=["cmd:dkms"]))
    assert found.builds == (dkms.DkmsBuild("amdgpu", VERSION, None, None, "added"),)
    (log,) = found.logs
    assert (log.path, log.kernel) == (BUILD_LOG, "6.14.0-24-generic")
    assert log.errors == (
        "/tmp/amd/amdgpu/amdgpu_drv.c:12:3: error: implicit declaration of function 'drm_fbdev_ttm_setup'",
        "make[2]: *** [scripts/Makefile.build:260: amdgpu_drv.o] Error 1",
    )


def test_failed_for_one_kernel_and_installed_for_another() -> None:
    files = TREE | {f"/lib/modules/{REL}/updates/dkms/amdgpu.ko.zst": "", BUILD_LOG: FAILED}
    found = dkms.gather(small_host(files))
    assert [(b.kernel, b.state) for b in found.builds] == [(REL, "installed")]
    assert [log.kernel for log in found.logs] == ["6.14.0-24-generic"]


def test_a_log_beside_a_kernel_without_a_module() -> None:
    path = f"{BUILT}/log/make.log"
    (log,) = dkms.gather(small_host({path: "x.c:1: fatal error: cmath: No such file\n"})).logs
    assert log == dkms.DkmsLog(path, REL, ("x.c:1: fatal error: cmath: No such file",))


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("DKMS make.log for amdgpu-6.8.5 for kernel 6.8.0-45-generic (x86_64)\n", REL),
        ("DKMS (dkms-3.2.0) make.log for amdgpu/6.16.13 for kernel 6.17.0-14-generic (x86_64)\n", "6.17.0-14-generic"),
        ("", None),
    ],
)
def test_the_kernel_of_a_log(text: str, kernel: str | None) -> None:
    assert dkms.parse_make_log(text) == (kernel, ())


def test_logs_are_bounded() -> None:
    _, errors = dkms.parse_make_log("".join(f"{'x' * 1000}{n}\ny{n}: error: {'z' * 1000}\n" for n in range(10_000)))
    assert len(errors) == dkms.MAX_ERRORS and max(map(len, errors)) <= 400


def test_unknown() -> None:
    with pytest.raises(UnknownFact):
        dkms.gather(small_host(unknown=["/var/lib/dkms/**", "cmd:dkms"]))
    with pytest.raises(UnknownFact):
        dkms.gather(small_host(unknown=["/var/lib/dkms/**"]))
    status = command("dkms", "status", stdout=f"amdgpu/{VERSION}, {REL}, x86_64: installed\n")
    assert dkms.gather(small_host(commands=[status], unknown=["/var/lib/dkms/**"])).builds[0].state == "installed"
    assert dkms.gather(small_host(TREE, unknown=["cmd:dkms"])).builds[0].state == "built"
    (log,) = dkms.gather(small_host({BUILD_LOG: FAILED}, unknown=[BUILD_LOG])).logs
    assert log.errors == ()


@given(st.text(max_size=300) | st.text(alphabet="amdgpu/,: 6.8installed\n", max_size=300))
def test_any_text(text: str) -> None:
    for build in dkms.parse_status(text):
        assert build.module and build.version and build.state
    dkms.parse_make_log(text)
    dkms.gather(small_host(commands=[command("dkms", "status", stdout=text)]))
