"""The index, its distance and its p-value: closed forms, an oracle, and what they are by chance alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.spatial.distance import jensenshannon

from models.calibration import REFERENCE_LEVELS, reference_quantiles
from models.drift.bins import of_quantiles
from models.drift.psi import shift

counts = hnp.arrays(np.int64, 8, elements=st.integers(0, 1000)).filter(lambda array: array.sum() > 0)


def test_the_index_is_the_jeffreys_divergence_of_large_counts() -> None:
    before, after = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.3, 0.6])
    result = shift(before * 1e9, after * 1e9)
    assert result.psi == pytest.approx(-0.1 * math.log(0.5) + 0.1 * math.log(1.2), rel=1e-6)
    assert result.p_value == 0
    assert result.expected == pytest.approx(4e-9)
    assert result.excess == result.psi - result.expected


@given(counts, counts)
def test_distance_and_p_value_are_those_of_scipy(before: np.ndarray, after: np.ndarray) -> None:
    result = shift(before, after)
    assert result.js_distance == pytest.approx(jensenshannon(before, after, base=2), abs=1e-7)
    held = (before + after) > 0
    table = np.stack([before, after])[:, held]
    if held.sum() > 1:
        assert result.p_value == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, abs=1e-9)
    assert math.isfinite(result.psi)
    assert result.psi >= -1e-12
    assert shift(after, before).psi == pytest.approx(result.psi), "symmetric"


def test_disjoint_and_equal_counts_are_the_ends() -> None:
    apart = shift(np.array([100, 0]), np.array([0, 100]))
    assert apart.js_distance == 1
    assert math.isfinite(apart.psi)
    same = shift(np.array([100, 0, 50]), np.array([100, 0, 50]))
    assert (same.psi, same.js_distance) == (0, 0)
    assert same.p_value == 1
    assert same.expected == pytest.approx(2 / 150), "a bin that is empty in both is no degree of freedom"
    alone = shift(np.array([100]), np.array([3]))
    assert (alone.psi, alone.p_value, alone.expected) == (0, 1, 0)


def test_no_live_units_is_not_a_number_and_no_reference_is_refused() -> None:
    result = shift(np.array([5, 5]), np.array([0, 0]))
    assert result.units == 0
    assert math.isnan(result.psi)
    assert math.isnan(result.p_value)
    with pytest.raises(ValueError, match="at least one unit"):
        shift(np.array([0, 0]), np.array([1, 1]))


@pytest.mark.parametrize("wrong", [np.array([1, -1]), np.array([1, np.nan]), np.array([1, np.inf])])
def test_what_is_no_count_is_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="live counts are finite and at least 0"):
        shift(np.array([1, 1]), wrong)


def test_counts_of_other_bins_are_refused() -> None:
    with pytest.raises(ValueError, match="got 2 of the reference and 3 live"):
        shift(np.array([1, 1]), np.array([1, 1, 1]))
    with pytest.raises(ValueError, match="shape"):
        shift(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(("units", "live"), [(500, 200), (20_000, 100), (20_000, 5000)])
def test_without_a_shift_it_is_what_is_expected_and_the_test_errs_as_promised(units: int, live: int) -> None:
    """Small samples: an index of 0.1 and more is chance; its excess is about zero, and one p in twenty is below 5 %."""
    rng = np.random.default_rng(units + live)
    results = []
    for _ in range(400):
        reference = of_quantiles(reference_quantiles(rng.normal(size=units)), REFERENCE_LEVELS, units, 20)
        results.append(shift(np.array(reference.counts), reference.bins.count(rng.normal(size=live))))
    assert np.mean([result.psi for result in results]) == pytest.approx(results[0].expected, rel=0.12)
    assert 0.015 < np.mean([result.p_value < 0.05 for result in results]) < 0.085
    if live < 200:
        assert np.mean([result.psi > 0.1 for result in results]) > 0.9, "the customary limit is passed by chance"


def test_traffic_that_differs_from_the_start_is_seen() -> None:
    """What a test of exchangeability cannot see."""
    rng = np.random.default_rng(2)
    reference = of_quantiles(reference_quantiles(rng.normal(size=5000)), REFERENCE_LEVELS, 5000)
    result = shift(np.array(reference.counts), reference.bins.count(rng.normal(0.5, 1, 1000)))
    assert result.p_value < 1e-9
    assert result.excess > 0.15


def test_units_without_a_score_are_a_shift() -> None:
    rng = np.random.default_rng(3)
    reference = of_quantiles(reference_quantiles(rng.normal(size=5000)), REFERENCE_LEVELS, 5000)
    scores = rng.normal(size=2000)
    scores[::50] = np.nan
    assert shift(np.array(reference.counts), reference.bins.count(scores)).p_value < 1e-6
