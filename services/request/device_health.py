"""Health of the device: bad from the first failed pass until a probe of golden inputs passes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from services.runtime.logging import get_logger

_log = get_logger(__name__)
FIRST_SECONDS = 0.5
"""Time until the first probe after a failure; each further probe waits twice as long, up to ``LONGEST_SECONDS``."""
LONGEST_SECONDS = 30.0

Probe = Callable[[], Awaitable[None]]
"""Function that computes golden inputs on the device; raises if it fails or the outputs differ from the record."""


async def _no_probe() -> None:
    raise RuntimeError("no probe is set for the device")


class DeviceHealth:
    """Health state of the device, one per process, used on its event loop; its users check it and report failures."""

    def __init__(self, *, first_seconds: float = FIRST_SECONDS, longest_seconds: float = LONGEST_SECONDS) -> None:
        self.reason = ""
        """Kind of the failure that made the device unhealthy; empty while it is healthy."""
        self.failures: Counter[str] = Counter()
        """Number of times that the device became unhealthy, by kind of failure."""
        self.probes: Counter[str] = Counter()
        """Probes after failures by outcome, ``passed`` or ``failed``."""
        self.first_seconds, self.longest_seconds = first_seconds, longest_seconds
        """Backoff of probes: the first and the longest wait, in seconds."""
        self._probe: Probe = _no_probe
        self._changed: Callable[[], Awaitable[None]] | None = None
        self._recovering: asyncio.Task[None] | None = None

    def probe_with(self, probe: Probe) -> None:
        """Set the probe of the device."""
        self._probe = probe

    def on_change(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Set the callback for changes of health."""
        self._changed = changed

    def failed(self, kind: str) -> None:
        """Mark the device as unhealthy and start to probe it; has no effect while it is unhealthy."""
        if self.reason:
            return
        self.reason = kind
        self.failures[kind] += 1
        _log.error("the device failed (%s): nothing is computed until golden inputs pass on it again", kind)
        self._recovering = asyncio.get_running_loop().create_task(self._recover())

    def close(self) -> None:
        """Stop probing."""
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
