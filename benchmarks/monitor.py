"""Live monitor: cost of a unit from the ledger, cost of a scrape, and memory at a million units.

python -m benchmarks.monitor [--units 1000000] [--ledger URL]
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import psutil
import uvicorn

from benchmarks import harness
from benchmarks.harness import Figure
from models.live.window_figures import bucket_figures, exact_figures
from services.monitor.exporter import Exporter
from services.monitor.http import Routes, application
from services.monitor.setup import monitor
from services.runtime.settings import Settings
from tests.ports import free_port
from tests.services.monitor.simulated import Book, simulate

FLUSH = 1000
"""Number of units per flush."""


def main() -> None:
    parser = harness.parser("monitor", __doc__)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--ledger", default="", help="an empty ledger's URL; default: a SQLite file")
    options = parser.parse_args()
    harness.announce()
    with tempfile.TemporaryDirectory() as folder:
        url = options.ledger or f"sqlite:///{Path(folder) / 'ledger.db'}"
        harness.report(measure(url, options.units))


def measure(url: str, units: int) -> Iterator[Figure]:
    """Measure reading, evaluation and scrape of a history of ``units`` units."""
    labels = fill(url, units)
    part = f"Live monitor, {units:,} units in a week, {labels:,} labels"
    before = _resident()
    made = monitor(Settings(monitor_ledgers=url))
    begin, cpu = time.perf_counter(), time.process_time()
    snapshot = made.cycle()
    while not all(ledger.caught_up for ledger in snapshot.ledgers):
        snapshot = made.cycle()
    reading, cpu = time.perf_counter() - begin, time.process_time() - cpu
    (stream,) = made.streams.values()
    exporter = Exporter()
    exporter.publish(snapshot)
    now = snapshot.time
    last = stream.recent.newest(100_000)
    begin_of_all = float(np.floor((now - 30 * 86400) / 86400) * 86400)
    yield Figure(part, "read and evaluate the whole history", reading, "s", note=f"{1e6 * cpu / units:.2f} µs CPU/unit")
    yield Figure(part, "memory", (_resident() - before) / 1e6, "MB", note=f"{len(stream.buckets)} buckets")
    routes = Routes(exporter)
    routes.publish(snapshot)
    with served(routes) as url_of_metrics, httpx.Client() as client:
        yield _median(part, "a scrape over HTTP", 1e3, "ms", lambda: client.get(url_of_metrics), 200, at_most=5)
    yield _median(part, "its text, made once a second beside it", 1e3, "ms", lambda: exporter.publish(snapshot), 50)
    yield _median(part, "a look at the ledger without news", 1e3, "ms", made.cycle, 20)
    exact = lambda: exact_figures(stream, "requested", last, now, "aipw", 0)  # noqa: E731
    buckets = lambda: bucket_figures(stream, "requested", begin_of_all, now, "aipw", 0)  # noqa: E731
    yield _median(part, f"evaluate the last {len(last):,} exactly", 1e3, "ms", exact, 10)
    yield _median(part, "evaluate 30 days from buckets", 1e3, "ms", buckets, 10)
    piece = stream.recent.newest(10_000)
    yield _median(part, "ingest into buckets", 1e9 / len(piece), "ns/unit", lambda: stream.buckets.add_units(piece), 50)
    made.close()


@contextmanager
def served(routes: Routes) -> Iterator[str]:
    """Run the monitor's HTTP server on a free port; yield the URL of its metrics."""
    port = free_port()
    config = uvicorn.Config(application(routes), host="127.0.0.1", port=port, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/metrics"
    finally:
        server.should_exit = True
        thread.join()


def fill(url: str, units: int) -> int:
    """Write a week of traffic with 10 % deferred, 1 % audits and all labels requested; return the number of labels."""
    now = time.time()
    book = Book(url, now=now - 7 * 86400)
    book.deploy(now - 7 * 86400)
    stream = simulate(units, rate=0.01, start=now - 7 * 86400, seconds=7 * 86400 - 60)
    for begin in range(0, units, FLUSH):
        book.decide(stream.take(slice(begin, begin + FLUSH)))
    labelled = stream.asked
    for part in np.array_split(labelled, max(1, len(labelled) // 5000)):
        times = (stream.time[part] + 30).tolist()
        book.label(part.tolist(), stream.error[part].tolist(), float(times[-1]), received=times)
    book.beat(time.time() + 3600)
    book.engine.dispose()
    return len(labelled)


def _median(
    part: str, name: str, scale: float, unit: str, work: Callable[[], object], times: int, at_most: float | None = None
) -> Figure:
    values = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        values.append(scale * (time.perf_counter() - begin))
    low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
    return Figure(part, name, float(median), unit, at_most=at_most, note=f"{low:.3g} to {high:.3g} in {times}")


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    main()
