"""Pace of labels, and the forecast of the queue, against simulated queues."""

import math

import numpy as np
import pytest

from models.agreement.throughput import event_rate, forecast, throughput, throughput_by_reviewer


def test_pace_is_that_of_the_span() -> None:
    pace = throughput([10.0, 20.0, math.nan, 30.0], 7200.0)
    assert (pace.labels, pace.per_hour.mean, pace.median_seconds) == (4, 2.0, 20.0)
    assert pace.seconds == pytest.approx((12, 20, 28))
    assert pace.per_hour.lower < 2 < pace.per_hour.upper


def test_each_reviewer_has_a_pace() -> None:
    paces = throughput_by_reviewer([10.0, 20.0, 40.0], ["ben", "ann", "ben"], 3600.0)
    assert {name: (pace.labels, pace.median_seconds) for name, pace in paces.items()} == {
        "ann": (1, 20),
        "ben": (2, 25),
    }


def test_no_labels_have_an_upper_rate() -> None:
    pace = throughput([], 3600.0)
    assert (pace.labels, pace.per_hour.mean, pace.per_hour.lower) == (0, 0, 0)
    assert 2 < pace.per_hour.upper < 3
    assert math.isnan(pace.median_seconds)


def test_rates_hold() -> None:
    rng = np.random.default_rng(0)
    rates = [event_rate(events, 10.0) for events in rng.poisson(8.0, 2000)]
    assert np.mean([rate.lower <= 0.8 <= rate.upper for rate in rates]) == pytest.approx(0.95, abs=0.02)


def test_a_queue_that_shrinks_is_empty_after_a_while() -> None:
    backlog = forecast(100, 0.01, 0.03, span_seconds=1e9, horizon_seconds=2000.0)
    assert backlog.waiting.mean == pytest.approx(60)
    assert backlog.seconds_to_empty.mean == pytest.approx(5000)
    assert 3000 < backlog.seconds_to_empty.lower < 5000 < backlog.seconds_to_empty.upper < 7000
    assert forecast(100, 0.01, 0.03, span_seconds=1e9, horizon_seconds=1e5).waiting.mean == 0


def test_a_queue_that_grows_is_never_empty() -> None:
    backlog = forecast(100, 0.03, 0.01, span_seconds=1e6, horizon_seconds=1000.0)
    assert (backlog.seconds_to_empty.mean, backlog.seconds_to_empty.lower) == (math.inf, math.inf)
    assert backlog.waiting.mean == pytest.approx(120)


def test_few_counts_leave_open_whether_the_queue_empties() -> None:
    backlog = forecast(10, 4 / 3600, 5 / 3600, span_seconds=3600.0, horizon_seconds=3600.0)
    assert math.isfinite(backlog.seconds_to_empty.lower)
    assert backlog.seconds_to_empty.upper == math.inf
    assert forecast(0, 0.1, 0.0, span_seconds=60.0, horizon_seconds=1.0).seconds_to_empty.mean == 0


def test_the_queue_at_the_horizon_is_within_the_interval() -> None:
    rng = np.random.default_rng(1)
    span, horizon, arriving, finishing = 3600.0, 1800.0, 0.02, 0.015
    held = []
    for _ in range(1000):
        rates = rng.poisson(arriving * span) / span, rng.poisson(finishing * span) / span
        later = 200 + rng.poisson(arriving * horizon) - rng.poisson(finishing * horizon)
        interval = forecast(200, *rates, span_seconds=span, horizon_seconds=horizon).waiting
        held.append(interval.lower <= later <= interval.upper)
    assert np.mean(held) == pytest.approx(0.95, abs=0.025)


def test_the_time_to_empty_is_within_the_interval() -> None:
    rng = np.random.default_rng(2)
    span, arriving, finishing, waiting = 36000.0, 0.01, 0.02, 60
    held = []
    for _ in range(400):
        rates = rng.poisson(arriving * span) / span, rng.poisson(finishing * span) / span
        gaps = rng.exponential(1 / (arriving + finishing), 4000)
        queue = waiting + np.cumsum(np.where(rng.random(4000) < arriving / (arriving + finishing), 1, -1))
        empty = float(np.cumsum(gaps)[np.argmax(queue <= 0)])
        interval = forecast(waiting, *rates, span_seconds=span, horizon_seconds=1.0).seconds_to_empty
        held.append(interval.lower <= empty <= interval.upper)
    assert np.mean(held) >= 0.92


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"waiting": -1}, "waiting = -1: must be"),
        ({"horizon_seconds": math.inf}, "horizon_seconds = inf: must be"),
        ({"span_seconds": 0.0}, "span_seconds = 0: must be"),
        ({"arrivals_per_second": -1.0}, "events = -60: must be"),
    ],
)
def test_arguments_out_of_range_are_named(change: dict, words: str) -> None:
    arguments = {"waiting": 1, "arrivals_per_second": 1.0, "finished_per_second": 1.0}
    arguments |= {"span_seconds": 60.0, "horizon_seconds": 60.0, **change}
    with pytest.raises(ValueError, match=words):
        forecast(**arguments)
    with pytest.raises(ValueError, match="label_seconds: must be"):
        throughput([-1.0], 60.0)
    with pytest.raises(ValueError, match="reviewers has the shape"):
        throughput_by_reviewer([1.0], ["ann", "ben"], 60.0)
