"""How `target` runs programs that change the machine, and downloads files: output into a log, Ctrl-C kept until they end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from rocmdoctor.host import Command
from rocmdoctor.host.snapshot_tree import reason

FETCH_TIMEOUT = 30.0
"""Seconds without a byte."""
_TRIES = 2


def run_logged(
    argv: tuple[str, ...],
    program: str,
    environment: Mapping[str, str],
    log: str,
    tail: int,
    timeout: float | None,
    heard: Callable[[], None] | None,
) -> Command:
    """Run to the end. A package manager that is interrupted leaves a half-configured system, so Ctrl-C is answered when it has
    ended; a second one reaches it. Raises KeyboardInterrupt then."""
    import signal
    import subprocess

    try:
        descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
    except OSError as error:
        return Command(argv, program, 126, "", f"the log {log} cannot be opened: {reason(error)}")
    interrupts = 0
    try:
        start = os.lseek(descriptor, 0, os.SEEK_END)
        try:
            process = subprocess.Popen(
                argv,
                executable=program,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                env=dict(environment),
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Command(argv, program, 126, "", reason(error))
        deadline = None if timeout is None else time.monotonic() + timeout
        timed_out = False
        while True:
            try:
                process.wait(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                if deadline is not None and time.monotonic() > deadline and not timed_out:
                    timed_out = True
                    os.killpg(process.pid, signal.SIGTERM)
                if heard is not None:
                    heard()
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1:
                    os.killpg(process.pid, signal.SIGINT)
        size = os.lseek(descriptor, 0, os.SEEK_END)
        output = os.pread(descriptor, tail, max(start, size - tail)).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    if interrupts:
        raise KeyboardInterrupt
    return Command(argv, program, 124 if timed_out else process.returncode, output, "", timed_out)


def download(url: str, limit: int, ca: str | None) -> bytes:
    """http, https and file; proxies are those of the environment. Raises OSError, whose text says what went wrong."""
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    if not url.startswith(("https://", "http://", "file:///")):
        raise OSError("only https, http and file addresses are fetched")
    handlers: list[urllib.request.BaseHandler] = []
    if url.startswith("https://"):
        try:
            context = ssl.create_default_context()
            if ca is not None:
                context.load_verify_locations(cafile=ca)
        except (OSError, ValueError) as error:
            raise OSError(f"the certificate file {ca} cannot be used: {error}") from None
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    opener.addheaders = [("User-Agent", "rocmdoctor")]
    said = ""
    for _ in range(_TRIES):
        try:
            with opener.open(url, timeout=FETCH_TIMEOUT) as answer:
                data = bytes(answer.read(limit + 1))
                promised = answer.headers.get("Content-Length", "")
            if len(data) > limit:
                raise OSError(f"it is larger than {limit} bytes")
            if promised.isdigit() and len(data) < int(promised):  # read() with a size does not tell
                raise ConnectionError
            return data
        except urllib.error.HTTPError as error:
            said = f"the server answered {error.code} {error.reason}"
            if error.code < 500:
                break
        except urllib.error.URLError as error:
            said = str(error.reason)
        except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
            said = f"the connection broke ({type(error).__name__})"
    raise OSError(said)
