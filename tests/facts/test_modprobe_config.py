"""modprobe.d: which files count, in which order, and what a line says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.facts import modprobe_config, modules
from tests.facts.small_host import small_host


def read(text: str) -> modules.ModprobeConfig:
    return modules.gather_modprobe(small_host({"/etc/modprobe.d/amdgpu.conf": text}))


@pytest.mark.parametrize(
    ("text", "blacklisted"),
    [
        ("blacklist amdgpu\n", ["amdgpu"]),
        ("  blacklist\tamdgpu   # words after the name do no harm\n", ["amdgpu"]),
        ("# blacklist amdgpu\n#blacklist amdgpu\n", []),
        ("blacklist amd-sched\nblacklist nouveau", ["amd_sched", "nouveau"]),
        ("blacklist \\\n  amdgpu\n", ["amdgpu"]),
        ("# a comment \\\nblacklist amdgpu\n", []),
        ("blacklist\n\n\\\n", []),
        ("blacklistamdgpu\n", []),
    ],
)
def test_blacklist(text: str, blacklisted: list[str]) -> None:
    assert [b.module for b in read(text).blacklisted] == blacklisted


def test_where_a_line_is() -> None:
    (found,) = read("# comment\n\nblacklist \\\namdgpu\n").blacklisted
    assert found == modules.Blacklist("amdgpu", "/etc/modprobe.d/amdgpu.conf", "blacklist amdgpu", 3)


def test_options_and_installs() -> None:
    found = read(
        "options amdgpu modeset=0 dc=1\ninstall amdgpu /bin/true\noptions amdgpu\ninstall amdgpu\nsoftdep amdgpu pre: x\n"
    )
    source = "/etc/modprobe.d/amdgpu.conf"
    assert found.options == (("amdgpu", "modeset=0 dc=1", source),)
    assert found.installs == (("amdgpu", "/bin/true", source),)


def test_a_file_hides_its_namesakes_in_later_folders() -> None:
    files = {
        "/usr/lib/modprobe.d/b.conf": "blacklist amdgpu\n",
        "/etc/modprobe.d/b.conf": "blacklist nouveau\n",
        "/lib/modprobe.d/a.conf": "blacklist radeon\n",
        "/run/modprobe.d/c.conf": "blacklist i915\n",
        "/etc/modprobe.d/readme.txt": "blacklist amdgpu\n",
        "/etc/modprobe.d/old.conf.bak": "blacklist amdgpu\n",
    }
    found = modules.gather_modprobe(small_host(files)).blacklisted
    assert [(b.module, b.source) for b in found] == [
        ("radeon", "/lib/modprobe.d/a.conf"),
        ("nouveau", "/etc/modprobe.d/b.conf"),
        ("i915", "/run/modprobe.d/c.conf"),
    ]


def test_an_empty_file_hides_too() -> None:
    files = {"/usr/lib/modprobe.d/b.conf": "blacklist amdgpu\n", "/etc/modprobe.d/b.conf": ""}
    assert modules.gather_modprobe(small_host(files)).blacklisted == ()


@pytest.mark.parametrize("parameter", ["modprobe.blacklist", "module_blacklist"])
def test_the_command_line(parameter: str) -> None:
    found = modules.gather_modprobe(small_host({"/proc/cmdline": f"ro {parameter}=amdgpu,nouveau quiet\n"}))
    assert found.blacklisted == tuple(
        modules.Blacklist(m, "/proc/cmdline", f"{parameter}=amdgpu,nouveau") for m in ("amdgpu", "nouveau")
    )


def test_what_cannot_be_read_is_named() -> None:
    files = {"/etc/modprobe.d/a.conf": "blacklist amdgpu\n", "/etc/modprobe.d/b.conf": "blacklist radeon\n"}
    found = modules.gather_modprobe(
        small_host(files, unknown=["/etc/modprobe.d/a.conf", "/usr/lib/modprobe.d/**", "/proc/cmdline"])
    )
    assert [b.module for b in found.blacklisted] == ["radeon"]
    assert set(found.unreadable) == {"/etc/modprobe.d/a.conf", "/usr/lib/modprobe.d", "/proc/cmdline"}


@given(st.text(alphabet=st.sampled_from("blacklist amdgpu\\\n#\t options"), max_size=200) | st.text(max_size=200))
def test_any_text(text: str) -> None:
    for number, words in modprobe_config.parse(text):
        assert number >= 1 and len(words) >= 2 and not words[0].startswith("#")


def test_endless_continuation() -> None:
    assert next(iter(modprobe_config.parse("x \\\n" * 50_000)))[0] == 1
