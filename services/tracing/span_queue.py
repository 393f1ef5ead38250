"""Bounded queue of spans with a background exporter, so that no answer waits for a collector.

Spans that do not fit into the queue, or that the collector does not accept, are dropped and counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from services.runtime.logging import get_logger
from services.runtime.system import lower_priority
from services.runtime.variables import SettingsError
from services.tracing.recording import Bundle

_log = get_logger(__name__)
_NICENESS = 10


@dataclass(frozen=True)
class Limits:
    """Limits of the queue."""

    spans: int = 8192
    """Queued spans at most. A call has about ten."""
    batch: int = 512
    """Approximate number of spans in one message to the collector."""
    seconds: float = 2.0
    """Time that a span waits for others of its message."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Limits:
        """Read OTEL_BSP_MAX_QUEUE_SIZE, …_MAX_EXPORT_BATCH_SIZE and …_SCHEDULE_DELAY (milliseconds).

        Raises:
            SettingsError: a value is no whole number from 1.
        """
        spans = _number(environment, "OTEL_BSP_MAX_QUEUE_SIZE", cls.spans)
        batch = _number(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", cls.batch)
        return cls(spans, batch, _number(environment, "OTEL_BSP_SCHEDULE_DELAY", round(cls.seconds * 1000)) / 1000)


class SpanQueue:
    """Queue from the event loop to the exporter, which runs in a thread of its own."""

    def __init__(
        self, export: Callable[[Sequence[Bundle]], bool], close: Callable[[], None], limits: Limits | None = None
    ) -> None:
        """
        Args:
            export: sends bundles, may block; returns False if the collector did not accept them.
            close: makes a running ``export`` stop early, where it can.
        """
        self.counts: Counter[str] = Counter(exported=0, queue_full=0, not_taken=0, at_the_end=0)
        """Spans by outcome."""
        self._export, self._close = export, close
        self._limits = limits or Limits()
        self._bundles: deque[Bundle] = deque()
        self._waiting = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ending = False
        self._taken = True
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def put(self, bundle: Bundle) -> None:
        """Queue spans, or drop them where the queue is full."""
        size = len(bundle.spans)
        with self._lock:
            if self._ending or self._waiting + size > self._limits.spans:
                self.counts["at_the_end" if self._ending else "queue_full"] += size
                return
            self._bundles.append(bundle)
            self._waiting += size
            full = self._waiting >= self._limits.batch
        if full:
            self._wake.set()

    def stop(self, seconds: float) -> None:
        """Send queued spans for at most ``seconds`` and drop the rest."""
        with self._lock:
            self._ending = True
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            with suppress(Exception):
                self._close()
            self._thread.join(0.1)
        with self._lock:
            self.counts["at_the_end"] += self._waiting
            self._waiting = 0
            self._bundles.clear()
        if lost := self.counts["at_the_end"]:
            _log.warning("%d spans were not sent before the end", lost)

    def _run(self) -> None:
        lower_priority(_NICENESS)
        while True:
            self._wake.wait(self._limits.seconds)
            self._wake.clear()
            while batch := self._next():
                self._send(batch)
            if self._ending:
                with suppress(Exception):
                    self._close()
                return

    def _next(self) -> list[Bundle]:
        with self._lock:
            batch: list[Bundle] = []
            size = 0
            while self._bundles and size < self._limits.batch:
                batch.append(self._bundles.popleft())
                size += len(batch[-1].spans)
            self._waiting -= size
            return batch

    def _send(self, batch: Sequence[Bundle]) -> None:
        size = sum(len(bundle.spans) for bundle in batch)
        begin = time.monotonic()
        try:
            taken = self._export(batch)
        except Exception:
            _log.exception("spans cannot be sent, by a defect")
            taken = False
        with self._lock:
            self.counts["exported" if taken else "not_taken"] += size
        if taken != self._taken:
            self._taken = taken
            if taken:
                _log.info("the collector takes spans again")
            else:
                seconds = round(time.monotonic() - begin, 1)
                _log.warning("the collector takes no spans; they are dropped", extra={"fields": {"seconds": seconds}})


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise SettingsError(f"{name} = {text!r}: a whole number from 1 is needed")
    return int(text)
