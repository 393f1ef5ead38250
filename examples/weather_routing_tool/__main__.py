"""Route a ship past a storm with Demur's vessel service as the boat of a weather router.

    cd examples && python -m weather_routing_tool --target 127.0.0.1:4005 --out route.png

The cost of one boat is the mean of the predicted power. The other is `DemurBoat`: its cost is the mean and two
standard deviations, and it avoids points that the service defers. Both evaluate every leg of a grid in one call, and
Dijkstra's algorithm finds the cheapest route of each.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from astropy import units as u

import demur
from routing.geodesy import bearing_deg, distance_nm
from weather_routing_tool.boat import DemurBoat
from weather_routing_tool.field import DEPARTURE, storm_field
from weather_routing_tool.grid import Grid, Route, cheapest, costs

PORTS = {"West": (44.5, -40.0), "East": (47.0, -20.0)}
SPEED = 8.0 * u.m / u.s
DRY_DOCKED = np.datetime64("2024-11-01")
CERTAIN, MEAN = "mean + 2 sd, deferred avoided", "mean alone"


class MeanBoat(DemurBoat):
    """Boat that uses the mean of every prediction."""

    def power_kw(self, columns: dict[str, Any]) -> Any:
        return self.vessel.predict(columns, purpose="explore").mean


@dataclass(frozen=True)
class Comparison:
    """Both routes over one grid, and their deferred hours."""

    grid: Grid
    routes: dict[str, Route]
    deferred_h: dict[str, float]
    """Hours of each route on legs that the service defers."""
    mean_fuel_t: dict[str, float]
    """Fuel of each route by the mean of the predicted power, t."""
    legs: int
    deferred_legs: int


def compare(vessel: demur.Vessel) -> Comparison:
    """Find the route of each boat.

    Raises:
        SystemExit: no route avoids deferred legs.
    """
    weather = storm_field()
    grid = Grid(np.asarray(weather.latitude), np.asarray(weather.longitude))
    start, end = (grid.nearest(*place) for place in PORTS.values())
    leg_costs = {
        name: costs(kind(vessel, weather, SPEED, DRY_DOCKED), grid, start, DEPARTURE)
        for name, kind in ((MEAN, MeanBoat), (CERTAIN, DemurBoat))
    }
    routes = {name: cheapest(grid, cost, start, end) for name, cost in leg_costs.items()}
    complete = {name: route for name, route in routes.items() if route is not None}
    if len(complete) < len(routes):
        sys.exit("no route avoids what the service defers")
    deferred = ~np.isfinite(leg_costs[CERTAIN].fuel_t)
    hours = {
        name: float(leg_costs[MEAN].hours[route.legs][deferred[route.legs]].sum()) for name, route in complete.items()
    }
    fuel = {name: float(leg_costs[MEAN].fuel_t[route.legs].sum()) for name, route in complete.items()}
    return Comparison(grid, complete, hours, fuel, len(deferred), int(deferred.sum()))


def picture(vessel: demur.Vessel, comparison: Comparison, path: Path) -> None:
    """Draw the routes over the field at the times when a ship at this speed passes."""
    from weather_routing_tool.figure import draw

    weather, grid = storm_field(), comparison.grid
    lat, lon = (part.ravel() for part in np.meshgrid(grid.lat, grid.lon, indexing="ij"))
    (west_lat, west_lon), east = PORTS["West"], PORTS["East"]
    hours = distance_nm(west_lat, west_lon, lat, lon) * 1852.0 / SPEED.to_value(u.m / u.s)
    params = DemurBoat(vessel, weather, SPEED, DRY_DOCKED).get_ship_parameters(
        bearing_deg(lat, lon, *east), lat, lon, DEPARTURE + hours.astype("timedelta64[s]")
    )
    shape = (len(grid.lat), len(grid.lon))
    spared = comparison.deferred_h[MEAN]
    draw(
        path,
        grid,
        params.wave_height.value.reshape(shape),
        (params.message == "deferred").reshape(shape),
        {
            f"{name}: {route.hours:.0f} h, {comparison.deferred_h[name]:.0f} h of it deferred": route
            for name, route in comparison.routes.items()
        },
        PORTS,
        f"{spared:.0f} h of the route by the mean alone lie where the model defers",
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:4005", help="gRPC address of the service (%(default)s)")
    parser.add_argument("--out", type=Path, help="picture to write; none without it")
    options = parser.parse_args(arguments)
    try:
        with demur.connect(options.target) as client:
            comparison = compare(client.vessel)
            print(f"{comparison.legs:,} legs asked about, {comparison.deferred_legs:,} deferred")
            for name, route in comparison.routes.items():
                print(
                    f"{name:<30} {route.hours:5.1f} h, {comparison.deferred_h[name]:4.1f} h of it deferred, "
                    f"{comparison.mean_fuel_t[name]:6.1f} t of fuel by the mean"
                )
            if options.out is not None:
                picture(client.vessel, comparison, options.out)
    except demur.DemurError as error:
        print(f"{options.target}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
