"""Reports whose every host text is anything: for the tests that no renderer can be made to lie or crash."""

from __future__ import annotations

from hypothesis import strategies as st

from rocmdoctor.results import Evidence, Fix, Report, Result, Status
from tests.reports.sample_reports import gpu, host

CI_COMMANDS = (
    "x\n::add-mask::FAIL\n##[group]y",
    "::error file=a,line=1::forged",
    " \t::stop-commands::x",
    "word " * 30 + "::set-output name=a::b",
    "a" * 200 + "::warning::b",
    "###[endgroup]##vso[task.complete result=Succeeded]",
    "##teamcity[buildStatus status='SUCCESS']",
)
"""Lines that make the runner of a CI server do something: GitHub's (actions/runner, ActionCommand.cs, which trims the line, and
finds "##[" anywhere in it), Azure's and TeamCity's."""

NASTY = (
    "",
    " ",
    "\x00\x01\x08\x0b\x0c\x0e\x1f",
    "\x1b[31mred\x1b]0;title\x07",
    "a\nb\r\nc\x85d\u2028e",
    "]]>&<!--<a href='x'>\"</testcase><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;",
    "\ufffe\uffff\U0001ffff",
    "\ud800 \udcff \udfff",
    '\\" \\n \\\\" } 1\n# TYPE forged gauge\nforged 1',
    "|fail=9999;0;0 | x",
    "``` \n````` \n<script>alert(1)</script>",
    "` `` ``` a",
    "[link](https://evil.example) ![image](https://evil.example/x.png) @someone #1 https://evil.example",
    "\\| a | b \\\\| c |",
    "{0} {{1}} %s",
    "\u202egnp.exe\u200b\ufeff",
    "/dev/../etc/passwd",
    "/sys/bus/pci/devices/0000:03:00.0/a%2fb?c#d[e]é",
    "x" * 5000,
    "- item\n# heading\n> quote\n    code\n***",
    "<img src=x onerror=alert(1)> &lt; &#64;",
    *CI_COMMANDS,
)
TEXTS = st.sampled_from(NASTY) | st.text(st.characters(), max_size=40)
IDS = st.from_regex(r"[a-z][a-z_]{0,6}(\.[a-z][a-z_]{0,6})?\.[a-z][a-z-]{0,6}", fullmatch=True)
NEEDS = st.lists(st.sampled_from(["root", "network", "relogin", "reboot"]), unique=True, max_size=3).map(tuple)


def tuples(of: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=most).map(tuple)


ARGV = st.lists(TEXTS, min_size=1, max_size=4).map(tuple)
FIXES = st.builds(Fix, TEXTS, tuples(ARGV), NEEDS, st.booleans(), tuples(TEXTS))
RESULTS = st.builds(
    lambda id, status, *rest, **more: Result(id, id.rpartition(".")[0], status, *rest, **more),
    IDS,
    st.sampled_from(Status),
    TEXTS,
    TEXTS | TEXTS.map(lambda t: f"unknown: {t}"),
    tuples(st.builds(Evidence, TEXTS | TEXTS.map(lambda t: f"/{t}"), TEXTS)),
    tuples(FIXES, 2),
    tuples(TEXTS, 2),
    st.none() | IDS,
    seconds=st.floats(0, 60),
)
HOSTS = st.builds(
    lambda text, other, gpus: host(
        kernel=text,
        os={"id": other, "version_id": text, "name": other, "codename": text},
        gpus=gpus,
        rocm=[{"version": text, "root": other, "origin": "unknown", "active": True}],
        amdgpu={"loaded": True, "kind": "dkms", "version": text, "release": other},
        python=[{"executable": other, "version": text, "torch": {"version": text, "build": "rocm"}}],
    ),
    TEXTS,
    TEXTS,
    st.lists(st.builds(lambda t, u: gpu(product=t, pci_address=u, gfx=u, driver=t), TEXTS, TEXTS | st.none()), max_size=3),
)
REPORTS = st.builds(Report, HOSTS, tuples(RESULTS, 6), st.just("2026-11-30"), st.just("0.1.0"), tuples(TEXTS, 2))
