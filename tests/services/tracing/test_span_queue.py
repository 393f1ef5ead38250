"""The queue to the collector: nobody waits for it, what is lost is counted, the end comes in time."""

import threading
import time
from collections.abc import Sequence

import pytest

from services.tracing.recording import Bundle, SpanRecord
from services.tracing.span_queue import Limits, SpanQueue

PATIENCE_SECONDS = 60


def bundle(spans: int = 1) -> Bundle:
    return Bundle(1, "", False, 0, [SpanRecord("a", 1, 0, 0.0, 1.0) for _ in range(spans)])


class Exporting:
    """An exporter that can be held, and that fails if it is told to."""

    def __init__(self, *, held: bool = False, fails: bool = False, taken: bool = True) -> None:
        self.batches: list[int] = []
        self.closed = threading.Event()
        self._go = threading.Event()
        self._fails, self.taken = fails, taken
        if not held:
            self._go.set()

    def __call__(self, bundles: Sequence[Bundle]) -> bool:
        self.batches.append(sum(len(batch.spans) for batch in bundles))
        self._go.wait(600)  # longer than any test may take
        if self._fails:
            raise RuntimeError("secret")
        return self.taken

    def close(self) -> None:
        self.closed.set()
        self._go.set()


def queue(exporting: Exporting, limits: Limits) -> SpanQueue:
    return SpanQueue(exporting, exporting.close, limits)


def test_what_waits_at_the_end_is_sent() -> None:
    exporting = Exporting()
    made = queue(exporting, Limits(seconds=60, batch=2))
    made.put(bundle())
    time.sleep(0.05)
    assert exporting.batches == [], "it waits for company"
    made.stop(PATIENCE_SECONDS)
    assert (exporting.batches, made.counts["exported"], exporting.closed.is_set()) == ([1], 1, True)
    made.put(bundle(3))
    assert made.counts["at_the_end"] == 3


def test_a_full_batch_goes_at_once_and_no_message_is_much_larger() -> None:
    exporting = Exporting()
    made = queue(exporting, Limits(seconds=60, batch=4))
    for _ in range(10):
        made.put(bundle(2))
    end = time.monotonic() + PATIENCE_SECONDS
    while made.counts["exported"] < 16 and time.monotonic() < end:
        time.sleep(0.005)
    made.stop(PATIENCE_SECONDS)
    assert made.counts["exported"] == 20
    assert max(exporting.batches) <= 5


def test_a_collector_that_hangs_costs_spans_and_no_time() -> None:
    """Whoever waited for the exporter would wait beyond the time that a test has."""
    exporting = Exporting(held=True)
    made = queue(exporting, Limits(spans=10, batch=1, seconds=0.01))
    made.put(bundle())
    end = time.monotonic() + PATIENCE_SECONDS
    while not exporting.batches and time.monotonic() < end:
        time.sleep(0.001)
    for _ in range(1000):
        made.put(bundle(2))
    assert made.counts["queue_full"] == 2 * 1000 - 10
    assert not exporting.closed.is_set()
    made.stop(0.2)
    assert exporting.closed.is_set()
    assert sum(made.counts.values()) == 2001


@pytest.mark.parametrize("exporting", [Exporting(taken=False), Exporting(fails=True)], ids=["refuses", "fails"])
def test_what_is_not_taken_is_counted_and_said_once(exporting: Exporting, caplog: pytest.LogCaptureFixture) -> None:
    made = queue(exporting, Limits(batch=1, seconds=0.01))
    for number in range(3):
        made.put(bundle())
        end = time.monotonic() + PATIENCE_SECONDS
        while made.counts["not_taken"] <= number and time.monotonic() < end:
            time.sleep(0.001)
    exporting.taken, exporting._fails = True, False
    made.put(bundle())
    made.stop(PATIENCE_SECONDS)
    assert (made.counts["not_taken"], made.counts["exported"]) == (3, 1)
    messages = [record.getMessage() for record in caplog.records if record.name == "services.tracing.span_queue"]
    assert messages.count("the collector takes no spans; they are dropped") == 1
