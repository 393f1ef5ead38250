"""Errors of means: kinds, precision, and what is refused."""

import math

import numpy as np
import pytest
from sklearn import metrics

from models.assessment import errors as err


def test_errors_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    target, prediction = rng.normal(10, 2, 50), rng.normal(10, 2, 50)
    assert err.rmse(target, prediction) == pytest.approx(metrics.root_mean_squared_error(target, prediction))
    assert err.mae(target, prediction) == pytest.approx(metrics.mean_absolute_error(target, prediction))
    assert err.mape(target, prediction) == pytest.approx(
        100 * metrics.mean_absolute_percentage_error(target, prediction)
    )
    np.testing.assert_allclose(np.square(err.absolute_error(target, prediction)), err.squared_error(target, prediction))


def test_float32_inputs_are_judged_in_float64() -> None:
    target = np.array([1e30, -1e30], np.float32)
    squared = err.squared_error(target, -target)
    assert squared.dtype == np.float64
    np.testing.assert_allclose(squared, 4e60, rtol=1e-6)
    assert err.absolute_error(target, target).dtype == np.float64


def test_a_percentage_of_a_zero_target_is_not_a_number_of_percent() -> None:
    assert err.mape(np.array([0.0, 1.0]), np.array([1.0, 1.0])) == math.inf
    assert math.isnan(err.mape(np.array([0.0]), np.array([0.0])))


@pytest.mark.parametrize("shapes", [((0,), (0,)), ((2,), (3,)), ((2, 2), (2, 2))])
def test_errors_need_pairs(shapes: tuple) -> None:
    with pytest.raises(ValueError, match="one length"):
        err.absolute_error(np.zeros(shapes[0]), np.zeros(shapes[1]))
