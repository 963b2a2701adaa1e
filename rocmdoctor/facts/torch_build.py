"""One torch build, read as text and never imported: version.py, METADATA, RECORD (rules.md 30-35).

Layouts: up to rocm7.2 the ROCm libraries lie in torch/lib; from rocm7.14, and in all TheRock builds, in _rocm_sdk_core and
_rocm_sdk_libraries* beside torch.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor.facts import known
from rocmdoctor.facts.gfx_names import target_in, targets_in
from rocmdoctor.facts.remembered import remembered

if TYPE_CHECKING:
    from rocmdoctor.facts.distributions import Distribution
    from rocmdoctor.host import Host

RECORD_LIMIT = 48 << 20
"""Bytes. RECORD of a ROCm wheel has some 20,000 lines and 2 MB; a build with all headers of composable kernel 300,000."""


class Torch(NamedTuple):
    """`build`: rocm | cuda | cpu | xpu. `version` is torch.__version__ of version.py, else the distribution's. `hip`, `rocm`,
    `cuda` as in version.py. `rocm_release`: the ROCm release of the wheel by rules.md 30 (version.rocm, then the +rocm tag,
    then what the matrix makes of hip), None for others. `layout`: bundled | rocm-sdk | system (a ROCm build with no ROCm
    libraries of its own) | None. `gfx`: targets that the wheel's library files name (RECORD), per library; empty frozenset
    values mean "no file names a target". `gfx_device`: targets of installed amd-torch-device-* / rocm-sdk-device-*
    distributions, and of the older rocm-sdk-libraries-<family>; group names stay as they are ("gfx110x-dgpu"), `covers`
    understands them."""

    version: str
    build: str
    hip: str | None
    rocm: str | None
    cuda: str | None
    rocm_release: str | None
    layout: str | None
    gfx: dict[str, frozenset[str]]
    """Keys: rocblas, hipblaslt, miopen, aotriton ... as found."""
    gfx_device: frozenset[str]
    libraries: frozenset[str]
    """Base names in torch/lib from RECORD (or the folder): libamdhip64.so, libtorch_hip.so ..."""
    path: str
    """site-packages/torch"""
    present: frozenset[str] = frozenset()
    """Base names that lie in torch/lib now: WSL guides delete libhsa-runtime64.so there."""
    xpu: str | None = None
    debug: bool = False

    @property
    def library_gfx(self) -> frozenset[str]:
        """Union of what the library files and device packages name."""
        return frozenset().union(*self.gfx.values(), self.gfx_device)

    def covers(self, gfx: str, *, apu: bool | None = None) -> bool | None:
        """Whether an installed device package is for the target; None when there is none, or a group leaves it open.

        `apu` decides between TheRock's "-dgpu" and "-igpu" groups.
        """
        answers = [in_group(group, gfx, apu) for group in self.gfx_device]
        if True in answers:
            return True
        return None if None in answers or not answers else False


# `name: annotation = value` or `name = value`; the value is a quoted string, None, True or False.
_ASSIGNMENT = r"(\w+)\s*(?::[^=\n]*)?=\s*(?:(['\"])([^'\"\n]{0,200})\2|(None|True|False))"
_TAG_ROCM = r"(?:dev)?rocm(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)"
_NUMBER = r"\d{1,4}\.\d{1,4}(?:\.\d{1,4})?"
_GROUP = r"gfx(\d{1,3}|9[0-9a-f]{2}|1[0-9a-f]{3})(?:-(\d))?(x)?(?:-(dgpu|igpu|dcgpu|all|strict))?"
_DEVICE = ("amd-torch-device-", "rocm-sdk-device-", "rocm-sdk-libraries-")


def parse_version_py(text: str) -> dict[str, str | None]:
    """Assignments of torch/version.py, with or without type annotations. Names that are not there are not in the result."""
    values: dict[str, str | None] = {}
    for line in text.split("\n")[:400]:
        found = re.match(_ASSIGNMENT, line[:1000])
        if found and found.group(1) not in values:
            values[found.group(1)] = None if found.group(4) == "None" else found.group(3) or found.group(4) or None
    return values


def local_tag(version: str) -> str:
    """ "rocm6.2" of "2.5.1+rocm6.2"; "" without a tag."""
    return version.partition("+")[2]


def rocm_release(version: str, rocm: str | None) -> str | None:
    """The ROCm release that a wheel names (rules.md 30): torch.version.rocm, else the local tag. HIP's number is the matrix's."""
    if rocm:
        found = re.match(_NUMBER, rocm)
        if found:
            return found.group()
    tag = re.search(_TAG_ROCM, local_tag(version))
    return tag.group(1) if tag else None


def build_of(version: str, values: dict[str, str | None], requires: Iterable[str], libraries: Iterable[str]) -> str:
    """rocm | cuda | cpu | xpu: version.py decides; else the tag, the requirements, the libraries."""
    for build, name in (("rocm", "hip"), ("cuda", "cuda"), ("xpu", "xpu")):
        if values.get(name):
            return build
    if values.get("rocm"):
        return "rocm"
    tag = local_tag(version)
    for build, mark in (("rocm", "rocm"), ("cuda", "cu1"), ("cuda", "cu9"), ("xpu", "xpu"), ("cpu", "cpu")):
        if mark in tag:
            return build
    if "hip" in values and "cuda" in values:  # a complete version.py that names no accelerator
        return "cpu"
    wanted = [r.lower() for r in requires]
    names = frozenset(libraries)
    if any(r.startswith(("pytorch-triton-rocm", "triton-rocm", "rocm[")) for r in wanted) or "libtorch_hip.so" in names:
        return "rocm"
    if any(r.startswith(("nvidia-", "cuda-toolkit", "cuda-bindings")) for r in wanted) or "libtorch_cuda.so" in names:
        return "cuda"
    return "cpu"


def in_group(group: str, gfx: str, apu: bool | None = None) -> bool | None:
    """Whether a target belongs to a device package's group ("gfx1100", "gfx110x-dgpu", "gfx115x", "gfx12-0", "gfx11", "all").

    None where the name leaves it open: "-dgpu" and "-igpu" need to know whether the GPU is an APU.
    """
    if group in (gfx, "all"):
        return True
    found = re.fullmatch(_GROUP, group)
    if not found:
        return False
    digits, minor, wild, kind = found.groups()
    stem = f"gfx{digits}{minor or ''}"
    # Without a wildcard a full target is itself only; a shorter stem is a family of rocm-bootstrap ("gfx11", "gfx12-0").
    whole = not wild and not minor and len(digits) == (3 if digits[0] in "6789" else 4)
    if not gfx.startswith(stem) or (whole and gfx != stem) or len(gfx) != (6 if gfx[3:4] in "6789" else 7):
        return False
    if kind in ("dgpu", "igpu") and not whole:
        return None if apu is None else apu == (kind == "igpu")
    return True


def _base(name: str) -> str | None:
    """ "libamdhip64.so" of "libamdhip64.so.6.2"; None for what is no shared library."""
    end = name.find(".so")
    return name[: end + 3] if end > 0 and name.startswith("lib") else None


def _library_of(path: str) -> str | None:
    """Which library a file below torch/lib belongs to, by its folder. ROCm up to 5.2 had rocBLAS's files in lib/library."""
    folder, slash, rest = path.partition("/")
    if not slash:
        return None
    if folder == "library":
        return "rocblas"
    if folder.startswith("aotriton"):
        return "aotriton"
    return folder if rest.startswith("library/") else None


@remembered
def parse_record(text: str) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """(libraries in torch/lib, targets per library) of a RECORD. One pass that looks only at lines of these folders."""
    libraries: set[str] = set()
    targets: dict[str, set[str]] = {}
    text = "\n" + text
    for piece in text.split("\ntorch/lib/")[1:]:
        path = piece[: piece.find(",")] if "," in piece[:400] else piece[:400].partition("\n")[0]
        library = _library_of(path)
        if library:
            found = targets.setdefault(library, set())
            target = target_in(path)
            if target:
                found.add(target)
        elif "/" not in path and (base := _base(path)):
            libraries.add(base)
    for piece in text.split("\ntorch/share/miopen/db/")[1:]:
        target = target_in(piece[:100].partition(",")[0])
        if target:
            targets.setdefault("miopen", set()).add(target)
    return frozenset(libraries), {key: frozenset(value) for key, value in targets.items()}


def _names(host: "Host", folder: str) -> tuple[str, ...]:
    nothing: tuple[str, ...] = ()
    return known(lambda: host.names(folder), nothing)


def _folders(host: "Host", lib: str, database: str) -> dict[str, frozenset[str]]:
    """Targets in file names of library folders below `lib` and of MIOpen's database: for wheels without a RECORD."""
    found = {}
    for library in ("rocblas", "hipblaslt", "hipsparselt"):
        files = _names(host, f"{lib}/{library}/library")
        if files:
            found[library] = targets_in(files)
    files = _names(host, database)
    if files:
        found["miopen"] = targets_in(files)
    return found


def _merge(parts: Iterator[dict[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    merged: dict[str, frozenset[str]] = {}
    for part in parts:
        for key, value in part.items():
            merged[key] = merged.get(key, frozenset()) | value
    return merged


def _own(distributions: "Sequence[Distribution]", site: str, version: str | None) -> "Distribution | None":
    """torch's distribution in this folder. After a broken upgrade two lie there; the one of version.py counts."""
    candidates = [d for d in distributions if d.name == "torch" and d.path.startswith(f"{site}/")]
    exact = [d for d in candidates if version and d.version.partition("+")[0] == version.partition("+")[0]]
    return next((d for d in exact if d.version == version), None) or next(iter(exact or candidates), None)


def read_torch(host: "Host", site: str, names: tuple[str, ...], distributions: "Sequence[Distribution]") -> Torch | None:
    """The torch of one site-packages folder, given its names; None when there is none.

    A folder torch/ without version.py and without a distribution is what an uninstall leaves behind.
    """
    path = f"{site}/torch"
    text = host.read(f"{path}/version.py", 64 << 10) if "torch" in names else None
    values = parse_version_py(text) if text else {}
    own = _own(distributions, site, values.get("__version__"))
    if not values.get("__version__") and own is None:
        return None
    version = values.get("__version__") or (own.version if own else "")
    requires = own.requires if own else ()
    record = known(lambda: host.read(f"{own.path}/RECORD", RECORD_LIMIT), None) if own else None
    present = frozenset(b for n in _names(host, f"{path}/lib") if (b := _base(n)))
    if record:
        libraries, gfx = parse_record(record)
    else:
        libraries, gfx = present, _folders(host, f"{path}/lib", f"{path}/share/miopen/db")
    build = build_of(version, values, requires, libraries)
    layout = None
    if build == "rocm":
        sdk = [n for n in names if n.startswith("_rocm_sdk_")]
        if "libamdhip64.so" in libraries:
            layout = "bundled"
        elif sdk or any(r.startswith(("rocm[", "rocm-sdk")) for r in requires):
            layout = "rocm-sdk"
            folders = (_folders(host, f"{site}/{n}/lib", f"{site}/{n}/share/miopen/db") for n in sdk if "libraries" in n)
            gfx = _merge(iter([gfx, *folders]))
        else:
            layout = "system"
    hip, rocm = values.get("hip"), values.get("rocm")
    return Torch(
        version,
        build,
        hip,
        rocm,
        values.get("cuda"),
        rocm_release(version, rocm) if build == "rocm" else None,
        layout,
        gfx,
        frozenset(d.name.removeprefix(p) for d in distributions for p in _DEVICE if d.name.startswith(p)),
        libraries,
        path,
        present,
        values.get("xpu"),
        values.get("debug") == "True",
    )
