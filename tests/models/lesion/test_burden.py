"""Intervals of count and volume cover what they promise on scans like those of their calibration."""

import numpy as np
import pytest

from models.tasks.lesion.inference.burden import LEAST_SD, Quantity, fit, quantity


def scans(number: int, seed: int) -> tuple[list[Quantity], list[float]]:
    """Volumes whose members scatter as they err, in ln(1 + x)."""
    rng = np.random.default_rng(seed)
    truth = rng.lognormal(2, 1, number)
    spread = rng.uniform(0.05, 0.4, number)
    said = np.expm1(np.log1p(truth) + spread * rng.standard_normal(number))
    members = np.expm1(np.log1p(said) + spread * rng.standard_normal((5, number)))
    found = [quantity(max(one, 0.0), np.maximum(own, 0).tolist()) for one, own in zip(said, members.T, strict=True)]
    return found, truth.tolist()


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_cover_what_they_promise(level: float) -> None:
    table = fit(*scans(400, 0))
    found, truth = scans(2000, 1)
    intervals = [one.interval(table, level) for one in found]
    assert all(one is not None and one.level == level and 0 <= one.lower <= one.upper for one in intervals)
    pairs = zip(intervals, truth, strict=True)
    covered = np.mean([one is not None and one.lower <= true <= one.upper for one, true in pairs])
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
    found, truth = scans(5, 0)
    with pytest.raises(ValueError, match="5 predictions and 4 truths"):
        fit(found, truth[:-1])
    with pytest.raises(ValueError, match="1 of 5 true values are negative or not finite"):
        fit(found, [*truth[:-1], float("nan")])
