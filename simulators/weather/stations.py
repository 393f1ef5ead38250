"""Observing stations: places, climate, and the ground that weather models assume for them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from simulators.weather.quantities import FloatArray, Floats
from simulators.weather.regions import REGIONS

COUNT = 8000
"""Approximate number of stations of the official set (Shifts 1.0, C.1)."""
SHARES = (0.082, 0.136, 0.400, 0.347, 0.035)
"""Shares of stations in each main climate: Shifts 1.0, Table 8, divided by the length of its periods."""
_ATTEMPTS = 40
_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class Places:
    """N places with the properties that the weather needs; stations, or rows taken from them."""

    latitude: Floats
    """Latitude, degrees."""
    longitude: Floats
    """Longitude, degrees."""
    elevation: Floats
    """Height of the station, m."""
    relief: Floats
    """Standard deviation of the height of the ground around it, m."""
    continental: Floats
    """Continentality: 0 at sea, 1 in the middle of a continent."""
    annual_mean: Floats
    """Annual mean temperature at sea level, °C."""
    annual_swing: Floats
    """Half the difference between the warmest and the coldest month, K."""
    rainfall: Floats
    """Rainfall, mm a year."""
    valley: Floats
    """Position between a top (-1) and the bottom of a valley (1), where cold air gathers."""
    siting: Floats
    """Local deviation from the maps of weather models [2, N], K: all year, and times the season."""
    forest: Floats
    """Cooling of days in the growing season by plants, 0 to 1."""
    ice: Floats
    """Strength with which melting snow and sea ice hold the summer near 0 °C, 0 to 1."""
    relief_error: Floats
    """Height of the ground in GFS, CMC and WRF less that of the station [3, N], m."""
    bathymetry: Floats
    """Height in the relief data set, m; at coasts it may be below sea level."""
    in_domain: NDArray[np.bool_]
    """Mask of the places inside a WRF domain."""
    climate: NDArray[np.uint8]
    """Index of the main climate (``table.CLIMATES``)."""

    def __len__(self) -> int:
        return len(self.latitude)

    def take(self, selection: NDArray[np.intp]) -> Places:
        """Return the selected places; a place may be selected many times."""
        return Places(**{field.name: getattr(self, field.name)[..., selection] for field in fields(self)})


def main_climate(annual_mean: Floats, annual_swing: Floats, rainfall: Floats) -> NDArray[np.uint8]:
    """Return the main climate of Köppen's classification (rules of Kottek and others 2006), see ``table.CLIMATES``.

    Args:
        annual_mean: mean at the height of the place [N], °C.
        annual_swing: half the difference between the warmest and the coldest month [N], K.
        rainfall: mm a year [N]; assumed to be spread evenly over the year.

    Returns:
        Index into ``table.CLIMATES``.
    """
    warmest, coldest = annual_mean + annual_swing, annual_mean - annual_swing
    climate = np.where(coldest > -3.0, 2, 3)
    climate = np.where(coldest >= 18.0, 0, climate)
    climate = np.where(rainfall < 10.0 * (2.0 * annual_mean + 14.0), 1, climate)
    return np.where(warmest < 10.0, 4, climate).astype(np.uint8)


def draw(rng: np.random.Generator, count: int = COUNT) -> Places:
    """Draw stations with the shares of climates in ``SHARES``, in random order.

    Raises:
        RuntimeError: the regions do not contain a climate; cannot happen with those of ``regions``.
    """
    want = np.floor(np.array(SHARES) * count).astype(int)
    want[2] += count - want.sum()
    kept: list[Places] = []
    have = np.zeros(len(SHARES), int)
    for _ in range(_ATTEMPTS):
        candidates = _candidates(rng, _BATCH)
        chosen = [np.flatnonzero(candidates.climate == c)[: want[c] - have[c]] for c in range(len(SHARES))]
        have += [len(rows) for rows in chosen]
        kept.append(candidates.take(np.concatenate(chosen)))
        if (have == want).all():
            break
    else:
        raise RuntimeError(f"after {_ATTEMPTS} draws climates have {have} of {want} stations: check the regions")
    joined = Places(
        **{f.name: np.concatenate([getattr(batch, f.name) for batch in kept], axis=-1) for f in fields(Places)}
    )
    return joined.take(rng.permutation(count))


def _candidates(rng: np.random.Generator, count: int) -> Places:
    weights = np.array([region.weight for region in REGIONS])
    region = rng.choice(len(REGIONS), count, p=weights / weights.sum())

    def of(name: str) -> FloatArray:
        return np.array([getattr(entry, name) for entry in REGIONS])[region]

    latitude = of("latitude") + of("north_south") * rng.standard_normal(count)
    latitude = np.clip(latitude, -78.0, 83.0)
    longitude = (of("longitude") + of("east_west") * rng.standard_normal(count) + 180.0) % 360.0 - 180.0
    relief = of("relief") * np.exp(0.5 * rng.standard_normal(count))
    coast = rng.random(count) < 0.30 * (1.0 - of("continental"))
    elevation = of("height") * np.exp(0.7 * rng.standard_normal(count)) + 0.3 * relief * np.abs(
        rng.standard_normal(count)
    )
    elevation = np.where(coast, rng.exponential(8.0, count), np.minimum(elevation, 4800.0))
    elevation = np.where(rng.random(count) < 0.004, -elevation.clip(0, 15.0), elevation)
    continental = np.clip(of("continental") + 0.12 * rng.standard_normal(count) - 0.2 * coast, 0.0, 1.1)
    sine = np.sin(np.radians(latitude)) ** 2
    sea_level = 27.0 - 22.0 * sine - 24.0 * sine**2 + of("warmth") + 1.0 * rng.standard_normal(count)
    swing = 1.0 + (4.0 + 22.0 * continental) * np.abs(np.sin(np.radians(latitude))) ** 1.2
    rain = np.interp(np.abs(latitude), [0, 10, 25, 45, 65, 80], [1900, 1400, 700, 750, 480, 220])
    rain = rain * np.exp(of("wetness") + 0.3 * rng.standard_normal(count))
    mean = sea_level - 0.0058 * elevation
    climate = main_climate(_f(mean), _f(swing), _f(rain))
    grown = _sigmoid((mean + swing - 11.0) / 1.5) * np.clip(rain / 900.0, 0.0, 1.2)
    boreal = _sigmoid(-(mean - swing + 4.0) / 2.5)
    ice = _sigmoid((9.5 - mean - swing) / 1.5)
    lift = rng.standard_normal((3, count)) * np.array([0.45, 0.42, 0.20])[:, None]
    lift[:2] += 0.30 * rng.standard_normal(count)
    valley = np.clip(0.45 * rng.standard_normal(count), -1.0, 1.0)
    error = np.maximum(relief * (lift + 0.35 * valley), -0.95 * np.maximum(elevation, 0.0) - 5.0)
    bathymetry = np.where(coast, np.round(elevation - 25.0 * rng.exponential(1.0, count)), np.round(elevation))
    local = _surroundings(latitude, mean, swing, rain)
    domain = np.sin(latitude / 7.0 + 1.0) + np.cos(longitude / 9.0) + 0.3 * (of("weight") - 2.0)
    return Places(
        latitude=_f(latitude),
        longitude=_f(longitude),
        elevation=_f(elevation),
        relief=_f(relief),
        continental=_f(continental),
        annual_mean=_f(sea_level),
        annual_swing=_f(swing),
        rainfall=_f(rain),
        valley=_f(valley),
        siting=_f(0.35 * rng.standard_normal((2, count)) + local),
        forest=_f(np.clip(grown * (0.25 + 0.95 * boreal), 0.0, 1.0)),
        ice=_f(ice),
        relief_error=_f(error),
        bathymetry=_f(bathymetry),
        in_domain=domain > -0.5,
        climate=climate,
    )


def _surroundings(latitude: FloatArray, mean: FloatArray, swing: FloatArray, rain: FloatArray) -> FloatArray:
    """Return the effect of ground, plants and water of a region on its air beyond maps of weather models [2, N], K.

    The effects are smooth functions of place and climate, the same in every world, so that a model can learn them from
    neighbouring places only.
    """
    rng = np.random.default_rng(3)
    at = np.stack([latitude / 14.0, mean / 6.0, swing / 3.5, np.log(rain) / 0.6])
    waves = 24
    effects = []
    for size in (0.55, 0.55):
        angle = rng.standard_normal((waves, 4)) @ at + rng.uniform(0.0, 2.0 * np.pi, (waves, 1))
        effects.append(size * np.sqrt(2.0 / waves) * np.cos(angle).sum(axis=0))
    return np.stack(effects)


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _f(values: FloatArray) -> Floats:
    return values.astype(np.float32)
