"""p-values are exact where they say so, super-uniform everywhere, and equal to independent implementations."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from models.certification.pvalues import betting, binomial, exact_interval, hoeffding_bentkus, zero_failure_size


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.1, 0.5, 0.9])
def test_the_binomial_test_is_the_binomial_law(alpha: float) -> None:
    n = np.array([1, 2, 59, 300, 20_000])[:, None]
    k = np.array([0, 1, 3, 40, 300, 20_000])
    expected = binom.cdf(np.minimum(k, n), n, alpha)
    np.testing.assert_allclose(binomial(k, n, alpha), expected, rtol=1e-9, atol=1e-300)


def test_no_units_and_nothing_but_failures_say_nothing() -> None:
    assert binomial(0, 0, 0.1) == 1
    assert binomial(5, 5, 0.1) == 1
    assert hoeffding_bentkus(0.0, 0, 0.1) == 1
    assert betting(np.empty(0), 1.0, 0.1, 0.05) == 1


@pytest.mark.parametrize(("alpha", "n"), [(0.05, 59), (0.01, 299), (0.001, 2995)])
def test_the_zero_failure_size_is_the_first_that_certifies(alpha: float, n: int) -> None:
    assert zero_failure_size(alpha, 0.05) == n
    assert binomial(0, n, alpha) <= 0.05 < binomial(0, n - 1, alpha)


@pytest.mark.parametrize("bound", [1.0, 4.0])
def test_hoeffding_bentkus_is_that_of_mapie(bound: float) -> None:
    methods = pytest.importorskip("mapie.risk_control.methods", reason="mapie is the oracle; install the dev extra")
    for alpha in (0.05, 0.2, 0.6):
        means = np.array([0.0, 0.01, 0.04, 0.1, 0.3, 0.9])
        n = np.array([10, 50, 200, 1000, 30, 5000])
        theirs = methods.compute_hoeffding_bentkus_p_value(means, n, alpha)[:, 0]
        ours = hoeffding_bentkus(means * bound, n, alpha * bound, bound)
        np.testing.assert_allclose(ours, np.minimum(theirs, 1), rtol=1e-9)


@pytest.mark.parametrize("law", ["coin", "rare", "beta"])
def test_p_values_are_super_uniform_at_the_edge_of_the_hypothesis(law: str) -> None:
    rng, alpha, n, runs = np.random.default_rng(7), 0.1, 200, 4000
    losses = {
        "coin": (rng.random((runs, n)) < alpha).astype(float),
        "rare": 1.0 * (rng.random((runs, n)) < alpha / 4) * 4,
        "beta": rng.beta(0.5, 4.5, (runs, n)),
    }[law]
    bound = 4.0 if law == "rare" else 1.0
    bets = np.array([betting(row - alpha, bound - alpha, alpha * (bound - alpha), 0.05) for row in losses])
    p_values = {"betting": bets, "hb": hoeffding_bentkus(losses.mean(axis=1), n, alpha, bound)}
    if law == "coin":
        p_values["binomial"] = binomial(losses.sum(axis=1), n, alpha)
    for name, values in p_values.items():
        for level in (0.01, 0.05, 0.2):
            assert np.mean(values <= level) <= level + 3 * math.sqrt(level / runs), name


def test_betting_is_stronger_than_hoeffding_bentkus_where_losses_vary_little() -> None:
    rng = np.random.default_rng(3)
    losses = rng.uniform(0.05, 0.09, 150)
    assert betting(losses - 0.1, 0.9, 0.09, 0.05) < 0.05 < hoeffding_bentkus(losses.mean(), 150, 0.1)


def test_bets_never_lose_everything() -> None:
    worst = np.tile([-0.1, 0.9, 0.9, 0.9], 500)
    assert betting(worst, 0.9, 1e-12, 1e-9) <= 1
    assert math.isfinite(betting(np.full(1000, 0.9), 0.9, 0.09, 0.05))


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 9), (9, 9), (120, 1000)])
def test_intervals_are_those_of_clopper_and_pearson(k: int, n: int) -> None:
    low, high = exact_interval(k, n)
    assert low == pytest.approx(0 if k == 0 else beta.ppf(0.025, k, n - k + 1))
    assert high == pytest.approx(1 if k == n else beta.ppf(0.975, k + 1, n - k))
    assert exact_interval(0, 0) == (0, 1)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_a_risk_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="risk is"):
        binomial(0, 10, alpha)
    with pytest.raises(ValueError, match="risk is"):
        hoeffding_bentkus(0.0, 10, 2 * alpha, 2.0)
