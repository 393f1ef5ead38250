"""Ranks: ties found, NaN last, groups shared and reversed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.assessment.ranking import ranking, reverse_ties, share_ties

few_values = arrays(np.float64, st.integers(1, 30), elements=st.sampled_from([0.0, 1.0, 2.5, np.inf, np.nan]))


@given(few_values)
def test_ranks_ascend_and_ties_keep_the_order_of_input(uncertainty: np.ndarray) -> None:
    order = ranking(uncertainty).order.tolist()
    keys = [(np.isnan(uncertainty[i]), uncertainty[i] if not np.isnan(uncertainty[i]) else 0.0, i) for i in order]
    assert keys == sorted(keys)


@given(few_values)
def test_groups_are_the_runs_of_equal_values_and_of_nan(uncertainty: np.ndarray) -> None:
    ranks = ranking(uncertainty)
    values = ["nan" if np.isnan(value) else value for value in uncertainty[ranks.order]]
    groups = [
        (start, start + values.count(value))
        for start, value in enumerate(values)
        if values.index(value) == start and values.count(value) > 1
    ]
    begins, ends = ranks.tie_groups()
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == groups
    shared, numbers = np.arange(float(len(values))), np.arange(len(values))
    share_ties(shared, ranks)
    turned = reverse_ties(numbers, ranks).tolist()
    for place, value in enumerate(values):
        same = [other for other, candidate in enumerate(values) if candidate == value]
        assert shared[place] == pytest.approx(np.mean(same))
        assert turned[place] == same[len(same) - 1 - same.index(place)]


def test_a_ranking_of_a_ranking_is_itself() -> None:
    ranks = ranking(np.array([3.0, 1.0]))
    assert ranking(ranks) is ranks


@pytest.mark.parametrize("shape", [(0,), (2, 2)])
def test_what_has_no_ranks_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"uncertainty needs the shape \[n\]"):
        ranking(np.zeros(shape))
