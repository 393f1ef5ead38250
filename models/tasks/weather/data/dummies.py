"""Two average rows at the end of official training files.

They make each precipitation class occur in training (Shifts 1.0, C.1): every feature is the mean over all rows, flags
become fractions and the soil temperature, -9999 where missing, a large negative number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data.features import FEATURES, NAMES
from models.tasks.weather.data.table import CLIMATES, Table
from models.tasks.weather.spec import CLASSES

COUNT = 2
_FLAGS = [index for index, feature in enumerate(FEATURES) if feature.values]
_SOIL, _SOIL_FLAG = NAMES.index("gfs_soil_temperature"), NAMES.index("gfs_soil_temperature_available")


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums for the average of many rows, which can be added piece by piece."""

    rows: int
    counts: NDArray[np.int64]
    """Numbers of values that are not NaN [126]: time, latitude, longitude, then the features."""
    totals: NDArray[np.float64]
    """Sums of these values [126]."""
    temperature: float
    """Sum of the labels, °C."""
    classes: NDArray[np.int64]
    """Rows of each precipitation class [9]."""
    climates: NDArray[np.int64]
    """Rows of each climate [5]."""

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.rows + other.rows,
            self.counts + other.counts,
            self.totals + other.totals,
            self.temperature + other.temperature,
            self.classes + other.classes,
            self.climates + other.climates,
        )


def sums(table: Table) -> Sums:
    """Return the sums of one piece of labelled rows."""
    place = np.stack([table.time, table.latitude, table.longitude], axis=1)
    missing = np.isnan(table.features)
    return Sums(
        len(table),
        np.concatenate([np.full(3, len(table)), len(table) - missing.sum(axis=0)]).astype(np.int64),
        np.concatenate([place.sum(axis=0), np.where(missing, 0.0, table.features).sum(axis=0, dtype=np.float64)]),
        float(table.temperature.sum(dtype=np.float64)),
        np.bincount(table.precipitation, minlength=CLASSES)[:CLASSES],
        np.bincount(table.climate, minlength=len(CLIMATES))[: len(CLIMATES)],
    )


def dummies(of: Sums) -> Table:
    """Return two rows of averages with the two rarest classes; classes that do not occur come first.

    Raises:
        ValueError: there are no rows.
    """
    if not of.rows:
        raise ValueError("averages of no rows: the training split is empty")
    mean = of.totals / np.maximum(of.counts, 1)
    mean[of.counts == 0] = np.nan
    rarest = np.argsort(of.classes, kind="stable")[:COUNT]
    f = np.float32
    return Table(
        np.full(COUNT, mean[0]),
        np.full(COUNT, mean[1], f),
        np.full(COUNT, mean[2], f),
        np.full(COUNT, of.climates.argmax(), np.uint8),
        np.tile(mean[3:].astype(f), (COUNT, 1)),
        np.full(COUNT, of.temperature / of.rows, f),
        np.sort(rarest).astype(np.uint8),
    )


def found_in(table: Table) -> NDArray[np.bool_]:
    """Return the mask [N] of average rows.

    In these a flag is a fraction, or the soil temperature is impossible beside its flag.
    """
    flags = table.features[:, _FLAGS]
    fractions = ((flags > 0.0) & (flags < 1.0)).any(axis=1)
    soil = table.features[:, _SOIL]
    feature = FEATURES[_SOIL]
    odd = (soil < feature.lower) & ~np.isin(soil, np.array(feature.sentinels, np.float32))
    return np.asarray(fractions | (odd & (table.features[:, _SOIL_FLAG] > 0.0)))
