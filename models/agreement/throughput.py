"""Labels an hour and seconds a label, overall and by reviewer, and how the queue grows or empties."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv, ndtri

from models.agreement.bounds import LEVEL, Bounds, check_level, square_and_add
from models.agreement.means import Float64, plain

SECONDS_PER_HOUR = 3600.0
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Throughput:
    """Pace of labels."""

    labels: int
    per_hour: Bounds
    """Labels an hour of the whole span, pauses included."""
    seconds: tuple[float, ...]
    """Quantiles ``QUANTILES`` of the seconds that a label took; NaN without labels whose seconds are known."""

    @property
    def median_seconds(self) -> float:
        return self.seconds[QUANTILES.index(0.5)]


def throughput(label_seconds: ArrayLike, span_seconds: float, *, level: float = LEVEL) -> Throughput:
    """Return the pace of the labels that came within a span of time.

    Args:
        label_seconds: seconds that each label took, from the claim of its request [L]; NaN if unknown.
        span_seconds: length of the span, above 0.

    Raises:
        ValueError: a span or a number of seconds out of range.
    """
    seconds = _checked(label_seconds)
    known = seconds[np.isfinite(seconds)]
    quantiles = np.quantile(known, QUANTILES) if len(known) else np.full(len(QUANTILES), math.nan)
    rate = event_rate(len(seconds), span_seconds, level).scaled(SECONDS_PER_HOUR)
    return Throughput(len(seconds), rate, tuple(float(value) for value in quantiles))


def throughput_by_reviewer(
    label_seconds: ArrayLike, reviewers: ArrayLike, span_seconds: float, *, level: float = LEVEL
) -> dict[Hashable, Throughput]:
    """Return the pace of each reviewer, in order of their names; see ``throughput``.

    Args:
        reviewers: reviewer of each label [L].
    """
    seconds, names = _checked(label_seconds), np.asarray(reviewers)
    if names.shape != seconds.shape:
        raise ValueError(f"reviewers has the shape {list(names.shape)}: must be [{len(seconds)}], one for each label")
    return {plain(name): throughput(seconds[names == name], span_seconds, level=level) for name in np.unique(names)}


def event_rate(events: float, span_seconds: float, level: float = LEVEL) -> Bounds:
    """Return events a second with the equal-tailed interval of a Poisson count under Jeffreys' prior; from 0 for none.

    Raises:
        ValueError: a span that is not above 0, or a number below 0.
    """
    check_level(level)
    if not (span_seconds > 0 and math.isfinite(span_seconds)):
        raise ValueError(f"span_seconds = {span_seconds:g}: must be a number of seconds above 0")
    if not (events >= 0 and math.isfinite(events)):
        raise ValueError(f"events = {events:g}: must be a number from 0")
    tail = (1 - level) / 2
    low = float(gammaincinv(events + 0.5, tail)) if events else 0.0
    return Bounds(events, low, float(gammaincinv(events + 0.5, 1 - tail))).scaled(1 / span_seconds)


def _checked(label_seconds: ArrayLike) -> Float64:
    seconds = np.asarray(label_seconds, np.float64)
    if seconds.ndim != 1 or (seconds < 0).any():
        raise ValueError("label_seconds: must be [L] numbers of seconds from 0, or NaN where unknown")
    return seconds


@dataclass(frozen=True)
class Backlog:
    """Forecast of a queue."""

    waiting: Bounds
    """Number of requests that wait at the horizon."""
    seconds_to_empty: Bounds
    """Seconds until nobody waits; infinite if the queue does not shrink at this pace."""


def forecast(
    waiting: int,
    arrivals_per_second: float,
    finished_per_second: float,
    *,
    span_seconds: float,
    horizon_seconds: float,
    level: float = LEVEL,
) -> Backlog:
    """Forecast a queue from the rates of a past span, both with the uncertainty of Poisson counts.

    The difference of both rates has the interval of ``square_and_add``. The counts to come scatter as well: arrivals
    and labels of t seconds add the variance (a + f) t to the queue, and waiting (a + f) / (f - a)³ to the time to empty
    (first passage of a random walk with drift).

    Args:
        waiting: number of requests that wait now.
        arrivals_per_second: new requests a second, a.
        finished_per_second: requests a second that were labelled or closed, f, while others waited: an idle reviewer is
            not a slow one.
        span_seconds: length of the span in which both were counted.
        horizon_seconds: seconds from now of the forecast.

    Raises:
        ValueError: an argument out of range.
    """
    for name, value in (("waiting", waiting), ("horizon_seconds", horizon_seconds)):
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} = {value:g}: must be a number from 0")
    arrivals, finished = (
        event_rate(rate * span_seconds, span_seconds, level) for rate in (arrivals_per_second, finished_per_second)
    )
    growth = square_and_add(lambda a, f: a - f, arrivals, finished)
    z, events = float(ndtri((1 + level) / 2)), arrivals.mean + finished.mean
    noise = z * math.sqrt(events * horizon_seconds)
    centre = waiting + growth.mean * horizon_seconds
    low = centre - math.hypot((growth.mean - growth.lower) * horizon_seconds, noise)
    high = centre + math.hypot((growth.upper - growth.mean) * horizon_seconds, noise)
    return Backlog(Bounds(*(max(value, 0.0) for value in (centre, low, high))), _emptying(waiting, growth, events, z))


def _emptying(waiting: int, growth: Bounds, events: float, z: float) -> Bounds:
    """Return the seconds until the queue is empty.

    Args:
        growth: arrivals less finished a second.
        events: arrivals and finished a second.
    """
    if not waiting:
        return Bounds(0.0, 0.0, 0.0)
    soonest = waiting / -growth.lower if growth.lower < 0 else math.inf
    if growth.mean >= 0:
        return Bounds(math.inf, soonest, math.inf)
    mean = waiting / -growth.mean
    noise = z * math.sqrt(waiting * events / (-growth.mean) ** 3)
    latest = waiting / -growth.upper if growth.upper < 0 else math.inf
    return Bounds(mean, max(mean - math.hypot(mean - soonest, noise), 0.0), mean + math.hypot(latest - mean, noise))
