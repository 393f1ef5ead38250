"""How long rows take: a fixed part and a part a row, and the rows that fit into a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.executors.pace import Pace

ROWS = np.zeros((3, 2), np.float32)


class Run:
    """A pass over rows on a clock of its own: what comes first takes longer, the rest as long as its rows say."""

    def __init__(self, fixed: float = 0.0, row: float = 0.0) -> None:
        self.now = 0.0
        self._fixed, self._row = fixed, row
        self._seen: set[int] = set()

    def __call__(self, rows: np.ndarray) -> None:
        self.now += self._fixed + self._row * len(rows)
        if len(rows) not in self._seen:
            self._seen.add(len(rows))
            self.now += 100.0

    def clock(self) -> float:
        return self.now


def test_before_anything_was_measured_there_is_a_guess() -> None:
    assert 0 < Pace().seconds(1) < Pace().seconds(10_000)


def test_both_parts_are_found() -> None:
    run = Run(fixed=2.0, row=0.25)  # sums of such numbers are exact
    pace = Pace(run.clock)
    pace.measure(run, ROWS, 101, repeats=1)
    assert (pace.fixed_seconds, pace.row_seconds) == (2.0, 0.25)
    assert pace.seconds(500) == 127.0


def test_one_slow_pass_changes_nothing() -> None:
    run = Run(fixed=2.0, row=0.25)
    ticks = iter(range(1000))

    def sometimes(rows: np.ndarray) -> None:
        run(rows)
        run.now += 64.0 * (next(ticks) % 7 == 3)

    pace = Pace(run.clock)
    pace.measure(sometimes, ROWS, 101)
    assert (pace.fixed_seconds, pace.row_seconds) == (2.0, 0.25)


def test_what_takes_no_time_still_has_a_duration() -> None:
    run = Run()
    pace = Pace(run.clock)
    pace.measure(run, ROWS, 64)
    assert pace.seconds(1) > 0
    assert pace.rows_within(1e-9, 1024) == 1


@given(st.floats(1e-7, 10), st.floats(1e-7, 1), st.floats(1e-4, 1), st.sampled_from([1, 16, 1024, 4096]))
def test_rows_within_a_time_are_a_power_of_two_that_fits(fixed: float, row: float, seconds: float, most: int) -> None:
    pace = Pace()
    pace.fixed_seconds, pace.row_seconds = fixed, row
    rows = pace.rows_within(seconds, most)
    assert 1 <= rows <= most
    assert rows & (rows - 1) == 0
    assert rows == 1 or pace.seconds(rows) <= seconds * (1 + 1e-9)
    assert rows == most or pace.seconds(2 * rows) > seconds * (1 - 1e-9)
