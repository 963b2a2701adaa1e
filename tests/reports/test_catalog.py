"""The list of checks and the page on one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rocmdoctor.engine import Check
from rocmdoctor.reports import catalog
from rocmdoctor.results import Finding


def kfd_access(facts: object, matrix: object) -> Iterator[Finding]:
    """Opens nothing: it asks whether the user may open /dev/kfd.

    Every HIP program opens it first; without it no GPU is found.
    """
    yield from ()


PRESENT = Check("kfd_node.present", "/dev/kfd exists", kfd_access)
ACCESS = Check(
    "permissions.kfd-access",
    "The user can open /dev/kfd",
    kfd_access,
    after=("kfd_node.present",),
    docs=("https://one.example", "https://two.example"),
    places=("bare-metal", "vm"),
    profiles=("node",),
)


def test_listing() -> None:
    assert catalog.listing((PRESENT, ACCESS)) == (
        "kfd_node.present        /dev/kfd exists\npermissions.kfd-access  The user can open /dev/kfd\n"
    )
    assert catalog.listing(()) == ""


def test_listing_json() -> None:
    rows = json.loads(catalog.listing_json((PRESENT, ACCESS)))
    assert [r["id"] for r in rows] == ["kfd_node.present", "permissions.kfd-access"]
    assert rows[0]["profiles"] is None
    assert rows[1] == {
        "id": "permissions.kfd-access",
        "area": "permissions",
        "title": "The user can open /dev/kfd",
        "after": ["kfd_node.present"],
        "docs": ["https://one.example", "https://two.example"],
        "places": ["bare-metal", "vm"],
        "profiles": ["node"],
        "needs_gpu": True,
        "deep": False,
    }


def test_explain() -> None:
    assert catalog.explain(ACCESS, (PRESENT, ACCESS)) == (
        "The user can open /dev/kfd\n"
        "(permissions.kfd-access)\n"
        "\n"
        "Opens nothing: it asks whether the user may open /dev/kfd.\n"
        "\n"
        "Every HIP program opens it first; without it no GPU is found.\n"
        "\n"
        "Judged after  kfd_node.present\n"
        "On            bare-metal, vm\n"
        "Profiles      node\n"
        "See           https://one.example\n"
        "              https://two.example\n"
        "Run it        rocmdoctor check -v --only permissions.kfd-access\n"
    )
    assert "Needed by     permissions.kfd-access\n" in catalog.explain(PRESENT, (PRESENT, ACCESS))
