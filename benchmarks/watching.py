"""What a service's process holds while it runs: memory, descriptors, threads, metric series; and whether it grows."""

from __future__ import annotations

import math
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from benchmarks.service import HOST, Service

MIB = 1 << 20


@dataclass
class Watched:
    """Samples by name; seconds since the watch began, and what was found."""

    seconds: list[float] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)

    def last(self, name: str) -> float:
        return self.values[name][-1]

    def most(self, name: str) -> float:
        return max(self.values[name])

    def growth(self, name: str, settled: float = 0.1) -> float:
        """From the end of the first tenth to the last look but one, by a straight line; the last is afterwards."""
        count = len(self.seconds) - 1
        first = min(math.ceil(settled * count), count - 2)
        moments, found = np.array(self.seconds[first:count]), np.array(self.values[name][first:count])
        slope = np.polyfit(moments - moments[0], found, 1)[0]
        return float(slope * (moments[-1] - moments[0]))


def look(service: Service, *, series: bool = False) -> dict[str, float]:
    """MiB, open files, threads of the process that holds the model; ``series`` asks it for its metrics, too."""
    process = max(service.tree(), key=lambda one: one.memory_info().rss)
    with process.oneshot():
        memory = process.memory_full_info()
        found = {
            "RSS": memory.rss / MIB,
            "PSS": memory.pss / MIB,
            "open files": float(process.num_fds()),
            "threads": float(process.num_threads()),
        }
    if series:
        with urllib.request.urlopen(f"http://{HOST}:{service.http_port}/metrics", timeout=30) as answer:
            found["metric series"] = float(sum(not line.startswith(b"#") for line in answer.read().splitlines()))
    return found


@contextmanager
def watching(service: Service, every_seconds: float = 0.5, *, series: bool = False) -> Iterator[Watched]:
    """Looks at a service from time to time until the end of the block."""
    watched, ended, start = Watched(), threading.Event(), time.monotonic()

    def note() -> None:
        watched.seconds.append(time.monotonic() - start)
        for name, value in look(service, series=series).items():
            watched.values.setdefault(name, []).append(value)

    def sample() -> None:
        while not ended.wait(every_seconds):
            note()

    note()
    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        ended.set()
        thread.join()
        note()
