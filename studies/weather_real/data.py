"""Three real sets as arrays with names, units, ranges, times, labels and splits.

They lie in ``weather`` of DEMUR_TEST_DATA (default: ../shared/data beside the repository) and are never copied into
the repository.
"""

import csv
import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.schema import Feature, Schema
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from studies.pages import real_data

GAP_DAYS = 2.0
DAY = 86_400.0
"""Length of a day, s."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Masks of the parts of a set, bool [N] each, without overlap. Only ``test`` holds shifted rows."""

    train: Mask
    stop: Mask
    """Rows for early stopping."""
    calibrate: Mask
    """Rows for thresholds and intervals, used neither for training nor for stopping."""
    test: Mask


@dataclass(frozen=True)
class Part:
    """Some rows of a set, in time order, with their labels."""

    rows: NDArray[np.float32]
    """Features in the order of the set's schema, float32 [N, F]."""
    time: Floats
    """Time, seconds since 1970 [N]."""
    labels: dict[str, NDArray[Any]]
    """Labels of each head by name [N]: °C, and classes 0 to 8."""
    shifted: Mask

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class RealSet:
    """N rows in time order: forecasts, observations, and the use of the rows."""

    name: str
    title: str
    schema: Schema
    rows: NDArray[np.float32]
    """Features in schema order, float32 [N, F]; NaN is missing."""
    time: Floats
    """Valid time of the forecast, seconds since 1970 [N]."""
    temperature: Floats
    """Observed temperature, °C [N]."""
    precipitation: NDArray[np.int64] | None
    """Observed class [N], codes 5 to 8 of the official nine; None if it was not observed."""
    raw_mean: Floats
    """Mean of the weather model's ensemble, °C [N]."""
    raw_variance: Floats
    """Variance of the ensemble's members (ddof 0), °C² [N]."""
    raw_classes: NDArray[np.int64] | None
    """Class according to each member of the weather model [M, N]."""
    centred_classes: NDArray[np.int64] | None
    """Class according to each member after subtracting its mean temperature error in training [M, N]."""
    covariates: Floats
    """Further covariates for the mean of EMOS, of the order of 1, [N, K]."""
    covariate: str
    """Name of the covariates."""
    predictors: Floats | None
    """Standardised inputs of the log-linear baseline for classes, [N, P]."""
    shifted: Mask
    shift: str
    """Description of the shift."""
    split: Split

    def part(self, mask: Mask) -> Part:
        """Return the rows of a mask [N], as for training, calibration or a service: ``part(split.train)``."""
        labels = {head: values[mask] for head, values in self.labels.items()}
        return Part(self.rows[mask], self.time[mask], labels, self.shifted[mask])

    @property
    def heads(self) -> tuple[Head, ...]:
        """Heads for which the set has labels."""
        return (TEMPERATURE,) if self.precipitation is None else (TEMPERATURE, PRECIPITATION)

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """Labels of each head [N]: °C, and classes 0 to 8."""
        values: dict[str, NDArray[Any]] = {TEMPERATURE.name: self.temperature}
        if self.precipitation is not None:
            values[PRECIPITATION.name] = self.precipitation
        return values


def in_months(time: Floats, months: tuple[int, ...]) -> Mask:
    """Return whether each time [N], seconds since 1970, lies in one of the months (1 to 12), UTC."""
    month = (time.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12) + 1
    return np.isin(month, months)


def by_dates(time: Floats, shifted: Mask, train: float, develop: float) -> Split:
    """Split by shares of the dates; of the development dates every other one stops, the others calibrate."""
    dates, place = np.unique(time, return_inverse=True)
    first, second = dates[int(train * len(dates))], dates[int(develop * len(dates))]
    return _parts(time, shifted, first, second, place % 2 == 0)


def by_years(time: Floats, shifted: Mask, develop: int, test: int) -> Split:
    """Split by whole years; of the development years every other week stops, the others calibrate."""
    first, second = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (develop, test))
    return _parts(time, shifted, first, second, (time // (7 * DAY)) % 2 == 0)


def _parts(time: Floats, shifted: Mask, develop: float, test: float, stopping: Mask) -> Split:
    training = (time < develop - GAP_DAYS * DAY) & ~shifted
    developing = (time >= develop) & (time < test - GAP_DAYS * DAY) & ~shifted
    return Split(training, developing & stopping, developing & ~stopping, time >= test)


KELVIN = 273.15
EAST = -121.0
"""Longitude of the Cascades in the Pacific Northwest, degrees; the climate is drier and colder in winter east of it."""
WET_MM = 0.1
"""Smallest 12-hour precipitation that is not "none", mm."""
SNOW_BELOW, SLEET_BELOW = 0.0, 2.0
"""Limits of the 12-hour minimum, °C: up to the first precipitation is snow, up to the second sleet, above it rain."""
NO_PRECIPITATION, RAIN, SLEET, SNOW = 5, 6, 7, 8


def folder() -> Path:
    """Return the folder of the sets.

    Raises:
        LookupError: the sets are missing; the message names the searched folder.
    """
    return real_data("weather")


def pacific_northwest(path: Path) -> RealSet:
    """Read 48 h forecasts of eight weather models at 969 stations, January and February 2004."""
    table = _read(path / "pnw_srft_temperature_2004.csv.gz")
    names = ("CMCG", "ETA", "GASP", "GFS", "JMA", "NGPS", "TCWB", "UKMO")
    members = np.stack([table.numbers(name) for name in names], axis=1) - KELVIN
    elevation = table.numbers("elevation")
    elevation[elevation == -9999] = np.nan
    time = table.times("date", "%Y%m%d%H")
    longitude = table.numbers("longitude")
    shifted = longitude > EAST
    split = by_dates(time, shifted, 0.6, 0.75)
    mean, deviation = members.mean(axis=1), members.std(axis=1)
    known = np.where(np.isnan(elevation), np.nanmean(elevation[split.train]), elevation)
    columns = [
        *(
            (_temperature(f"t2m_{name.lower()}", f"2 m temperature of {name}, 48 h ahead"), members[:, i])
            for i, name in enumerate(names)
        ),
        *_moments(mean, deviation),
        (Feature("latitude", "°", -90, 90, "north of the equator"), table.numbers("latitude")),
        (Feature("longitude", "°", -180, 180, "east of Greenwich"), longitude),
        (Feature("elevation", "m", -430, 8850, "of the station above sea level", nullable=True), elevation),
    ]
    return _set(
        columns,
        name="pnw",
        title="Pacific Northwest",
        time=time,
        temperature=table.numbers("observation") - KELVIN,
        precipitation=None,
        raw_mean=mean,
        raw_variance=deviation**2,
        raw_classes=None,
        centred_classes=None,
        covariates=known[:, None] / 1000,
        covariate="elevation",
        predictors=None,
        shifted=shifted,
        shift=f"stations east of {-EAST:g}° W",
        split=split,
    )


def hannover(path: Path) -> RealSet:
    """Read 24 h forecasts of the ECMWF ensemble at one station, 2015 to 2020: means and standard deviations."""
    table = _read(path / "hannover_ecmwf_t2m_24h_2015_2020.csv")
    time = table.times("date", "%Y-%m-%d")
    mean, deviation = table.numbers("t2m_mean"), table.numbers("t2m_sd")
    season = [table.numbers("sin1"), table.numbers("cos1")]
    quantities = {
        "t2m": ("°C", -90, 60, 60, "2 m temperature"),
        "d2m": ("°C", -90, 60, 60, "2 m dew point"),
        "p": ("Pa", 45_000, 110_000, 20_000, "surface pressure"),
        "sr": ("J/m²", 0, 5e7, 5e7, "solar radiation, accumulated"),
        "u10m": ("m/s", -120, 120, 120, "10 m wind from the west"),
        "v10m": ("m/s", -120, 120, 120, "10 m wind from the south"),
        "r2m": ("1", 0, 1.5, 1.5, "2 m relative humidity"),
        "tcc": ("1", 0, 1.01, 1.01, "cloud cover"),
        "ws10m": ("m/s", 0, 120, 120, "10 m wind speed"),
        "wg10m": ("m/s", 0, 150, 150, "10 m gust"),
    }
    columns = []
    for short, (unit, lower, upper, spread, words) in quantities.items():
        mean_of = Feature(f"{short}_mean", unit, lower, upper, f"{words}, mean of the ensemble, 24 h ahead")
        columns.append((mean_of, table.numbers(mean_of.name)))
        deviation_of = Feature(f"{short}_sd", unit, 0, spread, f"{words}, standard deviation of the ensemble")
        columns.append((deviation_of, table.numbers(deviation_of.name)))
    shifted = in_months(time, (6, 7, 8))
    return _set(
        [*columns, *_season(season)],
        name="hannover",
        title="Hannover",
        time=time,
        temperature=table.numbers("obs"),
        precipitation=None,
        raw_mean=mean,
        raw_variance=deviation**2,
        raw_classes=None,
        centred_classes=None,
        covariates=np.stack(season, axis=1),
        covariate="season",
        predictors=None,
        shifted=shifted,
        shift="summer (June to August)",
        split=by_years(time, shifted, 2018, 2019),
    )


def innsbruck(path: Path) -> RealSet:
    """Read 18 to 30 h reforecasts of the GEFS ensemble at Innsbruck airport, 2000 to 2015: night minimum and rain."""
    table = _read(path / "innsbruck_gefs_temp_rain_2000_2016.csv.gz")
    time = table.times("valid_time", "%Y-%m-%d %H:%M:%S")
    cold = np.stack([table.numbers(f"tempfc.{i}") for i in range(1, 12)], axis=1)
    wet = np.stack([table.numbers(f"rainfc.{i}") for i in range(1, 12)], axis=1)
    observed = table.numbers("temp")
    angle = 2 * np.pi * ((time / DAY) % 365.25) / 365.25
    season = [np.sin(angle), np.cos(angle)]
    mean, deviation = cold.mean(axis=1), cold.std(axis=1)
    share = (wet >= WET_MM).mean(axis=1)
    columns = [
        *(
            (_temperature(f"t_min_{i + 1}", "12 h minimum temperature of a member, 18 to 30 h ahead"), cold[:, i])
            for i in range(11)
        ),
        *_moments(mean, deviation),
        *(
            (_rain(f"precipitation_{i + 1}", "12 h precipitation of a member, 18 to 30 h ahead"), wet[:, i])
            for i in range(11)
        ),
        (_rain("precipitation_mean", "mean of the members"), wet.mean(axis=1)),
        (_rain("precipitation_sd", "standard deviation of the members"), wet.std(axis=1)),
        (Feature("precipitation_share", "1", 0, 1, f"share of members with at least {WET_MM} mm"), share),
        *_season(season),
    ]
    shifted = in_months(time, (12, 1, 2))
    split = by_years(time, shifted, 2010, 2013)
    inputs = np.stack([mean, deviation, np.log1p(wet.mean(axis=1)), np.log1p(wet.std(axis=1)), share, *season], axis=1)
    trained = inputs[split.train]
    return _set(
        columns,
        name="innsbruck",
        title="Innsbruck",
        time=time,
        temperature=observed,
        precipitation=classes(observed, table.numbers("rain")),
        raw_mean=mean,
        raw_variance=deviation**2,
        raw_classes=classes(cold.T, wet.T),
        centred_classes=classes(cold.T - np.mean((mean - observed)[split.train]), wet.T),
        covariates=np.stack(season, axis=1),
        covariate="season",
        predictors=(inputs - trained.mean(axis=0)) / trained.std(axis=0),
        shifted=shifted,
        shift="winter (December to February)",
        split=split,
    )


SETS: dict[str, Callable[[Path], RealSet]] = {
    "pnw": pacific_northwest,
    "hannover": hannover,
    "innsbruck": innsbruck,
}


def classes(minimum: Floats, precipitation: Floats) -> NDArray[np.int64]:
    """Return the official class of 12 h minimum, °C, and sum, mm: 5 none, 6 rain, 7 sleet, 8 snow (cloudy row)."""
    wet = np.where(minimum <= SNOW_BELOW, SNOW, np.where(minimum <= SLEET_BELOW, SLEET, RAIN))
    return np.where(precipitation < WET_MM, NO_PRECIPITATION, wet).astype(np.int64)


@dataclass(frozen=True)
class _Table:
    columns: dict[str, list[str]]

    def numbers(self, name: str) -> Floats:
        return np.array(self.columns[name], np.float64)

    def times(self, name: str, form: str) -> Floats:
        """Return seconds since 1970, UTC."""
        known = {
            text: datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() for text in set(self.columns[name])
        }
        return np.array([known[text] for text in self.columns[name]])


def _read(path: Path) -> _Table:
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    header, *rows = csv.reader(text.splitlines())
    return _Table({name: list(values) for name, values in zip(header, zip(*rows, strict=True), strict=True)})


def _set(columns: Iterable[tuple[Feature, Floats]], time: Floats, **rest: Any) -> RealSet:
    features, values = zip(*columns, strict=True)
    if (np.diff(time) < 0).any():
        raise ValueError(f"rows of {rest['name']} are not in the order of time")
    return RealSet(schema=Schema(features), rows=np.stack(values, axis=1).astype(np.float32), time=time, **rest)


def _temperature(name: str, words: str) -> Feature:
    return Feature(name, "°C", -90, 60, words)


def _rain(name: str, words: str) -> Feature:
    return Feature(name, "mm", 0, 1000, words)


def _moments(mean: Floats, deviation: Floats) -> list[tuple[Feature, Floats]]:
    return [
        (_temperature("ensemble_mean", "mean of the members"), mean),
        (Feature("ensemble_sd", "°C", 0, 60, "standard deviation (ddof 0) of the members"), deviation),
    ]


def _season(season: list[Floats]) -> list[tuple[Feature, Floats]]:
    return [
        (Feature(f"season_{word}", "1", -1, 1, f"{word} of the day of the year"), values)
        for word, values in zip(("sine", "cosine"), season, strict=True)
    ]
