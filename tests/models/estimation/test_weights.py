"""Sums by the three estimators: weights that add up, variances of steps as of coefficients written out."""

import numpy as np
import pytest

from models.estimation.weights import (
    Estimated,
    Labels,
    augmented,
    hajek,
    horvitz_thompson,
    label_strata,
)

CELLS = 300


def labels(seed: int = 0) -> Labels:
    rng = np.random.default_rng(seed)
    cell = np.sort(rng.choice(CELLS, 200, replace=False))
    return Labels.of(cell, rng.uniform(0.1, 1, 200), rng.gamma(1, 2, 200))


def estimated() -> dict[str, Estimated]:
    sample = labels()
    strata = label_strata(sample.cell, None, CELLS)
    return {
        "ht": horvitz_thompson(sample, CELLS),
        "hajek": hajek(sample, np.ones(CELLS), strata),
        "aipw": augmented(sample, np.full(200, 1.5), np.full(CELLS, 1.5)),
    }


@pytest.mark.parametrize("name", ["ht", "hajek", "aipw"])
def test_the_variance_of_a_step_is_that_of_its_coefficients(name: str) -> None:
    estimate = estimated()[name]
    cell, inside = np.array([0, 120, 120, 299, 40]), np.array([0.0, 0.3, 1.0, 1.0, 0.5])
    upper, lower = np.array([1.0, 2.0, 0.5, 1.0, 3.0]), np.array([0.0, -1.0, -0.5, 7.0, 0.0])
    variance, second, fourth = estimate.step_moments(cell, inside, upper, lower)
    for number in range(5):
        c = np.full(CELLS, lower[number])
        c[: cell[number]] = upper[number]
        c[cell[number]] += (upper - lower)[number] * inside[number]
        assert variance[number] == pytest.approx(estimate.variance(c), rel=1e-9, abs=1e-12)
        assert (second[number], fourth[number]) == pytest.approx(estimate.tails(c), rel=1e-9, abs=1e-12)


def test_hajek_weights_add_up_to_the_units_of_each_stratum() -> None:
    sample = labels(1)
    unit = Labels.of(sample.cell, 1 / sample.weight, np.ones(200))
    strata = label_strata(sample.cell, None, CELLS)
    estimate = hajek(unit, np.ones(CELLS), strata)
    np.testing.assert_allclose(np.bincount(strata, estimate.totals), np.bincount(strata))
    assert estimate.variance(1.0) == pytest.approx(0, abs=1e-9), "a constant is known without error"
    assert horvitz_thompson(unit, CELLS).variance(1.0) > 100


def test_a_perfect_prediction_has_no_variance() -> None:
    sample = labels(2)
    values = sample.value / sample.weight
    base = np.random.default_rng(2).random(CELLS)
    estimate = augmented(sample, values, base)
    assert estimate.variance(np.arange(CELLS, dtype=float)) == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(estimate.totals, base)


def test_certain_labels_have_no_variance_whatever_the_estimator() -> None:
    sample = Labels.of(np.arange(CELLS), np.ones(CELLS), np.random.default_rng(3).random(CELLS))
    values = sample.value
    for estimate in (
        horvitz_thompson(sample, CELLS),
        hajek(sample, np.ones(CELLS), label_strata(sample.cell, None, CELLS)),
        augmented(sample, np.full(CELLS, 0.3), np.full(CELLS, 0.3)),
    ):
        assert estimate.variance(np.arange(CELLS, dtype=float)) == 0
        np.testing.assert_allclose(estimate.totals, values)


def test_strata_have_enough_labels_and_no_more_than_eight() -> None:
    cell = np.sort(np.random.default_rng(4).integers(0, CELLS, 5000))
    strata = label_strata(cell, None, CELLS)
    assert set(strata) == set(range(8))
    assert np.all(np.diff(strata) >= 0)
    assert np.bincount(strata[cell]).min() > 500
    assert not label_strata(cell[:99], None, CELLS).any()
    assert not label_strata(np.zeros(500, np.intp), None, CELLS).any(), "ties stay together"
    assert not label_strata(np.empty(0, np.intp), None, CELLS).any()


def test_strata_of_bins_count_their_labels() -> None:
    bins, number = np.array([0, 1, 2, 3]), np.array([60, 60, 60, 60])
    np.testing.assert_array_equal(label_strata(bins, number, 5, most=4), [0, 1, 2, 3, 3])
