"""Retention, capacity, joint risk, cost: what each promises, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import beta

from models.certification.capacity import MOST_BUSY, Desk, within_capacity
from models.certification.cost import Costs, cheapest
from models.certification.crc import control
from models.certification.retention import target_retention
from models.certification.units import answered, units

some_scores = hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(-5, 5).map(lambda v: round(v, 1)))


@given(some_scores, st.floats(0.01, 1))
def test_a_target_share_is_answered_of_the_units_themselves(scores: np.ndarray, retention: float) -> None:
    choice = target_retention(units(scores), retention)
    if choice.threshold is None:
        assert retention > len(scores) / (len(scores) + 1) - 1e-9
        return
    kept = answered(units(scores).scores, choice.threshold)
    assert kept.mean() >= retention - 1e-9
    assert kept.sum() == choice.answered
    below = answered(units(scores).scores, np.nextafter(np.float32(scores[kept].max()), np.float32(-9)))
    assert below.sum() < math.ceil((len(scores) + 1) * retention), "the strictest that does"


def test_the_interval_is_that_of_the_law_of_order_statistics() -> None:
    choice = target_retention(units(np.random.default_rng(0).random(99)), 0.9, 0.1)
    assert (choice.low, choice.high) == pytest.approx(beta.ppf([0.05, 0.95], 90, 10))
    assert f"{choice.low:.4g} and {choice.high:.4g}" in choice.statement


def test_units_without_an_uncertainty_count_as_deferred() -> None:
    scores = np.where(np.arange(100) < 60, np.arange(100.0), np.nan)
    assert target_retention(units(scores), 0.5).threshold == pytest.approx(50)
    none = target_retention(units(scores), 0.8)
    assert none.threshold is None
    assert "needs 81 finite uncertainties of 100; 60 are" in none.reason


def test_a_retention_that_needs_more_units_is_refused_in_words() -> None:
    assert "20 units promise at most" in target_retention(units(np.arange(20.0)), 0.99).reason
    for wrong in (0.0, 1.01, math.nan):
        with pytest.raises(ValueError, match="retention is"):
            target_retention(units(np.arange(20.0)), wrong)


def test_a_capacity_is_a_retention() -> None:
    scores = units(np.random.default_rng(0).random(5000))
    choice = within_capacity(scores, 20, 200)
    assert choice.threshold == target_retention(scores, 0.9).threshold
    assert "at most 20 of 200 units per hour" in choice.statement
    assert within_capacity(scores, 0, 200).threshold is None, "finite data cannot promise that nothing is deferred"


def test_a_desk_that_can_take_everything_needs_no_threshold() -> None:
    choice = within_capacity(units(np.arange(100.0)), 300, 200)
    assert choice.threshold is None
    assert "no threshold is needed" in choice.reason
    for wrong in ((-1, 10), (10, 0), (math.nan, 10), (1, math.inf)):
        with pytest.raises(ValueError, match="capacity is|arrivals are"):
            within_capacity(units(np.arange(100.0)), *wrong)


@pytest.mark.parametrize(("c", "load"), [(1, 0.5), (3, 2.0), (10, 8.5), (200, 180.0)])
def test_waits_follow_erlang(c: int, load: float) -> None:
    """Against the sum over states."""
    state, total = 1.0, 1.0
    for k in range(1, c):
        state *= load / k
        total += state
    last = state * load / c * c / (c - load)
    expected = last / (total + last) * 60 / (c - load)
    assert Desk(c, 60.0).wait(load * 60) == pytest.approx(expected)


def test_a_desk_is_not_to_be_busier_than_its_limit() -> None:
    desk = Desk(5, 60.0)
    assert desk.per_hour == pytest.approx(MOST_BUSY * 300)
    assert desk.wait(300) == math.inf
    assert desk.wait(0) == 0
    assert desk.wait(299) > 20 * desk.wait(desk.per_hour)
    for wrong in ((0, 60.0), (3, 0.0), (3, math.inf), (3, math.nan)):
        with pytest.raises(ValueError, match="is needed"):
            Desk(*wrong)


@settings(max_examples=60)
@given(some_scores, st.integers(0, 2**32 - 1), st.floats(0.02, 0.9))
def test_joint_risk_is_the_loosest_by_trying_all(scores: np.ndarray, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    loss, n = rng.integers(0, 3, len(scores)) / 2, len(scores)
    some = units(scores, loss)
    choice = control(some, alpha)
    allowed = [
        float(limit) for limit in some.scores if (loss[some.scores <= limit].sum() + 1) / (n + 1) <= alpha + 1e-9
    ]
    if not allowed:
        assert choice.threshold is None
    else:
        assert np.float32(choice.threshold) == np.float32(max(allowed))


def test_joint_risk_says_how_many_units_it_needs() -> None:
    assert "needs at least 19 units, there are 10" in control(units(np.arange(10.0), np.zeros(10)), 0.05).reason
    assert control(units(np.arange(19.0), np.zeros(19)), 0.05).threshold == pytest.approx(18)
    assert "fail too often" in control(units(np.ones(100), np.ones(100)), 0.05).reason
    with pytest.raises(ValueError, match="joint risk needs all labels"):
        control(units(np.ones(100), np.ones(100), propensity=np.ones(100)), 0.05)


def test_answers_are_given_where_they_cost_less_than_asking() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(20_000)
    some = units(scores, scores * rng.exponential(size=20_000))
    choice = cheapest(some, Costs(of_loss=10, of_review=3, reviewer_loss=0.1))
    assert choice.threshold == pytest.approx(0.4, abs=0.05), "3 / 10 + 0.1"
    assert cheapest(some, Costs(1, 100)).threshold == pytest.approx(scores.max())
    assert "costs more than asking" in cheapest(some, Costs(1, 0)).reason
    with pytest.raises(ValueError, match="costs are"):
        Costs(0, 1)
