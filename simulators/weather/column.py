"""Column of air above a place: temperatures and heights at pressure levels, from the ground to 50 hPa."""

from collections.abc import Sequence

import numpy as np

from simulators.weather.atmosphere import Air
from simulators.weather.fields import PLACE
from simulators.weather.quantities import DRY_AIR, GRAVITY, ZERO_C, Floats, thickness


def temperatures(air: Air, fields: Floats, latitude: Floats, levels: Sequence[float]) -> Floats:
    """Return temperatures [len(levels), N], K: constant lapse rate, stratosphere above, ground air near the ground.

    Args:
        fields: values from ``Fields.at``, [len(FIELDS), N].
        latitude: degrees [N].
        levels: pressures, hPa.
    """
    tropical = 1.0 / (1.0 + (np.abs(latitude) * np.float32(1.0 / 33.0)) ** 6)
    polar = (1.0 - tropical) * np.abs(np.sin(np.radians(latitude)))
    at_100 = ZERO_C - 78.0 * tropical - 56.0 * (1.0 - tropical)
    at_100 += polar * (9.0 * air.season + 4.0 * fields[PLACE["stratosphere"]])
    upward = 23.0 * tropical + polar * (1.5 + 6.5 * air.season)
    exponent = air.lapse * np.float32(DRY_AIR / GRAVITY)
    base, sea = air.free + ZERO_C, np.log(air.sea_pressure * np.float32(0.01))
    excess = air.temperature - (air.free - air.lapse * air.ground)
    depth = np.where(excess < 0.0, np.float32(1.0 / 350.0), np.float32(1.0 / 1300.0))
    values = np.empty((len(levels), len(latitude)), np.float32)
    for row, level in enumerate(levels):
        troposphere = base * np.exp(exponent * (np.float32(np.log(level)) - sea))
        if level >= 500:
            height = (base - troposphere) / air.lapse - air.ground
            values[row] = troposphere + excess * np.exp(-depth * np.maximum(height, 0.0))
        else:
            stratosphere = at_100 + upward * np.float32(max(np.log(100.0 / level), np.log(1.0 / 3.0)))
            values[row] = np.maximum(troposphere, stratosphere)
    return values


def heights(air: Air, levels: Sequence[float], temperatures: Floats) -> Floats:
    """Return geopotential heights [len(levels), N], gpm, of falling pressures in hPa with their temperatures in K.

    They are built up from sea level by the hypsometric equation, layer by layer with the mean temperature of both ends.
    """
    values = np.empty_like(temperatures)
    values[0] = thickness(temperatures[0], air.sea_pressure * np.float32(0.01), levels[0])
    for row in range(1, len(levels)):
        mean = 0.5 * (temperatures[row - 1] + temperatures[row])
        values[row] = values[row - 1] + thickness(mean, levels[row - 1], levels[row])
    return values
