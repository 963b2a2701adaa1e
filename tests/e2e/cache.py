"""Where built things are kept between runs, each under a digest of what it is made from."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def cache_folder() -> Path:
    """ROCMDOCTOR_E2E_CACHE, or a folder of the system: it holds files and devices of root, so it is not in the tree.

    gpg-agent's socket lies below it, so its path must be short.
    """
    return Path(os.environ.get("ROCMDOCTOR_E2E_CACHE") or "/var/cache/rocmdoctor-e2e")


def digest(*parts: Path | str | bytes) -> str:
    """Of texts and of the contents of files."""
    found = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        found.update(b"%d\0" % len(data) + data)
    return found.hexdigest()[:12]


@contextlib.contextmanager
def lock(cache: Path, name: str) -> Iterator[None]:
    """Two test runs on one machine build one after the other."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f".{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cache_of(cache: Path, name: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder NAME-KEY in the cache, filled by `build` when it is not there. Others of that name go when nobody has asked for
    them for an hour: another run may be in the middle of its tests."""
    folder = cache / f"{name}-{key}"
    with lock(cache, name):
        if not (folder / ".complete").exists():
            for old in cache.glob(f"{name}-*"):
                if old == folder or time.time() - old.stat().st_mtime > 3600:
                    shutil.rmtree(old, ignore_errors=True)
            folder.mkdir()
            build(folder)
            (folder / ".complete").write_text("")
        os.utime(folder)
    return folder
