"""The page of the fleet: what it is made of, and how it behaves in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rocmdoctor.fleet import merge
from rocmdoctor.reports import fleet_html
from tests.fleet import chromium
from tests.fleet.chromium import Chromium
from tests.fleet.test_merge import HOSTILE, report
from tests.hostbuilder import HostBuilder

HOSTILE_NAME = f"evil{HOSTILE}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight GPUs with xGMI, a node with a fault, one of a report, a hostile one, a broken one, and many like ones."""
    top = tmp_path_factory.mktemp("nodes")
    HostBuilder().gpus("gfx942", count=8).write_tar(top / "mi300-1.tar.gz")
    HostBuilder().fault_not_in_group().write_tar(top / "node5.tar.gz")
    evil = report(node=HOSTILE_NAME, results=[{"id": HOSTILE, "status": "fail", "title": HOSTILE}])
    evil["host"]["kernel"] = evil["host"]["gpus"][0]["product"] = evil["host"]["gpus"][0]["gfx"] = HOSTILE
    healthy = {"verdict": "healthy", "root_causes": []}
    like = [report(node=f"node{n}", results=[], summary=healthy) for n in range(100, 240)]
    (top / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (evil, *like)))
    (top / "cut.tar.gz").write_bytes(b"\x1f\x8b" + HOSTILE.encode())
    path = top.parent / "page.html"
    with merge([str(top)], details=True) as found, path.open("w", encoding="utf-8") as file:
        file.writelines(fleet_html.render(found))
    return path


class Tags(HTMLParser):
    """Every tag and attribute of the page, and the text of its script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data


def test_nothing_of_a_host_becomes_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = Tags(text)
    names = [tag for tag, _ in found.tags]
    assert names.count("script") == 2 and "img" not in names
    assert not [a for _, attributes in found.tags for a in attributes if a.startswith("on") or a in ("style", "src")]
    assert "\u2028" not in text and "\u202e" not in text and "\x1b" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    data = json.loads(found.scripts[0])
    assert any(n[0].startswith("evil</script>") and "\\u2028\\x1b[31m\\u202e{{data}}" in n[0] for n in data["nodes"])


def test_the_policy_names_the_script_and_the_style(page: Path) -> None:
    found = Tags(page.read_text(encoding="utf-8"))
    policy = next(str(a["content"]) for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and fleet_html._digest(found.scripts[1]) in policy
    assert "unsafe" not in policy


def test_like_nodes_share_what_they_have_in_common(tmp_path: Path) -> None:
    def size(count: int) -> int:
        data = (tmp_path / "one.tar.gz").read_bytes()
        for n in range(count):
            (tmp_path / f"n{n}.tar.gz").write_bytes(data)
        with merge([str(tmp_path)], details=True, jobs=1) as found:
            return sum(map(len, fleet_html.render(found)))

    HostBuilder().gpus("gfx942", count=8).write_tar(tmp_path / "one.tar.gz")
    assert (size(9) - size(1)) / 8 < 600


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if chromium.program() is None:
        pytest.skip("no Chromium (Debian's package chromium)")
    with Chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def names(browser: Chromium) -> list[str]:
    shown: list[str] = browser.ask("[...document.querySelectorAll('#rows .open')].map(b => b.textContent)")
    return shown


def search(browser: Chromium, words: str) -> None:
    browser.ask("document.getElementById('search').select()")
    browser.type(words)


SHOWN = "document.getElementById('shown').textContent"


def test_search_filters_and_counts(page: Path, browser: Chromium) -> None:
    browser.open(page)
    assert browser.ask(SHOWN) == "143 nodes" and len(names(browser)) == 100
    assert browser.ask("document.getElementById('more').textContent") == "Show 43 more of 43"
    browser.ask("document.getElementById('more').click()")
    assert len(names(browser)) == 143 and browser.ask("document.getElementById('more').hidden")
    search(browser, "mi300 gfx942")
    assert names(browser) == ["mi300-1"] and browser.ask(SHOWN) == "1 of 143 nodes"
    search(browser, "no such thing")
    assert names(browser) == []
    browser.ask("document.getElementById('reset').click()")
    assert browser.ask(SHOWN) == "143 nodes"
    browser.ask("document.querySelector('[data-verdict=broken]').click()")
    assert names(browser)[0].startswith("evil") and names(browser)[1:] == ["node5"]
    browser.ask("[...document.querySelectorAll('[data-cause]')].find(b => b.textContent.includes('kfd-access')).click()")
    assert names(browser) == ["node5"]
    assert not browser.errors


def test_sorting_by_heading(page: Path, browser: Chromium) -> None:
    browser.open(page)
    browser.ask("document.querySelector('#head button').click()")
    assert names(browser)[1:4] == ["mi300-1", "node5", "node100"]  # numbers in names count as numbers
    browser.ask("document.querySelector('#head button').click()")
    assert names(browser)[0] == "node239"
    assert browser.ask("document.querySelector('#head th').getAttribute('aria-sort')") == "descending"
    assert not browser.errors


def test_a_node_opens_by_keyboard_and_shows_its_stack_and_links(page: Path, browser: Chromium) -> None:
    browser.open(page)
    search(browser, "mi300")
    browser.ask("document.querySelector('#rows .open').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.querySelector('dialog').open")
    assert browser.ask("document.activeElement.textContent") == "Close"
    assert browser.ask("document.querySelectorAll('dialog svg path.xgmi').length") == 28 + 1  # every pair, and the legend
    assert browser.ask("document.querySelectorAll('dialog svg rect.gpu').length") == 8
    title = browser.ask("document.querySelector('dialog svg path.xgmi title').textContent")
    assert re.fullmatch(r"GPU \d to GPU \d: xGMI, weight 15, up to 64 GB/s", title)
    stack = browser.ask("document.querySelector('dialog .stack').innerText")
    assert "rocBLAS" in stack and "Kernel and driver" in stack
    assert browser.ask("location.hash") == "#mi300-1"
    browser.press("Escape", 27)
    assert not browser.ask("document.querySelector('dialog').open")
    assert browser.ask("document.activeElement.textContent") == "mi300-1"
    assert not browser.errors


def test_an_address_opens_its_node(page: Path, browser: Chromium) -> None:
    browser.open(page, anchor="#node5")
    assert "permissions.kfd-access" in browser.ask("document.querySelector('dialog[open]').innerText")
    browser.open(page, anchor="#%E0%A4%A")
    assert not browser.ask("document.querySelector('dialog').open") and not browser.errors


def test_a_hostile_node_is_text(page: Path, browser: Chromium) -> None:
    browser.open(page)
    browser.ask("window.alert = () => { throw new Error('ran') }")
    search(browser, "evil")
    browser.ask("document.querySelector('#rows .open').click()")
    assert "<img src=x onerror=alert(1)>" in browser.ask("document.querySelector('dialog').innerText")
    assert browser.ask("document.querySelectorAll('img').length") == 0
    assert not browser.errors


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_widths_and_schemes(page: Path, browser: Chromium, width: int, dark: bool) -> None:
    """Nothing is wider than the window, text stands out from what is behind it (WCAG 2.2, 1.4.3), nothing is fetched."""
    browser.requests.clear()
    browser.open(page, width=width, dark=dark)
    for _ in range(2):
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(CONTRAST) == []
        browser.ask("document.querySelector('#rows .open').click()")
    assert browser.ask("document.querySelector('dialog').scrollWidth") <= width
    page_dark: Any = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", page_dark))) < 200) == dark
    assert browser.requests == [page.as_uri()] and not browser.errors


CONTRAST = """(() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("svg, noscript, script, option") || !e.getClientRects().length) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
})()"""
