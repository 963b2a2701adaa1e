"""Order of Debian and rpm package versions (deb-version(7); rpm's rpmvercmp, rpm-version(7)).

Neither is PEP 440, and the packages that implement them (python-debian, rpm's own binding) are not dependencies.
"""

from __future__ import annotations

import re

_DEB_PAIRS = re.compile(r"([^0-9]*)([0-9]*)")
_RPM_SEGMENTS = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")

_Pair = tuple[tuple[int, ...], tuple[int, str]]


def _number(digits: str) -> tuple[int, str]:
    """Sort key of a run of digits of any length; int() refuses more than 4300 of them."""
    digits = digits.lstrip("0")
    return (len(digits), digits)


def _deb_letters(text: str) -> tuple[int, ...]:
    """Tilde sorts before the end of the part, letters before everything else (deb-version(7))."""
    return (*(-1 if c == "~" else ord(c) if c.isalpha() else ord(c) + 0x110000 for c in text), 0)


def _deb_part(text: str) -> tuple[_Pair, ...]:
    pairs = [(_deb_letters(letters), _number(digits)) for letters, digits in _DEB_PAIRS.findall(text) if letters or digits]
    end = (_deb_letters(""), _number(""))
    return (*(pairs or [end]), end)


def debian_key(version: str) -> tuple[tuple[int, str], tuple[_Pair, ...], tuple[_Pair, ...]]:
    """Sort key of "[epoch:]upstream[-revision]" as dpkg orders versions. What is no version sorts somewhere; nothing fails."""
    epoch, colon, rest = version.partition(":")
    if not (colon and epoch.isascii() and epoch.isdigit()):
        epoch, rest = "", version
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return _number(epoch), _deb_part(upstream), _deb_part(revision)


def debian_compare(left: str, right: str) -> int:
    """-1, 0 or 1, as `dpkg --compare-versions` orders them."""
    a, b = debian_key(left), debian_key(right)
    return (a > b) - (a < b)


def debian_satisfies(version: str, operator: str, wanted: str) -> bool:
    """Whether a version fulfils a relation of a Depends field; the old "<" and ">" mean "<=" and ">=" (deb-control(5))."""
    order = debian_compare(version, wanted)
    accepted = {"<<": (-1,), "<=": (-1, 0), "<": (-1, 0), "=": (0,), ">=": (0, 1), ">": (0, 1), ">>": (1,)}
    return order in accepted.get(operator, ())


def rpmvercmp(left: str, right: str) -> int:
    """-1, 0 or 1 for two version (or two release) strings, by rpm's rules: digits beat letters, "~" sorts before the end of
    the string and "^" just after it."""
    if left == right:
        return 0
    a, b = _RPM_SEGMENTS.findall(left), _RPM_SEGMENTS.findall(right)
    for index in range(max(len(a), len(b))):
        x = a[index] if index < len(a) else ""
        y = b[index] if index < len(b) else ""
        if x == y:
            continue
        if "~" in (x, y):
            return -1 if x == "~" else 1
        if "^" in (x, y):
            if x == "^":
                return 1 if not y else -1
            return -1 if not x else 1
        if not x or not y:
            return 1 if x else -1
        if x.isdigit() and y.isdigit():
            p, q = _number(x), _number(y)
            if p == q:
                continue
            return 1 if p > q else -1
        if x.isdigit() or y.isdigit():
            return 1 if x.isdigit() else -1
        return 1 if x > y else -1
    return 0


def rpm_compare(left: str, right: str) -> int:
    """-1, 0 or 1 for "[epoch:]version[-release]"; a missing epoch is 0, a release is compared only when both have one."""
    (left_epoch, left_version, left_release), (right_epoch, right_version, right_release) = _rpm_label(left), _rpm_label(right)
    if left_epoch != right_epoch:
        return 1 if left_epoch > right_epoch else -1
    order = rpmvercmp(left_version, right_version)
    if order or not (left_release and right_release):
        return order
    return rpmvercmp(left_release, right_release)


def _rpm_label(label: str) -> tuple[tuple[int, str], str, str]:
    epoch, colon, rest = label.partition(":")
    if not (colon and epoch.isascii() and epoch.isdigit()):
        epoch, rest = "", label
    version, _, release = rest.partition("-")
    return _number(epoch), version, release
