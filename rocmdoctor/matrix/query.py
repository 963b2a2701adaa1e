"""Combinations of ROCm, system, kernel, GPU, PyTorch, Python and driver: every pair, and what would make them fit."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rocmdoctor import versions
from rocmdoctor.matrix.answers import Answer, Suggestion, Verdict

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix

ELEMENTS = ("rocm", "os", "kernel", "gfx", "torch", "python", "driver")
_FORMS = {
    "rocm": r"(?i:latest|(?:rocm)?[- ]?v?\d+(\.\d+){0,2})",
    "os": r"[a-z][a-z0-9._-]*[: ]\S+",
    "kernel": r"\d+\.\d+\S*",
    "gfx": r"gfx\d+[0-9a-f]{2}",
    "torch": r"\d+\.\d+(\.\d+)?(\+\S+)?",
    "python": r"3\.\d+(\.\d+)?",
    "driver": r"\d+(\.\d+){1,2}",
}
_HINTS = {"os": "id:version, as ubuntu:22.04", "gfx": "a target, as gfx90a", "python": "a version, as 3.12"}
_GLIBC_OF_MANYLINUX = "2.28"


class Combination(NamedTuple):
    """What is asked about; None where it is not. `os` is "id:version"."""

    rocm: str | None = None
    os: str | None = None
    kernel: str | None = None
    gfx: str | None = None
    torch: str | None = None
    python: str | None = None
    driver: str | None = None

    @classmethod
    def of(cls, **what: str | None) -> "Combination":
        """Checked input. Raises ValueError with a sentence for an unknown element or an unreadable value."""
        for name, value in what.items():
            if name not in ELEMENTS:
                raise ValueError(f"unknown element {name!r}; known: {', '.join(ELEMENTS)}")
            if value is not None and not re.fullmatch(_FORMS[name], value.strip()):
                raise ValueError(f"{value!r} is not {_HINTS.get(name, f'a {name} version')}")
        return cls(**{name: value.strip() if value else None for name, value in what.items()})

    @property
    def system(self) -> tuple[str, str] | None:
        if not self.os:
            return None
        os_id, version = re.split(r"[: ]", self.os, maxsplit=1)
        return os_id, version.strip()


def answers(matrix: "Matrix", what: Combination) -> list[Answer]:
    """One answer per pair that is given, in the order rocm, system, GPU, driver, PyTorch."""
    return list(_answers(matrix, what))


def _answers(matrix: "Matrix", what: Combination) -> Iterator[Answer]:
    rocm = (matrix.resolve(what.rocm) or what.rocm) if what.rocm else None
    system = what.system
    if rocm and system:
        yield matrix.os(rocm, *system, gfx=what.gfx)
        if what.kernel:
            yield matrix.kernel(rocm, *system, what.kernel, gfx=what.gfx)
    if rocm and what.gfx:
        os_id, os_version = system or (None, None)
        yield matrix.gpu(rocm, what.gfx, os_id=os_id, os_version=os_version)
    if rocm and what.driver:
        target = matrix.gfx(what.gfx) if what.gfx else None
        yield matrix.driver(rocm, what.driver, family=target.families[0] if target else None)
    if rocm and what.python:
        yield _rocm_python(matrix, rocm, what.python)
    if what.torch:
        yield from _torch(matrix, what, rocm, system)


def _rocm_python(matrix: "Matrix", rocm: str, python: str) -> Answer:
    question = f"Python {python} with ROCm {rocm}"
    release = matrix.release(rocm)
    if release is None or release.python is None:
        return Answer(
            Verdict.UNKNOWN, question, f"no list of Python versions was read for ROCm {rocm}", release.source if release else ()
        )
    listed = release.python
    words = ", ".join(listed.versions)
    if versions.major_minor(python) in listed.versions:
        return Answer(Verdict.SUPPORTED, question, f"AMD names Python {words} for ROCm {rocm}", listed.source, listed.basis)
    verdict = Verdict.UNSUPPORTED if release.line == "therock" else Verdict.UNKNOWN
    return Answer(verdict, question, f"AMD names Python {words} for ROCm {rocm}, not {python}", listed.source, listed.basis)


def _torch(matrix: "Matrix", what: Combination, rocm: str | None, system: tuple[str, str] | None) -> Iterator[Answer]:
    assert what.torch is not None
    public = what.torch.partition("+")[0]
    release = matrix.torch_release(public)
    source = matrix.torch_indexes.source
    if release is None or not release.indexes:
        why = release.confidence if release else None
        yield Answer(
            Verdict.UNKNOWN, f"PyTorch {public}", f"the matrix does not know the ROCm wheels of PyTorch {public}", source, why
        )
        return
    names = ", ".join(f"rocm{index}" for index in release.indexes)
    fitting = release.indexes
    if rocm:
        question = f"PyTorch {public} with ROCm {rocm}"
        fitting = tuple(index for index in release.indexes if versions.components(index)[:2] == versions.components(rocm)[:2])
        own = [row.rocm for row in matrix.therock_torch if row.rocm == rocm and any(s["torch"] == public for s in row.sets)]
        known = matrix.release(rocm)
        tested = (known.frameworks.versions.get("pytorch") if known and known.frameworks else None) or ()
        if fitting:
            yield Answer(
                Verdict.SUPPORTED,
                question,
                f"PyTorch {public} has a wheel on the index rocm{fitting[0]}",
                source,
                release.confidence,
            )
        elif own:
            yield Answer(
                Verdict.SUPPORTED, question, f"AMD's index for ROCm {rocm} has PyTorch {public}", matrix.therock_torch[0].source
            )
        elif any(versions.components(t) == versions.components(public)[: len(versions.components(t))] for t in tested):
            assert known is not None and known.frameworks is not None
            reason = f"AMD lists PyTorch {public} for ROCm {rocm}; the official wheels are {names}"
            yield Answer(Verdict.SUPPORTED, question, reason, known.frameworks.source)
        else:
            yield Answer(
                Verdict.UNSUPPORTED, question, f"PyTorch {public} has wheels for {names} only", source, release.confidence
            )
    if what.gfx:
        having = [f"rocm{index}" for index in fitting or release.indexes if what.gfx in release.gfx[index]]
        verdict = Verdict.SUPPORTED if having else Verdict.UNSUPPORTED
        reason = f"{', '.join(having)} has {what.gfx}" if having else f"none of {names} is compiled for {what.gfx}"
        yield Answer(verdict, f"PyTorch {public} on {what.gfx}", reason, matrix.torch_indexes.gfx_source, release.confidence)
    if what.python:
        verdict = Verdict.SUPPORTED if release.has_python(what.python) else Verdict.UNSUPPORTED
        reason = f"wheels of PyTorch {public} exist for {', '.join(release.cpython)}"
        doubt = release.confidence if release.confidence and "CPython" in release.confidence else None
        yield Answer(verdict, f"PyTorch {public} with Python {what.python}", reason, source, doubt)
    if what.driver and not rocm:
        yield _torch_driver(matrix, what, public, release.indexes)
    if system:
        yield from _torch_glibc(matrix, public, system)


def _torch_driver(matrix: "Matrix", what: Combination, torch: str, indexes: tuple[str, ...]) -> Answer:
    """Some wheel of this torch must be carried by the driver."""
    target = matrix.gfx(what.gfx) if what.gfx else None
    family = target.families[0] if target else None
    found = [matrix.driver(index, what.driver or "", family=family) for index in indexes]
    best = min(found, key=lambda a: (not a.ok, a.verdict is Verdict.UNSUPPORTED))
    return best._replace(question=f"PyTorch {torch} on amdgpu {what.driver}")


def _torch_glibc(matrix: "Matrix", torch: str, system: tuple[str, str]) -> Iterator[Answer]:
    rules = matrix.wheel_rules
    glibc = matrix.glibc(*system)
    if glibc is None or versions.key(torch) < versions.key(rules.manylinux_2_28_from):
        return
    fits = versions.key(glibc) >= versions.key(_GLIBC_OF_MANYLINUX)
    reason = f"the wheels are manylinux_2_28, {system[0]} {system[1]} has glibc {glibc}"
    yield Answer(
        Verdict.SUPPORTED if fits else Verdict.UNSUPPORTED, f"PyTorch {torch} on {' '.join(system)}", reason, rules.source
    )


def suggestions(matrix: "Matrix", what: Combination, per_element: int = 2) -> list[Suggestion]:
    """Changes of one element after which every pair fits, the nearest first. What was unknown before may stay unknown.

    The GPU is never changed. Empty when nothing is unsupported, or when no single change helps.
    """
    before = answers(matrix, what)
    if not any(a.verdict is Verdict.UNSUPPORTED for a in before):
        return []
    doubts = sum(a.verdict is Verdict.UNKNOWN for a in before)
    found: list[tuple[int, int, int, Suggestion]] = []
    for order, element in enumerate(ELEMENTS):
        old = getattr(what, element)
        if old is None or element == "gfx":
            continue
        kept = 0
        for distance, new in enumerate(_alternatives(matrix, what, element)):
            judged = tuple(answers(matrix, what._replace(**{element: new})))
            unknown = sum(a.verdict is Verdict.UNKNOWN for a in judged)
            if any(a.verdict is Verdict.UNSUPPORTED for a in judged) or unknown > doubts:
                continue
            found.append((unknown, distance, order, Suggestion(element, old, new, judged)))
            kept += 1
            if kept == per_element:
                break
    return [suggestion for *_, suggestion in sorted(found, key=lambda row: row[:3])]


def _alternatives(matrix: "Matrix", what: Combination, element: str) -> list[str]:
    """Other values of an element, nearest first (the newer of two that are equally near)."""
    current = str(getattr(what, element))
    if element == "rocm":
        return _nearest(list(matrix.versions), matrix.resolve(current) or current)
    if element == "torch":
        return _nearest(
            [v for v in matrix.torch_versions if (known := matrix.torch_release(v)) and known.indexes], current.partition("+")[0]
        )
    if element == "python":
        tags = {int(tag[3:]) for v in matrix.torch_versions for tag in _release_tags(matrix, v)}
        return _nearest([f"3.{minor}" for minor in sorted(tags)], versions.major_minor(current))
    if element == "driver":
        return _nearest([r.version for r in matrix.driver_releases], current)
    release = matrix.release(matrix.resolve(what.rocm) or what.rocm) if what.rocm else None
    system = what.system
    if release is None or system is None:
        return []
    if element == "os":
        return [f"{system[0]}:{v}" for v in _nearest(sorted(release.os_versions(system[0]), key=versions.key), system[1])]
    rows = [r for r in release.os_rows or () if r.id == system[0] and versions.is_prefix(r.version, system[1])]
    return _nearest(sorted({k for r in rows for k in r.kernels or ()}, key=versions.key), current)


def _release_tags(matrix: "Matrix", version: str) -> tuple[str, ...]:
    release = matrix.torch_release(version)
    return tuple(tag for tag in release.cpython if tag[2:].isdigit()) if release else ()


def _nearest(ordered: list[str], current: str) -> list[str]:
    """The values without `current`, by distance from its place in the order."""
    place = sum(versions.key(v) < versions.key(current) for v in ordered)
    others = [(abs(i - place), -i, v) for i, v in enumerate(ordered) if versions.key(v) != versions.key(current)]
    return [v for *_, v in sorted(others)]
