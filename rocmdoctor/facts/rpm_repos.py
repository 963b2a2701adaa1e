""".repo files of yum, dnf and zypper (yum.conf(5), zypper(8)). Variables like $releasever stay as they are."""

from __future__ import annotations

import re

from rocmdoctor.facts.repo_layout import without_credentials
from rocmdoctor.facts.repos import Repository

_SECTION = re.compile(r"^\[([^\]]+)\]")
_TRUE = frozenset(("1", "yes", "true", "on", "enabled"))
_FALSE = frozenset(("0", "no", "false", "off", "disabled"))
_TEXT_LIMIT = 500


def parse(path: str, text: str) -> list[Repository]:
    """The sections of a .repo file but [main]. Raises ValueError when it is no such file at all."""
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section="\0", delimiters=("=", ":"))
    try:
        parser.read_string(text.lstrip("\ufeff"))
    except configparser.Error as exc:
        raise ValueError(f"{path} is not a .repo file: {exc.message}") from None
    lines: dict[str, int] = {}
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        if found := _SECTION.match(line):
            lines.setdefault(found[1], number)
    kind = "zypp" if path.startswith("/etc/zypp/") else "yum"
    sources = []
    for name in parser.sections():
        if name == "main":
            continue
        section = parser[name]
        address = next((key for key in ("baseurl", "mirrorlist", "metalink") if section.get(key, "").strip()), "baseurl")
        uris = tuple(_list(section.get(address, "")))
        priority = section.get("priority", "").strip()
        sources.append(
            Repository(
                kind=kind,
                file=path,
                line=lines.get(name, 1),
                text=without_credentials(f"[{name}] {address}={' '.join(uris)}")[:_TEXT_LIMIT],
                uris=tuple(map(without_credentials, uris)),
                id=name,
                enabled=section.get("enabled", "1").strip().lower() not in _FALSE,
                gpgcheck=_boolean(section.get("gpgcheck", "")),
                gpgkey=tuple(map(without_credentials, _list(section.get("gpgkey", "")))),
                priority=int(priority) if re.fullmatch(r"[0-9]{1,6}", priority) else None,
            )
        )
    return sources


def _list(value: str) -> list[str]:
    return value.replace(",", " ").split()


def _boolean(value: str) -> bool | None:
    value = value.strip().lower()
    return True if value in _TRUE else False if value in _FALSE else None
