"""Which PyTorch wheel fits a GPU, a Python and a driver: every ROCm wheel that has the target, best first, never CPU or CUDA."""

# Annotations are not postponed here: NamedTuple compiles each one that is a string, which costs a millisecond a class.

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.answers import Verdict
from rocmdoctor.matrix.torch_releases import TorchRelease, cpython_tag
from rocmdoctor.matrix.wheels import TheRockTorch, TorchIndexes, WheelFault


class WheelChoice(NamedTuple):
    """A wheel set: the torch release, its index, and the requirements to give to pip together with --index-url.

    `rocm` is the ROCm of the wheel. `origin`: pytorch.org | amd. `faults` are known troubles of the choice.
    """

    torch: str
    index_name: str
    index_url: str
    requirements: tuple[str, ...]
    rocm: str
    origin: str
    reason: str
    source: tuple[str, ...]
    confidence: str | None = None
    faults: tuple[WheelFault, ...] = ()
    driver_verdict: Verdict = Verdict.UNKNOWN


def official_choices(
    releases: Iterable[TorchRelease], indexes: TorchIndexes, faults: Sequence[WheelFault], gfx: str, python: str | None
) -> Iterator[WheelChoice]:
    """Wheels of download.pytorch.org that have the target and the Python."""
    for release in releases:
        if python and not release.has_python(python):
            continue
        for index in release.indexes:
            if gfx not in release.gfx[index]:
                continue
            troubles = tuple(f for f in faults if f.holds(gfx, release.version, index))
            yield WheelChoice(
                torch=f"{release.version}+rocm{index}",
                index_name=f"rocm{index}",
                index_url=indexes.url.format(index=index),
                requirements=_official_requirements(release, index, troubles),
                rocm=index,
                origin="pytorch.org",
                reason=f"PyTorch {release.version} on the rocm{index} index has {gfx}",
                source=indexes.source,
                confidence=release.confidence,
                faults=tuple(f for f in troubles if f.kind != "torchaudio"),
            )


def _official_requirements(release: TorchRelease, index: str, faults: Sequence[WheelFault]) -> tuple[str, ...]:
    local = f"+rocm{index}"
    found = [f"torch=={release.version}{local}"]
    if release.torchvision:
        found.append(_pin("torchvision", release.torchvision, local))
    if release.torchaudio and not any(f.kind == "torchaudio" for f in faults):
        found.append(_pin("torchaudio", release.torchaudio, local if release.torchaudio == release.version else ""))
    if release.triton_package and release.triton_version and not release.triton_version.endswith("x"):
        found.append(f"{release.triton_package}=={release.triton_version}")
    return tuple(found)


def _pin(package: str, version: str, local: str) -> str:
    """ "0.29.x" pins the line, an exact version with the local tag that belongs to the index."""
    return f"{package}=={version[:-1]}*" if version.endswith(".x") else f"{package}=={version}{local}"


def therock_choices(
    rows: Iterable[TheRockTorch], faults: Sequence[WheelFault], tested: Sequence[str], gfx: str, python: str | None
) -> Iterator[WheelChoice]:
    """AMD's own multi-arch wheels with the device extra of the target."""
    for row in rows:
        if gfx not in row.devices or (python and cpython_tag(python) not in row.cpython):
            continue
        for packages in row.sets:
            torch = packages["torch"]
            extra = f"[device-{gfx}]"
            requirements = [f"rocm[libraries,device-{gfx}]=={row.rocm}", f"torch{extra}=={torch}"]
            if "torchvision" in packages:
                requirements.append(_pin(f"torchvision{extra}", packages["torchvision"], ""))
            if "torchaudio" in packages:
                requirements.append(_pin("torchaudio", packages["torchaudio"], ""))
            doubts = [row.confidence] if row.confidence else []
            if gfx not in tested:
                doubts.append(f"AMD builds {gfx} there, TheRock does not list it as tested")
            series = versions.major_minor(row.rocm)
            yield WheelChoice(
                torch=f"{torch}+rocm{row.rocm}",
                index_name=row.wheel_index.name,
                index_url=row.wheel_index.url,
                requirements=tuple(requirements),
                rocm=row.rocm,
                origin="amd",
                reason=f"AMD's PyTorch {torch} for ROCm {row.rocm} has device packages for {gfx}",
                source=row.source,
                confidence="; ".join(doubts) or None,
                faults=tuple(f for f in faults if f.kind == "kernels" and f.holds(gfx, torch, series)),
            )


def ranked(
    choices: Iterable[WheelChoice], rocm: str | None, judge_driver: Callable[[str], Verdict] | None
) -> tuple[WheelChoice, ...]:
    """Best first: the driver carries it, no known trouble, the ROCm that was asked for, official before AMD's, newest torch.

    A wheel whose ROCm the driver does not carry is left out; without a driver (the kernel's own) nothing is.
    """
    kept: list[tuple[tuple[object, ...], WheelChoice]] = []
    for choice in choices:
        verdict = judge_driver(choice.rocm) if judge_driver else Verdict.UNKNOWN
        if verdict is Verdict.UNSUPPORTED:
            continue
        torch, _, local = choice.torch.partition("+")
        asked = 0
        if rocm:
            asked = 2 if versions.key(rocm) == versions.key(choice.rocm) else 1 if _same_line(rocm, choice.rocm) else 0
        rank = (
            judge_driver is not None and verdict is not Verdict.SUPPORTED,
            bool(choice.faults),
            -asked,
            choice.origin != "pytorch.org",
            tuple(-n for n in versions.components(torch)),
            tuple(-n for n in versions.components(local.removeprefix("rocm"))),
        )
        kept.append((rank, _with_driver(choice, verdict)))
    return tuple(choice for _, choice in sorted(kept, key=lambda pair: pair[0]))


def _same_line(left: str, right: str) -> bool:
    return versions.components(left)[:2] == versions.components(right)[:2]


def _with_driver(choice: WheelChoice, verdict: Verdict) -> WheelChoice:

    return choice._replace(driver_verdict=verdict)
