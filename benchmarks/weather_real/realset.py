"""A real set: rows with times, labels, and a split by time.

Between the parts of a split lie ``GAP_DAYS`` without rows, since an observation is known only after the longest lead
time. What is called shifted (a region or a season) is left out of training, early stopping and calibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.schema import Schema
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE

GAP_DAYS = 2.0
DAY = 86_400.0
"""Seconds."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Which rows serve what, bool [N] each; the parts do not overlap. Only ``test`` holds shifted rows."""

    train: Mask
    stop: Mask
    """For early stopping."""
    calibrate: Mask
    """For thresholds and intervals: neither trained on nor stopped by."""
    test: Mask


@dataclass(frozen=True)
class Part:
    """Some rows of a set, in time order, with what is known of them."""

    rows: NDArray[np.float32]
    """Features in the order of the set's schema, float32 [N, F]."""
    time: Floats
    """Seconds since 1970 [N]."""
    labels: dict[str, NDArray[Any]]
    """Head name to its labels [N]: °C, and classes 0 to 8."""
    shifted: Mask

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class RealSet:
    """N rows in time order: what was forecast, what was observed, and how the rows are used."""

    name: str
    title: str
    schema: Schema
    rows: NDArray[np.float32]
    """Features in schema order, float32 [N, F]; NaN is missing."""
    time: Floats
    """When the forecast is valid, seconds since 1970 [N]."""
    temperature: Floats
    """Observed, °C [N]."""
    precipitation: NDArray[np.int64] | None
    """Observed class [N], codes 5 to 8 of the official nine; None where it was not observed."""
    raw_mean: Floats
    """Of the weather model's ensemble, °C [N]."""
    raw_variance: Floats
    """Of its members (ddof 0), °C² [N]."""
    raw_classes: NDArray[np.int64] | None
    """Class that each member of the weather model means [M, N]."""
    centred_classes: NDArray[np.int64] | None
    """The same after its mean error of temperature in training was taken off."""
    covariates: Floats
    """What EMOS may take for its mean besides the ensemble's, of the order of 1, [N, K]."""
    covariate: str
    """What they are, in a word."""
    predictors: Floats | None
    """Standardised inputs of the log-linear baseline for classes, [N, P]."""
    shifted: Mask
    shift: str
    """What the shift is, in words."""
    split: Split

    def part(self, mask: Mask) -> Part:
        """The rows of a mask [N], as training, calibration or a service takes them: ``part(split.train)``."""
        labels = {head: values[mask] for head, values in self.labels.items()}
        return Part(self.rows[mask], self.time[mask], labels, self.shifted[mask])

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads that the set has labels for."""
        return (TEMPERATURE,) if self.precipitation is None else (TEMPERATURE, PRECIPITATION)

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """Labels of each head [N]: °C, and classes 0 to 8."""
        found: dict[str, NDArray[Any]] = {TEMPERATURE.name: self.temperature}
        if self.precipitation is not None:
            found[PRECIPITATION.name] = self.precipitation
        return found


def in_months(time: Floats, months: tuple[int, ...]) -> Mask:
    """Whether each time [N], seconds since 1970, lies in one of the months (1 to 12), UTC."""
    month = (time.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12) + 1
    return np.isin(month, months)


def by_dates(time: Floats, shifted: Mask, train: float, develop: float) -> Split:
    """Shares of the dates; of the development dates every other one stops, the others calibrate."""
    dates, place = np.unique(time, return_inverse=True)
    first, second = dates[int(train * len(dates))], dates[int(develop * len(dates))]
    return _parts(time, shifted, first, second, place % 2 == 0)


def by_years(time: Floats, shifted: Mask, develop: int, test: int) -> Split:
    """Whole years; of the development years every other week stops, the others calibrate."""
    first, second = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (develop, test))
    return _parts(time, shifted, first, second, (time // (7 * DAY)) % 2 == 0)


def _parts(time: Floats, shifted: Mask, develop: float, test: float, stopping: Mask) -> Split:
    training = (time < develop - GAP_DAYS * DAY) & ~shifted
    developing = (time >= develop) & (time < test - GAP_DAYS * DAY) & ~shifted
    return Split(training, developing & stopping, developing & ~stopping, time >= test)
