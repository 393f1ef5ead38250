"""Durations of several things measured turn by turn, so that a busy machine burdens all of them alike."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Timed:
    """Durations of one thing."""

    seconds: NDArray[np.float64]
    """Duration of each call by the clock that was asked for, [n]."""
    cpu_seconds: float
    """What this process computed meanwhile, all calls together."""

    @property
    def p50(self) -> float:
        return float(np.median(self.seconds))

    @property
    def p99(self) -> float:
        return float(np.quantile(self.seconds, 0.99))

    @property
    def cpu_share(self) -> float:
        """Of the wall clock, how much this process (the load generator) computed."""
        return self.cpu_seconds / float(self.seconds.sum())

    def spread(self, parts: int = 8) -> float:
        """Half the range of the medians of consecutive parts, relative to the median of all."""
        medians = [np.median(part) for part in np.array_split(self.seconds, parts) if len(part)]
        return float((max(medians) - min(medians)) / 2 / self.p50)


def interleaved(
    cases: Mapping[str, Callable[[], object]],
    seconds: float,
    warm_up: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timed]:
    """Runs all cases in turn, in an order drawn anew each round, for about so many seconds.

    Args:
        clock: of the durations. ``time.thread_time`` where all is computed on the calling thread: on a busy machine
            long calls are interrupted more than short ones.
    """
    for case in cases.values():
        for _ in range(warm_up):
            case()
    durations: dict[str, list[float]] = {name: [] for name in cases}
    computed = dict.fromkeys(cases, 0.0)
    order = list(cases.items())
    draw = random.Random(1)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(durations[order[0][0]]) < 5:
        draw.shuffle(order)
        for name, case in order:
            cpu = time.process_time()
            start = clock()
            case()
            durations[name].append(clock() - start)
            computed[name] += time.process_time() - cpu
    return {name: Timed(np.array(values), computed[name]) for name, values in durations.items()}
