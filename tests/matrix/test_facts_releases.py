"""Every row of the collected release facts, asked through the questions that checks ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rocmdoctor import versions
from rocmdoctor.matrix import Matrix, Verdict
from tests.matrix.facts_files import facts, needs_facts

pytestmark = needs_facts

RELEASES: dict[str, Any] = facts("rocm_releases.yaml").get("releases", {})
SUPPORTED = {"supported": Verdict.SUPPORTED, "preview": Verdict.SUPPORTED, "deprecated": Verdict.DEPRECATED}
VERDICT = {**SUPPORTED, "unsupported": Verdict.UNSUPPORTED, "unknown": Verdict.UNKNOWN}
IDS = {
    "Ubuntu": "ubuntu",
    "RHEL": "rhel",
    "SLES": "sles",
    "Debian": "debian",
    "Oracle Linux": "ol",
    "Rocky": "rocky",
    "Azure Linux": "azurelinux",
}
AMD_SPELLING = {"4.18-513": "4.18.0-513"}
"""Kernels that AMD printed in a form that no uname -r has."""


def os_rows() -> list[Any]:
    return [
        pytest.param(v, row, id=f"{v}-{row['id']}-{row['point']}-{i}".replace(" ", ""))
        for v, release in RELEASES.items()
        for i, row in enumerate(release["os"])
        if row.get("id")
    ]


def gpu_rows() -> list[Any]:
    return [
        pytest.param(v, row, id=f"{v}-{row['gfx']}-{i}")
        for v, release in RELEASES.items()
        for i, row in enumerate(release["gpus"])
        if row.get("gfx")
    ]


def driver_rows() -> list[Any]:
    return [
        pytest.param(v, row, id=f"{v}-{i}")
        for v, release in RELEASES.items()
        for i, row in enumerate(release["drivers"])
        if row["driver"]
    ]


def named_boards(limit: str, release: Any) -> list[str]:
    """Products that an OS row's limit names; the whole Instinct list where it says Instinct."""
    listed = [p for row in release["gpus"] if row.get("gfx") and row["status"] != "unsupported" for p in row["products"]]
    found: list[str] = []
    for part in limit.split(";"):
        names = re.findall(r"MI\d+\w*", part)
        words = [w for w in ("Instinct", "Radeon", "Ryzen") if w in part]
        if "except" in part:
            found += [p for p in listed if p.startswith("Instinct") and p.split()[-1] not in names]
        else:
            found += [p for p in listed if (p.split()[-1] in names if names else p.split()[0] in words)]
    return found


def gfx_of(product: str, release: Any) -> str:
    return str(next(row["gfx"] for row in release["gpus"] if product in row.get("products", ())))


def board_for(limit: str | None, release: Any) -> dict[str, str]:
    """Arguments that say which GPU is asked about: the first that the row's limit allows."""
    if not limit:
        return {}
    boards = named_boards(limit, release)
    if not boards:
        return {"family": next(w.lower() for w in ("Instinct", "Radeon", "Ryzen") if w in limit)}
    return {"product": boards[0], "gfx": gfx_of(boards[0], release)}


@pytest.mark.parametrize(("rocm", "row"), os_rows())
def test_operating_system(matrix: Matrix, rocm: str, row: Any) -> None:
    board = board_for(row.get("gpu_limits"), RELEASES[rocm])
    answer = matrix.os(rocm, row["id"], row["point"], **board)
    assert answer.verdict is VERDICT[row["status"]], answer
    assert answer.source
    if row["status"] != "unsupported":
        assert matrix.os(rocm, row["id"], row["version"], **board).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(("rocm", "row"), [p for p in os_rows() if p.values[1]["status"] != "unsupported"])
def test_kernels(matrix: Matrix, rocm: str, row: Any) -> None:
    board = board_for(row.get("gpu_limits"), RELEASES[rocm])
    if row["kernels"] == "unknown":
        assert matrix.kernel(rocm, row["id"], row["point"], "9.9.9-1-generic", **board).verdict is Verdict.UNKNOWN
        return
    for kernel in row["kernels"]:
        running = AMD_SPELLING.get(kernel, kernel)
        running += "-44-generic" if running.count("-") == 0 and running.count(".") > 1 else ".0-44-generic"
        answer = matrix.kernel(rocm, row["id"], row["point"], running, **board)
        assert answer.verdict is Verdict.SUPPORTED, answer
        other = matrix.kernel(rocm, row["id"], row["point"], "2.6.32-431.el6", **board)
        assert other.verdict in (Verdict.UNSUPPORTED, Verdict.UNKNOWN)
        if not row.get("kernel_note") and not row.get("confidence"):
            assert other.verdict is Verdict.UNSUPPORTED, other


@pytest.mark.parametrize(
    ("rocm", "row"), [p for p in os_rows() if re.search(r"MI\d|Instinct|Radeon|Ryzen", p.values[1].get("gpu_limits") or "")]
)
def test_limits_of_operating_systems(matrix: Matrix, rocm: str, row: Any) -> None:
    """A GPU that the release lists and the row's limit leaves out is not supported on that row's system by that row."""
    release, limit = RELEASES[rocm], row["gpu_limits"]
    same_system = [
        o.get("gpu_limits")
        for o in release["os"]
        if o.get("id") == row["id"] and (o["point"] == row["point"] or row["point"] == row["version"] == o["version"])
    ]
    allowed = {p for text in same_system for p in (named_boards(text, release) if text else ["*"])}
    if "*" in allowed or limit.startswith(("all listed", "7.1 list plus")):
        return
    if "V710" in limit:
        allowed.add("Radeon PRO V710")
    for gpu in release["gpus"]:
        for product in gpu.get("products", ()):
            if gpu["status"] in ("unsupported", "unknown") or product in allowed:
                continue
            verdict = matrix.os(rocm, row["id"], row["point"], gfx=gpu["gfx"], product=product).verdict
            wanted = {Verdict.UNKNOWN} if "not read" in limit else {Verdict.UNSUPPORTED, Verdict.UNKNOWN}
            assert verdict in wanted, (product, limit)


@pytest.mark.parametrize(("rocm", "row"), gpu_rows())
def test_gpu(matrix: Matrix, rocm: str, row: Any) -> None:
    for product in row["products"]:
        answer = matrix.gpu(rocm, row["gfx"], product=product)
        assert answer.verdict is VERDICT[row["status"]], answer
        assert answer.source
    release = matrix.release(rocm)
    assert release is not None
    listed = {p for own in release.gpus(row["gfx"]) for p in own.products}
    if rocm not in ("10.0.0", "10.1.0"):  # there the newer file has one row per product
        assert set(row["products"]) <= listed


def limited_systems(text: str) -> Iterator[tuple[str, str]]:
    """(id, version) pairs that a GPU row's limit names, "RHEL 9.6, 9.4" and "Oracle Linux" (no version: "") included."""
    current = ""
    for part in re.split(r",| and | or ", text):
        found = re.search(
            r"(Ubuntu|RHEL|SLES|Debian|Oracle Linux|Rocky|Azure Linux)?\s*(15 SP\d|\d+(?:\.\d+)*)?\s*(?:only)?$", part.strip()
        )
        if found and (found.group(1) or found.group(2)):
            current = IDS[found.group(1)] if found.group(1) else current
            yield current, found.group(2) or ""


@pytest.mark.parametrize(
    ("rocm", "row"),
    [p for p in gpu_rows() if any(re.search(r"only|not on|not RHEL|except", t) for t in p.values[1].get("os_limits", ()))],
)
def test_limits_of_gpus(matrix: Matrix, rocm: str, row: Any) -> None:
    systems = [(o["id"], o["version"]) for o in RELEASES[rocm]["os"] if o.get("id")]
    for text in row["os_limits"]:
        if "HWE" in text or "of the SLES" in text or "footnote" in text or text.startswith("as ") or ": as " in text:
            continue
        plain = re.sub(r"\(.*?\)", "", text).split(";")[0].strip()
        subject, colon, rest = plain.partition(":")
        of_some = bool(colon) and not re.match(r"Ubuntu|RHEL|all", subject)
        body = rest if of_some else plain
        products = [p for p in row["products"] if not of_some or any(p.endswith(s.strip()) for s in subject.split(","))]
        if not of_some:  # a product with a limit of its own is judged by that one
            own = [s.strip() for t in row["os_limits"] if t is not text for s in t.partition(":")[0].split(",")]
            products = [p for p in products if not any(p.endswith(s) for s in own)]
        negative = "not on" in body or "except" in body or "not RHEL" in body
        added = {("debian", "13")} if "Debian 13 added" in text else set()
        added |= {("sles", "15 SP7")} if "SLES 15 SP7 added" in text else set()
        named = [
            (i, v)
            for os_id, version in limited_systems(body)
            for i, v in ([(os_id, version)] if version else [(i, v) for i, v in systems if i == os_id])
            if (i, v) not in added
        ]
        assert named and products, text
        for os_id, version in named:
            for product in products:
                verdict = matrix.gpu(rocm, row["gfx"], product=product, os_id=os_id, os_version=version).verdict
                assert verdict is (Verdict.UNSUPPORTED if negative else Verdict.SUPPORTED), (product, os_id, version, text)
        for os_id, version in systems if not negative and body.strip().endswith("only") else ():
            if any(i == os_id and (versions.is_prefix(version, v) or os_id == "sles") for i, v in named):
                continue
            for product in products:
                verdict = matrix.gpu(rocm, row["gfx"], product=product, os_id=os_id, os_version=version).verdict
                assert verdict in (Verdict.UNSUPPORTED, Verdict.UNKNOWN), (product, os_id, version, text)


@pytest.mark.parametrize(("rocm", "row"), driver_rows())
def test_driver(matrix: Matrix, rocm: str, row: Any) -> None:
    release = matrix.release(rocm)
    assert release is not None
    scope = row.get("scope", "")
    if "inbox" in row["driver"] or "Ryzen" in scope:
        assert release.drivers.families and release.drivers.families["ryzen"] == ()
        assert matrix.driver(rocm, "30.10.2", family="ryzen").verdict is Verdict.UNSUPPORTED
        return
    for pattern in re.split(r", | or ", re.sub(r"\(.*\)", "", row["driver"])):
        driver = pattern.strip().replace(".x", ".0")
        family = next((f for f in ("instinct", "radeon") if f in scope.lower()), None)
        if rocm in ("10.0.0", "10.1.0"):
            family = "instinct"
        answer = matrix.driver(rocm, driver, family=family)
        assert answer.verdict is Verdict.SUPPORTED, answer
        assert answer.source
    if row["basis"] == "released_together" and "inference" not in row["driver"] and " or " not in row["driver"]:
        assert release.drivers.released_with is not None
        assert versions.key(release.drivers.released_with) == versions.key(row["driver"])


@pytest.mark.parametrize("rocm", [v for v, r in RELEASES.items() if any(d["basis"] == "latest_table" for d in r["drivers"])])
def test_drivers_outside_the_table(matrix: Matrix, rocm: str) -> None:
    """Lines of the cross table that the facts do not give to a release are not supported either."""
    given = {p for d in RELEASES[rocm]["drivers"] if d["driver"] for p in re.split(r", | or ", d["driver"])}
    lines = {versions.major_minor(p.strip()) for p in given}
    for window in matrix.driver_windows.rows:
        line = window.driver.removesuffix(".x")
        if line not in lines:
            assert matrix.driver(rocm, f"{line}.0", family="instinct").verdict is not Verdict.SUPPORTED, line


@pytest.mark.parametrize("rocm", list(RELEASES))
def test_release(matrix: Matrix, rocm: str) -> None:
    """Date, line, frameworks, Python and what was not read."""
    wanted, release = RELEASES[rocm], matrix.release(rocm)
    assert release is not None
    assert (release.date or "unknown") == wanted["date"]
    assert release.line == wanted["line"]
    assert release.radeon_only == wanted.get("radeon_only", False)
    for name, cell in wanted["frameworks"].items():
        if name in ("source", "confidence") or rocm == "10.1.0":
            continue
        got = release.frameworks.versions.get(name) if release.frameworks else None
        want = None if cell == "unknown" else tuple(re.match(r"[\d.]*\d", v).group() for v in cell or ())  # type: ignore[union-attr]
        assert got == want, name
    if isinstance(wanted["python"]["versions"], list):
        assert release.python is not None
        assert list(release.python.versions) == wanted["python"]["versions"]
    for block, known in (("os", release.os_rows), ("gpus", release.gpu_rows)):
        if all(row.get("status") == "unknown" and "gfx" not in row for row in wanted[block]):
            assert known is None
    if any(row.get("status") == "unknown" and "gfx" not in row for row in wanted["gpus"]):
        assert matrix.gpu(rocm, "gfx1201").verdict in (Verdict.UNKNOWN, Verdict.SUPPORTED)
        assert matrix.gpu(rocm, "gfx1150", family="ryzen").verdict is Verdict.UNKNOWN


def test_the_releases_are_those_of_the_facts(matrix: Matrix) -> None:
    assert matrix.versions == tuple(sorted(RELEASES, key=versions.key))
    assert len(matrix.versions) == 43


def test_driver_numbers(matrix: Matrix) -> None:
    numbering = facts("rocm_releases.yaml")["driver_numbering"]
    for rocm, driver in numbering["pairs"].items():
        release = matrix.release(rocm)
        known = (release.drivers.released_with if release else None) or matrix.driver_for(rocm)
        assert (known and versions.key(known) == versions.key(driver.split()[0])) or rocm == "7.14.0", rocm
    assert matrix.driver_release_of_module("6.14.14-2222715") == "30.10.2"
    assert matrix.driver_release_of_module("6.14.14-2204008") == "30.10.0"
    assert matrix.driver_release_of_module("6.12.12-2133686") == "6.4.0"
    assert matrix.driver_release_of_module("6.19.14") == "31.40"


@pytest.mark.parametrize(
    "row", facts("rocm_releases.yaml").get("glibc", {}).get("rows", []), ids=lambda r: f"{r['id']}-{r['version']}"
)
def test_glibc(matrix: Matrix, row: Any) -> None:
    assert matrix.glibc(row["id"], row["version"]) == row["glibc"]


@pytest.mark.parametrize(
    "row", facts("rocm_releases.yaml").get("driver_table_latest", {}).get("rows", []), ids=lambda r: str(r["driver"])
)
def test_cross_table(matrix: Matrix, row: Any) -> None:
    own = next(w for w in matrix.driver_windows.rows if w.driver == row["driver"])
    assert list(own.userspace) == row["userspace"]
