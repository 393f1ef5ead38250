"""Small weather field for the example: one storm on the way, as a dataset in the tool's names and units."""

import numpy as np
import xarray

from routing.fields import KNOT, Ocean, Vortex
from weather_routing_tool.boat import WIND

DEPARTURE = np.datetime64("2026-01-10T00:00", "ns")
STORM = Vortex(45.7, -30.5, 1.0, 0.3, 40.0, 100.0, 30.0, 60.0)
"""Low of 40 kn that moves slowly over the great circle between the ports of the example."""


def storm_field() -> xarray.Dataset:
    """Return wind and current in m/s, significant wave height in m, every 6 h for 3 days on half degrees."""
    ocean = Ocean((STORM,), (), np.zeros(8))
    hours, lat, lon = np.arange(0.0, 73.0, 6.0), np.arange(41.0, 50.6, 0.5), np.arange(-42.0, -17.9, 0.5)
    met = ocean.sample(lat[None, :, None], lon[None, None, :], hours[:, None, None])
    speeds = {
        WIND[0]: met.wind_east_kn,
        WIND[1]: met.wind_north_kn,
        "utotal": met.current_east_kn,
        "vtotal": met.current_north_kn,
    }
    axes = ("time", "latitude", "longitude")
    variables = {name: (axes, values * KNOT, {"units": "m s-1"}) for name, values in speeds.items()}
    return xarray.Dataset(
        variables | {"VHM0": (axes, met.wave_m, {"units": "m"})},
        {"time": DEPARTURE + (hours * 3600).astype("timedelta64[s]"), "latitude": lat, "longitude": lon},
    )
