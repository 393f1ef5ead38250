"""Units and candidate thresholds: comparisons in float32 and in doubles agree, rulers are not tested."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.certification.grid import MOST_RULERS, STEPS, other_grid, own_grid
from models.certification.units import LARGEST, answered, as_scores, as_threshold, losses, units

scores = st.floats(allow_nan=False)


@given(scores, scores)
def test_doubles_are_parted_as_their_float32_values_are(score: float, limit: float) -> None:
    threshold = as_threshold(limit)
    assert np.isfinite(threshold)
    in_float32 = bool(answered(as_scores(np.array([score])), threshold)[0])
    assert (score <= threshold) == in_float32


def test_what_has_no_finite_uncertainty_is_never_answered() -> None:
    unknown = as_scores(np.array([np.nan, np.inf, 1e39]))
    assert not answered(unknown, as_threshold(np.inf)).any()
    assert not answered(unknown, None).any()
    assert answered(as_scores(np.array([-np.inf, 3e38])), as_threshold(np.inf)).all()


def test_candidates_come_from_units_that_are_not_tested() -> None:
    rng = np.random.default_rng(0)
    many = units(rng.random(2000))
    grid = own_grid(many, 29)
    rulers = many.scores[~grid.tested]
    assert len(rulers) == 51, "one in forty, and the largest"
    assert rulers.max() == many.scores.max()
    assert set(rulers) <= set(grid.thresholds)
    assert len(grid.thresholds) >= STEPS
    assert (np.diff(grid.thresholds) > 0).all()
    share = np.searchsorted(np.sort(many.scores), grid.thresholds, "right") / 2000
    assert np.abs(grid.expected / grid.tested.sum() - share).max() < 0.2, "expected from rulers alone"
    moved = np.where(grid.tested, rng.random(2000) * 0.9, many.scores)  # other scores of tested units, same candidates
    np.testing.assert_array_equal(own_grid(units(moved), 29).thresholds, grid.thresholds)


def test_few_units_are_all_tested_but_the_largest() -> None:
    few = units(np.arange(60.0))
    grid = own_grid(few, 59)
    assert grid.thresholds.tolist() == [59]
    assert grid.tested.sum() == 59


def test_scores_of_others_cost_no_unit() -> None:
    few = units(np.arange(60.0))
    grid = other_grid(few, np.append(np.random.default_rng(1).random(10_000) * 60, np.nan))
    assert grid.tested.all()
    assert len(grid.thresholds) <= MOST_RULERS


def test_candidates_of_odd_scores_are_finite() -> None:
    odd = np.resize([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0], 600)
    for grid in (own_grid(units(odd), 5), other_grid(units(odd), odd)):
        assert np.isfinite(grid.thresholds).all()
        assert grid.thresholds[0] == -np.float32(LARGEST)
    nothing = own_grid(units(np.full(100, np.nan)), 5)
    assert len(nothing.thresholds) == 0


def test_losses_are_counted_by_the_limit_or_taken_as_they_are() -> None:
    some = units(np.arange(4.0), np.array([0.0, 0.5, 2.0, np.inf]))
    assert losses(some, 0.5, 1.0).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"error\[2\] is 2"):
        losses(some, None, 1.0)
    with pytest.raises(ValueError, match="needs the errors"):
        losses(units(np.arange(4.0)), None, 1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scores": np.empty(0)}, "shape"),
        ({"scores": np.zeros((2, 2))}, "shape"),
        ({"scores": np.zeros(2), "errors": np.zeros(3)}, r"error has the shape \[3\]"),
        ({"scores": np.zeros(2), "errors": np.array([0, np.nan])}, r"error\[1\] is NaN"),
        ({"scores": np.zeros(2), "propensity": np.array([0.5, 0.0])}, r"propensity\[1\] is 0"),
        ({"scores": np.zeros(2), "propensity": np.array([np.nan, 0.5])}, r"propensity\[0\] is nan"),
    ],
)
def test_units_that_are_none_are_refused(arguments: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        units(**arguments)
