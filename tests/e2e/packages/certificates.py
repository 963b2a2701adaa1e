"""A certificate authority of our own, and one certificate for every host name that the mirror plays."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """`authority` is what a root must trust; `chain` and `key` are the server's."""

    authority: Path
    chain: Path
    key: Path


def _openssl(*argv: str) -> None:
    subprocess.run(["openssl", *argv], check=True, capture_output=True)


def load(folder: Path) -> Certificates:
    return Certificates(folder / "authority.pem", folder / "server.pem", folder / "server.key")


def make(folder: Path, hosts: Iterable[str]) -> Certificates:
    """New ones in `folder`, good for ten years."""
    folder.mkdir(parents=True, exist_ok=True)
    made = load(folder)
    authority_key = folder / "authority.key"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl("req", "-x509", *curve, "-keyout", str(authority_key), "-out", str(made.authority), "-days", "3650",
             "-subj", "/CN=e2e authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    names = ",".join(f"DNS:{host}" for host in hosts)
    request = folder / "server.csr"
    _openssl("req", *curve, "-keyout", str(made.key), "-out", str(request), "-subj", "/CN=mirror")
    extensions = folder / "server.ext"
    extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
    _openssl("x509", "-req", "-in", str(request), "-CA", str(made.authority), "-CAkey", str(authority_key), "-CAcreateserial",
             "-out", str(made.chain), "-days", "3650", "-extfile", str(extensions))  # fmt: skip
    return made
