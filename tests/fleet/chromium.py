"""A headless Chromium for tests of pages, spoken to over a pipe (Chrome DevTools Protocol, --remote-debugging-pipe)."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The browser's path, None when there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One page. `errors`: what its console and its exceptions said; `requests`: addresses it asked for."""

    def __init__(self, profile: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        reads, writes = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (ours[0], theirs[1]))
        os.close(ours[0])
        os.close(theirs[1])
        self._send, self._receive = ours[1], theirs[0]

        def hand_over() -> None:
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        name = program()
        assert name is not None
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [name, *options, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=hand_over,
            close_fds=False,
        )
        os.close(reads)
        os.close(writes)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._send)
        os.close(self._receive)

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """The answer to one command; what the page says meanwhile is noted."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._send, data) :]
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said["error"]
                result: dict[str, Any] = said["result"]
                return result
            self._note(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._receive, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    def _note(self, said: dict[str, Any]) -> None:
        values = said.get("params", {})
        method = said.get("method")
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(values["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.errors.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])

    def open(self, page: Path, *, width: int = 1400, height: int = 900, dark: bool = False, anchor: str = "") -> None:
        """Load a file, and wait until it has run."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.as_uri() + anchor)
        until = time.monotonic() + 30
        while self.ask("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < until, "the page did not load"
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def press(self, key: str, code: int = 0) -> None:
        """One key: "Tab", "Enter", "Escape". `code`: its virtual key code."""
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
