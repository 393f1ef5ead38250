"""Intervals: bent where Wald's would be wrong, wider where a few labels carry the variance."""

import math

import numpy as np
import pytest

from models.estimation.intervals import interval, quantile

NORMAL = 1.959963984540054


def test_few_effective_squares_make_wider_intervals() -> None:
    second, fourth = np.array([1.0, 1.0, 0.0]), np.array([2 / 30, 0.0, 0.0])
    quantiles = quantile(second, fourth)
    assert quantiles[0] == pytest.approx(2.0423, abs=1e-3), "Student's quantile at 30 degrees of freedom"
    assert quantiles[1] == quantiles[2] == pytest.approx(NORMAL, abs=1e-6)


def test_intervals_of_positive_errors_are_positive() -> None:
    result = interval(1.0, 0.7, NORMAL, 500, "positive")
    assert 0 < result.low < 1 < result.high
    assert result.low * result.high == pytest.approx(1)


def test_intervals_of_shares_stay_shares() -> None:
    few = interval(0.95, 0.04, NORMAL, 500, "share")
    assert 0.75 < few.low < 0.95 < few.high < 1
    many = interval(0.95, 0.04, NORMAL, 5000, "share")
    assert (many.low, many.high) == (pytest.approx(0.95 - NORMAL * 0.04), 1.0)


def test_errors_of_any_sign_have_plain_intervals() -> None:
    result = interval(-1.0, 0.5, 2.0, 50, "real")
    assert (result.low, result.high) == (-2, 0)


@pytest.mark.parametrize("scale", ["positive", "share", "real"])
def test_what_is_certain_has_no_width_and_what_does_not_exist_no_ends(scale: str) -> None:
    result = interval(0.5, 0.0, NORMAL, 0, scale)
    assert result.low == result.high == 0.5
    assert math.isnan(interval(math.nan, math.nan, NORMAL, 0, scale).low)
