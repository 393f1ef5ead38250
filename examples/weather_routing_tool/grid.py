"""Cheapest route over a grid of latitudes and longitudes, for any boat with the tool's interface."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from routing.geodesy import Floats, bearing_deg, distance_nm

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1))
"""Neighbours of a point in rows and columns, without their opposites: sixteen courses."""
METRES = 1852.0


@dataclass(frozen=True)
class Route:
    """Route over grid points, with the cost of its legs."""

    lat: Floats
    lon: Floats
    """Longitudes of the points on the way, degrees [P]; ``lat`` likewise."""
    fuel_t: float
    """Fuel of the route for the boat that chose it, t."""
    hours: float
    legs: NDArray[np.intp]
    """Indices of the route's legs among those of the grid [P - 1]."""


@dataclass(frozen=True)
class Grid:
    """Points [rows, columns] and the legs between neighbours."""

    lat: Floats
    lon: Floats
    """Longitudes of columns, degrees; ``lat`` has the latitudes of rows."""

    @property
    def legs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Start and end of each leg, as numbers of points [E]; each leg occurs in both directions."""
        number = np.arange(len(self.lat) * len(self.lon)).reshape(len(self.lat), len(self.lon))
        pairs = []
        for down, right in STEPS:
            left, kept = max(0, -right), len(self.lon) - max(0, right)
            tail = number[: len(self.lat) - down, left:kept]
            head = number[down:, left + right : kept + right]
            pairs.append((tail.ravel(), head.ravel()))
        tails, heads = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        return np.concatenate([tails, heads]), np.concatenate([heads, tails])

    def points(self, numbers: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return latitude and longitude of points, degrees."""
        row, column = np.divmod(numbers, len(self.lon))
        return self.lat[row], self.lon[column]

    def nearest(self, lat: float, lon: float) -> int:
        """Return the number of the point nearest to a position."""
        return int(np.abs(self.lat - lat).argmin() * len(self.lon) + np.abs(self.lon - lon).argmin())


@dataclass(frozen=True)
class Costs:
    """Fuel and time of a boat for every leg of a grid [E]."""

    fuel_t: Floats
    """Fuel in t; infinite if the boat does not sail the leg."""
    hours: Floats


def costs(boat: Any, grid: Grid, start: int, departure: np.datetime64) -> Costs:
    """Return the costs of all legs, from one call of the boat with their midpoints.

    The time of each leg is when a ship at this speed would arrive there from the start without a detour.
    """
    tail, head = grid.legs
    (lat, lon), (next_lat, next_lon), begin = grid.points(tail), grid.points(head), grid.points(np.array([start]))
    knots = boat.get_boat_speed().to_value("m/s") * 3600.0 / METRES
    hours = distance_nm(lat, lon, next_lat, next_lon) / knots
    middle = (lat + next_lat) / 2, (lon + next_lon) / 2
    since = distance_nm(*begin, *middle) / knots
    params = boat.get_ship_parameters(
        bearing_deg(lat, lon, next_lat, next_lon), *middle, departure + (since * 3600).astype("timedelta64[s]")
    )
    return Costs(params.get_fuel_rate().to_value("t/h") * hours, hours)


def cheapest(grid: Grid, cost: Costs, start: int, end: int) -> Route | None:
    """Return the route of least fuel between two points; None if there is no finite one."""
    tail, head = grid.legs
    usable = np.isfinite(cost.fuel_t)
    size = len(grid.lat) * len(grid.lon)
    graph = csr_array((cost.fuel_t[usable], (tail[usable], head[usable])), shape=(size, size))
    fuel, before = dijkstra(graph, indices=start, return_predecessors=True)
    if not np.isfinite(fuel[end]):
        return None
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    points = np.array(path[::-1])
    numbers = {pair: leg for leg, pair in enumerate(zip(tail.tolist(), head.tolist(), strict=True))}
    legs = np.array([numbers[pair] for pair in zip(points[:-1].tolist(), points[1:].tolist(), strict=True)])
    return Route(*grid.points(points), float(fuel[end]), float(cost.hours[legs].sum()), legs)
