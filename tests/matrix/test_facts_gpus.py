"""Every row of gpus.csv and the tables of gpus.md, asked through pci_gpu, gfx, override and kfd_since."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest

from rocmdoctor.matrix import Matrix
from tests.matrix.facts_files import FACTS, needs_facts

pytestmark = needs_facts

ROWS: list[dict[str, str]] = list(csv.DictReader((FACTS / "gpus.csv").open(encoding="utf-8"))) if FACTS.is_dir() else []
NOTES = (FACTS / "gpus.md").read_text(encoding="utf-8") if FACTS.is_dir() else ""


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['pci_device_id']}-{r['revision'] or 'any'}")
def test_id(matrix: Matrix, row: dict[str, str]) -> None:
    own = matrix.pci_gpu(row["pci_device_id"], row["revision"])
    assert own is not None
    assert own.gfx == row["gfx"]
    assert own.klass == row["class"]
    assert own.generation == row["generation"]
    assert own.codename == row["codename"]
    assert own.kfd_since == row["kfd_support_since_kernel"] or (own.device, own.revision) == ("73ff", "df")
    if row["revision"]:
        assert own.revision == row["revision"]
        assert (own.product or "") == row["product"]
    else:
        assert set(row["product"].split("; ")) <= {*own.names, ""}
    for name in re.findall(r"linux|libhsakmt|rocm_agent_enumerator|gpuopen", row["source"].split(";")[0].split("(")[0]):
        assert name in own.sources or row["revision"]


def test_every_id_is_there(matrix: Matrix) -> None:
    assert set(matrix.pci_ids) == {row["pci_device_id"] for row in ROWS}
    assert len(matrix.pci_ids) == 208
    assert matrix.pci_gpu("10de") is None and matrix.pci_gpu("") is None
    assert matrix.pci_gpu("744C", "C8") == matrix.pci_gpu("744c", "c8")


def test_an_unknown_revision_answers_for_the_id(matrix: Matrix) -> None:
    own = matrix.pci_gpu("744c", "00")
    assert own is not None and own.revision == "" and own.gfx == "gfx1100" and len(own.names) > 1


def table(title: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    text = NOTES[NOTES.index(title) :]
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def test_generic_targets(matrix: Matrix) -> None:
    for generic, covers, *_ in table("## 2. Generic ISA targets"):
        first, *more = re.findall(r"[0-9a-f]{3,4}", covers.replace("(gfx940/941 earlier)", "").replace("gfx", ""))
        names = [first, *more]
        if " to " in covers:
            names = [f"{n:x}" for n in range(int(first, 16), int(more[0], 16) + 1)]
        if generic == "gfx11-generic":
            names = ["1100", "1101", "1102", "1103", "1150", "1151", "1152", "1153", "1154"]
        for name in names:
            target = matrix.gfx(f"gfx{name}")
            assert target is not None and target.generic == generic, name
    for name in ("gfx908", "gfx90a"):
        target = matrix.gfx(name)
        assert target is not None and target.generic is None


def test_features_of_target_ids(matrix: Matrix) -> None:
    for names, sramecc, xnack, _ in table("## 4. rocminfo's ISA names"):
        for name in re.findall(r"\b[0-9a-f]{3,4}\b", names):
            target = matrix.gfx(f"gfx{name}")
            if target is None:
                continue
            assert target.sramecc is (sramecc == "yes"), name
            assert target.xnack is (xnack == "yes"), name
            assert target.wavefront == (64 if int(name[:-2], 10) < 10 else 32)


def test_families_of_therock(matrix: Matrix) -> None:
    numbers = {name.removeprefix("gfx") for name in matrix.gfx_names}
    for names, members in table("## 5. TheRock families"):
        parts = [p.strip() for p in re.split(r"[,/]", names)]
        groups = [m for m in members.split(" / ")]
        for i, family in enumerate(parts):
            cell = groups[i] if len(groups) == len(parts) else members
            if cell == "all four":
                cell = "1100-1103"
            wanted = set()
            for first, last in re.findall(r"(?:gfx)?([0-9a-f]{3,4})(?:-([0-9]{4}))?", cell):
                wanted |= {f"{n}" for n in range(int(first), int(last) + 1)} if last else {first}
            assert {g.removeprefix("gfx") for g in matrix.therock_families[family]} == wanted & numbers, family


@pytest.mark.parametrize("value", re.findall(r"\| \**(\d{5,6})\** \| \**(gfx[0-9a-f]+)\**", NOTES))
def test_override_values_follow_gfx_target_version(matrix: Matrix, value: tuple[str, str]) -> None:
    number, gfx = int(value[0]), value[1]
    target = matrix.gfx(gfx)
    assert target is not None
    assert target.override_value == f"{number // 10000}.{number // 100 % 100}.{number % 100}"


OVERRIDES: list[tuple[list[str], str, str | None, set[str]]] = [
    (["gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"], "10.3.0", None, {"ok"}),
    (["gfx1031", "gfx1036"], "10.3.0", "6.4.3", {"risky"}),
    (["gfx1031"], "10.3.0", "6.4.1", {"ok"}),
    (["gfx1010", "gfx1011", "gfx1012"], "10.3.0", "6.2.0", {"wrong"}),
    (["gfx1010"], "10.3.0", "5.2.3", {"risky"}),
    (["gfx1101"], "11.0.0", "6.2.0", {"ok"}),
    (["gfx1102", "gfx1103"], "11.0.0", "6.2.0", {"risky"}),
    (["gfx1103"], "11.0.2", None, {"ok"}),
    (["gfx1150"], "11.0.0", None, {"wrong"}),
    (["gfx1150"], "11.5.1", None, {"wrong"}),
    (["gfx1152", "gfx1153"], "11.5.0", None, {"ok"}),
    (["gfx1151"], "11.0.0", "6.4.1", {"ok"}),
    (["gfx1151"], "11.0.0", "7.2.0", {"risky"}),
    (["gfx1151"], "11.5.1", None, {"noop"}),
    (["gfx90c", "gfx902"], "9.0.0", None, {"ok"}),
    (["gfx1200", "gfx1201"], "10.3.0", None, {"harmful"}),
    (["gfx1200", "gfx1201"], "11.0.0", None, {"harmful"}),
    (["gfx1200"], "12.0.1", None, {"harmful"}),
    (["gfx90a", "gfx942"], "9.0.6", None, {"wrong"}),
    (["gfx1100", "gfx90a", "gfx1030"], "", None, {"harmful"}),
    (["gfx1100"], "9.0.0", None, {"harmful"}),
    (["gfx90a"], "9.0.10", None, {"noop"}),
    (["gfx90a"], "9.0.a", None, {"wrong"}),
    (["gfx803"], "8.0.2", None, {"wrong"}),
    (["gfx1153", "gfx1102"], "11.5.1", None, {"risky"}),
]


@pytest.mark.parametrize(("targets", "value", "rocm", "wanted"), OVERRIDES)
def test_override_table(matrix: Matrix, targets: list[str], value: str, rocm: str | None, wanted: set[str]) -> None:
    for gfx in targets:
        rule = matrix.override(gfx, value, rocm=rocm)
        assert rule.verdict in wanted, (gfx, rule)
        assert rule.reason


def test_atomics(matrix: Matrix) -> None:
    """needs_pci_atomics of Linux 7.2: gfx8 always, gfx9 never, later by MEC firmware."""
    wanted: dict[str, tuple[str, Any]] = {
        "gfx803": ("always", None),
        "gfx90a": ("never", None),
        "gfx942": ("never", None),
        "gfx1010": ("firmware", "145"),
        "gfx1030": ("firmware", "92"),
        "gfx1036": ("firmware", "14"),
        "gfx1100": ("firmware", "509"),
        "gfx1201": ("firmware", "2090"),
    }
    for gfx, (needs, firmware) in wanted.items():
        target = matrix.gfx(gfx)
        assert target is not None and (target.needs_atomics, target.atomics_firmware) == (needs, firmware)


def test_kfd_since(matrix: Matrix) -> None:
    assert matrix.kfd_since("gfx1201") == ("6.10", "6.12")
    assert matrix.kfd_since("gfx90a") == ("5.11", "6.1")
    assert matrix.kfd_since("gfx803") == (None, "5.10")
    assert matrix.kfd_since("gfx1251") is None and matrix.kfd_since("gfx9999") is None


def test_virtual_functions(matrix: Matrix) -> None:
    for gfx in re.findall(r"gfx\d+\w*", NOTES[NOTES.index("refused for Polaris") :].split("(linux")[0]):
        assert gfx in matrix.vf_guests.refused
    assert "gfx942" in matrix.vf_guests.allowed
