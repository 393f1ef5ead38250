"""EMOS finds the coefficients that data were made with, and what it finds is a minimum."""

from dataclasses import replace

import numpy as np
import pytest

from models.assessment import crps
from studies.weather_real import emos


def simulated(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Observations, ensemble means and variances, one covariate: a = 1.5, b = 0.9, d = -2, c = 0.5, e = 2."""
    rng = np.random.default_rng(seed)
    mean, variance, height = rng.normal(3, 6, n), rng.gamma(3, 0.4, n), rng.uniform(0, 2, (n, 1))
    target = 1.5 + 0.9 * mean - 2 * height[:, 0] + rng.normal(size=n) * np.sqrt(0.5 + 2 * variance)
    return target, mean, variance, height


def test_known_coefficients_are_recovered() -> None:
    fitted = emos.fit(*simulated(40_000))
    assert fitted.intercept == pytest.approx(1.5, abs=0.05)
    assert fitted.slope == pytest.approx(0.9, abs=0.005)
    assert fitted.covariates == pytest.approx([-2.0], abs=0.05)
    assert fitted.constant == pytest.approx(0.5, abs=0.12)
    assert fitted.spread == pytest.approx(2.0, abs=0.12)


@pytest.mark.parametrize("name", ["intercept", "slope", "constant", "spread"])
@pytest.mark.parametrize("step", [-0.02, 0.02])
def test_no_coefficient_can_be_bettered(name: str, step: float) -> None:
    target, mean, variance, height = simulated(2_000, seed=1)
    fitted = emos.fit(target, mean, variance, height)
    moved = replace(fitted, **{name: getattr(fitted, name) + step})
    assert crps.normal(target, *moved.predict(mean, variance, height)).mean() > fitted.crps
    assert crps.normal(target, *fitted.predict(mean, variance, height)).mean() == pytest.approx(fitted.crps, rel=1e-9)


def test_units_do_not_matter() -> None:
    target, mean, variance, height = simulated(2_000, seed=2)
    celsius = emos.fit(target, mean, variance, height)
    fahrenheit = emos.fit(1.8 * target + 32, 1.8 * mean + 32, 1.8**2 * variance, 1000 * height)
    assert fahrenheit.crps == pytest.approx(1.8 * celsius.crps, rel=1e-5)
    assert fahrenheit.slope == pytest.approx(celsius.slope, abs=1e-3)
    assert fahrenheit.spread == pytest.approx(celsius.spread, abs=2e-2)


def test_an_ensemble_without_spread_still_gets_a_variance() -> None:
    target, mean, _, _ = simulated(500)
    fitted = emos.fit(target, mean, np.zeros(500))
    _, variance = fitted.predict(mean, np.zeros(500), np.empty((500, 0)))
    assert variance == pytest.approx(np.full(500, np.var(target - fitted.intercept - fitted.slope * mean)), rel=0.2)


def test_too_few_or_missing_values_are_refused() -> None:
    with pytest.raises(ValueError, match="3 rows cannot tell 4 coefficients"):
        emos.fit(np.zeros(3), np.zeros(3), np.ones(3))
    target, mean, variance, height = simulated(50)
    height[3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        emos.fit(target, mean, variance, height)
