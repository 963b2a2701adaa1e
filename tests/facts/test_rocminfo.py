"""rocminfo: agents by Device Type, the first ISA is the target, each error text is told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import rocminfo
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

HEAD = """ROCk module version 6.8.5 is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
System Endianness:       LITTLE

==========
HSA Agents
==========
"""
CPU = """*******
Agent 1
*******
  Name:                    AMD EPYC 7713 64-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          AMD EPYC 7713 64-Core Processor
  Node:                    0
  Device Type:             CPU
  Cache Info:
    L1:                      32768(0x8000) KB
  Chip ID:                 0(0x0)
  BDFID:                   0
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
      Size:                    131015868(0x7cf24bc) KB
  ISA Info:
"""
GPU = """*******
Agent 2
*******
  Name:                    gfx90a
  Uuid:                    GPU-0123456789abcdef
  Marketing Name:          AMD Instinct MI210
  Vendor Name:             AMD
  Node:                    3
  Device Type:             GPU
  Cache Info:
    L2:                      8192(0x2000) KB
  Chip ID:                 29711(0x740f)
  BDFID:                   8960
  Memory Properties:
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    67092480(0x3ffc000) KB
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx9-generic:xnack-
"""
DONE = "*** Done ***\n"
HSA = (
    "hsa api call failure at: /src/rocminfo/rocminfo.cc:1306\n"
    "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
)


def test_a_healthy_listing_gives_agents_by_device_type() -> None:
    info = rocminfo.parse(HEAD + CPU + GPU + DONE)
    assert info.error is None
    assert info.error_text == ""
    assert (info.module_version, info.runtime_version, info.wsl) == ("6.8.5", "1.14", False)
    cpu, gpu = info.agents
    assert (cpu.device_type, cpu.gfx, cpu.bdf, cpu.number, cpu.chip_id) == ("CPU", None, None, 1, "")
    assert info.gpus == (gpu,)
    assert (gpu.gfx, gpu.node, gpu.number, gpu.marketing_name) == ("gfx90a", 3, 2, "AMD Instinct MI210")
    assert gpu.isa == ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "amdgcn-amd-amdhsa--gfx9-generic:xnack-")
    assert (gpu.features, gpu.bdf, gpu.chip_id, gpu.uuid) == ("sramecc+:xnack-", "0000:23:00.0", "740f", "GPU-0123456789abcdef")
    assert gpu.pool_bytes == 67092480 * 1024
    assert not gpu.apu


def test_a_cpu_that_bears_a_gpu_s_name_stays_a_cpu() -> None:
    """MI300A: the marketing name of both is the same."""
    cpu = CPU.replace("AMD EPYC 7713 64-Core Processor", "AMD Instinct MI300A Accelerator")
    info = rocminfo.parse(HEAD + cpu + GPU + DONE)
    assert [a.device_type for a in info.agents] == ["CPU", "GPU"]


def test_an_apu_is_told_by_its_memory_properties() -> None:
    gpu = GPU.replace("Memory Properties:\n", "Memory Properties:       APU\n")
    assert rocminfo.parse(HEAD + CPU + gpu).gpus[0].apu


def test_a_domain_line_completes_the_pci_address() -> None:
    gpu = GPU.replace("  BDFID:                   8960\n", "  BDFID:                   8960\n  Domain:                  2\n")
    assert rocminfo.parse(HEAD + CPU + gpu).gpus[0].bdf == "0002:23:00.0"


def test_colours_indentation_and_backslashes_do_not_matter() -> None:
    plain = rocminfo.parse(HEAD + CPU + GPU + DONE)
    ugly = "".join(f"        \x1b[37m{line}\x1b[0m \\\n" for line in (HEAD + CPU + GPU + DONE).splitlines())
    assert rocminfo.parse(ugly).agents == plain.agents
    assert rocminfo.parse(ugly).module_version == "6.8.5"


def test_other_tools_around_it_do_not_matter() -> None:
    """A log with amd-smi before and clinfo after."""
    before = "GPU: 0\n    ASIC:\n        Name: something\n$ rocminfo\n"
    after = "Platform Name: AMD\n  Name: gfx90a\n  Device Type: CL_DEVICE_TYPE_GPU\n"
    info = rocminfo.parse(before + HEAD + CPU + GPU + DONE + after)
    assert [a.device_type for a in info.agents] == ["CPU", "GPU"]


def test_a_fragment_without_headings_gives_its_agents() -> None:
    """ "[...]" stands where the author cut the heading of the GPU."""
    cut = GPU.split("*******\n")[2]
    info = rocminfo.parse(HEAD + CPU + "[...]\n\n" + cut)
    assert [(a.device_type, a.gfx, a.number) for a in info.agents] == [("CPU", None, 1), ("GPU", "gfx90a", None)]


def test_a_block_with_an_isa_and_no_type_is_a_gpu() -> None:
    info = rocminfo.parse("Agent 1\n  Name: gfx1100\n  ISA 1\n    Name: amdgcn-amd-amdhsa--gfx1100\n")
    assert [(a.device_type, a.gfx, a.features) for a in info.agents] == [("GPU", "gfx1100", "")]


@pytest.mark.parametrize(
    ("isa", "gfx"),
    [
        ("amdgcn-amd-amdhsa--gfx906+sram-ecc", "gfx906"),
        ("AMD:AMDGPU:8:0:3", "gfx803"),
        ("AMD:AMDGPU:9:0:10", "gfx90a"),
        ("amdgcn-amd-amdhsa--gfx11-generic", None),
        ("amdgcn-amd-amdhsa--gfx000", "gfx000"),
    ],
)
def test_isa_names_of_every_age(isa: str, gfx: str | None) -> None:
    agent = rocminfo.parse(f"Agent 2\n  Name: X\n  Device Type: GPU\n  ISA 1\n    Name: {isa}\n").agents[0]
    assert agent.gfx == gfx


NOT_LOADED = "ROCk module is NOT loaded, possibly no GPU devices\n"
LOADED = "ROCk module is loaded\n"
KFD = "Unable to open /dev/kfd read-write: "
LOADER = "rocminfo: error while loading shared libraries: libhsa-runtime64.so.1: cannot open shared object file"
GLIBC = "rocminfo: /lib/libc.so.6: version `GLIBC_2.38' not found (required by libhsa-runtime64.so.1)"
SYMBOL = "rocminfo: symbol lookup error: libhsa-runtime64.so.1: undefined symbol: amdgpu_va_get_start_addr"


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "error"),
    [
        (NOT_LOADED, "", 1, "not-loaded"),
        ("\x1b[31mROCk module is NOT live, possibly no GPU devices\x1b[0m\n", "", 1, "not-loaded"),
        (NOT_LOADED + KFD + "No such file or directory\n" + HSA, "", 8, "not-loaded"),
        (LOADED + KFD + "No such file or directory\n" + HSA, "", 1, "kfd-missing"),
        (KFD + 'Permission denied\nuser1 is not member of "render" group, the default\n', "", 1, "permission"),
        (KFD + "Operation not permitted\nuser1 is member of render group\n" + HSA, "", 1, "kfd-open"),
        (KFD + "Invalid argument\nroot is member of render group\n" + HSA, "", 1, "kfd-open"),
        (KFD + "Cannot allocate memory\n", "", 1, "kfd-open"),
        (KFD + "No such device or address\n", "", 1, "kfd-open"),
        ("WSL environment detected.\n" + HSA, "", 8, "out-of-resources"),
        (LOADED + "hsa api call failure at: x.cc:1\nCall returned 0x1008\n", "", 8, "out-of-resources"),
        ("hsa api call failure at: x.cc:1148\nCall returned HSA_STATUS_ERROR: A generic error.\n", "", 1, "hsa-error"),
        ("hsa api call failure at: x.cc:1148\nCall returned 0x1000\n", "", 1, "hsa-error"),
        ("", LOADER, 127, "library-missing"),
        ("", GLIBC, 1, "library-missing"),
        ("", SYMBOL, 127, "symbol-missing"),
        (LOADED + "Failed to get user name to check for video group membership\n", "", 1, "no-login"),
        (HEAD + CPU + DONE, "", 0, "no-gpu-agent"),
        (HEAD, "", 0, "no-gpu-agent"),
        ("", "", -11, "crash"),
        (LOADED, "", 139, "crash"),
        ("", "Aborted (core dumped)", 134, "crash"),
        ("", "free(): invalid pointer", 1, "crash"),
        ("nonsense", "", 0, "hsa-error"),
        ("", "", 0, "hsa-error"),
        ("", "", 3, "hsa-error"),
        (HEAD + CPU + GPU, "", -11, "crash"),
    ],
)
def test_errors_are_told_apart(stdout: str, stderr: str, rc: int, error: str) -> None:
    info = rocminfo.parse(stdout, stderr, rc)
    assert info.error == error
    assert info.error_text
    assert len(info.error_text) < 4000


def test_group_wording_in_three_lines_is_quoted_whole() -> None:
    text = (
        "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"
        'user is not member of "render" group, the default DRM access group.\n'
        'Users must be a member of the "render" group or another DRM access group\n'
        "in order for ROCm applications to run successfully.\n"
    )
    assert rocminfo.parse(text, "", 1).error_text == "\n".join(text.splitlines()[1:])


def test_warnings_beside_a_good_listing_are_no_error() -> None:
    """An error word in other text counts only where rocminfo failed or lists no GPU."""
    info = rocminfo.parse(HEAD + CPU + GPU + DONE, "WARNING: undefined symbol somewhere", 0)
    assert info.error is None


def test_gather_asks_path_alone() -> None:
    host = small_host(commands=[command("rocminfo", stdout=HEAD + CPU + GPU + DONE)])
    info = rocminfo.gather(host)
    assert (info.found, info.program, info.error, len(info.gpus)) == (True, "/usr/bin/rocminfo", None, 1)


def test_gather_without_the_program() -> None:
    info = rocminfo.gather(small_host({"/opt/rocm/bin/rocminfo": b""}))
    assert (info.found, info.program, info.error, info.agents, info.rc) == (False, None, None, (), 127)


def test_a_hang_is_a_timeout() -> None:
    info = rocminfo.gather(small_host(commands=[command("rocminfo", timed_out=True, rc=124)]))
    assert info.error == "timeout"
    assert "10 s" in info.error_text


def test_an_output_that_was_not_captured_is_unknown() -> None:
    with pytest.raises(UnknownFact):
        rocminfo.gather(small_host(unknown=["cmd:rocminfo"]))


LINES = st.lists(
    st.sampled_from([*HEAD.splitlines(), *CPU.splitlines(), *GPU.splitlines(), *HSA.splitlines(), "", "\x1b[31m", "\x00"])
)


@given(LINES, st.integers(-64, 255))
def test_any_order_of_its_lines_is_read(lines: list[str], rc: int) -> None:
    info = rocminfo.parse("\n".join(lines), "", rc)
    assert len(info.agents) <= len(lines)
    assert all(a.device_type for a in info.agents)


@given(st.text(), st.text(), st.integers(-64, 255))
def test_nonsense_is_read_without_failing(stdout: str, stderr: str, rc: int) -> None:
    info = rocminfo.parse(stdout, stderr, rc)
    assert info.error is not None or info.gpus


def test_hostile_text_is_bounded() -> None:
    info = rocminfo.parse("Agent 1\n Name: gfx90a\n" * 5000 + "Size: " + "9" * 100000)
    assert len(info.agents) <= rocminfo.MAX_AGENTS + 1
