"""How long rows take: a fixed part and a part a row, and the rows that fit into a time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.executors.pace import Pace

ROWS = np.zeros((3, 2), np.float32)


def test_before_anything_was_measured_there_is_a_guess() -> None:
    assert 0 < Pace().seconds(1) < Pace().seconds(10_000)


def test_both_parts_are_found() -> None:
    pace = Pace()
    pace.measure(lambda rows: time.sleep(0.002 + 0.0002 * len(rows)), ROWS, 101, repeats=3)
    assert pace.fixed_seconds == pytest.approx(0.002, rel=0.5)
    assert pace.row_seconds == pytest.approx(0.0002, rel=0.3)
    assert pace.seconds(500) == pytest.approx(0.102, rel=0.3)


def test_what_takes_no_time_still_has_a_duration() -> None:
    pace = Pace()
    pace.measure(lambda rows: None, ROWS, 64)
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
