"""AMD's hosts on loopback: an HTTP and HTTPS server in a network namespace of its own, with the real host names and paths.

A case can make it ill: files missing or replaced, the connection cut after some requests, another key at AMD's address.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import html
import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from tests.e2e.packages.site import Site

T = TypeVar("T")

UNION = "mirror.test"
"""A mirror of a site (`--mirror https://mirror.test`): every host's tree under one name, by host name or without it."""
PROXY_PORT = 3128
_CLONE_NEWNET = 0x40000000
_KEY_PATHS = {
    ("repo.radeon.com", "rocm/rocm.gpg.key"): "radeon",
    ("stable.repo.amd.com", "rocm/gpg/packages.gpg"): "amdrocm",
    ("repo.amd.com", "rocm/packages-multi-arch/gpg/rocm.gpg"): "amdrocm",
    ("repo.amd.com", "rocm/packages/gpg/rocm.gpg"): "amdrocm",
}


class NetworkNamespace:
    """A network of its own with nothing but loopback. Code is run in it on a thread that never does anything else."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Callable[[], object], Future[object]]] = []
        self._wake = threading.Condition()
        self._closed = False
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True, name="network-namespace")
        self._thread.start()
        ready.result()

    def _serve(self, ready: Future[None]) -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(_CLONE_NEWNET) != 0:
                number = ctypes.get_errno()
                raise OSError(number, f"unshare: {os.strerror(number)}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                # SIOCSIFFLAGS: IFF_UP on lo
                fcntl.ioctl(sock, 0x8914, struct.pack("16sh14s", b"lo", 1, b""))
        except BaseException as exc:
            ready.set_exception(exc)
            return
        ready.set_result(None)
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return
                job, future = self._jobs.pop(0)
            try:
                future.set_result(job())
            except BaseException as exc:
                future.set_exception(exc)

    def run(self, job: Callable[[], T]) -> T:
        """What `job` returns, done by the thread inside; processes and sockets that it makes belong to the namespace."""
        future: Future[object] = Future()
        with self._wake:
            self._jobs.append((job, future))
            self._wake.notify()
        return future.result()  # type: ignore[return-value]

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()


class Mirror:
    """Serves a Site. Faults are set on the object and hold until they are taken back."""

    def __init__(self, site: Site, network: NetworkNamespace) -> None:
        self.site = site
        self.requests: list[str] = []
        """Every URL that was asked for, in order, with its status: "200 https://repo.radeon.com/rocm/rocm.gpg.key"."""
        self.missing: list[str] = []
        """Beginnings of URLs without scheme ("repo.radeon.com/rocm/apt/6.2.4") that answer 404."""
        self.replaced: dict[str, bytes] = {}
        """Whole URLs without scheme and what they answer instead."""
        self.down_after: int | None = None
        """After this many more answers every connection is cut; 0 is down at once."""
        self.delay = 0.0
        """Seconds before each answer."""
        self._keys: dict[str, bytes] = {}
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(site.certificates.chain, site.certificates.key)
        self._sockets = network.run(lambda: [_listen(port) for port in (80, 443, PROXY_PORT)])
        self._stop, self._stopper = os.pipe()
        self._thread = threading.Thread(target=self._accept, daemon=True, name="mirror")
        self._thread.start()

    def close(self) -> None:
        os.close(self._stopper)
        self._thread.join()
        for sock in self._sockets:
            sock.close()
        os.close(self._stop)

    # faults ----------------------------------------------------------------------------------------------------

    def serve_key(self, publisher: str, key: str, *, expired: bool = False) -> None:
        """At the publisher's address ("radeon", "amdrocm") lies another key of the site, or the expired copy of one."""
        found = self.site.keys[key]
        self._keys[publisher] = found.expired_armoured if expired else found.armoured

    @contextlib.contextmanager
    def down(self, after: int = 0) -> Iterator[None]:
        """The mirror answers `after` more requests and then cuts every connection."""
        self.down_after = after
        try:
            yield
        finally:
            self.down_after = None

    def urls(self, host: str = "") -> list[str]:
        """The URLs asked for of a host, without their status, each once."""
        urls = dict.fromkeys(line.partition(" ")[2] for line in self.requests)
        return [url for url in urls if not host or urlsplit(url).hostname == host]

    # answers ---------------------------------------------------------------------------------------------------

    def find(self, host: str, path: str) -> bytes | Path | None:
        """The answer to a path: bytes, a file or folder, or None for 404."""
        url = f"{host}/{path}"
        if any(url.startswith(start) for start in self.missing):
            return None
        if url in self.replaced:
            return self.replaced[url]
        publisher = _KEY_PATHS.get((host, path))
        if publisher in self._keys:
            return self._keys[publisher]
        if host == UNION:
            first, _, rest = path.partition("/")
            if first in self.site.hosts:
                return self.find(first, rest)
            return next((found for name in self.site.hosts if (found := self.find(name, path)) is not None), None)
        if host not in self.site.hosts or ".." in path.split("/"):
            return None
        target = self.site.folder / host / path
        return target if target.exists() else None

    def _accept(self) -> None:
        while True:
            ready, _, _ = select.select([self._stop, *(sock.fileno() for sock in self._sockets)], [], [])
            if self._stop in ready:
                return
            for sock in (sock for sock in self._sockets if sock.fileno() in ready):
                connection, address = sock.accept()
                port = sock.getsockname()[1]
                threading.Thread(target=self._talk, args=(connection, address, port), daemon=True).start()

    def _talk(self, connection: socket.socket, address: object, port: int) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            connection.settimeout(60)
            if port == 443:
                with self._context.wrap_socket(connection, server_side=True) as secure:
                    _Handler(secure, address, self, "https")
            else:
                _Handler(connection, address, self, "http")

    def tunnel(self, connection: socket.socket, address: object) -> None:
        """A proxy's CONNECT: every host is this one."""
        with contextlib.suppress(OSError), self._context.wrap_socket(connection, server_side=True) as secure:
            _Handler(secure, address, self, "https")


def _listen(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen(64)
    return sock


class _Cut(OSError):
    """The connection is to be cut without an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def __init__(self, connection: socket.socket, address: object, mirror: Mirror, scheme: str) -> None:
        self.mirror, self.scheme = mirror, scheme
        super().__init__(connection, address, None)  # type: ignore[arg-type]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on standard error; the mirror keeps the URLs."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_CONNECT(self) -> None:
        self.send_response(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        self.mirror.tunnel(self.connection, self.client_address)

    def _answer(self, *, body: bool) -> None:
        mirror = self.mirror
        if mirror.down_after is not None:
            if mirror.down_after <= 0:
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
                raise _Cut("down")
            mirror.down_after -= 1
        if mirror.delay:
            time.sleep(mirror.delay)
        target = urlsplit(self.path)
        host = (target.hostname or self.headers.get("Host", "").partition(":")[0]).lower()
        path = unquote(target.path).lstrip("/")
        found = mirror.find(host, path)
        url = f"{self.scheme}://{host}/{path}"
        if isinstance(found, Path) and found.is_dir():
            if path and not path.endswith("/"):
                self._send(301, b"", url, body, ("Location", f"{self.scheme}://{host}{quote('/' + path)}/"))
                return
            self._send(200, _listing(found, path), url, body, ("Content-Type", "text/html; charset=utf-8"))
            return
        if found is None:
            self._send(404, b"<html><body>404 Not Found</body></html>\n", url, body, ("Content-Type", "text/html"))
            return
        data = found.read_bytes() if isinstance(found, Path) else found
        self._send_range(data, url, body)

    def _send_range(self, data: bytes, url: str, body: bool) -> None:
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and "," not in wanted:
            low, _, high = wanted[6:].partition("-")
            first = int(low) if low else max(len(data) - int(high), 0)
            last = min(int(high), len(data) - 1) if low and high else len(data) - 1
            if first <= last:
                self._send(206, data[first : last + 1], url, body, ("Content-Range", f"bytes {first}-{last}/{len(data)}"))
                return
        self._send(200, data, url, body, ("Accept-Ranges", "bytes"))

    def _send(self, status: int, data: bytes, url: str, body: bool, *headers: tuple[str, str]) -> None:
        self.mirror.requests.append(f"{status} {url}")
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)
        self.wfile.flush()


def _fragment(file: Path) -> str:
    """Wheels are listed with their hash, which a lock needs."""
    return f"#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}" if file.suffix == ".whl" else ""


def _listing(folder: Path, path: str) -> bytes:
    """A folder's index, which is what pip reads (PEP 503)."""
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in folder.iterdir())
    rows = "".join(f'<a href="{quote(name)}{_fragment(folder / name)}">{html.escape(name)}</a><br>\n' for name in names)
    title = f"Index of /{html.escape(path)}"
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n{rows}</body></html>\n".encode()
