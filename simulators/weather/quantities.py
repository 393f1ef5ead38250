"""Constants and moist-air relations of the simulator: temperatures in °C and pressures in Pa unless named otherwise."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FloatArray = NDArray[np.float64]

ZERO_C = 273.15
"""Temperature of 0 °C, K."""
GRAVITY = 9.80665
"""Gravitational acceleration, m/s²."""
DRY_AIR = 287.05
"""Gas constant of dry air, J/(kg K)."""
MMHG = 133.322
"""Pa in one mmHg."""
HOUR = 3600.0
"""Seconds in one hour."""
YEAR_HOURS = 8766.0
"""Hours of a mean year."""


def vapour_pressure(temperature: Floats) -> Floats:
    """Return the saturation pressure over water, Pa (Magnus form, constants of Alduchov & Eskridge 1996)."""
    return np.asarray(610.94 * np.exp(17.625 * temperature / (temperature + 243.04)))


def dew_point(temperature: Floats, humidity: Floats) -> Floats:
    """Return the dew point, °C, of air with a relative humidity in (0, 1]: the inverse of ``vapour_pressure``."""
    ratio = np.log(humidity) + 17.625 * temperature / (temperature + 243.04)
    return np.asarray(np.minimum(243.04 * ratio / (17.625 - ratio), temperature))


def wet_bulb(temperature: Floats, dewpoint: Floats) -> Floats:
    """Return the wet-bulb temperature, °C: a third of the way from the air to its dew point (to 1 K near 0 °C)."""
    return np.asarray(temperature - 0.34 * (temperature - dewpoint))


def station_pressure(sea_level: Floats, temperature: Floats, height: Floats, lapse: Floats) -> Floats:
    """Return the pressure, Pa, at a height in m above a sea level of ``temperature`` °C; constant lapse rate in K/m."""
    base = temperature + ZERO_C
    return np.asarray(sea_level * np.exp(np.log(1.0 - lapse * height / base) * (GRAVITY / DRY_AIR) / lapse))


def thickness(mean_temperature: Floats, lower: Floats | float, upper: Floats | float) -> Floats:
    """Return the height in gpm between two pressures of the same unit (hypsometric equation); mean temperature in K."""
    return np.asarray(DRY_AIR / GRAVITY * mean_temperature * np.log(np.float32(1.0) * lower / upper), np.float32)
