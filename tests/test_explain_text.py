"""From pasted error texts to causes that hold on the host: recognition, diagnosis, and the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmdoctor import cli, diagnosis, engine
from rocmdoctor.diagnosis import Diagnosis
from rocmdoctor.diagnosis.error_texts import ERROR_TEXTS
from rocmdoctor.diagnosis.recognition import EXCERPT, GAP, LIMIT, error_text, recognise
from rocmdoctor.matrix import load_matrix
from rocmdoctor.reports import diagnosis_json, diagnosis_text
from tests.hostbuilder import HostBuilder

TREE = Path(__file__).parents[1]
MATRIX = load_matrix()

PASTED = {
    "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!": "no-binary",
    "RuntimeError: HIP error: invalid device function": "no-binary",
    "RuntimeError: HIP error: no kernel image is available for execution on the device": "no-binary",
    "hipErrorNoDevice: no ROCm-capable device is detected": "no-device",
    "RuntimeError: No HIP GPUs are available": "no-device",
    "ROCk module is NOT loaded, possibly no GPU devices": "rock-not-loaded",
    "Unable to open /dev/kfd read-write: Permission denied": "kfd-permission",
    'user1 is not in "render" group\nUnable to open /dev/kfd\nread-write: Permission denied': "kfd-permission",
    "Unable to open /dev/kfd read-write: No such file or directory": "kfd-missing",
    "Unable to open /dev/kfd read-write: Invalid argument": "kfd-open",
    "Unable to open /dev/kfd read-write: Cannot allocate memory": "kfd-open",
    "cat: /dev/kfd: Invalid argument": "kfd-cat",
    "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate": "hsa-resources",
    "hsa error, code: 0x1008": "hsa-resources",
    "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid.": "hsa-isa",
    "HSA_STATUS_ERROR: A generic error has occurred.": "hsa-generic",
    "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory": "library-missing",
    "ImportError: libroctx64.so.4: cannot open shared object file: No such file or directory": "library-missing",
    "ImportError: libcudart.so.12: cannot open shared object file": "cuda-library-missing",
    "E: Unable to correct problems, you have held broken packages.": "held-broken",
    "The following packages have unmet dependencies:": "held-broken",
    "W: GPG error: https://repo.radeon.com/rocm/apt/6.2 jammy InRelease: NO_PUBKEY 9386B48A1A693C5C": "no-pubkey",
    "The following signatures were invalid: EXPKEYSIG 9386B48A1A693C5C": "key-expired",
    "E: The repository 'https://repo.radeon.com/rocm/apt/9.9 noble Release' does not have a Release file.": "no-release-file",
    "Err:5 https://repo.radeon.com/rocm/apt/9.9 noble Release\n  404  Not Found [IP: 192.0.2.1 443]": "no-release-file",
    "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service": "key-rejected",
    "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1103": "tensile",
    "rocBLAS error: Could not initialize Tensile host: No devices found": "tensile",
    "cannot find TensileLibrary.dat": "tensile",
    "AssertionError: Torch not compiled with CUDA enabled": "not-compiled-with-cuda",
    "RuntimeError: Found no NVIDIA driver on your system.": "no-nvidia-driver",
    "RuntimeError: operator torchvision::nms does not exist": "torchvision-nms",
    "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present": "memory-fault",
    "HW Exception by GPU node-1 (Agent handle: 0x5581) reason :GPU Hang": "gpu-hang",
    "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1": "ring-timeout",
    "amdgpu 0000:03:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE": "mes",
    "kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0": "atomics",
    "ModuleNotFoundError: No module named 'amdsmi'": "amdsmi",
    "NameError: name 'amdsmi' is not defined": "amdsmi",
    "AttributeError: _ARRAY_API not found": "numpy",
    "rocminfo: symbol lookup error: libhsa-runtime64.so.1: undefined symbol: amdgpu_va_get_start_addr": "undefined-symbol",
    "clang: error: invalid target ID 'gfx1200'": "target-id",
    "/usr/include/hip/amd_detail/host_defines.h:1:10: fatal error: 'cmath' file not found": "cxx-headers",
    "cmath file not found": "cxx-headers",
    "clang++: error: cannot find ROCm device library; provide its path via '--rocm-path'": "device-library",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB": "out-of-memory",
    "hipErrorOutOfMemory": "out-of-memory",
    'node1:1234 NCCL WARN Missing "iommu=pt" from kernel command line': "collectives",
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).": "bus-error",
    "Bus error (core dumped)": "bus-error",
    "Error! Bad return status for module build on kernel: 6.14.0-24-generic": "dkms-build",
    "dpkg: error processing package amdgpu-dkms: bad exit status: 10": "dkms-build",
    "update-initramfs: failed for /boot/initrd.img with 1.\nNo space left on device": "no-space",
    "WSL environment detected.": "wsl",
    "bitsandbytes library load error: Configured ROCm binary not found at libbitsandbytes_rocm84.so": "bitsandbytes",
    "No GPU/TPU found, falling back to CPU.": "jax",
    "\x1b[31mRuntimeError: \x1b[1mNo HIP GPUs\x1b[0m are available": "no-device",
}


def found(text: str) -> list[str]:
    return [match.error.id for match in recognise(text)]


def diagnose(builder: HostBuilder, text: str) -> Diagnosis:
    matches = recognise(text)
    assert matches, text
    return diagnosis.diagnose(builder.build(), MATRIX, matches)


# recognition -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "id"), PASTED.items(), ids=[*map(str, range(len(PASTED)))])
def test_what_people_paste(text: str, id: str) -> None:
    assert id in found(text)
    assert id in found(f"some log\n{text.upper()}\nmore log")
    assert id in found(text.replace(" ", "\n  "))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello world",
        "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0\namdgpu: ring comp_1.0.0 uses VM inv eng 1",
        "[mem 0x100800000-0x1008fffff 64bit pref]",
        "UserWarning: Torch was not compiled with flash attention.",
        "*** Done ***\nAgent 2\n  Name: gfx1100\n  Marketing Name: AMD Radeon RX 7900 XTX",
        "permission denied",
        "No module named 'requests'",
    ],
)
def test_what_says_nothing(text: str) -> None:
    assert found(text) == []


def test_a_long_log_names_each_text_once_in_order() -> None:
    log = "ROCk module is NOT loaded\n" * 3 + "x\n" * 1000 + "HSA_STATUS_ERROR_OUT_OF_RESOURCES\nROCk module is NOT loaded\n"
    assert found(log) == ["rock-not-loaded", "hsa-resources"]


def test_the_excerpt_is_the_line_as_it_was_pasted() -> None:
    (match,) = recognise("line one\n   RuntimeError: No HIP GPUs are available   \nline three")
    assert match.excerpt == "RuntimeError: No HIP GPUs are available"
    (match,) = recognise("y " * 300 + "No HIP GPUs are available " + "z " * 300)
    assert "no hip gpus are available" in match.excerpt and len(match.excerpt) <= EXCERPT


def test_a_gap_is_bounded() -> None:
    known = (error_text("a", "a", "ring...timeout\n0x1008|", "", ""),)
    assert recognise("ring x timeout", known) and recognise("0x1008)", known)
    assert not recognise("ring " + "x" * (GAP + 1) + " timeout", known) and not recognise("0x10080", known)


@pytest.mark.parametrize(
    "text",
    ["ring " * 200_000, "cannot read " * 90_000, "/dev/dri/renderd" * 65_000, "\x1b[" * 500_000, "\n" * LIMIT, "İ" * 400_000],
)
def test_hostile_texts_take_no_time(text: str) -> None:
    start = time.monotonic()
    recognise(text)
    assert time.monotonic() - start < 10


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.sampled_from(sorted(PASTED)), st.text(max_size=400))
def test_any_text_around_it(before: str, text: str, after: str) -> None:
    assert PASTED[text] in found(f"{before}\n{text}\n{after}")


# the table -------------------------------------------------------------------------------------------------------


def test_ids_are_unique_and_texts_are_complete() -> None:
    assert len({e.id for e in ERROR_TEXTS}) == len(ERROR_TEXTS)
    for error in ERROR_TEXTS:
        assert error.title and error.texts and error.meaning and error.candidates, error.id
        assert all(text == text.lower().strip() and len(text) >= 5 for text in error.texts), error.id
        assert len(set(error.texts)) == len(error.texts), error.id


def test_every_text_has_candidates_that_exist() -> None:
    checks = engine.all_checks()
    ids = {c.id for c in checks}
    for error in ERROR_TEXTS:
        assert all(c in ids for c in error.candidates if not c.endswith("*")), error.id
        assert diagnosis.candidates(recognise(error.texts[0].replace("...", " ").rstrip("|"), (error,)), checks), error.id


def test_a_text_is_found_by_each_of_its_patterns() -> None:
    for error in ERROR_TEXTS:
        for text in error.texts:
            assert error.id in found(text.replace("...", " x ").rstrip("|")), text


def test_deep_checks_wait_to_be_asked_for() -> None:
    deep = {c.id for c in engine.all_checks() if c.deep}
    matches = tuple(m for e in ERROR_TEXTS for m in recognise(e.texts[0].replace("...", " ").rstrip("|"), (e,)))
    assert not deep & set(diagnosis.candidates(matches, engine.all_checks()))


# diagnosis -------------------------------------------------------------------------------------------------------

HEADERS = HostBuilder().file("/usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o")


@pytest.mark.parametrize(
    ("builder", "text", "cause"),
    [
        (HostBuilder().fault_not_in_group(), "Unable to open /dev/kfd read-write: Permission denied", "permissions.kfd-access"),
        (HostBuilder().with_fault("fault_secure_boot_rejected"), "ROCk module is NOT loaded", "secure_boot.module-accepted"),
        (HostBuilder().torch("2.5.1+cu124"), "Found no NVIDIA driver on your system", "torch_build.rocm"),
        (HostBuilder().torch("2.5.1+cpu"), "Torch not compiled with CUDA enabled", "torch_build.rocm"),
        (HostBuilder().gpus("gfx1032").torch("2.5.1+rocm6.2"), "hipErrorNoBinaryForGpu", "torch_arch.gpu"),
        (HostBuilder().gpus("gfx1032").no_torch(), "hipErrorNoBinaryForGpu", "gpu_support.release"),
        (HostBuilder().env(HIP_VISIBLE_DEVICES=""), "No HIP GPUs are available", "visibility_env.gpus-left"),
        (HostBuilder().env(HSA_OVERRIDE_GFX_VERSION="9.0.0"), "HW Exception by GPU node-1 reason :GPU Hang", "hsa_override.fits"),
        (HEADERS, "'cmath' file not found", "rocm_install.cxx-headers"),
        (HostBuilder().env(PYTORCH_ROCM_ARCH="gfx90a"), "invalid device function", "rocm_install.build-targets"),
        (HostBuilder().no_gpus(), "no ROCm-capable device is detected", "gpu_present.device"),
    ],
)  # fmt: skip
def test_the_cause_that_holds_here_is_named(builder: HostBuilder, text: str, cause: str) -> None:
    answer = diagnose(builder, text)
    assert answer.cause and answer.cause.id == cause
    assert cause not in {r.id for r in answer.ruled_out}


@pytest.mark.parametrize("text", sorted(PASTED))
def test_a_healthy_host_confirms_none(text: str) -> None:
    answer = diagnose(HostBuilder(), text)
    assert answer.cause is None and answer.ruled_out


def test_what_is_unknown_stays_open() -> None:
    answer = diagnose(HostBuilder().unknown("/dev/**"), "Unable to open /dev/kfd read-write: Permission denied")
    assert answer.cause is None and "permissions.kfd-access" in {r.id for r in answer.unknown}
    page = diagnosis_text.render(answer)
    assert "could not be judged" in page and "Open: " in page


def test_what_stands_before_a_candidate_is_named_first() -> None:
    answer = diagnose(HostBuilder().no_gpus(), "'_ARRAY_API not found'")
    assert answer.cause and answer.cause.id == "gpu_present.device"
    assert {r.because_of for r in answer.unknown} == {"gpu_present.device"}


def test_what_was_judged_on_the_way_is_no_cause() -> None:
    """The loader's complaint has nothing to do with the group, which is judged only because a late candidate comes after it."""
    answer = diagnose(HostBuilder().fault_not_in_group(), "libamdhip64.so.6: cannot open shared object file")
    assert answer.cause is None and [r.id for r in answer.beside] == ["permissions.kfd-access"]
    page = diagnosis_text.render(answer)
    assert "The cause on this host" not in page and "Wrong here, and no cause of this text:" in page
    twin = diagnose(HostBuilder(), "libamdhip64.so.6: cannot open shared object file")
    assert not twin.beside and "Wrong here" not in diagnosis_text.render(twin)


def test_a_text_that_no_check_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    lonely = (error_text("lonely", "A lonely text", "lonely", "It says nothing.", "nowhere.*", "Ask somebody."),)
    answer = diagnosis.diagnose(HostBuilder().build(), MATRIX, recognise("so lonely", lonely))
    assert answer.report.results == () and answer.cause is None
    assert "Ask somebody." in diagnosis_text.render(answer)


# output ----------------------------------------------------------------------------------------------------------


def test_the_page_names_cause_remedy_and_what_was_ruled_out() -> None:
    page = diagnosis_text.render(diagnose(HEADERS, "fatal error: 'cmath' file not found"))
    assert "The likely cause on this host:" in page and "libstdc++-12-dev" in page and "Ruled out: " in page
    assert max(map(len, page.splitlines())) <= 80 and "\x1b" not in page
    assert "The cause on this host:" in diagnosis_text.render(
        diagnose(HostBuilder().torch("2.5.1+cpu"), "Torch not compiled with CUDA enabled")
    )


def test_a_healthy_host_is_told_what_to_do_next() -> None:
    answer = diagnose(HostBuilder(), "hipErrorNoBinaryForGpu")
    page = diagnosis_text.render(answer)
    assert "None of the usual causes holds on this host." in page and "AMD_LOG_LEVEL=3" in page
    assert "ruled out  torch_arch.gpu" in diagnosis_text.render(answer, verbose=True)


def test_json() -> None:
    data = json.loads(diagnosis_json.render(diagnose(HostBuilder().torch("2.5.1+cpu"), "Torch not compiled with CUDA enabled")))
    assert data["cause"] == "torch_build.rocm" and data["confirmed"] == ["torch_build.rocm"]
    assert data["recognised"][0]["id"] == "not-compiled-with-cuda" and data["recognised"][0]["excerpt"]
    assert {r["id"] for r in data["results"]} >= {"torch_build.rocm"} and data["host"]["os"]["id"] == "ubuntu"
    assert json.loads(diagnosis_json.render_unrecognised()) == {"schema_version": 1, "recognised": [], "cause": None}


def test_a_hostile_text_is_escaped() -> None:
    page = diagnosis_text.render(diagnose(HostBuilder(), "\x1b]0;x\x07\u202eNo HIP GPUs are available\x00\x1b[2J"), color=False)
    assert all(c.isprintable() or c == "\n" for c in page) and "No HIP GPUs are available" in page


# command line ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("hosts") / "host"
    HostBuilder().torch("2.5.1+cpu").write(path)
    return str(path)


class Piped(io.TextIOWrapper):
    """Standard input with something in it."""

    def __init__(self, data: bytes, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), "utf-8", "strict")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_words_need_no_quotes(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "--snapshot", folder, "Torch", "not", "compiled", "with", "CUDA", "enabled"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Torch not compiled with CUDA enabled\n") and "[torch_build.rocm]" in out


@pytest.mark.parametrize("argv", [[], ["-"]])
@pytest.mark.parametrize(
    "data", [b"Torch not compiled with CUDA enabled\n", b"\xff\xfe\x00 torch not compiled with cuda enabled"]
)
def test_standard_input(
    folder: str, argv: list[str], data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(data))
    assert cli.run(["explain", "--snapshot", folder, "--format", "json", *argv]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] == "torch_build.rocm"


@pytest.mark.parametrize("stdin", [Piped(b""), Piped(b" \n\n"), Piped(b"text", terminal=True), None], ids=str)
def test_nothing_to_explain(stdin: Piped | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    assert cli.run(["explain"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


@pytest.mark.parametrize("words", [["something", "unheard", "of"], ["unheard-of"], ["libfoo.so.1"], ["ERROR"]])
def test_an_unknown_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", *words]) == 1
    out = capsys.readouterr().out
    assert "not known" in out and "rocmdoctor snapshot -o" in out
    assert cli.run(["explain", "--format", "json", *words]) == 1
    assert json.loads(capsys.readouterr().out)["recognised"] == []


def test_a_check_is_still_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "rocm_install.cxx-headers"]) == 0
    assert capsys.readouterr().out.startswith("ROCm's clang finds the C++ standard headers\n")
    assert cli.run(["explain", "python", "torch_arch.*"]) == 0
    out = capsys.readouterr().out
    assert "(python.jax)" in out and "(torch_arch.gpu)" in out
    assert cli.run(["explain", "python.jax", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "python.jax"


def test_an_unknown_check_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "no.such-check"]) == 2
    assert "'no.such-check' is neither a check nor a known error text" in capsys.readouterr().err
    assert cli.run(["explain", "nosuch"]) == 2
    assert cli.run(["explain", "torch_build"]) == 0


def test_a_pipe_without_end_is_cut() -> None:
    """`yes | rocmdoctor explain` ends."""
    program = "import sys; from rocmdoctor.cli import run; sys.exit(run(['explain']))"
    done = subprocess.run(
        f'yes | {sys.executable} -c "{program}"', shell=True, capture_output=True, text=True, cwd=TREE, timeout=60, check=False
    )
    assert done.returncode == 1 and "not known" in done.stdout


def test_a_missing_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "--snapshot", "/none/such", "hipErrorNoDevice"]) == 2
    assert capsys.readouterr().out == ""
