"""Python environments: which one is judged, and what lies in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import pythons
from rocmdoctor.facts.pythons import PythonEnv
from rocmdoctor.host import UnknownFact
from rocmdoctor.matrix import load_matrix
from tests.facts.small_host import small_host

MATRIX = load_matrix()

Files = dict[str, bytes | str]
SYSTEM: Files = {"/usr/bin/python3.10": b"x", "/usr/lib/python3.10/os.py": "x", "/usr/lib/python3.10/EXTERNALLY-MANAGED": "x"}
SYSTEM_LINKS = {"/usr/bin/python3": {"type": "link", "target": "python3.10"}}
RECORD = "torch/lib/libamdhip64.so,,\ntorch/lib/libtorch_hip.so,,\ntorch/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat,,\n"


def version_py(version: str, hip: str | None = None, cuda: str | None = None) -> str:
    return f"__version__ = {version!r}\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = {hip!r}\n"


def torch(
    site: str, version: str = "2.5.1+rocm6.2", hip: str | None = "6.2.41133-dd7f95766", record: str | None = RECORD
) -> Files:
    files: Files = {
        f"{site}/torch/version.py": version_py(version, hip),
        f"{site}/torch/lib/libamdhip64.so": b"",
        f"{site}/torch-{version}.dist-info/METADATA": f"Name: torch\nVersion: {version}\nRequires-Dist: filelock\n",
        f"{site}/torch-{version}.dist-info/INSTALLER": "uv\n",
    }
    if record is not None:
        files[f"{site}/torch-{version}.dist-info/RECORD"] = record
    return files


def venv(prefix: str, full: str = "3.10.12", extra: str = "") -> tuple[Files, dict[str, Any]]:
    short = ".".join(full.split(".")[:2])
    files: Files = {
        f"{prefix}/pyvenv.cfg": f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {full}\n{extra}",
        f"{prefix}/lib/python{short}/site-packages/pip-24.2.dist-info/METADATA": "Name: pip\n",
    }
    nodes = {
        f"{prefix}/bin/python": {"type": "link", "target": f"python{short}"},
        f"{prefix}/bin/python{short}": {"type": "link", "target": f"/usr/bin/python{short}"},
        f"{prefix}/lib64": {"type": "link", "target": "lib"},
    }
    return files, nodes


def gather(
    files: Files, nodes: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None, python: str | None = None
) -> tuple[PythonEnv, ...]:
    host = small_host(files, nodes, env={"PATH": "/usr/bin", **(env or {})})
    return tuple(pythons.with_release(env, MATRIX.rocm_of_hip) for env in pythons.gather(host, python))


def test_a_virtual_environment_comes_before_path() -> None:
    files, nodes = venv("/opt/venv")
    site = "/opt/venv/lib/python3.10/site-packages"
    first, second = gather(files | torch(site) | SYSTEM, nodes | SYSTEM_LINKS, {"VIRTUAL_ENV": "/opt/venv"})
    assert (first.origin, first.prefix, first.executable, first.version) == (
        "VIRTUAL_ENV",
        "/opt/venv",
        "/opt/venv/bin/python",
        "3.10.12",
    )
    assert first.site_packages == (site,)
    assert not first.externally_managed
    assert {d.name for d in first.distributions} == {"pip", "torch"}
    own = first.get("Torch")
    assert own and (own.version, own.requires, own.installer) == ("2.5.1+rocm6.2", ("filelock",), "uv")
    assert first.torch and (first.torch.build, first.torch.layout, first.torch.rocm_release) == ("rocm", "bundled", "6.2")
    assert first.torch.gfx == {"rocblas": {"gfx90a"}}
    assert first.torch.library_gfx == {"gfx90a"}
    assert (second.origin, second.prefix, second.executable, second.version) == ("path", "/usr", "/usr/bin/python3", "3.10")
    assert second.externally_managed
    assert second.torch is None


def test_an_environment_on_path_and_in_the_variable_is_one() -> None:
    files, nodes = venv("/opt/venv")
    nodes["/opt/venv/bin/python3"] = {"type": "link", "target": "python3.10"}
    found = gather(files | SYSTEM, nodes | SYSTEM_LINKS, {"VIRTUAL_ENV": "/opt/venv/", "PATH": "/opt/venv/bin:/usr/bin"})
    assert [e.origin for e in found] == ["VIRTUAL_ENV"]


def test_a_stale_variable_is_left_out() -> None:
    assert [e.origin for e in gather(SYSTEM, SYSTEM_LINKS, {"VIRTUAL_ENV": "/gone", "CONDA_PREFIX": "relative"})] == ["path"]


@pytest.mark.parametrize("line", ["version = 3.11.9", "version_info = 3.11.9.final.0", "VERSION=3.11.9"])
def test_the_exact_version_from_pyvenv_cfg(line: str) -> None:
    files: Files = {"/v/pyvenv.cfg": f"home = /usr/bin\n{line}\n", "/v/lib/python3.11/site-packages/x.py": ""}
    assert gather(files, None, {"VIRTUAL_ENV": "/v"})[0].version == "3.11.9"


def test_a_conda_environment_tells_its_version_in_conda_meta() -> None:
    prefix = "/home/user1/miniconda3/envs/torch"
    files: Files = {
        f"{prefix}/conda-meta/python-3.10.16-h0000000_0.json": "{}",
        f"{prefix}/conda-meta/python-dateutil-2.9.0-py_0.json": "{}",
        f"{prefix}/bin/python3.10": b"",
        **torch(f"{prefix}/lib/python3.10/site-packages"),
    }
    nodes = {f"{prefix}/bin/python3": {"type": "link", "target": "python3.10"}}
    (by_variable,) = gather(files, nodes, {"CONDA_PREFIX": prefix})
    assert (by_variable.origin, by_variable.version) == ("CONDA_PREFIX", "3.10.16")
    assert by_variable.executable == f"{prefix}/bin/python3"
    (by_path,) = gather(files, nodes, {"PATH": f"{prefix}/bin"})
    assert (by_path.origin, by_path.prefix, by_path.version) == ("path", prefix, "3.10.16")
    assert by_path.torch


@pytest.mark.parametrize(
    "site",
    [
        "/usr/lib/python3/dist-packages",
        "/usr/local/lib/python3.10/dist-packages",
        "/usr/lib/python3.10/site-packages",
        "/usr/lib64/python3.10/site-packages",
        "/usr/local/lib/python3.10/site-packages",
    ],
)
def test_the_folders_of_a_distribution_s_python(site: str) -> None:
    (env,) = gather(SYSTEM | torch(site), SYSTEM_LINKS)
    assert env.site_packages == (site,)
    assert env.torch and env.torch.path == f"{site}/torch"
    assert env.origin == "path"


def test_the_user_site_comes_before_the_system_s() -> None:
    home = "/home/user1/.local/lib/python3.10/site-packages"
    files = SYSTEM | torch(home) | torch("/usr/lib/python3/dist-packages", "2.9.1+cpu", None)
    (env,) = gather(files, SYSTEM_LINKS, {"HOME": "/home/user1"})
    assert (env.origin, env.torch and env.torch.build) == ("user-site", "rocm")
    assert [d.version for d in env.all("torch")] == ["2.5.1+rocm6.2", "2.9.1+cpu"]
    (off,) = gather(files, SYSTEM_LINKS, {"HOME": "/home/user1", "PYTHONNOUSERSITE": "1"})
    assert (off.origin, off.torch and off.torch.build) == ("path", "cpu")


def test_a_virtual_environment_has_no_user_site_unless_it_shares() -> None:
    files, nodes = venv("/v")
    files |= torch("/home/user1/.local/lib/python3.10/site-packages") | SYSTEM
    alone = gather(files, nodes | SYSTEM_LINKS, {"VIRTUAL_ENV": "/v", "HOME": "/home/user1"})[0]
    assert alone.torch is None
    files["/v/pyvenv.cfg"] = "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.10.12\n"
    sharing = gather(files, nodes | SYSTEM_LINKS, {"VIRTUAL_ENV": "/v", "HOME": "/home/user1"})[0]
    assert sharing.torch and sharing.origin == "VIRTUAL_ENV"


def test_the_interpreter_behind_a_pyenv_shim() -> None:
    root = "/home/user1/.pyenv"
    files: Files = {
        f"{root}/shims/python3": "#!/bin/sh\n",
        f"{root}/version": "3.11.4\n",
        f"{root}/versions/3.11.4/bin/python3.11": b"",
        f"{root}/versions/3.11.4/lib/python3.11/site-packages/pip-24.2.dist-info/METADATA": "",
    }
    nodes = {f"{root}/versions/3.11.4/bin/python3": {"type": "link", "target": "python3.11"}}
    path = {"PATH": f"{root}/shims:/usr/bin"}
    (env,) = gather(files | SYSTEM, nodes | SYSTEM_LINKS, path)
    assert (env.prefix, env.version) == (f"{root}/versions/3.11.4", "3.11")
    files[f"{root}/version"] = "system\n"
    assert gather(files | SYSTEM, nodes | SYSTEM_LINKS, path)[0].prefix == "/usr"


def test_a_program_linked_into_local_bin_is_followed() -> None:
    real = "/home/user1/.local/share/uv/python/cpython-3.12.3-linux"
    files: Files = {f"{real}/bin/python3.12": b"", **torch(f"{real}/lib/python3.12/site-packages")}
    files["/home/user1/.local/lib/python3.10/site-packages/x/y.py"] = ""
    nodes = {"/home/user1/.local/bin/python3": {"type": "link", "target": f"{real}/bin/python3.12"}}
    (env,) = gather(files, nodes, {"PATH": "/home/user1/.local/bin"})
    assert (env.prefix, env.version) == (real, "3.12")
    assert env.torch


def test_a_free_threaded_python_has_its_own_folder() -> None:
    files: Files = {"/v/pyvenv.cfg": "home = /x\nversion = 3.13.4\n", **torch("/v/lib/python3.13t/site-packages")}
    (env,) = gather(files, None, {"VIRTUAL_ENV": "/v"})
    assert env.torch and env.version == "3.13.4"


@pytest.mark.parametrize("asked", ["/opt/venv", "/opt/venv/", "/opt/venv/bin/python", "/opt/venv/bin/python3.10"])
def test_python_asks_for_one_environment_alone(asked: str) -> None:
    files, nodes = venv("/opt/venv")
    other, other_nodes = venv("/other")
    files |= other | SYSTEM | torch("/other/lib/python3.10/site-packages")
    (env,) = gather(files, nodes | other_nodes | SYSTEM_LINKS, {"VIRTUAL_ENV": "/other"}, asked)
    assert (env.origin, env.prefix, env.torch) == ("option", "/opt/venv", None)


def test_python_may_be_a_name_on_path() -> None:
    (env,) = gather(SYSTEM, SYSTEM_LINKS, None, "python3.10")
    assert (env.executable, env.prefix, env.version) == ("/usr/bin/python3.10", "/usr", "3.10")


@pytest.mark.parametrize("asked", ["/gone", "python9.9", "relative/python", "-c"])
def test_python_that_is_not_there_is_unknown(asked: str) -> None:
    with pytest.raises(UnknownFact, match="--python"):
        gather(SYSTEM, SYSTEM_LINKS, None, asked)


def test_no_python_gives_nothing() -> None:
    assert gather({"/etc/hostname": "x"}) == ()


SITE = "/v/lib/python3.10/site-packages"


def torch_of(files: Files) -> pythons.Torch | None:
    return gather(venv("/v")[0] | files, venv("/v")[1], {"VIRTUAL_ENV": "/v"})[0].torch


def test_a_wheel_without_a_record_is_read_from_its_folders() -> None:
    files = torch(SITE, record=None)
    files[f"{SITE}/torch/lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat"] = b""
    files[f"{SITE}/torch/share/miopen/db/gfx90a68.kdb"] = b""
    found = torch_of(files)
    assert found and found.gfx == {"rocblas": {"gfx1100"}, "miopen": {"gfx90a"}}
    assert found.layout == "bundled"
    assert found.libraries == {"libamdhip64.so"}


def test_libraries_that_were_deleted_are_not_present() -> None:
    """WSL guides delete the wheel's libhsa-runtime64.so."""
    found = torch_of(torch(SITE, record=RECORD + "torch/lib/libhsa-runtime64.so,,\n"))
    assert found and "libhsa-runtime64.so" in found.libraries and "libhsa-runtime64.so" not in found.present


def test_therock_wheels_have_their_libraries_beside_torch() -> None:
    version = "2.11.0a0+rocm7.11.0a20260104"
    files = torch(SITE, version, "7.2.53150", "torch/lib/libtorch_hip.so,,\n")
    files |= {
        f"{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7": b"",
        f"{SITE}/_rocm_sdk_libraries/lib/rocblas/library/blas_lib_gfx1151.kpack": b"",
        f"{SITE}/amd_torch_device_gfx1151-{version}.dist-info/METADATA": "",
        f"{SITE}/rocm_sdk_device_gfx115x-7.11.0a20260104.dist-info/METADATA": "",
        f"{SITE}/rocm_sdk_libraries-7.11.0a20260104.dist-info/METADATA": "",
    }
    found = torch_of(files)
    assert found and (found.layout, found.rocm_release) == ("rocm-sdk", "7.11.0")
    assert found.gfx == {"rocblas": {"gfx1151"}}
    assert found.gfx_device == {"gfx1151", "gfx115x"}
    assert (found.covers("gfx1150"), found.covers("gfx1100")) == (True, False)


def test_a_family_build_leaves_the_apu_open() -> None:
    files = torch(SITE, "2.7.1+rocm7.0.0rc1", "7.0.51831", "torch/lib/libtorch_hip.so,,\n")
    files[f"{SITE}/_rocm_sdk_libraries_gfx110X_dgpu/lib/librocblas.so.5"] = b""
    files[f"{SITE}/rocm_sdk_libraries_gfx110X_dgpu-7.0.0rc1.dist-info/METADATA"] = ""
    found = torch_of(files)
    assert found and found.gfx_device == {"gfx110x-dgpu"}
    assert (found.covers("gfx1103"), found.covers("gfx1103", apu=True), found.covers("gfx1100", apu=False)) == (None, False, True)


def test_a_rocm_build_without_libraries_uses_the_system_s() -> None:
    found = torch_of(torch(SITE, "2.4.0a0+git1346b59", "6.3.42131", "torch/lib/libtorch_hip.so,,\n"))
    assert found and (found.layout, found.rocm_release, found.gfx) == ("system", "6.3", {})
    assert found.covers("gfx90a") is None


@pytest.mark.parametrize(
    ("version", "text", "build"),
    [("2.12.0+cu130", version_py("2.12.0+cu130", None, "13.0"), "cuda"), ("2.9.1+cpu", version_py("2.9.1+cpu"), "cpu")],
)
def test_other_builds_have_no_layout_and_no_release(version: str, text: str, build: str) -> None:
    files: Files = {f"{SITE}/torch/version.py": text, f"{SITE}/torch-{version}.dist-info/METADATA": ""}
    found = torch_of(files)
    assert found and (found.build, found.layout, found.rocm_release) == (build, None, None)


def test_a_plain_distribution_name_keeps_the_build_of_version_py() -> None:
    """PyPI's CUDA wheel is torch 2.4.1 by name and 2.4.1+cu121 inside."""
    files: Files = {
        f"{SITE}/torch/version.py": version_py("2.4.1+cu121", None, "12.1"),
        f"{SITE}/torch-2.4.1.dist-info/METADATA": "Requires-Dist: nvidia-cublas-cu12==1\n",
    }
    found = torch_of(files)
    assert found and (found.version, found.build, found.cuda) == ("2.4.1+cu121", "cuda", "12.1")


def test_the_distribution_of_version_py_counts_after_a_broken_upgrade() -> None:
    files = torch(SITE, "2.5.1+rocm6.2") | {
        f"{SITE}/torch-2.4.1.dist-info/METADATA": "",
        f"{SITE}/torch-2.4.1.dist-info/RECORD": "torch/lib/libtorch_cuda.so,,\n",
    }
    found = torch_of(files)
    assert found and found.libraries == {"libamdhip64.so", "libtorch_hip.so"}


def test_a_distribution_without_its_folder_is_told_by_its_tag() -> None:
    found = torch_of({f"{SITE}/torch-2.5.1+rocm6.2.dist-info/METADATA": ""})
    assert found and (found.version, found.build, found.hip) == ("2.5.1+rocm6.2", "rocm", None)


@pytest.mark.parametrize(
    "files", [{f"{SITE}/torch/lib/x": b""}, {f"{SITE}/torch/version.py": "garbage"}, {f"{SITE}/torchvision/x": ""}]
)
def test_leftovers_are_no_torch(files: Files) -> None:
    assert torch_of(files) is None


def test_two_triton_packages_are_both_seen() -> None:
    files: Files = {f"{SITE}/triton-3.3.0.dist-info/METADATA": "", f"{SITE}/pytorch_triton_rocm-3.2.0.dist-info/METADATA": ""}
    env = gather(venv("/v")[0] | files, venv("/v")[1], {"VIRTUAL_ENV": "/v"})[0]
    assert env.get("triton") and env.get("pytorch-triton-rocm")
    assert env.get("triton_rocm") is None


def test_an_unreadable_environment_is_unknown() -> None:
    files, nodes = venv("/v")
    host = small_host(files, nodes, env={"VIRTUAL_ENV": "/v"}, unknown=[f"{SITE}", f"{SITE}/**"])
    with pytest.raises(UnknownFact):
        pythons.gather(host)


def test_a_record_that_was_not_captured_is_no_reason_to_give_up() -> None:
    files = venv("/v")[0] | torch(SITE)
    record = f"{SITE}/torch-2.5.1+rocm6.2.dist-info/RECORD"
    host = small_host(files, venv("/v")[1], env={"VIRTUAL_ENV": "/v"}, unknown=[record])
    found = pythons.gather(host)[0].torch
    assert found and (found.build, found.layout) == ("rocm", "bundled")


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_any_content_is_read(config: bytes, version: bytes, metadata: bytes) -> None:
    files: Files = {
        "/v/pyvenv.cfg": config,
        f"{SITE}/torch/version.py": b"__version__ = '2.5.1'\n" + version,
        f"{SITE}/torch-2.5.1.dist-info/METADATA": metadata,
        f"{SITE}/torch-2.5.1.dist-info/RECORD": metadata,
    }
    gather(files, None, {"VIRTUAL_ENV": "/v", "HOME": "/home/user1"})


@given(st.dictionaries(st.sampled_from(["PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "PYENV_VERSION"]), st.text(max_size=30)))
def test_any_environment_variables_are_taken(env: dict[str, str]) -> None:
    pythons.gather(small_host(SYSTEM, SYSTEM_LINKS, env=env))
