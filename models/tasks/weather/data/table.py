"""Rows of weather data in memory: where and when, what the weather models said, what the station saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data.features import NAMES

CLIMATES = ("tropical", "dry", "mild temperate", "snow", "polar")
"""Main climates of Köppen, in the order of their index; the words of official files."""


@dataclass(frozen=True, slots=True)
class Table:
    """N rows. Labels are NaN and 255, place and climate NaN and 255, where a file does not have them."""

    time: NDArray[np.float64]
    """Unix seconds [N]."""
    latitude: NDArray[np.float32]
    """Degrees [N], north positive."""
    longitude: NDArray[np.float32]
    """Degrees [N], east positive."""
    climate: NDArray[np.uint8]
    """Index into ``CLIMATES`` [N]."""
    features: NDArray[np.float32]
    """[N, 123] in the order and units of ``features.FEATURES``; NaN and documented sentinels where missing."""
    temperature: NDArray[np.float32]
    """Air temperature measured 2 m above the ground [N], °C."""
    precipitation: NDArray[np.uint8]
    """Precipitation class 0 to 8 [N]."""

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, selection: Any) -> Table:
        """Some of the rows: a slice, a mask [N] or positions."""
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
"""Climate or precipitation class of a row that has none."""


def concatenate(tables: Sequence[Table]) -> Table:
    """Rows of several tables, one after the other; of none: a table without rows."""
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
