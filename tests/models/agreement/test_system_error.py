"""Error of the whole system: corrected for the reviewers' part, with the interval of two estimates."""

import math

import numpy as np
import pytest

from models.agreement.bounds import Bounds, square_and_add
from models.agreement.human_error import human_error
from models.agreement.means import mean_bounds, sample
from models.agreement.rates import jeffreys
from models.agreement.system_error import model_error, system_error


def test_a_sum_has_the_root_of_both_squares() -> None:
    """Zou & Donner 2008, equation 4."""
    bounds = square_and_add(lambda a, b: a - b, Bounds(10, 7, 14), Bounds(4, 1, 5))
    assert (bounds.mean, bounds.lower, bounds.upper) == pytest.approx((6, 6 - math.hypot(3, 1), 6 + math.hypot(4, 3)))


def test_squared_errors_of_reviewers_are_subtracted() -> None:
    bounds = system_error(0.9, Bounds(3.0, 2.5, 3.6), Bounds(1.0, 0.8, 1.3), relation="squared")
    assert bounds.mean == pytest.approx(0.9 * 2.0 + 0.1 * 1.0)
    assert bounds.upper == pytest.approx(1.9 + math.hypot(0.9 * 0.6, 0.8 * 0.2))
    assert bounds.lower == pytest.approx(1.9 - math.hypot(0.9 * 0.5, 0.8 * 0.3))


def test_true_labels_need_no_correction() -> None:
    bounds = system_error(0.9, Bounds(3.0, 2.5, 3.6), Bounds(1.0, 0.8, 1.3), relation="squared", reference="truth")
    assert bounds.mean == pytest.approx(0.9 * 3.0 + 0.1 * 1.0)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_model_s_error_rate_is_that_behind_disagreements(classes: int) -> None:
    rng = np.random.default_rng(classes)
    n, model, human = 200_000, 0.15, 0.08
    moves = [np.where(rng.random(n) < rate, rng.integers(1, classes, n), 0) for rate in (model, human)]
    measured = float(np.mean(moves[0] != moves[1]))
    assert model_error(measured, human, "class", classes) == pytest.approx(model, abs=0.004)


def test_other_errors_are_a_range_whose_figure_is_not_too_small() -> None:
    bounds = system_error(0.5, Bounds(0.3, 0.3, 0.3), Bounds(0.1, 0.1, 0.1), relation="overlap")
    assert (bounds.mean, bounds.lower, bounds.upper) == pytest.approx((0.2, 0.5 * 0.2 + 0.05, 0.2))


def test_uneven_classes_are_a_range_between_0_and_1() -> None:
    bounds = system_error(0.5, Bounds(0.3, 0.3, 0.3), Bounds(0.1, 0.05, 0.2), relation="uneven_class", classes=3)
    assert bounds.mean == pytest.approx(0.2)
    assert bounds.lower <= 0.5 * 0.2 + 0.05 < 0.2 < bounds.upper
    wide = Bounds(0.9, 0.8, 1.0)
    assert system_error(0.5, wide, Bounds(0.9, 0.5, math.inf), relation="uneven_class", classes=3).upper == 1.0


def test_labels_worse_than_the_model_leave_the_deferred_part() -> None:
    bounds = system_error(0.8, Bounds(0.5, 0.4, 0.6), Bounds(1.0, 0.9, 1.1), relation="squared")
    assert bounds.mean == pytest.approx(0.2)
    assert bounds.lower == 0
    assert bounds.upper >= bounds.mean


def test_all_answered_and_all_deferred() -> None:
    unknown, human = Bounds(math.nan, math.nan, math.nan), Bounds(1.0, 0.8, math.inf)
    assert system_error(0.0, unknown, human, relation="squared") == human
    assert math.isnan(system_error(0.5, unknown, human, relation="squared").mean)
    everything = system_error(1.0, Bounds(3.0, 2.0, 4.0), human, relation="squared")
    assert (everything.mean, everything.lower, everything.upper) == pytest.approx((2.0, 0.0, 2 + math.hypot(1, 0.2)))
    assert system_error(0.4, Bounds(3.0, 2.0, 4.0), human, relation="squared").upper == math.inf
    largely_answered = system_error(0.9, Bounds(3.0, 2.0, 4.0), human, relation="squared")
    assert largely_answered.lower == 0
    assert largely_answered.upper == pytest.approx(1.9 + math.hypot(0.9, 0.8 * 0.2))


def test_a_class_error_stays_a_rate() -> None:
    bounds = system_error(0.3, Bounds(0.5, 0.2, 0.9), Bounds(0.9, 0.3, 1.0), relation="class", classes=3)
    assert 0 <= bounds.lower <= bounds.mean <= bounds.upper <= 1


def test_arguments_out_of_range_are_named() -> None:
    one = Bounds(0.1, 0.1, 0.1)
    with pytest.raises(ValueError, match=r"share = 1\.5: must be from 0 to 1"):
        system_error(1.5, one, one, relation="squared")
    with pytest.raises(ValueError, match="classes = None: must be"):
        system_error(0.5, one, one, relation="class")


def test_intervals_hold_for_squared_errors() -> None:
    rng = np.random.default_rng(0)
    share, model, human = 0.9, 2.0, 0.5
    held = []
    for _ in range(300):
        measured = (rng.normal(0, math.sqrt(model), 200) - rng.normal(0, math.sqrt(human), 200)) ** 2
        pairs = human_error("squared", 2 * human * rng.normal(size=100) ** 2)
        bounds = system_error(share, mean_bounds(sample("errors", measured)), pairs, relation="squared")
        held.append(bounds.lower <= share * model + (1 - share) * human <= bounds.upper)
    assert 0.91 <= np.mean(held) <= 0.99


def test_intervals_hold_for_classes() -> None:
    rng = np.random.default_rng(1)
    share, model, human = 0.8, 0.06, 0.05
    held = []
    for _ in range(300):
        wrong = [rng.random(400) < rate for rate in (model, human)]
        apart = [rng.random(200) < human for _ in range(2)]
        people = human_error("class", apart[0] != apart[1], classes=2)
        bounds = system_error(share, jeffreys((wrong[0] != wrong[1]).sum(), 400), people, relation="class", classes=2)
        held.append(bounds.lower <= share * model + (1 - share) * human <= bounds.upper)
    assert 0.91 <= np.mean(held) <= 0.99
