"""Position of the sun."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.weather.quantities import Floats

_EPOCH_2000 = 946_728_000.0
"""Unix time of 2000-01-01 12:00, from which the formulae count days, s."""


@dataclass(frozen=True, slots=True)
class Sun:
    """Position of the sun over N places at their times."""

    elevation: Floats
    """Height above the horizon [N], degrees, without refraction."""
    sine: Floats
    """Sine of the elevation [N]."""
    daily_swing: Floats
    """Half the difference between noon and midnight of the heating max(sine, 0) [N]."""
    solar_hour: Floats
    """Local solar time [N], h in [0, 24)."""


def sun(time: NDArray[np.float64], latitude: Floats, longitude: Floats) -> Sun:
    """Return the sun at Unix times [N] (s) over places in degrees.

    Low-precision formulae of the Astronomical Almanac (good to 0.01 degree in declination), with the equation of time.
    """
    days = (time - _EPOCH_2000) / 86_400.0
    anomaly = np.radians((357.528 + 0.9856003 * days) % 360.0)
    mean = (280.460 + 0.9856474 * days) % 360.0
    ecliptic = np.radians(mean + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2.0 * anomaly))
    tilt = np.radians(23.439)
    sine = np.sin(tilt) * np.sin(ecliptic)
    ascension = np.degrees(np.arctan2(np.cos(tilt) * np.sin(ecliptic), np.cos(ecliptic)))
    equation = (mean - ascension + 180.0) % 360.0 - 180.0
    hour = ((time / 3600.0) % 24.0 + (longitude.astype(np.float64) + equation) / 15.0) % 24.0
    phi = np.radians(latitude, dtype=np.float64)
    constant = np.sin(phi) * sine
    swing = np.cos(phi) * np.sqrt(1.0 - sine**2)
    now = constant + swing * np.cos(np.pi / 12.0 * (hour - 12.0))
    daily = 0.5 * (np.maximum(constant + swing, 0.0) - np.maximum(constant - swing, 0.0))
    f = np.float32
    return Sun(np.degrees(np.arcsin(np.clip(now, -1.0, 1.0))).astype(f), now.astype(f), daily.astype(f), hour.astype(f))
