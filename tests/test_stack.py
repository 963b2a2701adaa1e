"""The stack at a glance: rows, their fit, and both forms of output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor import cli, stack
from rocmdoctor.host.recorded import open_snapshot
from rocmdoctor.host.recorder import Recorder
from rocmdoctor.matrix import load_matrix
from rocmdoctor.reports import stack_json, stack_text
from rocmdoctor.stack import DIFFERS, FITS, GROUPS, MISSING, UNKNOWN, Layer, Stack
from tests.hostbuilder import FAULTS, HostBuilder, card

MATRIX = load_matrix()
PARTS = ("HSA run time", "HIP", "hipcc", "LLVM", "rocBLAS", "hipBLASLt", "MIOpen", "RCCL", "rocFFT", "rocRAND", "rocSOLVER",
         "hipSPARSELt", "rocminfo", "amd-smi", "rocm-smi", "rocprof", "rocprofv3", "rocgdb", "hipify-perl", "hipify-clang",
         "torch", "torchvision", "torchaudio", "triton", "jax", "jax plug-in", "tensorflow", "onnxruntime", "vllm",
         "bitsandbytes", "flash-attn")  # fmt: skip


def gather(builder: HostBuilder) -> Stack:
    return stack.gather(builder.build(), MATRIX)


def rows(builder: HostBuilder) -> dict[str, Layer]:
    """The first row of each layer."""
    found: dict[str, Layer] = {}
    for layer in gather(builder).layers:
        found.setdefault(layer.name, layer)
    return found


def test_a_healthy_host_fits() -> None:
    found = gather(HostBuilder())
    assert found.rocm == "6.2.0" and not found.count(DIFFERS)
    assert {layer.name for layer in found.layers} >= {"GPU", "Firmware", "Kernel", "Driver", "KFD", "ROCm", *PARTS}
    by_name = {layer.name: layer for layer in found.layers}
    assert by_name["rocBLAS"] == Layer("libraries", "rocBLAS", "4.2.0", "rocblas 4.2.0.60200-66~22.04", FITS, "of ROCm 6.2.0")
    assert by_name["torch"].version == "2.5.1+rocm6.2" and by_name["torch"].fit == FITS
    assert by_name["ROCm of torch"].version == "6.2" and by_name["hipSPARSELt"].fit == MISSING
    assert by_name["Driver"].version == "6.2.0 (6.8.5)" and "amdgpu-dkms 1:6.8.5.60200" in str(by_name["Driver"].source)


def test_rows_stand_from_the_bottom_up() -> None:
    groups = [GROUPS.index(layer.group) for layer in gather(HostBuilder()).layers]
    assert groups == sorted(groups)


def test_a_part_of_another_release_differs() -> None:
    found = rows(HostBuilder().fault_mixed_releases("6.1.0"))
    assert (found["rocBLAS"].fit, found["rocBLAS"].why) == (DIFFERS, "it is of ROCm 6.1.0, the rest is 6.2.0")
    assert found["ROCm"].check == "packages.one-release" and found["MIOpen"].fit == FITS


def test_a_wheel_only_host_shows_the_wheels_libraries() -> None:
    found = rows(HostBuilder().no_rocm())
    assert found["ROCm"].version == "6.2" and found["rocBLAS"].source == "torch 2.5.1+rocm6.2"
    assert found["rocBLAS"].fit == FITS and found["hipcc"].fit == MISSING and "ROCm of torch" not in found


def test_the_sdk_wheels() -> None:
    found = rows(HostBuilder().distro("ubuntu", "24.04").no_rocm().torch("2.14.0+rocm7.14"))
    assert found["HIP"].source == "rocm-sdk-core 7.14.0" and found["HIP"].version == ".so.7"


def test_what_a_check_finds_is_said_in_its_row() -> None:
    cuda = rows(HostBuilder().torch("2.5.1+cu124").distribution("torchvision", "0.20.1"))
    assert (cuda["torch"].fit, cuda["torch"].check) == (DIFFERS, "torch_build.rocm")
    assert "torch_build.rocm failed" in cuda["torchvision"].why and cuda["torchvision"].fit == UNKNOWN
    locked = rows(HostBuilder().kfd(open="EACCES", mode=0o600, gid=0))
    assert locked["KFD"].check == "permissions.kfd-access"


def test_the_compilers_rows() -> None:
    gcc = "/usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o"
    found = rows(HostBuilder().file(gcc).env(HIP_PLATFORM="nvidia"))
    assert found["LLVM"].check == "rocm_install.cxx-headers" and found["hipcc"].check == "rocm_install.build-variables"


def test_other_frameworks() -> None:
    found = rows(HostBuilder().distribution("vllm", "0.18.0+rocm721").distribution("onnxruntime", "1.22.0"))
    assert (found["vllm"].fit, found["vllm"].check) == (DIFFERS, "python.vllm")
    assert found["onnxruntime"].version == "1.22.0" and found["onnxruntime"].fit == FITS


def test_a_tool_that_path_finds_elsewhere() -> None:
    host = HostBuilder().file("/usr/local/bin/rocminfo").env(PATH="/usr/local/bin:/opt/rocm/bin:/usr/bin")
    assert rows(host)["rocminfo"].why == "PATH finds /usr/local/bin/rocminfo first"


def test_equal_gpus_are_one_row() -> None:
    eight = [layer for layer in gather(HostBuilder().gpus("gfx90a", count=8)).layers if layer.name == "GPU"]
    assert len(eight) == 1 and str(eight[0].source).startswith("8 x ")
    mixed = [layer for layer in gather(HostBuilder().gpus(card("gfx1100"), card("gfx1036"))).layers if layer.name == "GPU"]
    assert [layer.version for layer in mixed] == ["gfx1100", "gfx1036"]


def test_side_by_side_releases() -> None:
    found = [layer for layer in gather(HostBuilder().also_rocm("6.1.0")).layers if layer.name == "ROCm"]
    assert [layer.version for layer in found] == ["6.2.0", "6.1.0"] and found[1].why == "beside the active one"


def test_without_a_gpu_and_rocm() -> None:
    found = rows(HostBuilder().no_gpus().no_rocm().no_torch())
    assert found["GPU"].check == "gpu_present.device" and found["ROCm"].fit == MISSING and found["torch"].fit == MISSING


def test_wsl_has_no_driver_of_its_own() -> None:
    found = rows(HostBuilder().distro("ubuntu", "24.04").rocm("7.2.1").wsl())
    assert "/dev/dxg" in str(found["Driver"].source) and "KFD" not in found and found["Driver"].fit == FITS
    assert rows(HostBuilder().wsl(libraries=False))["Driver"].check == "wsl.runtime"


@pytest.mark.parametrize("pattern", ["/opt/**", "/sys/**", "/var/lib/dpkg/**", "/home/user1/**", "cmd:rocminfo"])
def test_what_is_unknown_is_said(pattern: str) -> None:
    found = gather(HostBuilder().unknown(pattern))
    assert found.layers and not [layer for layer in found.layers if layer.fit == DIFFERS]


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_is_shown(name: str) -> None:
    page = stack_text.render(gather(HostBuilder().with_fault(name)))
    assert max(len(line) for line in page.splitlines()) <= 80


def test_a_recording_shows_the_same_stack(tmp_path: Path) -> None:
    """`rocmdoctor snapshot` asks what the stack asks, so a replay knows it."""
    host = HostBuilder().distribution("bitsandbytes", "0.49.2").also_rocm("6.1.0").build()
    recorder = Recorder(host)
    before = stack.gather(recorder, MATRIX)
    recorder.write(tmp_path / "snap", redact=False)
    after = stack.gather(open_snapshot(str(tmp_path / "snap")), MATRIX)
    assert after.layers == before.layers == stack.gather(host, MATRIX).layers


# output ----------------------------------------------------------------------------------------------------------


def test_the_text_fits_eighty_columns_and_is_plain() -> None:
    page = stack_text.render(gather(HostBuilder()))
    assert page.isascii() and "\x1b" not in page and max(map(len, page.splitlines())) <= 80
    assert "  rocBLAS       4.2.0                 fits     rocblas 4.2.0.60200-66~22.04\n" in page
    assert "  hipSPARSELt   -                     not installed\n" in page
    assert "of ROCm 6.2.0" not in page and "of ROCm 6.2.0" in stack_text.render(gather(HostBuilder()), verbose=True)
    assert "\x1b[" in stack_text.render(gather(HostBuilder()), color=True)


HOSTILE = "\x1b[2J\x1b]0;x\x07\u202e\nrocBLAS fits"


def test_hostile_host_text_is_escaped() -> None:
    host = HostBuilder().distribution("vllm", "0.8.5" + HOSTILE).env(HIP_PATH="/x" + HOSTILE, PATH="/a" + HOSTILE)
    host = host.file("/opt/rocm-6.2.0/.info/version", HOSTILE).package("rocblas", "4.2.0.60200" + HOSTILE)
    page = stack_text.render(gather(host), verbose=True)
    assert all(c.isprintable() or c == "\n" for c in page)


TEXTS = st.text(max_size=900)
FIT = st.sampled_from([FITS, DIFFERS, UNKNOWN, MISSING])


@given(st.builds(Layer, st.sampled_from(GROUPS), TEXTS, TEXTS, TEXTS, FIT, TEXTS, st.none() | TEXTS), st.booleans())
def test_any_row_is_printable(layer: Layer, verbose: bool) -> None:
    page = stack_text.render(Stack((layer,), "6.2.0", {}, "2026-11-30", "0"), verbose=verbose)
    assert all(c.isprintable() or c == "\n" for c in page)
    json.loads(stack_json.render(Stack((layer,), None, {}, "2026-11-30", "0")))


def test_json_has_the_same_rows() -> None:
    found = gather(HostBuilder())
    data = json.loads(stack_json.render(found))
    assert [row["name"] for row in data["layers"]] == [layer.name for layer in found.layers]
    assert data["rocm"] == "6.2.0" and data["schema_version"] == 1 and data["host"]["os"]["id"] == "ubuntu"
    assert set(data["layers"][0]) == {"group", "name", "version", "source", "fit", "why", "check"}


# command line ----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "host"
    HostBuilder().write(folder)
    assert cli.run(["stack", "--snapshot", str(folder)]) == 0
    text = capsys.readouterr()
    assert text.err == "" and text.out.startswith("Layer ") and "rocBLAS" in text.out
    assert cli.run(["stack", "--snapshot", str(folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"]


@pytest.mark.parametrize("argv", [["--snapshot", "/none/such"], ["--snapshot", "a", "--root", "b"], ["--format", "yaml"]])
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["stack", *argv]) == 2
    assert capsys.readouterr().out == ""


def test_another_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "host"
    HostBuilder().write(folder)
    assert cli.run(["stack", "--snapshot", str(folder), "--python", "/usr/bin/python3", "--format", "json"]) == 0
    layers = {row["name"]: row for row in json.loads(capsys.readouterr().out)["layers"]}
    assert layers["torch"]["fit"] == "not installed"
