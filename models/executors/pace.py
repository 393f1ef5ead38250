"""Model of the duration of a pass over rows: a fixed part and a part per row, fitted to measurements."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


class Pace:
    """Expected durations of one executor; guesses before ``measure`` is called."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """
        Args:
            clock: function that returns seconds since any moment.
        """
        self._clock = clock
        self.fixed_seconds = 1e-4
        self.row_seconds = 1e-5

    def seconds(self, rows: int) -> float:
        """Return the expected duration for a number of rows."""
        return self.fixed_seconds + rows * self.row_seconds

    def rows_within(self, seconds: float, most: int) -> int:
        """Return the number of rows that fit into a duration: a power of two, 1 to ``most``."""
        fitting = (seconds - self.fixed_seconds) / self.row_seconds
        return min(1 << max(int(fitting), 1).bit_length() - 1, most)

    def measure(self, run: Callable[[Rows], Any], rows: Rows, many: int, repeats: int = 7) -> None:
        """Warm up with rows [n, F], and fit the model to medians of one row and of ``many``."""
        single = self._median_seconds(run, rows[:1], repeats * 4)
        several = self._median_seconds(run, np.resize(rows, (many, rows.shape[1])), repeats)
        self.row_seconds = max(several - single, 1e-7) / (many - 1)
        self.fixed_seconds = max(single - self.row_seconds, 1e-6)

    def _median_seconds(self, run: Callable[[Rows], Any], rows: Rows, repeats: int) -> float:
        run(rows)
        durations = []
        for _ in range(repeats):
            start = self._clock()
            run(rows)
            durations.append(self._clock() - start)
        return float(np.median(durations))
