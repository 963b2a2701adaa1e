"""Small matrix files for tests of the loader: a few sections, each as YAML text."""

from __future__ import annotations

from pathlib import Path

from rocmdoctor.matrix import Matrix, load_matrix

GFX = """\
gfx:
  source: [page]
  gfx90a: {family: [instinct]}
  gfx1100: {family: [radeon]}
"""
START = """\
date: "2026-11-30"
sources:
  page: "a page of AMD's documentation"
distributions:
  ubuntu: {name: Ubuntu, packages: apt, listed: ["22.04"], codenames: {jammy: "22.04"}, source: [page]}
"""
APU = """\
apu_status: {source: [page], gfx: [gfx1151], rows: []}
apu_classic: {source: [page], gfx: [gfx1151], rocm: {from: "6.4.4"}, reason: "not read"}
"""
RELEASE = """\
releases:
  "6.2.0":
    date: "2024-08-02"
    line: classic
    source: [page]
    os:
      source: [page]
      rows:
        - {os: ubuntu 22.04, point: "22.04.5", kernels: ["5.15", "6.8"]}
    gpus:
      source: [page]
      rows:
        - {gfx: gfx90a, products: [Instinct MI210]}
"""
SMALL = START + GFX + APU + RELEASE


def load_text(folder: Path, text: str) -> Matrix:
    file = folder / "matrix.yaml"
    file.write_text(text, encoding="utf-8")
    return load_matrix(file)


def line_of(text: str, part: str) -> int:
    """The line, from 1, on which a part of the text stands."""
    return text[: text.index(part)].count("\n") + 1
