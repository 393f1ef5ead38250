"""Ends of axes."""

import math

import numpy as np
import pytest

from services.report.drawing import LARGEST, apart, drawn


def test_ends_that_are_apart_stay() -> None:
    assert apart(-1.0, 2.5) == (-1.0, 2.5)


@pytest.mark.parametrize("value", [0.0, 3.0, -3.0, 1e37, 1e-16, -1e300, 1.7e308, 5e-324])
def test_equal_ends_move_apart_around_their_value(value: float) -> None:
    low, high = apart(value, value)
    assert low < max(min(value, LARGEST), -LARGEST) < high
    assert math.isfinite(high - low)
    assert high - low > 1e-9 * max(abs(low), abs(high))


def test_what_is_too_large_is_not_drawn() -> None:
    actual = drawn(np.array([1.0, np.inf, -np.inf, np.nan, 1.7e308, -2.0]))
    np.testing.assert_array_equal(actual, [1.0, np.nan, np.nan, np.nan, np.nan, -2.0])
