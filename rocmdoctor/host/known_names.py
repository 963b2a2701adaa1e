"""A redactor that knows the names of one host: its people and its own."""

from __future__ import annotations

from rocmdoctor.host import Host, UnknownFact
from rocmdoctor.host.redaction import Redactor

MOST_PEOPLE = 1000
"""Accounts whose names are replaced: each one costs time with every text."""


def redactor_of(host: Host) -> Redactor:
    """A Redactor for texts about `host`. What the host does not tell is not replaced by name, only by form."""
    hosts = [_text(host, path).strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname")]
    people = [host.user.sudo_user] if host.user.sudo_user else []
    for line in _text(host, "/etc/passwd").splitlines():
        fields = line.split(":")
        # passwd(5); uids from 1000 to 65533 are people's by login.defs(5)
        if len(fields) == 7 and len(fields[2]) < 6 and fields[2].isdecimal() and 1000 <= int(fields[2]) < 65534:
            people.append(fields[0])
    return Redactor(host.user, people[:MOST_PEOPLE], [*hosts, *(h.partition(".")[0] for h in hosts)])


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path) or ""
    except UnknownFact:
        return ""
