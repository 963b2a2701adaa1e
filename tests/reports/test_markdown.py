"""The block for bug reports: nothing of the host acts as Markdown or HTML, and nothing of it says whose host it is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rocmdoctor.host import User
from rocmdoctor.host.redaction import Redactor
from rocmdoctor.reports import markdown
from rocmdoctor.reports.fences import code_span, fence
from rocmdoctor.results import Evidence, Fix, Report, Result, Status
from tests.reports.hostile_reports import NASTY, REPORTS, TEXTS
from tests.reports.sample_reports import BROKEN, HEALTHY, KFD_ACCESS, NO_GPU, gpu, report, skipped

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    "heading_open",
    "heading_close",
    "paragraph_open",
    "paragraph_close",
    "bullet_list_open",
    "bullet_list_close",
    "list_item_open",
    "list_item_close",
    "fence",
    "inline",
    *(f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
}
INLINE = {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
OUR_TEXT = re.compile(
    r"(rocmdoctor [\w.+-]+|, compatibility matrix of [\d-]+: |(FAIL|WARN|ERROR): |Check |Suggested: |: |"
    r"Not judged: \d+|\d+ because of |Host|GPU|Driver|ROCm|PyTorch|Broken|Healthy|Works, with warnings|No AMD GPU|"
    r"(, then )?(log out and in again|reboot)( and reboot)?|"
    r" \(((, )?\d+ (problems?|warnings?|checks? broke|checks? passed))+\)|, then .*|)"
)


def blocks(text: str) -> list[Any]:
    """The tokens of a rendering that holds nothing but what we write: the host speaks in code only."""
    tokens = GITHUB.parse(text)
    assert {t.type for t in tokens} <= OURS
    for token in tokens:
        for child in token.children or ():
            assert child.type in INLINE, child
            assert child.type != "text" or OUR_TEXT.fullmatch(child.content), child.content
    return tokens


def test_a_broken_host() -> None:
    assert markdown.render(BROKEN) == (
        "**rocmdoctor 0.1.0**, compatibility matrix of 2026-11-30: **Broken** (1 problem, 1 warning, 1 check passed)\n"
        "\n"
        "| | |\n"
        "| --- | --- |\n"
        "| Host | `Ubuntu 22.04.4 LTS, kernel 6.8.0-45-generic` |\n"
        "| GPU | `Radeon RX 7900 XTX (gfx1100, 24 GiB)` |\n"
        "| Driver | `amdgpu 6.8.5, DKMS, release 6.2` |\n"
        "| ROCm | `6.2.0 in /opt/rocm-6.2.0, AMD's packages` |\n"
        "| PyTorch | `2.5.1+rocm6.2 in /opt/venv/bin/python` |\n"
        "\n"
        "### FAIL: `user1 cannot open /dev/kfd`\n"
        "\n"
        "Check `permissions.kfd-access`\n"
        "\n"
        "```text\n"
        "The node belongs to the group render, and user1 is not in it. "
        'Every HIP program ends with "no ROCm-capable device".\n'
        "- /dev/kfd: mode 0660 root:render, open: EACCES\n"
        "- groups of user1: user1 (1000), sudo (27)\n"
        "```\n"
        "\n"
        "Suggested: `Add user1 to the render and video groups`, then log out and in again\n"
        "\n"
        "```sh\n"
        "sudo usermod -a -G render,video user1\n"
        "```\n"
        "\n"
        "### WARN: `HSA_OVERRIDE_GFX_VERSION is a left-over`\n"
        "\n"
        "Check `hsa_override.global`\n"
        "\n"
        "```text\n"
        "It names the GPU's own target, so it changes nothing today and misleads the next program.\n"
        "- HSA_OVERRIDE_GFX_VERSION: 11.0.0\n"
        "```\n"
        "\n"
        "Suggested: `Unset it where it is set`\n"
        "\n"
        "```sh\n"
        "unset HSA_OVERRIDE_GFX_VERSION\n"
        "```\n"
        "\n"
        "Not judged: 3\n"
        "\n"
        "- 2 because of `permissions.kfd-access`\n"
        "- `gpu_health.kernel-log`: `dmesg is not readable`\n"
    )


@pytest.mark.parametrize("one", [HEALTHY, BROKEN, NO_GPU, report()], ids=["healthy", "broken", "no-gpu", "empty"])
def test_reports_are_what_we_write(one: Report) -> None:
    blocks(markdown.render(one))


def test_errors_and_notices() -> None:
    broke = Result("repo.suite", "repo", Status.ERROR, "Suites fit", "the check broke: KeyError")
    text = markdown.render(report(broke, notices=("The matrix is old.",)))
    blocks(text)
    assert "### ERROR: `Suites fit`" in text and text.endswith("\n- `The matrix is old.`\n")


SECRETS = {
    "ann": "a user's name",
    "hephaistos": "the machine's name",
    "192.168.17.23": "an address",
    "fe80::1a2b:3c4d:5e6f:7a8b": "an address",
    "3c:7c:3f:aa:bb:cc": "a network card",
    "0123456789abcdef": "a serial number",
    "11111111-2222-3333-4444-555555555555": "a UUID",
    "hunter2": "a password",
    "bob": "the owner of a home folder",
}
TELLING = (
    "host hephaistos of ann, 192.168.17.23, fe80::1a2b:3c4d:5e6f:7a8b, 3c:7c:3f:aa:bb:cc, unique_id: 0123456789abcdef, "
    "11111111-2222-3333-4444-555555555555, https://ann:hunter2@mirror.example/ and /home/bob/venv"
)


def test_nobody_is_named() -> None:
    found = KFD_ACCESS._replace(
        title="ann cannot open /dev/kfd",
        detail=TELLING,
        evidence=(Evidence("groups of ann", TELLING), Evidence("/home/bob/.bashrc", "x")),
        fixes=(Fix(f"Add ann: {TELLING}", (("usermod", "-aG", "render", "ann"), ("ls", "/home/bob"))),),
    )
    python = [{"executable": "/home/bob/venv/bin/python", "version": "3.10", "torch": {"version": "2.5.1+rocm6.2"}}]
    one = report(found, skipped("a.b", f"unknown: {TELLING}"), notices=(TELLING,), python=python, kernel="6.8.0 hephaistos")
    redactor = Redactor(User("ann", 1000, 1000, frozenset(), frozenset()), hosts=["hephaistos"])
    text = markdown.render(one, redactor)
    assert not [f"{secret}: {what}" for secret, what in SECRETS.items() if re.search(rf"\b{re.escape(secret)}\b", text)]
    assert "user1 cannot open /dev/kfd" in text and "usermod -aG render user1" in text and "2.5.1+rocm6.2" in text
    blocks(text)
    unasked = markdown.render(one)
    assert "192.168.17.23" not in unasked and "/home/bob" not in unasked and "hunter2" not in unasked


def test_versions_are_no_addresses() -> None:
    amdgpu = {"loaded": True, "kind": "dkms", "version": "6.12.12.1", "release": "30.10"}
    assert "`amdgpu 6.12.12.1, DKMS, release 30.10`" in markdown.render(report(amdgpu=amdgpu))


@pytest.mark.parametrize("evil", NASTY)
def test_host_texts_stay_in_code(evil: str) -> None:
    found = KFD_ACCESS._replace(
        title=evil,
        detail=evil,
        evidence=(Evidence(evil, evil),),
        fixes=(Fix(evil, ((evil, evil),), ("root",)), Fix(evil)),
    )
    one = report(
        found,
        skipped("c.d", f"unknown: {evil}"),
        notices=(evil,),
        gpus=[gpu(product=evil)],
        kernel=evil,
        os={"name": evil},
        rocm=[{"version": evil, "root": evil, "origin": "unknown", "active": True}],
    )
    tokens = blocks(markdown.render(one))
    assert sum(t.type == "heading_open" for t in tokens) == 1
    cells = [sum(t.type == "td_open" for t in tokens), 2 * (sum(t.type == "tr_open" for t in tokens) - 1)]
    assert cells[0] == cells[1] and all(line.isprintable() for line in markdown.render(one).split("\n"))


@given(REPORTS)
def test_any_report_is_what_we_write(one: Report) -> None:
    blocks(markdown.render(one))


@given(TEXTS)
def test_a_code_span_is_read_back(text: str) -> None:
    (paragraph,) = [t for t in GITHUB.parse(f"a {code_span(text)} b") if t.type == "inline"]
    assert paragraph.children
    before, code, after = paragraph.children
    assert (before.content, code.type, after.content) == ("a ", "code_inline", " b")


@given(st.lists(st.text("`~ a", max_size=9), min_size=1, max_size=5))
def test_a_fence_is_read_back(lines: list[str]) -> None:
    (only,) = GITHUB.parse("\n".join(fence(lines, "text")))
    assert (only.type, only.info, only.content) == ("fence", "text", "".join(f"{line}\n" for line in lines))
