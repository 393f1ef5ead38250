"""CRPS against numerical integrals of its definition, and what holds of any proper score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from models.assessment import crps

reals = st.floats(-50, 50)
variances = st.floats(1e-4, 400)


def integral(target: float, mean: np.ndarray, variance: np.ndarray) -> float:
    """The definition, for a mixture of normals."""

    def distribution(x: float) -> float:
        return float(np.mean(ndtr((x - mean) / np.sqrt(variance))))

    far = 12 * math.sqrt(variance.max())
    low, high = min(target, mean.min()) - far, max(target, mean.max()) + far
    places = sorted({target, *mean.tolist()})
    left, _ = quad(lambda x: distribution(x) ** 2, low, target, points=[p for p in places if p < target], limit=400)
    right, _ = quad(
        lambda x: (1 - distribution(x)) ** 2, target, high, points=[p for p in places if p > target], limit=400
    )
    return left + right


@given(reals, reals, st.floats(0.05, 400))
def test_a_normal_has_the_integral_of_the_definition(target: float, mean: float, variance: float) -> None:
    actual = crps.normal(np.array([target]), np.array([mean]), np.array([variance]))[0]
    assert actual == pytest.approx(integral(target, np.array([mean]), np.array([variance])), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("members", [2, 3, 7])
def test_a_mixture_has_the_integral_of_the_definition(members: int) -> None:
    rng = np.random.default_rng(members)
    target, mean = rng.normal(0, 3, 6), rng.normal(0, 3, (members, 6))
    variance = rng.uniform(0.2, 4, (members, 6))
    expected = [integral(target[i], mean[:, i], variance[:, i]) for i in range(6)]
    np.testing.assert_allclose(crps.mixture(target, mean, variance), expected, rtol=1e-6)


@given(reals, reals, variances)
def test_equal_members_are_as_one(target: float, mean: float, variance: float) -> None:
    y, mu, v = np.array([target]), np.full((4, 1), mean), np.full((4, 1), variance)
    np.testing.assert_allclose(crps.mixture(y, mu, v), crps.normal(y, mu[0], v[0]), rtol=1e-9, atol=1e-9)


def test_members_without_variance_are_an_ensemble_of_values() -> None:
    rng = np.random.default_rng(1)
    y, x = rng.normal(size=20), rng.normal(size=(5, 20))
    expected = np.abs(x - y).mean(axis=0) - np.abs(x[:, None] - x[None]).mean(axis=(0, 1)) / 2
    np.testing.assert_allclose(crps.mixture(y, x, np.zeros_like(x)), expected, rtol=1e-12)


def test_a_certain_prediction_costs_its_absolute_error() -> None:
    y, mean = np.array([1.0, -2.0, 3.0]), np.array([0.5, -2.0, 4.0])
    np.testing.assert_array_equal(crps.normal(y, mean, np.zeros(3)), [0.5, 0.0, 1.0])
    np.testing.assert_allclose(crps.normal(y, mean, np.full(3, 1e-16)), [0.5, 0.0, 1.0], atol=1e-8)


@pytest.mark.parametrize("wrong", [(0.5, 4.0), (0.0, 2.0), (0.0, 8.0)])
def test_nothing_scores_better_than_the_truth(wrong: tuple[float, float]) -> None:
    y = np.random.default_rng(0).normal(0, 2, 40_000)
    ones = np.ones_like(y)
    true = crps.normal(y, 0 * ones, 4 * ones)
    other = crps.normal(y, wrong[0] * ones, wrong[1] * ones)
    assert (other - true).mean() > 3 * (other - true).std() / math.sqrt(len(y))


def test_absurd_variances_have_finite_scores() -> None:
    y, v = np.array([0.0, 5.0, -5.0, 5.0]), np.array([1e-16, 1e-300, 1e37, 1e300])
    assert np.isfinite(crps.normal(y, np.zeros(4), v)).all()
    assert np.isfinite(crps.mixture(y, np.zeros((3, 4)), np.stack([v, v, v[::-1]]))).all()


@pytest.mark.parametrize(
    ("mean", "variance", "message"),
    [
        (np.zeros(3), np.ones(2), "shapes"),
        (np.zeros(2), np.ones(2), "shapes"),
        (np.zeros((1, 3)), np.ones((1, 3)), "shapes"),
        (np.zeros(3), np.array([1.0, -1.0, 1.0]), "-1"),
        (np.zeros(3), np.array([1.0, np.nan, 1.0]), "nan"),
    ],
)
def test_unfit_arrays_are_refused(mean: np.ndarray, variance: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crps.normal(np.zeros(3), mean, variance)


def test_a_mixture_of_no_members_is_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        crps.mixture(np.zeros(3), np.zeros((0, 3)), np.zeros((0, 3)))
