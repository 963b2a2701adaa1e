"""docs/checks.md is the page of the registry as it is, and Markdown acts on nothing in it but what we mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from rocmdoctor import engine
from rocmdoctor.engine import Check
from rocmdoctor.reports import catalog_page
from rocmdoctor.results import Finding
from tests.reports.hostile_reports import NASTY, TEXTS

PAGE = Path(__file__).parents[2] / "docs/checks.md"
GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ANCHOR = re.compile(r"^#{1,6} `(.+)`$", re.MULTILINE)


def built_in() -> tuple[Check, ...]:
    return tuple(c for c in engine.all_checks() if c.function.__module__.startswith("rocmdoctor.checks."))


def judge(facts: object, matrix: object) -> Iterator[Finding]:
    """Looks at `/sys/*` and <nothing> else.

    - It matters.
    """
    yield from ()


FIRST = Check("a_b.one", "All is *fine*", judge)
SECOND = Check(
    "a_b.two-x",
    "All is well",
    judge,
    after=("a_b.one", "c.d"),
    docs=("https://one.example/a_b", "rules.md <14>"),
    places=("bare-metal", "vm"),
    profiles=("node",),
    needs_gpu=False,
    deep=True,
)


def test_the_page_is_current() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == catalog_page.render(built_in()), (
        "docs/checks.md is not of these checks: python -m rocmdoctor list-checks --format markdown > docs/checks.md"
    )


def test_every_check_says_what_it_looks_at() -> None:
    assert [c.id for c in built_in() if len(c.why) < 40] == []


def test_every_link_inside_of_the_page_leads_somewhere() -> None:
    page = catalog_page.render(built_in())
    anchors = {catalog_page.anchor(heading) for heading in ANCHOR.findall(page)}
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert links <= anchors and len(links) == len(built_in())


def test_a_small_page() -> None:
    assert catalog_page.render((FIRST, SECOND)).partition("\n\n|")[2] == (
        " area | checks |\n"
        "| --- | --- |\n"
        "| `a_b` | [one](#a_bone), [two-x](#a_btwo-x) |\n"
        "\n"
        "## `a_b`\n"
        "\n"
        "### `a_b.one`\n"
        "\n"
        "**All is \\*fine\\*.**\n"
        "\n"
        "Looks at `/sys/*` and \\<nothing\\> else.\n"
        "\n"
        "\\- It matters.\n"
        "\n"
        "### `a_b.two-x`\n"
        "\n"
        "**All is well.**\n"
        "\n"
        "Looks at `/sys/*` and \\<nothing\\> else.\n"
        "\n"
        "\\- It matters.\n"
        "\n"
        "- Judged after [`a_b.one`](#a_bone) and [`c.d`](#cd).\n"
        "- Only on hosts of the kind bare-metal and vm.\n"
        "- Only with `--profile` node.\n"
        "- Only with `--deep`: it starts programs on the GPU.\n"
        "- Judged on hosts without an AMD GPU too.\n"
        "- See <https://one.example/a_b>\n"
        "- See `rules.md <14>`\n"
    )


@pytest.mark.parametrize("text", NASTY)
def test_prose_is_plain(text: str) -> None:
    plain(text)


@given(TEXTS)
def test_any_prose_is_plain(text: str) -> None:
    plain(text)


def plain(text: str) -> None:
    """`text` is one paragraph of text and code, whatever it holds."""
    tokens = GITHUB.parse(f"a {catalog_page.prose(text)} z")
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {c.type for c in tokens[1].children or ()} <= {"text", "text_special", "code_inline"}
    begun = GITHUB.parse(catalog_page.prose(text))
    assert {t.type for t in begun} <= {"paragraph_open", "inline", "paragraph_close", "code_block"}
