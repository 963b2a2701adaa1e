"""amd-smi and rocm-smi: JSON of every age, texts of older tools, and the errors told apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import smi
from rocmdoctor.host import UnknownFact
from tests.facts.small_host import command, small_host

CARDS = {f"card{i}": {"Card Series": "AMD Instinct MI210", "Card Model": "0x740f"} for i in range(4)}
GPUS = [{"gpu": i, "bdf": f"0000:{i:02x}:00.0", "kfd_id": 18000 + i, "node_id": i + 1} for i in range(8)]


@pytest.mark.parametrize(
    ("stdout", "count", "driver"),
    [
        (json.dumps(GPUS, indent=4), 8, None),
        (json.dumps({"gpu_data": GPUS}), 8, None),
        (json.dumps(CARDS), 4, None),
        (json.dumps({**CARDS, "system": {"Driver version": "6.2.4"}}), 4, "6.2.4"),
        ("WARNING: user is missing the following required groups: render\n\n" + json.dumps(CARDS) + "\n", 4, None),
        ("WARNING:root:[something] odd\n" + json.dumps(GPUS), 8, None),
        ("[]", 0, None),
        ('{"system": {"Driver version": 5}}', 0, None),
        ("WARNING: No AMD GPUs specified\n", 0, None),
    ],
)
def test_answers(stdout: str, count: int, driver: str | None) -> None:
    answer = smi.parse("x", stdout)
    assert (answer.ok, answer.gpus, answer.driver_version, answer.error) == (True, count, driver, None)


def test_partitions_of_one_gpu_count_once() -> None:
    rows = [{"gpu": 0, "partition_id": 0}, {"gpu": 0, "partition_id": 1}, {"gpu": 1, "partition_id": 0}]
    assert smi.parse("amd-smi", json.dumps(rows)).gpus == 2


TABLE_NEW = """============================ ROCm System Management Interface ============================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
0       2     0x74a1,   60024  46.0°C      130.0W    NPS1, SPX, 0        132Mhz  900Mhz
1       3     0x74a1,   45760  43.0°C      124.0W    NPS1, SPX, 0        131Mhz  900Mhz
"""
TABLE_OLD = """============================ ROCm System Management Interface ============================
Device  [Model : Revision]    Temp        Power
        Name (20 chars)       (Junction)  (Socket)
0       [0x74a1 : 0x00]       45.0°C      173.0W
        AMD Instinct MI300X
"""
TABLE_OLDEST = """========================ROCm System Management Interface========================
GPU  Temp   AvgPwr  SCLK    MCLK     Fan   Perf  PwrCap  VRAM%  GPU%
0    38.0c  38.0W   808Mhz  1000Mhz  0.0%  auto  225.0W    0%   0%
1    39.0c  38.0W   808Mhz  1000Mhz  0.0%  auto  225.0W    0%   0%
"""
BLOCKS = "CPU: 0\n    SMU:\nGPU: 0\n    DRIVER:\n        NAME: amdgpu\n        VERSION: 6.9.0-rc5+\nGPU: 1\n"
TOPOLOGY = """======= ROCm System Management Interface =======
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[11]\t\t: (Topology) Numa Node: 1
"""


@pytest.mark.parametrize(
    ("stdout", "count", "driver"),
    [(TABLE_NEW, 2, None), (TABLE_OLD, 1, None), (TABLE_OLDEST, 2, None), (BLOCKS, 2, "6.9.0-rc5+"), (TOPOLOGY, 2, None)],
)
def test_tools_that_know_no_json(stdout: str, count: int, driver: str | None) -> None:
    answer = smi.parse("x", stdout)
    assert (answer.ok, answer.gpus, answer.driver_version) == (True, count, driver)


MIXED = """Traceback (most recent call last):
  File "/usr/local/lib/python3.9/site-packages/amdsmi/amdsmi_wrapper.py", line 3170, in <module>
  File "/usr/lib64/python3.9/ctypes/__init__.py", line 387, in __getattr__
AttributeError: /opt/rocm-7.0.1/lib/libamd_smi.so.26: undefined symbol: amdsmi_get_gpu_partition_metrics_info
"""


ERROR_34 = "amdsmi.AmdSmiLibraryException: Error code:\n\t34 | AMDSMI_STATUS_DRIVER_NOT_LOADED - Processor not loaded\n"
NO_GPU = "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status\n"
NO_MODULE = "Traceback (most recent call last):\n  File \"amd-smi\", line 3\nModuleNotFoundError: No module named 'amdsmi'\n"


@pytest.mark.parametrize(
    ("stderr", "rc", "error"),
    [
        ("ERROR:root:Driver not initialized (amdgpu not found in modules)\n", 2, "driver-not-loaded"),
        (ERROR_34, 1, "driver-not-loaded"),
        (NO_GPU, 1, "no-gpu"),
        (MIXED, 1, "symbol-missing"),
        ("OSError: libamd_smi.so: cannot open shared object file: No such file or directory\n", 1, "library-missing"),
        (NO_MODULE, 1, "import-error"),
        ("usage: rocm-smi [-h]\nrocm-smi: error: unrecognized arguments: --json\n", 2, "usage"),
        ("PermissionError: [Errno 13] Permission denied: '/dev/dri/renderD128'\n", 1, "permission"),
        ("double free or corruption (!prev)\n", 134, "crash"),
        ("", -11, "crash"),
        ("something else\n", 1, "other"),
    ],
)
def test_errors_are_told_apart(stderr: str, rc: int, error: str) -> None:
    answer = smi.parse("x", "", stderr, rc)
    assert (answer.ok, answer.error) == (False, error)
    assert answer.error_text


def test_a_traceback_is_quoted_with_the_files_it_passed() -> None:
    answer = smi.parse("amd-smi", "", MIXED, 1)
    assert answer.error_text == MIXED.partition("\n")[2].rstrip("\n")
    assert answer.named_libraries == (
        "/usr/local/lib/python3.9/site-packages/amdsmi/amdsmi_wrapper.py",
        "/usr/lib64/python3.9/ctypes/__init__.py",
        "/opt/rocm-7.0.1/lib/libamd_smi.so.26",
    )


def test_a_failing_end_after_json_is_no_answer() -> None:
    assert not smi.parse("amd-smi", json.dumps(GPUS), "free(): invalid pointer\nAborted (core dumped)", 134).ok


def test_gather_uses_the_recorded_argv() -> None:
    host = small_host(
        commands=[
            command("amd-smi", "list", "--json", stdout=json.dumps(GPUS)),
            command("rocm-smi", "--showproductname", "--json", stdout=json.dumps(CARDS)),
        ]
    )
    assert (smi.gather_amd_smi(host).gpus, smi.gather_rocm_smi(host).gpus) == (8, 4)
    assert smi.gather_amd_smi(host).program == "/usr/bin/amd-smi"


def test_gather_of_a_missing_hanging_or_unknown_tool() -> None:
    assert smi.gather_amd_smi(small_host()) == smi.Smi("amd-smi", False, None, False, None, None, "")
    slow = smi.gather_rocm_smi(small_host(commands=[command("rocm-smi", "--showproductname", "--json", timed_out=True, rc=124)]))
    assert (slow.ok, slow.error) == (False, "timeout")
    with pytest.raises(UnknownFact):
        smi.gather_amd_smi(small_host(unknown=["cmd:amd-smi"]))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["gpu", "gpu_data", "card0", "system", "x"]), inner, max_size=4)
    ),
)


@given(ANY_JSON, st.text(max_size=40))
def test_json_of_any_shape_is_read(value: object, around: str) -> None:
    smi.parse("x", f"{around}\n{json.dumps(value)}\n{around}")


@given(st.text(), st.text(), st.integers(-64, 255))
def test_nonsense_is_read_without_failing(stdout: str, stderr: str, rc: int) -> None:
    answer = smi.parse("x", stdout, stderr, rc)
    assert answer.ok is (answer.error is None)


@pytest.mark.parametrize("text", ["[" * 300000, "{\n" * 100000, '{"card0": ' * 50000, "9" * 100000])
def test_hostile_json_is_bounded(text: str) -> None:
    assert not smi.parse("x", text, "", 0).ok
