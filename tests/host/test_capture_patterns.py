from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmdoctor.host.capture_patterns import Patterns, glob_escape, literal, may_overlap, name_matcher


@pytest.mark.parametrize(
    ("pattern", "path", "hit"),
    [
        ("/etc/os-release", "/etc/os-release", True),
        ("/etc/os-release", "/etc/os-release2", False),
        ("/proc/**", "/proc/self/limits", True),
        ("/proc/**", "/proc", False),
        ("/proc/**", "/processes", False),
        ("/sys/*/kfd", "/sys/class/kfd", True),
        ("/sys/*/kfd", "/sys/class/x/kfd", False),
        ("/a/**/z", "/a/z", True),
        ("/a/**/z", "/a/b/c/z", True),
        ("/dev/dri/renderD12[89]", "/dev/dri/renderD129", True),
        ("/dev/dri/renderD12[!89]", "/dev/dri/renderD129", False),
        ("/dev/dri/renderD12?", "/dev/dri/renderD12/", False),
        ("/a[", "/a[", True),
        ("/a[z-a]", "/az", False),
        ("/a[", "/ab", False),
        ("/a**z", "/abz", True),
        ("/a**z", "/ab/c/dz", True),
        ("/a**z/q", "/ab/c/dz/q/below", True),
        ("/**", "/a", True),
        ("/**/**/c/**", "/a/b/c/d", True),
        ("/**/**/c/**", "/a/b/c", False),
        ("/**/a/*/z", "/a/a/b/z", True),
        ("/x/**/a/*/z", "/x/a/a/b/y", False),
        ("/a.c", "/abc", False),
        ("/a/*.so*", "/a/libx.so.1", True),
    ],
)
def test_paths(pattern: str, path: str, hit: bool) -> None:
    assert Patterns([pattern], below=True).path(path) is hit


def test_unknown_covers_what_lies_below_and_captured_does_not() -> None:
    unknown = Patterns(["/root", "/sys/class/*"], below=True)
    assert unknown.path("/root") and unknown.path("/root/a/b") and unknown.path("/sys/class/kfd/kfd")
    assert not unknown.path("/rootless") and not unknown.path("/")
    captured = Patterns(["/root", "/sys/**"], below=False)
    assert captured.path("/root") and not captured.path("/root/a")
    assert captured.path("/sys") and captured.path("/sys/a/b")


def test_a_glob_is_covered_by_the_same_and_by_a_wider_one() -> None:
    captured = Patterns(["/sys/bus/pci/devices/*/vendor", "/etc/apt/**"], below=False)
    assert captured.path("/sys/bus/pci/devices/*/vendor")
    assert captured.path("/etc/apt/sources.list.d/*.list")
    assert not captured.path("/sys/bus/pci/devices/*/device")


def test_commands_by_name_or_path() -> None:
    patterns = Patterns(["cmd:dmesg", "cmd:rocm*"], below=True)
    assert patterns.command("dmesg") and patterns.command("/usr/bin/dmesg") and patterns.command("rocm-smi")
    assert not patterns.command("rpm") and not patterns.path("dmesg")


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        ("*.list", "*.gpg", False),
        ("*", "*.gpg", True),
        ("a*", "b*", False),
        ("x", "*", True),
        ("x.list", "*.gpg", False),
        ("[ab]", "c", False),
    ],
)
def test_overlap(a: str, b: str, overlap: bool) -> None:
    assert may_overlap(a, b) is overlap and may_overlap(b, a) is overlap


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_pattern(pattern: str, path: str) -> None:
    for below in (True, False):
        patterns = Patterns([pattern], below=below)
        patterns.path(path)
        patterns.children("/a", path)
        patterns.command(path)


@given(st.text(max_size=40))
def test_an_escaped_path_matches_itself(path: str) -> None:
    assert name_matcher(glob_escape(path))(path)
    assert literal(glob_escape(path)) == path


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/" + "**/" * 300 + "x", "/" + "a/" * 300 + "b"),
        ("/" + "**/a/" * 300 + "x", "/" + "a/" * 300 + "b"),
        ("/" + "*a" * 300 + "x", "/" + "a" * 600),
        ("/" + "a**" * 300 + "x", "/" + "a" * 600),
        ("/" + "[!b]*" * 300 + "x", "/" + "a" * 600),
    ],
)
def test_no_pattern_is_a_trap(pattern: str, path: str) -> None:
    start = time.monotonic()
    for below in (True, False):
        assert not Patterns([pattern], below=below).path(path)
        Patterns([pattern], below=below).children(path.rpartition("/")[0], "*")
    assert time.monotonic() - start < 5
