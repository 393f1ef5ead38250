"""Intervals of count and volume cover what they promise on scans like those of their calibration."""

import numpy as np
import pytest

from models.tasks.lesion.inference.burden import LEAST_SD, Quantity, fit, quantity


def scans(number: int, seed: int) -> tuple[list[Quantity], list[float]]:
    """Volumes whose members scatter as they err, in ln(1 + x)."""
    rng = np.random.default_rng(seed)
    truth = rng.lognormal(2, 1, number)
    spread = rng.uniform(0.05, 0.4, number)
    predicted = np.expm1(np.log1p(truth) + spread * rng.standard_normal(number))
    members = np.expm1(np.log1p(predicted) + spread * rng.standard_normal((5, number)))
    quantities = [
        quantity(max(volume, 0.0), np.maximum(own, 0).tolist())
        for volume, own in zip(predicted, members.T, strict=True)
    ]
    return quantities, truth.tolist()


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_cover_what_they_promise(level: float) -> None:
    table = fit(*scans(400, 0))
    quantities, truth = scans(2000, 1)
    intervals = [volume.interval(table, level) for volume in quantities]
    assert all(
        interval is not None and interval.level == level and 0 <= interval.lower <= interval.upper
        for interval in intervals
    )
    pairs = zip(intervals, truth, strict=True)
    covered = np.mean([interval is not None and interval.lower <= true <= interval.upper for interval, true in pairs])
    assert covered == pytest.approx(level, abs=0.05)


def test_spread_is_that_of_the_members_and_never_nothing() -> None:
    assert quantity(3, [3, 3, 3]).log_sd == LEAST_SD
    assert quantity(3, [3]).log_sd == LEAST_SD
    expected = np.hypot(np.std(np.log1p([1, 2, 6])), LEAST_SD)
    assert quantity(3, [1, 2, 6]).log_sd == pytest.approx(expected)


def test_limits_are_no_volumes_below_zero_and_need_a_table() -> None:
    table = fit(*scans(400, 0))
    nothing = quantity(0, [0, 0, 5]).interval(table)
    assert nothing is not None
    assert nothing.lower == 0 < nothing.upper
    assert quantity(0, [0, 0]).interval(None) is None
    few = quantity(1, [1, 1]).interval(fit(*scans(5, 0)), 0.99)
    assert few is not None
    assert few.level == 0.8, "the highest that five scans can promise"


def test_calibration_refuses_what_is_no_volume() -> None:
    quantities, truth = scans(5, 0)
    with pytest.raises(ValueError, match="5 predictions and 4 truths"):
        fit(quantities, truth[:-1])
    with pytest.raises(ValueError, match="1 of 5 true values are negative or not finite"):
        fit(quantities, [*truth[:-1], float("nan")])
