"""The live monitor: what a unit costs on its way from the ledger, what a scrape costs, and memory at a million units.

python -m benchmarks.monitor [--units 1000000] [--ledger URL]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from services.monitor.estimates import by_panes, exactly
from services.monitor.exporter import Exporter
from services.monitor.setup import monitor
from services.settings import Settings
from tests.services.monitor.simulated import Book, simulate

FLUSH = 1000
"""Units of a flush."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--ledger", default="", help="an empty ledger's URL; default: a SQLite file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.ledger or f"sqlite:///{Path(folder) / 'ledger.db'}"
        print(json.dumps(measured(url, given.units), indent=2))


def measured(url: str, units: int) -> dict[str, float]:
    """Seconds and bytes, by what they are of."""
    asked = fill(url, units)
    before = _resident()
    made = monitor(Settings(monitor_ledgers=url))
    begin, cpu = time.perf_counter(), time.process_time()
    published = made.cycle()
    while not all(ledger.caught_up for ledger in published.ledgers):
        published = made.cycle()
    reading, cpu = time.perf_counter() - begin, time.process_time() - cpu
    (stream,) = made.streams.values()
    exporter = Exporter()
    exporter.publish(published)
    now = published.time
    last = stream.recent.newest(100_000)
    begin_of_all = float(np.floor((now - 30 * 86400) / 86400) * 86400)
    found = {
        "units": float(units),
        "labels": float(asked),
        "reading_seconds": reading,
        "reading_cpu_microseconds_a_unit": 1e6 * cpu / units,
        "scrape_milliseconds": 1e3 * _least(lambda: exporter.text(now)),
        "publish_milliseconds": 1e3 * _least(lambda: exporter.publish(published)),
        "cycle_without_news_milliseconds": 1e3 * _least(made.cycle, 5),
        "exact_milliseconds_last_100000": 1e3 * _least(lambda: exactly(stream, "requested", last, now, "aipw", 0), 3),
        "panes_milliseconds_30d": 1e3 * _least(lambda: by_panes(stream, "requested", begin_of_all, now, "aipw", 0), 3),
        "memory_megabytes": (_resident() - before) / 1e6,
        "panes": float(len(stream.panes)),
    }
    piece = stream.recent.newest(10_000)
    found["add_units_nanoseconds_a_unit"] = 1e9 / len(piece) * _least(lambda: stream.panes.add_units(piece), 5)
    made.close()
    return found


def fill(url: str, units: int) -> int:
    """A week of traffic with 10 % deferred, 1 % audits and all labels asked for; how many."""
    now = time.time()
    book = Book(url, now=now - 7 * 86400)
    book.deploy(now - 7 * 86400)
    stream = simulate(units, rate=0.01, start=now - 7 * 86400, seconds=7 * 86400 - 60)
    for begin in range(0, units, FLUSH):
        book.decide(stream.take(slice(begin, begin + FLUSH)))
    asked = stream.asked
    for part in np.array_split(asked, max(1, len(asked) // 5000)):
        times = (stream.time[part] + 30).tolist()
        book.label(part.tolist(), stream.error[part].tolist(), float(times[-1]), received=times)
    book.beat(time.time() + 3600)
    book.engine.dispose()
    return len(asked)


def _least(work: Callable[[], object], times: int = 20) -> float:
    """Seconds of the quickest of several runs."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    main()
