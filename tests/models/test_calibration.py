"""Thresholds and intervals keep their promises on data they have not seen: checked by simulation with fixed seeds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.calibration import (
    INTERVAL_LEVELS,
    REFERENCE_LEVELS,
    RETENTION_LEVELS,
    Calibration,
    Measured,
    expected_error,
    interval_table,
    reference_quantiles,
    retention_table,
)

finite = st.floats(-1e6, 1e6, width=32)


@pytest.mark.parametrize("n", [19, 39, 200])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_retention_holds_in_expectation_and_follows_the_law_of_order_statistics(n: int, level: float) -> None:
    """Realised retention of a threshold from n scores is Beta(k, n + 1 - k), k = ceil((n + 1) level)."""
    rng = np.random.default_rng(n)
    realised = np.array([retention_table("u", rng.uniform(size=n)).threshold(level) for _ in range(400)])
    k = math.ceil((n + 1) * level - 1e-9)
    mean, variance = k / (n + 1), k * (n + 1 - k) / ((n + 1) ** 2 * (n + 2))
    assert mean >= level
    assert abs(realised.mean() - mean) < 4 * math.sqrt(variance / 400)
    assert 0.75 < realised.var() / variance < 1.3


def test_the_band_covers_as_promised() -> None:
    rng = np.random.default_rng(3)
    n, level = 300, 0.9
    tables = [retention_table("u", rng.uniform(size=n)) for _ in range(400)]
    misses = [abs(table.threshold(level) - level) > table.band(0.05) for table in tables]
    assert np.mean(misses) <= 0.05
    assert tables[0].band(0.05) == pytest.approx(math.sqrt(math.log(40) / 600))
    assert tables[0].band(0.5) < tables[0].band(0.05)


@given(hnp.arrays(np.float32, st.integers(1, 60), elements=finite), st.floats(0.05, 0.995))
def test_at_least_the_target_share_is_retained_of_the_calibration_data(u: np.ndarray, target: float) -> None:
    table = retention_table("u", u)
    if target > table.levels[-1]:
        with pytest.raises(ValueError, match="outside"):
            table.threshold(target)
        return
    threshold = np.float32(table.threshold(target))
    assert np.mean(u <= threshold) >= target, "ties included"
    assert threshold in u, "a threshold is a score: it compares equal in float32"


@given(hnp.arrays(np.float32, st.integers(1, 60), elements=finite))
def test_tables_are_monotone_and_promise_only_what_the_data_allow(u: np.ndarray) -> None:
    table = retention_table("u", u)
    assert list(table.thresholds) == sorted(table.thresholds)
    assert table.levels == RETENTION_LEVELS[: len(table.levels)]
    assert all(math.ceil((len(u) + 1) * level - 1e-9) <= len(u) for level in table.levels)


def test_between_levels_the_next_higher_one_is_taken() -> None:
    table = retention_table("u", np.arange(999.0))
    assert table.threshold(0.951) == table.threshold(0.955) > table.threshold(0.95)
    for wrong in (0, -0.1, 0.999, 1.1):
        with pytest.raises(ValueError, match="outside"):
            table.threshold(wrong)


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_intervals_cover_as_promised_however_wrong_the_variances_are(spread: float) -> None:
    rng = np.random.default_rng(11)
    covered = []
    for _ in range(300):
        variance = rng.gamma(2, 1, 80) + 0.1
        mean = rng.normal(0, 5, 80)
        target = mean + rng.normal(0, spread, 80) * np.sqrt(variance)
        table = interval_table(mean[:79], variance[:79], target[:79])
        q = table.multipliers[table.levels.index(0.9)]
        covered.append(abs(target[79] - mean[79]) <= q * math.sqrt(variance[79]))
    assert 0.84 < np.mean(covered) < 0.96


def test_intervals_promise_only_what_the_data_allow() -> None:
    few = interval_table(np.zeros(9), np.ones(9), np.arange(9.0))
    assert few.levels[-1] == 0.9, "the largest of nine ratios covers nine in ten"
    assert few.multipliers[-1] == 8
    assert len(few.levels) == len(few.multipliers)
    many = interval_table(np.zeros(999), np.ones(999), np.arange(999.0))
    assert many.levels == INTERVAL_LEVELS
    assert list(many.multipliers) == sorted(many.multipliers)


def test_the_expected_error_is_monotone_and_unbiased() -> None:
    rng = np.random.default_rng(5)
    u = rng.gamma(2, 1, 4000)
    error = u * rng.exponential(size=4000)
    curve = expected_error("tvar", u, error)
    assert list(curve.values) == sorted(curve.values)
    assert curve(u).mean() == pytest.approx(error.mean(), rel=0.05)
    assert curve(np.array([-1.0, 1e9])).tolist() == [curve.values[0], curve.values[-1]]


@given(hnp.arrays(np.float32, st.integers(1, 40), elements=finite))
def test_reference_quantiles_span_the_data(u: np.ndarray) -> None:
    quantiles = reference_quantiles(u)
    assert len(quantiles) == len(REFERENCE_LEVELS)
    assert (quantiles[0], quantiles[-1]) == (u.min(), u.max())
    calibration = Calibration(retention_table("u", u), {"varm": quantiles})
    assert calibration.reference_limit("varm", 1.0) == u.max()
    assert calibration.reference_limit("epkl", 0.999) is None


@pytest.mark.parametrize("wrong", [[], [1.0, np.nan], [np.inf]])
def test_scores_that_are_no_numbers_are_refused(wrong: list[float]) -> None:
    for fit in (lambda u: retention_table("u", u), reference_quantiles, lambda u: expected_error("u", u, u)):
        with pytest.raises(ValueError, match="calibration needs"):
            fit(np.array(wrong, np.float32))


def test_a_measure_brings_its_own_tables_and_leaves_the_rest() -> None:
    u = np.arange(1.0, 400.0)
    own, other = retention_table("tvar", u), retention_table("varm", u**2)
    expected = expected_error("varm", u**2, u)
    calibration = Calibration(
        own,
        {"varm": reference_quantiles(u**2)},
        intervals=interval_table(u, u, u + 1),
        expected_error=expected_error("tvar", u, u),
        others={"varm": Measured(other, expected), "epkl": Measured(retention_table("epkl", u))},
    )
    chosen = calibration.by("varm")
    assert (chosen.retention, chosen.expected_error) == (other, expected)
    assert (chosen.reference, chosen.intervals, chosen.others) == (
        calibration.reference,
        calibration.intervals,
        calibration.others,
    )
    assert calibration.by("epkl").expected_error is None, "another measure's expectation says nothing of this one"
    assert calibration.by("tvar") is calibration
    assert calibration.by("nonsense") is calibration
    assert chosen.by("epkl").retention.measure == "epkl"
