"""Python environments and PyTorch as files: pyvenv.cfg, dist-info, version.py, RECORD. Nothing is ever imported from them."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from tests.hostbuilder.out import Out
from tests.hostbuilder.releases import key
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.spec import Torch

_COMMON = ("libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libc10.so", "libgomp.so.1", "libshm.so")
_BUNDLED = (
    "libamdhip64.so", "libhsa-runtime64.so", "libamd_comgr.so", "libMIOpen.so", "librocblas.so", "libhipblas.so",
    "libhipblaslt.so", "libhipfft.so", "librocfft.so", "libhiprand.so", "librocrand.so", "libhipsolver.so", "librocsolver.so",
    "libhipsparse.so", "librocsparse.so", "librccl.so", "libmagma.so", "librocm_smi64.so", "libroctracer64.so", "libroctx64.so",
    "libhiprtc.so", "libtorch_hip.so", "libc10_hip.so", "librocprofiler-register.so", "libdrm.so.2", "libdrm_amdgpu.so.1",
)  # fmt: skip
_XNACK = ("gfx906", "gfx908", "gfx90a", "gfx942")
_HIPBLASLT = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")
_CUDA = ("nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cudnn", "nvidia-nccl")


def library_folder(host: Resolved) -> str | None:
    """site-packages (or dist-packages) of the environment, None where there is no Python."""
    env = host.python
    if env is None:
        return None
    version = env.version or host.distro.python
    if env.kind == "user":
        return f"{host.home}/.local/lib/python{version}/site-packages"
    if env.kind == "system":
        if host.distro.deb:
            return f"/usr/local/lib/python{version}/dist-packages"
        return f"/usr/{'lib64' if host.distro.rpm else 'lib'}/python{version}/site-packages"
    return f"{prefix(host)}/lib/python{version}/site-packages"


def prefix(host: Resolved) -> str:
    """The environment's folder."""
    env = host.python
    assert env is not None
    if env.path:
        return env.path
    if env.kind == "conda":
        return f"{host.home}/miniconda3/envs/rocm"
    return "/opt/venv" if host.container else f"{host.home}/venv"


def _hash(text: str) -> str:
    return f"sha256={crc32(text.encode()):08x}{crc32(text.encode(), 7):08x}_Jk3Vq0sPZt9wY7cXb2mLr5dGh8"


@lru_cache(maxsize=256)
def _record(torch: Torch, dist: str) -> tuple[str, tuple[str, ...]]:
    """(RECORD, files that exist on disk as placeholders)."""
    libraries = [*_COMMON]
    if torch.build == "rocm":
        libraries += _BUNDLED if torch.layout == "bundled" else ["libtorch_hip.so", "libc10_hip.so"]
    elif torch.build == "cuda":
        libraries += ["libtorch_cuda.so", "libc10_cuda.so"]
    names = [
        "torch/__init__.py",
        "torch/version.py",
        "torch/_C.cpython-310-x86_64-linux-gnu.so",
        *(f"torch/lib/{n}" for n in libraries),
    ]
    present = tuple(
        f"torch/lib/{n}" for n in libraries if n in ("libamdhip64.so", "libtorch_hip.so", "libtorch_cuda.so", "librocblas.so")
    )
    if torch.build == "rocm" and torch.layout == "bundled":
        for gfx in torch.gfx if torch.library_gfx is None else torch.library_gfx:
            names.append(f"torch/lib/rocblas/library/TensileLibrary_lazy_{gfx}.dat")
            variants = (f"{gfx}-xnack-", f"{gfx}-xnack+") if gfx in _XNACK else (gfx,)
            names += [f"torch/lib/rocblas/library/Kernels.so-000-{v}.hsaco" for v in variants]
            if gfx in _HIPBLASLT:
                names += [
                    f"torch/lib/hipblaslt/library/Kernels.so-000-{gfx}.hsaco",
                    f"torch/lib/hipblaslt/library/TensileLibrary_lazy_{gfx}.dat",
                ]
        names.append("torch/share/miopen/db/gfx906.kdb" if "gfx906" in torch.gfx else "torch/share/miopen/db/gfx90a.kdb")
    if torch.build == "rocm" and torch.layout == "rocm-sdk":
        names.append("torch/_rocm_init.py")
    lines = [f"{name},{_hash(name)},{1000 + len(name)}" for name in names]
    lines += [f"{dist}/{name},," for name in ("METADATA", "RECORD", "WHEEL", "INSTALLER")]
    return "\n".join(lines) + "\n", present


def _version_py(torch: Torch) -> str:
    release = key(torch.version.partition("+")[0])
    rows = [("cuda", torch.cuda), ("hip", torch.hip)]
    if release >= (2, 10):
        rows.append(("rocm", torch.rocm))
    if release >= (2, 6):
        rows.append(("xpu", None))
    names = ["__version__", "debug", "cuda", "git_version", *(n for n, _ in rows if n != "cuda")]
    text = f"from typing import Optional\n\n__all__ = {names}\n__version__ = '{torch.version}'\ndebug = False\n"
    body = [f"{name}: Optional[str] = {value!r}\n" for name, value in rows]
    body.insert(1, "git_version = '3f1c0a9be24d5b7786d1f0e5a2c4938b6d7e8f90'\n")
    return text + "".join(body)


def dist_info(out: Out, folder: str, name: str, version: str, requires: tuple[str, ...] = (), record: str | None = None) -> str:
    """One *.dist-info; returns its folder's name."""
    dist = f"{name.replace('-', '_')}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    base = f"{folder}/{dist}"
    out.file(f"{base}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}\n")
    out.file(f"{base}/INSTALLER", "pip\n")
    out.file(f"{base}/WHEEL", "Wheel-Version: 1.0\nGenerator: bdist_wheel (0.44.0)\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
    if record is None:
        record = f"{dist}/METADATA,,\n{dist}/RECORD,,\n"
    if record:
        out.file(f"{base}/RECORD", record)
    return dist


def _requires(torch: Torch) -> tuple[str, ...]:
    rows = ["filelock", "typing-extensions>=4.10.0", "sympy>=1.13.3", "networkx", "jinja2", "fsspec"]
    if torch.build == "cuda":
        suffix = f"cu{(torch.cuda or '12').partition('.')[0]}"
        rows += [f"{name}-{suffix}==1.0; platform_system == 'Linux'" for name in _CUDA]
    if torch.layout == "rocm-sdk":
        rows.append(f"rocm[libraries]=={_sdk_version(torch)}")
    if torch.triton and torch.build != "cpu":
        rows.append(f"{torch.triton[0]}=={torch.triton[1]}; platform_system == 'Linux'")
    return tuple(rows)


def _sdk_version(torch: Torch) -> str:
    tag = (torch.rocm or torch.version.partition("+rocm")[2] or "7.14.0").split(".")
    return ".".join([*tag, "0"][:3])


def _sdk(out: Out, folder: str, torch: Torch) -> None:
    """The rocm-sdk distributions that hold the libraries, and a device package per target."""
    version = _sdk_version(torch)
    for name in ("rocm", "rocm-sdk-core", "rocm-sdk-libraries"):
        dist_info(out, folder, name, version)
    core = ("libamdhip64.so.7", "libhsa-runtime64.so.1", "libamd_comgr.so.3")
    out.binaries(f"{folder}/_rocm_sdk_core/lib", core)
    out.binaries(f"{folder}/_rocm_sdk_libraries/lib", ("librocblas.so.5", "libhipblaslt.so.1", "libMIOpen.so.1"))
    for gfx in torch.gfx if torch.devices is None else torch.devices:
        name, dist = f"rocm-sdk-device-{gfx}", f"rocm_sdk_device_{gfx}-{version}.dist-info"
        kpack = f"_rocm_sdk_libraries/.kpack/blas_lib_{gfx}.kpack"
        dist_info(
            out, folder, name, version, (f"rocm-sdk-libraries=={version}",), f"{kpack},{_hash(kpack)},5000\n{dist}/RECORD,,\n"
        )
        dist_info(out, folder, f"amd-torch-device-{gfx}", torch.version, (f"rocm-sdk-device-{gfx}=={version}",))


def _torch(out: Out, folder: str, torch: Torch) -> None:
    version = torch.metadata_version or torch.version
    record, present = _record(torch, f"torch-{version}.dist-info")
    dist_info(out, folder, "torch", version, _requires(torch), record if torch.record else "")
    out.file(f"{folder}/torch/__init__.py", "# torch\n")
    out.file(f"{folder}/torch/version.py", _version_py(torch))
    out.binaries(folder, present)
    if torch.triton and torch.build != "cpu":
        dist_info(out, folder, *torch.triton)
        out.file(f"{folder}/triton/__init__.py", "# triton\n")
    for name, companion in (("torchvision", torch.torchvision), ("torchaudio", torch.torchaudio)):
        if companion:
            dist_info(out, folder, name, companion, (f"torch=={version}",) if name == "torchvision" else ())
    if torch.layout == "rocm-sdk":
        _sdk(out, folder, torch)
    if torch.build == "cuda":
        suffix = f"cu{(torch.cuda or '12').partition('.')[0]}"
        for name in _CUDA:
            dist_info(out, folder, f"{name}-{suffix}", "12.4.5.8")


def render_python(out: Out, host: Resolved) -> None:
    """The system's interpreter, the environment, and what is installed in it."""
    own = host.distro.python
    interpreters = {own}
    env, folder = host.python, library_folder(host)
    if env is not None and env.version and env.kind != "conda":
        interpreters.add(env.version)
    for version in interpreters:
        out.program(f"/usr/bin/python{version}")
        out.dir(f"/usr/lib/python{version}")
    out.link("/usr/bin/python3", f"python{own}")
    if host.distro.externally_managed:
        out.file(f"/usr/lib/python{own}/EXTERNALLY-MANAGED", "[externally-managed]\nError=Use a virtual environment.\n")
    if env is None or folder is None:
        return
    version = env.version or own
    out.dir(folder)
    if env.kind in ("venv", "conda"):
        top = prefix(host)
        if env.kind == "venv":
            text = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}.12\n"
            text += f"executable = /usr/bin/python{version}\n"
            out.file(f"{top}/pyvenv.cfg", text)
            out.link(f"{top}/bin/python{version}", f"/usr/bin/python{version}")
        else:
            out.program(f"{top}/bin/python{version}")
            out.file(
                f"{top}/conda-meta/python-{version}.12-h5148396_0.json", f'{{"name": "python", "version": "{version}.12"}}\n'
            )
            out.file(f"{top}/conda-meta/history", "")
        out.link(f"{top}/bin/python3", f"python{version}")
        out.link(f"{top}/bin/python", "python3")
        dist_info(out, folder, "pip", "24.2")
    if host.torch is not None:
        _torch(out, folder, host.torch)
        # torch before 2.3 was built against numpy 1.
        dist_info(out, folder, "numpy", "2.1.3" if key(host.torch.version.partition("+")[0]) >= (2, 3) else "1.26.4")
    for name, text in env.extra:
        dist_info(out, folder, name, text)
