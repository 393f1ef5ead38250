"""Weather near the ground at places and times, from the random fields, the climate and the sun.

The same function makes the true weather and that of weather models: a model has other fields (its errors), other ground
(its relief) and other physics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.weather.fields import PLACE
from simulators.weather.quantities import (
    HOUR,
    YEAR_HOURS,
    Floats,
    dew_point,
    station_pressure,
    vapour_pressure,
    wet_bulb,
)
from simulators.weather.stations import Places
from simulators.weather.sun import Sun


@dataclass(frozen=True, slots=True)
class Physics:
    """Strengths of processes; the defaults are the truth, weather models have their own."""

    warmth: float = 0.0
    """Warming of the air near the ground, K."""
    inversion: float = 1.0
    """Share of the cooling of clear, calm nights."""
    diurnal: float = 1.0
    """Share of the daily cycle."""
    evaporation: float = 1.0
    """Share of the cooling of summer days by plants."""
    melt: float = 1.0
    """Share of the damping of summer temperatures by melting snow and sea ice."""
    cumulus: float = 1.0
    """Share of the clouds that form over transpiring plants."""
    snow: float = 0.0
    """Warming over snow, K."""
    cloud: float = 0.0
    """Shift of the cloudiness on its own scale, where 1 takes half cover to 86 %."""
    drizzle: float = 0.0
    """Reduction of the threshold of precipitation."""
    hours_late: float = 0.0
    """Delay of the daily maximum, h."""


TRUTH = Physics()


@dataclass(frozen=True, slots=True)
class Air:
    """Weather at N places; each field [N]."""

    temperature: Floats
    """Temperature 2 m above the ground, °C."""
    dewpoint: Floats
    """Dew point 2 m above the ground, °C, at most the temperature."""
    free: Floats
    """Temperature of the free atmosphere brought down to sea level, °C."""
    lapse: Floats
    """Lapse rate of the free atmosphere, K/m."""
    surface_pressure: Floats
    """Pressure at the ground, Pa."""
    sea_pressure: Floats
    """Pressure at sea level, Pa."""
    low: Floats
    """Cover of low clouds, 0 to 1, as in the next three fields."""
    middle: Floats
    high: Floats
    cover: Floats
    """Cover of all clouds as seen from the ground."""
    rate: Floats
    """Precipitation, mm/h."""
    showers: Floats
    """Convective share of precipitation."""
    snow_share: Floats
    """Share of snow in precipitation; the rest after snow and sleet is rain."""
    sleet_share: Floats
    east: Floats
    """Wind at 10 m towards east, m/s."""
    north: Floats
    """Wind at 10 m towards north, m/s."""
    inversion: Floats
    """Cooling of the ground air by radiation, K."""
    growing: Floats
    """Seasonal transpiration of plants, 0 to 1."""
    snow_cover: Floats
    """Share of ground covered by snow, 0 to 1."""
    season: Floats
    """Season, from -1 in the depth of winter to 1."""
    ground: Floats
    """Height of the ground, m."""


_NEW_YEAR = 1_514_764_800.0
"""Unix time of 2018-01-01, s."""


def year_phase(time: NDArray[np.float64]) -> Floats:
    """Return the angle of the year, 0 on January 1, of Unix times [N]."""
    hours = (time - _NEW_YEAR) / HOUR
    return np.asarray(2.0 * np.pi * (hours % YEAR_HOURS) / YEAR_HOURS, np.float32)


def air(places: Places, fields: Floats, sun: Sun, phase: Floats, ground: Floats, physics: Physics = TRUTH) -> Air:
    """Return the weather at N places.

    Args:
        fields: values from ``Fields.at``, [len(FIELDS), N].
        phase: ``year_phase`` [N].
        ground: height of the ground under the air in m [N].
    """
    tilt = np.abs(np.sin(np.radians(places.latitude)))
    side = np.tanh(places.latitude * 0.2)
    season = side * np.cos(phase - 3.38 - 0.30 * (1.0 - places.continental))
    warmth = (1.1 + 4.0 * tilt) * (1.0 - 0.18 * season) * fields[PLACE["warmth"]]
    warmth += (0.4 + 1.1 * tilt) * fields[PLACE["season"]]
    free = places.annual_mean + 0.72 * places.annual_swing * season + 1.0 + warmth
    lapse = 1e-3 * (6.3 - 0.9 * tilt * np.maximum(-season, 0.0) - 0.25 * fields[PLACE["stability"]])
    normal = places.annual_mean + places.annual_swing * season - 0.0058 * ground
    lagged = places.annual_mean + places.annual_swing * side * np.cos(phase - 3.65) - 0.0058 * ground
    snow_cover = _sigmoid((-0.5 - lagged - 0.3 * warmth) * 0.6) * np.clip(places.rainfall / 300.0, 0.2, 1.0)

    east, north = _wind(places, fields, tilt, season)
    speed = np.hypot(east, north)
    growing = _sigmoid((normal - 7.0) * 0.7) * _sigmoid(5.0 * (side * np.cos(phase - 3.0) - 0.25))
    plants = places.forest * growing * np.clip(1.0 + 0.45 * fields[PLACE["soil"]], 0.1, 2.0)
    thaw = places.ice * _sigmoid(3.0 * season)
    cumulus = physics.cumulus * (plants * (0.5 + np.clip(sun.sine, 0.0, 0.6)) + 0.5 * thaw)
    low, middle, high, lifted = _clouds(places, fields, season, cumulus, physics)
    rate, showers = _precipitation(places, fields, lifted + 0.5 * cumulus, normal + warmth, sun, physics)
    low = 1.0 - (1.0 - low) * np.exp(-0.9 * rate * (1.0 - 0.8 * showers))
    cover = 1.0 - (1.0 - low) * (1.0 - 0.9 * middle) * (1.0 - 0.4 * high)

    swing = (3.4 + 6.0 * places.continental * np.clip(1.4 - places.rainfall / 1200.0, 0.6, 1.2)) * sun.daily_swing
    swing *= (1.0 - 0.62 * cover) * (1.0 - 0.35 * snow_cover) * physics.diurnal
    angle = np.float32(np.pi / 12.0) * (sun.solar_hour - 14.6 - physics.hours_late)
    daily = swing * (np.cos(angle) + 0.15 * np.cos(2.0 * angle))
    night = np.clip((5.0 - sun.elevation) * 0.07, 0.0, 1.0)
    cold = 1.4 + 2.4 * places.continental + 4.5 * snow_cover * np.minimum(places.continental, 1.0)
    inversion = cold * night * (1.0 - cover) ** 1.3 / (1.0 + (speed * 0.25) ** 2)
    inversion *= np.clip(1.0 + 0.35 * fields[PLACE["stability"]], 0.1, 2.0)
    cooling = plants * (0.45 + np.clip(sun.sine * 1.2, 0.0, 1.0) * (1.0 - 0.5 * cover))

    temperature = normal + 6.7 * places.forest * growing + warmth + daily + physics.warmth + physics.snow * snow_cover
    temperature += 0.8 * (cover - 0.5) * np.maximum(-season, 0.0) * 2.0 * tilt
    temperature -= physics.inversion * inversion + physics.evaporation * 7.4 * cooling
    temperature -= physics.melt * 0.45 * thaw * np.maximum(temperature - 1.0, 0.0)
    moist = 0.9 + 0.75 * np.log(places.rainfall * np.float32(1.0 / 700.0)) + 0.7 * fields[PLACE["moisture"]]
    moist += 1.4 * (low - 0.4) + 1.2 * cooling + 0.8 * np.minimum(rate, 2.0)
    humidity = np.clip(_sigmoid(moist), 0.10, 0.995)
    dewpoint = dew_point(temperature - 0.7 * daily + 0.4 * inversion, humidity)
    sultry = np.maximum(dewpoint - 22.0, 0.0)  # dew points over warm seas hardly exceed 31 °C
    dewpoint = np.minimum(dewpoint - sultry + 9.0 * np.tanh(sultry / 9.0), temperature - 0.05)
    snow_share, sleet_share = _phases(temperature, dewpoint, free, ground)
    sea_pressure = (
        mean_sea_pressure(places.latitude) + (180.0 + 950.0 * tilt * (1.0 - 0.25 * season)) * fields[PLACE["pressure"]]
    )
    return Air(
        temperature=temperature,
        dewpoint=dewpoint,
        free=free,
        lapse=lapse,
        surface_pressure=station_pressure(sea_pressure, free, ground, lapse),
        sea_pressure=sea_pressure,
        low=low,
        middle=middle,
        high=high,
        cover=cover,
        rate=rate,
        showers=showers,
        snow_share=snow_share,
        sleet_share=sleet_share,
        east=east,
        north=north,
        inversion=inversion,
        growing=growing,
        snow_cover=snow_cover,
        season=season,
        ground=ground,
    )


def _wind(places: Places, fields: Floats, tilt: Floats, season: Floats) -> tuple[Floats, Floats]:
    """Return the wind: trades and westerlies, stronger in winter, with their eddies."""
    strength = (1.6 + 2.2 * tilt) * (1.0 - 0.2 * season) * (1.15 - 0.3 * places.continental)
    mean = 2.2 * np.sin(np.radians(3.0 * np.abs(places.latitude) - 90.0))
    east = strength * fields[PLACE["west"]] + np.where(tilt < 0.9, mean, -0.5)
    return np.asarray(east, np.float32), strength * fields[PLACE["south"]]


def _clouds(
    places: Places, fields: Floats, season: Floats, cumulus: Floats, physics: Physics
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return low, middle and high clouds, 0 to 1, and the lifting that makes them rain (about a standard normal)."""
    lifted = 0.78 * fields[PLACE["lift"]] - 0.42 * fields[PLACE["pressure"]] + 0.46 * fields[PLACE["moisture"]]
    wet = np.clip(np.log(places.rainfall * np.float32(1.0 / 650.0)), -2.2, 1.0) * 0.75 + physics.cloud
    winter = 0.35 * np.maximum(-season, 0.0)
    low = _sigmoid(1.9 * (0.75 * fields[PLACE["low_cloud"]] + 0.75 * lifted + wet + winter + 2.4 * cumulus - 0.35))
    middle = _sigmoid(1.9 * (0.70 * fields[PLACE["middle_cloud"]] + 0.80 * lifted + wet + 0.8 * cumulus - 0.55))
    high = _sigmoid(1.7 * (0.75 * fields[PLACE["high_cloud"]] + 0.60 * lifted + 0.7 * wet - 0.20))
    return low, middle, high, lifted


def _precipitation(
    places: Places, fields: Floats, lifted: Floats, warmth: Floats, sun: Sun, physics: Physics
) -> tuple[Floats, Floats]:
    """Return the rate of precipitation, mm/h, and its share in showers."""
    wet = 0.40 * np.clip(np.log(places.rainfall * np.float32(1.0 / 800.0)), -2.5, 1.2)
    wide = np.maximum(lifted + wet - 0.95 + physics.drizzle, 0.0)
    widespread = 1.1 * wide * np.sqrt(wide) * np.exp(0.02 * np.clip(warmth, -25.0, 30.0))
    heat = _sigmoid((warmth - 14.0) * 0.3) * (0.55 + 0.45 * np.clip(sun.sine, 0.0, 1.0))
    bubble = 0.85 * fields[PLACE["convection"]] + 0.5 * lifted + wet + 0.7 * heat - 1.75 + physics.drizzle
    bubble = np.maximum(bubble, 0.0) * (0.25 + heat)
    shower = 3.5 * bubble * np.sqrt(bubble)
    rate = widespread + shower
    return rate, shower / (rate + np.float32(1e-6))


def _phases(temperature: Floats, dewpoint: Floats, free: Floats, ground: Floats) -> tuple[Floats, Floats]:
    """Return the shares of snow and sleet in precipitation, from the wet bulb near the ground and warm air above it."""
    wet = wet_bulb(temperature, dewpoint) + 0.15 * np.clip(free - 0.0063 * ground - temperature, 0.0, 6.0)
    snow = _sigmoid((0.7 - wet) * 4.0)
    liquid = _sigmoid((wet - 1.5) * 4.0)
    return snow, np.maximum(1.0 - snow - liquid, 0.0)


def mean_sea_pressure(latitude: Floats) -> Floats:
    """Return the mean pressure at sea level, Pa: high over the subtropics, low about 60 degrees."""
    phi = np.radians(latitude)
    return np.asarray(101_450.0 - 600.0 * np.abs(np.sin(phi)) + 450.0 * np.cos(6.0 * phi), np.float32)


def humidity(temperature: Floats, dewpoint: Floats) -> Floats:
    """Return the relative humidity over water, 0 to 1."""
    return np.asarray(vapour_pressure(dewpoint) / vapour_pressure(temperature))


def _sigmoid(x: NDArray[np.floating]) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x), np.float32)
