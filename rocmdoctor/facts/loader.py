"""What the dynamic loader resolves: `ldconfig -p`, /etc/ld.so.conf(.d), LD_LIBRARY_PATH (ld.so(8))."""

from __future__ import annotations

from dataclasses import dataclass

from rocmdoctor.host import Host


@dataclass(frozen=True, slots=True)
class Loader:
    """`cache`: (soname, path) of 64-bit entries in the order of ldconfig -p. `conf_dirs`: (folder, file naming it).
    `library_path`: folders of LD_LIBRARY_PATH in order, empty entries dropped."""

    cache: tuple[tuple[str, str], ...]
    conf_dirs: tuple[tuple[str, str], ...]
    library_path: tuple[str, ...]

    def cached(self, soname_prefix: str) -> tuple[tuple[str, str], ...]:
        """Entries whose soname starts so: cached("libamdhip64.so")."""
        return tuple(e for e in self.cache if e[0].startswith(soname_prefix))


def gather(host: Host) -> Loader:
    raise NotImplementedError
