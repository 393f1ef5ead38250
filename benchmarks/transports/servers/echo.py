"""Service of the race of transports, without a transport: what each method answers, and the options of a server.

Standard library only, since each server runs in an environment of its own.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

SERVICE = "transports.Echo"
CODE, MESSAGE = "FAILED_PRECONDITION", "refused: ü %"
"""Status of ``Fail``."""
DETAIL = ("x-detail-bin", b"\x00detail\xff")
"""Trailing metadata of ``Fail``."""
TEXT, BYTES = "x-text", "x-bytes-bin"
"""Metadata that ``Echo`` repeats, both as initial and as trailing metadata."""
COPIES = 3
"""Messages with which ``Repeat`` answers one."""


class Echo:
    """State of the service: calls of ``Wait`` that are active, were at most at once, and were cancelled."""

    def __init__(self) -> None:
        self.active = self.peak = self.cancelled = 0

    async def wait(self, request: bytes) -> bytes:
        """Answer after the number of seconds that the request states in ASCII."""
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            await asyncio.sleep(float(request))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.active -= 1
        return request

    def state(self) -> bytes:
        """Return the three counts as JSON."""
        return json.dumps({"active": self.active, "peak": self.peak, "cancelled": self.cancelled}).encode()


def options() -> argparse.Namespace:
    """Return the options of a server; those that are not given are None."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--most-message-bytes", type=int)
    parser.add_argument("--most-streams", type=int)
    parser.add_argument("--most-age-seconds", type=float)
    parser.add_argument("--library", default="grpc.aio")
    return parser.parse_args()


def not_offered(what: str) -> NoReturn:
    """End the process, saying that the library has no such option."""
    sys.exit(f"not offered: {what}")


async def changes(paths: list[Path], reload: Callable[[], Any], every_seconds: float = 0.2) -> None:
    """Call ``reload`` whenever one of the files changed, for ever; a pair that is half written is tried again."""
    known: list[int] = []
    while True:
        now = [path.stat().st_mtime_ns for path in paths]
        if known and now != known:
            with suppress(OSError):
                reload()
        known = now
        await asyncio.sleep(every_seconds)
