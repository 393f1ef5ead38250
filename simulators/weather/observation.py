"""Reports of stations: temperature, with effects that no model resolves, and the class of clouds and precipitation."""

import numpy as np
from numpy.typing import NDArray

from simulators.weather.atmosphere import Air
from simulators.weather.quantities import Floats
from simulators.weather.stations import Places

CLEAR, CLOUDY = 0.20, 0.72
"""Cloud cover below which a sky is clear, and from which it is cloudy; between both it is partly cloudy."""
WET = 0.10
"""Rate from which precipitation is reported, mm/h."""
WHOLE_DEGREES = 0.75
"""Share of reports with whole degrees (METAR); the others have tenths (SYNOP)."""


def temperature(rng: np.random.Generator, places: Places, truth: Air, day: Floats) -> Floats:
    """Draw reported temperatures [N], °C.

    Effects that no model resolves are larger in cold pools, mountains and showers, and over a melting or transpiring
    ground.

    Args:
        day: sine of the sun's elevation, 0 at night [N].
    """
    count = len(day)
    pool = truth.inversion * (0.45 * places.valley + 0.30 * rng.standard_normal(count, np.float32))
    variance = 0.85 + 0.35 * (places.relief * np.float32(1.0 / 500.0)) ** 2
    variance += 2.2 * truth.showers * np.minimum(truth.rate, 2.0)
    variance += 2.6 * places.forest * truth.growing * (0.35 + day) + 1.6 * places.ice * day
    air = (
        truth.temperature
        + places.siting[0]
        + places.siting[1] * truth.season
        - pool
        + np.sqrt(variance) * rng.standard_normal(count, np.float32)
    )
    whole = rng.random(count, np.float32) < WHOLE_DEGREES
    return np.asarray(np.where(whole, np.round(air), np.round(air, 1)), np.float32)


def precipitation(rng: np.random.Generator, places: Places, truth: Air) -> NDArray[np.uint8]:
    """Draw reported classes [N], 0 to 8: the sky from clear to cloudy, and rain, sleet or snow (Shifts 1.0, C.1)."""
    count = len(truth.cover)
    noise = rng.standard_normal(count, np.float32)
    cover = truth.cover + (0.16 + 0.50 * places.forest * truth.growing) * noise
    hit = rng.standard_normal(count, np.float32) * (0.5 + 1.2 * truth.showers)
    wet = truth.rate * np.exp(hit) >= WET
    chance = rng.random(count, np.float32)
    frozen = chance < truth.snow_share
    mixed = (chance >= truth.snow_share) & (chance < truth.snow_share + truth.sleet_share)
    kind = np.where(frozen, 3, np.where(mixed, 2, 1)) * wet
    cloudy = cover >= CLOUDY
    partly = (cover >= CLEAR) | wet
    return np.where(cloudy, 5 + kind, np.where(partly, 1 + kind, 0)).astype(np.uint8)
