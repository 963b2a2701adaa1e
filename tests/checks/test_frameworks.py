"""JAX, TensorFlow and ONNX Runtime: wrong builds beside right ones. The default host has ROCm 6.2 and a ROCm torch."""

from __future__ import annotations

import pytest

from tests.checks.judged import fixes, judge, status, warning
from tests.hostbuilder import HostBuilder

JAX, TENSORFLOW, ONNX = "python.jax", "python.tensorflow", "python.onnxruntime"


def host(*packages: str, base: HostBuilder | None = None) -> HostBuilder:
    """A host with "name version" packages beside torch."""
    made = base or HostBuilder()
    for package in packages:
        made = made.distribution(*package.split(" "))
    return made


def rocm7(*packages: str) -> HostBuilder:
    return host(*packages, base=HostBuilder().distro("ubuntu", "24.04").rocm("7.2.0"))


def nvidia(builder: HostBuilder) -> HostBuilder:
    device = "/sys/bus/pci/devices/0000:41:00.0"
    made = builder.file(f"{device}/vendor", "0x10de\n").file(f"{device}/device", "0x2684\n")
    return made.file(f"{device}/class", "0x030000\n")


# JAX -------------------------------------------------------------------------------------------------------------

RIGHT = ("jax 0.9.1", "jaxlib 0.9.1", "jax-rocm7-plugin 0.9.1.post3", "jax-rocm7-pjrt 0.9.1.post3")


def test_jax_whose_parts_belong_together() -> None:
    assert status(rocm7(*RIGHT), JAX) == "pass"


def test_jax_for_an_older_rocm() -> None:
    assert status(host("jax 0.5.0", "jaxlib 0.5.0", "jax-rocm60-plugin 0.5.0", "jax-rocm60-pjrt 0.5.0"), JAX) == "pass"


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        (("jax 0.9.1", "jaxlib 0.9.1", "jax-rocm7-plugin 0.9.1"), "both a plug-in and a pjrt"),
        (("jax 0.9.1", "jaxlib 0.9.1", "jax-rocm7-plugin 0.9.1", "jax-rocm7-pjrt 0.9.2"), "different versions"),
        (("jax 0.10.0", "jaxlib 0.10.0", "jax-rocm7-plugin 0.9.1", "jax-rocm7-pjrt 0.9.1"), "does not belong to jaxlib 0.10.0"),
    ],
)
def test_jax_whose_parts_do_not_belong_together(packages: tuple[str, ...], says: str) -> None:
    found = warning(rocm7(*packages), JAX)
    assert says in found.title and "jax-rocm7-plugin==" in fixes(found)


def test_jax_for_another_rocm() -> None:
    found = warning(host(*RIGHT), JAX)
    assert "for ROCm 7, and ROCm 6.2.0" in found.title and "jax-rocm60-plugin==0.9.1" in fixes(found)


def test_jax_with_the_rocm_wheels_of_its_environment() -> None:
    assert status(host(*RIGHT, "rocm-sdk-core 7.2.0"), JAX) == "pass"


def test_a_jaxlib_that_does_not_know_the_plug_in() -> None:
    base = HostBuilder().distro("ubuntu", "24.04").gpus("gfx942").rocm("10.1.0")
    plugin = ("jax-rocm10-plugin 0.11.0", "jax-rocm10-pjrt 0.11.0")
    assert "does not know jax-rocm10-plugin" in warning(host("jax 0.11.0", "jaxlib 0.11.0", *plugin, base=base), JAX).title
    right = [p.replace("0.11.0", "0.12.0") for p in ("jax 0.11.0", "jaxlib 0.11.0", *plugin)]
    assert status(host(*right, base=base), JAX) == "pass"


def test_jax_for_cuda() -> None:
    cuda = host("jax 0.9.1", "jaxlib 0.9.1", "jax-cuda12-plugin 0.9.1", "jax-cuda12-pjrt 0.9.1")
    assert "CUDA plug-in" in warning(cuda, JAX).title
    assert status(nvidia(cuda), JAX) == "skip"


def test_jax_for_the_cpu_is_no_fault() -> None:
    assert status(host("jax 0.9.1", "jaxlib 0.9.1"), JAX) == "skip"


def test_no_rocm_is_not_another_rocm() -> None:
    assert status(host(*RIGHT, base=HostBuilder().no_rocm().no_torch().python("venv")), JAX) != "warn"


# TensorFlow ------------------------------------------------------------------------------------------------------


def test_tensorflow_of_another_rocm() -> None:
    found = warning(host("tensorflow-rocm 2.13.0.570"), TENSORFLOW)
    assert "built for ROCm 5.7.0, and ROCm 6.2.0" in found.title


@pytest.mark.parametrize("package", ["tensorflow-rocm 2.14.0.600", "tensorflow-rocm 2.18.1"])
def test_tensorflow_of_this_rocm(package: str) -> None:
    assert status(host(package), TENSORFLOW) == "pass"


def test_two_tensorflows() -> None:
    found = warning(host("tensorflow-rocm 2.14.0.600", "tensorflow 2.17.0"), TENSORFLOW)
    assert "own the same folder" in found.title and "tensorflow-rocm==2.14.0.600" in fixes(found)


@pytest.mark.parametrize("packages", [(), ("tensorflow 2.17.0",)])
def test_no_tensorflow_for_rocm(packages: tuple[str, ...]) -> None:
    assert status(host(*packages), TENSORFLOW) == "skip"


# ONNX Runtime ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["onnxruntime 1.22.0", "onnxruntime-gpu 1.22.0"])
def test_two_onnxruntimes(other: str) -> None:
    found = warning(rocm7("onnxruntime-rocm 1.22.2.post3", other), ONNX)
    assert found.title.startswith("2 packages own the folder") and "onnxruntime-rocm==1.22.2.post3" in fixes(found)


def test_onnxruntime_for_cuda() -> None:
    assert "CUDA build" in warning(host("onnxruntime-gpu 1.22.0"), ONNX).title
    assert status(nvidia(host("onnxruntime-gpu 1.22.0")), ONNX) == "pass"


def test_onnxruntime_of_another_rocm() -> None:
    assert "is for ROCm 7, not for the 6.2.0 here" in warning(host("onnxruntime-migraphx 1.23.2"), ONNX).title


@pytest.mark.parametrize("package", ["onnxruntime-rocm 1.22.2.post3", "onnxruntime-migraphx 1.25.0", "onnxruntime 1.22.0"])
def test_onnxruntime_that_is_right(package: str) -> None:
    assert status(rocm7(package), ONNX) == "pass"


@pytest.mark.parametrize("id", [JAX, TENSORFLOW, ONNX])
def test_nothing_installed_is_nothing_to_judge(id: str) -> None:
    assert status(HostBuilder(), id) == "skip"
    assert status(HostBuilder().no_torch(), id) == "skip"


@pytest.mark.parametrize("id", [JAX, TENSORFLOW, ONNX])
def test_what_is_unknown_does_not_warn(id: str) -> None:
    made = host(*RIGHT, "tensorflow-rocm 2.13.0.570", "onnxruntime-migraphx 1.23.2")
    assert status(made.unknown("/opt/**"), id) != "warn"
    assert status(made.unknown("/home/user1/venv/**"), id) == "skip"


def test_without_a_gpu_the_cause_is_another() -> None:
    assert judge(host(*RIGHT).no_gpus(), JAX)[-1].because_of == "gpu_present.device"
