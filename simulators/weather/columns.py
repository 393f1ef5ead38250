"""Forecasts of three weather models and climate normals for N rows, as the 123 columns of official files."""

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data.features import CMC_LEVELS, GFS_LEVELS, NAMES, NO_SOIL
from simulators.weather import column
from simulators.weather.atmosphere import Air, humidity, mean_sea_pressure
from simulators.weather.fields import PLACE
from simulators.weather.quantities import MMHG, ZERO_C, Floats, station_pressure, vapour_pressure
from simulators.weather.stations import Places
from simulators.weather.systems import STEP, Forecast, Situation

Columns = dict[str, Floats]

_SOIL_OUTAGE = 0.05
_FALLING = tuple(sorted(CMC_LEVELS, reverse=True))
_KIND = {"65": "rain", "66": "snow", "67": "ice", "68": "graupel"}


def columns(rng: np.random.Generator, seen: Situation, forecasts: tuple[Forecast, ...], elevation: Floats) -> Floats:
    """Return all columns [N, 123], float32; NaN if a model has no data.

    Args:
        elevation: elevation of the sun at the time of the row, degrees [N].
    """
    gfs, cmc, wrf = forecasts
    by_name = _climate(seen, elevation)
    by_name |= _masked(_gfs(rng, seen, gfs), gfs.available, "gfs_available")
    by_name |= _masked(_cmc(rng, seen, cmc), cmc.available, "cmc_available")
    by_name |= _masked(_wrf(seen, wrf), wrf.available & seen.places.in_domain, "wrf_available")
    soil = gfs.available & (rng.random(len(elevation), np.float32) >= _SOIL_OUTAGE)
    by_name["gfs_soil_temperature"] = np.where(soil, by_name["gfs_soil_temperature"], np.float32(NO_SOIL))
    by_name["gfs_soil_temperature_available"] = soil.astype(np.float32)
    rows = np.empty((len(NAMES), len(elevation)), np.float32)
    for place, name in enumerate(NAMES):
        rows[place] = by_name[name]
    return np.ascontiguousarray(rows.T)


def _masked(columns: Columns, available: NDArray[np.bool_], flag: str) -> Columns:
    if not available.all():
        columns = {name: np.where(available, values, np.float32(np.nan)) for name, values in columns.items()}
    return columns | {flag: available.astype(np.float32)}


def _climate(seen: Situation, elevation: Floats) -> Columns:
    """Return climate columns; the normals are daily values as from a map, without the place's valley and siting."""
    places, phase = seen.places, seen.phases[0]
    side = np.tanh(places.latitude * 0.2)
    season = side * np.cos(phase - 3.38 - 0.30 * (1.0 - places.continental))
    sea_level = places.annual_mean + 0.9 * places.annual_swing * season
    pressure = mean_sea_pressure(places.latitude)
    lapse = np.full_like(sea_level, 0.0062)
    return {
        "topography_bathymetry": places.bathymetry,
        "sun_elevation": elevation,
        "climate_temperature": np.round(sea_level - 0.0058 * places.elevation, 2),
        "climate_pressure": station_pressure(pressure, sea_level, places.elevation, lapse) / np.float32(MMHG),
    }


def _stepped(name: str, now: Floats, following: Floats, share: Floats | None = None) -> Columns:
    """Return a quantity, its value at the next horizon, the difference, and the interpolated value at ``share``."""
    by_name = {name: now, f"{name}_next": following, f"{name}_grad": following - now}
    return by_name if share is None else by_name | {f"{name}_interpolated": now + (following - now) * share}


def _timed(name: str, seen: Situation, forecast: Forecast) -> Columns:
    return {f"{name}_horizon_h": forecast.horizon, f"{name}_timedelta_s": (seen.time - seen.begin).astype(np.float32)}


def _shares(air: Air) -> dict[str, Floats]:
    """Return the shares of rain, snow, freezing rain and graupel in precipitation, which sum to 1."""
    frozen = np.clip(-0.5 * air.temperature, 0.0, 1.0)
    liquid = 1.0 - air.snow_share
    graupel = 0.25 * air.sleet_share + 0.15 * air.showers * air.snow_share
    liquid = liquid - 0.25 * air.sleet_share
    return {
        "rain": liquid * (1.0 - frozen),
        "ice": liquid * frozen,
        "snow": air.snow_share * (1.0 - 0.15 * air.showers),
        "graupel": graupel,
    }


def _gfs(rng: np.random.Generator, seen: Situation, forecast: Forecast) -> Columns:
    now, following, places = forecast.now, forecast.next, seen.places
    count = len(places)
    levels = column.temperatures(now, forecast.fields, places.latitude, GFS_LEVELS) - np.float32(ZERO_C)
    by_name = {f"gfs_temperature_{level}00": levels[row] for row, level in enumerate(GFS_LEVELS)}
    by_name |= _stepped("gfs_temperature_sea", now.temperature, following.temperature, seen.share)
    by_name |= _stepped("gfs_2m_dewpoint", now.dewpoint, following.dewpoint)
    by_name |= _stepped("gfs_total_clouds_cover_low", *(_percent(air.low) for air in (now, following)))
    spin = 1.458e-4 * np.sin(np.radians(places.latitude))
    lift = forecast.fields[PLACE["lift"]]
    eddy = 2.2e-5 * (0.8 * lift - 0.5 * forecast.fields[PLACE["pressure"]]) * np.sign(places.latitude)
    soil = 0.72 * now.temperature + 0.28 * (places.annual_mean - 0.0058 * places.elevation) + 1.2 * now.season
    soil = np.where(now.snow_cover > 0.5, np.minimum(0.35 * soil, 0.0), soil)
    return (
        by_name
        | _timed("gfs", seen, forecast)
        | {
            "gfs_a_vorticity": (spin + eddy).astype(np.float32),
            "gfs_cloudness": now.low + now.middle + now.high,
            "gfs_clouds_sea": np.maximum(now.low - 0.6, 0.0) ** 2 * np.float32(4e-4),
            "gfs_humidity": np.clip(100.0 * humidity(now.temperature, now.dewpoint), 0.0, 100.0),
            "gfs_precipitable_water": 0.018 * vapour_pressure(now.dewpoint) * np.exp(0.10 * lift),
            "gfs_precipitations": _tidy(0.5 * (now.rate + following.rate)),
            "gfs_pressure": now.surface_pressure / np.float32(MMHG),
            "gfs_r_velocity": -0.06 * lift + 0.03 * rng.standard_normal(count, np.float32),
            "gfs_soil_temperature": soil + 0.6 * rng.standard_normal(count, np.float32),
            "gfs_total_clouds_cover_high": _percent(now.high),
            "gfs_total_clouds_cover_middle": _percent(now.middle),
            "gfs_u_wind": now.east,
            "gfs_v_wind": now.north,
            "gfs_wind_speed": np.hypot(now.east, now.north),
        }
    )


def _cmc(rng: np.random.Generator, seen: Situation, forecast: Forecast) -> Columns:
    now, following, places = forecast.now, forecast.next, seen.places
    levels = column.temperatures(now, forecast.fields, places.latitude, _FALLING)
    heights = column.heights(now, _FALLING, levels)
    kelvin = now.temperature + np.float32(ZERO_C), following.temperature + np.float32(ZERO_C)
    dewpoint = now.dewpoint + np.float32(ZERO_C)
    spread = now.temperature - now.dewpoint
    by_name = _stepped("cmc_0_0_0_2", *kelvin, seen.share) | _timed("cmc", seen, forecast)
    dry = np.exp(-0.7 * forecast.fields[PLACE["moisture"]] - 0.5 * forecast.fields[PLACE["lift"]])
    tilt = np.abs(np.sin(np.radians(places.latitude)))
    noise = rng.standard_normal((len(_FALLING), len(places)), np.float32)
    for row, level in enumerate(_FALLING):
        above = np.float32(np.log(1000.0 / level))
        by_name[f"cmc_0_0_0_{level}"] = levels[row]
        by_name[f"cmc_0_3_5_{level}"] = heights[row]
        near = np.maximum(0.85 - 2.5 * above, np.float32(0.0))
        aloft = np.clip((4.0 + 6.0 * above) * dry * np.exp(0.2 * noise[row]), 0.05, 55.0)
        by_name[f"cmc_0_0_7_{level}"] = near * spread + (1.0 - near) * aloft
        jet = tilt * (1.0 - 0.4 * now.season) * 22.0 * above
        by_name[f"cmc_0_2_2_{level}"] = now.east * (1.25 + 1.6 * above) + jet
        by_name[f"cmc_0_2_3_{level}"] = now.north * (1.25 + 1.6 * above) + 1.5 * above * noise[row]
    mean_rate = 0.5 * (now.rate + following.rate)
    past = _past(rng, forecast, now)
    fallen = np.zeros_like(mean_rate)
    before, after = _shares(now), _shares(following)
    for code, kind in _KIND.items():
        share = 0.5 * (before[kind] + after[kind])
        already, step = past * before[kind], mean_rate * share * STEP
        by_name |= _stepped(f"cmc_0_1_{code}_0", _tidy(already), _tidy(already) + _tidy(step))
        fallen = fallen + _tidy(step)
    return by_name | {
        "cmc_0_0_6_2": dewpoint,
        "cmc_0_0_7_2": spread,
        "cmc_0_1_0_0": 0.622 * vapour_pressure(now.dewpoint) / now.surface_pressure,
        "cmc_0_1_11_0": _snow_depth(now, places),
        "cmc_0_1_7_0": _tidy(now.rate),
        "cmc_0_2_2_10": now.east,
        "cmc_0_2_3_10": now.north,
        "cmc_0_3_0_0": now.surface_pressure,
        "cmc_0_3_0_0_next": following.surface_pressure,
        "cmc_0_3_1_0": now.sea_pressure,
        "cmc_0_6_1_0": _percent(now.cover),
        "cmc_precipitations": fallen / STEP,
    }


def _wrf(seen: Situation, forecast: Forecast) -> Columns:
    now, following = forecast.now, forecast.next
    kelvin = now.temperature + np.float32(ZERO_C), following.temperature + np.float32(ZERO_C)
    shares, rate = _shares(now), 0.5 * (now.rate + following.rate)
    hail = np.clip(0.15 * (now.showers * now.rate - 2.0), 0.0, None) * (now.temperature > 8.0)
    return _stepped("wrf_t2", *kelvin, seen.share) | {
        "wrf_psfc": now.surface_pressure,
        "wrf_rh2": humidity(now.temperature, now.dewpoint),
        "wrf_wind_u": 1.1 * now.east,
        "wrf_wind_v": 1.1 * now.north,
        "wrf_rain": _tidy(rate * (shares["rain"] + shares["ice"])),
        "wrf_snow": _tidy(rate * shares["snow"]),
        "wrf_graupel": _tidy(rate * shares["graupel"]),
        "wrf_hail": _tidy(hail.astype(np.float32)),
    }


def _past(rng: np.random.Generator, forecast: Forecast, now: Air) -> Floats:
    """Draw precipitation from the start of the run to the horizon, mm: current wet spells last, others have passed."""
    passed = np.maximum(rng.standard_normal(len(now.rate), np.float32) - 0.8, 0.0) ** 2
    return np.asarray(forecast.horizon * (0.35 * now.rate + 0.25 * passed))


def _snow_depth(air: Air, places: Places) -> Floats:
    """Return the depth of snow, m."""
    cold = np.maximum(2.0 - places.annual_mean + 0.0058 * air.ground + 0.5 * places.annual_swing, 0.0)
    return np.asarray(
        air.snow_cover * (air.snow_cover > 0.15) * 0.02 * cold * np.clip(places.rainfall / 700.0, 0.2, 2.0)
    )


def _percent(share: Floats) -> Floats:
    return np.asarray(np.clip(np.round(100.0 * share), 0.0, 100.0))


def _tidy(rate: Floats) -> Floats:
    """Return the rate without traces below 0.005 mm, as in packed files."""
    return np.where(rate < 0.005, np.float32(0.0), rate)
