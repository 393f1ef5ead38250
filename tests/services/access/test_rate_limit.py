"""Token buckets under a clock that the test turns."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.access.rate_limit import Bucket

steps = st.lists(st.tuples(st.floats(0, 10), st.integers(1, 5)), max_size=60)


@given(st.floats(0.1, 100), st.floats(1, 50), steps)
def test_no_more_calls_than_rate_and_burst_allow(
    rate: float, burst: float, given_steps: list[tuple[float, int]]
) -> None:
    bucket, now, taken = Bucket(rate, burst, 0.0), 0.0, 0
    for pause, count in given_steps:
        now += pause
        for _ in range(count):
            wait = bucket.take_whole(now)
            taken += wait == 0
            assert 0 <= wait <= 1 / rate + 1e-9
        assert taken <= burst + rate * now + 1e-6


@given(st.floats(0.1, 100), st.floats(1, 50), st.integers(1, 200))
def test_who_waits_as_told_is_let_in(rate: float, burst: float, calls: int) -> None:
    bucket, now = Bucket(rate, burst, 0.0), 0.0
    for _ in range(calls):
        if wait := bucket.take_whole(now):
            assert bucket.take_whole(now + wait * 0.9) > 0
            now += wait + 1e-9
            assert bucket.take_whole(now) == 0


@given(st.floats(1, 1e6), st.lists(st.tuples(st.floats(0, 5), st.integers(0, 10**6)), max_size=40))
def test_units_are_on_average_as_many_as_allowed(rate: float, asked: list[tuple[float, int]]) -> None:
    """A call larger than the burst is let in, and its debt is paid before the next."""
    bucket, now, taken, last = Bucket(rate, rate, 0.0), 0.0, 0.0, 0.0
    for pause, units in asked:
        now += pause
        if bucket.wait(now) == 0:
            assert taken <= rate * (1 + now) + 1e-3 * rate
            bucket.take(units, now)
            taken, last = taken + units, float(units)
    assert taken <= rate * (1 + now) + last + 1e-3 * rate


def test_a_debt_is_paid_in_the_time_that_is_told() -> None:
    bucket = Bucket(10.0, 10.0, 0.0)
    bucket.take(1010.0, 0.0)
    assert bucket.wait(0.0) == pytest.approx(100.0)
    assert bucket.wait(99.0) == pytest.approx(1.0)
    assert bucket.wait(100.001) == 0.0


def test_a_long_pause_saves_no_more_than_the_burst() -> None:
    bucket = Bucket(10.0, 3.0, 0.0)
    assert [bucket.take_whole(1e6) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(0.1)]


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = Bucket(1.0, 1.0, 100.0)
    assert bucket.take_whole(100.0) == 0.0
    assert bucket.take_whole(0.0) == 1.0
    assert bucket.take_whole(100.5) == pytest.approx(0.5)


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (1, 0), (-1, 1), (math.inf, 1), (1, math.nan)])
def test_a_rate_is_a_number_above_zero(rate: float, burst: float) -> None:
    with pytest.raises(ValueError, match="finite numbers above 0"):
        Bucket(rate, burst, 0.0)
