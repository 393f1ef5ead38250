"""Grid of waypoints: columns along a great circle, rows beside it, and the legs that do not cross land."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from routing.coast import LandMask
from routing.geodesy import EARTH_RADIUS_NM, Floats, bearing_deg, distance_nm, travel


@dataclass(frozen=True)
class Place:
    name: str
    lat: float
    lon: float


BISHOP_ROCK = Place("Bishop Rock", 49.60, -6.60)
AMBROSE = Place("New York (Ambrose)", 40.35, -73.40)


@dataclass(frozen=True)
class Corridor:
    """Waypoints on columns across the great circle between two positions.

    Column 0 is the departure and the last column the destination; both have one row, offset 0.
    """

    departure: Place
    destination: Place
    columns: int = 26
    row_spacing_nm: float = 45.0
    port_rows: int = 12
    """Number of rows on the left (port) side of the great circle: the south, when sailing west."""
    starboard_rows: int = 4
    turn_rows: int = 3
    """Largest change of row between two columns."""

    @cached_property
    def length_nm(self) -> float:
        return float(distance_nm(self.departure.lat, self.departure.lon, self.destination.lat, self.destination.lon))

    @cached_property
    def offsets_nm(self) -> Floats:
        """Cross-track offset of each row, positive to starboard, float [R]."""
        return np.asarray(np.arange(-self.port_rows, self.starboard_rows + 1) * self.row_spacing_nm, np.float64)

    @cached_property
    def rows(self) -> int:
        return self.port_rows + 1 + self.starboard_rows

    @property
    def axis_row(self) -> int:
        """Row on the great circle itself."""
        return self.port_rows

    @cached_property
    def waypoints(self) -> tuple[Floats, Floats]:
        """Latitudes and longitudes, each [columns, rows]."""
        start = self.departure
        course = bearing_deg(start.lat, start.lon, self.destination.lat, self.destination.lon)
        along = np.linspace(0.0, self.length_nm, self.columns)
        lat, lon = travel(start.lat, start.lon, course, along)
        # The course of the great circle where it passes each column, seen from the departure.
        onward = (bearing_deg(lat, lon, start.lat, start.lon) + 180.0) % 360.0
        onward[0] = course
        return travel(lat[:, None], lon[:, None], onward[:, None] + 90.0, self.offsets_nm[None, :])

    def progress(self, lat: Floats, lon: Floats) -> Floats:
        """Return the share of the great circle at the foot of each point, 0 at departure, 1 at destination."""
        start, end = self.departure, self.destination
        course = np.radians(
            bearing_deg(start.lat, start.lon, lat, lon) - bearing_deg(start.lat, start.lon, end.lat, end.lon)
        )
        angle = distance_nm(start.lat, start.lon, lat, lon) / EARTH_RADIUS_NM
        along = EARTH_RADIUS_NM * np.arctan2(np.sin(angle) * np.cos(course), np.cos(angle))
        return np.asarray(along / self.length_nm)

    def legs(self, column: int, land: LandMask) -> Legs:
        """Return all legs from a column to the next that cross no land."""
        last = self.columns - 2
        tails = np.array([self.axis_row]) if column == 0 else np.arange(self.rows)
        heads = np.array([self.axis_row]) if column == last else np.arange(self.rows)
        tail, head = (axis.ravel() for axis in np.meshgrid(tails, heads, indexing="ij"))
        near = np.abs(tail - head) <= self.turn_rows
        tail, head = tail[near], head[near]
        lat, lon = self.waypoints
        legs = Legs.between(
            tail, head, (lat[column, tail], lon[column, tail]), (lat[column + 1, head], lon[column + 1, head])
        )
        share = np.linspace(0.0, 0.999, 15)
        # The harbour approaches themselves lie within the margin of land.
        if column == 0:
            share = share[3:]
        elif column == last:
            share = share[:-3]
        lat_on_way, lon_on_way, _ = legs.along(share)
        return legs.take(np.asarray(~land.hits(lat_on_way, lon_on_way).any(axis=1)))


@dataclass(frozen=True)
class Legs:
    """Great-circle legs between two columns."""

    tail: NDArray[np.int64]
    """Row in the column where the leg starts, int [L]."""
    head: NDArray[np.int64]
    start: tuple[Floats, Floats]
    """Latitude and longitude of the start of the leg, each [L]."""
    end: tuple[Floats, Floats]
    nm: Floats
    course_deg: Floats
    """Course at the start of the leg."""

    @classmethod
    def between(
        cls,
        tail: NDArray[np.int64],
        head: NDArray[np.int64],
        start: tuple[Floats, Floats],
        end: tuple[Floats, Floats],
    ) -> Legs:
        return cls(tail, head, start, end, distance_nm(*start, *end), bearing_deg(*start, *end))

    def along(self, share: Floats) -> tuple[Floats, Floats, Floats]:
        """Return latitude, longitude and course, each [L, S], at shares [S] in [0, 1) of the length."""
        start_lat, start_lon, end_lat, end_lon = (part[:, None] for part in (*self.start, *self.end))
        lat, lon = travel(start_lat, start_lon, self.course_deg[:, None], share * self.nm[:, None])
        return lat, lon, bearing_deg(lat, lon, end_lat, end_lon)

    def take(self, keep: NDArray[np.bool_]) -> Legs:
        return Legs(
            self.tail[keep],
            self.head[keep],
            (self.start[0][keep], self.start[1][keep]),
            (self.end[0][keep], self.end[1][keep]),
            self.nm[keep],
            self.course_deg[keep],
        )
