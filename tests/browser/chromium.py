"""Headless Chromium, driven by its DevTools protocol over a pipe."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

_PATIENCE_S = 60.0
_KEY_CODES = {"Enter": 13, "Backspace": 8, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39} | {
    "ArrowDown": 40
}


def installed() -> str:
    """Path of the browser; the test is skipped where there is none, and fails in CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        missing = "pages are opened in Chromium: apt-get install -y --no-install-recommends chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return path


class Page:
    """One tab: sends commands, keeps the events that came meanwhile."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._buffer, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Loads a file anew and waits for its load event."""
        self.visit(path.as_uri(), dark=dark, width=width, height=height)

    def visit(self, url: str, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Loads an address anew and waits for its load event."""
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])
        # not "mobile": such a window grows with what is too wide for it
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def reload(self) -> None:
        """Loads the page anew and waits for its load event."""
        self.events.clear()
        self.call("Page.reload")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        response = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    def awaited(self, expression: str) -> Any:
        """Return what the promise of a JavaScript expression resolves to."""
        response = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    def until(self, expression: str, seconds: float = 10.0) -> Any:
        """Wait until a JavaScript expression is truthy, and return its value; True for an element."""
        end = time.monotonic() + seconds
        shown = f"(value => value instanceof Node ? true : value)({expression})"
        while not (result := self.value(shown)):
            assert time.monotonic() < end, f"{expression} is {result!r} after {seconds:g} s"
            time.sleep(0.01)
        return result

    def press(self, key: str, *modifiers: str) -> None:
        """Press a key by its name, such as ``Enter`` or ``a``, with ``Control``, ``Shift`` or ``Alt``."""
        flags = sum({"Alt": 1, "Control": 2, "Shift": 8}[name] for name in modifiers)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = _KEY_CODES.get(key, ord(key.upper()) if len(key) == 1 and key.isalnum() else 0)
        keys = {"key": key, "modifiers": flags, "windowsVirtualKeyCode": code}
        typed = {"text": text} if text and "Control" not in modifiers and "Alt" not in modifiers else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if typed else "rawKeyDown", **keys, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def type(self, text: str) -> None:
        """Press the keys of a text, one after the other."""
        for character in text:
            self.press(character)

    def named(self, method: str) -> list[dict[str, Any]]:
        """Parameters of the events of one kind since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def bodies(self, beginning: str) -> dict[str, str]:
        """Bodies of all answers so far whose address begins with a text, by number and address."""
        bodies = {}
        for number, event in enumerate(self.named("Network.responseReceived")):
            url = event["response"]["url"]
            if url.startswith(beginning):
                body = self.call("Network.getResponseBody", requestId=event["requestId"])
                content = base64.b64decode(body["body"]).decode() if body["base64Encoded"] else body["body"]
                bodies[f"{number} {url}"] = content
        return bodies

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"Chromium said nothing for {_PATIENCE_S:g} s"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "Chromium ended"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def chromium(program: str, *, webgl: bool = False, profile: Path | None = None) -> Iterator[Page]:
    """A browser without network but this machine's own; it and all its processes are killed at the end.

    Args:
        webgl: whether it draws with WebGL, by software.
        profile: folder of what it keeps; None: a fresh one, which is removed.
    """
    pipes = [*os.pipe(), *os.pipe()]
    # above 9, so that the child's 3 and 4 are free to be set
    moved = [fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in pipes]
    for pipe in pipes:
        os.close(pipe)
    its_commands, commands, answers, its_answers = moved
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as fresh:
        arguments = [
            program,
            "--headless=new",
            "--no-sandbox",
            *(("--use-angle=swiftshader", "--enable-unsafe-swiftshader") if webgl else ("--disable-gpu",)),
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={profile or fresh}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        quiet = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        files = [(os.POSIX_SPAWN_DUP2, its_commands, 3), (os.POSIX_SPAWN_DUP2, its_answers, 4)]
        files += [(os.POSIX_SPAWN_DUP2, quiet, out) for out in (1, 2)]
        child = os.posix_spawn(program, arguments, dict(os.environ), file_actions=files, setpgroup=0)
        for used in (its_commands, its_answers, quiet):
            os.close(used)
        try:
            page = Page(commands, answers)
            page.attach()
            yield page
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(commands)
            os.close(answers)
