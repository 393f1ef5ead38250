"""Predictions for AIPW: monotone, of enough labels, tuned so that they do no harm."""

import numpy as np
import pytest

from models.estimation.weights import halves, monotone, tuned


@pytest.mark.parametrize("rising", [True, False])
def test_steps_are_monotone_and_keep_the_mean(rising: bool) -> None:
    rng = np.random.default_rng(0)
    cell = np.sort(rng.choice(10_000, 1000, replace=False))
    weight = rng.uniform(1, 5, 1000)
    values = weight * (cell if rising else -cell) * rng.gamma(1, 1, 1000)
    fitted = monotone(cell, weight, values, rising=rising)
    everywhere = fitted.everywhere(10_000)
    assert np.all(np.diff(everywhere) * (1 if rising else -1) >= 0)
    np.testing.assert_array_equal(fitted.at(cell), everywhere[cell])
    assert (weight * fitted.at(cell)).sum() == pytest.approx(values.sum())
    assert np.bincount(np.searchsorted(fitted.last, cell)).min() >= 25


def test_a_single_large_error_predicts_nobody() -> None:
    values = np.zeros(100)
    values[-1] = 1000.0
    assert monotone(np.arange(100), np.ones(100), values).at(np.array([99]))[0] <= 1000 / 25


def test_without_labels_nothing_is_predicted() -> None:
    empty = np.empty(0)
    np.testing.assert_array_equal(monotone(np.empty(0, np.intp), empty, empty).everywhere(3), np.zeros(3))


def test_a_prediction_that_says_nothing_is_left_out() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(5, 1, 1000)
    assert tuned(np.full(1000, 3.0), values, np.ones(1000)) == (pytest.approx(values.mean()), 0.0)
    intercept, slope = tuned(2 * values + 1, values, np.ones(1000))
    assert (intercept, slope) == (pytest.approx(-0.5), pytest.approx(0.5))
    assert tuned(values, values, np.zeros(1000)) == (0.0, 0.0), "all labels are certain: nothing to gain"


def test_halves_are_halves_and_stay_so() -> None:
    half = halves(100_000)
    assert abs(half.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(half[1:], half[:-1])[0, 1]) < 0.02
    np.testing.assert_array_equal(halves(10), half[:10])
