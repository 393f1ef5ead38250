"""Coasts of the North Atlantic, drawn by hand with a few hundred points, and a mask of the land.

Deliberately coarse: good enough to keep a route off the land and to draw a recognisable map. Not for navigation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from routing.geodesy import Floats

# Closed polygons of (longitude, latitude).
POLYGONS: dict[str, tuple[tuple[float, float], ...]] = {
    "North America": (
        (-95.0, 25.0), (-80.4, 25.0), (-80.0, 26.8), (-80.6, 28.4), (-81.3, 30.0), (-81.2, 31.5),
        (-79.9, 32.7),
        (-78.9, 33.7), (-77.9, 33.9), (-77.2, 34.6), (-76.5, 34.65), (-75.5, 35.2), (-75.7, 36.2),
        (-76.0, 36.9),
        (-76.3, 37.9), (-75.9, 37.3), (-75.6, 37.5), (-75.1, 38.4), (-75.4, 39.3), (-74.9, 38.95),
        (-74.4, 39.4),
        (-74.0, 40.0), (-74.1, 40.55), (-73.5, 40.58), (-72.5, 40.85), (-71.9, 41.07), (-72.7, 41.0),
        (-73.4, 40.95), (-72.5, 41.27), (-71.4, 41.4), (-71.2, 41.55), (-70.6, 41.55), (-69.95, 41.62),
        (-69.95, 42.0), (-70.2, 42.07), (-70.1, 41.8), (-70.5, 41.8), (-70.7, 42.25), (-70.6, 42.65),
        (-70.75, 43.1),
        (-70.2, 43.6), (-69.0, 43.95), (-68.2, 44.25), (-67.0, 44.75), (-66.1, 45.15), (-64.9, 45.65),
        (-64.2, 45.35),
        (-65.0, 45.05), (-66.2, 44.35), (-66.1, 43.75), (-65.5, 43.45), (-64.4, 44.1), (-63.5, 44.55),
        (-62.0, 44.95),
        (-61.0, 45.25), (-59.85, 45.95), (-60.4, 46.95), (-61.0, 46.6), (-61.5, 45.75), (-63.0, 45.75),
        (-64.5, 46.2),
        (-64.9, 47.1), (-65.3, 47.9), (-66.4, 48.05), (-64.3, 48.4), (-64.3, 48.85), (-66.5, 49.15),
        (-68.5, 48.6),
        (-70.5, 47.1), (-69.7, 48.1), (-68.0, 49.2), (-66.6, 50.15), (-63.5, 50.25), (-60.0, 50.2),
        (-58.6, 51.0),
        (-57.0, 51.5), (-55.7, 52.2), (-55.8, 53.3), (-57.4, 54.2), (-60.0, 55.2), (-61.5, 56.5),
        (-62.0, 57.8),
        (-63.6, 59.4), (-64.5, 60.4), (-65.5, 59.9), (-66.0, 58.8), (-69.0, 58.9), (-70.0, 61.0),
        (-95.0, 62.0),
    ),
    "Newfoundland": (
        (-59.3, 47.6), (-57.5, 47.6), (-56.0, 47.65), (-55.3, 47.2), (-55.9, 46.9), (-55.3, 46.9),
        (-54.1, 47.7),
        (-54.1, 46.8), (-53.1, 46.65), (-52.65, 47.5), (-53.0, 48.2), (-53.8, 48.1), (-53.1, 48.7),
        (-53.6, 49.2),
        (-54.8, 49.4), (-56.0, 49.6), (-56.8, 49.6), (-56.0, 50.3), (-55.5, 51.55), (-56.6, 51.3),
        (-57.4, 50.6),
        (-57.9, 49.6), (-58.7, 48.9), (-58.4, 48.5), (-59.2, 48.3),
    ),
    "Anticosti": ((-64.4, 49.85), (-62.9, 49.7), (-61.7, 49.1), (-62.6, 49.07), (-63.6, 49.35)),
    "Prince Edward Island": ((-64.3, 46.7), (-63.9, 46.9), (-62.0, 46.45), (-62.6, 46.0), (-63.7, 46.25)),
    "Greenland": (
        (-53.6, 67.0), (-53.6, 66.0), (-52.0, 64.2), (-50.2, 62.2), (-48.4, 61.0), (-46.0, 60.4),
        (-43.9, 59.9),
        (-43.2, 60.2), (-42.4, 61.6), (-41.0, 63.4), (-40.0, 65.2), (-37.0, 66.0), (-34.0, 67.0),
    ),
    "Iceland": (
        (-24.4, 65.55), (-22.5, 66.45), (-21.4, 65.5), (-20.2, 66.05), (-18.2, 66.05), (-16.2, 66.5),
        (-14.6, 66.25),
        (-13.6, 65.1), (-14.9, 64.3), (-16.6, 63.8), (-18.8, 63.4), (-20.4, 63.6), (-22.7, 63.85),
        (-22.0, 64.4),
        (-24.0, 64.85), (-22.2, 65.2),
    ),
    "Ireland": (
        (-9.6, 51.45), (-8.2, 51.8), (-6.4, 52.2), (-6.0, 53.0), (-6.1, 54.0), (-5.5, 54.5), (-6.1, 55.2),
        (-7.4, 55.35), (-8.6, 54.75), (-8.5, 54.25), (-10.0, 54.2), (-9.9, 53.45), (-9.1, 53.2), (-9.7, 52.6),
        (-10.4, 52.1), (-9.9, 51.7),
    ),
    "Great Britain": (
        (-5.7, 50.05), (-5.2, 49.97), (-3.6, 50.22), (-2.0, 50.6), (0.3, 50.75), (1.4, 51.2), (0.6, 51.45),
        (1.7, 52.6),
        (0.3, 52.95), (-0.1, 54.0), (-1.5, 55.0), (-2.0, 55.8), (-3.2, 56.0), (-2.1, 57.0), (-1.8, 57.6),
        (-4.0, 57.6),
        (-3.1, 58.6), (-5.0, 58.6), (-5.8, 57.5), (-6.2, 56.7), (-5.5, 56.0), (-5.7, 55.35), (-4.8, 55.6),
        (-5.1, 54.8),
        (-3.4, 54.95), (-3.2, 54.1), (-3.0, 53.4), (-4.5, 53.3), (-4.5, 52.85), (-4.1, 52.5), (-5.2, 51.85),
        (-3.0, 51.4), (-4.2, 51.15), (-5.0, 50.55),
    ),
    "Europe": (
        (14.0, 57.5), (9.0, 57.4), (8.1, 56.5), (8.6, 54.0), (5.0, 53.3), (4.0, 52.0), (2.5, 51.1),
        (1.6, 50.75),
        (1.4, 50.1), (0.2, 49.6), (-1.2, 49.4), (-1.3, 49.68), (-1.9, 49.68), (-1.5, 48.65), (-3.1, 48.85),
        (-4.75, 48.45),
        (-4.4, 47.85), (-2.4, 47.25), (-1.2, 45.9), (-1.3, 44.2), (-1.8, 43.4), (-5.0, 43.5), (-8.0, 43.75),
        (-9.25, 43.0), (-8.8, 41.5), (-9.5, 38.75), (-8.9, 37.0), (-6.9, 37.2), (-6.0, 36.15), (-5.4, 36.1),
        (-2.0, 36.8),
        (-0.5, 38.3), (0.0, 39.5), (3.2, 42.0), (14.0, 43.0),
    ),
    "Africa": (
        (-5.9, 35.8), (-6.8, 34.1), (-9.3, 32.5), (-9.7, 30.5), (-11.5, 28.4), (-13.2, 27.7), (-14.5, 26.0),
        (-17.0, 21.0),
        (14.0, 21.0), (14.0, 37.0), (0.0, 35.9), (-2.0, 35.1), (-5.3, 35.85),
    ),
    "São Miguel": ((-25.85, 37.9), (-25.1, 37.85), (-25.2, 37.7), (-25.8, 37.75)),
    "Faial and Pico": ((-28.85, 38.6), (-28.0, 38.45), (-28.3, 38.38), (-28.8, 38.5)),
    "Terceira": ((-27.4, 38.8), (-27.0, 38.75), (-27.2, 38.62)),
    "Flores": ((-31.3, 39.5), (-31.1, 39.5), (-31.2, 39.35)),
    "Bermuda": ((-64.9, 32.35), (-64.65, 32.4), (-64.8, 32.22)),
}  # fmt: skip


def inside(polygon: tuple[tuple[float, float], ...], lat: Floats, lon: Floats) -> NDArray[np.bool_]:
    """Return the mask of the points inside a closed polygon of (longitude, latitude), by counting crossings."""
    odd = np.zeros(np.broadcast(lat, lon).shape, bool)
    for (lon_a, lat_a), (lon_b, lat_b) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if lat_a == lat_b:
            continue
        between = (lat_a > lat) != (lat_b > lat)
        odd ^= between & (lon < lon_a + (lat - lat_a) * (lon_b - lon_a) / (lat_b - lat_a))
    return odd


@dataclass(frozen=True)
class LandMask:
    """Land with a margin around it on a regular grid of latitude and longitude."""

    south: float
    west: float
    step_deg: float
    blocked: NDArray[np.bool_]
    """True on land or closer to it than the margin, bool [latitudes, longitudes]."""

    @classmethod
    def draw(
        cls,
        south: float = 24.0,
        north: float = 66.0,
        west: float = -84.0,
        east: float = 6.0,
        step_deg: float = 0.1,
        margin_nm: float = 8.0,
    ) -> LandMask:
        lat = np.arange(south, north, step_deg)[:, None]
        lon = np.arange(west, east, step_deg)[None, :]
        land = np.zeros((lat.size, lon.size), bool)
        for polygon in POLYGONS.values():
            land |= inside(polygon, lat, lon)
        blocked = land.copy()
        reach = int(np.ceil(margin_nm / 60.0 / step_deg))
        for rows in range(-reach, reach + 1):
            for columns in range(-2 * reach, 2 * reach + 1):
                # A degree of longitude is about 0.7 of a degree of latitude in these waters.
                if np.hypot(rows, 0.7 * columns) * step_deg * 60.0 <= margin_nm:
                    blocked |= np.roll(land, (rows, columns), (0, 1))
        return cls(south, west, step_deg, blocked)

    def hits(self, lat: Floats, lon: Floats) -> NDArray[np.bool_]:
        """Return the mask of the points that are blocked; points off the grid are not."""
        row = np.rint((lat - self.south) / self.step_deg).astype(int)
        column = np.rint((lon - self.west) / self.step_deg).astype(int)
        height, width = self.blocked.shape
        known = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        blocked = self.blocked[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        return np.asarray(known & blocked)
