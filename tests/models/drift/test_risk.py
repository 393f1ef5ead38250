"""The test of the risk: honest about its baseline and about sampling, indifferent to how labels are cut, powerful."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.drift.risk import BLOCK, Labelled, RiskTest, against_calibration, against_limit
from models.drift.wealth import alarmed, mixed


def flips(rng: np.random.Generator, share: float, units: int) -> np.ndarray:
    return (rng.random(units) < share).astype(float)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 100), max_size=8), st.integers(0, 2**31))
def test_the_cut_of_the_labels_changes_no_bit(cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses, pi = rng.exponential(size=100), rng.choice([0.1, 0.5, 1.0], 100)
    test = against_calibration(rng.exponential(size=50), 4.0, least_propensity=0.1)
    whole, path = test.path(test.start(), losses, pi)
    labelled, paths = test.start(), []
    for part, share in zip(np.split(losses, sorted(cuts)), np.split(pi, sorted(cuts)), strict=True):
        labelled, some = test.path(labelled, part, share)
        paths.append(some)
    assert labelled == whole
    assert np.array_equal(np.concatenate(paths), path)
    assert (labelled.labels, len(path)) == (100, 100 // BLOCK)


def test_many_labels_at_once_change_no_bit() -> None:
    rng = np.random.default_rng(1)
    test = against_calibration(rng.exponential(size=300), 4.0)
    losses = rng.exponential(size=30_000)
    labelled = test.start()
    for first in range(0, len(losses), 777):
        labelled = test.update(labelled, losses[first : first + 777])
    assert labelled == test.update(test.start(), losses)


def test_tests_and_states_pass_through_json() -> None:
    rng = np.random.default_rng(2)
    for test in (against_calibration(rng.exponential(size=30), 4.0), against_limit(0.1, 1.0)):
        for labels in (0, 3, 100):
            labelled = test.update(test.start(), flips(rng, 0.3, labels))
            assert msgspec.json.decode(msgspec.json.encode(labelled), type=Labelled) == labelled
        assert msgspec.json.decode(msgspec.json.encode(test), type=RiskTest) == test


def test_the_wealth_of_a_limit_is_the_mixture_written_out() -> None:
    losses = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    test = against_limit(0.25, 1.0)
    labelled = test.update(test.start(), losses)
    bets = np.array([0.015, 0.03, 0.06, 0.12, 0.22, 0.4, 0.7])
    grown = np.prod(1 + bets[:, None] * (losses / 0.25 - 1), axis=1).mean()
    left = 1 / (1 + math.log(2))
    assert labelled.log_wealth == pytest.approx(math.log((1 - left) * grown + left))


def test_the_minimum_over_baselines_is_no_more_than_at_any_baseline() -> None:
    """The bound on cells is below the wealth at baselines between the levels, each computed from its definition."""
    rng = np.random.default_rng(3)
    calibration, live = flips(rng, 0.2, 150), flips(rng, 0.5, 80)
    test = against_calibration(calibration, 1.0)
    log_wealth = test.update(test.start(), live).log_wealth
    credit_bets = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
    for baseline in np.linspace(0.005, 0.95, 300):
        shortfall = (baseline - calibration) / (1 - baseline)
        evidence = 0.5 + 0.5 * np.prod(1 + credit_bets[:, None] * shortfall, axis=1).mean()
        limit = against_limit(float(baseline), 1.0)
        assert log_wealth <= math.log(evidence) + limit.update(limit.start(), live).log_wealth + 1e-9
    assert log_wealth > math.log(20), "and still it is an alarm"


def test_a_rise_within_the_tolerance_is_none() -> None:
    rng = np.random.default_rng(4)
    calibration, live = flips(rng, 0.2, 5000), flips(rng, 0.26, 4000)
    strict = against_calibration(calibration, 1.0)
    lenient = against_calibration(calibration, 1.0, tolerance=0.4)
    assert alarmed(strict.update(strict.start(), live).log_peak)
    assert not alarmed(lenient.update(lenient.start(), live).log_peak)


def test_the_lower_bound_lies_below_the_risk_and_comes_near_it() -> None:
    rng = np.random.default_rng(5)
    test = against_calibration(flips(rng, 0.1, 2000), 1.0)
    labelled = test.start()
    assert test.lower_bound(labelled) == 0
    bounds = []
    for _ in range(40):
        labelled = test.update(labelled, flips(rng, 0.3, 100))
        bounds.append(test.lower_bound(labelled))
    assert max(bounds) <= 0.3
    assert bounds[-1] > 0.25
    assert test.lower_bound(labelled, 0.001) <= bounds[-1]
    with pytest.raises(ValueError, match="alpha"):
        test.lower_bound(labelled, 1.0)


def test_lower_bounds_fail_no_more_often_than_they_may() -> None:
    rng = np.random.default_rng(6)
    test = against_limit(0.05, 1.0)
    broken = 0
    for _ in range(200):
        labelled, worst = test.start(), 0.0
        for _ in range(20):
            labelled = test.update(labelled, flips(rng, 0.2, 50))
            worst = max(worst, test.lower_bound(labelled))
        broken += worst > 0.2
    assert broken <= 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_weights_make_the_mean_of_all_units_of_labels_that_were_sampled() -> None:
    """Deferred units fail three times as often and are all labelled; unweighted they are an alarm, weighted none."""
    rng = np.random.default_rng(7)
    deferred = rng.random(200_000) < 0.1
    losses = flips(rng, np.where(deferred, 0.6, 0.2), 200_000)  # type: ignore[arg-type]
    pi = np.where(deferred, 1.0, 0.05)
    seen = rng.random(200_000) < pi
    test = against_limit(0.25, 1.0, least_propensity=0.05)
    assert not alarmed(test.update(test.start(), losses[seen], pi[seen]).log_peak)
    naive = against_limit(0.25, 1.0)
    assert alarmed(naive.update(naive.start(), losses[seen]).log_peak)
    worse = np.maximum(losses, flips(rng, 0.15, 200_000))
    assert alarmed(test.update(test.start(), worse[seen], pi[seen]).log_peak), "a rise from 0.24 to 0.35 is found"


def test_a_baseline_of_sampled_labels_is_that_of_all_units() -> None:
    rng = np.random.default_rng(8)
    pi = rng.choice([0.1, 1.0], 20_000)
    losses = flips(rng, np.where(pi == 1, 0.8, 0.1), 20_000)  # type: ignore[arg-type]
    seen = rng.random(20_000) < pi
    weighted = against_calibration(losses[seen], 1.0, propensities=pi[seen], least_propensity=0.1)
    excluded = np.array(weighted.levels)[np.array(weighted.credit[1:]) > math.log(20)]
    assert 0.45 < excluded.min() < 0.52


@pytest.mark.parametrize("units", [1, 5, 100])
def test_a_baseline_without_failures_is_not_taken_for_zero(units: int) -> None:
    """The rule of three: of 100 units none failed, so a rate of 2 % proves nothing; of 5 nearly nothing does."""
    rng = np.random.default_rng(units)
    test = against_calibration(np.zeros(units), 1.0)
    assert not alarmed(test.update(test.start(), flips(rng, 1 / units / 2, 400)).log_peak)


def test_a_baseline_without_failures_is_exceeded_all_the_same() -> None:
    test = against_calibration(np.zeros(1000), 1.0)
    live = flips(np.random.default_rng(12), 0.05, 1000)
    assert alarmed(test.update(test.start(), live).log_peak)


def test_the_credit_of_calibration_is_the_evidence_written_out() -> None:
    """Half of the capital is not at stake: more than that would promise what the data do not hold."""
    losses = np.array([0.1, 0.9, 0.3])
    test = against_calibration(losses, 2.0)
    bets = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
    for baseline, credit in zip((0.0, *test.levels), test.credit, strict=True):
        grown = np.prod(1 + bets[:, None] * (baseline - losses) / (2 - baseline), axis=1).mean()
        assert credit == pytest.approx(math.log(0.5 + 0.5 * grown))


@pytest.mark.long
def test_few_calibration_units_cost_power_and_no_false_alarms() -> None:
    """400 baselines of 60 units each, live risk unchanged; taking the estimate for the truth fails the same test."""
    rng = np.random.default_rng(9)
    honest = plain = 0
    for _ in range(400):
        calibration, live = flips(rng, 0.2, 60), flips(rng, 0.2, 1500)
        test = against_calibration(calibration, 1.0)
        honest += alarmed(test.update(test.start(), live).log_peak)
        estimate = against_limit(min(max(calibration.mean(), 0.01), 0.99), 1.0)
        plain += alarmed(estimate.update(estimate.start(), live).log_peak)
    assert honest <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)
    assert plain > 400 * 0.15


def test_a_baseline_at_the_bound_cannot_be_exceeded() -> None:
    test = against_calibration(np.ones(50), 1.0)
    assert not alarmed(test.update(test.start(), np.ones(5000)).log_peak)


def test_losses_above_the_bound_count_as_the_bound() -> None:
    rng = np.random.default_rng(10)
    losses = rng.standard_cauchy(500) ** 2
    test = against_calibration(losses[:100], 3.0)
    assert test == against_calibration(np.minimum(losses[:100], 3.0), 3.0)
    assert test.update(test.start(), losses) == test.update(test.start(), np.minimum(losses, 3.0))
    assert test.update(test.start(), np.array([np.inf] * 8)).log_wealth > 0


@pytest.mark.parametrize("loss", [-0.1, np.nan])
def test_what_is_no_loss_is_refused(loss: float) -> None:
    test = against_limit(0.1, 1.0)
    with pytest.raises(ValueError, match="loss 1 is"):
        test.update(test.start(), np.array([0.0, loss]))
    with pytest.raises(ValueError, match="loss 1 is"):
        against_calibration(np.array([0.0, loss]), 1.0)


@pytest.mark.parametrize("pi", [0.0, 0.009, 1.1, np.nan])
def test_propensities_that_were_not_announced_are_refused(pi: float) -> None:
    test = against_limit(0.1, 1.0, least_propensity=0.01)
    with pytest.raises(ValueError, match="propensity 1 is"):
        test.update(test.start(), np.zeros(2), np.array([1.0, pi]))


def test_missing_propensities_are_refused_where_they_differ() -> None:
    test = against_limit(0.1, 1.0, least_propensity=0.01)
    with pytest.raises(ValueError, match="give propensities"):
        test.update(test.start(), np.zeros(2))


def test_extreme_losses_and_baselines_keep_wealth_finite() -> None:
    for calibration in (np.full(9, 1e-300), np.array([0.0, 5e-324]), np.full(9, 1.0)):
        test = against_calibration(calibration, 1.0)
        labelled = test.update(test.start(), np.ones(4000))
        assert math.isfinite(labelled.log_wealth)
    test = against_limit(2e-9, 1.0)
    assert math.isfinite(test.update(test.start(), np.ones(4000)).log_wealth)
    assert math.isfinite(test.update(test.start(), np.zeros(4000)).log_wealth)


def test_what_is_no_test_is_refused() -> None:
    for bound in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="bound"):
            against_limit(0.1, bound)
    for limit in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="limit"):
            against_limit(limit, 1.0)
    with pytest.raises(ValueError, match="least propensity"):
        against_limit(0.1, 1.0, least_propensity=0.0)
    with pytest.raises(ValueError, match="tolerance"):
        against_calibration(np.zeros(3), 1.0, tolerance=-0.1)
    with pytest.raises(ValueError, match="at least one labelled"):
        against_calibration(np.zeros(0), 1.0)
    with pytest.raises(ValueError, match="start anew"):
        against_limit(0.5, 1.0).update(against_limit(0.01, 1.0).start(), np.zeros(1))
    with pytest.raises(ValueError, match="as many propensities"):
        against_limit(0.5, 1.0).update(against_limit(0.5, 1.0).start(), np.zeros(2), np.ones(1))


def test_mixed_wealth_of_one_strategy_is_its_capital_and_the_cash() -> None:
    assert mixed(np.array([[1.0]]), np.array([0.0])) == pytest.approx([math.log(math.e + 1)])
