"""Health of the device: bad from the first failed pass until a probe of golden inputs passes on it again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from services.runtime.logging import get_logger

_log = get_logger(__name__)
FIRST_SECONDS = 0.5
"""Until the first probe after a failure; each further one waits twice as long, up to ``LONGEST_SECONDS``."""
LONGEST_SECONDS = 30.0

Probe = Callable[[], Awaitable[None]]
"""Computes golden inputs on the device; raises where it fails or says something else than what was recorded."""


async def _no_probe() -> None:
    raise RuntimeError("no probe is set for the device")


class DeviceHealth:
    """One for a process, used on its event loop; whatever runs on a device asks it and tells it of failures."""

    def __init__(self, *, first_seconds: float = FIRST_SECONDS, longest_seconds: float = LONGEST_SECONDS) -> None:
        self.reason = ""
        """Kind of the failure that took the device out; empty while it is healthy."""
        self.failures: Counter[str] = Counter()
        """Times that the device was taken out, by kind of failure."""
        self.probes: Counter[str] = Counter()
        """Probes after failures by outcome, ``passed`` or ``failed``."""
        self.first_seconds, self.longest_seconds = first_seconds, longest_seconds
        """Backoff of probes: the first one, and the longest; the longest is never exceeded."""
        self._probe: Probe = _no_probe
        self._changed: Callable[[], Awaitable[None]] | None = None
        self._recovering: asyncio.Task[None] | None = None

    def probe_with(self, probe: Probe) -> None:
        """Set what tries the device."""
        self._probe = probe

    def on_change(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Set what is told when the health has changed."""
        self._changed = changed

    def failed(self, kind: str) -> None:
        """Take the device out, and begin to try it; a further failure until it is back changes nothing."""
        if self.reason:
            return
        self.reason = kind
        self.failures[kind] += 1
        _log.error("the device failed (%s): nothing is computed until golden inputs pass on it again", kind)
        self._recovering = asyncio.get_running_loop().create_task(self._recover())

    def close(self) -> None:
        """Tries no longer."""
        if self._recovering is not None:
            self._recovering.cancel()

    async def _recover(self) -> None:
        await self._tell()
        seconds = self.first_seconds
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._probe()
            except Exception as error:
                self.probes["failed"] += 1
                seconds = min(2 * seconds, self.longest_seconds)
                _log.error("the device failed a probe (%s); next one in %g s", type(error).__name__, seconds)
                continue
            self.probes["passed"] += 1
            self.reason = ""
            _log.warning("the device passed a probe and is back")
            await self._tell()
            return

    async def _tell(self) -> None:
        if self._changed is not None:
            await self._changed()
