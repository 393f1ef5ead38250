"""Table of weather data in memory: time, place, outputs of weather models and observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data.features import NAMES

CLIMATES = ("tropical", "dry", "mild temperate", "snow", "polar")
"""Main climates of Köppen, in the order of their index, as named in official files."""


@dataclass(frozen=True, slots=True)
class Table:
    """N rows. If a file lacks labels, they are NaN and 255; if it lacks place and climate, these are NaN and 255."""

    time: NDArray[np.float64]
    """Time, Unix seconds [N]."""
    latitude: NDArray[np.float32]
    """Latitude, degrees [N], north positive."""
    longitude: NDArray[np.float32]
    """Longitude, degrees [N], east positive."""
    climate: NDArray[np.uint8]
    """Index into ``CLIMATES`` [N]."""
    features: NDArray[np.float32]
    """Features [N, 123] in the order and units of ``features.FEATURES``; NaN and documented sentinels for missing
    values.
    """
    temperature: NDArray[np.float32]
    """Air temperature measured 2 m above the ground, °C [N]."""
    precipitation: NDArray[np.uint8]
    """Precipitation class 0 to 8 [N]."""

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, selection: Any) -> Table:
        """Return some rows by slice, mask [N] or positions."""
        return Table(
            self.time[selection],
            self.latitude[selection],
            self.longitude[selection],
            self.climate[selection],
            self.features[selection],
            self.temperature[selection],
            self.precipitation[selection],
        )


UNKNOWN = 255
"""Value of an unknown climate or precipitation class."""


def concatenate(tables: Sequence[Table]) -> Table:
    """Concatenate the rows of several tables; without tables, return one without rows."""
    if not tables:
        empty, codes = np.empty(0, np.float32), np.empty(0, np.uint8)
        return Table(np.empty(0), empty, empty, codes, np.empty((0, len(NAMES)), np.float32), empty, codes)
    return Table(
        np.concatenate([table.time for table in tables]),
        np.concatenate([table.latitude for table in tables]),
        np.concatenate([table.longitude for table in tables]),
        np.concatenate([table.climate for table in tables]),
        np.concatenate([table.features for table in tables]),
        np.concatenate([table.temperature for table in tables]),
        np.concatenate([table.precipitation for table in tables]),
    )
