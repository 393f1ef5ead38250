"""Operation of the ship: voyages with drafts, courses and ordered speeds, minute by minute.

All numbers are own assumptions. Two habits couple the features as in real operation: the ship slows down in
heavy weather, and laden voyages differ in speed from light ones. A model that learns only from such data can
mistake habits for physics, as the generalisation set shows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from simulators.vessel.units import Floats
from simulators.vessel.weather import Weather, memory


@dataclass(frozen=True, slots=True)
class Habits:
    """Trading and handling of the ship."""

    passage_hours: tuple[float, float] = (70.0, 0.8)
    """Median and logarithmic spread of the time at sea."""
    port_hours: tuple[float, float] = (13.0, 0.5)
    """Median and logarithmic spread of the time in port."""
    order_hours: float = 9.0
    """Mean time between two orders of speed and course, hours."""
    fast_share: float = 0.68
    """Share of passages at schedule speed; the others are slow steaming."""
    fast_speed: tuple[float, float] = (19.0, 0.75)
    """Mean and standard deviation of the ordered schedule speed, kn."""
    slow_speed: tuple[float, float] = (14.0, 1.5)
    """Mean and standard deviation of the ordered speed in slow steaming, kn."""
    lag: float = 12.0
    """Time in which the ship follows 63 per cent of an ordered change, minutes."""
    wander: tuple[float, float] = (0.30, 150.0)
    """Standard deviation in kn and memory in minutes of the slow variation of speed."""
    flutter: tuple[float, float] = (0.03, 8.0)
    """Standard deviation in kn and memory in minutes of the fast variation of speed."""


@dataclass(frozen=True, slots=True)
class Voyages:
    """Courses, speeds and drafts of the ship, arrays [M] with one value a minute."""

    sailing: NDArray[np.bool_]
    """True while the ship is at sea and moves at 5 kn or more."""
    heading: Floats
    """Course in rad, counter-clockwise from east."""
    stw: Floats
    """Speed through water, kn."""
    acceleration: Floats
    """Change of speed in three minutes, kn; rounded to 0.1."""
    draft_aft: Floats
    """Aft draft, m, as reported once a day."""
    draft_fore: Floats
    """Fore draft, m, as reported once a day."""


def _drafts(rng: np.random.Generator) -> tuple[float, float]:
    """Draw departure drafts aft and fore in m: mostly laden, skewed to the light side."""
    aft = float(np.clip(15.1 - rng.gamma(2.6, 1.0), 7.65, 15.1))
    trim = 0.26 + 0.12 * (12.3 - aft) + rng.normal(0.0, 0.35)
    return aft, float(np.clip(aft - trim, 5.9, 15.0))


def voyages(rng: np.random.Generator, minutes: int, weather: Weather, habits: Habits | None = None) -> Voyages:
    """Draw `minutes` minutes of operation in the given weather."""
    h = habits or Habits()
    length: list[int] = []
    order: list[tuple[float, float, float, float, bool]] = []
    clock = 0
    while clock < minutes:
        aft, fore = _drafts(rng)
        left = int(60 * np.clip(rng.lognormal(np.log(h.passage_hours[0]), h.passage_hours[1]), 12.0, 500.0))
        fast = rng.random() < h.fast_share + 0.08 * (aft - 12.3)
        mean, spread = h.fast_speed if fast else h.slow_speed
        base, level = rng.uniform(0.0, 2.0 * np.pi), rng.normal(mean, 0.7 * spread)
        day, stage = 0, 0
        while left > 0:
            pilotage = stage == 0 or left <= 120
            speed = rng.uniform(5.5, 13.0) if pilotage else rng.normal(level, 0.7 * spread)
            if fast and not pilotage and rng.random() < 0.05:
                speed += rng.uniform(1.0, 3.5)
            span = 100 if pilotage else max(60, int(60 * rng.exponential(h.order_hours)))
            span = min(span, left if left <= 120 else max(left - 110, 60), 1440)
            burnt = 0.03 * day / 1440.0
            drafts = round(aft - burnt, 2), round(fore - burnt, 2)
            course = base + rng.normal(0.0, 0.6)
            length.append(span)
            order.append((float(np.clip(speed, 5.2, 23.3)), course, *drafts, True))
            left, day, stage = left - span, day + span, stage + 1
        stay = int(60 * np.clip(rng.lognormal(np.log(h.port_hours[0]), h.port_hours[1]), 4.0, 72.0))
        length.append(stay)
        order.append((4.0, base, aft, fore, False))
        clock = sum(length)
    repeat = np.array(length)
    every = np.array(order, np.float64)
    target, heading, aft_all, fore_all, sea = (np.repeat(column, repeat)[:minutes] for column in every.T)
    stw = _speed(rng, target - _slowdown(weather, heading), h)
    return _moving(sea > 0.5, heading, stw, aft_all, fore_all)


def slowed(ship: Voyages, factor: Floats) -> Voyages:
    """Return the same voyages with the speed times `factor` [M], as limited by the engine."""
    return _moving(ship.sailing, ship.heading, ship.stw * factor, ship.draft_aft, ship.draft_fore)


def _moving(sea: NDArray[np.bool_], heading: Floats, stw: Floats, aft: Floats, fore: Floats) -> Voyages:
    """Return voyages with the acceleration of these speeds; speeds below 5 kn do not count as sailing."""
    change = np.zeros(len(stw))
    change[3:] = np.clip(stw[3:] - stw[:-3], -2.0, 2.0)
    change = np.asarray(np.round(change, 1), np.float64)
    return Voyages(sea & (stw >= 5.0), heading, stw, change, aft, fore)


def _slowdown(weather: Weather, heading: Floats) -> Floats:
    """Return the speed [M] in kn lost in heavy weather: more in head seas than in following ones."""
    minute = np.arange(len(heading), dtype=np.float64)
    east, north = weather.at(weather.wind_east, minute), weather.at(weather.wind_north, minute)
    head = -(east * np.cos(heading) + north * np.sin(heading))
    speed = np.hypot(east, north)
    ahead = 0.5 * (1.0 + head / np.maximum(speed, 1e-6))
    height = weather.at(weather.wave_height, minute)
    waves = 0.80 * np.maximum(height - 2.0, 0.0) ** 1.25 * (0.35 + 0.65 * ahead)
    return np.asarray(waves + 0.07 * np.maximum(speed - 20.0, 0.0) * ahead)


def _speed(rng: np.random.Generator, target: Floats, habits: Habits) -> Floats:
    """Return the speed through water [M] in kn that follows the ordered speed with a lag and some variation."""
    keep = np.exp(-1.0 / habits.lag)
    smooth = np.asarray(signal.lfilter([1.0 - keep], [1.0, -keep], target, zi=[keep * target[0]])[0])
    for spread, minutes in (habits.wander, habits.flutter):
        smooth = smooth + spread * memory(rng, len(target), minutes)
    return np.asarray(np.clip(smooth, 0.0, 23.9))
