"""What is to be merged: files, folders and streams, found one after another so that their number costs no memory."""

import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MAX_LINE = 64 << 20
"""Bytes of one report."""
MAX_DEPTH = 12
ENDINGS = (".tar.gz", ".tgz", ".json", ".jsonl", ".ndjson")
COMMON_STEMS = frozenset(("report", "snapshot", "check", "rocmdoctor", "facts", "stdin", "result", "output"))
"""File names that say nothing of the node: then the folder has its name, as Ansible's fetch lays files out."""


class Input(NamedTuple):
    """One node's data: a path for the reader to open, or a line of a stream. `fault`: why it cannot be read at all."""

    name: str
    source: str
    path: str | None = None
    line: bytes | None = None
    fault: str | None = None


def find(paths: list[str]) -> Iterator[Input]:
    """The inputs of every path in order; "-" is standard input. What cannot be read is an input with a fault."""
    for path in paths:
        if path == "-":
            yield from _stream(sys.stdin.buffer, "-")
            continue
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            yield Input(_stem(path), path, fault=_reason(error))
            continue
        if stat.S_ISDIR(mode):
            yield from _folder(path, path, 0)
        elif stat.S_ISREG(mode):
            yield from _file(path, path)
        else:
            yield from _opened_stream(path)


def _folder(path: str, top: str, depth: int) -> Iterator[Input]:
    """A snapshot, or all that lies in the folder and below, by name. Links to folders are not followed."""
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield Input(_stem(path), path, fault=_reason(error))
        return
    names = {entry.name for entry in found}
    if "snapshot.json" in names and ({"nodes.json", "commands.json", "files"} & names or (depth == 0 and len(names) == 1)):
        yield Input(_name(path, top), path, path=path)
        return
    empty = True
    for entry in found:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    yield from _folder(entry.path, top, depth + 1)
                    empty = False
            elif entry.is_file() and (entry.name.endswith(ENDINGS) or _looks_like_data(entry.path)):
                yield from _file(entry.path, top)
                empty = False
        except OSError as error:
            yield Input(_stem(entry.path), entry.path, fault=_reason(error))
            empty = False
    if empty and depth == 0:
        yield Input(_stem(path), path, fault="the folder holds no snapshot and no report")


def _looks_like_data(path: str) -> bool:
    """A file without a known ending that begins like an archive or a report."""
    with open(path, "rb") as file:
        return file.read(2) in (b"\x1f\x8b", b"{\n", b'{"')


def _file(path: str, top: str) -> Iterator[Input]:
    """An archive or one report is opened by its reader; lines of JSON are read here, one at a time."""
    try:
        with open(path, "rb") as file:
            first = file.readline(4096)
            if not first.lstrip().startswith(b"{") or first.strip() == b"{" or _is_single(file, first):
                yield Input(_name(path, top), path, path=path)
                return
            file.seek(0)
            yield from _stream(file, path)
    except OSError as error:
        yield Input(_name(path, top), path, fault=_reason(error))


def _is_single(file: BinaryIO, first: bytes) -> bool:
    """Whether the first line is all that the file has."""
    while first and not first.endswith(b"\n"):
        first = file.readline(1 << 20)
    return not file.read(4096).strip()


def _opened_stream(path: str) -> Iterator[Input]:
    """A pipe or a terminal, such as the shell's <(command)."""
    try:
        with open(path, "rb") as file:
            yield from _stream(file, path)
    except OSError as error:
        yield Input(_stem(path), path, fault=_reason(error))


def _stream(file: BinaryIO, source: str) -> Iterator[Input]:
    """Reports, one a line. A line that is too long is one broken report, and is not kept in memory."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        where = f"{source}:{number}"
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield Input(where, where, fault=f"the line is longer than {MAX_LINE >> 20} MiB")
        elif line.strip():
            yield Input(where, where, line=line)


def _name(path: str, top: str) -> str:
    """The node's name by its file; by the folder below `top` where the file's name is the same for every node."""
    stem = _stem(path)
    if stem not in COMMON_STEMS:
        return stem
    below = os.path.relpath(path, top).split(os.sep)
    if len(below) > 1:
        return below[0]
    return _stem(os.path.dirname(os.path.abspath(path))) or stem


def _stem(path: str) -> str:
    base = os.path.basename(os.path.abspath(path))
    ending = next((e for e in ENDINGS if base.endswith(e) and base != e), "")
    stem = base[: len(base) - len(ending)]
    return stem.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
