"""Delay laws: what has arrived by when, told from what will never come, and left alone where nothing is late."""

from dataclasses import replace

import numpy as np
import pytest

from models.estimation.delay import LEAST, Law, corrected, fit
from models.estimation.window import BadWindow, Window
from tests.statistical.streams import audited, delayed


def labelled_at(window: Window, delay: np.ndarray, now: float) -> Window:
    """The window as it stands when its first unit is ``now`` old, units coming evenly."""
    age = np.linspace(now, 0, len(window))
    there = window.labelled & (delay <= age)
    error = np.where(there, window.error, np.nan)
    return replace(window, labelled=there, error=error, age=age, delay=np.where(there, delay, np.nan))


@pytest.mark.parametrize("defers", [False, True])
@pytest.mark.parametrize("logged", [False, True])
def test_the_law_is_the_true_one_in_each_stratum(logged: bool, defers: bool) -> None:
    window = delayed(0, 200_000, logged=logged, defers=defers).window
    law = fit(window)
    uncertainty = np.array([0.2, 1.0, 2.0, 4.0, 6.0])
    fast = np.array([True, True, True, False, False])
    answered = fast | (not defers)
    for age in (0.3, 1.0, 1.8):
        observed = law.observation(uncertainty, answered, np.full(5, age))
        np.testing.assert_allclose(observed, 1 - np.exp(-age / np.where(fast, 0.5, 2.0)), rtol=0.1, atol=0.15)


def test_units_too_young_to_tell_are_left_out_alike_whatever_their_uncertainty() -> None:
    result = corrected(delayed(1, 100_000).window)
    assert result.law is not None
    assert result.early > 0
    assert result.window.age is not None
    assert result.window.age.min() >= result.law.youngest
    assert result.window.observation is not None
    assert result.window.observation.min() >= 0.1 - 1e-9
    assert len(result.window) + result.early == 100_000


def test_where_every_certain_label_is_there_nothing_is_corrected() -> None:
    rng = np.random.default_rng(2)
    whole = audited(2, 5000, 0.5).whole
    window = replace(whole, age=rng.uniform(0, 9, 5000), delay=rng.uniform(0, 9, 5000))
    result = corrected(window)
    assert result.law is None
    assert result.window is window


def test_labels_that_come_at_once_are_not_late() -> None:
    window = audited(3, 5000, 0.5).window
    result = corrected(replace(window, age=np.arange(5000.0), delay=np.where(window.labelled, 0.0, np.nan)))
    assert result.law is None


def test_labels_that_came_in_one_batch_are_not_taken_for_slow_ones() -> None:
    """Delay equals age: a law fitted to that would say that young units have hardly a label."""
    window = audited(4, 100_000, 0.05).window
    age = np.linspace(100, 1, len(window))
    result = corrected(replace(window, age=age, delay=np.where(window.labelled, age, np.nan)))
    assert result.window.observation is not None
    np.testing.assert_array_equal(result.window.observation, 1.0)
    assert result.early == 0


def test_a_batch_that_lacks_a_third_is_incomplete_not_late() -> None:
    truth = audited(5, 100_000, 0.05)
    window = truth.window
    gone = ~window.answered & (truth.errors > np.quantile(truth.errors[~window.answered], 2 / 3))
    age = np.linspace(100, 1, len(window))
    there = window.labelled & ~gone
    fitted = fit(replace(window, labelled=there, age=age, delay=np.where(there, age, np.nan)))
    assert all(law.settled for law in fitted.laws[1])
    requests = sum(law.requests for law in fitted.laws[1])
    assert sum(law.requests * law.completion for law in fitted.laws[1]) / requests == pytest.approx(2 / 3, abs=0.001)


def test_short_delays_leave_the_number_of_draws_to_chance() -> None:
    """Where labels have stopped coming, the law tells their delay; how many were drawn is no matter of time."""
    rng = np.random.default_rng(6)
    window = audited(6, 100_000, 0.05).window
    result = corrected(labelled_at(window, rng.exponential(1.0, len(window)), 100.0))
    assert result.law is not None
    assert result.law.settled
    assert result.window.observation is not None
    assert result.window.observation.max() == pytest.approx(1.0)
    assert np.median(result.window.observation) == pytest.approx(1.0)


def test_strata_without_a_score_and_without_labels_do_no_harm() -> None:
    window = delayed(7, 20_000).window
    uncertainty = np.where(window.answered, 1.0, np.nan)
    result = corrected(replace(window, uncertainty=uncertainty))
    assert np.isfinite(result.window.effective).all()
    nothing = replace(window, labelled=np.zeros(len(window), bool), delay=np.full(len(window), np.nan))
    assert corrected(nothing).law is None


def test_delays_without_ages_are_refused() -> None:
    window = audited(8, 100, 0.5).window
    with pytest.raises(BadWindow, match="age of every unit in seconds"):
        corrected(replace(window, delay=np.ones(100)))


@pytest.mark.parametrize(("arrived", "youngest"), [((LEAST / 2, LEAST), 20.0), ((LEAST / 3, LEAST / 2), np.inf)])
def test_the_youngest_age_is_that_at_which_enough_has_arrived(arrived: tuple[float, float], youngest: float) -> None:
    law = Law(np.array([10.0, 20.0]), np.array(arrived), 100, True, True, 1.0, 0.0)
    assert law.youngest == youngest
