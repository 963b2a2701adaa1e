"""Modules: loaded, built in, by DKMS or the kernel's own; their files; modinfo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import modules
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

REL = "6.8.0-45-generic"
BASE = f"/lib/modules/{REL}"
INBOX = f"{BASE}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.zst"
DKMS = f"{BASE}/updates/dkms/amdgpu.ko.zst"
LOADED = {
    "/sys/module/amdgpu/initstate": "live\n",
    "/sys/module/amdgpu/srcversion": "ABC\n",
    "/sys/module/amdgpu/parameters/modeset": "-1\n",
    "/proc/modules": "amdgpu 17211392 23 - Live 0x0000000000000000 (OE)\namdttm 1 1 amdgpu, Live 0x0\n",
}
VERSION = {"/sys/module/amdgpu/version": "6.8.5\n"}
DEP_INBOX = (
    "kernel/drivers/gpu/drm/drm.ko.zst:\nkernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.zst: kernel/drivers/gpu/drm/drm.ko.zst\n"
)
DEP_DKMS = "updates/dkms/amdgpu.ko.zst: updates/dkms/amdttm.ko.zst\nupdates/dkms/amdttm.ko.zst:\n"


def test_the_kernels_own_driver() -> None:
    found = modules.gather(small_host(LOADED | {f"{BASE}/modules.dep": DEP_INBOX, INBOX: ""}), "amdgpu")
    assert (found.name, found.loaded, found.kind, found.version, found.srcversion, found.initstate) == (
        "amdgpu", True, "inbox", None, "ABC", "live",
    )  # fmt: skip
    assert found.parameters == {"modeset": "-1"} and not found.builtin
    assert found.files == (modules.ModuleFile(INBOX, "inbox"),)


def test_the_driver_of_dkms() -> None:
    found = modules.gather(small_host(LOADED | VERSION | {f"{BASE}/modules.dep": DEP_DKMS, INBOX: "", DKMS: ""}), "amdgpu")
    assert (found.kind, found.version) == ("dkms", "6.8.5")
    assert found.files == (modules.ModuleFile(DKMS, "dkms"), modules.ModuleFile(INBOX, "inbox"))


def test_dkms_installed_but_the_inbox_driver_still_loaded() -> None:
    found = modules.gather(small_host(LOADED | {f"{BASE}/modules.dep": DEP_DKMS, DKMS: ""}), "amdgpu")
    assert found.kind == "inbox" and found.files[0].kind == "dkms"


def test_built_in() -> None:
    files = {
        "/sys/module/amdgpu/parameters/modeset": "-1\n",
        "/proc/modules": "nvme 1 1 - Live 0x0\n",
        f"{BASE}/modules.builtin": "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko\nkernel/drivers/gpu/drm/ttm/ttm.ko\n",
    }
    found = modules.gather(small_host(files), "amdgpu")
    assert found.loaded and found.builtin and found.kind == "builtin"
    assert modules.gather(small_host(files), "ttm").kind == "builtin"


def test_not_loaded() -> None:
    found = modules.gather(small_host({"/proc/modules": "", DKMS: "", INBOX: ""}), "amdgpu")
    assert not found.loaded and found.kind is None and found.parameters == {}
    assert [f.kind for f in found.files] == ["dkms", "inbox"]
    assert modules.gather(small_host(), "amdgpu").files == ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("updates/dkms/amdgpu.ko", "dkms"),
        ("updates/amdgpu.ko.zst", "dkms"),
        ("extra/amdgpu.ko.xz", "dkms"),
        ("extra/amdgpu/amdgpu.ko.gz", "dkms"),
        ("weak-updates/amdgpu.ko.xz", "dkms"),
        ("kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko", "inbox"),
    ],
)
@pytest.mark.parametrize("lib", ["/lib", "/usr/lib"])
def test_where_files_lie(lib: str, path: str, kind: str) -> None:
    found = modules.gather(
        small_host({f"{lib}/modules/{REL}/{path}": "", f"{lib}/modules/{REL}/extra/amdgpu.ko.bak": ""}), "amdgpu"
    )
    assert found.files == (modules.ModuleFile(f"{lib}/modules/{REL}/{path}", kind),)


def test_files_of_another_kernel_do_not_count() -> None:
    assert modules.gather(small_host({"/lib/modules/6.8.0-44-generic/updates/dkms/amdgpu.ko.zst": ""}), "amdgpu").files == ()


def test_a_stale_modules_dep() -> None:
    assert modules.gather(small_host({f"{BASE}/modules.dep": DEP_DKMS, INBOX: ""}), "amdgpu").files[0].kind == "inbox"


def test_a_link_of_usr_merge_gives_each_file_once() -> None:
    host = small_host({DKMS: ""}, {"/usr/lib/modules": {"type": "link", "target": "/lib/modules"}})
    assert len(modules.gather(host, "amdgpu").files) == 1


def test_dash_and_underscore_are_equal() -> None:
    files = {f"{BASE}/updates/dkms/amd-sched.ko.zst": "", "/proc/modules": "amd_sched 1 0 - Live 0x0\n"}
    found = modules.gather(small_host(files), "amd-sched")
    assert found.name == "amd_sched" and found.loaded and found.kind == "dkms"


def test_unknown() -> None:
    host = small_host(LOADED | VERSION | {DKMS: ""}, unknown=["/sys/module/**"])
    found = modules.gather(host, "amdgpu")
    assert found.loaded and found.kind == "dkms" and found.version is None
    with pytest.raises(UnknownFact):
        modules.gather(small_host(unknown=["/sys/module/**", "/proc/modules"]), "amdgpu")


MODINFO = """\
filename:       /lib/modules/6.8.0-45-generic/updates/dkms/amdgpu.ko.zst
version:        6.8.5
firmware:       amdgpu/gc_11_0_0_mec.bin
firmware:       amdgpu/aldebaran_mec.bin
srcversion:     C3D1
vermagic:       6.8.0-45-generic SMP preempt mod_unload modversions
signer:         host Secure Boot Module Signature key
sig_key:        12:34
parm:           noretry:Disable retry faults (int)
"""


def test_modinfo() -> None:
    found = modules.gather_modinfo(small_host(commands=[command("modinfo", "amdgpu", stdout=MODINFO)]), "amdgpu")
    assert found is not None
    assert found.filename == DKMS and found.version == "6.8.5" and found.signer == "host Secure Boot Module Signature key"
    assert found.sig_key == "12:34" and found.vermagic and found.vermagic.startswith(REL) and found.srcversion == "C3D1"
    assert found.firmware == ("amdgpu/gc_11_0_0_mec.bin", "amdgpu/aldebaran_mec.bin") and not found.intree


def test_no_modinfo() -> None:
    failed = command("modinfo", "amdgpu", rc=1, stderr="modinfo: ERROR: Module amdgpu not found.\n")
    assert modules.gather_modinfo(small_host(commands=[failed]), "amdgpu") is None
    assert modules.gather_modinfo(small_host(), "amdgpu") is None
    with pytest.raises(UnknownFact):
        modules.gather_modinfo(small_host(commands=[command("modinfo", "amdgpu", timed_out=True, rc=124)]), "amdgpu")


def test_proc_modules_and_lsmod() -> None:
    assert modules.proc_modules(small_host(LOADED)) == {"amdgpu", "amdttm"}
    assert modules.parse_proc_modules("Module                  Size  Used by\namdgpu  1 0\n") == {"amdgpu"}


@pytest.mark.parametrize(
    ("dep", "paths"),
    [
        ("", []),
        ("kernel/x.ko: updates/dkms/amdgpu.ko\n", []),
        ("kernel/amdgpu_xcp.ko:\nkernel/not_amdgpu.ko:\nkernel/amdgpu.ko.bak:\n", []),
        ("/abs/amdgpu.ko: x\nextra/amdgpu.ko.xz: updates/dkms/amdgpu.ko", ["/abs/amdgpu.ko", "extra/amdgpu.ko.xz"]),
    ],
)
def test_modules_dep(dep: str, paths: list[str]) -> None:
    assert modules.parse_modules_dep(dep, "amdgpu") == paths


@given(st.lists(st.sampled_from(["amdgpu.ko", "amdgpu.ko.zst", ":", "/", "\n", " ", "x", "-"]), max_size=60).map("".join))
def test_any_modules_dep(dep: str) -> None:
    assert all("amdgpu.ko" in path for path in modules.parse_modules_dep(dep, "amdgpu"))


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    modules.parse_modinfo(text)
    modules.parse_proc_modules(text)
    modules.gather(small_host({"/proc/modules": text, f"{BASE}/modules.builtin": text, f"{BASE}/modules.dep": text}), "amdgpu")


def test_a_long_line_of_names_is_read_once() -> None:
    assert modules.parse_modules_dep("kernel/x.ko: " + "updates/dkms/amdgpu.ko " * 50_000, "amdgpu") == []
