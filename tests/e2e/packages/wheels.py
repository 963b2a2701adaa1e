"""PyTorch's wheels for ROCm under their real names, in the indexes where they are: small bodies that pip installs and that can
be judged by what is written in them (version.py, METADATA, RECORD)."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.e2e.packages.shared_object import shared_object
from tests.hostbuilder.releases import key

PYTHONS = ("cp310", "cp311", "cp312", "cp313")
"""Tags that are built of those that a release has: what the distributions of the e2e roots may have."""

_MID = "gfx900 gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100"
_26 = f"{_MID} gfx1101"
_27 = f"{_26} gfx1102 gfx1200 gfx1201"
_210 = f"{_27} gfx950 gfx1150 gfx1151"
_212 = f"{_210} gfx1103"
_714 = "gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1200 gfx1201"
_SDK_GFX = "gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1151 gfx1201"
"""Targets that get device packages here: enough for the tests, far fewer than AMD has."""


class _Release(NamedTuple):
    """`whl`: its indexes by ROCm version, `pythons` the first and last CPython tag."""

    torch: str
    whl: str
    pythons: str
    torchvision: str
    torchaudio: str
    triton: str
    gfx: str


# pytorch/test-infra's build matrix (indexes, CPython), the wheels' metadata (companions), build scripts (gfx).
_RELEASES = (
    _Release("2.4.1", "6.0 6.1", "39-312", "0.19.1", "2.4.1", "3.0.0", _MID),
    _Release("2.5.0", "6.1 6.2", "39-312", "0.20.0", "2.5.0", "3.1.0", _MID),
    _Release("2.5.1", "6.1 6.2", "39-312", "0.20.1", "2.5.1", "3.1.0", _MID),
    _Release("2.6.0", "6.1 6.2.4", "39-313", "0.21.0", "2.6.0", "3.2.0", _26),
    _Release("2.7.0", "6.2.4 6.3", "39-313", "0.22.0", "2.7.0", "3.3.0", _27),
    _Release("2.7.1", "6.2.4 6.3", "39-313", "0.22.1", "2.7.1", "3.3.1", _27),
    _Release("2.8.0", "6.3 6.4", "39-313", "0.23.0", "2.8.0", "3.4.0", _27),
    _Release("2.9.0", "6.3 6.4", "310-314", "0.24.0", "2.9.0", "3.5.0", _27),
    _Release("2.9.1", "6.3 6.4", "310-314", "0.24.1", "2.9.1", "3.5.1", _27),
    _Release("2.10.0", "7.0 7.1", "310-314", "0.25.0", "2.10.0", "3.6.0", _210),
    _Release("2.11.0", "7.1 7.2", "310-314", "0.26.0", "2.11.0", "3.6.0", _210),
    _Release("2.12.0", "7.1 7.2", "310-314", "0.27.0", "2.11.0", "3.7.0", _212),
    _Release("2.12.1", "7.1 7.2", "310-314", "0.27.1", "2.11.0", "3.7.1", _212),
    _Release("2.13.0", "7.1 7.2", "310-314", "0.28.0", "2.11.0", "3.7.1", _212),
    _Release("2.14.0", "7.2 7.14", "310-314", "0.29.0", "2.11.1", "3.8.0", _212),
    _Release("2.14.1", "7.2 7.14", "310-314", "0.29.1", "2.11.1", "3.8.0", _212),
)
_HIP = {
    "6.0": "6.0.32830-d62f6a171", "6.1": "6.1.40091-a8dbc0c19", "6.2": "6.2.41133-dd7f95766", "6.2.4": "6.2.41134-65d174c3e",
    "6.3": "6.3.42131-fa1d09cbd", "6.4": "6.4.43484-123eb5128", "7.0": "7.0.51831", "7.1": "7.1.25424", "7.2": "7.2.26015",
    "7.14": "7.14.60850", "7.14.1": "7.14.60850", "10.0.0": "7.15.26333", "10.1.0": "7.16.26385",
}  # fmt: skip
# Pure Python requirements: every index of download.pytorch.org carries them too.
_PURE = {
    "filelock": "3.16.1", "typing_extensions": "4.12.2", "sympy": "1.13.3", "mpmath": "1.3.0", "networkx": "3.4.2",
    "jinja2": "3.1.4", "MarkupSafe": "2.1.5", "fsspec": "2024.10.0", "numpy": "2.1.2", "pillow": "11.0.0", "setuptools": "70.2.0",
}  # fmt: skip
_PURE_REQUIRES = {"sympy": ("mpmath<1.4,>=1.1.0",), "jinja2": ("MarkupSafe>=2.0",)}
_TORCH_REQUIRES = ("filelock", "typing-extensions>=4.8.0", "networkx", "jinja2", "fsspec", "sympy>=1.13.1")
_BUNDLED = (
    "libamdhip64.so", "libhsa-runtime64.so", "libamd_comgr.so", "libMIOpen.so", "librocblas.so", "libhipblas.so",
    "libhipblaslt.so", "librccl.so", "librocfft.so", "librocsolver.so", "librocsparse.so", "librocrand.so", "libhiprtc.so",
    "librocm_smi64.so", "libroctx64.so",
)  # fmt: skip


class Therock(NamedTuple):
    """A set of AMD's own wheels: `address` of its index (host and path), versions with their local tags."""

    address: str
    rocm: str
    torch: str
    torchvision: str
    torchaudio: str
    triton: str


THEROCK = (
    Therock("repo.amd.com/rocm/whl-multi-arch", "7.14.1", "2.12.0", "0.27.0", "2.11.0", "3.7.0"),
    Therock("stable.repo.amd.com/rocm/whl-next", "10.0.0", "2.13.0", "0.28.0", "2.11.0.2", "3.8.0+git4cff872c.rocm10.0.0"),
    Therock("stable.repo.amd.com/rocm/whl-next", "10.1.0", "2.14.0", "0.29.0", "2.11.1", "3.8.0+git5ad31c0e.rocm10.1.0"),
)


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    tag: str = "py3-none-any",
    requires: tuple[str, ...] = (),
    extras: Mapping[str, tuple[str, ...]] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """One wheel in `folder`/NAME/, as a PEP 503 index lists it."""
    plain = name.replace("-", "_")
    dist = f"{plain}-{version}.dist-info"
    rows = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    rows += [f"Requires-Dist: {line}\n" for line in requires]
    for extra, lines in (extras or {}).items():
        rows.append(f"Provides-Extra: {extra}\n")
        rows += [f"Requires-Dist: {line}; extra == '{extra}'\n" for line in lines]
    members = dict(files or {})
    members[f"{dist}/METADATA"] = "".join(rows).encode()
    pure = "true" if tag.endswith("none-any") else "false"
    members[f"{dist}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: small-bodies\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in members.items())
    members[f"{dist}/RECORD"] = f"{record}{dist}/RECORD,,\n".encode()
    target = folder / name.lower().replace("_", "-")
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / f"{plain}-{version}-{tag}.whl", "w", zipfile.ZIP_STORED) as archive:
        for path, data in members.items():
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), data)


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _tags(cpython: str) -> Iterator[str]:
    low, _, high = cpython.partition("-")
    return (tag for tag in PYTHONS if int(low) <= int(tag[2:]) <= int(high) or (low == "39" and int(tag[2:]) <= int(high)))


def _version_py(version: str, hip: str | None, rocm: str | None, cuda: str | None = None) -> bytes:
    release = key(version.partition("+")[0])
    lines = [f"__version__ = {version!r}", "debug = False", f"cuda: Optional[str] = {cuda!r}", f"git_version = {'3f1c0a9' * 5!r}",
             f"hip: Optional[str] = {hip!r}"]  # fmt: skip
    if release >= (2, 10):
        lines.append(f"rocm: Optional[str] = {rocm!r}")
    return ("from typing import Optional\n\n" + "\n".join(lines) + "\n").encode()


def _kernels(folder: str, gfx: str) -> dict[str, bytes]:
    files = {}
    for target in gfx.split():
        files[f"{folder}/rocblas/library/TensileLibrary_lazy_{target}.dat"] = b""
        files[f"{folder}/rocblas/library/Kernels.so-000-{target}.hsaco"] = b""
        if target in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"):
            files[f"{folder}/hipblaslt/library/TensileLibrary_lazy_{target}.dat"] = b""
    return files


def _torch_files(version: str, hip: str, rocm: str, libraries: tuple[str, ...]) -> dict[str, bytes]:
    files = {
        "torch/__init__.py": b"from torch.version import __version__  # a small body\n",
        "torch/version.py": _version_py(version, hip, rocm),
    }
    return files | {f"torch/lib/{lib}": shared_object(lib) for lib in ("libtorch.so", "libc10.so", "libtorch_hip.so", *libraries)}


def _pure(folder: Path) -> None:
    for name, version in _PURE.items():
        write_wheel(folder, name, version, requires=_PURE_REQUIRES.get(name, ()), files={f"{name.lower()}/__init__.py": b""})


def _sdk(folder: Path, version: str) -> None:
    """rocm-sdk-*: where the libraries are from 7.14 on, and a device package per target."""
    tag = "py3-none-linux_x86_64"
    core = {f"_rocm_sdk_core/lib/{lib}": shared_object(lib) for lib in ("libamdhip64.so.7", "libhsa-runtime64.so.1")}
    write_wheel(folder, "rocm-sdk-core", version, tag=tag, files=core)
    libraries = {
        f"_rocm_sdk_libraries/lib/{lib}": shared_object(lib) for lib in ("librocblas.so.5", "libhipblaslt.so.1", "libMIOpen.so.1")
    }
    write_wheel(folder, "rocm-sdk-libraries", version, tag=tag, requires=(f"rocm-sdk-core=={version}",), files=libraries)
    extras: dict[str, tuple[str, ...]] = {"libraries": (f"rocm-sdk-libraries=={version}",)}
    for gfx in _SDK_GFX.split():
        device = f"rocm-sdk-device-{gfx}"
        files = {f"_rocm_sdk_libraries/.kpack/blas_lib_{gfx}.kpack": b""} | _kernels("_rocm_sdk_libraries/lib", gfx)
        write_wheel(folder, device, version, tag=tag, requires=(f"rocm-sdk-libraries=={version}",), files=files)
        extras[f"device-{gfx}"] = (f"{device}=={version}",)
    extras["device-all"] = tuple(lines[0] for extra, lines in extras.items() if extra.startswith("device-"))
    # AMD publishes an sdist that looks at the machine; a wheel with the same extras needs no build here.
    write_wheel(
        folder, "rocm", version, requires=(f"rocm-sdk-core=={version}",), extras=extras, files={"rocm_sdk/__init__.py": b""}
    )


def write_official(root: Path) -> None:
    """Every index of download.pytorch.org from rocm6.0 on, in `root`/whl/rocmX.Y/."""
    indexes = sorted({index for row in _RELEASES for index in row.whl.split()}, key=key)
    for index in indexes:
        folder = root / "whl" / f"rocm{index}"
        _pure(folder)
        if index == "7.14":
            _sdk(folder, "7.14.0.post1")
        for row in _RELEASES:
            if index in row.whl.split():
                _official(folder, row, index)


def _official(folder: Path, row: _Release, index: str) -> None:
    local = f"+rocm{index}"
    platform = "manylinux_2_28_x86_64" if key(row.torch) >= (2, 6) else "linux_x86_64"
    triton = "triton-rocm" if key(row.torch) >= (2, 10) else "pytorch-triton-rocm"
    bundled = index != "7.14"
    gfx = row.gfx if bundled else _714
    requires: tuple[str, ...] = (
        *_TORCH_REQUIRES,
        f"{triton}=={row.triton}; platform_system == 'Linux' and platform_machine == 'x86_64'",
    )
    if not bundled:
        requires = (*requires, "rocm[libraries,device-all]==7.14.*")
    files = _torch_files(
        f"{row.torch}{local}", _HIP[index], f"{index}.0" if index.count(".") == 1 else index, _BUNDLED if bundled else ()
    )
    if bundled:
        files |= _kernels("torch/lib", gfx)
    else:
        files["torch/_rocm_init.py"] = b""
    for python in _tags(row.pythons):
        tag = f"{python}-{python}-{platform}"
        write_wheel(folder, "torch", f"{row.torch}{local}", tag=tag, requires=requires, files=files)
        vision = {
            "torchvision/__init__.py": b"",
            "torchvision/version.py": f"__version__ = '{row.torchvision}{local}'\n".encode(),
        }
        needs = ("numpy", "pillow!=8.3.*,>=5.3.0", f"torch=={row.torch}" if key(row.torch) < (2, 14) else f"torch>={row.torch}")
        write_wheel(folder, "torchvision", f"{row.torchvision}{local}", tag=tag, requires=needs, files=vision)
        audio_needs = (f"torch=={row.torch}",) if row.torchaudio == row.torch and key(row.torch) < (2, 11) else ("torch>=2.11",)
        write_wheel(
            folder, "torchaudio", f"{row.torchaudio}{local}", tag=tag, requires=audio_needs, files={"torchaudio/__init__.py": b""}
        )
        write_wheel(folder, triton, row.triton, tag=tag, files={"triton/__init__.py": b""})


def write_therock(root: Path) -> None:
    """AMD's own indexes; `root` holds a folder per host."""
    for index in {row.address for row in THEROCK}:
        _pure(root / index)
    for row in THEROCK:
        folder = root / row.address
        _sdk(folder, row.rocm)
        local = f"+rocm{row.rocm}"
        version = f"{row.torch}{local}"
        requires = (*_TORCH_REQUIRES, f"rocm[libraries]=={row.rocm}", f"triton=={row.triton}")
        files = _torch_files(version, _HIP[row.rocm], row.rocm, ()) | {"torch/_rocm_init.py": b""}
        extras = {
            f"device-{gfx}": (f"amd-torch-device-{gfx}=={version}", f"rocm-sdk-device-{gfx}=={row.rocm}")
            for gfx in _SDK_GFX.split()
        }
        vision_extras = {
            f"device-{gfx}": (f"amd-torchvision-device-{gfx}=={row.torchvision}{local}",) for gfx in _SDK_GFX.split()
        }
        for gfx in _SDK_GFX.split():
            tag = "py3-none-linux_x86_64"
            write_wheel(folder, f"amd-torch-device-{gfx}", version, tag=tag, files={f"torch/lib/.kpack/torch_{gfx}.kpack": b""})
            write_wheel(folder, f"amd-torchvision-device-{gfx}", f"{row.torchvision}{local}", tag=tag,
                        files={f"torchvision/.kpack/vision_{gfx}.kpack": b""})  # fmt: skip
        for python in PYTHONS:
            tag = f"{python}-{python}-linux_x86_64"
            write_wheel(folder, "torch", version, tag=tag, requires=requires, extras=extras, files=files)
            needs = ("numpy", "pillow", f"torch=={row.torch}")
            write_wheel(folder, "torchvision", f"{row.torchvision}{local}", tag=tag, requires=needs,
                        extras=vision_extras, files={"torchvision/__init__.py": b""})  # fmt: skip
            write_wheel(folder, "torchaudio", f"{row.torchaudio}{local}", tag=tag, requires=("torch>=2.11",),
                        files={"torchaudio/__init__.py": b""})  # fmt: skip
            write_wheel(folder, "triton", row.triton, tag=tag, files={"triton/__init__.py": b""})


def write_wrong_builds(root: Path) -> None:
    """The builds that users get by mistake: the CUDA wheel of the default index and the CPU wheel, in `root`/whl/{cu124,cpu}."""
    for index, cuda in (("cu124", "12.4"), ("cpu", None)):
        folder = root / "whl" / index
        _pure(folder)
        version = f"2.5.1+{index}"
        files = {"torch/__init__.py": b"", "torch/version.py": _version_py(version, None, None, cuda)}
        for python in PYTHONS:
            tag = f"{python}-{python}-linux_x86_64"
            write_wheel(folder, "torch", version, tag=tag, requires=_TORCH_REQUIRES, files=files)
