"""Limits and memory, in bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import cpu, limits
from tests.facts.small_host import small_host

PROC_LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max open files            1024                 1048576              files
Max locked memory         8388608              unlimited            bytes
"""
CPUINFO = """\
processor	: 0
vendor_id	: AuthenticAMD
model name	: AMD EPYC 7R32
flags		: fpu vme svm hypervisor

processor	: 1
vendor_id	: Nonsense
"""


def test_a_workstation() -> None:
    files = {
        "/proc/self/limits": PROC_LIMITS,
        "/proc/meminfo": "MemTotal:       65536000 kB\nMemFree:  1 kB\n",
        "/proc/cpuinfo": CPUINFO,
        "/proc/sys/kernel/numa_balancing": "1\n",
        "/sys/devices/system/node/node0/meminfo": "",
        "/sys/devices/system/node/node1/meminfo": "",
        "/sys/devices/system/node/online": "0-1\n",
        "/sys/module/ttm/parameters/pages_limit": "8192000\n",
    }
    found = limits.gather(small_host(files, {"/dev/shm": {"type": "dir", "mode": "1777", "bytes": 67108864}}))
    assert found == limits.Limits(
        memlock=8388608,
        nofile=1024,
        shm_bytes=67108864,
        mem_total=65536000 * 1024,
        numa_balancing=1,
        numa_nodes=2,
        ttm_module="ttm",
        ttm_pages_limit=8192000,
        cpu_model="AMD EPYC 7R32",
        cpu_vendor="AuthenticAMD",
        hypervisor=True,
    )


def test_unlimited_and_missing() -> None:
    assert (
        limits.parse_limit(
            PROC_LIMITS.replace("8388608              unlimited            bytes\n", "unlimited"), "Max locked memory"
        )
        == -1
    )
    assert limits.parse_limit("", "Max locked memory") is None
    assert limits.parse_limit("Max locked memory\n", "Max locked memory") is None
    assert limits.parse_mem_total("MemTotal:\n") is None and limits.parse_mem_total("MemTotal: x kB") is None


def test_the_ttm_of_dkms_comes_first() -> None:
    files = {"/sys/module/ttm/parameters/pages_limit": "1\n", "/sys/module/amdttm/parameters/pages_limit": "2\n"}
    found = limits.gather(small_host(files))
    assert (found.ttm_module, found.ttm_pages_limit) == ("amdttm", 2)


def test_nothing_known() -> None:
    empty = limits.Limits(None, None, None, None, None, 0, None, None, None, None, False)
    assert limits.gather(small_host()) == empty
    assert limits.gather(small_host(unknown=["/proc/**", "/sys/**", "/dev/**"])) == empty


def test_a_shm_folder_that_is_no_mount() -> None:
    assert limits.gather(small_host(nodes={"/dev/shm": {"type": "dir"}})).shm_bytes is None


def test_cpu_of_another_architecture_has_no_flags() -> None:
    arm = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n"
    assert cpu.parse(arm) == cpu.Cpu(None, None, None)
    assert cpu.parse(CPUINFO) == cpu.Cpu("AuthenticAMD", "AMD EPYC 7R32", True)


@pytest.mark.parametrize("name", ["Max locked memory", "Max open files"])
@given(text=st.text(max_size=300))
def test_any_text(name: str, text: str) -> None:
    value = limits.parse_limit(f"{name} {text}", name)
    assert value is None or value >= -1
    limits.parse_mem_total("MemTotal: " + text)
    cpu.parse(text)
