"""Drivers and their cars: wanted speed, car following (intelligent driver model, Treiber and others 2000), weather."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.city import City
from simulators.motion.curves import Floats

NONE, RAIN, SLEET, SNOW = range(4)
"""Kinds of precipitation."""
_ROADS = (
    #  speed, gap, grip
    (1.00, 1.00, 1.00),
    (0.90, 1.20, 0.75),
    (0.80, 1.40, 0.60),
    (0.70, 1.60, 0.45),
)
"""Factors by precipitation of wanted speeds, of time gaps, and of braking, accelerating and cornering."""
DRY_BRAKING = 8.0
"""Hardest braking on a dry road, m/s²."""
_STANDING = 0.6
"""Distance from the line or object at which a driver stops, m."""


@dataclass(frozen=True, slots=True)
class Drivers:
    """Parameters of N drivers and their vehicles, [N] each."""

    length: Floats
    """Length of the vehicle, m."""
    width: Floats
    height: Floats
    wheelbase: Floats
    eagerness: Floats
    """Ratio of the wanted speed to the limit."""
    gap: Floats
    """Time gap to the car ahead, s."""
    distance: Floats
    """Distance kept behind a standing car, m."""
    acceleration: Floats
    """Comfortable acceleration, m/s²."""
    braking: Floats
    """Comfortable braking, m/s²."""
    cornering: Floats
    """Comfortable sideways acceleration, m/s²."""
    patience: Floats
    """Time left before or behind another car when crossing its way, s."""
    wander: Floats
    """Deviation from the middle of the lane, m."""
    hardest: float
    """Hardest braking that the road allows, m/s²."""

    def __len__(self) -> int:
        return len(self.length)

    def shorten(self, which: NDArray[np.bool_]) -> None:
        """Shrink the given vehicles to the size of ordinary cars."""
        self.length[which] = np.minimum(self.length[which], 4.6)
        self.width[which] = np.minimum(self.width[which], 1.9)
        self.height[which] = np.minimum(self.height[which], 1.6)
        self.wheelbase[which] = 0.6 * self.length[which]


def draw(rng: np.random.Generator, city: City, count: int, precipitation: int) -> Drivers:
    """Draw drivers of a city under a given precipitation."""
    speed, gap, grip = _ROADS[precipitation]
    habits = city.habits

    def around(mean: float, spread: float) -> Floats:
        return np.asarray(mean * np.exp(spread * np.clip(rng.standard_normal(count), -2, 2)))

    long = rng.random(count) < city.trucks
    length = np.where(long, rng.uniform(7, 11, count), np.clip(rng.normal(4.5, 0.35, count), 3.6, 5.4))
    width = np.where(long, rng.uniform(2.3, 2.5, count), np.clip(rng.normal(1.85, 0.08, count), 1.6, 2.1))
    height = np.where(long, rng.uniform(2.8, 3.4, count), rng.uniform(1.4, 1.9, count))
    sluggish = np.where(long, 0.6, 1.0)
    return Drivers(
        length,
        width,
        height,
        0.6 * length,
        around(habits.eagerness * speed, 0.1) * np.where(long, 0.9, 1.0),
        around(habits.gap * gap, 0.25),
        around(2.0, 0.2),
        around(habits.acceleration, 0.2) * grip**0.5 * sluggish,
        around(habits.braking, 0.15) * grip**0.7,
        around(habits.cornering, 0.2) * grip * sluggish,
        around(habits.patience * gap, 0.2),
        around(habits.wander, 0.2) * np.where(long, 0.5, 1.0),
        DRY_BRAKING * grip,
    )


def wish(drivers: Drivers, speed: Floats, target: Floats) -> Floats:
    """Return the acceleration towards the wanted speed on a free road, m/s², [N]."""
    target = np.maximum(target, 0.5)
    faster = drivers.acceleration * (1 - (speed / target) ** 4)
    slower = np.maximum((target - speed) / 0.6, -1.6 * drivers.braking)
    return np.where(speed <= target, faster, slower)


def follow(drivers: Drivers, speed: Floats, gap: Floats, leader: Floats) -> Floats:
    """Return the deceleration due to a car ahead, m/s², [N]: ``gap`` metres ahead, at the speed ``leader``."""
    closing = speed * (speed - leader) / (2 * np.sqrt(drivers.acceleration * drivers.braking))
    distance = drivers.distance + np.maximum(speed * drivers.gap + closing, 0)
    return np.asarray(drivers.acceleration * (distance / np.maximum(gap, 0.3)) ** 2)


def halt(drivers: Drivers, speed: Floats, gap: Floats) -> Floats:
    """Return the deceleration due to a point to stop before, m/s², [N], ``gap`` metres from the bumper."""
    closing = speed**2 / (2 * np.sqrt(drivers.acceleration * drivers.braking))
    return np.asarray(drivers.acceleration * ((_STANDING + 0.3 * speed + closing) / np.maximum(gap, 0.2)) ** 2)
