"""From one input to one record. The same code runs in a worker process and, for a few inputs, in the program itself."""

import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rocmdoctor.fleet.inputs import MAX_LINE, Input
from rocmdoctor.fleet.node_record import NodeRecord, from_report, from_snapshot
from rocmdoctor.host import HostError

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


class Unreadable(NamedTuple):
    """An input that is no record: where it came from, and why in one sentence."""

    name: str
    source: str
    reason: str


class Reader:
    """Holds what every input needs: the matrix and the way through the checks."""

    def __init__(self, matrix: str | None, details: bool) -> None:
        """`matrix`: a file, None for the built-in one. Raises matrix.MatrixError."""
        from rocmdoctor import engine
        from rocmdoctor.matrix import load_matrix

        self._matrix: Matrix = load_matrix(matrix)
        _remember(self._matrix)
        self._details = details
        checks = engine.all_checks() + engine.plugin_checks()[0]
        self._way = engine.course(checks, [c for c in checks if not c.deep])

    def read(self, given: Input) -> NodeRecord | Unreadable:
        """A record, or why there is none. No input makes it raise: what a stranger wrote can only spoil its own line."""
        if given.fault is not None:
            return Unreadable(given.name, given.source, given.fault)
        try:
            if given.line is not None:
                return self._report(given, given.line)
            assert given.path is not None
            if os.path.isdir(given.path) or _is_archive(given.path):
                return self._snapshot(given, given.path)
            with open(given.path, "rb") as file:
                data = file.read(MAX_LINE + 1)
            if len(data) > MAX_LINE:
                raise HostError(f"the file is larger than {MAX_LINE >> 20} MiB")
            return self._report(given, data)
        except HostError as error:
            reason = str(error).removeprefix(f"snapshot {given.path}").removeprefix(":").strip()  # the source is named anyway
            return Unreadable(given.name, given.source, reason[:400])
        except OSError as error:
            return Unreadable(given.name, given.source, error.strerror or type(error).__name__)
        except (MemoryError, RecursionError) as error:
            return Unreadable(given.name, given.source, f"too large to read ({type(error).__name__})")
        except Exception as error:  # a bug of ours must not end the other nodes' turn either
            from rocmdoctor.matrix import MatrixError

            bug = "" if isinstance(error, MatrixError) else f"internal error: {type(error).__name__}: "
            return Unreadable(given.name, given.source, f"{bug}{error}"[:400])

    def _snapshot(self, given: Input, path: str) -> NodeRecord:
        from rocmdoctor.host.recorded import open_snapshot

        host = open_snapshot(path)
        return from_snapshot(given.name, given.source, host, self._matrix, self._way, details=self._details)

    def _report(self, given: Input, data: bytes) -> NodeRecord:
        if not data.strip():
            raise HostError("the file is empty")
        try:
            document: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise HostError("neither a snapshot nor JSON") from None
        name = given.name
        if isinstance(document, dict):
            said = next((document[k] for k in ("node", "hostname", "inventory_hostname") if isinstance(document.get(k), str)), "")
            name = said or name
            if isinstance(document.get("report"), dict):
                document = document["report"]
        return from_report(name, given.source, document)


REMEMBERED = (
    "apt_suite", "base_os", "driver", "driver_for", "gpu", "index_url", "kernel", "os", "pci_gpu", "recipe", "release", "resolve",
    "rocm_of_repository", "torch_gfx", "torch_release",
)  # fmt: skip
"""Questions to the matrix whose answers cannot be changed. The nodes of a fleet ask the same ones again and again: without this
they take a sixth of the time."""


def _remember(matrix: "Matrix") -> None:
    """Let `matrix` keep its answers, in bounds: what nodes ask may come from strangers."""
    for name in REMEMBERED:
        setattr(matrix, name, lru_cache(maxsize=1024)(getattr(matrix, name)))


def _is_archive(path: str) -> bool:
    """By its first bytes (RFC 1952); an empty or broken file of that name is judged as an archive as well."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b" or path.endswith((".tar.gz", ".tgz"))
