"""apt's sources and preferences as files: sources.list(5) in both forms, apt_preferences(5), and the folders of its keys.

The readers take what apt takes and never fail; a line that apt would refuse is left out. The rules follow apt's
apt-pkg/sourcelist.cc and init of the parts folders: other suffixes (.save, .distUpgrade, .disabled) are not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocmdoctor.facts.repo_layout import without_credentials
from rocmdoctor.facts.repos import Keyring, Pin, Repository
from rocmdoctor.host import Host, UnknownFact

_PARTS_NAME = r"^[A-Za-z0-9_.-]+$"
_WORD = r"(?:\[[^\]]*\]|\"[^\"]*\"|[^\s\[\"])+|\S"
_OPTION = r"([A-Za-z][A-Za-z-]*)([+-]?)=(?:\"([^\"]*)\"|(\S*))"
_FIELD = r"^([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)$"
_TRUE = frozenset(("yes", "true", "with", "on", "enable", "1"))
_FALSE = frozenset(("no", "false", "without", "off", "disable", "0"))
_TEXT_LIMIT = 500
_LINE_LIMIT = 2000
_FILE_COUNT = 400


def source_files(host: Host) -> list[str]:
    """The source files that apt reads, in its order."""
    return ["/etc/apt/sources.list", *_parts(host, "/etc/apt/sources.list.d", (".list", ".sources"))]


def preference_files(host: Host) -> list[str]:
    """The preferences that apt reads; preferences.d takes names without a suffix or with .pref."""
    files = []
    try:
        if host.node("/etc/apt/preferences") is not None:
            files.append("/etc/apt/preferences")
    except UnknownFact:
        pass  # AMD's recipes write into preferences.d; older snapshots do not have the single file
    return files + _parts(host, "/etc/apt/preferences.d", (".pref", ""))


def keyring_files(host: Host) -> list[str]:
    """Every key file that apt trusts for all sources, and what lies in /etc/apt/keyrings."""
    files = ["/etc/apt/trusted.gpg"]
    for folder, suffixes in (("/etc/apt/trusted.gpg.d", (".gpg", ".asc")), ("/etc/apt/keyrings", ("",))):
        try:
            names = host.names(folder)
        except UnknownFact:
            continue
        files += [f"{folder}/{name}" for name in names[:_FILE_COUNT] if name.endswith(suffixes)]
    return files


def _parts(host: Host, folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files of a parts folder with one of the suffixes; "" stands for a name without a dot."""
    paths = []
    for name in host.names(folder)[:_FILE_COUNT]:
        _, dot, extension = name.rpartition(".")
        if (dot + extension if dot else "") in suffixes and name[0] != "." and re.match(_PARTS_NAME, name):
            paths.append(f"{folder}/{name}")
    return paths


# one-line form ---------------------------------------------------------------------------------------------------


def parse_list(path: str, text: str) -> list[Repository]:
    """A .list file: "deb [option=value ...] uri suite [component ...]"."""
    sources = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("deb") or len(line) > _LINE_LIMIT:
            continue
        kind, *rest = _without_comment(line).split(None, 1)
        if kind not in ("deb", "deb-src") or not rest:
            continue
        options: dict[str, str] = {}
        where = rest[0]
        if where.startswith("["):
            inner, bracket, where = where[1:].partition("]")
            if not bracket:
                continue
            options = {m[1].lower(): m[3] or m[4] or "" for m in re.finditer(_OPTION, inner)}
        words = re.findall(_WORD, where)
        if len(words) < 2:
            continue
        uri, suite, *components = (w.strip('"') for w in words)
        sources.append(
            Repository(
                kind="apt",
                file=path,
                line=number,
                text=without_credentials(line.strip())[:_TEXT_LIMIT],
                uris=(without_credentials(uri),),
                suites=(suite,),
                components=tuple(components),
                signed_by=_commas(options.get("signed-by", "")),
                trusted=options.get("trusted", "").lower() in _TRUE,
                architectures=_commas(options.get("arch", "")),
                types=(kind,),
            )
        )
    return sources


def _without_comment(line: str) -> str:
    """The line up to its "#"; apt does not look for one inside brackets (cdrom:[...], options)."""
    position = 0
    while position < len(line):
        if line[position] == "#":
            return line[:position]
        if line[position] == "[":
            closing = line.find("]", position)
            if closing > 0:
                position = closing
        position += 1
    return line


def _commas(value: str) -> tuple[str, ...]:
    return tuple(part for part in value.split(",") if part)


# deb822 ----------------------------------------------------------------------------------------------------------


def stanzas(text: str) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """(first line number, field in lower case -> its lines) of each deb822 stanza. Comment lines are dropped, stray lines too;
    of a field written twice the last one counts."""
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield first, fields
            fields, current = {}, None
        elif line[0] in " \t":
            if current is not None:
                current.append(line.strip())
        elif found := re.match(_FIELD, line):
            if not fields:
                first = number
            current = fields[found[1].lower()] = [found[2].strip()]
        else:
            current = None
    if fields:
        yield first, fields


def parse_deb822(path: str, text: str) -> tuple[list[Repository], list[Keyring]]:
    """A .sources file, and the keys that are written into its Signed-By fields (their `path` is FILE:LINE)."""
    sources: list[Repository] = []
    keyrings: list[Keyring] = []
    for line, fields in stanzas(text):

        def words(name: str, fields: dict[str, list[str]] = fields) -> tuple[str, ...]:
            return tuple(" ".join(fields.get(name, ())).split())

        types = tuple(t for t in words("types") if t in ("deb", "deb-src"))
        uris, suites = words("uris"), words("suites")
        if not (types and uris and suites):
            continue
        signed_by = words("signed-by")
        if any(value.startswith("-----BEGIN") for value in fields.get("signed-by", ())):
            from rocmdoctor.facts import openpgp_key

            armor = "\n".join("" if value == "." else value for value in fields["signed-by"]).encode("utf-8", "replace")
            inline = Keyring(f"{path}:{line}", openpgp_key.parse(armor), True)
            keyrings.append(inline)
            signed_by = (inline.path,)
        else:
            signed_by = tuple(part for value in signed_by for part in _commas(value))
        labels = (label for label in ("Types", "URIs", "Suites", "Components") if words(label.lower()))
        where = " ".join(f"{label}: {' '.join(words(label.lower()))}" for label in labels)
        sources.append(
            Repository(
                kind="apt",
                file=path,
                line=line,
                text=without_credentials(where)[:_TEXT_LIMIT],
                uris=tuple(map(without_credentials, uris)),
                suites=suites,
                components=words("components"),
                enabled=not words("enabled") or words("enabled")[0].lower() not in _FALSE,
                signed_by=signed_by,
                trusted=bool(words("trusted")) and words("trusted")[0].lower() in _TRUE,
                architectures=tuple(part for value in words("architectures") for part in _commas(value)),
                types=types,
            )
        )
    return sources, keyrings


def parse_preferences(path: str, text: str) -> list[Pin]:
    """Stanzas of Package (or Source), Pin and Pin-Priority; a priority that is no number is None."""
    pins = []
    for _, fields in stanzas(text):
        packages = " ".join(fields.get("package", ())).split()
        pin = " ".join(" ".join(fields.get("pin", ())).split())
        if not (packages and pin):
            continue
        priority = " ".join(fields.get("pin-priority", ())).strip()
        valid = re.fullmatch(r"[+-]?[0-9]{1,6}", priority)
        pins.append(Pin(path, tuple(packages), pin[:_TEXT_LIMIT], int(priority) if valid else None))
    return pins
