"""Delay laws: what has arrived by when, told from what will never come, and left alone where nothing is late."""

from dataclasses import replace

import numpy as np
import pytest

from models.estimation.delay import corrected, fit
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
        found = law.observation(uncertainty, answered, np.full(5, age))
        np.testing.assert_allclose(found, 1 - np.exp(-age / np.where(fast, 0.5, 2.0)), rtol=0.1, atol=0.15)


def test_units_too_young_to_tell_are_left_out_alike_whatever_their_uncertainty() -> None:
    found = corrected(delayed(1, 100_000).window)
    assert found.law is not None
    assert found.early > 0
    assert found.window.age is not None
    assert found.window.age.min() >= found.law.youngest
    assert found.window.observation is not None
    assert found.window.observation.min() >= 0.1 - 1e-9
    assert len(found.window) + found.early == 100_000


def test_where_every_certain_label_is_there_nothing_is_corrected() -> None:
    rng = np.random.default_rng(2)
    whole = audited(2, 5000, 0.5).whole
    window = replace(whole, age=rng.uniform(0, 9, 5000), delay=rng.uniform(0, 9, 5000))
    found = corrected(window)
    assert found.law is None
    assert found.window is window


def test_labels_that_come_at_once_are_not_late() -> None:
    window = audited(3, 5000, 0.5).window
    found = corrected(replace(window, age=np.arange(5000.0), delay=np.where(window.labelled, 0.0, np.nan)))
    assert found.law is None


def test_labels_that_came_in_one_batch_are_not_taken_for_slow_ones() -> None:
    """Delay equals age: a law fitted to that would say that young units have hardly a label."""
    window = audited(4, 100_000, 0.05).window
    age = np.linspace(100, 1, len(window))
    found = corrected(replace(window, age=age, delay=np.where(window.labelled, age, np.nan)))
    assert found.window.observation is not None
    np.testing.assert_array_equal(found.window.observation, 1.0)
    assert found.early == 0


def test_a_batch_that_lacks_a_third_is_incomplete_not_late() -> None:
    one = audited(5, 100_000, 0.05)
    window = one.window
    gone = ~window.answered & (one.errors > np.quantile(one.errors[~window.answered], 2 / 3))
    age = np.linspace(100, 1, len(window))
    there = window.labelled & ~gone
    found = fit(replace(window, labelled=there, age=age, delay=np.where(there, age, np.nan)))
    assert all(law.settled for law in found.laws[1])
    requests = sum(law.requests for law in found.laws[1])
    assert sum(law.requests * law.completion for law in found.laws[1]) / requests == pytest.approx(2 / 3, abs=0.001)


def test_short_delays_leave_the_number_of_draws_to_chance() -> None:
    """Where labels have stopped coming, the law tells their delay; how many were drawn is no matter of time."""
    rng = np.random.default_rng(6)
    window = audited(6, 100_000, 0.05).window
    found = corrected(labelled_at(window, rng.exponential(1.0, len(window)), 100.0))
    assert found.law is not None
    assert found.law.settled
    assert found.window.observation is not None
    assert found.window.observation.max() == pytest.approx(1.0)
    assert np.median(found.window.observation) == pytest.approx(1.0)


def test_strata_without_a_score_and_without_labels_do_no_harm() -> None:
    window = delayed(7, 20_000).window
    uncertainty = np.where(window.answered, 1.0, np.nan)
    found = corrected(replace(window, uncertainty=uncertainty))
    assert np.isfinite(found.window.effective).all()
    nothing = replace(window, labelled=np.zeros(len(window), bool), delay=np.full(len(window), np.nan))
    assert corrected(nothing).law is None


def test_delays_without_ages_are_refused() -> None:
    window = audited(8, 100, 0.5).window
    with pytest.raises(BadWindow, match="age of every unit in seconds"):
        corrected(replace(window, delay=np.ones(100)))
